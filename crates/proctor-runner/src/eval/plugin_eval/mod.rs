//! `claude-plugin-eval`: the eval command of Claude Code itself.
//!
//! The skill goes into a throwaway plugin without its cases, each case becomes a folder with a prompt
//! and graders, and `claude plugin eval` runs them. A case takes several runs, of which the majority
//! counts.

mod javascript;
mod result;
mod suite;
mod trace;

use std::io::Read as _;
use std::num::NonZeroUsize;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use proctor_grade::eval::RubricBy;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{PROTOCOL_VERSION, Response};
use proctor_sandbox::{Capture, Ending, Limits, Spawn, SpawnError, Stream};

use self::result::Document;
use self::suite::Translated;
use super::answer::{self, MAX_ANSWER_BYTES};
use super::environment::agent;
use super::program::program;
use super::registry::Options;
use super::relay::Relay;
use super::runner::{Answer, Call, CallError, Runner, Told};
use crate::session;

/// The name of this runner.
pub(super) const NAME: &str = "claude-plugin-eval";

/// The only harness that it knows.
const HARNESS: &str = "claude";

/// Runs of a case when nobody says how many, and the most that the command takes.
const USUAL_RUNS: u32 = 3;
const MOST_RUNS: u32 = 50;

/// Sessions side by side that the command takes.
const MOST_JOBS: usize = 8;

/// The runner.
struct PluginEval {
    program: String,
    runs: Option<u32>,
    judge_model: Option<String>,
    args: Vec<String>,
    jobs: Option<NonZeroUsize>,
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Runner>, String> {
    if options.harness != HARNESS {
        return Err(format!(
            "runner `{NAME}` runs harness `{HARNESS}` only; leave out `--harness`"
        ));
    }
    if options.runs.is_some_and(|runs| runs > MOST_RUNS) {
        return Err(format!("runner `{NAME}` takes at most {MOST_RUNS} runs of a case"));
    }
    Ok(Box::new(PluginEval {
        program: options.claude_bin.clone().unwrap_or_else(|| HARNESS.to_owned()),
        runs: options.runs,
        judge_model: options.judge_model.clone(),
        args: options.args.clone(),
        jobs: options.jobs,
    }))
}

impl Runner for PluginEval {
    fn name(&self) -> &'static str {
        NAME
    }

    fn runs_per_case(&self) -> u64 {
        u64::from(self.runs.unwrap_or(USUAL_RUNS))
    }

    fn run(&self, call: &Call<'_>, tell: &mut dyn FnMut(Told)) -> Result<Answer, CallError> {
        let mut results = Vec::new();
        let mut cases: Vec<(&ExpandedCase, Translated)> = Vec::new();
        // On the command line a model would go before those of the cases.
        let own_models = call.cases.iter().any(|case| case.model.is_some());
        let (for_cases, for_all) = if own_models { (call.model, None) } else { (None, call.model) };
        for case in call.cases {
            match suite::translate(call.skill, case, for_cases, call.rubrics) {
                Ok(translated) => cases.push((case, translated)),
                Err(reason) => {
                    results.extend(call.skipped(case, &reason));
                }
            }
        }
        let mut response = Response { version: PROTOCOL_VERSION, results, ..Response::default() };
        if cases.is_empty() {
            return Ok(Answer { response, ..Answer::default() });
        }
        // A room of its own for each call: nothing in it can be left from another.
        let room = call.machine.rooms.create("plugin").map_err(machine)?;
        let plugin = room.root().join("plugin");
        suite::write(&plugin, call.skill, call.folder, &cases).map_err(machine)?;
        let adapter = proctor_harness::find(HARNESS)
            .ok_or_else(|| CallError::Machine(format!("there is no adapter for {HARNESS}")))?;
        let mut env = session::environment(&agent(call.machine.env, adapter), &room);
        for (name, value) in proctor_harness::CLAUDE_ENVIRONMENT {
            env.insert((*name).to_owned(), (*value).to_owned());
        }
        let spawn = Spawn {
            program: program(&self.program, call.machine.project).into(),
            args: self.arguments(call, &plugin, for_all).into_iter().map(Into::into).collect(),
            cwd: room.workspace().as_std_path().to_owned(),
            env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            stdin: None,
        };
        let document = self.document(call, &spawn, &plugin, tell)?;
        let mut answer = Answer::default();
        let marks = cases.iter().filter(|(case, _)| {
            call.rubrics == RubricBy::Runner
                && case.rubric.as_ref().is_some_and(|rubric| rubric.min_score.is_some())
        });
        answer.warnings.extend(marks.map(|(case, _)| {
            let id = &case.id;
            format!("{id}: `rubric_min_score` is not used: Claude Code passes a rubric or does not")
        }));
        response.cost_usd = document.cost_usd;
        for (case, _) in &cases {
            for arm in call.arms() {
                let key = (case.id.clone(), *arm);
                if case.rubric.is_some() && call.rubrics == RubricBy::Builtin {
                    let said = |path: &str| trace::answer(path, room.root());
                    let (result, runs) = document.to_grade(case, *arm, &said);
                    response.results.push(result);
                    answer.to_grade.insert(key, runs);
                } else {
                    let (result, judged) = document.arm(case, *arm);
                    response.results.push(result);
                    answer.judged.insert(key, judged);
                }
            }
        }
        answer::check(&response, call)
            .map_err(|error| CallError::Answer { error, said: String::new() })?;
        answer.response = response;
        Ok(answer)
    }
}

fn machine(error: impl std::fmt::Display) -> CallError {
    CallError::Machine(error.to_string())
}

impl PluginEval {
    fn arguments(&self, call: &Call<'_>, plugin: &Utf8Path, model: Option<&str>) -> Vec<String> {
        let mut args: Vec<String> = ["plugin", "eval"].map(str::to_owned).into();
        args.push(plugin.to_string());
        args.extend(["--json".to_owned(), result_file(plugin).into_string()]);
        args.extend(["--no-publish", "--threshold", "0", "--output-dir"].map(str::to_owned));
        args.push(plugin.join("results").into_string());
        let ablation = if call.ablation { "with-without" } else { "none" };
        args.extend(["--ablation", ablation].map(str::to_owned));
        let mut option = |name: &str, value: Option<String>| {
            args.extend(value.map(|value| [name.to_owned(), value]).into_iter().flatten());
        };
        option("--runs", self.runs.map(|runs| runs.to_string()));
        option("--concurrency", self.jobs.map(|jobs| jobs.get().min(MOST_JOBS).to_string()));
        option("--model", model.map(str::to_owned));
        option("--judge-model", self.judge_model.clone());
        option("--max-cost-usd", call.max_cost_usd.map(|usd| format!("{usd:.4}")));
        // Its traces have the answers.
        if call.rubrics == RubricBy::Builtin {
            args.push("--keep-temp".to_owned());
        }
        args.extend(self.args.iter().cloned());
        args
    }

    /// Runs the command, and reads what it leaves. The exit code alone decides nothing.
    fn document(
        &self,
        call: &Call<'_>,
        spawn: &Spawn,
        plugin: &Utf8Path,
        tell: &mut dyn FnMut(Told),
    ) -> Result<Document, CallError> {
        let mut relay = Relay::new(call.machine.redactor);
        let (mut out, mut err) = (Capture::new(), Capture::new());
        let limits = Limits::until(call.deadline);
        let mut sink = |stream, bytes: &[u8]| match stream {
            Stream::Out => out.push(bytes),
            Stream::Err => {
                err.push(bytes);
                relay.push(bytes, &mut |line| tell(Told::Stderr(line)));
            }
        };
        let finished = call.machine.launcher.run(spawn, &limits, call.machine.cancel, &mut sink);
        let said = relay.finish(&mut |line| tell(Told::Stderr(line)));
        let finished = finished.map_err(|error| match error {
            SpawnError::NotFound { .. } => CallError::CannotRun(format!(
                "`{}` was not found; install Claude Code 2.1.269 or newer, or name it with \
                 `--claude-bin`",
                self.program
            )),
            other => CallError::NotStarted(other.to_string()),
        })?;
        let code = match finished.ending {
            Ending::Exited(code) => code,
            Ending::Signaled(signal) => return Err(CallError::Signaled { signal, said }),
            Ending::TimedOut | Ending::Stalled(_) => {
                return Err(CallError::TimedOut { timeout: call.timeout, said });
            }
            Ending::Cancelled => return Err(CallError::Interrupted),
        };
        let Some(bytes) = read_result(&result_file(plugin))? else {
            let words = format!("{}\n{}", out.into_text(), err.into_text());
            return Err(match cannot_run(&words) {
                Some(reason) => CallError::CannotRun(reason),
                None => CallError::NoResult { code, said },
            });
        };
        let document: Document =
            answer::parse(&bytes).map_err(|error| CallError::Answer { error, said })?;
        if document.partial {
            return Err(partial(call, document.partial_reason.as_deref()));
        }
        if let Some(problem) = document.plugin_problem() {
            return Err(CallError::NotLoaded { problem });
        }
        Ok(document)
    }
}

fn result_file(plugin: &Utf8Path) -> Utf8PathBuf {
    plugin.join("aggregate.json")
}

fn read_result(path: &Utf8Path) -> Result<Option<Vec<u8>>, CallError> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(machine(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_ANSWER_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(machine)?;
    Ok(Some(bytes))
}

/// A run that ended early has results of some runs only, and which ones is chance.
fn partial(call: &Call<'_>, reason: Option<&str>) -> CallError {
    match reason {
        Some("auth_failed") => {
            let env = call.machine.env;
            CallError::CannotRun(super::program::no_credentials(HARNESS, env))
        }
        Some("cost_ceiling") => CallError::OverBudget { usd: call.max_cost_usd.unwrap_or(0.0) },
        other => CallError::Partial { reason: other.unwrap_or("no reason given").to_owned() },
    }
}

/// Why the command does not do its work at all, by its own words.
fn cannot_run(words: &str) -> Option<String> {
    let words = words.to_lowercase();
    let version = "`claude plugin eval` needs Claude Code 2.1.269 or newer";
    if words.contains("early access") {
        return Some(format!(
            "{version}: this one says that the command is in early access; update it, or choose \
             another runner"
        ));
    }
    if words.contains("not a trusted plugin directory") {
        return Some(
            "Claude Code runs the cases of a plugin only when it is told to trust it; when you trust \
             the skill and its cases, add `--runner-arg --trust-plugin`"
                .to_owned(),
        );
    }
    let unknown = ["unknown command", "unknown option", "too many arguments"];
    let said = unknown.into_iter().find(|unknown| words.contains(unknown))?;
    Some(format!("{version}: this one says \"{said}\""))
}
