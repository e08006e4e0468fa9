//! The built-in agent that obeys a script: this program itself, started as `__agent SCRIPT`; and its
//! one built-in script, which plays any other agent.
//!
//! Its lines are defined by `proctor-scripted`; this is the reading side.

use std::path::Path;

use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{EventKind, Outcome, OutcomeClass, Usage};
use serde_json::Value;

use crate::adapter::{
    Adapter, Credentials, Enforces, OwnFolder, SessionCommand, SessionRequest, SessionSummary,
    StreamParser, Unavailable, place_prompt,
};
use crate::conclude::conclude;
use crate::json::{self, Object};
use crate::stream::{Dialect, Ending, JsonLines, Sink};
use crate::tools;

/// The adapter.
pub(crate) enum Scripted {
    /// Of a script that the request names.
    Named,
    /// Of the built-in script that plays any agent and spends nothing.
    Mock,
}

/// What stands in place of a script for [`Scripted::Mock`].
const MOCK_SCRIPT: &str = "--mock";

/// The variable by which the agent learns its turn limit.
const MAX_TURNS_VARIABLE: &str = "PROCTOR_MAX_TURNS";

impl Adapter for Scripted {
    fn id(&self) -> &'static str {
        match self {
            Self::Named => "scripted",
            Self::Mock => "mock",
        }
    }

    fn corpus_harness(&self) -> Option<&'static str> {
        None
    }

    fn skills_folder(&self) -> &'static str {
        ".agents/skills"
    }

    fn prompt_loads(&self, _prompt: &str, _skill: &str) -> bool {
        false
    }

    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    fn own_folder(&self) -> Option<OwnFolder> {
        None
    }

    fn enforces(&self) -> Enforces {
        Enforces { budget: false, turns: true }
    }

    fn command(&self, request: &SessionRequest<'_>) -> Result<SessionCommand, Unavailable> {
        let script = match (self, request.script) {
            (Self::Mock, _) => MOCK_SCRIPT,
            (Self::Named, Some(script)) => script.as_str(),
            (Self::Named, None) => {
                let reason = "no script: put agent.yaml beside fixture.json".to_owned();
                return Err(Unavailable { reason });
            }
        };
        let mut args = vec!["__agent".to_owned(), script.to_owned()];
        let stdin = place_prompt(request.prompt, &mut args, &["-"]);
        let turns =
            request.max_turns.map(|turns| (MAX_TURNS_VARIABLE.to_owned(), turns.to_string()));
        let env = turns.into_iter().collect();
        let program = request.proctor.to_string();
        Ok(SessionCommand { program, args, env, stdin, files: Vec::new() })
    }

    fn parser(&self) -> Box<dyn StreamParser + Send> {
        Box::new(JsonLines::new(Lines::default()))
    }

    /// It talks to nobody.
    fn credentials(
        &self,
        _env: &dyn Fn(&str) -> Option<String>,
        _file_exists: &dyn Fn(&Path) -> bool,
    ) -> Credentials {
        Credentials::Present
    }
}

#[derive(Default)]
struct Lines {
    stated: Option<Outcome>,
    last_said: Option<String>,
    usage: Option<Usage>,
}

impl Dialect for Lines {
    fn line(&mut self, mut line: Object, sink: &mut Sink<'_>) {
        let kind = json::owned(&line, "type").unwrap_or_default();
        let text = |key: &str| json::owned(&line, key).unwrap_or_default();
        match kind.as_str() {
            "start" => sink.event(EventKind::Session {
                session_id: None,
                model: None,
                version: line.get("version").map(ToString::to_string),
                tools: Vec::new(),
                skills: Vec::new(),
            }),
            "say" => {
                sink.message(Role::Assistant, &text("text"));
                self.last_said = Some(text("text"));
            }
            "tool_call" => {
                let (id, name) = (text("id"), text("name"));
                let input = line.remove("input").unwrap_or_default();
                let action = tools::action(&name, &input);
                sink.event(EventKind::ToolCall { id, name, action, input });
            }
            "tool_result" => match parsed::<ToolStatus>(&line, "status") {
                Some(status) => {
                    let (id, text) = (text("id"), text("text"));
                    sink.event(EventKind::ToolResult { id, status, text });
                }
                None => sink.unknown(kind),
            },
            "file_change" => match parsed::<FileChange>(&line, "change") {
                Some(change) => sink.event(EventKind::FileChange { path: text("path"), change }),
                None => sink.unknown(kind),
            },
            "usage" => match serde_json::from_value::<Usage>(Value::Object(line)) {
                Ok(usage) => {
                    sink.usage(usage);
                    self.usage = Some(self.usage.unwrap_or_default().plus(usage));
                }
                Err(_) => sink.unknown(kind),
            },
            "notice" => sink.notice(text("message")),
            "end" => match parsed::<OutcomeClass>(&line, "outcome") {
                Some(class) => self.end(class, &text("message"), sink),
                None => sink.unknown(kind),
            },
            _ => sink.unknown(kind),
        }
    }

    fn finish(self, ending: &Ending<'_>) -> SessionSummary {
        let mut warnings = Vec::new();
        let outcome = conclude(self.stated, ending, &mut warnings);
        let completed = outcome.class == OutcomeClass::Completed;
        let final_text = self.last_said.filter(|_| completed);
        SessionSummary { outcome, usage: self.usage, final_text, warnings }
    }
}

impl Lines {
    fn end(&mut self, class: OutcomeClass, message: &str, sink: &mut Sink<'_>) {
        let is_error = class != OutcomeClass::Completed;
        let text = self.last_said.clone().filter(|_| !is_error);
        sink.event(EventKind::Result { text, is_error });
        self.stated = Some(Outcome::new(class, message));
    }
}

/// A member that is one of the names of a closed list.
fn parsed<T: serde::de::DeserializeOwned>(line: &Object, key: &str) -> Option<T> {
    serde_json::from_value(line.get(key)?.clone()).ok()
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;

    #[test]
    fn the_mock_needs_no_script() {
        let request = SessionRequest::new("do it", "/w".into(), "/bin/proctor".into());
        let command = Scripted::Mock.command(&request).unwrap();
        assert_eq!(command.args, ["__agent", "--mock", "--", "do it"]);
    }

    #[test]
    fn the_script_is_required_and_comes_first() {
        let request = SessionRequest::new("do it", "/w".into(), "/bin/proctor".into());
        let error = Scripted::Named.command(&request).unwrap_err();
        assert_eq!(error.to_string(), "no script: put agent.yaml beside fixture.json");
        let script = Some(Utf8Path::new("/f/agent.yaml"));
        let command = Scripted::Named.command(&SessionRequest { script, ..request }).unwrap();
        assert_eq!(command.program, "/bin/proctor");
        assert_eq!(command.args, ["__agent", "/f/agent.yaml", "--", "do it"]);
        assert!(command.env.is_empty());
        let limited = SessionRequest { script, max_turns: Some(3), ..request };
        let env = Scripted::Named.command(&limited).unwrap().env;
        assert_eq!(env, [("PROCTOR_MAX_TURNS".to_owned(), "3".to_owned())]);
    }
}
