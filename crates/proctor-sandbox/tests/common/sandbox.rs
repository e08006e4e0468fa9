//! Trials for the tests of sandboxes.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use proctor_sandbox::isolation::{Sandbox, SandboxSpec, Sandboxes, User};
use proctor_sandbox::workspace::{Base, Workspace};
use proctor_sandbox::{Cancel, Ending, Finished, Limits, Rooms, Spawn, Stream};

use crate::common::launcher;

/// A place in which trials can be held.
pub(crate) struct Hall {
    pub(crate) rooms: Rooms,
    pub(crate) sandboxes: Sandboxes,
    pub(crate) temp: tempfile::TempDir,
}

/// `None` without bubblewrap, where that is allowed.
pub(crate) fn hall() -> Option<Hall> {
    let temp = tempfile::tempdir().unwrap();
    let rooms = Rooms::open(&Utf8Path::from_path(temp.path()).unwrap().join("rooms")).unwrap();
    let sandboxes = Sandboxes::new(launcher(), &rooms).unwrap();
    if let Err(reason) = &sandboxes.available().bubblewrap {
        let required =
            std::env::var_os("PROCTOR_REQUIRE_HARNESSES").is_some_and(|value| value == "1");
        assert!(!required, "{reason}");
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(Hall { rooms, sandboxes, temp })
}

impl Hall {
    /// A base with these files.
    pub(crate) fn base(&self, files: &[(&str, &str)]) -> Arc<Base> {
        let folder = self.temp.path().join("base");
        fs::create_dir_all(&folder).unwrap();
        for (path, content) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Base::freeze(folder).unwrap()
    }

    pub(crate) fn open(&self, spec: &SandboxSpec, base: &Arc<Base>) -> Sandbox<'_> {
        let room = self.rooms.create("trial").unwrap();
        self.sandboxes.open(spec, Workspace::new(base, room)).unwrap()
    }
}

/// What a script in a sandbox did.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) finished: Finished,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The output of a script that succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.finished.ending, Ending::Exited(0), "{}{}", self.out, self.err);
        self.out
    }
}

pub(crate) fn bash(sandbox: &Sandbox<'_>, user: User, script: &str) -> Said {
    bash_within(sandbox, user, script, Duration::from_mins(1))
}

pub(crate) fn bash_within(sandbox: &Sandbox<'_>, user: User, script: &str, time: Duration) -> Said {
    let mut spawn = Spawn::new("bash", sandbox.workspace());
    spawn.args = vec!["-c".into(), script.into()];
    spawn.env = vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
        ("HOME".into(), sandbox.home().into()),
    ];
    let limits = Limits::until(Instant::now() + time);
    let (mut out, mut err) = (String::new(), String::new());
    let finished = sandbox
        .run(user, &spawn, &limits, &Cancel::new().unwrap(), &mut |stream, bytes| {
            let text = String::from_utf8_lossy(bytes);
            match stream {
                Stream::Out => out.push_str(&text),
                Stream::Err => err.push_str(&text),
            }
        })
        .unwrap();
    Said { finished, out, err }
}

/// The processes of this machine whose command line has this text.
pub(crate) fn running(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(Path::new(&process.path()).join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(text) {
            found.push(line);
        }
    }
    found
}
