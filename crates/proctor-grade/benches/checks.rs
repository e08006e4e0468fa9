//! Ten checks over a workspace of a thousand files.

use std::fs;

use camino::Utf8PathBuf;
use criterion::{Criterion, criterion_group, criterion_main};
use proctor_grade::{Workspace, evaluate};
use proctor_model::CheckStatus;
use proctor_model::conformance::fixture::{Check, CheckKind, Phase, Target};

fn benches(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = Utf8PathBuf::from_path_buf(folder.path().to_owned()).expect("a path in UTF-8");
    for number in 0..1_000 {
        let directory = root.join(format!("d{}/e{}", number % 10, number % 7));
        fs::create_dir_all(&directory).expect("a directory");
        let line = format!("public sealed record Event{number}(string Name, int Count);\n");
        fs::write(directory.join(format!("f{number}.cs")), line.repeat(40)).expect("a file");
    }
    let glob = |text: &str| Target::Glob(text.to_owned());
    let checks: Vec<Check> = [
        CheckKind::FileExists(glob("**/*.cs")),
        CheckKind::FileExists(Target::Path("d3/e3/f3.cs".to_owned())),
        CheckKind::FileAbsent(glob("**/*.tmp")),
        CheckKind::FileAbsent(Target::Path("d3/none".to_owned())),
        CheckKind::FileMatches(glob("**/*.cs"), r"\brecord\s+Event\d+".to_owned()),
        CheckKind::FileMatches(glob("d1/**"), "(?m)^public sealed".to_owned()),
        CheckKind::FileNotMatches(glob("**/*.cs"), "(?i)todo|fixme".to_owned()),
        CheckKind::FileNotMatches(glob("**/*.cs"), r"\s+$(?<!\n)".to_owned()),
        CheckKind::FileNotMatches(glob("**/f*.cs"), r"(\w+)\s+\1\b".to_owned()),
        CheckKind::FileNotMatches(glob("**/*.cs"), ".*never.*here".to_owned()),
    ]
    .into_iter()
    .map(|kind| Check { phase: Phase::Result, optional: false, kind })
    .collect();
    let workspace = Workspace::new(&root);
    criterion.bench_function("1,000 files x 10 checks", |bencher| {
        bencher.iter(|| {
            for check in &checks {
                let result = evaluate(check, &workspace);
                assert_eq!(result.status, CheckStatus::Passed, "{check:?}: {}", result.message);
            }
        });
    });
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(20);
    targets = benches
}
criterion_main!(all);
