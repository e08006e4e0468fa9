#![no_main]

use std::collections::{BTreeMap, BTreeSet};

use proctor_formats::eval::check_case_file;
use proctor_formats::eval::import::{
    Entry, Files, IMPORTERS, Input, Links, Options, RubricMode, import,
};

/// The files that an importer looks for, by its place in the registry.
const PATHS: [&[&str]; 5] = [
    &["criteria.json", "task.md", "a.txt"],
    &["evals.json", "a.txt"],
    &["prompt.md", "case.yaml", "graders/a.md", "graders/b.md"],
    &["promptfooconfig.yaml", "tests.yaml", "p.txt"],
    &["q.yaml", "q.json", "q.jsonl", "q.csv"],
];

struct Memory(BTreeMap<&'static str, Vec<u8>>);

impl Files for Memory {
    fn entry(&self, path: &str) -> Option<Entry> {
        let below = format!("{path}/");
        match self.0.contains_key(path) {
            true => Some(Entry::File),
            false if self.0.keys().any(|key| key.starts_with(&below)) => Some(Entry::Folder),
            false => path.is_empty().then_some(Entry::Folder),
        }
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, String> {
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let rests = self.0.keys().filter_map(|key| key.strip_prefix(below.as_str()));
        let names = rests.filter_map(|rest| rest.split('/').next().map(str::to_owned));
        Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn read(&self, folder: &str, path: &str, _: Links) -> Result<Vec<u8>, String> {
        let path = if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
        self.0.get(path.as_str()).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}

// The first byte chooses importer and options, 0xff parts the files. Whatever they hold: what would
// be written lies inside its folder, loads as cases and nothing else, and has ids of its own, the
// report can be printed, and nothing is both written and left out.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    let place = usize::from(choice) % IMPORTERS.len();
    let contents = rest.split(|byte| *byte == 0xff).map(<[u8]>::to_vec);
    // Lists are named, and are one file each.
    let named = if IMPORTERS[place].names_skills { 1 + usize::from(choice >> 4) % 4 } else { 0 };
    let paths = match named {
        0 => PATHS[place],
        number => &PATHS[place][number - 1..number],
    };
    let files = Memory(paths.iter().copied().zip(contents).collect());
    let options = Options {
        lift_assertions: choice & 4 != 0,
        rubric_mode: if choice & 8 != 0 { RubricMode::Items } else { RubricMode::Single },
    };
    let input = Input {
        origin: "input",
        files: &files,
        named: if named == 0 { "" } else { paths[0] },
        folder_name: "folder",
        skill: (choice & 4 != 0).then_some("x"),
        skills: None,
    };
    let imported = match import(&IMPORTERS[place], &[input], options) {
        Ok(imported) => imported,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut cases = 0;
    for file in &imported.files {
        let inside = file.path.split('/').all(|name| !["", ".", ".."].contains(&name));
        assert!(inside && !file.path.starts_with(['/', '~']), "{:?}", file.path);
        let lower = file.path.to_lowercase();
        if [".eval.yaml", ".eval.yml", ".eval.json"].iter().any(|ending| lower.ends_with(ending)) {
            cases += 1;
            let problems = check_case_file(file.path.as_str().into(), &file.content);
            assert!(!problems.has_errors(), "{problems}");
        }
    }
    assert_eq!(cases, imported.report.scenarios.len());
    let ids: usize = imported.report.scenarios.iter().map(|scenario| scenario.cases).sum();
    assert!(imported.ids.values().map(BTreeSet::len).sum::<usize>() >= ids);
    let text = imported.report.text();
    assert!(text.starts_with("wrote "));
    for scenario in &imported.report.scenarios {
        let unmapped = &scenario.unmapped;
        assert!(unmapped.iter().all(|field| field.value.chars().count() <= 80), "{unmapped:?}");
        assert!(unmapped.is_sorted(), "{unmapped:?}");
    }
    serde_json::to_string(&imported.report).expect("JSON");
});
