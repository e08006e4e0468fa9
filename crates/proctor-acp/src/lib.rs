//! One session with any program that speaks the Agent Client Protocol.
//!
//! It runs inside the room of a trial, as `proctor __acp -- COMMAND...`, with an
//! [`AcpJob`](proctor_model::AcpJob) as JSON on its standard input: it starts the command, opens a
//! session, sends the prompt in one turn, allows whatever the agent asks leave for, and ends when
//! the turn does. On its standard output it prints what was said, one JSON object a line:
//!
//! ```json
//! {"seq":0,"ts_ns":1,"kind":"axp_meta","axp_layout_version":"1.0","stream_version":"acp/1","producer":"proctor/0.1.0"}
//! {"seq":1,"ts_ns":2,"direction":"out","kind":"initialize","session_id":null,"tool_call_id":null,"raw_json":"{...}"}
//! {"seq":2,"ts_ns":3,"direction":"in","kind":"response","session_id":null,"tool_call_id":null,"raw_json":"{...}"}
//! {"seq":3,"ts_ns":4,"kind":"proctor_end","outcome":"usage_error","reason":"silent","message":"..."}
//! ```
//!
//! `raw_json` is the frame as text. Text of the agent that is no frame is there as kind `unknown`,
//! of a line that is too long only its start, with `"truncated":true`. The last line is there only
//! when the session ended otherwise than by an answer of the agent; `outcome` is the name of an
//! [`OutcomeClass`](proctor_model::OutcomeClass).
//!
//! It exits with 0 when the agent ended its turn, or was ready for one without a prompt; else with 1.
//!
//! The messages are those of the official crate. The connection is ours: that of the official crate
//! needs an asynchronous runtime and queues without bounds, and the other side is hostile. Here one
//! frame is held at a time, and an agent that does not read its answers is no longer read either.

mod client;
mod failure;
mod frames;
mod session;
mod wire;

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};

use proctor_model::AcpJob;

use crate::frames::Recorder;

/// The first argument by which the client is asked for.
pub const ARGUMENT: &str = "__acp";

/// A job larger than this is refused.
const MAX_JOB_BYTES: u64 = 64 << 20;

const USAGE: &str = "usage: proctor __acp -- COMMAND [ARGUMENT]... < job.json";

/// Does one session, and returns the process's exit code. `args` are what follows [`ARGUMENT`].
pub fn main(args: &[OsString]) -> i32 {
    let prepared = match args {
        [dashes, program, rest @ ..] if dashes == "--" => job().map(|job| (program, rest, job)),
        _ => Err(USAGE.to_owned()),
    };
    match prepared {
        Ok((program, rest, job)) => {
            let mut recorder = Recorder::new(io::stdout());
            i32::from(session::run(program, rest, &job, &mut recorder).is_err())
        }
        Err(why) => {
            // Nothing can be done when even this cannot be printed.
            let _ = writeln!(io::stderr(), "{why}");
            2
        }
    }
}

fn job() -> Result<AcpJob, String> {
    let mut bytes = Vec::new();
    let read = io::stdin().take(MAX_JOB_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the job cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_JOB_BYTES {
        return Err("the job is larger than 64 MiB".to_owned());
    }
    serde_json::from_slice(&bytes).map_err(|error| format!("the job cannot be read: {error}"))
}
