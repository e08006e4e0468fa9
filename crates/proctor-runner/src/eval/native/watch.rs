//! What a session's transcript shows: which skills loaded, in which order, and whether the agent saw
//! what it must not see.

use std::collections::BTreeMap;

use proctor_harness::MAX_EVENTS;
use proctor_model::event::{Role, ToolStatus};
use proctor_model::{Action, Event, EventKind};

use super::needles::CaseNeedles;

/// The file of a skill that its name is read from.
const SKILL_FILE: &str = "/SKILL.md";
/// What stands before the name of a skill in the path of its file.
const SKILLS_FOLDER: &str = "skills/";
/// The most loads that are remembered; a session of nothing else does not fill the memory.
const MAX_LOADS: usize = 10_000;
/// The longest name of a skill that is remembered.
const MAX_NAME_BYTES: usize = 200;

/// Follows a session, event by event.
pub(super) struct Watch<'a> {
    skill: &'a str,
    needles: &'a CaseNeedles<'a>,
    loads: Vec<Load>,
    /// Places in `loads` by the id of the call.
    by_call: BTreeMap<String, Vec<usize>>,
    announced: Option<Vec<String>>,
    answer: Option<String>,
    trace: Option<String>,
    events: u64,
}

/// One sign that a skill was loaded.
struct Load {
    skill: String,
    how: How,
    status: Option<ToolStatus>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// By the harness's own tool for it.
    Invoked,
    /// By reading its file.
    Read,
}

/// What is known after the session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The skills that loaded, each once, in order.
    pub(super) fired: Vec<String>,
    /// The skills that the harness announced to the model, when it says.
    pub(super) announced: Option<Vec<String>>,
    /// The last answer.
    pub(super) answer: Option<String>,
    /// The first sign that the agent saw what it must not see.
    pub(super) trace: Option<String>,
    /// Whether events were left out, so that what was not seen proves nothing.
    pub(super) incomplete: bool,
    /// What failed although it counts.
    pub(super) warnings: Vec<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(skill: &'a str, needles: &'a CaseNeedles<'a>) -> Self {
        Self {
            skill,
            needles,
            loads: Vec::new(),
            by_call: BTreeMap::new(),
            announced: None,
            answer: None,
            trace: None,
            events: 0,
        }
    }

    /// Looks at the next event.
    pub(super) fn observe(&mut self, event: &Event) {
        self.events += 1;
        if self.trace.is_none() {
            self.trace = self.look_for_traces(&event.kind);
        }
        match &event.kind {
            EventKind::Session { skills, .. } if !skills.is_empty() => {
                self.announced.get_or_insert_with(|| skills.clone());
            }
            EventKind::ToolCall { id, action, .. } => self.call(id, action),
            EventKind::ToolResult { id, status, .. } => {
                for &at in self.by_call.get(id).into_iter().flatten() {
                    if let Some(load) = self.loads.get_mut(at) {
                        load.status = Some(*status);
                    }
                }
            }
            EventKind::Result { text: Some(text), .. } => self.answer = Some(text.clone()),
            _ => {}
        }
    }

    fn call(&mut self, id: &str, action: &Action) {
        match action {
            Action::Skill { name } => self.load(id, plain(name), How::Invoked),
            Action::Read { path } => {
                for name in skills_in(path, self.skill) {
                    self.load(id, name, How::Read);
                }
            }
            Action::Shell { command } => {
                let before = self.loads.len();
                for name in skills_in(command, self.skill) {
                    self.load(id, name, How::Read);
                }
                if self.loads.len() == before && enters(command, self.skill) {
                    self.load(id, self.skill, How::Read);
                }
            }
            _ => {}
        }
    }

    fn load(&mut self, id: &str, skill: &str, how: How) {
        if self.loads.len() < MAX_LOADS && skill.len() <= MAX_NAME_BYTES {
            self.by_call.entry(id.to_owned()).or_default().push(self.loads.len());
            self.loads.push(Load { skill: skill.to_owned(), how, status: None });
        }
    }

    fn look_for_traces(&self, kind: &EventKind) -> Option<String> {
        let named = |what: &str, text: &str| {
            let found = self.needles.names(text)?;
            Some(format!("{what} names {found}"))
        };
        match kind {
            EventKind::ToolCall { name, input, .. } => {
                named(&format!("a call of the tool {name}"), &input.to_string())
            }
            EventKind::ToolResult { text, .. } => {
                named("what a tool returned", text).or_else(|| {
                    self.needles.quotes(text).map(|found| format!("a tool returned {found}"))
                })
            }
            EventKind::Message { role: Role::Assistant, text } => {
                named("what the agent said", text)
            }
            EventKind::Message { role: Role::Harness, text } => {
                named("what the harness said", text).or_else(|| {
                    self.needles.quotes(text).map(|found| format!("the harness said {found}"))
                })
            }
            EventKind::Reasoning { text } => named("what the agent thought", text),
            EventKind::FileChange { path, .. } => named("a changed file", path),
            _ => None,
        }
    }

    /// What was seen.
    pub(super) fn finish(self) -> Seen {
        let mut seen = Seen {
            announced: self.announced,
            answer: self.answer,
            trace: self.trace,
            incomplete: self.events >= MAX_EVENTS || self.loads.len() >= MAX_LOADS,
            ..Seen::default()
        };
        for load in self.loads {
            let counts = match (load.how, load.status) {
                (_, Some(ToolStatus::Denied)) | (How::Read, Some(ToolStatus::Error)) => false,
                (How::Invoked, Some(ToolStatus::Error)) => {
                    let warning = format!("the call of the skill `{}` failed", load.skill);
                    if !seen.warnings.contains(&warning) {
                        seen.warnings.push(warning);
                    }
                    true
                }
                (_, None | Some(ToolStatus::Ok)) => true,
            };
            if counts && !seen.fired.contains(&load.skill) {
                seen.fired.push(load.skill);
            }
        }
        seen
    }
}

/// The name of a skill without its plugin's.
pub(super) fn plain(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Whether a command goes into the folder of the skill and then names the file there.
fn enters(command: &str, skill: &str) -> bool {
    let folder = format!("{SKILLS_FOLDER}{skill}");
    let part_of_name = |c: char| c.is_alphanumeric() || "-_./".contains(c);
    let names_file = |rest: &str| {
        let file = SKILL_FILE.trim_start_matches('/');
        rest.split(|c: char| !part_of_name(c)).any(|word| word == file)
    };
    command.match_indices(&folder).any(|(at, _)| {
        let rest = command.get(at + folder.len()..).unwrap_or_default();
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        !rest.starts_with(part_of_name) && names_file(rest)
    })
}

/// The skills whose file a path or a command names. A pattern for all of them names `all`.
fn skills_in<'a>(text: &'a str, all: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(SKILL_FILE).filter_map(move |(end, _)| {
        let before = text.get(..end)?;
        let start = before.rfind('/').map_or(0, |slash| slash + 1);
        let name = before.get(start..)?;
        let folder = before.get(..start)?;
        let is_skill = folder.ends_with(SKILLS_FOLDER);
        (is_skill && !name.is_empty()).then_some(if name.contains('*') { all } else { name })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<&str> {
        skills_in(text, "all").collect()
    }

    #[test]
    fn a_path_names_the_skill_of_its_folder() {
        for (text, expected) in [
            (".agents/skills/greet/SKILL.md", vec!["greet"]),
            ("/w/.claude/skills/a-b/SKILL.md", vec!["a-b"]),
            ("skills/greet/SKILL.md", vec!["greet"]),
            ("sed -n 1,9p 'x/skills/a/SKILL.md' y/skills/b/SKILL.md", vec!["a", "b"]),
            ("cat skills/*/SKILL.md", vec!["all"]),
            ("cat skills/gr*/SKILL.md", vec!["all"]),
            ("skills/SKILL.md", vec![]),
            ("skills//SKILL.md", vec![]),
            ("/SKILL.md", vec![]),
            ("greet/SKILL.md", vec![]),
            ("skills/greet/references/a.md", vec![]),
        ] {
            assert_eq!(named(text), expected, "{text}");
        }
    }

    #[test]
    fn a_command_may_go_into_the_folder_first() {
        for command in [
            "cd .agents/skills/greet && cat SKILL.md",
            "cd .agents/skills/greet/; head SKILL.md",
            "(cd 'skills/greet' && sed -n 1,5p \"SKILL.md\")",
        ] {
            assert!(enters(command, "greet"), "{command}");
        }
        for command in [
            "ls skills/greet",
            "cd skills/greet-2 && cat SKILL.md",
            "cat SKILL.md; cd skills/greet",
            "cd skills/greet && cat OTHER_SKILL.md",
        ] {
            assert!(!enters(command, "greet"), "{command}");
        }
    }

    #[test]
    fn a_skill_may_carry_the_name_of_its_plugin() {
        for (name, expected) in [("a", "a"), ("p:a", "a"), ("p:q:a", "a"), ("", "")] {
            assert_eq!(plain(name), expected);
        }
    }
}
