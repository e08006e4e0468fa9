//! What a session's transcript shows: which skills loaded, in which order, and whether the agent saw
//! what it must not see.

use proctor_harness::MAX_EVENTS;
use proctor_model::eval::protocol::Arm;
use proctor_model::event::{Role, ToolStatus};
use proctor_model::{Action, Event, EventKind};
use serde_json::Value;

use super::loads::{Loaded, Loads};
use super::needles::CaseNeedles;
use super::outside::{Outside, Place, Step};
use super::texts::{Sighted, Source};

/// Calls that go outside which are remembered.
const MAX_CALLS_OUTSIDE: usize = 100;
/// Characters of a command that a report shows.
const EXCERPT_CHARS: usize = 80;

/// What a session is looked through for.
pub(super) struct Sought<'a> {
    pub(super) skill: &'a str,
    pub(super) arm: Arm,
    pub(super) needles: &'a CaseNeedles<'a>,
    /// Where the session must not go.
    pub(super) outside: &'a Outside,
    /// Where it begins.
    pub(super) place: &'a Place,
}

/// Follows a session, event by event.
pub(super) struct Watch<'a> {
    sought: Sought<'a>,
    loads: Loads<'a>,
    /// What tools and the harness showed.
    shown: Sighted<'a>,
    /// What the agent said and wrote by itself.
    said: Sighted<'a>,
    is_loaded: bool,
    announced: Option<Vec<String>>,
    version: Option<String>,
    answer: Option<String>,
    trace: Option<String>,
    calls: u64,
    calls_outside: Vec<CallOutside>,
    events: u64,
}

/// A call that goes where a session's agent has nothing to do.
struct CallOutside {
    id: String,
    step: Step,
    /// The call, for people.
    excerpt: String,
}

/// What is known after the session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The skills that loaded.
    pub(super) loaded: Loaded,
    /// The skills that the harness announced to the model, when it says.
    pub(super) announced: Option<Vec<String>>,
    /// The harness's version, when it says.
    pub(super) version: Option<String>,
    /// The last answer.
    pub(super) answer: Option<String>,
    /// The first sign that the agent saw what it must not see.
    pub(super) trace: Option<String>,
    /// What may be such a sign, when nobody can say that no file was opened.
    pub(super) suspicion: Option<String>,
    /// That it looked around above its workspace, if so.
    pub(super) looked_around: Option<String>,
    /// Whether any tool was called.
    pub(super) acted: bool,
    /// Whether events were left out, so that what was not seen proves nothing.
    pub(super) incomplete: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(sought: Sought<'a>) -> Self {
        Self {
            loads: Loads::new(sought.skill),
            shown: Sighted::new(&sought.needles.texts),
            said: Sighted::new(&sought.needles.texts),
            sought,
            is_loaded: false,
            announced: None,
            version: None,
            answer: None,
            trace: None,
            calls: 0,
            calls_outside: Vec::new(),
            events: 0,
        }
    }

    /// Looks at the next event.
    pub(super) fn observe(&mut self, event: &Event) {
        self.events += 1;
        match &event.kind {
            EventKind::Session { skills, version, .. } => {
                if !skills.is_empty() {
                    self.announced.get_or_insert_with(|| skills.clone());
                }
                if self.version.is_none() {
                    self.version.clone_from(version);
                }
            }
            EventKind::ToolCall { id, name, action, input } => {
                self.calls += 1;
                let text = input.to_string();
                self.names(&format!("a call of the tool {name}"), &text);
                self.words(&text);
                self.loads.call(id, action);
                if self.sought.arm == Arm::Without {
                    self.call_outside(id, action, input);
                }
            }
            EventKind::ToolResult { id, status, text } => {
                self.names("what a tool returned", text);
                self.text("a tool returned", text);
                let can_tell = self.sought.needles.texts.can_tell_skill();
                let shown = || can_tell.then(|| self.shown.any_of_skill());
                self.loads.result(id, *status, &shown);
                if *status == ToolStatus::Denied {
                    self.calls_outside.retain(|call| call.id != *id);
                }
            }
            EventKind::Message { role: Role::Assistant, text } => {
                self.names("what the agent said", text);
                self.words(text);
            }
            // The prompt, which is known, or what the harness put in.
            EventKind::Message { role: Role::Harness | Role::User, text } => {
                self.names("what the harness said", text);
                self.text("the harness said", text);
            }
            EventKind::Reasoning { text } => {
                self.names("what the agent thought", text);
                self.words(text);
            }
            EventKind::FileChange { path, .. } => self.names("a changed file", path),
            EventKind::Result { text: Some(text), .. } => self.answer = Some(text.clone()),
            _ => {}
        }
    }

    /// Looks for names in a text.
    fn names(&mut self, what: &str, text: &str) {
        if self.trace.is_none() {
            let found = self.sought.needles.names(text);
            self.trace = found.map(|found| format!("{what} names {found}"));
        }
    }

    /// Looks at a text that came from outside of the agent.
    fn text(&mut self, who: &str, text: &str) {
        if !self.shown.look(text) {
            return;
        }
        if !self.is_loaded && self.shown.loads_skill() {
            self.is_loaded = true;
            self.loads.text();
        }
        if self.trace.is_none() {
            let what = if self.shown.shows(Source::Cases) {
                "a line of the skill's cases"
            } else if self.shown.shows(Source::Rubric) {
                "a rubric of the skill"
            } else if self.sought.arm == Arm::Without && self.shown.shows_skill() {
                "text of the skill"
            } else {
                return;
            };
            self.trace = Some(format!("{who} {what}"));
        }
    }

    /// Looks at a text that the agent made. It can quote only what it saw, even where that was not
    /// to be recognised.
    fn words(&mut self, text: &str) {
        if self.sought.arm == Arm::Without
            && self.trace.is_none()
            && self.said.look_at_words(text)
            && self.said.quotes_skill()
        {
            self.trace = Some("the agent quotes the skill".to_owned());
        }
    }

    fn call_outside(&mut self, id: &str, action: &Action, input: &Value) {
        let Sought { outside, place, .. } = self.sought;
        let step = match action {
            Action::Shell { command } => outside.follow(command, &mut place.clone()),
            Action::Write { path } | Action::Edit { path } => outside.path(path, place),
            _ => strings(input).into_iter().filter_map(|text| outside.path(text, place)).max(),
        };
        let Some(step) = step else { return };
        if self.calls_outside.len() < MAX_CALLS_OUTSIDE {
            let text = match action {
                Action::Shell { command } => excerpt(command),
                _ => excerpt(&input.to_string()),
            };
            self.calls_outside.push(CallOutside { id: id.to_owned(), step, excerpt: text });
        }
    }

    /// What was seen.
    pub(super) fn finish(self) -> Seen {
        let call = |wanted: Step| {
            let call = self.calls_outside.iter().find(|call| call.step == wanted)?;
            Some(format!("`{}`", call.excerpt))
        };
        let went = |step, what: &str| Some(format!("{} {what}", call(step)?));
        let reached = went(Step::Reached, "goes to the skill or its cases");
        let into = || went(Step::Into, "goes into the project");
        Seen {
            trace: self.trace.or(reached).or_else(into),
            suspicion: call(Step::Near),
            looked_around: call(Step::Above),
            announced: self.announced,
            version: self.version,
            answer: self.answer,
            acted: self.calls > 0,
            incomplete: self.events >= MAX_EVENTS || self.loads.is_full(),
            loaded: self.loads.finish(),
        }
    }
}

/// The strings in the arguments of a tool.
fn strings(value: &Value) -> Vec<&str> {
    let (mut strings, mut open) = (Vec::new(), vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => strings.push(text.as_str()),
            Value::Array(values) => open.extend(values),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    strings
}

/// The beginning of a text, on one line.
fn excerpt(text: &str) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let start: String = characters.by_ref().take(EXCERPT_CHARS).collect();
    if characters.next().is_some() { format!("{start}...") } else { start }
}

#[cfg(test)]
mod tests;
