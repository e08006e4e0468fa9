//! Queries against a thousand skills.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proctor_retrieval::{Document, Index};

/// 100 to 140 words a description out of 5,000, the low numbers more often.
fn documents(count: u64) -> Vec<Document> {
    let mut state = 1_u64;
    let mut next = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut documents = Vec::new();
    for number in 0..count {
        let words: Vec<String> = (0..100 + next(40))
            .map(|_| {
                let ceiling = 1 + next(5_000);
                format!("word{}", next(ceiling))
            })
            .collect();
        let id = format!("skill-{number}");
        let name = id.clone();
        documents.push(Document { id, name, description: words.join(" "), ..Document::default() });
    }
    documents
}

fn benches(criterion: &mut Criterion) {
    let documents = documents(1_000);
    let index = Index::new(documents.clone());
    let queries: Vec<&str> = documents
        .iter()
        .map(|document| document.description.get(..80).unwrap_or_default())
        .collect();
    criterion.bench_function("index 1,000 skills", |bencher| {
        bencher.iter(|| Index::new(black_box(documents.clone())));
    });
    criterion.bench_function("1,000 queries, all hits", |bencher| {
        bencher.iter(|| queries.iter().map(|query| index.search(query).len()).sum::<usize>());
    });
    criterion.bench_function("1,000 queries, the first 10", |bencher| {
        bencher.iter(|| queries.iter().map(|query| index.top(query, 10).hits.len()).sum::<usize>());
    });
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(20);
    targets = benches
}
criterion_main!(all);
