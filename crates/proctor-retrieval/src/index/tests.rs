use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn document(name: &str, description: &str) -> Document {
    let (name, description) = (name.to_owned(), description.to_owned());
    Document { id: format!("id-{name}"), name, description, ..Document::default() }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn sample() -> Index {
    let deploy = Document {
        triggers: texts(&["ship it", "roll back the release"]),
        keywords: texts(&["kubernetes", "rollout"]),
        ..document("deploy-service", "Deploys a service to staging or production.")
    };
    let tests = Document {
        keywords: texts(&["pytest", "coverage"]),
        ..document(
            "write-tests",
            "Writing and running tests; also caching of test results between releases.",
        )
    };
    let notes = document(
        "release-notes",
        "Summarises what changed since the last release for the people who use the service.",
    );
    Index::new([deploy, tests, notes, document("überblick", "Zeigt 東京 und Straßen.")])
}

fn found(index: &Index, query: &str) -> Vec<(String, f64)> {
    index.search(query).iter().map(|hit| (hit.document.name.clone(), hit.score)).collect()
}

#[test]
fn scores_are_those_of_an_implementation_elsewhere() {
    let index = sample();
    for (query, expected) in [
        (
            "roll out the release to production",
            &[
                ("deploy-service", 3.086_152),
                ("release-notes", 0.611_748),
                ("write-tests", 0.333_581),
            ][..],
        ),
        ("How should I use the tests?", &[("write-tests", 2.084_865)]),
        ("service", &[("deploy-service", 1.083_575), ("release-notes", 0.715_668)]),
        ("STRASSE straßen 東京", &[("überblick", 3.138_89)]),
        (
            "caching releases services",
            &[
                ("deploy-service", 1.558_655),
                ("write-tests", 1.459_599),
                ("release-notes", 1.327_417),
            ],
        ),
        ("the of to", &[]),
        ("unknown", &[]),
        ("", &[]),
    ] {
        let expected: Vec<_> =
            expected.iter().map(|(name, score)| ((*name).to_owned(), *score)).collect();
        assert_eq!(found(&index, query), expected, "{query}");
    }
}

#[test]
fn equal_scores_stand_by_name_and_then_as_given() {
    let index = Index::new([
        Document { id: "second".to_owned(), ..document("b", "deploy") },
        Document { id: "third".to_owned(), ..document("b", "deploy") },
        Document { id: "fourth".to_owned(), ..document("é", "deploy") },
        Document { id: "first".to_owned(), ..document("B", "deploy") },
    ]);
    let hits = index.search("deploy");
    let ids: Vec<_> = hits.iter().map(|hit| hit.document.id.as_str()).collect();
    assert_eq!(ids, ["first", "second", "third", "fourth"]);
}

#[test]
fn there_may_be_nothing_to_search() {
    assert!(Index::new([]).search("deploy").is_empty());
    let silent = Index::new([document("", ""), document("the", "of it")]);
    assert!(silent.search("deploy the of it").is_empty());
}

#[test]
fn one_document_is_found_by_each_of_its_terms() {
    let index = Index::new([document("deploy", "staging")]);
    // ln(1 + 0.5 / 1.5), with 3 mentions in a document of average length.
    assert_eq!(found(&index, "deploy"), [("deploy".to_owned(), 0.452_072)]);
    assert_eq!(found(&index, "staging"), [("deploy".to_owned(), 0.287_682)]);
}

#[test]
fn a_term_counts_once_however_often_it_is_asked_for() {
    let index = sample();
    assert_eq!(found(&index, "service"), found(&index, "Services service SERVICE"));
}

#[test]
fn matches_name_the_words_of_the_query() {
    let index = sample();
    let query = "Releases and the sailing release; services, pipelines";
    let hits = index.search(query);
    let matches = index.matches(query, &hits).remove(0);
    let shown: Vec<_> = matches.iter().map(|m| (m.word.as_str(), m.term.as_str())).collect();
    assert_eq!(hits[0].document.name, "deploy-service");
    assert_eq!(shown, [("releases", "releas"), ("services", "servic")]);
    let sum: f64 = matches.iter().map(|m| m.score).sum();
    assert!((sum - hits[0].score).abs() < 1e-6);
}

#[test]
fn a_huge_text_is_read_in_one_go() {
    let words: Vec<String> = (0..50_000).map(|number| format!("w{number}")).collect();
    let text = words.join(" ");
    let index = Index::new([document("huge", &text), document("long", &"x".repeat(1 << 20))]);
    let hits = index.search(&text);
    assert_eq!(hits.len(), 1);
    assert_eq!(index.matches(&text, &hits)[0].len(), words.len());
}

/// The formula as it is written, over every document and without an index.
fn naive(documents: &[Document], query: &str) -> Vec<(String, f64)> {
    let mentions = |document: &Document| {
        let mut mentions: BTreeMap<String, f64> = BTreeMap::new();
        for (text, weight) in [
            (&document.name, 3.0),
            (&document.triggers.join(" "), 2.5),
            (&document.keywords.join(" "), 2.0),
            (&document.description, 1.0),
        ] {
            tokens(text).for_each(|term| *mentions.entry(term).or_default() += weight);
        }
        mentions
    };
    let all: Vec<_> = documents.iter().map(mentions).collect();
    let length = |mentions: &BTreeMap<String, f64>| mentions.values().sum::<f64>();
    let n = float(documents.len());
    let average = all.iter().map(length).sum::<f64>() / n;
    let mut terms: Vec<String> = Vec::new();
    for term in tokens(query) {
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    let mut found: Vec<(&Document, f64)> = Vec::new();
    for (document, mentions) in documents.iter().zip(&all) {
        let mut score = 0.0;
        for (term, tf) in terms.iter().filter_map(|term| Some((term, mentions.get(term)?))) {
            let df = float(all.iter().filter(|mentions| mentions.contains_key(term)).count());
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            let norm = 1.2 * (1.0 - 0.75 + 0.75 * length(mentions) / average);
            score += idf * tf * (1.2 + 1.0) / (tf + norm);
        }
        let score = (score * 1e6).round() / 1e6;
        if score > 0.0 {
            found.push((document, score));
        }
    }
    found.sort_by(|(a, a_score), (b, b_score)| {
        b_score.total_cmp(a_score).then_with(|| a.name.as_bytes().cmp(b.name.as_bytes()))
    });
    found.into_iter().map(|(document, score)| (document.id.clone(), score)).collect()
}

/// Few words, so that documents and queries meet.
fn text(words: usize) -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "deploy",
        "deploys",
        "Deploying",
        "the",
        "how",
        "test",
        "tests",
        "tested",
        "é",
        "ÉTÉS",
        "queries",
        "query",
        "access",
        "42",
        "東京",
        "-",
        "pipelines",
        "İ",
    ]);
    prop::collection::vec(word, 0..=words).prop_map(|words| words.join(" "))
}

fn any_document() -> impl Strategy<Value = Document> {
    let phrases = || prop::collection::vec(text(3), 0..3);
    (text(2), text(12), phrases(), phrases()).prop_map(|(name, description, triggers, keywords)| {
        Document { id: String::new(), name, description, triggers, keywords }
    })
}

proptest! {
    #[test]
    fn the_index_ranks_as_the_formula(
        mut documents in prop::collection::vec(any_document(), 0..12),
        query in text(8),
        limit in 0_usize..8,
    ) {
        for (number, document) in documents.iter_mut().enumerate() {
            document.id = number.to_string();
        }
        let index = Index::new(documents.clone());
        let hits = index.search(&query);
        let ranked: Vec<_> =
            hits.iter().map(|hit| (hit.document.id.clone(), hit.score)).collect();
        prop_assert_eq!(&ranked, &naive(&documents, &query));
        let top = index.top(&query, limit);
        prop_assert_eq!(top.found, hits.len());
        prop_assert_eq!(&top.hits[..], &hits[..limit.min(hits.len())]);
        for (hit, matches) in hits.iter().zip(index.matches(&query, &hits)) {
            let sum: f64 = matches.iter().map(|m| m.score).sum();
            prop_assert!((sum - hit.score).abs() <= 1e-6);
        }
    }
}
