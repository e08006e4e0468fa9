//! What is to be run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::rooms::{ROOM_VARIABLE, Room};

/// Where programs are looked for when the environment has no `PATH`, as `execvp(3)` has it.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// One program to run, with everything it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawn {
    /// The program: a path, or a name to look for on the `PATH` of `env`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder it runs in.
    pub cwd: PathBuf,
    /// Its whole environment: nothing is inherited. Of equal names the last counts.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads from its standard input, which then ends; `None` is `/dev/null`.
    pub stdin: Option<Vec<u8>>,
}

impl Spawn {
    /// A program without arguments, with an empty environment and input.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: None,
        }
    }

    /// Marks the process and its descendants as belonging to `room`, so that
    /// [`Rooms::reap`](crate::Rooms::reap) finds them if this process is killed.
    #[must_use]
    pub fn marked(mut self, room: &Room) -> Self {
        self.env.push((ROOM_VARIABLE.into(), room.root().as_os_str().to_owned()));
        self
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let last = self.env.iter().rev().find(|(key, _)| key == name);
        last.map(|(_, value)| value.as_os_str())
    }
}

/// Why nothing could be run, or why nothing is known of how it ended.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no such program.
    #[error("program `{}` not found", program.display())]
    NotFound {
        /// As it was asked for.
        program: PathBuf,
    },
    /// The program is there, and cannot be executed.
    #[error("program `{}` cannot be executed: {reason}", program.display())]
    NotExecutable {
        /// The file that was found.
        program: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// The folder to run in cannot be used.
    #[error("cannot run in `{}`: {source}", path.display())]
    WorkingDirectory {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refused to start it.
    #[error("cannot start `{}`: {source}", program.display())]
    Io {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Proctor's own executable, which is to stand between, is not where it was.
    #[error("cannot start the launcher `{}`: {source}", exe.display())]
    NoLauncher {
        /// The executable.
        exe: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The process between Proctor and the program was killed by something else, so that nobody
    /// saw how the program ended. What was left of its tree has been killed.
    #[error("the launcher of `{}` was killed from outside", program.display())]
    LauncherLost {
        /// The program.
        program: PathBuf,
    },
}

/// The file that `program` means: itself when it holds a `/` (taken from `cwd`), otherwise the
/// first executable file of that name in `path`, a list as in the variable `PATH`.
///
/// Entries of `path` that are not absolute are passed over, unlike in a shell: they would mean the
/// folder of the moment, which is the agent's own workspace.
pub fn find_program(
    program: &OsStr,
    path: Option<&OsStr>,
    cwd: &Path,
) -> Result<PathBuf, SpawnError> {
    let not_found = || SpawnError::NotFound { program: program.into() };
    if program.is_empty() {
        return Err(not_found());
    }
    if program.as_encoded_bytes().contains(&b'/') {
        let file = cwd.join(program);
        return match executable(&file) {
            Ok(()) => Ok(file),
            Err(None) => Err(not_found()),
            Err(Some(reason)) => Err(SpawnError::NotExecutable { program: file, reason }),
        };
    }
    let mut refusal = not_found();
    for folder in std::env::split_paths(path.unwrap_or(DEFAULT_PATH.as_ref())) {
        if !folder.is_absolute() {
            continue;
        }
        let file = folder.join(program);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(None) => {}
            Err(Some(reason)) => {
                if matches!(refusal, SpawnError::NotFound { .. }) {
                    refusal = SpawnError::NotExecutable { program: file, reason };
                }
            }
        }
    }
    Err(refusal)
}

/// Whether `file` may be executed; otherwise why not, without a reason when no such file is to be
/// seen: a folder that may not be searched hides what is in it, and says nothing about it.
fn executable(file: &Path) -> Result<(), Option<&'static str>> {
    match fs::metadata(file) {
        Err(_) => Err(None),
        Ok(metadata) if metadata.is_dir() => Err(Some("it is a folder")),
        Ok(metadata) if !metadata.is_file() => Err(Some("it is not a regular file")),
        Ok(_) if access(file, AccessFlags::X_OK).is_err() => {
            Err(Some("permission denied (is it marked executable?)"))
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn file(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn find(program: &str, path: &[&Path], cwd: &Path) -> Result<PathBuf, String> {
        let path = std::env::join_paths(path).unwrap();
        find_program(program.as_ref(), Some(&path), cwd).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_executable_on_the_path_wins() {
        let temp = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| temp.path().join(name));
        file(&a.join("tool"), 0o644);
        file(&b.join("tool"), 0o755);
        file(&c.join("tool"), 0o755);
        assert_eq!(find("tool", &[&a, &b, &c], temp.path()), Ok(b.join("tool")));
        let refused = find("tool", &[&a], temp.path()).unwrap_err();
        assert!(
            refused.ends_with("cannot be executed: permission denied (is it marked executable?)")
        );
        assert_eq!(find("tool", &[], temp.path()).unwrap_err(), "program `tool` not found");
        assert_eq!(find("", &[&b], temp.path()).unwrap_err(), "program `` not found");
    }

    #[test]
    fn the_workspace_is_not_on_the_path() {
        let temp = tempfile::tempdir().unwrap();
        file(&temp.path().join("jq"), 0o755);
        let relative = Path::new(".");
        assert!(find("jq", &[relative, Path::new("")], temp.path()).is_err());
        assert_eq!(find("./jq", &[], temp.path()), Ok(temp.path().join("./jq")));
    }

    #[test]
    fn a_folder_is_no_program() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("tool")).unwrap();
        let refused = find("./tool", &[], temp.path()).unwrap_err();
        assert!(refused.ends_with("cannot be executed: it is a folder"), "{refused}");
    }

    #[test]
    fn without_a_path_the_usual_places_are_searched() {
        let found = find_program("sh".as_ref(), None, Path::new("/")).unwrap();
        assert!(["/bin/sh", "/usr/bin/sh"].iter().any(|sh| found == Path::new(sh)));
    }
}
