//! ClickHouse's HTTP interface on a port of the loopback interface, in front of whatever answers
//! statements (ClickHouse itself as a library, or a double of a few lines), and with faults.

use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, mem};

use crate::fake_model::http::{Connection, Head};
use crate::harness::workspace_root;

/// The variable that names ClickHouse as a library.
pub const LIBRARY_VARIABLE: &str = "PROCTOR_LIBCHDB";

/// Set to `1`, it makes a test fail that would be skipped for want of that library.
pub const REQUIRE_VARIABLE: &str = "PROCTOR_REQUIRE_LIBCHDB";

/// ClickHouse as a library, where `PROCTOR_LIBCHDB` says or where `cargo xtask test` installs it;
/// `None` with a note that the test is skipped.
///
/// # Panics
///
/// When it is missing and `PROCTOR_REQUIRE_LIBCHDB` is `1`.
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
pub fn require_libchdb() -> Option<PathBuf> {
    let path = env::var_os(LIBRARY_VARIABLE).map_or_else(
        || workspace_root().join("target/engines/clickhouse/libchdb.so"),
        PathBuf::from,
    );
    if path.is_file() {
        return Some(path);
    }
    let required = env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1");
    assert!(!required, "{} is not there; `cargo xtask engines` installs it", path.display());
    eprintln!("skipped: {} is not there; `cargo xtask engines` installs it", path.display());
    None
}

/// A statement as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The statement, and the rows that follow it when it is an insertion.
    pub statement: Vec<u8>,
    /// The database.
    pub database: Option<String>,
    /// The format where the statement names none.
    pub format: String,
    /// The settings, in their order; `readonly` is the last.
    pub settings: Vec<(String, String)>,
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
}

/// What an engine says to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Its answer.
    Answer(Vec<u8>),
    /// Its error, as text; it begins with `Code: N.`.
    Error(String),
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection is reset while the request is still being sent; nothing was done.
    Reset,
    /// What was asked is done, and the connection is reset instead of an answer.
    DoneThenReset,
    /// What was asked is done, and the answer is status 500 without a reason.
    DoneThen500,
    /// Of the rows that were sent the first half is put in, and the connection is reset.
    HalfThenReset,
    /// This status, from a proxy that knows no ClickHouse; nothing was done.
    Status(u16),
    /// Status 200 and something that ClickHouse would never say.
    Garbage,
    /// Status 200 and an answer without an end.
    Endless,
    /// No answer, until the client leaves.
    Silence,
}

/// Which statement a fault is for: the first whose text contains this.
type Plan = Vec<(String, Fault)>;

struct Shared {
    plan: Mutex<Plan>,
    log: Mutex<Vec<Asked>>,
    is_over: AtomicBool,
}

/// A running server; it stops when dropped.
pub struct ClickHouse {
    shared: Arc<Shared>,
    address: SocketAddr,
    server: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for ClickHouse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ClickHouse").field("address", &self.address).finish_non_exhaustive()
    }
}

impl ClickHouse {
    /// Starts a server whose statements `engine` answers, one after the other.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub fn start(engine: impl FnMut(&Asked) -> Said + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let address = listener.local_addr().expect("the address of a listening socket");
        let shared = Arc::new(Shared {
            plan: Mutex::default(),
            log: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let for_server = Arc::clone(&shared);
        let server = thread::spawn(move || serve(&listener, &for_server, engine));
        Self { shared, address, server: Some(server) }
    }

    /// The address of a database, as `--store` takes it.
    pub fn store(&self, database: &str) -> String {
        format!("clickhouse://tester@{}/{database}", self.address)
    }

    /// Lets the next statement that contains `text` meet `fault`, once. Several for one text come
    /// one after the other.
    pub fn fail(&self, text: &str, fault: Fault) {
        lock(&self.shared.plan).push((text.to_owned(), fault));
    }

    /// The faults that have not come up.
    pub fn faults_left(&self) -> usize {
        lock(&self.shared.plan).len()
    }

    /// The statements so far, without those that broke off.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.log).clone()
    }

    /// The statements so far, which are forgotten.
    pub fn take_asked(&self) -> Vec<Asked> {
        mem::take(&mut *lock(&self.shared.log))
    }
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the server; when it has ended already there is nobody to wake.
        let _ = TcpStream::connect(self.address);
        if let Some(server) = self.server.take() {
            let ended = server.join();
            assert!(ended.is_ok() || thread::panicking(), "the server's thread panicked");
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(listener: &TcpListener, shared: &Shared, mut engine: impl FnMut(&Asked) -> Said) {
    for stream in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        // A client that breaks off is no failure of the server.
        let _ = stream.and_then(|stream| answer(Connection::new(stream), shared, &mut engine));
    }
}

fn answer(
    mut connection: Connection,
    shared: &Shared,
    engine: &mut impl FnMut(&Asked) -> Said,
) -> io::Result<()> {
    let Some(head) = connection.read_head()? else { return Ok(()) };
    if head.target == "/ping" {
        connection.respond(200, "text/plain", b"Ok.\n", &[])?;
        connection.finish();
        return Ok(());
    }
    let mut asked = Asked::of(&head);
    let in_url = asked.statement.clone();
    // An insertion's statement stands in the URL, so that it is known before its rows are read.
    if let Some(Fault::Reset) = take(shared, &in_url, |fault| fault == Fault::Reset) {
        return connection.reset();
    }
    let body = connection.read_body(&head)?;
    if !asked.statement.is_empty() && !body.is_empty() {
        asked.statement.push(b'\n');
    }
    asked.statement.extend_from_slice(&body);
    let fault = take(shared, &asked.statement, |_| true);
    let plain = "text/plain; charset=UTF-8";
    match fault {
        None => match run(shared, engine, &asked) {
            Said::Answer(body) => connection.respond(200, plain, &body, &[])?,
            Said::Error(message) => {
                let code = message.trim_start_matches("Code: ");
                let code: String = code.chars().take_while(char::is_ascii_digit).collect();
                let header = [("X-ClickHouse-Exception-Code".to_owned(), code)];
                connection.respond(400, plain, message.as_bytes(), &header)?;
            }
        },
        Some(Fault::Reset) => return connection.reset(),
        Some(Fault::DoneThenReset) => {
            run(shared, engine, &asked);
            return connection.reset();
        }
        Some(Fault::DoneThen500) => {
            run(shared, engine, &asked);
            connection.respond(500, plain, b"something broke", &[])?;
        }
        Some(Fault::HalfThenReset) => {
            let lines: Vec<&[u8]> = body.split_inclusive(|byte| *byte == b'\n').collect();
            let half = lines.get(..lines.len().div_ceil(2)).unwrap_or_default().concat();
            asked.statement = [&in_url[..], b"\n", &half].concat();
            run(shared, engine, &asked);
            return connection.reset();
        }
        Some(Fault::Status(status)) => {
            connection.respond(status, "text/html", b"<html>not here</html>", &[])?;
        }
        Some(Fault::Garbage) => {
            connection.respond(200, "text/html", b"<html>hello</html>", &[])?;
        }
        Some(Fault::Endless) => {
            connection.start(200, plain, "transfer-encoding: chunked", &[])?;
            let chunk = vec![b'x'; 1 << 20];
            // Until the client has had enough.
            while connection.chunk(&chunk).is_ok() {}
        }
        Some(Fault::Silence) => {
            connection.pause(Duration::from_mins(1))?;
        }
    }
    connection.finish();
    Ok(())
}

/// The first fault for a statement that may come now; it comes once.
fn take(shared: &Shared, statement: &[u8], may: impl Fn(Fault) -> bool) -> Option<Fault> {
    let mut plan = lock(&shared.plan);
    let text = String::from_utf8_lossy(statement);
    let at = plan.iter().position(|(wanted, _)| text.contains(wanted.as_str()))?;
    may(plan.get(at)?.1).then(|| plan.remove(at).1)
}

fn run(shared: &Shared, engine: &mut impl FnMut(&Asked) -> Said, asked: &Asked) -> Said {
    lock(&shared.log).push(asked.clone());
    engine(asked)
}

impl Asked {
    /// What stands in the head of a request.
    fn of(head: &Head) -> Self {
        let mut asked = Self {
            statement: Vec::new(),
            database: None,
            format: "TabSeparated".to_owned(),
            settings: Vec::new(),
            user: head.header("x-clickhouse-user").map(str::to_owned),
            password: head.header("x-clickhouse-key").map(str::to_owned),
        };
        let (_, parameters) = head.target.split_once('?').unwrap_or_default();
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = decoded(value);
            match name {
                "query" => asked.statement = value.into_bytes(),
                "database" => asked.database = Some(value),
                "default_format" => asked.format = value,
                // Of the interface itself, and no setting of the engine.
                "wait_end_of_query" => {}
                _ => asked.settings.push((decoded(name), value)),
            }
        }
        // A server sets all at once; one after the other, nothing can follow this one.
        asked.settings.sort_by_key(|(name, _)| name == "readonly");
        asked
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next(), rest.next()].map(|digit| {
                    char::from(digit.unwrap_or_default()).to_digit(16).unwrap_or_default()
                });
                bytes.push(u8::try_from(digits[0] * 16 + digits[1]).unwrap_or_default());
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn post(server: &ClickHouse, target: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let length = body.len();
        write!(stream, "POST {target} HTTP/1.1\r\nx-clickhouse-user: me\r\ncontent-length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut said = Vec::new();
        // A reset is what some tests wait for.
        let _ = stream.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    }

    #[test]
    fn statements_arrive_with_their_settings() {
        let server = ClickHouse::start(|asked| match &asked.statement[..] {
            b"SELECT 1" => Said::Answer(b"1\n".to_vec()),
            _ => Said::Error("Code: 62. DB::Exception: no".to_owned()),
        });
        let target =
            "/?readonly=1&database=px&default_format=CSV&max_threads=%31&wait_end_of_query=1";
        assert!(post(&server, target, "SELECT 1").ends_with("\r\n\r\n1\n"));
        let said = post(&server, "/?query=INSERT+x", "{}");
        assert!(said.starts_with("HTTP/1.1 400 ") && said.contains("Exception-Code: 62\r\n"));
        let asked = server.take_asked();
        assert_eq!((asked[0].database.as_deref(), asked[0].format.as_str()), (Some("px"), "CSV"));
        assert_eq!(asked[0].user.as_deref(), Some("me"));
        let settings = [("max_threads", "1"), ("readonly", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(asked[0].settings, settings);
        assert_eq!(asked[1].statement, b"INSERT x\n{}");
    }

    #[test]
    fn a_fault_comes_once_and_for_its_statement() {
        let server = ClickHouse::start(|_| Said::Answer(Vec::new()));
        server.fail("INSERT", Fault::HalfThenReset);
        server.fail("INSERT", Fault::DoneThen500);
        assert!(post(&server, "/", "SELECT 1").starts_with("HTTP/1.1 200 "));
        assert_eq!(post(&server, "/?query=INSERT", "a\nb\nc\nd\n"), "");
        assert!(post(&server, "/?query=INSERT", "a\n").starts_with("HTTP/1.1 500 "));
        assert!(post(&server, "/?query=INSERT", "a\n").starts_with("HTTP/1.1 200 "));
        assert_eq!(server.faults_left(), 0);
        let statements: Vec<_> = server.asked().into_iter().map(|asked| asked.statement).collect();
        assert_eq!(statements[1], b"INSERT\na\nb\n");
        assert_eq!(statements.len(), 4);
    }
}
