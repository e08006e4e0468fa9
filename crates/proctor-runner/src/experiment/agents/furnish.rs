//! Files into the home of a room.

use std::time::{Duration, Instant};

use proctor_harness::HomeFile;
use proctor_sandbox::isolation::{Sandbox, User};
use proctor_sandbox::{Cancel, Capture, Ending, Limits, Spawn};

use super::plan::AgentError;

/// How long it may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Reads the files, whose places and sizes are its arguments, one after the other. `head` takes no
/// more from a pipe than it is asked for.
const SCRIPT: &str = r#"
set -eu
umask 077
while [ $# -gt 0 ]; do
    mkdir -p "${1%/*}"
    head -c "$2" > "$1"
    shift 2
done
"#;

/// Writes the files as the agent, to whom they belong, and who may have no way to read what root
/// has written. Programs write there too, so it is no bind.
pub(super) fn furnish(
    sandbox: &Sandbox<'_>,
    files: &[HomeFile],
    cancel: &Cancel,
) -> Result<(), AgentError> {
    if files.is_empty() {
        return Ok(());
    }
    let mut args = vec!["-c".into(), SCRIPT.into(), "sh".into()];
    let mut bytes = Vec::new();
    for file in files {
        let content = file.content.expose().as_bytes();
        args.push(sandbox.home().join(&file.path).into_os_string());
        args.push(content.len().to_string().into());
        bytes.extend_from_slice(content);
    }
    let spawn = Spawn {
        args,
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Some(bytes),
        ..Spawn::new("/bin/sh", sandbox.workspace())
    };
    let limits = Limits::until(Instant::now() + PATIENCE);
    let mut said = Capture::new();
    let finished =
        sandbox.run(User::Agent, &spawn, &limits, cancel, &mut |_, bytes| said.push(bytes));
    match finished.map(|finished| finished.ending) {
        Ok(Ending::Exited(0)) => Ok(()),
        Ok(_) => Err(AgentError::Home { said: said.into_text().trim().to_owned() }),
        Err(error) => Err(AgentError::Home { said: error.to_string() }),
    }
}
