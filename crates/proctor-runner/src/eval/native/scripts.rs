//! Which script the built-in agent obeys for a case.
//!
//! Scripts lie beside the case file. For a case `ID` the first of these counts:
//!
//! - in the run without the skill: `ID.agent.without.yaml`, then `agent.without.yaml`;
//! - `ID.agent.yaml`, then `agent.yaml`.

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::Arm;

/// The script for a case, absolute, or where one was looked for.
pub(super) fn script(
    project: &Utf8Path,
    case: &ExpandedCase,
    arm: Arm,
) -> Result<Utf8PathBuf, String> {
    let file = project.join(&case.place.file);
    let folder = file.parent().unwrap_or(project);
    let mut names = Vec::new();
    if arm == Arm::Without {
        names.push(format!("{}.agent.without.yaml", case.id));
        names.push("agent.without.yaml".to_owned());
    }
    names.push(format!("{}.agent.yaml", case.id));
    names.push("agent.yaml".to_owned());
    let found = names.iter().map(|name| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| {
        let shown = case.place.file.parent().unwrap_or(Utf8Path::new("."));
        format!("the scripted agent has no script: put one of {} into {shown}", names.join(", "))
    })
}
