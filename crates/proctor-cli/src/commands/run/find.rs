//! Runs and trials by what somebody calls them.

use proctor_store::runs::{Found, Runs};

use crate::context::Context;
use crate::error::CommandError;

/// What an id means; says so when it is not the whole id.
pub(crate) fn find(id: &str, context: &Context) -> Result<Found, CommandError> {
    let found = Runs::of(&context.cwd).find(id).map_err(|error| {
        CommandError::usage(error).hint("`proctor run list` has the runs of this project")
    })?;
    let whole = found.trial.as_ref().map_or(&found.run.plan.run_id, |trial| &trial.id);
    if whole != id {
        let what = if found.trial.is_some() { "trial" } else { "run" };
        context.printer.note(&format!("`{id}` is {what} {whole}"));
    }
    Ok(found)
}

/// The same where only a run will do: of a trial, the run that it belongs to.
pub(super) fn find_run(
    id: &str,
    context: &Context,
) -> Result<proctor_store::runs::StoredRun, CommandError> {
    let found = find(id, context)?;
    if found.trial.is_some() {
        context.printer.note(&format!("it belongs to run {}", found.run.plan.run_id));
    }
    Ok(found.run)
}
