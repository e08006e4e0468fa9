//! What `SKILL.md` says about its skill before its text.

use camino::Utf8Path;
use proctor_model::Location;

use super::paths::read_bounded;
use crate::tree::{Kind, Member, Node, Problems, yaml};

/// The keys with which a skill forbids that it fires by itself, and the value that does so.
const POLICIES: [(&str, bool); 3] = [
    ("disable-model-invocation", true),
    ("disable_model_invocation", true),
    ("allow_implicit_invocation", false),
];

/// The front matter of a skill, as far as evals need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// `name`.
    pub name: Option<String>,
    /// Where `name` stands in the file.
    pub name_location: Option<Location>,
    /// `description`.
    pub description: Option<String>,
    /// The setting that keeps the skill from firing by itself, as it could be written:
    /// `disable-model-invocation: true`.
    pub never_fires: Option<&'static str>,
}

impl FrontMatter {
    /// Reads the front matter of a `SKILL.md`; one that cannot be read says nothing.
    pub fn load(file: &Utf8Path) -> Self {
        let bytes = read_bounded(file.as_std_path()).unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// Reads the front matter at the start of a text: what stands between a first line `---` and the
    /// next. Front matter that is no YAML, which harnesses take too, is read line by line.
    pub fn parse(text: &str) -> Self {
        let Some(front) = front_matter(text) else { return Self::default() };
        let mut problems = Problems::new("".into());
        let members = match yaml(front.as_bytes(), &mut problems) {
            Some(Node { kind: Kind::Object(members), .. }) => members,
            _ => lines(&front),
        };
        let mut found = Self::default();
        for (key, forbidding) in POLICIES {
            let value = members.iter().find(|member| member.key == key);
            if found.never_fires.is_none() && value.and_then(truth) == Some(forbidding) {
                found.never_fires = Some(match key {
                    "disable-model-invocation" => "disable-model-invocation: true",
                    "disable_model_invocation" => "disable_model_invocation: true",
                    _ => "allow_implicit_invocation: false",
                });
            }
        }
        for member in members {
            let (Kind::String(text) | Kind::Number(text)) = member.value.kind else { continue };
            // One line for the opening `---`.
            let Location { line, column } = member.key_location;
            match member.key.as_str() {
                "name" if found.name.is_none() => {
                    found.name = Some(text);
                    found.name_location = Some(Location { line: line + 1, column });
                }
                "description" if found.description.is_none() => found.description = Some(text),
                _ => {}
            }
        }
        found
    }
}

fn front_matter(text: &str) -> Option<String> {
    let text = text.replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n")?;
    // `---` right at the start closes an empty front matter.
    let end = if rest.starts_with("---") { 0 } else { rest.find("\n---")? + 1 };
    rest.get(..end).map(str::to_owned)
}

fn truth(member: &Member) -> Option<bool> {
    match &member.value.kind {
        Kind::Bool(value) => Some(*value),
        Kind::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Kind::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// `key: value` lines that are not indented.
fn lines(front: &str) -> Vec<Member> {
    let numbered = (1..).zip(front.lines());
    let members = numbered.filter_map(|(line, text)| {
        let (key, value) = text.split_once(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if key.is_empty() || !key.chars().all(plain) {
            return None;
        }
        let location = Location { line, column: 1 };
        let kind = Kind::String(value.trim().to_owned());
        let value = Node { location, kind };
        Some(Member { key: key.to_owned(), key_location: location, value })
    });
    members.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_description_and_policy_are_read() {
        let text = "---\r\ndescription: >-\r\n  Deploy\r\n  it\r\nname: deploy\r\n\
                    disable_model_invocation: True\r\n---\r\n# Deploy\r\n---\r\n";
        let found = FrontMatter::parse(text);
        assert_eq!(found.name.as_deref(), Some("deploy"));
        assert_eq!(found.name_location, Some(Location { line: 5, column: 1 }));
        assert_eq!(found.description.as_deref(), Some("Deploy it"));
        assert_eq!(found.never_fires, Some("disable_model_invocation: true"));
    }

    #[test]
    fn what_is_no_yaml_is_read_by_lines() {
        let text = "---\nname: deploy\ndescription: Use when: deploying\nallow_implicit_invocation: false\n---\n";
        let found = FrontMatter::parse(text);
        assert_eq!(found.description.as_deref(), Some("Use when: deploying"));
        assert_eq!(found.never_fires, Some("allow_implicit_invocation: false"));
    }

    #[test]
    fn text_without_front_matter_says_nothing() {
        for text in
            ["", "# Title\n", "---\nname: x\n", "---\n---\nname: x\n", " ---\nname: x\n---\n"]
        {
            assert_eq!(FrontMatter::parse(text), FrontMatter::default(), "{text:?}");
        }
        for policy in ["disable-model-invocation: false", "allow_implicit_invocation: true"] {
            let found = FrontMatter::parse(&format!("---\n{policy}\n---\n"));
            assert_eq!(found.never_fires, None, "{policy}");
        }
    }
}
