//! The engine as its user sees it.

use std::io::{self, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tempfile::TempDir;

use super::child::ARGUMENT;
use super::frame::{self, Ask, Reply};
use super::library::{Places, find};
use crate::batch::{INSERT_SETTINGS, Rows, in_batches, insert};
use crate::query::{Answer, Error, GRACE, MAX_ANSWER, Query, Settings, TIME, ask_within};
use crate::schema::Table;

/// How long opening the library may take; 3 s have been seen where the disk was cold.
const START: Duration = Duration::from_mins(1);
/// How much is kept of what the engine says besides its answers.
const MAX_SAID: u64 = 16 * 1024;

/// What an engine is started with.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The program whose hidden form `__clickhouse` is the engine's process.
    pub proctor: &'a Path,
    /// Where the library may be.
    pub places: &'a Places,
    /// Where the engine's own folder is made; it is removed in the end.
    pub temporary: &'a Path,
}

/// ClickHouse in a process of its own, with nothing in it at first.
#[derive(Debug)]
pub struct Engine {
    child: Child,
    /// `None` once the process has been told to end.
    input: Option<ChildStdin>,
    replies: Receiver<io::Result<(Reply, Vec<u8>)>>,
    said: Option<JoinHandle<String>>,
    version: String,
    /// Dropped after `child` has ended.
    _folder: TempDir,
}

impl Engine {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// [`Error::NotInstalled`], and [`Error::Start`] when the library or the kernel will not.
    pub fn start(start: &Start<'_>) -> Result<Self, Error> {
        let Some(found) = find(start.places) else {
            let looked = start.places.in_order();
            let looked = looked.iter().map(|path| path.display().to_string()).collect();
            return Err(Error::NotInstalled { looked });
        };
        let file = |error| Error::File { path: start.temporary.to_owned(), error };
        let folder = tempfile::Builder::new()
            .prefix("proctor-clickhouse-")
            .tempdir_in(start.temporary)
            .map_err(file)?;
        let mut child = Command::new(start.proctor)
            .arg(ARGUMENT)
            .args([&found.path, folder.path()])
            .env_clear()
            // Times are told in this zone on every machine.
            .env("TZ", "UTC")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // An interrupt is for us: the engine ends, and cleans up, when its input does.
            .process_group(0)
            .spawn()
            .map_err(|error| Error::Start(error.to_string()))?;
        let (Some(input), Some(output), Some(errors)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::Start("it has no pipes".to_owned()));
        };
        let mut engine = Self {
            child,
            input: Some(input),
            replies: listen(output),
            said: Some(thread::spawn(move || overhear(errors))),
            version: String::new(),
            _folder: folder,
        };
        match engine.reply(START)? {
            (Reply::Ready { version }, _) => engine.version = version,
            (Reply::Failed { message }, _) => return Err(Error::Start(message)),
            (Reply::Done { .. }, _) => {
                return Err(Error::Start("it speaks out of turn".to_owned()));
            }
        }
        Ok(engine)
    }

    /// The version of ClickHouse.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The id of its process.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Makes a table without rows.
    ///
    /// # Errors
    ///
    /// Those of the engine.
    pub fn create(&mut self, table: &Table) -> Result<(), Error> {
        self.run(table.create(0).as_bytes(), "TSV", &Settings::new(), None).map(|_| ())
    }

    /// Makes a table and puts rows in it; returns how many.
    ///
    /// # Errors
    ///
    /// Those of `rows`, and of the engine.
    pub fn load(&mut self, table: &Table, rows: &mut dyn Rows) -> Result<u64, Error> {
        self.create(table)?;
        let insert = insert(table);
        let settings = INSERT_SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        in_batches(rows, table, |batch| {
            let sql = [insert.as_bytes(), b"\n", batch].concat();
            self.run(&sql, "TSV", &settings, None).map(|_| ())
        })
    }

    /// Answers a question, which can change nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with the engine's words; [`Error::Crashed`] and [`Error::TimedOut`] when
    /// the engine is gone, after which it answers nothing.
    pub fn query(&mut self, query: &Query<'_>) -> Result<Answer, Error> {
        ask_within(query, |settings| {
            let mut settings = settings.clone();
            // Last, since nothing can be set afterwards.
            settings.push(("readonly".to_owned(), "1".to_owned()));
            self.run(query.sql.as_bytes(), query.format, &settings, None)
        })
    }

    /// Runs one statement with the settings that are named and no others, whatever it does. For the
    /// server of tests: what users write goes through [`Engine::query`].
    ///
    /// # Errors
    ///
    /// As of [`Engine::query`].
    pub fn run(
        &mut self,
        sql: &[u8],
        format: &str,
        settings: &[(String, String)],
        database: Option<&str>,
    ) -> Result<Vec<u8>, Error> {
        let ask = Ask {
            settings: settings.to_vec(),
            database: database.map(str::to_owned),
            format: format.to_owned(),
            bytes: sql.len() as u64,
        };
        let written = match &mut self.input {
            Some(input) => frame::write(input, &ask, sql),
            None => return Err(Error::Start("it has ended".to_owned())),
        };
        // The reason why it does not listen is better told by its end.
        if written.is_err() {
            return Err(self.ended());
        }
        match self.reply(TIME + GRACE)? {
            (Reply::Done { .. }, body) => Ok(body),
            (Reply::Failed { message }, _) => Err(Error::Refused(message)),
            (Reply::Ready { .. }, _) => Err(self.ended()),
        }
    }

    /// Waits for a reply.
    fn reply(&mut self, time: Duration) -> Result<(Reply, Vec<u8>), Error> {
        match self.replies.recv_timeout(time) {
            Ok(Ok(reply)) => Ok(reply),
            Err(RecvTimeoutError::Timeout) => {
                // It does not listen any more, so it is not asked.
                let _ = self.child.kill();
                self.input = None;
                Err(Error::TimedOut(time))
            }
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(self.ended()),
        }
    }

    /// What became of a process that does not answer.
    fn ended(&mut self) -> Error {
        self.input = None;
        // Gone already, or not to be trusted any more.
        let _ = self.child.kill();
        let how = match self.child.wait() {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("signal {signal}"),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "no exit code".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let said = said.trim();
        let said = if said.is_empty() { String::new() } else { format!("\n{said}") };
        Error::Crashed { how, said }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The end of its input is the end of the process, which removes its data.
        self.input = None;
        let _ = self.child.wait();
    }
}

/// Reads replies on a thread, so that waiting for one can end.
fn listen(output: ChildStdout) -> Receiver<io::Result<(Reply, Vec<u8>)>> {
    let (tell, told) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let reply = match frame::read::<Reply>(&mut output) {
                Ok(Some(Reply::Done { bytes })) if bytes <= MAX_ANSWER => {
                    let body = frame::read_bytes(&mut output, bytes);
                    body.map(|body| (Reply::Done { bytes }, body))
                }
                Ok(Some(Reply::Done { .. })) => Err(io::ErrorKind::InvalidData.into()),
                Ok(Some(reply)) => Ok((reply, Vec::new())),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            let is_last = reply.is_err();
            if tell.send(reply).is_err() || is_last {
                break;
            }
        }
    });
    told
}

/// The start of what the engine says; the rest is read and forgotten, so that it never waits.
fn overhear(mut errors: ChildStderr) -> String {
    let mut said = Vec::new();
    let _ = errors.by_ref().take(MAX_SAID).read_to_end(&mut said);
    let _ = io::copy(&mut errors, &mut io::sink());
    String::from_utf8_lossy(&said).into_owned()
}
