//! Which skills a session loaded, by its calls.

use std::collections::BTreeMap;

use proctor_model::Action;
use proctor_model::event::ToolStatus;

/// The file of a skill that its name is read from.
const SKILL_FILE: &str = "/SKILL.md";
/// What stands before the name of a skill in the path of its file.
const SKILLS_FOLDER: &str = "skills/";
/// The most loads that are remembered; a session of nothing else does not fill the memory.
const MAX_LOADS: usize = 10_000;
/// The longest name of a skill that is remembered.
const MAX_NAME_BYTES: usize = 200;

/// Signs that skills were loaded, in their order.
pub(super) struct Loads<'a> {
    /// The skill that the session is about.
    skill: &'a str,
    signs: Vec<Load>,
    /// Places in `signs` by the id of the call.
    by_call: BTreeMap<String, Vec<usize>>,
}

/// One sign that a skill was loaded.
struct Load {
    skill: String,
    how: How,
    status: Option<ToolStatus>,
    /// What the result showed of the skill's text, where that can be told.
    shown: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// By the harness's own tool for it.
    Invoked,
    /// By a tool that reads its file.
    Read,
    /// By a command that names its file, whatever it does with it.
    Named,
    /// By its text.
    Shown,
}

/// What is known of the loads after a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Loaded {
    /// The skills, each once, in order.
    pub(super) skills: Vec<String>,
    /// Whether the skill that the session is about is known to have loaded by its text alone.
    pub(super) by_text_alone: bool,
    /// What failed although it counts.
    pub(super) warnings: Vec<String>,
}

impl<'a> Loads<'a> {
    pub(super) fn new(skill: &'a str) -> Self {
        Self { skill, signs: Vec::new(), by_call: BTreeMap::new() }
    }

    /// Looks at a call.
    pub(super) fn call(&mut self, id: &str, action: &Action) {
        match action {
            Action::Skill { name } => self.add(id, plain(name), How::Invoked),
            Action::Read { path } => {
                for name in skills_in(path, self.skill) {
                    self.add(id, name, How::Read);
                }
            }
            Action::Shell { command } => {
                let before = self.signs.len();
                for name in skills_in(command, self.skill) {
                    self.add(id, name, How::Named);
                }
                if self.signs.len() == before && enters(command, self.skill) {
                    self.add(id, self.skill, How::Named);
                }
            }
            _ => {}
        }
    }

    /// Looks at the result of a call. `shown` says whether the skill's text has been seen, when that
    /// can be told.
    pub(super) fn result(
        &mut self,
        id: &str,
        status: ToolStatus,
        shown: &dyn Fn() -> Option<bool>,
    ) {
        let Some(places) = self.by_call.get(id) else { return };
        let shown = shown();
        for &at in places {
            if let Some(load) = self.signs.get_mut(at) {
                load.status = Some(status);
                load.shown = shown.filter(|_| load.skill == self.skill);
            }
        }
    }

    /// The text of the skill was seen.
    pub(super) fn text(&mut self) {
        self.add("", self.skill, How::Shown);
    }

    fn add(&mut self, id: &str, skill: &str, how: How) {
        if self.signs.len() < MAX_LOADS && skill.len() <= MAX_NAME_BYTES {
            self.by_call.entry(id.to_owned()).or_default().push(self.signs.len());
            self.signs.push(Load { skill: skill.to_owned(), how, status: None, shown: None });
        }
    }

    /// Whether loads were left out.
    pub(super) fn is_full(&self) -> bool {
        self.signs.len() >= MAX_LOADS
    }

    /// What loaded.
    pub(super) fn finish(self) -> Loaded {
        let mut loaded = Loaded::default();
        for load in self.signs {
            if !load.counts() {
                continue;
            }
            if load.how == How::Invoked && load.status == Some(ToolStatus::Error) {
                let warning = format!("the call of the skill `{}` failed", load.skill);
                if !loaded.warnings.contains(&warning) {
                    loaded.warnings.push(warning);
                }
            }
            if load.skill == self.skill && load.how != How::Shown {
                loaded.by_text_alone = false;
            }
            if !loaded.skills.contains(&load.skill) {
                loaded.by_text_alone |= load.how == How::Shown;
                loaded.skills.push(load.skill);
            }
        }
        loaded
    }
}

impl Load {
    fn counts(&self) -> bool {
        match (self.how, self.status) {
            (_, Some(ToolStatus::Denied)) | (How::Read | How::Named, Some(ToolStatus::Error)) => {
                false
            }
            // It may list the file, count its words or copy it.
            (How::Named, Some(ToolStatus::Ok)) => self.shown != Some(false),
            _ => true,
        }
    }
}

/// The name of a skill without its plugin's.
pub(super) fn plain(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Whether a prompt mentions the file of the skill with an `@`: some harnesses then put its text in,
/// and their streams show nothing of that.
pub(super) fn mentions(prompt: &str, skill: &str) -> bool {
    let words = prompt.split_whitespace().filter_map(|word| word.split_once('@'));
    words.flat_map(|(_, path)| skills_in(path, skill)).any(|name| name == skill)
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
pub(super) fn skills_in<'a>(text: &'a str, all: &'a str) -> impl Iterator<Item = &'a str> {
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
