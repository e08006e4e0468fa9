//! `proctor eval list`.

use std::collections::BTreeSet;

use proctor_formats::eval::{EvalSettings, Inspected, Project, inspect};
use proctor_model::ExitCode;
use proctor_model::eval::listing::LISTING_SCHEMA_VERSION;
use proctor_model::eval::{ListedResult, ListedSkill, Listing, ResultState};
use proctor_report::eval as report;
use proctor_store::eval::Stored;

use super::common::{self, Place};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor eval list`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor eval list
  proctor eval list --root .claude/skills --format json

A result is `stale` when the skill or its cases changed after the run, and `unverified` when your
own key did not sign it.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// How to print the list.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let project = args.place.project(context)?;
    let settings = common::settings(&project, context)?;
    let results = args.place.load(&project, common::load_key(context).as_ref(), context)?;
    let skills: Vec<_> = project.skills.iter().collect();
    let listed = inspect(&project, &skills)
        .iter()
        .map(|inspected| {
            let stored = results.get(&inspected.skill.id);
            listed(&project, inspected, stored, &settings)
        })
        .collect();
    let listing = Listing { schema_version: LISTING_SCHEMA_VERSION, skills: listed };
    let text = match args.format {
        Output::Text => report::listing_text(&listing, &context.printer.styles()),
        Output::Json => report::listing_json(&listing),
    };
    context.printer.data(&text)?;
    for warning in &project.warnings.0 {
        context.printer.warning(&warning.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(
    project: &Project,
    inspected: &Inspected<'_>,
    stored: Option<&Stored>,
    settings: &EvalSettings,
) -> ListedSkill {
    let cases = &inspected.loaded.cases;
    let tags: BTreeSet<&String> = cases.iter().flat_map(|case| &case.tags).collect();
    ListedSkill {
        id: inspected.skill.id.clone(),
        domain: inspected.skill.domain.clone(),
        path: project.shown(&inspected.skill.folder).into_string(),
        cases: cases.len() as u64,
        near_misses: cases.iter().map(|case| case.near_miss.len() as u64).sum(),
        problems: inspected.loaded.problems().len() as u64,
        tags: tags.into_iter().cloned().collect(),
        result: stored
            .filter(|stored| stored.record().has_run())
            .map(|stored| result(inspected, stored, settings)),
    }
}

fn result(inspected: &Inspected<'_>, stored: &Stored, settings: &EvalSettings) -> ListedResult {
    let record = stored.record();
    let is = |digest: &Result<String, _>, recorded: &String| digest.as_ref().ok() == Some(recorded);
    let is_fresh =
        is(&inspected.digest, &record.digest) && is(&inspected.cases_digest, &record.cases_digest);
    let passes = record.score.passes(settings.min_pass_rate.unwrap_or(1.0));
    let state = match (stored.is_believed(), is_fresh, passes) {
        (false, _, _) => ResultState::Unverified,
        (true, false, _) => ResultState::Stale,
        (true, true, true) => ResultState::Passing,
        (true, true, false) => ResultState::Failing,
    };
    ListedResult { state, pass_rate: record.score.pass_rate }
}
