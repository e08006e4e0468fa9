//! Reading and resolving an experiment of 10,000 variants: the goal is less than 300 ms.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proctor_formats::experiment::{read, resolve};
use proctor_model::experiment::document::Contents;

/// 2 agents x 5 models each x 10 prompts x 10 environments x 10 products, with scripts as long as
/// real ones: about 300 KB.
fn text() -> String {
    let mut text =
        "schema_version: 2\nid: large\nname: Large\nagents: [claude, codex]\nmodels:\n".to_owned();
    for model in 0..5 {
        write!(text, "  - claude-sonnet-{model}\n  - {{name: gpt-5.{model}, effort: medium}}\n")
            .unwrap();
    }
    text.push_str("prompts:\n");
    for prompt in 0..10 {
        write!(text, "  - id: prompt-{prompt}\n    tags: [\"ask:{prompt}\"]\n    prompt: |\n")
            .unwrap();
        for line in 0..20 {
            writeln!(text, "      Line {line}: connect, write one row, and say what you did.")
                .unwrap();
        }
    }
    for (axis, item) in [("environments", "environment"), ("products", "product")] {
        writeln!(text, "{axis}:").unwrap();
        for number in 0..10 {
            write!(
                text,
                "  - name: {item}-{number}\n    setup:\n      - name: prepare\n        script: |\n"
            )
            .unwrap();
            for line in 0..20 {
                writeln!(
                    text,
                    "          install --mode=0755 tool-{line} /usr/local/bin/tool-{line}"
                )
                .unwrap();
            }
            write!(
                text,
                "        environment_variables: [{{name: KEY_{number}, value: axp://secrets/key-{number}}}]\n\
                 \x20       files: [{{name: {item}, source: {item}, dest: {item}/{number}}}]\n"
            )
            .unwrap();
        }
    }
    text.push_str("tests:\n");
    for test in 0..15 {
        write!(text, "  - name: test-{test}\n    description: What must hold.\n    script: |\n")
            .unwrap();
        text.push_str("      set -euo pipefail\n      python3 - <<'PY'\n");
        for line in 0..150 {
            writeln!(
                text,
                "      value_{line} = json.load(open('/workspace/result.json'))['key_{line}']"
            )
            .unwrap();
        }
        text.push_str("      PY\n");
    }
    text.push_str("limits:\n  max_time_seconds: 300\n");
    text
}

fn experiment(criterion: &mut Criterion) {
    let text = text();
    let run = || {
        let reading = read("large.yaml".into(), black_box(text.as_bytes()));
        let experiment = reading.experiment.expect("the file is right");
        resolve(&experiment, &Contents::default()).len()
    };
    assert_eq!(run(), 10_000);
    criterion.bench_function("read and resolve an experiment of 10,000 variants", |bencher| {
        bencher.iter(run);
    });
}

criterion_group!(benches, experiment);
criterion_main!(benches);
