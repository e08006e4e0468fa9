//! The text of one case file to cases whose prompt files and fixtures are yet to be read.

use std::collections::BTreeMap;

use camino::Utf8Path;
use proctor_model::eval::case::CASE_SCHEMA_VERSION;
use proctor_model::eval::{Assertion, Criteria, Rubric, RubricItem};
use proctor_model::{Diagnostic, Diagnostics, Location};

use super::assertion::read_assertion;
use super::case_file_stem;
use super::paths::relative_path;
use crate::tree::{
    self, Field, Kind, Object, Problems, boolean, list, non_blank, positive_number, text,
    whole_number,
};

/// The keys of a case.
pub(super) const CASE_KEYS: [&str; 13] = [
    "id",
    "description",
    "prompt",
    "prompt_file",
    "expect_trigger",
    "near_miss",
    "files",
    "assertions",
    "rubric",
    "rubric_items",
    "rubric_min_score",
    "model",
    "tags",
];

/// The keys that make the top level of a file a case.
const CASE_MARKS: [&str; 4] = ["id", "prompt", "prompt_file", "expect_trigger"];

/// The keys of a file that holds a list of cases.
const LIST_KEYS: [&str; 3] = ["$schema", "schema_version", "cases"];

/// The keys of a fixture.
pub(super) const FILE_KEYS: [&str; 3] = ["path", "content", "source"];

/// The keys of a criterion.
pub(super) const ITEM_KEYS: [&str; 2] = ["text", "weight"];

/// How many criteria a checklist may have.
pub(super) const MAX_ITEMS: usize = 50;

/// How long an id, a tag or the name of a model may be, in bytes: they become file names and are
/// repeated for each near miss.
const MAX_WORD_BYTES: usize = 200;

/// How many near misses, tags, fixtures and assertions a case may have. Near misses inherit tags,
/// so without a limit a file could ask for its square.
const MAX_LISTED: usize = 1000;

/// A case of which only the files that it names are yet to be read.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) description: Option<String>,
    pub(super) prompt: Prompt,
    pub(super) expect_trigger: bool,
    pub(super) near_miss: Vec<String>,
    pub(super) files: Vec<FileDraft>,
    pub(super) assertions: Vec<Assertion>,
    pub(super) rubric: Option<Rubric>,
    pub(super) model: Option<String>,
    pub(super) tags: Vec<String>,
}

/// Where a prompt comes from.
#[derive(Debug)]
pub(super) enum Prompt {
    Text(String),
    File(FileName),
}

/// A fixture of which the content may be yet to be read.
#[derive(Debug)]
pub(super) struct FileDraft {
    pub(super) path: String,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    Source(FileName),
}

/// A file that a case names, clean and relative to the case file's folder.
#[derive(Debug)]
pub(super) struct FileName {
    pub(super) relative: String,
    pub(super) location: Location,
    /// The field path, for messages.
    pub(super) field: String,
}

/// What one element of a file came to.
#[derive(Debug)]
pub(super) struct Element {
    /// Where the case starts.
    pub(super) location: Location,
    /// Its id and where that stands, when it has a valid one.
    pub(super) id: Option<(String, Location)>,
    /// How many near misses it has.
    pub(super) near_misses: usize,
    /// The case; `None` after a mistake.
    pub(super) draft: Option<Draft>,
}

/// Everything that is wrong with the text of a case file; the ending of its name decides between
/// JSON and YAML. What lies behind the paths in it is not looked at.
pub fn check_case_file(file: &Utf8Path, bytes: &[u8]) -> Diagnostics {
    let mut problems = Problems::new(file);
    parse_case_file(file, bytes, &mut problems);
    problems.finish()
}

/// Reads a case file; the ending of its name decides between JSON and YAML.
pub(super) fn parse_case_file(
    file: &Utf8Path,
    bytes: &[u8],
    problems: &mut Problems,
) -> Vec<Element> {
    let is_json = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let root =
        if is_json { tree::json_first(bytes, problems) } else { tree::yaml_first(bytes, problems) };
    let Some(root) = root else { return Vec::new() };
    let field = Field::root(&root);
    if root.kind == Kind::Null {
        problems.push(field.error("file holds no cases").hint(NO_CASES));
        return Vec::new();
    }
    let Some(object) = Object::at(&field, "an object with `cases`, or one case", problems) else {
        return Vec::new();
    };
    object.optional("schema_version", problems, schema_version);
    object.optional("$schema", problems, text);
    let mark = CASE_MARKS.into_iter().find_map(|key| object.get(key));
    let elements = match (object.get("cases"), mark) {
        (Some(cases), Some(mark)) => {
            let message = "a file holds either `cases` or one case at its top level, not both";
            problems.push(object.key_error(mark, message).hint("move the case into `cases`"));
            read_list(&field.member("cases", &cases.value), problems)
        }
        (Some(cases), None) => {
            warn_of_strays(&object, problems);
            read_list(&field.member("cases", &cases.value), problems)
        }
        (None, Some(_)) => vec![read_case(&field, &object, Some(file), problems)],
        (None, None) => {
            deny_unknown(&object, &LIST_KEYS, problems);
            problems.push(field.error("file holds no cases").hint(NO_CASES));
            Vec::new()
        }
    };
    deny_shared_ids(&elements, problems);
    elements
}

const NO_CASES: &str = "add a list `cases`, or write one case at the top level";

fn schema_version(field: &Field<'_>, problems: &mut Problems) -> Option<i64> {
    let version = whole_number(0..=i64::MAX)(field, problems)?;
    if version != 0 && version != CASE_SCHEMA_VERSION {
        problems.push(field.expected("schema version 1"));
    }
    Some(version)
}

/// Keys of a case beside `cases` are ignored by every reader of the format, which is hardly what
/// their author meant.
fn warn_of_strays(object: &Object<'_>, problems: &mut Problems) {
    deny_unknown(object, &LIST_KEYS, problems);
    for key in CASE_KEYS {
        if let Some(member) = object.get(key) {
            let warning = object.field().member(key, &member.value);
            let warning = warning.warning("is ignored beside `cases`");
            problems.push(warning.at(member.key_location).hint("move it into a case"));
        }
    }
}

/// [`Object::deny_unknown`] at the top level, where the keys of a case are known too.
fn deny_unknown(object: &Object<'_>, own: &[&str], problems: &mut Problems) {
    let known: Vec<&str> = own.iter().chain(&CASE_KEYS).copied().collect();
    object.deny_unknown(&known, problems);
}

fn read_list(field: &Field<'_>, problems: &mut Problems) -> Vec<Element> {
    let Kind::Array(items) = &field.node().kind else {
        problems.push(field.expected("a list of cases"));
        return Vec::new();
    };
    if items.is_empty() {
        problems.push(field.error("file holds no cases").hint("add one"));
    }
    let numbered = items.iter().enumerate();
    let read = numbered.filter_map(|(index, item)| {
        let item = field.item(index, item);
        let object = Object::at(&item, "a case object", problems)?;
        Some(read_case(&item, &object, None, problems))
    });
    read.collect()
}

/// Reads a case; `file` is given for one at the top level, whose id defaults to the file's name.
fn read_case(
    field: &Field<'_>,
    object: &Object<'_>,
    file: Option<&Utf8Path>,
    problems: &mut Problems,
) -> Element {
    match file {
        Some(_) => deny_unknown(object, &LIST_KEYS[..2], problems),
        None => object.deny_unknown(&CASE_KEYS, problems),
    }
    let location = field.node().location;
    let id = match (object.get("id"), file.and_then(default_id)) {
        (None, Some(name)) => named_by_file(field, name, problems),
        _ => object.required("id", problems, read_id),
    };
    let id_location = object.get("id").map_or(location, |member| member.value.location);
    let description = object.optional("description", problems, text);
    let prompt = read_prompt(field, object, problems);
    let expect_trigger = object.required("expect_trigger", problems, boolean);
    let near_miss = object.or("near_miss", Vec::new(), problems, limited("prompts", non_blank));
    let forbidden = near_miss.as_ref().is_some_and(|list| !list.is_empty());
    if expect_trigger == Some(false)
        && forbidden
        && let Some(member) = object.get("near_miss")
    {
        let message = "belongs only to a case with `expect_trigger: true`";
        problems.push(object.key_error(member, message).hint("make them cases of their own"));
    }
    let files = object.or("files", Vec::new(), problems, read_files);
    let assertions = limited("assertions", read_assertion);
    let assertions = object.or("assertions", Vec::new(), problems, assertions);
    let rubric = read_rubric(object, problems);
    let model = object.optional("model", problems, |field, problems| {
        within(MAX_WORD_BYTES, field, non_blank(field, problems)?, problems)
    });
    let tags = object.or("tags", Vec::new(), problems, limited("tags", read_tag));
    let near_misses = near_miss.as_ref().map_or(0, Vec::len);
    let named = id.clone().map(|id| (id, id_location));
    let draft = (|| {
        Some(Draft {
            id: id?,
            description: description?,
            prompt: prompt?,
            expect_trigger: expect_trigger?,
            near_miss: near_miss?,
            files: files?,
            assertions: assertions?,
            rubric: rubric?,
            model: model?,
            tags: tags?,
        })
    })();
    Element { location, id: named, near_misses, draft }
}

/// The name of a case file without its ending, in lower case.
fn default_id(file: &Utf8Path) -> Option<String> {
    file.file_name().and_then(case_file_stem).map(str::to_lowercase)
}

fn named_by_file(field: &Field<'_>, name: String, problems: &mut Problems) -> Option<String> {
    if is_word(&name, "._-") && name.len() <= MAX_WORD_BYTES {
        return Some(name);
    }
    let message = format!("the file's name gives the id {name:?}, which is none");
    problems.push(field.error(message).hint(format!("add `id`: {ID_RULE}")));
    None
}

const ID_RULE: &str = "lower-case letters, digits, `.`, `_` and `-`, first a letter or a digit";

fn read_id(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let id = text(field, problems)?;
    if !is_word(&id, "._-") {
        problems.push(field.expected("an id").hint(ID_RULE));
        return None;
    }
    within(MAX_WORD_BYTES, field, id, problems)
}

fn read_tag(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let tag = text(field, problems)?;
    if !is_word(&tag, "._:-") {
        let rule = "lower-case letters, digits, `.`, `_`, `:` and `-`, first a letter or a digit";
        problems.push(field.expected("a tag").hint(rule));
        return None;
    }
    within(MAX_WORD_BYTES, field, tag, problems)
}

/// `[a-z0-9][a-z0-9...]*` with `others` as further characters.
fn is_word(text: &str, others: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(plain) && text.chars().all(|c| plain(c) || others.contains(c))
}

fn within(
    limit: usize,
    field: &Field<'_>,
    text: String,
    problems: &mut Problems,
) -> Option<String> {
    if text.len() > limit {
        let length = text.len();
        problems.push(field.error(format!("is {length} bytes long; the limit is {limit}")));
        return None;
    }
    Some(text)
}

/// [`list`] with at most [`MAX_LISTED`] elements.
fn limited<T>(
    what: &'static str,
    read: impl Fn(&Field<'_>, &mut Problems) -> Option<T>,
) -> impl FnOnce(&Field<'_>, &mut Problems) -> Option<Vec<T>> {
    move |field, problems| {
        if let Kind::Array(items) = &field.node().kind
            && items.len() > MAX_LISTED
        {
            let count = items.len();
            problems.push(field.error(format!("has {count} {what}; the limit is {MAX_LISTED}")));
            return None;
        }
        list(what, read)(field, problems)
    }
}

fn read_prompt(field: &Field<'_>, object: &Object<'_>, problems: &mut Problems) -> Option<Prompt> {
    match (object.get("prompt"), object.get("prompt_file")) {
        (Some(_), Some(file)) => {
            let message = "stands beside `prompt`; a case has one of the two";
            problems.push(object.key_error(file, message).hint("remove one of them"));
            None
        }
        (Some(_), None) => object.required("prompt", problems, non_blank).map(Prompt::Text),
        (None, Some(_)) => object.required("prompt_file", problems, file_name).map(Prompt::File),
        (None, None) => {
            problems.push(field.error("`prompt` or `prompt_file` is missing"));
            None
        }
    }
}

fn file_name(field: &Field<'_>, problems: &mut Problems) -> Option<FileName> {
    let relative = relative_path(field, problems)?;
    Some(FileName { relative, location: field.node().location, field: field.path() })
}

fn read_files(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<FileDraft>> {
    let files = limited("files", read_file)(field, problems)?;
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let earlier = *first.entry(&file.path).or_insert(index);
        if earlier != index {
            let message =
                format!("files {earlier} and {index}, from 0, have the path {:?}", file.path);
            problems.push(field.warning(message).hint("the later one wins"));
        }
    }
    Some(files)
}

fn read_file(field: &Field<'_>, problems: &mut Problems) -> Option<FileDraft> {
    let object = Object::at(field, "a file object", problems)?;
    object.deny_unknown(&FILE_KEYS, problems);
    let path = object.required("path", problems, relative_path);
    let content = match (object.get("content"), object.get("source")) {
        (Some(_), Some(source)) => {
            let message = "stands beside `content`; a file has one of the two";
            problems.push(object.key_error(source, message).hint("remove one of them"));
            None
        }
        (Some(_), None) => object.required("content", problems, text).map(Content::Text),
        (None, Some(_)) => object.required("source", problems, file_name).map(Content::Source),
        (None, None) => Some(Content::Text(String::new())),
    };
    Some(FileDraft { path: path?, content: content? })
}

/// The rubric; `Some(None)` when the case has none.
#[expect(clippy::option_option, reason = "a mistake and no rubric are two things, as in `Object`")]
pub(crate) fn read_rubric(object: &Object<'_>, problems: &mut Problems) -> Option<Option<Rubric>> {
    let min_score = object.optional("rubric_min_score", problems, score);
    let criteria = match (object.get("rubric"), object.get("rubric_items")) {
        (Some(_), Some(items)) => {
            let message = "stands beside `rubric`; a case has one of the two";
            problems.push(object.key_error(items, message).hint("remove one of them"));
            None
        }
        (Some(_), None) => object.required("rubric", problems, non_blank).map(Criteria::Text),
        (None, Some(_)) => object.required("rubric_items", problems, items).map(Criteria::Items),
        (None, None) => {
            if let Some(member) = object.get("rubric_min_score") {
                let message = "needs `rubric` or `rubric_items`";
                problems.push(object.key_error(member, message));
            }
            return min_score.map(|_| None);
        }
    };
    Some(Some(Rubric { criteria: criteria?, min_score: min_score? }))
}

pub(crate) fn score(field: &Field<'_>, problems: &mut Problems) -> Option<f64> {
    let value = match &field.node().kind {
        Kind::Number(written) => written.parse::<f64>().ok(),
        _ => None,
    };
    let score = value.filter(|value| (0.0..=1.0).contains(value));
    if score.is_none() {
        problems.push(field.expected("a number from 0 to 1"));
    }
    score
}

fn items(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<RubricItem>> {
    if let Kind::Array(items) = &field.node().kind
        && !(1..=MAX_ITEMS).contains(&items.len())
    {
        let message = format!("has {} criteria; between 1 and {MAX_ITEMS} may stand", items.len());
        problems.push(field.error(message));
        return None;
    }
    list("criteria", |field, problems| {
        let object = Object::at(field, "a criterion object", problems)?;
        object.deny_unknown(&ITEM_KEYS, problems);
        let text = object.required("text", problems, non_blank);
        let weight = object.optional("weight", problems, positive_number);
        Some(RubricItem { text: text?, weight: weight? })
    })(field, problems)
}

/// Two cases of one file with the same id.
fn deny_shared_ids(elements: &[Element], problems: &mut Problems) {
    let mut first: BTreeMap<&str, Location> = BTreeMap::new();
    for element in elements {
        let Some((id, location)) = &element.id else { continue };
        if let Some(Location { line, .. }) = first.get(id.as_str()) {
            problems.push_error(|| {
                let message = format!("an earlier case, at line {line}, has the id `{id}`");
                Diagnostic::error(message).at(*location).hint("rename one of them")
            });
        } else {
            first.insert(id, *location);
        }
    }
}
