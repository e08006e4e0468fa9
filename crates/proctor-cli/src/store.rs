//! The ClickHouse server that `--store` names, and runs on their way there.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, ScopedJoinHandle};

use camino::Utf8Path;
use proctor_clickhouse::server::{
    Address, PASSWORD_VARIABLE, Patience, Pushed, Server, ServerError, Trial,
};
use proctor_clickhouse::{Error, Table, tables};
use proctor_formats::experiment::{Places, value_sources};
use proctor_query::Scope;
use proctor_store::evidence::Kept;

use crate::commands::experiment::engine::secrets_file;
use crate::context::Context;
use crate::error::CommandError;

/// The name of the password in the user's file of secrets.
const PASSWORD_SECRET: &str = "proctor-clickhouse-password";

/// The flag `--store`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct StoreFlag {
    /// The ClickHouse server with the runs of many machines: `clickhouse://user@host:port/database`,
    /// with `?secure` for TLS. The password is that of `PROCTOR_CLICKHOUSE_PASSWORD`.
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
}

impl StoreFlag {
    /// The server; `None` when the flag was not given.
    pub(crate) fn server(&self, context: &Context) -> Result<Option<Server>, CommandError> {
        self.store.as_deref().map(|text| server(text, context)).transpose()
    }
}

/// The server at an address.
pub(crate) fn server(text: &str, context: &Context) -> Result<Server, CommandError> {
    // The address itself is not shown: a password may stand in it.
    let address =
        Address::parse(text).map_err(|error| CommandError::usage(format!("--store: {error}")))?;
    let secrets = secrets_file(context);
    let sources = value_sources(Places {
        flags: &[],
        env_files: &[],
        environment: &context.env,
        secrets_file: secrets.as_deref(),
    })
    .map_err(CommandError::usage)?;
    let names = [PASSWORD_VARIABLE, PASSWORD_SECRET];
    let password = sources
        .iter()
        .find_map(|source| names.iter().find_map(|name| source.values.get(*name)))
        .cloned();
    if !address.is_secure && !address.is_local() {
        context.printer.warning(&format!(
            "what goes to {address} is not encrypted; `?secure` at its end uses TLS"
        ));
    }
    Ok(Server::new(address, password, Patience::default()))
}

/// An error of a server or an engine, with what to do about it.
pub(crate) fn explain(error: Error) -> CommandError {
    let hint = match &error {
        Error::NotInstalled { .. } => {
            Some("`proctor engine install clickhouse` fetches it; it is one file of 566 MB")
        }
        Error::Start(_) => Some("a ClickHouse server needs nothing of this machine: `--store`"),
        Error::Server(ServerError::Away(_) | ServerError::TimedOut) => {
            Some("see whether the server runs, and whether the port is that of its HTTP interface")
        }
        Error::Server(ServerError::Refused { code: 81, .. }) => {
            Some("`CREATE DATABASE name` makes it on the server")
        }
        Error::Server(ServerError::Refused { code: 192..=195 | 516, .. }) => Some(
            "the user stands in the address, the password in PROCTOR_CLICKHOUSE_PASSWORD or in the \
             file of secrets",
        ),
        _ => None,
    };
    let error = CommandError::usage(error);
    hint.into_iter().fold(error, CommandError::hint)
}

/// Sends one trial of the project at `root`.
pub(crate) fn push(
    server: &Server,
    tables: &[Table],
    root: &Utf8Path,
    trial: &str,
    cancel: &dyn Fn() -> bool,
) -> Result<Pushed, Error> {
    let scope = Scope::Trial(trial.to_owned());
    let mut kept = Kept::open(root, &scope).map_err(|error| Error::Rows(error.to_string()))?;
    if let Some(problem) = kept.problems.first() {
        return Err(Error::Rows(problem.clone()));
    }
    server.push(tables, &mut Trial { run_id: trial, rows: &mut kept.evidence }, cancel)
}

/// Sends trials beside a run. Whatever the server does, the run goes on and is kept here.
pub(crate) struct Pusher<'scope> {
    due: Sender<String>,
    thread: ScopedJoinHandle<'scope, Report>,
}

/// What became of the trials of a run on their way to a server.
#[derive(Debug, Default)]
pub(crate) struct Report {
    arrived: usize,
    failed: usize,
    first: Option<String>,
}

impl<'scope> Pusher<'scope> {
    /// Starts sending on a thread of `scope`.
    pub(crate) fn start<'env>(
        scope: &'scope thread::Scope<'scope, 'env>,
        server: &'env Server,
        root: &'env Utf8Path,
        cancel: &'env (dyn Fn() -> bool + Sync),
    ) -> Self {
        let (due, told) = mpsc::channel();
        let thread = scope.spawn(move || send_all(server, root, &told, cancel));
        Self { due, thread }
    }

    /// A trial that is finished and kept.
    pub(crate) fn add(&self, trial: &str) {
        // A thread that has died is told of in the end.
        let _ = self.due.send(trial.to_owned());
    }

    /// Waits until all was sent, or given up.
    pub(crate) fn finish(self) -> Report {
        drop(self.due);
        self.thread.join().unwrap_or_else(|_| Report {
            first: Some("a bug in proctor ended the sending".to_owned()),
            ..Report::default()
        })
    }
}

fn send_all(
    server: &Server,
    root: &Utf8Path,
    due: &Receiver<String>,
    cancel: &(dyn Fn() -> bool + Sync),
) -> Report {
    let mut report = Report::default();
    let tables = tables();
    // A server that would not once is not asked again for each trial.
    let mut is_given_up = false;
    if let Err(error) = server.prepare(&tables) {
        report.first = Some(error.to_string());
        is_given_up = true;
    }
    for trial in due {
        if is_given_up {
            report.failed += 1;
            continue;
        }
        match push(server, &tables, root, &trial, cancel) {
            Ok(_) => report.arrived += 1,
            Err(error) => {
                report.failed += 1;
                is_given_up = !matches!(error, Error::Rows(_));
                report.first.get_or_insert_with(|| error.to_string());
            }
        }
    }
    report
}

impl Report {
    /// Says what became of them, and what is left to do. Never an error: the run is kept here.
    pub(crate) fn tell(&self, server: &Server, run: &str, context: &Context) {
        let Self { arrived, failed, first } = self;
        let address = server.address();
        let Some(first) = first else {
            context.printer.note(&format!("{arrived} trials are on {address}"));
            return;
        };
        context.printer.warning(&format!(
            "{failed} of {} trials did not reach {address}: {first}",
            arrived + failed
        ));
        context.printer.note(&format!(
            "nothing is lost: they are kept here, and `proctor run push {run} --store '{address}'` \
             sends them"
        ));
    }
}
