//! Lists of labelled queries: which skill each should fire, and which it must not.
//!
//! An entry has a query, and labels in one of two ways: `expected_skill` with skills that are
//! forbidden, or `should_trigger` for the skill that `skill`, or the user, names. Each label becomes
//! a case of the skill that it is about, so that one list fills the cases of many skills.

mod entry;
mod labels;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use proctor_model::{Digest, Location};

use entry::{Entry, Reader, is_read, tag};
use table::Format;

use super::document::{At, depth, ending, quoted, summarized};
use super::draft::{CaseFile, Draft, NewCase, NewPrompt};
use super::files::{self, Links};
use super::{ImportError, Importer, Input, MAX_INPUT_DEPTH, Options, Unmapped, slug};
use crate::tree::{Field, Kind, Node, Object, Problems};

pub(super) const IMPORTER: Importer = Importer {
    name: "queries",
    reads: "a list of queries with the skill that each should fire, as .yaml, .json, .jsonl or .csv",
    inner_folders: &[],
    names_skills: true,
    read,
};

/// The most queries of one list.
const MAX_QUERIES: usize = 10_000;

const NOBODY: &str = "no skill is expected: name those that must not fire as `forbidden`";

fn read(input: &Input<'_>, _options: Options) -> Result<Vec<Draft>, ImportError> {
    let is_file = input.files.entry(input.named) == Some(files::Entry::File);
    let Some(format) = Format::of(ending(input.named)).filter(|_| is_file) else {
        return Ok(Vec::new());
    };
    let bytes = input.files.read("", input.named, Links::Refused);
    let bytes = bytes.map_err(|why| ImportError::file(input.origin, why))?;
    let mut problems = Problems::new(Utf8Path::new(input.origin));
    let mut list = List::new(input);
    if let Some(root) = format.read(&bytes, &mut problems) {
        if depth(&root) > MAX_INPUT_DEPTH {
            let message = format!("is nested deeper than {MAX_INPUT_DEPTH} levels");
            return Err(ImportError::file(input.origin, message));
        }
        let reader = Reader { is_table: format == Format::Csv, skills: input.skills };
        list.root(&root, reader, &mut problems);
    }
    if problems.has_errors() {
        return Err(ImportError::Mistakes(problems.finish()));
    }
    list.finish(Digest::of(&bytes))
}

/// What has been read of a list.
struct List<'a> {
    input: &'a Input<'a>,
    /// By skill; `None` where no skill is named.
    drafts: BTreeMap<Option<String>, Cases>,
    ids: BTreeMap<String, Location>,
    /// What has no counterpart, by path: how often, and the first of them.
    others: BTreeMap<String, (usize, Unmapped)>,
    /// Labels of skills other than the one that takes the cases.
    left_out: usize,
}

/// The cases of one skill.
#[derive(Default)]
struct Cases {
    made: Vec<NewCase>,
    /// What was said of each query, and where.
    said: BTreeMap<String, (bool, Location)>,
    made_ids: usize,
    changed_tags: BTreeSet<String>,
    warnings: Vec<String>,
}

impl<'a> List<'a> {
    fn new(input: &'a Input<'a>) -> Self {
        Self {
            input,
            drafts: BTreeMap::new(),
            ids: BTreeMap::new(),
            others: BTreeMap::new(),
            left_out: 0,
        }
    }

    /// The list is the document itself, or the one list of objects in it.
    fn root(&mut self, node: &Node, reader: Reader<'_>, problems: &mut Problems) {
        let root = Field::root(node);
        let document = At::root(node, None);
        let mut list = root;
        let mut at = document.clone();
        if !matches!(node.kind, Kind::Array(_)) {
            let lists: Vec<_> =
                document.members().filter(|(_, at)| is_list_of_objects(at.node)).collect();
            let [(key, inner)] = lists.as_slice() else {
                let found = lists.len();
                return problems.push(root.error(format!(
                    "expected one list of queries, here or under a key, and found {found}"
                )));
            };
            for (_, value) in document.members().filter(|(other, _)| other != key) {
                self.unmapped(&value, "");
            }
            list = root.member(key, inner.node);
            at = inner.clone();
        }
        let Kind::Array(items) = &list.node().kind else { return };
        if items.is_empty() || items.len() > MAX_QUERIES {
            problems.push(list.error(format!("expected 1 to {MAX_QUERIES} queries")));
            return;
        }
        for (index, item) in items.iter().enumerate() {
            let field = list.item(index, item);
            let all = At { node: item, path: format!("{}[*]", at.path) };
            self.entry(&field, &all, reader, problems);
        }
    }

    fn unmapped(&mut self, at: &At<'_>, hint: &'static str) {
        let first = || (0, at.unmapped(hint));
        self.others.entry(at.path.clone()).or_insert_with(first).0 += 1;
    }

    fn entry(
        &mut self,
        field: &Field<'_>,
        at: &At<'_>,
        reader: Reader<'_>,
        problems: &mut Problems,
    ) {
        let what = "an object with a query and its labels";
        let Some(object) = Object::at(field, what, problems) else { return };
        let Kind::Object(members) = &field.node().kind else { return };
        for (member, (_, value)) in members.iter().zip(at.members()) {
            let is_empty_cell = reader.is_table && member.value.kind == Kind::Null;
            if !is_empty_cell && !is_read(&object, member) {
                self.unmapped(&value, "");
            }
        }
        let Some(entry) = reader.read(&object, problems) else { return };
        let place = field.node().location;
        if let Some(id) = &entry.id
            && let Some(first) = self.ids.insert(id.clone(), place)
        {
            problems.push_error(|| field.error(format!("line {} has the same id", first.line)));
        }
        let verdicts = match entry.labels.verdicts(self.input.skill) {
            Ok(verdicts) => verdicts,
            Err(why) => return problems.push_error(|| field.error(why)),
        };
        let none = entry.expects_none.and_then(|key| at.get(key));
        if let (true, Some(none)) = (verdicts.is_empty(), none) {
            self.unmapped(&none, NOBODY);
        } else if verdicts.is_empty() {
            let hint = "add `expected_skill`, `forbidden` or `should_trigger`";
            let error = "nothing says which skill it should fire, or must not";
            problems.push_error(|| field.error(error).hint(hint));
        }
        for (skill, fires) in verdicts {
            self.case(&entry, skill, fires, field, problems);
        }
    }

    fn case(
        &mut self,
        entry: &Entry,
        skill: Option<&str>,
        fires: bool,
        field: &Field<'_>,
        problems: &mut Problems,
    ) {
        if skill.is_none() && self.input.skills.is_some() {
            let error = "`should_trigger` is about no skill that is named";
            let hint = "add `skill`, or name it with `--skill`";
            return problems.push_error(|| field.error(error).hint(hint));
        }
        if self.input.skill.is_some() && skill != self.input.skill {
            self.left_out += 1;
            return;
        }
        let cases = self.drafts.entry(skill.map(str::to_owned)).or_default();
        let place = field.node().location;
        match cases.said.insert(entry.query.clone(), (fires, place)) {
            Some((said, Location { line, .. })) if said != fires => {
                let error = format!("line {line} says the opposite of the same query");
                return problems.push_error(|| field.error(error));
            }
            Some((_, first)) => cases.warnings.push(format!(
                "lines {} and {} have the same query with the same label",
                first.line, place.line
            )),
            None => {}
        }
        cases.made_ids += usize::from(entry.id.is_none());
        let name = entry.id.clone().unwrap_or_else(|| made_id(&entry.query));
        let prompt = NewPrompt::Inline(entry.query.clone());
        let mut case = NewCase::new(name, prompt, IMPORTER.name);
        case.expect_trigger = fires;
        case.description.clone_from(&entry.description);
        for text in &entry.tags {
            let tag = tag(text);
            if tag != *text {
                cases.changed_tags.insert(text.clone());
            }
            if !case.tags.contains(&tag) {
                case.tags.push(tag);
            }
        }
        cases.made.push(case);
    }

    fn finish(mut self, digest: Digest) -> Result<Vec<Draft>, ImportError> {
        if self.drafts.is_empty() {
            let message = match self.input.skill {
                Some(skill) => format!("none of its queries is about skill `{skill}`"),
                None => "none of its queries is about a skill".to_owned(),
            };
            return Err(ImportError::file(self.input.origin, message));
        }
        let stem = Utf8Path::new(self.input.named).file_stem().unwrap_or_default();
        let drafts = std::mem::take(&mut self.drafts);
        let mut drafts: Vec<Draft> = drafts
            .into_iter()
            .map(|(skill, cases)| {
                let mut draft = Draft::new(self.input.origin, digest);
                stem.clone_into(&mut draft.report.scenario);
                // A skill that the user named takes the files itself.
                let skill = skill.filter(|_| self.input.skill.is_none());
                draft.file = Some(CaseFile { skill, stem: slug(stem) });
                cases.fill(&mut draft);
                draft
            })
            .collect();
        // Said once, not for each skill.
        if let Some(first) = drafts.first_mut() {
            first.report.unmapped = self.others.into_values().map(counted).collect();
            if self.left_out > 0 {
                let note = format!("{} label(s) of other skills are left out", self.left_out);
                first.report.assumed.push(note);
            }
        }
        Ok(drafts)
    }
}

fn counted((count, first): (usize, Unmapped)) -> Unmapped {
    match count {
        1 => first,
        _ => Unmapped {
            value: summarized(&format!("{count} values, the first {}", first.value)),
            ..first
        },
    }
}

impl Cases {
    fn fill(self, draft: &mut Draft) {
        let report = &mut draft.report;
        let fire = self.made.iter().filter(|case| case.expect_trigger).count();
        for (count, words) in [
            (self.made.len(), "query(s) -> prompt"),
            (fire, "label(s) that the skill should fire -> expect_trigger: true"),
            (self.made.len() - fire, "label(s) that it must not -> expect_trigger: false"),
        ] {
            if count > 0 {
                report.mapped.push(format!("{count} {words}"));
            }
        }
        if self.made_ids > 0 {
            let note = format!("{} id(s) made of the query, which has none", self.made_ids);
            report.assumed.push(note);
        }
        for tag in self.changed_tags {
            let note = format!("tag {} -> {}", quoted(&tag), entry::tag(&tag));
            report.assumed.push(note);
        }
        report.warnings.extend(self.warnings);
        draft.cases = self.made;
    }
}

fn is_list_of_objects(node: &Node) -> bool {
    let Kind::Array(items) = &node.kind else { return false };
    items.iter().any(|item| matches!(item.kind, Kind::Object(_)))
}

/// The same for the same query, wherever it stands.
fn made_id(query: &str) -> String {
    let digest = Digest::of(query.as_bytes()).to_string();
    format!("query-{}", digest.get(..12).unwrap_or_default())
}
