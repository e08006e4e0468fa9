//! Speed of redaction on what transcripts are made of, and on what they should not be made of.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use proctor_redact::Redactor;

fn benches(criterion: &mut Criterion) {
    let secrets = (0..30).map(|number| format!("secret-value-number-{number:04}"));
    let redactor = Redactor::new(secrets);
    let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"A line\nand another with \"quotes\" and 100% of secret-value-number-0007"}]}}"#;
    let mut group = criterion.benchmark_group("redact");
    for (name, unit) in
        [("json lines", format!("{line}\n")), ("hostile", "%5cu0061-ghp_".to_owned())]
    {
        let text = unit.repeat(1_000_000 / unit.len());
        group.throughput(Throughput::Bytes(text.len() as u64));
        group
            .bench_function(name, |bencher| bencher.iter(|| redactor.text(black_box(&text)).len()));
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
