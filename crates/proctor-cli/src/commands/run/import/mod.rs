//! `proctor run import`.

mod keep;

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::time::{SystemTime, UNIX_EPOCH};

use camino::{Utf8Path, Utf8PathBuf};
use clap::builder::PossibleValuesParser;
use proctor_exchange::import::{HEAD, Importer, Source, detect, importers, named};
use proctor_formats::tree::Problems;
use proctor_model::run::{PLAN_VERSION, RunKind, RunOptions, RunPlan};
use proctor_model::{Digest, ExitCode, Severity};
use proctor_sandbox::{StageLimits, stage_input};
use proctor_store::runs::{RunWriter, Runs, run_id};
use serde::{Deserialize, Serialize};

use self::keep::Keeper;
use crate::context::Context;
use crate::error::CommandError;

/// Where the workspace lies that was given, below the folder of the run.
pub(super) const WORKSPACE: &str = "workspace";

/// The workspace of a trial that a run of Proctor brings along.
const ARCHIVE: &str = "workspace.tar.zst";

/// What the run was made of, in the folder of the run.
const ORIGIN: &str = "import.json";

/// The id of the experiment that imported runs have, since there is none.
const NAME: &str = "imported";

/// Arguments of `proctor run import`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run import ~/.claude/projects/-home-me-app/0a1b.jsonl
  proctor run import rollout-*.jsonl --from codex
  proctor run import agent/trajectory.json --prompt fix-the-bug
  proctor run import logs/2026-03-01_arith.eval
  proctor run import run.jsonl
  proctor run import session.jsonl --workspace ../app
  proctor run rerun latest --tests --experiment tests.yaml

Takes sessions that another program recorded as trials of a new run of the kind `imported`: session
files and printed streams of Claude Code and Codex, records of the Agent Client Protocol (ax), ATIF
trajectories, logs of inspect (each sample a trial) and runs of Proctor (jsonl). The format is told
by what is in the file unless `--from` names it. Secrets are redacted. A trial passes and fails by
what the other tool says, if it does; `run rerun --tests --experiment FILE` grades it here, and
spends nothing. What was imported before is not imported again.

On standard output is the id of the run.

Exit codes: 0; 2 a file cannot be read or is wrong, and nothing was imported.")]
pub(crate) struct Args {
    /// The files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<Utf8PathBuf>,
    /// What they are.
    #[arg(long, value_name = "FORMAT", value_parser = names())]
    from: Option<String>,
    /// A folder as the agent left it: tests that run over the trials find it in /workspace.
    #[arg(long, value_name = "DIR")]
    workspace: Option<Utf8PathBuf>,
    /// The agent, where the file does not name it as you do.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The model, likewise.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The prompt's id; otherwise what the file calls it, or the file's name.
    #[arg(long, value_name = "ID")]
    prompt: Option<String>,
}

fn names() -> PossibleValuesParser {
    let mut names: Vec<&str> = importers().iter().map(|importer| importer.name).collect();
    names.sort_unstable();
    names.dedup();
    PossibleValuesParser::new(names)
}

/// What a run was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Origin {
    sources: Vec<Origins>,
    workspace: Option<Utf8PathBuf>,
    agent: Option<String>,
    model: Option<String>,
    prompt: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Origins {
    file: Utf8PathBuf,
    format: String,
    digest: String,
}

impl Origin {
    /// Whether it is the same again, wherever the files lay.
    fn is_same(&self, other: &Self) -> bool {
        let content = |of: &Self| -> Vec<(String, String)> {
            of.sources.iter().map(|one| (one.format.clone(), one.digest.clone())).collect()
        };
        let rest = |of: &Self| Self { sources: Vec::new(), ..of.clone() };
        content(self) == content(other) && rest(self) == rest(other)
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let inputs = inputs(args, context)?;
    let origin = Origin {
        sources: inputs.iter().map(Input::origin).collect(),
        workspace: args.workspace.as_ref().map(|folder| context.cwd.join(folder)),
        agent: args.agent.clone(),
        model: args.model.clone(),
        prompt: args.prompt.clone(),
    };
    let mut origin = serde_json::to_value(origin).map_err(io::Error::from)?;
    context.redactor.json(&mut origin);
    let origin: Origin = serde_json::from_value(origin).map_err(io::Error::from)?;
    let runs = Runs::of(&context.cwd);
    if let Some(known) = before(&runs, &origin)? {
        context.printer.note("it was imported before, and nothing has changed: that run stands");
        context.printer.data(&format!("{known}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = new_plan()?;
    let writer = runs.create_aside(&plan).map_err(CommandError::usage)?;
    let run_id = plan.run_id.clone();
    let taken = take(args, inputs, &origin, (&writer, plan), context);
    if !matches!(taken, Ok(Some(_))) {
        fs_err::remove_dir_all(writer.folder())?;
    }
    let Some(count) = taken? else { return Ok(ExitCode::USAGE) };
    writer.publish(&runs).map_err(CommandError::usage)?;
    let sessions = if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") };
    context.printer.note(&format!("run {run_id} keeps {sessions}; `proctor run view {run_id}`"));
    context.printer.data(&format!("{run_id}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The files, each content once: a session that is counted twice would pass for two.
fn inputs(args: &Args, context: &Context) -> Result<Vec<Input>, CommandError> {
    let mut inputs: Vec<Input> = Vec::new();
    for file in &args.files {
        let input = Input::open(file, args.from.as_deref(), context)?;
        if let Some(same) = inputs.iter().find(|other| other.digest == input.digest) {
            let same = &same.file;
            context.printer.warning(&format!("{file} is the same as {same}, and is left out"));
        } else {
            inputs.push(input);
        }
    }
    Ok(inputs)
}

/// Takes the files in, and says how many sessions they held; `None` after mistakes, which were told.
fn take(
    args: &Args,
    inputs: Vec<Input>,
    origin: &Origin,
    (writer, plan): (&RunWriter, RunPlan),
    context: &Context,
) -> Result<Option<usize>, CommandError> {
    let folder = writer.folder().to_owned();
    if let Some(from) = &args.workspace {
        let from = context.cwd.join(from);
        let into = folder.join(WORKSPACE);
        fs_err::create_dir(&into)?;
        stage_input(from.as_std_path(), into.as_std_path(), &StageLimits::default())
            .map_err(CommandError::usage)?;
    }
    let mut keeper = Keeper::new(args, writer, plan, context);
    let mut is_wrong = false;
    for input in inputs {
        context.printer.note(&format!("{} is a {}", input.file, input.importer.title));
        let mut problems = Problems::new(&input.file);
        keeper.source(&input.file);
        let source = Source { name: input.file.clone(), file: input.opened };
        let before = keeper.count();
        input
            .importer
            .read(source, &mut keeper, &mut problems)
            .map_err(|error| CommandError::usage(format!("{}: {error}", input.file)))?;
        let has_errors = problems.has_errors();
        for diagnostic in problems.finish().0 {
            let text = context.redactor.text(&diagnostic.to_string()).into_owned();
            match diagnostic.severity {
                Severity::Error => context.printer.error(&text, &[]),
                Severity::Warning => context.printer.warning(&text),
            }
        }
        if !has_errors && keeper.count() == before {
            context.printer.error(&format!("{}: there is no session in it", input.file), &[]);
            is_wrong = true;
        }
        is_wrong |= has_errors;
    }
    if is_wrong {
        context.printer.note("nothing was imported");
        return Ok(None);
    }
    keeper.finish()?;
    let origin = serde_json::to_vec_pretty(origin).map_err(io::Error::from)?;
    fs_err::write(folder.join(ORIGIN), origin)?;
    Ok(Some(keeper.count()))
}

fn new_plan() -> Result<RunPlan, CommandError> {
    Ok(RunPlan {
        schema_version: PLAN_VERSION,
        run_id: run_id(NAME).map_err(CommandError::usage)?,
        kind: RunKind::Imported,
        experiment_id: NAME.to_owned(),
        created_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        proctor_version: env!("CARGO_PKG_VERSION").to_owned(),
        retest_of: None,
        rerun_of: None,
        experiment_file: String::new(),
        experiment_digest: String::new(),
        // What tests run in that look at it later: as of `experiment run`.
        options: RunOptions {
            sandbox: "bubblewrap".to_owned(),
            network: "host".to_owned(),
            test_timeout_seconds: 300,
            ..RunOptions::default()
        },
        trials: Vec::new(),
    })
}

/// The run that the same files were imported as.
fn before(runs: &Runs, origin: &Origin) -> Result<Option<String>, CommandError> {
    let listed = runs.list().map_err(CommandError::usage)?;
    let imported = listed.into_iter().filter_map(|listed| listed.run.ok());
    let same = imported.filter(|run| run.plan.kind == RunKind::Imported).find(|run| {
        let text = std::fs::read(run.folder.join(ORIGIN)).unwrap_or_default();
        let known: Option<Origin> = serde_json::from_slice(&text).ok();
        known.is_some_and(|known| known.is_same(origin))
    });
    Ok(same.map(|run| run.plan.run_id))
}

/// A file whose format is known.
struct Input {
    /// As the user wrote it.
    file: Utf8PathBuf,
    opened: File,
    importer: Importer,
    digest: String,
}

impl Input {
    fn open(file: &Utf8Path, from: Option<&str>, context: &Context) -> Result<Self, CommandError> {
        let path = context.cwd.join(file);
        let is_file = fs_err::metadata(&path)?.is_file();
        if !is_file {
            return Err(CommandError::usage(format!("{file} is no regular file")));
        }
        let mut opened = fs_err::File::open(&path)?.into_parts().0;
        let mut head = Vec::new();
        (&mut opened).take(HEAD as u64).read_to_end(&mut head)?;
        let importer = detect(&head, from).or_else(|| from.and_then(named)).ok_or_else(|| {
            CommandError::usage(format!("{file} is in no format that can be imported"))
                .hint("`--from` names one, for a file that does not show it in its first lines")
        })?;
        opened.seek(SeekFrom::Start(0))?;
        let mut digest = Digest::stream();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match opened.read(&mut buffer)? {
                0 => break,
                length => digest.update(buffer.get(..length).unwrap_or_default()),
            }
        }
        opened.seek(SeekFrom::Start(0))?;
        let digest = format!("sha256:{}", digest.finish());
        Ok(Self { file: file.to_owned(), opened, importer, digest })
    }

    fn origin(&self) -> Origins {
        Origins {
            file: self.file.clone(),
            format: self.importer.title.to_owned(),
            digest: self.digest.clone(),
        }
    }
}
