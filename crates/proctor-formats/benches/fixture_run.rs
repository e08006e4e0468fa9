//! Reading a recorded run of 1 KB, beside `serde_json` on the same bytes: the goal is at least half
//! its speed, with everything that a report needs.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use proctor_formats::fixture_run::{ActualSource, Document};

/// A run of three checks and about 1 KB.
fn run() -> String {
    let mut memory = String::new();
    for month in 1..=8 {
        let comma = if month > 1 { "," } else { "" };
        write!(
            memory,
            r#"{comma} {{"t": "2026-0{month}-11", "fact": "the user moved to city number {month}"}}"#
        )
        .unwrap();
    }
    format!(
        r#"{{"contractVersion": "1", "fixture": {{"id": "forgetting-positive-current-city", "category": "forgetting", "kind": "positive", "query": "What city does the user currently live in?", "memory": [{memory}], "expected": {{"mustContain": ["Lisbon"], "mustNotContain": ["Berlin", "Porto"], "attributedTo": "the user"}}}}, "actual": {{"answer": "The user moved a few times and now lives in Lisbon, near the river.", "entity": "The User"}}}}"#
    )
}

fn read(criterion: &mut Criterion) {
    let text = run();
    let mut group = criterion.benchmark_group("a recorded run");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("serde_json alone", |bencher| {
        bencher.iter(|| serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap());
    });
    group.bench_function("parsed", |bencher| {
        bencher.iter(|| Document::parse(black_box(text.as_bytes())).unwrap());
    });
    group.bench_function("parsed, held against the contract, digested", |bencher| {
        let mut room = Vec::new();
        bencher.iter(|| {
            let document = Document::parse(black_box(text.as_bytes())).unwrap();
            black_box(document.run(ActualSource::Envelope).unwrap());
            document.digest(&mut room)
        });
    });
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
