//! A ClickHouse server, where the runs of many machines land, over its HTTP interface.

mod address;
mod migrate;
mod push;
mod scope;
mod wire;

use std::time::Duration;

use proctor_model::experiment::SecretText;
use proctor_query::Scope;

pub use address::{Address, AddressError};
pub use migrate::SCHEMA_VERSION;
pub use push::{Pushed, Trial};

use self::wire::{Request, Wire};
use crate::query::{Answer, Error, GRACE, MAX_ANSWER, Query, TIME, ask_within};
use crate::schema::Table;

/// The variable, and the name in the file of secrets, of the password.
pub const PASSWORD_VARIABLE: &str = "PROCTOR_CLICKHOUSE_PASSWORD";

/// The largest answer to what is asked on our own account, in bytes.
const SMALL: u64 = 1 << 20;

/// The first version that knows a repeated insertion by its token.
const TOKENS_SINCE: (u32, u32) = (22, 2);

/// Errors of ClickHouse that pass by themselves: too many queries, a time-out or a break between
/// servers, too little memory, a table that is read-only for now, too many parts, too few replicas,
/// an insertion of which it is not known whether it counted, and its keeper.
const PASSING: [u32; 9] = [202, 209, 210, 241, 242, 252, 285, 319, 999];

/// Why a server did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// It cannot be reached.
    #[error("the server cannot be reached: {0}")]
    Away(String),
    /// The connection broke, and it is not known what the server did.
    #[error("the connection to the server broke: {0}")]
    Broken(String),
    /// The time is over.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The answer is too large to be one.
    #[error("the answer of the server is too large")]
    TooLarge,
    /// Something other than ClickHouse answered, or ClickHouse without a reason.
    #[error("the server answered with status {status}: {said}")]
    Status {
        /// The status of HTTP.
        status: u16,
        /// The first line of what it said.
        said: String,
    },
    /// ClickHouse refuses, in its own words.
    #[error("{message}")]
    Refused {
        /// The number of its error.
        code: u32,
        /// What it said.
        message: String,
    },
    /// It is no ClickHouse.
    #[error("the server does not answer like ClickHouse; it said {0:?}")]
    NotClickHouse(String),
    /// It is too old to keep evidence; it can be asked.
    #[error("the server is ClickHouse {major}.{minor}, and evidence needs 22.2 or later")]
    TooOld {
        /// The version of the server.
        major: u32,
        /// The same.
        minor: u32,
    },
    /// The database holds something else.
    #[error(
        "the database `{database}` has a table `{table}` that is not Proctor's: name a database of \
         its own"
    )]
    Foreign {
        /// The database.
        database: String,
        /// The table.
        table: String,
    },
    /// The tables were made by a later version.
    #[error(
        "the tables on the server are of version {found}, and this program knows {known}: it must be \
         updated"
    )]
    Newer {
        /// The version on the server.
        found: u32,
        /// The latest that this program knows.
        known: u32,
    },
    /// What arrived is not what was sent.
    #[error(
        "of {expected} rows of trial {run_id} in `{table}` the server has {found}, also after they \
         were sent again"
    )]
    Counts {
        /// The trial.
        run_id: String,
        /// The table.
        table: String,
        /// The rows that were sent.
        expected: u64,
        /// The rows that are there.
        found: u64,
    },
    /// The user's settings on the server cannot be changed, so no question can be limited.
    #[error(
        "the user `{0}` may change no setting on the server (readonly = 1), so that a question can \
         neither be limited nor be kept to its run"
    )]
    Fixed(String),
    /// It was called off.
    #[error("it was called off")]
    Cancelled,
}

impl ServerError {
    /// Whether asking again may help.
    fn is_passing(&self) -> bool {
        match self {
            Self::Away(_) | Self::Broken(_) | Self::TimedOut => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            Self::Refused { code, .. } => PASSING.contains(code),
            _ => false,
        }
    }
}

/// How long a server is waited for, and how often and after which pauses something is asked again
/// that may be asked twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How long one request may take that is no question of a user's.
    pub request: Duration,
    /// How often altogether.
    pub tries: u32,
    /// The first pause; each later one is twice as long.
    pub first_pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { request: Duration::from_secs(30), tries: 4, first_pause: Duration::from_millis(250) }
    }
}

/// A server.
#[derive(Debug)]
pub struct Server {
    address: Address,
    wire: Wire,
    patience: Patience,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    version: (u32, u32),
    /// Whether the user may only read: 0, 1 (and change no setting), 2.
    readonly: u8,
}

impl Server {
    /// A server, which is not asked for anything yet.
    pub fn new(address: Address, password: Option<SecretText>, patience: Patience) -> Self {
        let wire = Wire::new(&address, password);
        Self { address, wire, patience }
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Answers a question about what is in `scope`, which can change nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with ClickHouse's words, and those of [`ServerError`].
    pub fn query(
        &self,
        query: &Query<'_>,
        scope: &Scope,
        tables: &[Table],
    ) -> Result<Answer, Error> {
        let known = self.known()?;
        if known.readonly == 1 {
            return Err(ServerError::Fixed(self.address.user.clone()).into());
        }
        let filters = scope::filters(scope, tables);
        ask_within(query, |settings| {
            let mut parameters: Vec<(&str, &str)> =
                settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            parameters.push(("default_format", query.format));
            // So that an error in the middle of an answer is an error, and no rows before it.
            parameters.push(("wait_end_of_query", "1"));
            // Who may only read anyway may not set this.
            if known.readonly == 0 {
                parameters.push(("readonly", "1"));
            }
            if let Some(filters) = &filters {
                parameters.push(("additional_table_filters", filters));
            }
            let answer = self.request(&parameters, query.sql.as_bytes(), TIME + GRACE, MAX_ANSWER);
            answer.map_err(|error| match error {
                ServerError::Refused { message, .. } => Error::Refused(message),
                ServerError::TooLarge => Error::TooLarge,
                other => other.into(),
            })
        })
    }

    /// What the server is.
    fn known(&self) -> Result<Known, ServerError> {
        let said = self.ask(
            "SELECT version(), value FROM system.settings WHERE name = 'readonly' FORMAT TSV",
        )?;
        let mut words = said.split_whitespace();
        let version = words.next().and_then(|version| {
            let mut numbers = version.split('.').map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        });
        match (version, words.next().and_then(|number| number.parse().ok())) {
            (Some(version), Some(readonly)) => Ok(Known { version, readonly }),
            _ => Err(ServerError::NotClickHouse(said.chars().take(80).collect())),
        }
    }

    /// Asks something on our own account, again if that may help. Nothing that is asked so does
    /// harm when it is done twice.
    fn ask(&self, sql: &str) -> Result<String, ServerError> {
        let parameters = [("wait_end_of_query", "1")];
        let said = self.small(&parameters, sql.as_bytes())?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// A request on our own account, again if that may help.
    fn small(&self, parameters: &[(&str, &str)], body: &[u8]) -> Result<Vec<u8>, ServerError> {
        self.again(|| self.request(parameters, body, self.patience.request, SMALL))
    }

    /// Does something again while that may help.
    fn again<T>(&self, mut what: impl FnMut() -> Result<T, ServerError>) -> Result<T, ServerError> {
        let mut pause = self.patience.first_pause;
        for _ in 1..self.patience.tries {
            match what() {
                Err(error) if error.is_passing() => {}
                done => return done,
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        what()
    }

    fn request(
        &self,
        parameters: &[(&str, &str)],
        body: &[u8],
        time: Duration,
        at_most: u64,
    ) -> Result<Vec<u8>, ServerError> {
        let database = [("database", self.address.database.as_str())];
        let parameters = [&database, parameters].concat();
        self.wire.send(&Request { parameters: &parameters, body, time, at_most })
    }
}

#[cfg(test)]
mod tests;
