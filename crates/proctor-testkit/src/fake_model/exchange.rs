//! One request and its answer.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{self, Answer, Ids, Wanted};
use super::http::{Connection, Head, Pause};
use super::request::{Api, Asked};
use super::script::{Fault, FaultKind, Pick, Turn};
use super::{LoggedRequest, Outcome, Shared};

const CREDENTIALS: [&str; 6] =
    ["api-key", "authorization", "cookie", "proxy-authorization", "x-api-key", "x-goog-api-key"];

/// Serves the one request of a connection and logs it.
pub(super) fn serve(stream: TcpStream, shared: &Shared) {
    let mut connection = Connection::new(stream);
    // A connection without a request is no request.
    let Ok(Some(head)) = connection.read_head() else { return };
    let seq = shared.arrived();
    connection.request_id = format!("req_fake{seq:06}");
    let mut exchange = Exchange { shared, log: opening(seq, &head), connection };
    exchange.log.outcome = exchange.run(&head).unwrap_or(Outcome::ClientGone);
    exchange.log.status = exchange.connection.status;
    shared.ended(exchange.log);
}

fn opening(seq: u64, head: &Head) -> LoggedRequest {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &head.headers {
        let secret = CREDENTIALS.contains(&name.as_str());
        let shown = if secret { format!("<{} bytes>", value.len()) } else { value.clone() };
        let entry = headers.entry(name.clone()).or_default();
        if !entry.is_empty() {
            entry.push_str(", ");
        }
        entry.push_str(&shown);
    }
    LoggedRequest {
        seq,
        session: "default".to_owned(),
        method: head.method.clone(),
        target: head.target.clone(),
        api: Api::Other,
        asked: Asked::default(),
        body: Value::Null,
        headers,
        turn: None,
        status: None,
        outcome: Outcome::ClientGone,
    }
}

/// The session and the path below `/v1` of a request's target.
fn route(target: &str) -> (&str, &str) {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let (session, path) = path
        .strip_prefix("/s/")
        .and_then(|rest| rest.split_at_checked(rest.find('/')?))
        .unwrap_or(("default", path));
    (session, path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path))
}

/// The model that a path asks to generate, in Gemini's way.
fn gemini_model(path: &str) -> Option<&str> {
    let path = path.strip_prefix("/v1beta").unwrap_or(path);
    path.strip_prefix("/models/")?.strip_suffix(":generateContent")
}

struct Exchange<'a> {
    shared: &'a Shared,
    log: LoggedRequest,
    connection: Connection,
}

impl Exchange<'_> {
    /// Fails only when the client cannot be reached any more.
    fn run(&mut self, head: &Head) -> io::Result<Outcome> {
        let outcome = self.dispatch(head)?;
        self.connection.finish();
        Ok(outcome)
    }

    fn dispatch(&mut self, head: &Head) -> io::Result<Outcome> {
        let target = &head.target;
        if head.method == "CONNECT"
            || target.starts_with("http://")
            || target.starts_with("https://")
        {
            self.log.api = Api::Egress;
            // Unread bytes would turn the close into a reset.
            if head.method != "CONNECT" {
                self.connection.read_body(head)?;
            }
            self.connection.respond(403, "text/plain", b"fake model: no way out\n", &[])?;
            return Ok(Outcome::Refused);
        }
        let (session, path) = route(target);
        session.clone_into(&mut self.log.session);
        let upgrade = head.header("upgrade").unwrap_or_default().to_ascii_lowercase();
        if upgrade.contains("websocket") {
            self.log.api = Api::WebSocket;
            return self.refuse(426, "no WebSockets here, use HTTP");
        }
        let raw = self.connection.read_body(head)?;
        self.log.api = match (head.method.as_str(), path) {
            ("GET", "/models") => Api::Models,
            ("POST", "/messages") => Api::Messages,
            ("POST", "/messages/count_tokens") => Api::CountTokens,
            ("POST", "/responses") => Api::Responses,
            ("POST", "/chat/completions") => Api::Chat,
            ("POST", path) if gemini_model(path).is_some() => Api::Gemini,
            _ => return self.refuse(404, "no such path"),
        };
        if self.log.api == Api::Models {
            return self.models();
        }
        let text = match head.header("content-encoding") {
            Some(encoding) => Err(format!("content-encoding {encoding} is not understood")),
            None => String::from_utf8(raw).map_err(|error| error.to_string()),
        };
        let parsed = text.and_then(|text| match serde_json::from_str(&text) {
            Ok(body) => Ok((text, body)),
            Err(error) => Err(error.to_string()),
        });
        let (text, body) = match parsed {
            Ok(parsed) => parsed,
            Err(why) => {
                self.error(400, None, &why, &[])?;
                return Ok(Outcome::Unreadable(why));
            }
        };
        self.log.body = body;
        self.log.asked = Asked::read(self.log.api, &self.log.body);
        if let Some(model) = gemini_model(path) {
            model.clone_into(&mut self.log.asked.model);
        }
        if self.log.api == Api::CountTokens {
            self.json(200, &json!({"input_tokens": text.len() / 4 + 1}), &[])?;
            return Ok(Outcome::Answered);
        }
        self.answer(&text)
    }

    fn models(&mut self) -> io::Result<Outcome> {
        let id = "fake-model";
        let model = json!({"id": id, "object": "model", "type": "model", "display_name": id,
                           "owned_by": "fake", "created": 0, "created_at": "2023-11-14T00:00:00Z"});
        let list = json!({"object": "list", "data": [model], "has_more": false,
                          "first_id": id, "last_id": id, "models": []});
        self.json(200, &list, &[])?;
        Ok(Outcome::Answered)
    }

    fn answer(&mut self, text: &str) -> io::Result<Outcome> {
        let Pick { number, turn, fault, usage } = self.shared.pick(&self.log.session);
        self.log.turn = number;
        if fault.is_none()
            && let Some(unmet) = turn.unmet(text)
        {
            self.error(400, None, &unmet, &[])?;
            return Ok(Outcome::Unmet(unmet));
        }
        if self.connection.pause(turn.delay)? == Pause::Gone {
            return Ok(Outcome::ClientGone);
        }
        let mut turn = answer::substitute(turn, &self.log.asked);
        if fault.is_some() && turn.text_block().is_some_and(str::is_empty) {
            turn = turn.and_text("partial answer that will not arrive");
        }
        let wanted = Wanted { model: &self.log.asked.model, usage, ids: Ids::new(self.log.seq) };
        let mut answer = answer::build(self.log.api, &turn, wanted);
        if turn.hides_usage {
            answer.hide_usage();
        }
        match fault {
            Some(fault) => self.fail(&fault, &answer),
            None => self.deliver(&answer, &turn),
        }
    }

    fn deliver(&mut self, answer: &Answer, turn: &Turn) -> io::Result<Outcome> {
        if !self.log.asked.stream {
            self.json(200, &answer.whole, &[])?;
            return Ok(Outcome::Answered);
        }
        self.connection.start_stream()?;
        for frame in &answer.frames {
            if self.connection.pause(turn.chunks.pause)? == Pause::Gone {
                return Ok(Outcome::ClientGone);
            }
            self.connection.chunk(frame.as_bytes())?;
        }
        self.connection.end_stream()?;
        Ok(Outcome::Answered)
    }

    fn fail(&mut self, fault: &Fault, answer: &Answer) -> io::Result<Outcome> {
        let kind = fault.error_type.as_deref();
        match fault.kind {
            FaultKind::Status(status) => {
                self.error(status, kind, &fault.message, &fault.headers)?;
            }
            FaultKind::Html(status) => {
                let page = b"<html><body><h1>Bad Gateway</h1></body></html>";
                self.connection.respond(status, "text/html", page, &fault.headers)?;
            }
            FaultKind::Body => {
                let body = fault.message.as_bytes();
                self.connection.respond(200, "application/json", body, &fault.headers)?;
            }
            FaultKind::DropBeforeHeaders => self.connection.reset()?,
            FaultKind::HangBeforeHeaders(silence) => return self.hang(silence),
            _ if self.log.asked.stream => return self.fail_stream(fault, &answer.frames),
            _ => return self.fail_plain(fault, &answer.whole),
        }
        Ok(Outcome::Fault)
    }

    fn fail_stream(&mut self, fault: &Fault, frames: &[String]) -> io::Result<Outcome> {
        let good = match fault.kind {
            FaultKind::Empty => 0,
            FaultKind::Truncate | FaultKind::Drop => (frames.len() / 2).max(1),
            _ => 1,
        };
        self.connection.start_stream()?;
        for frame in frames.iter().take(good) {
            self.connection.chunk(frame.as_bytes())?;
        }
        match fault.kind {
            FaultKind::Hang(silence) => return self.hang(silence),
            FaultKind::Drop => {
                self.connection.reset()?;
                return Ok(Outcome::Fault);
            }
            FaultKind::SseError => {
                let kind = fault.error_type.as_deref();
                let frame = answer::error_frame(self.log.api, kind, &fault.message);
                self.connection.chunk(frame.as_bytes())?;
            }
            FaultKind::Malformed => {
                self.connection.chunk(b"event: message_start\ndata: {\"type\": \"mes\n\n")?;
                self.connection.chunk(b"no colon \xff\n\ndata: {{{ no json\n\n")?;
            }
            _ => {}
        }
        self.connection.end_stream()?;
        Ok(Outcome::Fault)
    }

    /// The stream faults for a request that wants no stream, in their nearest form: Claude Code
    /// repeats a request without a stream when a stream failed.
    fn fail_plain(&mut self, fault: &Fault, whole: &Value) -> io::Result<Outcome> {
        let body = whole.to_string();
        let half = &body.as_bytes()[..body.len() / 2];
        match fault.kind {
            FaultKind::Hang(silence) => return self.hang(silence),
            FaultKind::SseError => {
                let status = if self.log.api == Api::Messages { 529 } else { 500 };
                self.error(status, fault.error_type.as_deref(), &fault.message, &fault.headers)?;
            }
            FaultKind::Drop => {
                let framing = format!("content-length: {}", body.len());
                self.connection.start(200, "application/json", &framing, &[])?;
                self.connection.send(half)?;
                self.connection.reset()?;
            }
            FaultKind::Empty => self.connection.respond(200, "application/json", b"", &[])?,
            _ => self.connection.respond(200, "application/json", half, &[])?,
        }
        Ok(Outcome::Fault)
    }

    fn hang(&mut self, silence: Duration) -> io::Result<Outcome> {
        if self.connection.pause(silence)? == Pause::Gone {
            return Ok(Outcome::ClientGone);
        }
        self.connection.reset()?;
        Ok(Outcome::Fault)
    }

    fn refuse(&mut self, status: u16, message: &str) -> io::Result<Outcome> {
        self.error(status, None, &format!("fake model: {message}"), &[])?;
        Ok(Outcome::Refused)
    }

    fn error(
        &mut self,
        status: u16,
        kind: Option<&str>,
        message: &str,
        headers: &[(String, String)],
    ) -> io::Result<()> {
        let body = answer::error_body(self.log.api, status, kind, message);
        self.json(status, &body, headers)
    }

    fn json(&mut self, status: u16, body: &Value, headers: &[(String, String)]) -> io::Result<()> {
        self.connection.respond(status, "application/json", body.to_string().as_bytes(), headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_a_session_and_a_path() {
        for (target, session, path) in [
            ("/v1/messages?beta=true", "default", "/messages"),
            ("/responses", "default", "/responses"),
            ("/s/a/v1/models", "a", "/models"),
            ("/s/a", "default", "/s/a"),
            ("/v10/x", "default", "/v10/x"),
            ("/v1", "default", "/v1"),
            ("", "default", ""),
        ] {
            assert_eq!(route(target), (session, path), "{target}");
        }
    }
}
