//! The agent that does what a script says, for demonstrations, examples and tests.
//!
//! It costs nothing, needs no network and does the same every time; and it can misbehave on demand.
//! It is started as `proctor __agent SCRIPT [--] [PROMPT]`, where a prompt `-` is read from the
//! standard input, and prints one JSON object a line:
//!
//! ```json
//! {"type":"start","version":1}
//! {"type":"say","text":"..."}
//! {"type":"tool_call","id":"1","name":"Read","input":{"file_path":"a.md"}}
//! {"type":"tool_result","id":"1","status":"ok","text":"..."}
//! {"type":"file_change","path":"a.md","change":"updated"}
//! {"type":"usage","input_tokens":12,"output_tokens":3}
//! {"type":"notice","message":"..."}
//! {"type":"end","outcome":"completed","message":""}
//! ```
//!
//! `status` is `ok`, `error` or `denied`; `change` is `added`, `updated` or `deleted`; `outcome` is
//! the name of an [`OutcomeClass`](proctor_model::OutcomeClass). It exits with 0 when the outcome is
//! `completed`, with 1 when it is any other, and with 2, having printed nothing, when the script
//! cannot be used.
//!
//! In place of a script, [`MOCK`] is the agent that plays any other: it writes the prompt to `mock.txt`,
//! repeats it, and reports usage.
//!
//! The script is a YAML document of `steps`; [`Step`] lists them. In every text of a step (not in
//! names and paths) `${prompt}` stands for the prompt. `PROCTOR_MAX_TURNS` in the environment
//! limits the turns: each step that speaks or calls a tool is one.

mod agent;
mod detach;
mod line;
mod parse;
mod script;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use proctor_model::{Diagnostic, Diagnostics};

pub use script::{
    Crash, Detached, End, Ignorable, Script, Seconds, SignalName, Step, Tally, Text, ToolCall,
};

use crate::agent::Agent;

/// The first argument by which the agent is asked for.
pub const ARGUMENT: &str = "__agent";
/// Limits the number of turns.
pub const MAX_TURNS_VARIABLE: &str = "PROCTOR_MAX_TURNS";

/// Names the built-in script that plays any agent and spends nothing.
pub const MOCK: &str = "--mock";
/// That script.
const MOCK_SCRIPT: &str = include_str!("mock.yaml");

/// A script or a prompt larger than this is refused.
const MAX_INPUT_BYTES: u64 = 16 << 20;

const USAGE: &str = "usage: proctor __agent SCRIPT [--] [PROMPT]";

/// Is the agent, and returns the process's exit code. `args` are what follows [`ARGUMENT`].
pub fn main(args: &[OsString]) -> i32 {
    if let Some(command) = detach::Command::parse(args) {
        return command.obey();
    }
    match prepare(args) {
        Ok((script, mut agent)) => agent.obey(&script),
        Err(diagnostics) => {
            // Nothing can be done when even this cannot be printed.
            let _ = writeln!(io::stderr(), "{diagnostics}");
            2
        }
    }
}

fn prepare(args: &[OsString]) -> Result<(Script, Agent<io::Stdout>), Diagnostics> {
    let one = |diagnostic| Diagnostics(vec![diagnostic]);
    let (path, prompt) = match args {
        [script] => (script, None),
        [script, dashes, prompt] if dashes == "--" => (script, Some(prompt)),
        [script, prompt] => (script, Some(prompt)),
        _ => return Err(one(Diagnostic::error(USAGE))),
    };
    let script = read_script(Path::new(path)).map_err(one)?;
    let prompt = match (prompt, args.len()) {
        (None, _) => String::new(),
        // Only without the dashes: behind them it is a prompt like any other.
        (Some(prompt), 2) if prompt == "-" => {
            limited(io::stdin()).map_err(|why| one(Diagnostic::error(format!("prompt: {why}"))))?
        }
        (Some(prompt), _) => prompt.to_string_lossy().into_owned(),
    };
    let max_turns = max_turns(std::env::var_os(MAX_TURNS_VARIABLE).as_deref()).map_err(one)?;
    Ok((script, Agent::new(prompt, max_turns, io::stdout())))
}

fn read_script(path: &Path) -> Result<Script, Diagnostic> {
    if path == Path::new(MOCK) {
        return Script::parse(MOCK_SCRIPT);
    }
    let name = path.to_string_lossy().into_owned();
    let text = File::open(path).map_err(|error| error.to_string()).and_then(limited);
    let text = text.map_err(|why| {
        Diagnostic::error(format!("the script cannot be read: {why}")).in_file(name.as_str())
    })?;
    Script::parse(&text).map_err(|diagnostic| diagnostic.in_file(name.as_str()))
}

/// All of a reader's text, or why it is refused.
fn limited(reader: impl io::Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    reader.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_INPUT_BYTES {
        return Err("it is larger than 16 MiB".to_owned());
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 (at byte {})", error.utf8_error().valid_up_to()))
}

fn max_turns(value: Option<&OsStr>) -> Result<Option<u64>, Diagnostic> {
    let Some(value) = value else { return Ok(None) };
    match value.to_str().and_then(|value| value.parse().ok()) {
        Some(turns) if turns > 0 => Ok(Some(turns)),
        _ => Err(Diagnostic::error(format!(
            "{MAX_TURNS_VARIABLE} is `{}`, which is no number above zero",
            value.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_limit_is_a_number_above_zero() {
        assert_eq!(max_turns(None), Ok(None));
        assert_eq!(max_turns(Some("3".as_ref())), Ok(Some(3)));
        for wrong in ["", "0", "-1", "x", "1.5"] {
            let error = max_turns(Some(wrong.as_ref())).unwrap_err().to_string();
            assert!(error.ends_with("which is no number above zero"), "{error}");
        }
    }

    #[test]
    fn what_is_too_large_or_no_text_is_refused() {
        assert_eq!(limited(io::repeat(b'x')).unwrap_err(), "it is larger than 16 MiB");
        assert_eq!(limited(&b"ab\xFF"[..]).unwrap_err(), "it is not UTF-8 (at byte 2)");
    }
}
