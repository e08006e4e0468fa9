//! Planning, digesting and linting 500 skills with 5,000 cases: the goal is less than 500 ms.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;

use camino::Utf8Path;
use criterion::{Criterion, criterion_group, criterion_main};
use proctor_formats::eval::{EvalSettings, Recorded, find, inspect, lint};
use proctor_model::eval::ExpandedCase;

/// A case file of ten cases, about 8 KB.
fn case_file(skill: usize) -> String {
    let mut text = "schema_version: 1\ncases:\n".to_owned();
    for case in 0..10 {
        write!(
            text,
            r#"  - id: deploy-{case}
    description: The plain request fires the skill and names the cluster
    prompt: Deploy service {skill}-{case} to staging, and say which cluster it went to.
    expect_trigger: true
    near_miss:
      - Explain how our staging and production environments differ
      - Roll back the last production deploy
    files:
      - path: services/billing/config.yaml
        content: "env: staging"
      - path: notes.txt
        source: fixtures/notes.txt
    assertions:
      - type: contains
        value: staging-eu
      - type: not_contains
        value: production
      - type: regex
        value: 'deployed \d+ services?'
      - type: file_exists
        path: deploy.log
    rubric: The answer names the staging cluster and the rollout command it ran.
    tags: [smoke, deploy]
"#
        )
        .unwrap();
    }
    text
}

fn eval(criterion: &mut Criterion) {
    let root = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(root.path()).unwrap();
    for skill in 0..500 {
        let folder = root.join(format!(".ai-rulez/skills/skill-{skill:03}"));
        fs::create_dir_all(folder.join("evals/fixtures")).unwrap();
        fs::create_dir_all(folder.join("references")).unwrap();
        let text = format!("---\nname: skill-{skill:03}\ndescription: Deploys\n---\n# Deploy\n");
        fs::write(folder.join("SKILL.md"), text + &"Some guidance.\n".repeat(100)).unwrap();
        fs::write(folder.join("references/a.md"), "More of it.\n".repeat(200)).unwrap();
        fs::write(folder.join("evals/deploy.eval.yaml"), case_file(skill)).unwrap();
        fs::write(folder.join("evals/fixtures/notes.txt"), "Notes.\n".repeat(20)).unwrap();
    }
    let mut settings = EvalSettings { require: true, ..EvalSettings::default() };
    settings.min_pass_rate = Some(0.8);
    let run = || {
        let project = find(black_box(root), None).unwrap();
        let skills: Vec<_> = project.skills.iter().collect();
        let inspected = inspect(&project, &skills);
        let expanded: Vec<ExpandedCase> =
            inspected.iter().flat_map(|skill| skill.loaded.expanded()).collect();
        assert!(inspected.iter().all(|skill| skill.lock_digest.is_ok() && skill.digest.is_ok()));
        (expanded.len(), lint(&project, &inspected, Recorded::Records(&[]), &settings).len())
    };
    assert_eq!(run(), (15_000, 0));
    criterion.bench_function("inspect and lint 500 skills with 5,000 cases", |bencher| {
        bencher.iter(run);
    });
}

criterion_group!(benches, eval);
criterion_main!(benches);
