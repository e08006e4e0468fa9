//! The text of one `fixture.json` to a [`Fixture`].

use std::collections::BTreeSet;
use std::time::Duration;

use camino::Utf8Path;
use proctor_model::conformance::fixture::{Fixture, FixtureBounds, Phase};
use proctor_model::conformance::path_rules::static_offence;
use proctor_model::{Diagnostics, Location};

use super::check::{Draft, read_check};
use crate::tree::{
    self, Field, Kind, Object, Problems, list, non_blank, positive_number, text, whole_number,
};

/// The keys of a fixture. `$schema` is for editors, and `expected_output` is accepted and ignored:
/// there is no model judge.
pub(super) const FIXTURE_KEYS: [&str; 11] = [
    "$schema",
    "name",
    "description",
    "prompt",
    "profiles",
    "languages",
    "harnesses",
    "expected_instruction_paths",
    "checks",
    "bounds",
    "expected_output",
];

/// The keys of `bounds`.
pub(super) const BOUND_KEYS: [&str; 3] = ["timeout_seconds", "max_budget_usd", "max_turns"];

/// The largest bound, in seconds or turns: what every clock and counter can still add to.
pub(super) const LARGEST_BOUND: u32 = u32::MAX;

/// What came out of one fixture file.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The fixture; `None` exactly when `diagnostics` has errors.
    pub fixture: Option<Fixture>,
    /// The name as the file declares it, even when the rest is wrong.
    pub declared: Option<Declared>,
    /// Everything that is wrong, in the order of the text.
    pub diagnostics: Diagnostics,
}

impl Parsed {
    /// A file of which nothing is known but what is wrong with it.
    pub(super) fn unreadable(problems: Problems) -> Self {
        Self { fixture: None, declared: None, diagnostics: problems.finish() }
    }
}

/// A fixture's name and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The value of `name`.
    pub name: String,
    /// Where it stands.
    pub location: Location,
}

/// Reads a fixture. `file` is named in the diagnostics, and `directory` is the last segment of the
/// directory it lies in, which must be the fixture's name.
pub fn parse_fixture(file: &Utf8Path, bytes: &[u8], directory: &str) -> Parsed {
    let mut problems = Problems::new(file);
    let Some(root) = tree::json(bytes, &mut problems) else {
        return Parsed::unreadable(problems);
    };
    let field = Field::root(&root);
    let object = Object::at(&field, "a fixture object", &mut problems);
    let declared = object.and_then(|object| declared(&object));
    let fixture = object.and_then(|object| read_fixture(&object, directory, &mut problems));
    let fixture = fixture.filter(|_| !problems.has_errors());
    Parsed { fixture, declared, diagnostics: problems.finish() }
}

fn declared(object: &Object<'_>) -> Option<Declared> {
    let node = &object.get("name")?.value;
    match &node.kind {
        Kind::String(name) => Some(Declared { name: name.clone(), location: node.location }),
        _ => None,
    }
}

fn read_fixture(object: &Object<'_>, directory: &str, problems: &mut Problems) -> Option<Fixture> {
    object.deny_unknown(&FIXTURE_KEYS, problems);
    let name = object.required("name", problems, |field, problems| {
        let name = non_blank(field, problems)?;
        if name != directory {
            let expected = format!("{directory:?}, the name of the fixture's directory");
            problems.push(field.expected(&expected).hint("rename one of the two"));
        }
        Some(name)
    });
    let description = object.optional("description", problems, text);
    let prompt = object.required("prompt", problems, argument);
    let profiles = object.or("profiles", Vec::new(), problems, names);
    let languages = object.or("languages", Vec::new(), problems, names);
    let harnesses = object.or("harnesses", Vec::new(), problems, names);
    let expected_instruction_paths = object.or(
        "expected_instruction_paths",
        Vec::new(),
        problems,
        list("paths", instruction_path),
    );
    let checks = object.required("checks", problems, |field, problems| {
        let drafts =
            list("checks", |field, problems| Some(read_check(field, problems)))(field, problems)?;
        deny_undecided(field, &drafts, problems);
        drafts.into_iter().map(|draft| draft.check).collect::<Option<Vec<_>>>()
    });
    let bounds = object.or("bounds", FixtureBounds::default(), problems, read_bounds);
    Some(Fixture {
        name: name?,
        description: description?,
        prompt: prompt?,
        profiles: profiles?,
        languages: languages?,
        harnesses: harnesses?,
        expected_instruction_paths: expected_instruction_paths?,
        checks: checks?,
        bounds: bounds?,
    })
}

/// A fixture without a required result-phase check would pass whatever the agent does. A check
/// whose phase or `optional` is wrong gets the benefit of the doubt: its own mistake is enough.
fn deny_undecided(field: &Field<'_>, drafts: &[Draft], problems: &mut Problems) {
    let may_decide = |draft: &Draft| {
        matches!(draft.phase, None | Some(Phase::Result)) && draft.optional != Some(true)
    };
    if !drafts.iter().any(may_decide) {
        let message = "expected at least one check of the result phase that is not optional";
        problems.push(field.error(message).hint("checks are of the result phase by default"));
    }
}

fn read_bounds(field: &Field<'_>, problems: &mut Problems) -> Option<FixtureBounds> {
    let object = Object::at(field, "an object of bounds", problems)?;
    object.deny_unknown(&BOUND_KEYS, problems);
    let positive = || whole_number(1..=i64::from(LARGEST_BOUND));
    let timeout = object.optional("timeout_seconds", problems, positive());
    let max_budget_usd = object.optional("max_budget_usd", problems, positive_number);
    let max_turns = object.optional("max_turns", problems, positive());
    Some(FixtureBounds {
        timeout: timeout?.map(|seconds| Duration::from_secs(seconds.unsigned_abs())),
        max_budget_usd: max_budget_usd?,
        max_turns: max_turns?.map(|turns| u32::try_from(turns).unwrap_or(LARGEST_BOUND)),
    })
}

/// A text that is handed to a program: not blank, and free of NUL, which no argument can carry.
fn argument(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    without_nul(field, non_blank(field, problems)?, problems)
}

/// Takes `text`, read at `field`, unless it contains a NUL character.
pub(super) fn without_nul(
    field: &Field<'_>,
    text: String,
    problems: &mut Problems,
) -> Option<String> {
    if text.contains('\0') {
        problems.push(field.error("contains a NUL character, which no program can be given"));
        return None;
    }
    Some(text)
}

/// A list of ids; a second mention says nothing new and is dropped with a warning.
fn names(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let Kind::Array(items) = &field.node().kind else {
        problems.push(field.expected("a list of names"));
        return None;
    };
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let item = field.item(index, item);
        let Some(name) = non_blank(&item, problems) else { continue };
        if seen.insert(name.clone()) {
            names.push(name);
        } else {
            problems.push(item.warning("listed twice"));
        }
    }
    Some(names)
}

/// Reported and never decisive, so a path that cannot be observed is a warning.
fn instruction_path(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let path = text(field, problems)?;
    if let Some(offence) = static_offence(&path) {
        problems.push(field.warning(format!("can never be observed: the path {offence}")));
    }
    Some(path)
}
