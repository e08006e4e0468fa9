//! One entry of a list: a query, its labels, and what else a case can take.

use std::collections::BTreeSet;

use proctor_model::nearest;

use super::super::slug;
use super::labels::Labels;
use crate::tree::{Field, Kind, Member, Object, Problems, boolean, non_blank};

const QUERY: &[&str] = &["query", "prompt", "text", "input"];
const SHOULD_TRIGGER: &[&str] = &["should_trigger", "expect_trigger"];
const EXPECTED: &[&str] = &["expected_skill", "expected_skills"];
const FORBIDDEN: &[&str] = &[
    "expected_not_skills",
    "expected_not_skill",
    "not_expected_skills",
    "not_expected_skill",
    "not_expected",
    "forbidden_skills",
    "forbidden_skill",
    "forbidden",
];
const SKILL: &[&str] = &["skill"];
const ID: &[&str] = &["id"];
const TAGS: &[&str] = &["tags"];
const DESCRIPTION: &[&str] = &["description"];

const ALL: [&[&str]; 8] =
    [QUERY, SHOULD_TRIGGER, EXPECTED, FORBIDDEN, SKILL, ID, TAGS, DESCRIPTION];

/// What an entry says.
pub(super) struct Entry {
    pub(super) query: String,
    pub(super) labels: Labels,
    /// The key for the expected skill, when it has no value.
    pub(super) expects_none: Option<&'static str>,
    pub(super) id: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) description: Option<String>,
}

/// How entries of one list are read.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    /// Every value is text: lists stand in one cell, and words are truth values.
    pub(super) is_table: bool,
    /// The skills that may be named; `None` for any.
    pub(super) skills: Option<&'a BTreeSet<String>>,
}

impl Reader<'_> {
    /// Reads an entry, every mistake of it; `None` when there is one.
    pub(super) fn read(self, object: &Object<'_>, problems: &mut Problems) -> Option<Entry> {
        let query =
            get(object, QUERY, problems, |field, problems| Some(non_blank(field, problems)));
        if present(object, QUERY).is_none() {
            problems.push(object.field().error("`query` is missing"));
        }
        let skill = get(object, SKILL, problems, |at, problems| self.skill(at, problems).map(Some));
        let should_trigger = get(object, SHOULD_TRIGGER, problems, |at, problems| {
            self.truth(at, problems).map(Some)
        });
        let expected =
            get(object, EXPECTED, problems, |at, problems| self.one(at, problems).map(Some));
        let forbidden = get(object, FORBIDDEN, problems, |at, problems| self.skills(at, problems));
        let id = get(object, ID, problems, |at, problems| scalar(at, problems).map(Some));
        let tags = get(object, TAGS, problems, |at, problems| self.texts(at, problems));
        let description =
            get(object, DESCRIPTION, problems, |at, problems| non_blank(at, problems).map(Some));
        let labels = Labels {
            skill: skill?,
            should_trigger: should_trigger?,
            expected: expected?,
            forbidden: forbidden?,
        };
        Some(Entry {
            query: query??,
            labels,
            expects_none: EXPECTED
                .iter()
                .copied()
                .find(|key| object.get(key).is_some_and(|member| member.value.kind == Kind::Null)),
            id: id?,
            tags: tags?,
            description: description?,
        })
    }

    /// The name of a skill, which has to be known, or at least to be the name of a folder.
    fn skill(self, field: &Field<'_>, problems: &mut Problems) -> Option<String> {
        let name = non_blank(field, problems)?.trim().to_owned();
        self.is_skill(&name, field, problems).then_some(name)
    }

    fn is_skill(self, name: &str, field: &Field<'_>, problems: &mut Problems) -> bool {
        if self.skills.is_some_and(|skills| skills.contains(name)) {
            return true;
        }
        let is_plain = !name.starts_with('.')
            && name.len() <= 255
            && !name.chars().any(|c| c == '/' || c.is_control());
        if self.skills.is_none() && is_plain {
            return true;
        }
        problems.push_error(|| match self.skills {
            None => field.expected("the name of a skill's folder"),
            Some(skills) => {
                let error = field.error(format!("no skill has the id `{}`", name.escape_debug()));
                match nearest(name, skills.iter().map(String::as_str)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.hint("`proctor eval list` lists the skills"),
                }
            }
        });
        false
    }

    /// One skill; a list of one will do.
    fn one(self, field: &Field<'_>, problems: &mut Problems) -> Option<String> {
        if !matches!(field.node().kind, Kind::Array(_)) && !self.is_table {
            return self.skill(field, problems);
        }
        let mut skills = self.skills(field, problems)?;
        if skills.len() == 1 {
            return skills.pop();
        }
        let hint = "a case is about one skill; make an entry for each";
        problems.push(field.expected("one skill").hint(hint));
        None
    }

    fn skills(self, field: &Field<'_>, problems: &mut Problems) -> Option<Vec<String>> {
        let names = self.texts(field, problems)?;
        let unknown = names.iter().filter(|name| !self.is_skill(name, field, problems)).count();
        (unknown == 0).then_some(names)
    }

    /// A list of texts, or one text; in a table, texts with `;` or `,` between them.
    fn texts(self, field: &Field<'_>, problems: &mut Problems) -> Option<Vec<String>> {
        match &field.node().kind {
            Kind::Array(items) => {
                let texts = items.iter().enumerate();
                texts.map(|(at, item)| non_blank(&field.item(at, item), problems)).collect()
            }
            Kind::String(text) if self.is_table => {
                let texts = text.split([';', ',']).map(str::trim).filter(|text| !text.is_empty());
                Some(texts.map(str::to_owned).collect())
            }
            _ => non_blank(field, problems).map(|text| vec![text]),
        }
    }

    fn truth(self, field: &Field<'_>, problems: &mut Problems) -> Option<bool> {
        let Kind::String(text) = &field.node().kind else { return boolean(field, problems) };
        if !self.is_table {
            return boolean(field, problems);
        }
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true),
            "false" | "no" | "0" => Some(false),
            _ => {
                problems.push(field.expected("`true` or `false`"));
                None
            }
        }
    }
}

/// The first of these keys that has a value.
fn present<'a>(object: &Object<'a>, keys: &[&str]) -> Option<&'a Member> {
    let members = keys.iter().filter_map(|key| object.get(key));
    members.into_iter().find(|member| member.value.kind != Kind::Null)
}

/// Reads the first of these keys that has a value; nothing when none has.
fn get<T: Default>(
    object: &Object<'_>,
    keys: &[&str],
    problems: &mut Problems,
    read: impl FnOnce(&Field<'_>, &mut Problems) -> Option<T>,
) -> Option<T> {
    let Some(member) = present(object, keys) else { return Some(T::default()) };
    read(&object.field().member(&member.key, &member.value), problems)
}

fn scalar(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    match &field.node().kind {
        Kind::Number(text) => Some(text.clone()),
        _ => non_blank(field, problems).map(|text| text.trim().to_owned()),
    }
}

/// Whether the value of this member is read, or is none where one might be.
pub(super) fn is_read(object: &Object<'_>, member: &Member) -> bool {
    let Some(group) = ALL.iter().find(|group| group.contains(&member.key.as_str())) else {
        return false;
    };
    member.value.kind == Kind::Null
        || present(object, group).is_some_and(|read| read.key == member.key)
}

/// A tag as a case may have it.
pub(super) fn tag(text: &str) -> String {
    let fits = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | ':' | '-');
    let starts = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if starts && text.chars().all(fits) && text.len() <= 64 { text.to_owned() } else { slug(text) }
}
