//! The skills that are installed: read, and refused or left out where no harness could load them.

use std::collections::BTreeSet;
use std::io::Read as _;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use proctor_formats::eval::{FrontMatter, MAX_FILE_BYTES, SKILL_FILE, hidden_character};

use super::contest::{Competitor, Contest};

/// A skill as it is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Installed {
    pub(super) id: String,
    /// Where it lies; `None` when its one file is all that there is of it.
    pub(super) folder: Option<Utf8PathBuf>,
    /// Its `SKILL.md`, with no more of the front matter than name and description.
    pub(super) reduced: String,
    /// Characters of its description.
    pub(super) described: usize,
}

/// The skills of a contest that can be installed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lineup {
    pub(super) skills: Vec<Installed>,
    /// Who takes no part, and why.
    pub(super) left_out: Vec<String>,
    /// Why nothing may be run with these skills.
    pub(super) refused: Option<String>,
}

impl Lineup {
    /// Reads every skill. One that no harness can load takes no part, as in everyday use, unless it is
    /// the one under test; one with hidden characters in what the model reads of it is refused.
    pub(super) fn new(contest: &Contest<'_>) -> Self {
        let mut lineup = Self::default();
        for skill in contest.skills {
            match Installed::read(skill) {
                Ok(installed) => lineup.skills.push(installed),
                Err(Fault::Unloadable(why)) if skill.id != contest.call.skill => {
                    lineup.left_out.push(format!("`{}` takes no part: {why}", skill.id));
                }
                Err(Fault::Unloadable(why) | Fault::Hidden(why)) => {
                    lineup.refused.get_or_insert(format!("`{}`: {why}", skill.id));
                }
            }
        }
        lineup
    }

    pub(super) fn ids(&self) -> BTreeSet<String> {
        self.skills.iter().map(|skill| skill.id.clone()).collect()
    }
}

/// Why a skill is not installed.
enum Fault {
    /// No harness loads it.
    Unloadable(String),
    /// What the model would read of it is not what a person sees.
    Hidden(String),
}

impl Installed {
    fn read(skill: &Competitor) -> Result<Self, Fault> {
        let text = read(&skill.folder.join(SKILL_FILE)).map_err(Fault::Unloadable)?;
        let front = FrontMatter::parse(&text);
        let Some(description) = front.description.as_deref().filter(|text| !text.trim().is_empty())
        else {
            let why =
                format!("its {SKILL_FILE} has no `description`, without which none is offered");
            return Err(Fault::Unloadable(why));
        };
        let reduced = reduce(&text, &front);
        // As it is written, and as escapes in it are read.
        let written = split(&reduced).0;
        let said = [("name", front.name.as_deref()), ("description", Some(description))];
        for (what, text) in said.into_iter().chain([("front matter", Some(written))]) {
            if let Some(character) = text.and_then(hidden) {
                return Err(Fault::Hidden(format!(
                    "its {what} holds the hidden character U+{:04X}, which no person sees and every \
                     model reads; take it out",
                    u32::from(character)
                )));
            }
        }
        let described = description.trim().chars().count();
        Ok(Self { id: skill.id.clone(), folder: Some(skill.folder.clone()), reduced, described })
    }
}

/// The first character that shows nothing, or reorders what stands around it.
fn hidden(text: &str) -> Option<char> {
    let control = |c: &char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    text.chars().find(control).or_else(|| hidden_character(text))
}

fn read(file: &Utf8Path) -> Result<String, String> {
    let metadata = fs::symlink_metadata(file).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err(format!("its {SKILL_FILE} is no regular file"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(file).map_err(|error| error.to_string())?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("its {SKILL_FILE} is longer than {} MiB", MAX_FILE_BYTES >> 20));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text with a front matter of nothing but `name` and `description`, as they are written. Front
/// matter that cannot be cut by lines, such as `{name: a, description: b}`, is written anew.
fn reduce(text: &str, front: &FrontMatter) -> String {
    let text = text.replace("\r\n", "\n");
    let (written, body) = split(&text);
    let mut kept = String::from("---\n");
    let mut keeps = false;
    for line in written.lines() {
        if !line.starts_with([' ', '\t']) && !line.is_empty() {
            let key = line.split_once(':').map(|(key, _)| key.trim_end());
            keeps = matches!(key, Some("name" | "description"));
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.push_str("---\n");
    let cut = FrontMatter::parse(&kept);
    if cut.description.is_none() || (cut.name.is_none() && front.name.is_some()) {
        kept = rewritten(front);
    }
    kept.push_str(body);
    kept
}

/// The lines between a first `---` and the next, and what follows those.
fn split(text: &str) -> (&str, &str) {
    let Some(rest) = text.strip_prefix("---\n") else { return ("", text) };
    let end = if rest.starts_with("---") { Some(0) } else { rest.find("\n---").map(|at| at + 1) };
    let Some((front, after)) = end.and_then(|end| rest.split_at_checked(end)) else {
        return ("", text);
    };
    (front, after.split_once('\n').map_or("", |(_, body)| body))
}

/// JSON strings are YAML.
fn rewritten(front: &FrontMatter) -> String {
    let line = |key: &str, value: &Option<String>| {
        value.as_ref().map(|text| format!("{key}: {}\n", serde_json::json!(text)))
    };
    let name = line("name", &front.name).unwrap_or_default();
    let description = line("description", &front.description).unwrap_or_default();
    format!("---\n{name}{description}---\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced(text: &str) -> String {
        reduce(text, &FrontMatter::parse(text))
    }

    #[test]
    fn only_name_and_description_are_kept_as_they_are_written() {
        let text = "---\nname: deploy\nallowed-tools:\n  - Bash\nhooks:\n- x: description\n\
                    description: >-\n  Deploys\n\n  it\n# a comment\n  of: nobody\nmodel: opus\n---\n# Body\n---\n";
        assert_eq!(
            reduced(text),
            "---\nname: deploy\ndescription: >-\n  Deploys\n\n  it\n---\n# Body\n---\n"
        );
        let windows = "---\r\ndescription: a\r\nlicense: x\r\n---\r\nBody\r\n";
        assert_eq!(reduced(windows), "---\ndescription: a\n---\nBody\n");
    }

    #[test]
    fn what_cannot_be_cut_by_lines_is_written_anew() {
        for text in [
            "---\n{name: a, description: \"b: c\"}\n---\nBody\n",
            "---\n\"name\": a\n'description': 'b: c'\n---\nBody\n",
        ] {
            assert_eq!(reduced(text), "---\nname: \"a\"\ndescription: \"b: c\"\n---\nBody\n");
        }
        // What is no YAML stays what it is, for the harness to make something of.
        let text = "---\nname: a\ndescription: Use when: it\n---\nBody";
        assert_eq!(reduced(text), text);
    }

    #[test]
    fn control_characters_are_hidden_too() {
        assert_eq!(hidden("plain\ntext\twith é and 日本"), None);
        assert_eq!(hidden("a\u{202e}b"), Some('\u{202e}'));
        assert_eq!(hidden("a\u{1b}[2Jb"), Some('\u{1b}'));
        assert_eq!(hidden("tag\u{e0041}"), Some('\u{e0041}'));
    }
}
