//! Finding, reading and checking 1,000 fixtures: the goal is less than 200 ms.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;

use camino::Utf8Path;
use criterion::{Criterion, criterion_group, criterion_main};
use proctor_formats::conformance::discover;

/// A fixture of ten checks, about 1.5 KB.
fn fixture(name: &str) -> String {
    let mut checks = String::new();
    for number in 0..9 {
        writeln!(
            checks,
            r#"    {{"type": "file_matches", "glob": "src/**/part-{number}/*.cs", "pattern": "^ready {number}$"}},"#
        )
        .unwrap();
    }
    format!(
        r#"{{
  "name": "{name}",
  "description": "A fixture of the size that people write",
  "prompt": "Create the parts that the guidance asks for, and nothing else. Say when you are done.",
  "profiles": ["cratis/application/csharp"],
  "languages": ["csharp", "typescript"],
  "harnesses": ["claude", "codex"],
  "expected_instruction_paths": [".cratis/ai/rules/general.md"],
  "checks": [
{checks}    {{"type": "command", "run": ["dotnet", "build", "--nologo"], "exit_code": 0, "optional": true}}
  ],
  "bounds": {{"timeout_seconds": 120, "max_budget_usd": 0.5, "max_turns": 5}}
}}
"#
    )
}

fn load(criterion: &mut Criterion) {
    let root = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(root.path()).unwrap();
    for number in 0..1000 {
        let name = format!("fixture-{number:04}");
        fs::create_dir_all(root.join(&name).join("input")).unwrap();
        fs::write(root.join(&name).join("fixture.json"), fixture(&name)).unwrap();
    }
    let found = discover(root).unwrap();
    assert_eq!(found.fixtures.iter().filter(|entry| entry.parsed.fixture.is_some()).count(), 1000);
    criterion.bench_function("load 1,000 fixtures", |bencher| {
        bencher.iter(|| discover(black_box(root)).unwrap());
    });
}

criterion_group!(benches, load);
criterion_main!(benches);
