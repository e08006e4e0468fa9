//! Skills where a harness finds them.

use std::io;
use std::path::Path;

use camino::Utf8Path;
use proctor_formats::eval::EVALS_NAME;
use proctor_sandbox::{StageError, StageLimits, stage_some};

/// Why a skill cannot be installed.
#[derive(Debug, thiserror::Error)]
pub(super) enum InstallError {
    /// Its folder cannot be copied.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Copies a skill to the new folder `to`, without its cases: no agent may see those.
pub(super) fn install(skill: &Utf8Path, to: &Utf8Path) -> Result<(), InstallError> {
    fs_err::create_dir_all(to)?;
    // A skill's folder may itself be a link.
    let from = skill.canonicalize_utf8()?;
    let wanted = |path: &Path| path != Path::new(EVALS_NAME);
    stage_some(from.as_std_path(), to.as_std_path(), &StageLimits::default(), &wanted)?;
    Ok(())
}
