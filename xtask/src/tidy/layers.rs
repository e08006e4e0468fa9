//! Which crate may depend on which: the table of `ARCHITECTURE.md`.

use super::metadata::Metadata;

/// A crate and the crates of this workspace on which it may depend, but for its tests.
///
/// An arrow is added here and in `ARCHITECTURE.md` together, with a reason.
const LAYERS: [(&str, &[&str]); 21] = [
    ("proctor-model", &[]),
    ("proctor-redact", &["proctor-model"]),
    ("proctor-retrieval", &[]),
    ("proctor-acp", BASE),
    // The tables and the rows are those of `query`.
    ("proctor-clickhouse", &["proctor-model", "proctor-redact", "proctor-query"]),
    ("proctor-corpus", BASE),
    ("proctor-formats", BASE),
    ("proctor-grade", BASE),
    ("proctor-harness", BASE),
    ("proctor-llm", BASE),
    ("proctor-query", BASE),
    ("proctor-report", BASE),
    ("proctor-sandbox", BASE),
    ("proctor-scripted", BASE),
    ("proctor-store", &["proctor-model", "proctor-redact", "proctor-formats", "proctor-query"]),
    (
        "proctor-exchange",
        &["proctor-model", "proctor-redact", "proctor-formats", "proctor-harness", "proctor-query"],
    ),
    (
        "proctor-runner",
        &[
            "proctor-model",
            "proctor-redact",
            "proctor-corpus",
            "proctor-formats",
            "proctor-grade",
            "proctor-harness",
            "proctor-llm",
            "proctor-retrieval",
            "proctor-query",
            "proctor-sandbox",
            "proctor-scripted",
        ],
    ),
    (
        "proctor-cli",
        &[
            "proctor-model",
            "proctor-redact",
            "proctor-acp",
            "proctor-clickhouse",
            "proctor-corpus",
            "proctor-exchange",
            "proctor-formats",
            "proctor-grade",
            "proctor-harness",
            "proctor-llm",
            "proctor-query",
            "proctor-report",
            "proctor-retrieval",
            "proctor-runner",
            "proctor-sandbox",
            "proctor-scripted",
            "proctor-store",
        ],
    ),
    // These never ship.
    ("proctor-testkit", &[]),
    ("xtask", &[]),
    (
        "xtask-codegen",
        &["proctor-cli", "proctor-exchange", "proctor-formats", "proctor-query", "proctor-report"],
    ),
];

const BASE: &[&str] = &["proctor-model", "proctor-redact"];

/// What may serve tests and developers and never reaches the program: it has no use for an
/// asynchronous runtime, and none for the tools of tests.
const NEVER_SHIPPED: [&str; 12] = [
    "agent-client-protocol",
    "assert_cmd",
    "axum",
    "criterion",
    "futures",
    "insta",
    "jsonschema",
    "proctor-testkit",
    "proptest",
    "tokio",
    "xtask",
    "xtask-codegen",
];

pub(super) fn check(metadata: &Metadata, breaches: &mut Vec<String>) {
    for package in metadata.members() {
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == package.name) else {
            breaches.push(format!("{}: the table of layers does not know it", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            let ours = LAYERS.iter().any(|(name, _)| *name == dependency.name);
            let for_tests = dependency.kind.as_deref() == Some("dev");
            if ours && !for_tests && !allowed.contains(&dependency.name.as_str()) {
                let (from, to) = (&package.name, &dependency.name);
                breaches.push(format!("{from} -> {to}: against the layers"));
            }
        }
    }
    for (name, asked_by) in metadata.shipped_with("proctor-cli") {
        if NEVER_SHIPPED.contains(&name) {
            breaches.push(format!("{name} ships with proctor-cli (through {asked_by})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_no_cycle() {
        let mut done: Vec<&str> = Vec::new();
        while done.len() < LAYERS.len() {
            let next = LAYERS.iter().find(|(name, needs)| {
                !done.contains(name) && needs.iter().all(|need| done.contains(need))
            });
            done.push(next.expect("a crate whose needs are met").0);
        }
    }
}
