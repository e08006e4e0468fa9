//! A run as one stream of JSON lines, without loss: what `run export --format jsonl` writes and
//! `run import` reads.
//!
//! The first line describes the run. Then follows each finished trial: a line with its record, one
//! line an event, and its files in pieces. The last line counts, so that a stream that was cut is
//! known as such.

use proctor_model::Event;
use proctor_model::run::{PlannedTrial, RunPlan, TrialRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the first line calls the format.
pub const FORMAT: &str = "proctor-run";

/// The version of the stream. A reader refuses one that it does not know.
pub const VERSION: u32 = 1;

/// The longest piece of a file, in bytes before its encoding.
pub const PIECE: usize = 256 * 1024;

/// One line of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one line is held at a time")]
pub enum StreamLine {
    /// The first line.
    Run {
        /// [`FORMAT`].
        format: String,
        /// [`VERSION`].
        version: u32,
        /// What the run consists of.
        plan: RunPlan,
        /// The experiment as it was, as text; absent when nothing describes the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        experiment: Option<String>,
    },
    /// A trial begins. Its events and its files follow.
    Trial {
        /// Its place in the plan.
        planned: PlannedTrial,
        /// What it came to: verdict, tests, checks, usage.
        record: TrialRecord,
    },
    /// An event of the trial.
    Event {
        /// What happened.
        event: Event,
    },
    /// A piece of a file of the trial: pieces of one file follow each other.
    File {
        /// Its path below the folder of the trial.
        path: String,
        /// How `data` holds the bytes.
        encoding: Encoding,
        /// The piece.
        data: String,
        /// Whether it is the last one of the file.
        last: bool,
    },
    /// The last line.
    End {
        /// Lines of trials.
        trials: u64,
        /// Lines of events.
        events: u64,
        /// Files, whatever the number of their pieces.
        files: u64,
    },
}

/// How a piece of a file stands in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As it is: it is text in UTF-8.
    Utf8,
    /// As base64 with padding (RFC 4648).
    Base64,
}

/// The JSON Schema of a line.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(StreamLine);
    schema.insert("title".to_owned(), "proctor run export --format jsonl: one line".into());
    schema.to_value()
}
