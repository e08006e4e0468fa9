//! The desk at which tests ask for evidence: a socket that answers questions about one run.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use proctor_model::Event;
use proctor_query::wire::{answer, read_question, write_reply};
use proctor_query::{Evidence, QueryError, TestOutput};
use proctor_redact::Redactor;

/// How long a test may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Failed questions of one test that are kept.
const MAX_ERRORS: usize = 10;

/// What was asked since it was looked at last.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// Why questions had no answer.
    pub(super) errors: Vec<String>,
    /// Whether rows were left out of an answer.
    pub(super) is_truncated: bool,
}

/// An open desk; it closes when it is dropped.
#[derive(Debug)]
pub(super) struct Desk {
    shared: Arc<Shared>,
    socket: PathBuf,
    /// The listening socket, as something that can be shut down: that wakes the clerk.
    waker: UnixStream,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    run_id: String,
    token: String,
    state: Mutex<State>,
    is_closed: AtomicBool,
}

#[derive(Debug)]
struct State {
    evidence: Evidence,
    asked: Asked,
}

impl Desk {
    /// Opens a desk at `socket`, which must not be there yet. Only the user who runs tests may
    /// connect, and only who knows `token` gets an answer.
    pub(super) fn open(
        socket: &Path,
        run_id: &str,
        token: &str,
        evidence: Evidence,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600))?;
        let shared = Arc::new(Shared {
            run_id: run_id.to_owned(),
            token: token.to_owned(),
            state: Mutex::new(State { evidence, asked: Asked::default() }),
            is_closed: AtomicBool::new(false),
        });
        let clerk = Arc::clone(&shared);
        let waker = UnixStream::from(OwnedFd::from(listener.try_clone()?));
        let thread = std::thread::Builder::new()
            .name("evidence".to_owned())
            .spawn(move || clerk.serve(&listener))?;
        Ok(Self { shared, socket: socket.to_owned(), waker, thread: Some(thread) })
    }

    /// What was asked since the last call, with secrets taken out.
    pub(super) fn take_asked(&self, redactor: &Redactor) -> Asked {
        let mut asked = std::mem::take(&mut self.shared.lock().asked);
        for error in &mut asked.errors {
            *error = redactor.text(error).into_owned();
        }
        asked
    }

    /// Adds what the agent did.
    pub(super) fn add_events(&self, events: &[Event]) -> Result<(), QueryError> {
        self.shared.lock().evidence.add_events(events)
    }

    /// Adds what a test left, for the tests after it.
    pub(super) fn add_test(&self, test: &TestOutput<'_>) -> Result<(), QueryError> {
        self.shared.lock().evidence.add_test(test)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
        let is_awake = self.waker.shutdown(Shutdown::Both).is_ok();
        if is_awake && let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One question after the other: tests run one after the other too.
    fn serve(&self, listener: &UnixListener) {
        for stream in listener.incoming() {
            if self.is_closed.load(Ordering::Acquire) {
                return;
            }
            // What cannot be accepted cannot be told either; who asks sees a broken connection, and
            // fails.
            let Ok(mut stream) = stream else { continue };
            let _ = self.answer(&mut stream);
        }
    }

    fn answer(&self, stream: &mut UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let found = match read_question(stream) {
            Err(error) => Err(QueryError::Engine(format!("the question cannot be read: {error}"))),
            Ok(question) if question.token != self.token => Err(QueryError::Engine(
                "AX_API_KEY is not the key of this run; do not change it in a test".to_owned(),
            )),
            Ok(question) if question.run_id != self.run_id => Err(QueryError::Engine(format!(
                "`{}` is another run; a test may ask about its own, $AX_RUN_ID, alone",
                question.run_id
            ))),
            Ok(question) => {
                let mut state = self.lock();
                let found = answer(&mut state.evidence, &question.sql, question.limit);
                state.asked.is_truncated |=
                    found.as_ref().is_ok_and(|lines| lines.ending.is_truncated);
                found
            }
        };
        if let Err(error) = &found {
            let mut state = self.lock();
            if state.asked.errors.len() < MAX_ERRORS {
                state.asked.errors.push(error.to_string());
            }
        }
        write_reply(stream, &found)?;
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proctor_query::Dimensions;
    use proctor_query::wire::{Question, Reply, ask};

    use super::*;

    struct Asking {
        folder: tempfile::TempDir,
        desk: Desk,
    }

    fn desk() -> Asking {
        let folder = tempfile::tempdir().unwrap();
        let evidence = Evidence::new(&Dimensions::default()).unwrap();
        let desk = Desk::open(&folder.path().join("s"), "r::1", "token", evidence).unwrap();
        Asking { folder, desk }
    }

    impl Asking {
        fn ask(&self, token: &str, run_id: &str, sql: &str) -> (Reply, String) {
            let mut stream = UnixStream::connect(self.folder.path().join("s")).unwrap();
            let question = Question {
                token: token.to_owned(),
                run_id: run_id.to_owned(),
                sql: sql.to_owned(),
                limit: 2,
            };
            let mut out = Vec::new();
            let reply = ask(&mut stream, &question, &mut out).unwrap();
            (reply, String::from_utf8(out).unwrap())
        }
    }

    #[test]
    fn questions_are_answered_and_remembered() {
        let asking = desk();
        let (reply, rows) = asking.ask("token", "r::1", "SELECT 1 AS a UNION ALL SELECT 2");
        assert_eq!(reply, Reply::Rows { count: 2, bytes: 16, is_truncated: false });
        assert_eq!(rows, "{\"a\":1}\n{\"a\":2}\n");
        let three = "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3";
        let (reply, _) = asking.ask("token", "r::1", three);
        assert_eq!(reply, Reply::Rows { count: 2, bytes: 16, is_truncated: true });
        let (reply, _) = asking.ask("token", "r::1", "SELECT text FROM events");
        let Reply::Failed { message } = reply else { panic!("{reply:?}") };
        assert!(message.starts_with("unknown column `text`"));
        let asked = asking.desk.take_asked(&Redactor::default());
        assert_eq!((asked.errors, asked.is_truncated), (vec![message], true));
        assert_eq!(asking.desk.take_asked(&Redactor::default()), Asked::default());
    }

    #[test]
    fn only_who_knows_the_key_is_answered_and_only_about_this_run() {
        let asking = desk();
        let failed = |reply: (Reply, String)| match reply {
            (Reply::Failed { message }, rows) if rows.is_empty() => message,
            other => panic!("{other:?}"),
        };
        assert!(failed(asking.ask("guess", "r::1", "SELECT 1")).starts_with("AX_API_KEY"));
        assert!(failed(asking.ask("token", "r::2", "SELECT 1")).starts_with("`r::2` is another"));
        let mut stream = UnixStream::connect(asking.folder.path().join("s")).unwrap();
        stream.write_all(b"no question\n").unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(asking.desk.take_asked(&Redactor::default()).errors.len(), 3);
    }

    #[test]
    fn a_closed_desk_leaves_nothing_behind() {
        let asking = desk();
        drop(asking.desk);
        assert!(!asking.folder.path().join("s").exists());
    }
}
