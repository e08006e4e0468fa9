//! The connection: requests of ours, answers to the agent's, and every frame on record.

use std::ffi::OsString;
use std::io::{self, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification};
use agent_client_protocol_schema::v1::{
    CancelNotification, PermissionOption, PermissionOptionKind, Request, RequestId,
    RequestPermissionOutcome, RequestPermissionResponse, SelectedPermissionOutcome,
};
use serde::{Deserialize as _, Serialize};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::frames::Recorder;
use crate::wire::{Line, Message, read_lines};

/// Frames that wait until the agent reads them. When there are more, it is not read either.
const MAX_WAITING: usize = 64;

/// How long an agent may take to end after its turn, and to end a turn that is cancelled.
const FAREWELL: Duration = Duration::from_secs(2);
const CANCELLING: Duration = Duration::from_secs(10);

/// How long the exit of an agent that has closed its output is waited for.
const EXITING: Duration = Duration::from_millis(500);

/// What is on record in the `_meta` of a cancellation.
pub(crate) const REASON_KEY: &str = "proctorReason";

/// A connection to an agent that runs.
pub(crate) struct Client<'a, W> {
    child: Child,
    /// `None` once nothing more is said.
    to_agent: Option<SyncSender<Vec<u8>>>,
    lines: Receiver<Line>,
    recorder: &'a mut Recorder<W>,
    next_id: u64,
    /// The most that it may cost, in US dollars.
    max_cost: Option<f64>,
    /// When a turn that was cancelled must have ended.
    cancelled: Option<Instant>,
}

/// What comes from the agent, or that nothing does.
enum Heard {
    Message(Message),
    Noise,
    Silence,
    End,
}

impl<'a, W: Write> Client<'a, W> {
    /// Starts the agent.
    pub(crate) fn start(
        program: &OsString,
        args: &[OsString],
        max_cost: Option<f64>,
        recorder: &'a mut Recorder<W>,
    ) -> Result<Self, Failure> {
        let failed = |source| Failure::Start { program: program.display().to_string(), source };
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().map_err(failed)?;
        let missing = || failed(io::ErrorKind::BrokenPipe.into());
        let mut stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;

        let (to_agent, outgoing) = sync_channel::<Vec<u8>>(MAX_WAITING);
        thread::spawn(move || {
            // An agent that no longer listens will end, or be silent; both are seen elsewhere.
            while let Ok(frame) = outgoing.recv() {
                if stdin.write_all(&frame).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let (incoming, lines) = sync_channel(1);
        thread::spawn(move || read_lines(BufReader::new(stdout), &incoming));
        let (to_agent, next_id, cancelled) = (Some(to_agent), 0, None);
        Ok(Self { child, to_agent, lines, recorder, next_id, max_cost, cancelled })
    }

    /// Asks the agent for something, and reacts to whatever else it says until it answers. Without
    /// `patience` it may take as long as it likes.
    pub(crate) fn request(
        &mut self,
        method: &'static str,
        params: &impl Serialize,
        patience: Option<Duration>,
    ) -> Result<Value, Failure> {
        let id = self.next_id;
        self.next_id += 1;
        let params = to_value(params)?;
        let number = RequestId::Number(i64::try_from(id).unwrap_or(i64::MAX));
        let request =
            Request { id: number, method: Arc::from(method), params: Some(params.clone()) };
        self.send(Some(method), &params, &JsonRpcMessage::wrap(request))?;

        let until = patience.map(|patience| (Instant::now() + patience, patience));
        loop {
            match self.hear(self.cancelled.or(until.map(|(until, _)| until)))? {
                Heard::Message(Message::Response { id: Some(of), answer }) if of == id => {
                    return match (self.cancelled, self.max_cost) {
                        (Some(_), Some(limit)) => Err(Failure::Cost { limit }),
                        _ => answer.map_err(|error| Failure::Refused { method, error }),
                    };
                }
                Heard::Message(message) => self.react(message)?,
                Heard::Noise => {}
                Heard::Silence => {
                    return Err(match (self.cancelled, self.max_cost, until) {
                        (Some(_), Some(limit), _) => Failure::Cost { limit },
                        (_, _, until) => {
                            let patience = until.map(|(_, patience)| patience).unwrap_or_default();
                            Failure::Silent { method, patience }
                        }
                    });
                }
                Heard::End => {
                    let status = self.exit_status();
                    return Err(Failure::Died { method, status });
                }
            }
        }
    }

    /// Says nothing more, records what the agent still says, and ends it.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.to_agent = None;
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            match self.hear(Some(until))? {
                Heard::Message(_) | Heard::Noise => {}
                Heard::Silence | Heard::End => break,
            }
        }
        // What it has started is ended by who has started us.
        let _ = self.child.kill();
        let _ = self.child.wait();
        Ok(())
    }

    fn hear(&mut self, until: Option<Instant>) -> io::Result<Heard> {
        let line = match until {
            Some(until) => self.lines.recv_timeout(until.saturating_duration_since(Instant::now())),
            None => self.lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        Ok(match line {
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
            Ok(Line::TooLong(start)) => {
                self.recorder.too_long(&start)?;
                Heard::Noise
            }
            Ok(Line::Whole(line)) => {
                let message = Message::parse(&line);
                self.recorder.received(&line, message.as_ref())?;
                message.map_or(Heard::Noise, Heard::Message)
            }
        })
    }

    fn react(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Request { id, method, params } => {
                let answer = if method == "session/request_permission" {
                    json!({ "result": to_value(&allow(&params))? })
                } else {
                    // No file system and no terminal is offered: the agent is in the room itself.
                    json!({ "error": { "code": -32601, "message": "Method not found" } })
                };
                let mut frame = Map::new();
                frame.insert("jsonrpc".to_owned(), "2.0".into());
                frame.insert("id".to_owned(), id);
                if let Value::Object(answer) = answer {
                    frame.extend(answer);
                }
                self.send(None, &Value::Null, &frame)?;
            }
            Message::Notification { params, .. } => self.watch_cost(&params)?,
            // Answered before, or never asked.
            Message::Response { .. } => {}
        }
        Ok(())
    }

    /// Cancels the turn when it has become too expensive.
    fn watch_cost(&mut self, params: &Map<String, Value>) -> Result<(), Failure> {
        let Some(limit) = self.max_cost.filter(|_| self.cancelled.is_none()) else {
            return Ok(());
        };
        let cost = params.get("update").filter(|update| update["sessionUpdate"] == "usage_update");
        let amount = cost.and_then(|update| update.get("cost")?.get("amount")?.as_f64());
        let session_id = params.get("sessionId").and_then(Value::as_str);
        if let (Some(amount), Some(session_id)) = (amount, session_id)
            && amount > limit
        {
            let mut meta = Map::new();
            meta.insert(REASON_KEY.to_owned(), "max_cost".into());
            let cancel = to_value(&CancelNotification::new(session_id.to_owned()).meta(meta))?;
            let method = "session/cancel";
            let frame = Notification { method: Arc::from(method), params: Some(cancel.clone()) };
            self.send(Some(method), &cancel, &JsonRpcMessage::wrap(frame))?;
            self.cancelled = Some(Instant::now() + CANCELLING);
        }
        Ok(())
    }

    fn send(
        &mut self,
        method: Option<&str>,
        params: &Value,
        frame: &impl Serialize,
    ) -> io::Result<()> {
        let mut text = serde_json::to_string(frame)?;
        self.recorder.sent(method, params, &text)?;
        text.push('\n');
        if let Some(to_agent) = &self.to_agent {
            // Its end is seen when the agent is listened to.
            let _ = to_agent.send(text.into_bytes());
        }
        Ok(())
    }

    fn exit_status(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + EXITING;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

fn to_value(params: &impl Serialize) -> io::Result<Value> {
    Ok(serde_json::to_value(params)?)
}

/// Leave for good, else for once. Without either, none.
fn allow(params: &Map<String, Value>) -> RequestPermissionResponse {
    let options = params.get("options").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let options: Vec<PermissionOption> =
        options.iter().filter_map(|option| PermissionOption::deserialize(option).ok()).collect();
    let kinds = [PermissionOptionKind::AllowAlways, PermissionOptionKind::AllowOnce];
    let chosen = kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    RequestPermissionResponse::new(match chosen {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(
            option.option_id.clone(),
        )),
        None => RequestPermissionOutcome::Cancelled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(options: &Value) -> Value {
        let Value::Object(params) = json!({ "options": options }) else { panic!() };
        serde_json::to_value(allow(&params)).unwrap()
    }

    #[test]
    fn leave_is_given_for_good_before_for_once() {
        let option = |id: &str, kind: &str| json!({"optionId": id, "name": "n", "kind": kind});
        let options = json!([
            7,
            option("no", "reject_always"),
            option("once", "allow_once"),
            option("always", "allow_always")
        ]);
        let always = json!({"outcome": {"outcome": "selected", "optionId": "always"}});
        assert_eq!(answer(&options), always);
        let once = answer(&json!([option("a", "allow_once"), option("no", "reject_once")]));
        assert_eq!(once["outcome"]["optionId"], "a");
        for none in [json!([]), json!(1), json!([option("no", "reject_once")])] {
            assert_eq!(answer(&none), json!({"outcome": {"outcome": "cancelled"}}));
        }
    }
}
