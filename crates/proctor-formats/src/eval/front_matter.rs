//! What `SKILL.md` says about its skill before its text.

use camino::Utf8Path;
use proctor_model::{Diagnostic, Location, Severity};

use super::paths::read_bounded;
use crate::tree::{Field, Kind, Member, Node, Problems, yaml};

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
    /// `triggers`: phrases that should lead to the skill.
    pub triggers: Vec<String>,
    /// `keywords`: words that it goes by.
    pub keywords: Vec<String>,
    /// What could not be read as it stands, with places in the file and without its name.
    pub warnings: Vec<Diagnostic>,
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
        let mut found = Self::default();
        let front = match front_matter(text) {
            Front::Text(front) => front,
            Front::Absent => return found,
            Front::Open => {
                let message = "the front matter is not read: no line `---` ends it";
                let start = Location { line: 1, column: 1 };
                found.warnings.push(Diagnostic::warning(message).at(start));
                return found;
            }
        };
        let mut problems = Problems::new("".into());
        let members = match yaml(front.as_bytes(), &mut problems) {
            Some(Node { kind: Kind::Object(members), .. }) => members,
            Some(Node { kind: Kind::Null, .. }) => Vec::new(),
            None if front.lines().all(says_nothing) => Vec::new(),
            read => {
                let fault = problems.finish().0.into_iter().next();
                let fault = fault.or_else(|| Some(Field::root(&read?).expected("keys and values")));
                found.warnings.extend(fault.map(no_yaml));
                lines(&front)
            }
        };
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
        found.triggers = found.phrases("triggers", &members);
        found.keywords = found.phrases("keywords", &members);
        for member in members {
            let (Kind::String(text) | Kind::Number(text)) = member.value.kind else { continue };
            match member.key.as_str() {
                "name" if found.name.is_none() => {
                    found.name = Some(text);
                    found.name_location = Some(in_file(member.key_location));
                }
                "description" if found.description.is_none() => found.description = Some(text),
                _ => {}
            }
        }
        found
    }

    /// A list of texts, or one text that separates them by commas.
    fn phrases(&mut self, key: &str, members: &[Member]) -> Vec<String> {
        let Some(Member { value, .. }) = members.iter().find(|member| member.key == key) else {
            return Vec::new();
        };
        let mut phrases = Vec::new();
        let mut keep = |text: &str| {
            let text = text.trim();
            if !text.is_empty() {
                phrases.push(text.to_owned());
            }
        };
        let root = Field::root(value);
        let field = root.member(key, value);
        let mut refuse = |offence: Diagnostic| {
            let location = offence.location.map(in_file);
            let offence = Diagnostic { location, ..offence };
            self.warnings.push(Diagnostic { severity: Severity::Warning, ..offence });
        };
        match &value.kind {
            Kind::Null => {}
            Kind::String(text) | Kind::Number(text) => text.split(',').for_each(keep),
            Kind::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    match &item.kind {
                        Kind::String(text) | Kind::Number(text) => keep(text),
                        _ => refuse(field.item(index, item).expected("a text")),
                    }
                }
            }
            _ => refuse(field.expected("a list of texts, or one text with commas")),
        }
        phrases
    }
}

fn no_yaml(fault: Diagnostic) -> Diagnostic {
    let Diagnostic { message, location, .. } = fault;
    let message = format!("the front matter is read line by line, since it is no YAML: {message}");
    let warning = Diagnostic::warning(message).hint("a text with `: ` in it needs quotes");
    Diagnostic { location: location.map(in_file), ..warning }
}

/// The place in the file of a place in the front matter, which one line precedes.
fn in_file(Location { line, column }: Location) -> Location {
    Location { line: line.saturating_add(1), column }
}

/// The text between a first line `---` and the next.
enum Front {
    Text(String),
    Absent,
    /// It does not end.
    Open,
}

fn front_matter(text: &str) -> Front {
    let text = text.replace("\r\n", "\n");
    let Some(rest) = text.strip_prefix("---\n") else { return Front::Absent };
    // `---` right at the start closes an empty front matter.
    let end = if rest.starts_with("---") { Some(0) } else { rest.find("\n---").map(|end| end + 1) };
    match end.and_then(|end| rest.get(..end)) {
        Some(front) => Front::Text(front.to_owned()),
        None => Front::Open,
    }
}

fn says_nothing(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with('#')
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
    fn triggers_and_keywords_are_lists_or_texts_with_commas() {
        let text = "---\ntriggers: [ship it, \" \", 42]\nkeywords: rollout,, helm chart ,\n---\n";
        let found = FrontMatter::parse(text);
        assert_eq!(found.triggers, ["ship it", "42"]);
        assert_eq!(found.keywords, ["rollout", "helm chart"]);
        assert_eq!(found.warnings, []);

        let found = FrontMatter::parse("---\ntriggers:\n- a\n- {b: c}\nkeywords: true\n---\n");
        assert_eq!(found.triggers, ["a"]);
        assert_eq!(found.keywords, [""; 0]);
        let warnings: Vec<_> = found.warnings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(warnings.join("\n"), @r"
        triggers[1]: expected a text, found an object
        keywords: expected a list of texts, or one text with commas, found true
        ");
    }

    #[test]
    fn what_is_no_yaml_is_read_by_lines() {
        let text = "---\nname: deploy\ndescription: Use when: deploying\nallow_implicit_invocation: false\n---\n";
        let found = FrontMatter::parse(text);
        assert_eq!(found.description.as_deref(), Some("Use when: deploying"));
        assert_eq!(found.never_fires, Some("allow_implicit_invocation: false"));
        insta::assert_snapshot!(found.warnings[0].message, @"the front matter is read line by line, since it is no YAML: invalid YAML: mapping values are not allowed in this context");
        assert_eq!(found.warnings[0].location.map(|place| place.line), Some(3));
        let found = FrontMatter::parse("---\n- name\n---\n");
        insta::assert_snapshot!(found.warnings[0].message, @"the front matter is read line by line, since it is no YAML: expected keys and values, found a list");
        assert_eq!(FrontMatter::parse("---\n# nothing\n---\n"), FrontMatter::default());
    }

    #[test]
    fn text_without_front_matter_says_nothing() {
        for text in ["", "# Title\n", "---\n---\nname: x\n", " ---\nname: x\n---\n"] {
            assert_eq!(FrontMatter::parse(text), FrontMatter::default(), "{text:?}");
        }
        let open = FrontMatter::parse("---\nname: x\n");
        assert_eq!((open.name, open.warnings.len()), (None, 1));
        for policy in ["disable-model-invocation: false", "allow_implicit_invocation: true"] {
            let found = FrontMatter::parse(&format!("---\n{policy}\n---\n"));
            assert_eq!(found.never_fires, None, "{policy}");
        }
    }
}
