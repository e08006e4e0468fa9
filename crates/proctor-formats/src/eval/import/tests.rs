//! Imports from memory.

mod plugin_eval;
mod promptfoo;
mod queries;
mod skill_creator;
mod tessl;

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Files in memory; a path that ends in `@` is a link that leads away.
pub(super) struct Memory(BTreeMap<String, Vec<u8>>);

impl Memory {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let files = files.iter();
        Self(files.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect())
    }
}

impl Files for Memory {
    fn entry(&self, path: &str) -> Option<Entry> {
        let below = format!("{path}/");
        if self.0.contains_key(path) {
            Some(Entry::File)
        } else if self.0.contains_key(&format!("{path}@")) {
            Some(Entry::Other)
        } else if path.is_empty() || self.0.keys().any(|key| key.starts_with(&below)) {
            Some(Entry::Folder)
        } else {
            None
        }
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, String> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let rests = self.0.keys().filter_map(|key| key.strip_prefix(&below));
        let names = rests.filter_map(|rest| rest.split('/').next().map(str::to_owned));
        Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn read(&self, folder: &str, path: &str, _links: Links) -> Result<Vec<u8>, String> {
        let path = document::joined(folder, path);
        if self.0.contains_key(&format!("{path}@")) {
            return Err("leads out of the folder of its scenario through a link".to_owned());
        }
        self.0.get(&path).cloned().ok_or_else(|| "cannot be read: no such file".to_owned())
    }
}

pub(super) fn import_as(
    source: &str,
    files: &[(&str, &str)],
    named: &str,
    options: Options,
) -> Result<Imported, ImportError> {
    let memory = Memory::new(files);
    let input = Input {
        origin: "input",
        files: &memory,
        named,
        folder_name: "folder",
        skill: None,
        skills: None,
    };
    import(importer(source).unwrap(), &[input], options)
}

/// The case file and the report.
pub(super) fn shown(imported: &Imported) -> String {
    let mut out = String::new();
    for file in imported.files.iter().filter(|file| file.path.ends_with(".eval.yaml")) {
        let text = String::from_utf8_lossy(&file.content);
        out.extend(["--- ", &file.path, "\n", &text]);
    }
    out.push_str("--- report\n");
    out.push_str(&imported.report.text());
    out
}

#[test]
fn names_become_ids() {
    for (name, expected) in [
        ("add-health-endpoint", "add-health-endpoint"),
        ("Fix the Billing Config!", "fix-the-billing-config"),
        ("  --weird__name..  ", "weird__name"),
        ("../../etc/passwd", "etc-passwd"),
        ("", "scenario"),
        ("!!!", "scenario"),
        ("Ünïcödé", "n-c-d"),
    ] {
        assert_eq!(slug(name), expected, "{name}");
    }
    assert_eq!(slug(&"a".repeat(90)), "a".repeat(64));
}

#[test]
fn values_are_short_and_harmless_in_reports() {
    assert_eq!(document::summarized("a\0b\u{9b}c"), "a b c");
    assert_eq!(document::summarized(&"é".repeat(200)).chars().count(), 80);
    assert_eq!(document::summarized(&"é".repeat(80)), "é".repeat(80));
    assert_eq!(
        document::quoted("a\"\\\n\u{1b}\u{200b}é\u{e0041}"),
        r#""a\"\\\n\x1b\u200bé\U000e0041""#
    );
}
