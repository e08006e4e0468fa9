//! `proctor eval import`.

mod write;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use proctor_formats::eval::import::{
    self, FolderFiles, IMPORTERS, Imported, Importer, Input, Options, importer,
};
use proctor_formats::eval::{EVALS_NAME, Project, Skill, find, load_skill};
use proctor_model::{ExitCode, json, nearest};
use proctor_report::{inert, inert_json};

use super::common::write_file;
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor eval import`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor eval import --from tessl scenarios/add-health-endpoint --skill http-service
  proctor eval import --from tessl scenarios --output-dir cases --dry-run --report import.json
  proctor eval import --from skill-creator .claude/skills/pdf --skill pdf
  proctor eval import --from plugin-eval my-plugin --output-dir cases
  proctor eval import --from promptfoo promptfooconfig.yaml --skill deploy
  proctor eval import --from queries trigger_dataset.yaml

Labelled queries say which skills they are about: without a target each case is written into the
evals folder of its skill, and with `--output-dir` into a folder for each skill.

Only local files are read, and nothing that they hold is run. Either every scenario is written or
none; what has no counterpart is listed. See docs/skill-evals-import.md.

Exit codes: 0 done; 1 nothing was written.")]
#[command(group(clap::ArgGroup::new("target").args(["skill", "output_dir"])))]
pub(crate) struct Args {
    /// What the suites were written for.
    #[arg(long, value_name = "NAME", value_parser = names())]
    from: String,
    /// Suites, scenarios, or folders of them.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<Utf8PathBuf>,
    /// Write into the evals folder of this skill.
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Write into this folder.
    #[arg(long, value_name = "DIR")]
    output_dir: Option<Utf8PathBuf>,
    /// Skills folder or configuration folder [default: the first of .ai-rulez, .claude/skills,
    /// .agents/skills and skills that is there].
    #[arg(long, value_name = "DIR", conflicts_with = "output_dir")]
    root: Option<Utf8PathBuf>,
    /// Say what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Replace files that are there.
    #[arg(long)]
    force: bool,
    /// Turn criteria that state a mechanical check into assertions too.
    #[arg(long)]
    lift_assertions: bool,
    /// How a checklist becomes a rubric: one text, or items with weights.
    #[arg(long, value_name = "MODE", default_value = "single")]
    rubric_mode: RubricMode,
    /// Write the report, as JSON, to this file too.
    #[arg(long, value_name = "FILE")]
    report: Option<Utf8PathBuf>,
    /// How to print the report.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RubricMode {
    Single,
    Items,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(IMPORTERS.iter().map(|importer| importer.name))
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let importer = importer(&args.from)
        .ok_or_else(|| CommandError::usage(format!("no importer is named `{}`", args.from)))?;
    let target = Target::new(importer, args, context)?;
    let mut imported = read(importer, &target, args, context)?;
    target.file(&mut imported)?;
    target.deny_clashes(&imported)?;
    if args.dry_run {
        write::check(&target.folder, &imported.files, args.force)?;
    } else {
        write::write_all(&target.folder, &imported.files, args.force)?;
    }
    let mut report = imported.report;
    report.dry_run = args.dry_run;
    report.out = target.shown();
    // The values of fields that have no counterpart are quoted, whatever they are.
    let json = json::go::pretty(&report).map_err(|error| CommandError::usage(error.to_string()))?;
    let json = inert_json(&context.redactor.text(&json));
    if let Some(file) = &args.report {
        write_file(&context.cwd.join(file), &json)?;
    }
    match args.format {
        Output::Text => {
            let text = report.text();
            context.printer.data(&inert(&context.redactor.text(&text)))?;
        }
        Output::Json => context.printer.data(&json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens every path and maps what they hold.
fn read(
    importer: &Importer,
    target: &Target,
    args: &Args,
    context: &Context,
) -> Result<Imported, CommandError> {
    let mut opened = Vec::new();
    for path in &args.paths {
        opened.push((path, Opened::new(importer, path, context)?));
    }
    let inputs: Vec<Input<'_>> = opened
        .iter()
        .map(|(path, opened)| Input {
            origin: path.as_str(),
            files: &opened.files,
            named: &opened.named,
            folder_name: &opened.folder_name,
            skill: args.skill.as_deref(),
            skills: target.known.as_ref(),
        })
        .collect();
    let options = Options {
        rubric_mode: match args.rubric_mode {
            RubricMode::Single => import::RubricMode::Single,
            RubricMode::Items => import::RubricMode::Items,
        },
        lift_assertions: args.lift_assertions,
    };
    import::import(importer, &inputs, options)
        .map_err(|error| CommandError::usage(context.redactor.text(&error.to_string())))
}

/// A path of the command line.
struct Opened {
    files: FolderFiles,
    /// Below the folder: the file, or an inner folder, that was named; otherwise empty.
    named: String,
    folder_name: String,
}

impl Opened {
    fn new(importer: &Importer, path: &Utf8Path, context: &Context) -> Result<Self, CommandError> {
        let fail =
            |error: std::io::Error| CommandError::usage(format!("{path} cannot be read: {error}"));
        let full = context.cwd.join(path);
        let is_folder = std::fs::metadata(&full).map_err(fail)?.is_dir();
        let (folder, mut named) = if is_folder {
            (full.canonicalize_utf8().map_err(fail)?, String::new())
        } else {
            // The file itself may be a link, and then it is refused as one.
            let folder = full.parent().unwrap_or(Utf8Path::new("/"));
            let name = full.file_name().unwrap_or_default();
            (folder.canonicalize_utf8().map_err(fail)?, name.to_owned())
        };
        let mut root = folder.as_path();
        let name = |folder: &Utf8Path| folder.file_name().unwrap_or("scenario").to_owned();
        if importer.inner_folders.contains(&name(root).as_str())
            && let Some(above) = root.parent()
        {
            let inner = name(root);
            named = if named.is_empty() { inner } else { format!("{inner}/{named}") };
            root = above;
        }
        let files = FolderFiles::new(root).map_err(fail)?;
        Ok(Self { files, named, folder_name: name(root) })
    }
}

/// Where the cases go.
struct Target {
    /// Paths of the import are relative to it.
    folder: Utf8PathBuf,
    /// The folder as the user knows it.
    shown: Utf8PathBuf,
    project: Option<Project>,
    skill: Option<Skill>,
    /// The skills that take cases, when the input says which of them.
    known: Option<BTreeSet<String>>,
}

impl Target {
    fn new(importer: &Importer, args: &Args, context: &Context) -> Result<Self, CommandError> {
        if let Some(shown) = args.output_dir.clone() {
            let folder = context.cwd.join(&shown);
            return Ok(Self { folder, shown, project: None, skill: None, known: None });
        }
        if args.skill.is_none() && !importer.names_skills {
            let message = format!("cases of importer `{}` need a place", importer.name);
            let hint = "name a skill with `--skill`, or a folder with `--output-dir`";
            return Err(CommandError::usage(message).hint(hint));
        }
        let project = find(&context.cwd, args.root.as_deref()).map_err(CommandError::usage)?;
        let Some(id) = &args.skill else {
            let folder = project.configuration.clone();
            let known = project.skills.iter().map(|skill| skill.id.clone()).collect();
            let shown = project.shown(&folder);
            let (project, known) = (Some(project), Some(known));
            return Ok(Self { folder, shown, project, skill: None, known });
        };
        let Some(skill) = project.skill(id).cloned() else {
            let error = CommandError::usage(format!("there is no skill `{id}`"));
            let known = project.skills.iter().map(|skill| skill.id.as_str());
            return Err(match nearest(id, known) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`proctor eval list` lists the skills"),
            });
        };
        let folder = evals_folder(&skill)?;
        let shown = project.shown(&folder);
        Ok(Self { folder, shown, project: Some(project), skill: Some(skill), known: None })
    }

    fn shown(&self) -> String {
        if self.shown.as_str().is_empty() { ".".to_owned() } else { self.shown.to_string() }
    }

    /// Turns the folder that an import gives to each skill into the evals folder of that skill.
    fn file(&self, imported: &mut Imported) -> Result<(), CommandError> {
        let (Some(project), None) = (&self.project, &self.skill) else { return Ok(()) };
        let place = |path: &mut String| {
            let (id, name) = path.split_once('/').unwrap_or_default();
            let Some(skill) = project.skill(id) else { return Ok(()) };
            let file = evals_folder(skill)?.join(name);
            let below = file
                .strip_prefix(&self.folder)
                .map_err(|_| CommandError::usage(format!("{file} lies outside {}", self.folder)))?;
            *path = below.to_string();
            Ok::<(), CommandError>(())
        };
        imported.files.iter_mut().try_for_each(|file| place(&mut file.path))?;
        for scenario in &mut imported.report.scenarios {
            scenario.written.iter_mut().try_for_each(place)?;
        }
        let ids = std::mem::take(&mut imported.ids);
        for (mut file, ids) in ids {
            place(&mut file)?;
            imported.ids.insert(file, ids);
        }
        Ok(())
    }

    /// An id that another file of the skill has would make all of its cases invalid.
    fn deny_clashes(&self, imported: &Imported) -> Result<(), CommandError> {
        let Some(project) = &self.project else { return Ok(()) };
        let new: BTreeMap<Utf8PathBuf, &BTreeSet<String>> =
            imported.ids.iter().map(|(file, ids)| (self.folder.join(file), ids)).collect();
        let replaced: BTreeSet<Utf8PathBuf> = new.keys().map(|file| project.shown(file)).collect();
        for skill in &project.skills {
            let folder = skill.folder.join(EVALS_NAME);
            let mut ids = new.iter().filter(|(file, _)| file.starts_with(&folder)).peekable();
            if ids.peek().is_none() {
                continue;
            }
            let ids: BTreeSet<&String> = ids.flat_map(|(_, ids)| *ids).collect();
            for case in load_skill(project, skill).expanded() {
                if ids.contains(&case.id) && !replaced.contains(&case.place.file) {
                    let file = &case.place.file;
                    let message = format!("{file} has a case with the id `{}`", case.id);
                    return Err(CommandError::usage(message).hint("rename it, or the scenario"));
                }
            }
        }
        Ok(())
    }
}

/// The folder of a skill that takes its cases.
fn evals_folder(skill: &Skill) -> Result<Utf8PathBuf, CommandError> {
    let folder = skill.folder.join(EVALS_NAME);
    if skill.escaped.contains(&folder) {
        let message = format!("{folder} leads out of the configuration folder through a link");
        return Err(CommandError::usage(message).hint("copy the folder to where it belongs"));
    }
    Ok(folder)
}
