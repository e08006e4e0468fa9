//! The script: its types are its grammar.

use std::fmt;
use std::time::Duration;

use nix::sys::signal::Signal;
use proctor_model::OutcomeClass;
use proctor_model::event::ToolStatus;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest `sleep`, in seconds: a day.
const MAX_SLEEP: f64 = 86_400.0;

/// A whole script.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What to do, one after the other. After the last one the session ends as `completed`.
    pub steps: Vec<Step>,
}

/// One thing to do. A step is written as a mapping with one key, `stall` as that word alone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Says a text.
    Say(String),
    /// Reads a file by an explicit tool call, really; its path is relative to the working folder.
    Read(String),
    /// Writes a whole file by a tool call; folders above it are made.
    Write(Text),
    /// Adds to the end of a file by a tool call; the file is made when it is not there.
    Append(Text),
    /// Deletes a file by a tool call.
    Delete(String),
    /// Runs a program by a tool call, without a shell, and waits for it and for everything that
    /// holds its output open.
    Run(Vec<String>),
    /// Pretends a tool call.
    Tool(ToolCall),
    /// Pretends the use of a skill.
    Skill(String),
    /// Waits for so many seconds.
    Sleep(Seconds),
    /// Starts a program that is left behind.
    Spawn(Detached),
    /// From now on these signals do nothing, neither here nor in what is started later.
    Ignore(Vec<Ignorable>),
    /// Writes a text to the standard output as it is, without a line end.
    Print(String),
    /// Writes bytes to the standard output.
    PrintBytes(Vec<u8>),
    /// Writes a text to the standard error as it is, without a line end.
    Stderr(String),
    /// Reports a warning.
    Notice(String),
    /// Reports what was used since the last report.
    Usage(Tally),
    /// Ends the process without a last line.
    Crash(Crash),
    /// Does nothing for ever.
    Stall,
    /// Ends the session.
    End(End),
}

/// A file and a text for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// The file, relative to the working folder.
    pub path: String,
    /// The text.
    pub text: String,
}

/// A pretended tool call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Name of the tool.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub input: Map<String, Value>,
    /// How it goes.
    #[serde(default = "ok")]
    pub status: ToolStatus,
    /// What it returns.
    #[serde(default)]
    pub text: String,
}

fn ok() -> ToolStatus {
    ToolStatus::Ok
}

/// A program that is left behind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Detached {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// In a session of its own.
    #[serde(default)]
    pub setsid: bool,
    /// As an orphan: its parent ends at once.
    #[serde(default)]
    pub double_fork: bool,
    /// With the agent's standard output and error, instead of `/dev/null`.
    #[serde(default)]
    pub keep_pipes: bool,
}

/// What was used; see [`Usage`](proctor_model::Usage) for the meanings.
#[expect(missing_docs, reason = "the meanings are the model's")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// An end without a last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Crash {
    /// By a signal.
    Signal(SignalName),
    /// With an exit code.
    Exit(u8),
}

/// An end with a last line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// How.
    pub outcome: OutcomeClass,
    /// In which words.
    #[serde(default)]
    pub message: String,
}

/// The name of a signal, without `SIG`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names are the system's")]
pub enum SignalName {
    Abrt,
    Alrm,
    Hup,
    Int,
    Kill,
    Quit,
    Segv,
    Term,
    Usr1,
    Usr2,
}

impl From<SignalName> for Signal {
    fn from(name: SignalName) -> Self {
        match name {
            SignalName::Abrt => Self::SIGABRT,
            SignalName::Alrm => Self::SIGALRM,
            SignalName::Hup => Self::SIGHUP,
            SignalName::Int => Self::SIGINT,
            SignalName::Kill => Self::SIGKILL,
            SignalName::Quit => Self::SIGQUIT,
            SignalName::Segv => Self::SIGSEGV,
            SignalName::Term => Self::SIGTERM,
            SignalName::Usr1 => Self::SIGUSR1,
            SignalName::Usr2 => Self::SIGUSR2,
        }
    }
}

/// A signal that a process can choose not to hear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "SignalName")]
pub struct Ignorable(pub SignalName);

impl TryFrom<SignalName> for Ignorable {
    type Error = &'static str;

    fn try_from(name: SignalName) -> Result<Self, Self::Error> {
        match name {
            SignalName::Kill => Err("KILL cannot be ignored"),
            other => Ok(Self(other)),
        }
    }
}

/// A duration, written as a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = f64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds from 0 to 86400")
            }

            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<f64, E> {
                if (0.0..=MAX_SLEEP).contains(&seconds) {
                    Ok(seconds)
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(seconds), &self))
                }
            }
        }
        deserializer.deserialize_f64(Number).map(|seconds| Self(Duration::from_secs_f64(seconds)))
    }
}
