//! The agent at work.

use std::fs;
use std::io::{self, Read as _, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use nix::sys::signal::{SigSet, Signal, raise};
use proctor_model::OutcomeClass;
use proctor_model::event::{FileChange, ToolStatus};
use serde_json::{Value, json};

use crate::detach;
use crate::line::Line;
use crate::script::{Crash, Ignorable, Script, Step, Text};

/// Of a file or an output, a tool result shows this many bytes.
const SHOWN_BYTES: usize = 64 << 10;

/// The agent, and where it prints.
pub(crate) struct Agent<W> {
    prompt: String,
    max_turns: Option<u64>,
    turns: u64,
    calls: u64,
    out: W,
}

/// Why the agent stops before its script does.
enum Stop {
    /// With this exit code.
    Exit(i32),
    /// Nobody listens any more.
    Deaf,
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Self {
        Self::Deaf
    }
}

impl<W: Write> Agent<W> {
    pub(crate) fn new(prompt: String, max_turns: Option<u64>, out: W) -> Self {
        Self { prompt, max_turns, turns: 0, calls: 0, out }
    }

    /// Does what the script says; returns the exit code.
    pub(crate) fn obey(&mut self, script: &Script) -> i32 {
        match self.all(script) {
            Ok(()) => 0,
            Err(Stop::Exit(code)) => code,
            Err(Stop::Deaf) => 1,
        }
    }

    fn all(&mut self, script: &Script) -> Result<(), Stop> {
        self.line(&Line::Start { version: 1 })?;
        for step in &script.steps {
            self.step(step)?;
        }
        self.end(OutcomeClass::Completed, "")
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Say(text) => {
                self.turn()?;
                let text = self.filled(text);
                self.line(&Line::Say { text: &text })?;
            }
            Step::Read(path) => {
                let id = self.call("Read", &json!({"file_path": path}))?;
                self.result(&id, read(Path::new(path)))?;
            }
            Step::Write(file) => {
                let text = self.filled(&file.text);
                let input = json!({"file_path": file.path, "content": text});
                self.change("Write", &input, file, |path| fs::write(path, &text))?;
            }
            Step::Append(file) => {
                let text = self.filled(&file.text);
                let input = json!({"file_path": file.path, "old_string": "", "new_string": text});
                self.change("Edit", &input, file, |path| append(path, &text))?;
            }
            Step::Delete(path) => {
                let id = self.call("Delete", &json!({"file_path": path}))?;
                let deleted = fs::remove_file(path).map_err(|error| format!("{path}: {error}"));
                let done = deleted.is_ok();
                self.result(&id, deleted.map(|()| String::new()))?;
                if done {
                    self.line(&Line::FileChange { path, change: FileChange::Deleted })?;
                }
            }
            Step::Run(words) => {
                let words: Vec<String> = words.iter().map(|word| self.filled(word)).collect();
                let id = self.call("Bash", &json!({"command": shell_words(&words)}))?;
                self.result(&id, run(&words))?;
            }
            Step::Tool(tool) => {
                let id = self.call(&tool.name, &Value::Object(tool.input.clone()))?;
                let text = self.filled(&tool.text);
                self.line(&Line::ToolResult { id: &id, status: tool.status, text: &text })?;
            }
            Step::Skill(name) => {
                let id = self.call("Skill", &json!({"skill": name}))?;
                self.result(&id, Ok(String::new()))?;
            }
            Step::Usage(tally) => self.line(&Line::Usage(tally))?,
            Step::Notice(message) => {
                let message = self.filled(message);
                self.line(&Line::Notice { message: &message })?;
            }
            Step::Print(text) => {
                let text = self.filled(text);
                self.raw(text.as_bytes())?;
            }
            Step::PrintBytes(bytes) => self.raw(bytes)?,
            Step::Stderr(text) => {
                let text = self.filled(text);
                io::stderr().write_all(text.as_bytes())?;
            }
            Step::Sleep(seconds) => thread::sleep(seconds.0),
            Step::Spawn(program) => {
                let run: Vec<String> = program.run.iter().map(|word| self.filled(word)).collect();
                if let Err(error) = detach::leave(program, &run) {
                    let message = format!("nothing was left behind: {error}");
                    self.line(&Line::Notice { message: &message })?;
                }
            }
            Step::Ignore(names) => ignore(names),
            Step::Crash(Crash::Exit(code)) => return Err(Stop::Exit(i32::from(*code))),
            Step::Crash(Crash::Signal(name)) => return Err(die_of((*name).into())),
            Step::Stall => loop {
                thread::park();
            },
            Step::End(end) => {
                let message = self.filled(&end.message);
                self.end(end.outcome, &message)?;
            }
        }
        Ok(())
    }

    fn filled(&self, text: &str) -> String {
        text.replace("${prompt}", &self.prompt)
    }

    fn raw(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.out.write_all(bytes)?;
        Ok(self.out.flush()?)
    }

    fn line(&mut self, line: &Line<'_>) -> Result<(), Stop> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::from)?;
        text.push(b'\n');
        self.raw(&text)
    }

    /// Begins a turn, or ends the session when there are none left.
    fn turn(&mut self) -> Result<(), Stop> {
        if let Some(most) = self.max_turns
            && self.turns >= most
        {
            self.end(OutcomeClass::MaxTurns, &format!("the limit of {most} turns was reached"))?;
        }
        self.turns += 1;
        Ok(())
    }

    /// Prints the last line and stops.
    fn end(&mut self, outcome: OutcomeClass, message: &str) -> Result<(), Stop> {
        self.line(&Line::End { outcome, message })?;
        Err(Stop::Exit(i32::from(outcome != OutcomeClass::Completed)))
    }

    /// Announces a tool call; returns its id.
    fn call(&mut self, name: &str, input: &Value) -> Result<String, Stop> {
        self.turn()?;
        self.calls += 1;
        let id = self.calls.to_string();
        self.line(&Line::ToolCall { id: &id, name, input })?;
        Ok(id)
    }

    fn result(&mut self, id: &str, result: Result<String, String>) -> Result<(), Stop> {
        let (status, text) = match result {
            Ok(text) => (ToolStatus::Ok, text),
            Err(text) => (ToolStatus::Error, text),
        };
        self.line(&Line::ToolResult { id, status, text: &text })
    }

    /// Changes a file by a tool call.
    fn change(
        &mut self,
        tool: &str,
        input: &Value,
        file: &Text,
        change: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), Stop> {
        let id = self.call(tool, input)?;
        let path = Path::new(&file.path);
        let existed = path.exists();
        let changed = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| change(path));
        match changed {
            Ok(()) => {
                self.result(&id, Ok(String::new()))?;
                let change = if existed { FileChange::Updated } else { FileChange::Added };
                self.line(&Line::FileChange { path: &file.path, change })
            }
            Err(error) => self.result(&id, Err(format!("{}: {error}", file.path))),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let read = || {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(SHOWN_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|error: io::Error| format!("{}: {error}", path.display()))
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    fs::File::options().append(true).create(true).open(path)?.write_all(text.as_bytes())
}

/// Runs a program. Its two streams come as one text, in the order in which they were written.
fn run(words: &[String]) -> Result<String, String> {
    let (program, args) = words.split_first().ok_or("nothing to run")?;
    let run = || -> io::Result<(Vec<u8>, ExitStatus)> {
        let (mut reader, writer) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // It holds the writing ends, and the output would never end.
        drop(command);
        let mut shown = Vec::new();
        (&mut reader).take(SHOWN_BYTES as u64).read_to_end(&mut shown)?;
        io::copy(&mut reader, &mut io::sink())?;
        Ok((shown, child.wait()?))
    };
    match run() {
        Ok((shown, status)) => {
            let text = String::from_utf8_lossy(&shown).into_owned();
            match failure(status) {
                None => Ok(text),
                Some(failure) => Err(format!("{text}{failure}")),
            }
        }
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// How a program failed, in words that do not depend on the system's.
fn failure(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit code {code}")),
        (None, signal) => Some(format!("signal {}", signal.unwrap_or_default())),
    }
}

/// The words as a shell would take them, for people to read.
fn shell_words(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,+@%".contains(c))
    };
    let quoted = words.iter().map(|word| {
        if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Blocked rather than ignored, which is the same to whoever sends them, and is inherited too.
fn ignore(names: &[Ignorable]) {
    let set: SigSet = names.iter().map(|name| Signal::from(name.0)).collect();
    // It fails for no valid set.
    let _ = set.thread_block();
}

fn die_of(signal: Signal) -> Stop {
    let mut set = SigSet::empty();
    set.add(signal);
    let _ = set.thread_unblock();
    // A handler that the runtime has for the signal takes itself away the first time.
    for _ in 0..2 {
        let _ = raise(signal);
    }
    // Reached only by a signal that our parent chose to ignore.
    Stop::Exit(128 + signal as i32)
}
