//! A scripted stand-in for the model APIs that agent programs call.
//!
//! It speaks, on a port of the loopback interface only:
//!
//! | request | answer |
//! |---|---|
//! | `POST [/s/NAME]/v1/messages` | Anthropic Messages, as a stream or plain |
//! | `POST [/s/NAME]/v1/responses` | `OpenAI` Responses, as a stream or plain |
//! | `POST [/s/NAME]/v1/chat/completions` | `OpenAI` Chat Completions, as a stream or plain |
//! | `POST [/s/NAME]/v1beta/models/MODEL:generateContent` | Gemini, plain |
//! | `POST [/s/NAME]/v1/messages/count_tokens` | a count |
//! | `GET [/s/NAME]/v1/models` | a list with one model |
//! | a WebSocket upgrade | 426: Codex tries one first and then uses HTTP |
//! | `CONNECT` or a URI with a host | 403: given as a proxy, the server shows what a program tries to reach |
//! | anything else | 404 |
//!
//! `/v1` and `/v1beta` may be left out. A base URL that ends in `/s/NAME` has its own place in the script, so
//! that several agents share one server. Every request is logged, without credentials.
//!
//! ```
//! use proctor_testkit::{FakeModel, Fault, Turn};
//!
//! let model = FakeModel::start([Turn::text("hello").after(Fault::status(429)), Turn::text("bye")]);
//! // run an agent with ANTHROPIC_BASE_URL = model.url()
//! assert!(model.requests().is_empty());
//! ```

mod answer;
mod exchange;
pub(crate) mod http;
mod request;
mod script;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

pub use request::{Api, Asked, ToolResult};
pub use script::{Fault, OnExhausted, Script, StopReason, Turn, Usage};

use script::{Cursor, Pick};

/// How long [`FakeModel::requests`] waits for requests that are still being answered.
const SETTLE: Duration = Duration::from_secs(10);

/// A running fake model; it stops when dropped.
#[derive(Debug)]
pub struct FakeModel {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

/// One request as the fake model saw it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRequest {
    /// The order of arrival, from 1.
    pub seq: u64,
    /// `NAME` of a base URL that ends in `/s/NAME`, else `default`.
    pub session: String,
    /// The HTTP method.
    pub method: String,
    /// The target of the request line.
    pub target: String,
    /// The kind of request.
    pub api: Api,
    /// What it says.
    pub asked: Asked,
    /// Its body; null when it has none or is no JSON.
    pub body: Value,
    /// Its headers by lowercase name; of credentials only the length is kept.
    pub headers: BTreeMap<String, String>,
    /// The number of the turn that answered it, from 0; `None` when no turn of the script did.
    pub turn: Option<usize>,
    /// The status that was sent; `None` when the connection ended before one.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It got its answer.
    Answered,
    /// It met an injected fault.
    Fault,
    /// It did not meet an expectation of the script: which one.
    Unmet(String),
    /// It asked for something that a fake model does not do.
    Refused,
    /// It could not be read: why.
    Unreadable(String),
    /// The client left before the end.
    ClientGone,
}

impl FakeModel {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub fn start(script: impl Into<Script>) -> Self {
        Self::start_on(0, script)
    }

    /// Starts a server on `port`; 0 stands for any free one.
    ///
    /// # Panics
    ///
    /// When the port is taken.
    pub fn start_on(port: u16, script: impl Into<Script>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port on loopback");
        let address = listener.local_addr().expect("the address of a listening socket");
        let shared = Arc::new(Shared::new(script.into()));
        let for_acceptor = Arc::clone(&shared);
        let acceptor = thread::spawn(move || accept(&listener, &for_acceptor));
        Self { shared, address, acceptor: Some(acceptor) }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The base URL for clients that add `/v1/...` themselves (Claude Code).
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL of the session `name`, which runs its own copy of the script.
    pub fn session_url(&self, name: &str) -> String {
        format!("{}/s/{name}", self.url())
    }

    /// Gives the session `name` its own script, from its beginning; `default` is the session of [`FakeModel::url`].
    pub fn set_script(&self, name: &str, script: impl Into<Script>) {
        self.shared.state().sessions.insert(name.to_owned(), Cursor::new(script.into()));
    }

    /// Every request so far in the order of arrival, once none is being answered any more.
    ///
    /// # Panics
    ///
    /// When a request is still being answered after ten seconds.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        let state = self.shared.state();
        let (state, waited) = self
            .shared
            .changed
            .wait_timeout_while(state, SETTLE, |state| state.in_flight > 0)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "{} requests are still being answered", state.in_flight);
        let mut log = state.log.clone();
        log.sort_by_key(|request| request.seq);
        log
    }

    /// The requests that a script answers: no model lists, token counts and refused ones.
    pub fn model_requests(&self) -> Vec<LoggedRequest> {
        let mut log = self.requests();
        log.retain(|request| {
            matches!(request.api, Api::Messages | Api::Responses | Api::Chat | Api::Gemini)
        });
        log
    }

    /// Waits until `count` requests have arrived, answered or not.
    ///
    /// # Panics
    ///
    /// When they have not arrived within `limit`.
    pub fn wait_for_requests(&self, count: u64, limit: Duration) {
        let state = self.shared.state();
        let (state, waited) = self
            .shared
            .changed
            .wait_timeout_while(state, limit, |state| state.arrived < count)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "{} of {count} requests arrived", state.arrived);
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.stop();
        // Wakes the acceptor; when it has ended already there is nobody to wake.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let ended = acceptor.join();
            assert!(ended.is_ok() || thread::panicking(), "a thread of the fake model panicked");
        }
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Told about every arrival and every end.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    script: Script,
    sessions: BTreeMap<String, Cursor>,
    log: Vec<LoggedRequest>,
    arrived: u64,
    in_flight: u64,
    /// The open connections, by number: shut down to end whatever waits on them.
    open: BTreeMap<u64, TcpStream>,
    accepted: u64,
    stopping: bool,
}

impl Shared {
    fn new(script: Script) -> Self {
        let state = State {
            script,
            sessions: BTreeMap::new(),
            log: Vec::new(),
            arrived: 0,
            in_flight: 0,
            open: BTreeMap::new(),
            accepted: 0,
            stopping: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a connection; `None` when the server is being stopped.
    fn opened(&self, stream: &TcpStream) -> Option<u64> {
        let mut state = self.state();
        if state.stopping {
            return None;
        }
        state.accepted += 1;
        let number = state.accepted;
        state.open.insert(number, stream.try_clone().ok()?);
        Some(number)
    }

    fn closed(&self, number: u64) {
        self.state().open.remove(&number);
    }

    /// Numbers a request that has begun.
    fn arrived(&self) -> u64 {
        let mut state = self.state();
        state.arrived += 1;
        state.in_flight += 1;
        self.changed.notify_all();
        state.arrived
    }

    fn ended(&self, request: LoggedRequest) {
        let mut state = self.state();
        state.in_flight -= 1;
        state.log.push(request);
        self.changed.notify_all();
    }

    fn pick(&self, session: &str) -> Pick {
        let mut state = self.state();
        let State { script, sessions, .. } = &mut *state;
        sessions.entry(session.to_owned()).or_insert_with(|| Cursor::new(script.clone())).pick()
    }

    fn stop(&self) {
        let mut state = self.state();
        state.stopping = true;
        for stream in state.open.values() {
            // Already shut down by its client: as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut workers: Vec<JoinHandle<()>> = Vec::new();
    // A connection that is reset before it is accepted is an error of that connection alone.
    for stream in listener.incoming().filter_map(Result::ok) {
        let Some(number) = shared.opened(&stream) else { break };
        workers.retain(|worker| !worker.is_finished());
        let shared = Arc::clone(shared);
        workers.push(thread::spawn(move || {
            exchange::serve(stream, &shared);
            shared.closed(number);
        }));
    }
    for worker in workers {
        worker.join().expect("a worker of the fake model ends well");
    }
}
