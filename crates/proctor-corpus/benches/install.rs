//! What installing a slice into a fresh workspace costs beyond copying its files.
//!
//! `copy` writes the same bytes, directories and links and nothing else; the difference to `install`
//! is the overhead of one install-only trial in this crate. `slice` is the cost of selecting from a
//! corpus whose files have been read.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use camino::Utf8Path;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use proctor_corpus::{Compat, Corpus, Selection, Slice};

/// About the size of a full installation of the largest known corpus.
const SKILLS: usize = 90;
const RULES: usize = 45;
const PROMPTS: usize = 20;
const BYTES: usize = 4096;

fn corpus() -> tempfile::TempDir {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let write = |path: &str, text: &str| {
        let path = temp.path().join(".cratis/ai").join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    };
    let text = format!("---\napplyTo: \"**/*\"\n---\n{}", "word ".repeat(BYTES / 5));
    let names: Vec<_> = (0..SKILLS).map(|n| format!("\"skill-{n}\"")).collect();
    let catalog = format!(
        r#"{{"publicProfiles": [{{"id": "all", "availableTargets": [{}]}}]}}"#,
        names.join(",")
    );
    write("manifest.json", r#"{"harnesses": ["claude"], "profiles": ["all"], "languages": []}"#);
    write("profile-catalog.json", &catalog);
    for n in 0..SKILLS {
        write(&format!("skills/skill-{n}/SKILL.md"), &text);
        write(&format!("skills/skill-{n}/references/more.md"), &text);
    }
    for n in 0..RULES {
        write(&format!("rules/rule-{n}.md"), &text);
    }
    for n in 0..PROMPTS {
        write(&format!("prompts/prompt-{n}.prompt.md"), &text);
    }
    write("hooks/settings.template.json", "{}");
    temp
}

/// Writes what an installation writes, without deciding anything.
fn copy(slice: &Slice, workspace: &Utf8Path) {
    let mut made = BTreeSet::new();
    let mut parent = |path: &str| {
        let path = workspace.join(path);
        let parent = path.parent().expect("a parent").to_owned();
        if made.insert(parent.clone()) {
            std::fs::create_dir_all(parent).expect("a directory");
        }
        path
    };
    for file in slice.files() {
        let path = parent(&format!(".cratis/ai/{}", file.destination()));
        std::fs::write(path, file.bytes()).expect("a file");
    }
    for (path, link) in slice.integrations() {
        symlink(link.target, parent(&path)).expect("a link");
    }
}

fn install(criterion: &mut Criterion) {
    let temp = corpus();
    let root = Utf8Path::from_path(temp.path()).expect("a UTF-8 path");
    let corpus = Corpus::open(root).expect("a corpus");
    let selection = Selection {
        harnesses: vec!["claude".to_owned()],
        profiles: vec!["all".to_owned()],
        languages: Vec::new(),
    };
    let slice = corpus.slice(&selection, Compat::Proctor).expect("a slice");
    let fresh = || tempfile::tempdir().expect("a temporary directory");
    let at = |temp: &tempfile::TempDir| {
        Utf8Path::from_path(temp.path()).expect("a UTF-8 path").to_owned()
    };
    let mut group = criterion.benchmark_group("fresh");
    group.sample_size(50);
    group.bench_function("copy", |bencher| {
        bencher.iter_batched_ref(fresh, |temp| copy(&slice, &at(temp)), BatchSize::PerIteration);
    });
    group.bench_function("install", |bencher| {
        bencher.iter_batched_ref(
            fresh,
            |temp| slice.install_fresh(&at(temp)).expect("an installation"),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("slice", |bencher| {
        bencher.iter(|| corpus.slice(&selection, Compat::Proctor).expect("a slice"));
    });
    group.finish();
}

criterion_group!(benches, install);
criterion_main!(benches);
