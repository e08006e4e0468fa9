//! The matrix, its ids and fingerprints.

use std::collections::BTreeSet;

use proctor_formats::experiment::{Selection, resolve, select};
use proctor_model::Digest;
use proctor_model::experiment::document::{Contents, document};
use proctor_model::experiment::{Axes, Experiment, Extension, drives};
use proctor_model::json::canonical;
use proptest::prelude::*;

use super::{AXES, experiment, ids, reading, variants, with};

#[test]
fn ids_are_those_of_the_reference() {
    // The shape of an experiment whose top level has prompts only.
    let text = with(
        "prompts:
  - {id: mongodb, prompt: Use it.}
  - {id: sqlite, prompt: Use it.}
extensions:
  - id: codex-luna
    agents: codex
    models: [gpt-5.6-luna]
  - id: cursor-grok
    agents: [cursor]
    models: [{name: grok-4.5}]
  - id: claude-sonnet
    agents: [{name: claude}]
    models: [claude-sonnet-5]
    environments: [{name: docker-host, setup: ':'}]",
    );
    assert_eq!(
        ids(&text),
        [
            "codex::openai-gpt-5.6-luna::mongodb::codex-luna",
            "codex::openai-gpt-5.6-luna::sqlite::codex-luna",
            "cursor::xai-grok-4.5::mongodb::cursor-grok",
            "cursor::xai-grok-4.5::sqlite::cursor-grok",
            "claude::anthropic-claude-sonnet-5::mongodb::docker-host::claude-sonnet",
            "claude::anthropic-claude-sonnet-5::sqlite::docker-host::claude-sonnet",
        ]
    );
}

#[test]
fn impossible_pairs_vanish_and_unknown_ones_stay() {
    let text = with(
        "agents: [claude, codex, cursor, {name: claude, model: o3}]
models: [claude-sonnet-5, gpt-5.6, o4]
prompts: [{id: p, prompt: x}]",
    );
    assert_eq!(
        ids(&text),
        [
            "claude::anthropic-claude-sonnet-5::p",
            "claude::o4::p",
            "codex::openai-gpt-5.6::p",
            "codex::o4::p",
            "cursor::anthropic-claude-sonnet-5::p",
            "cursor::openai-gpt-5.6::p",
            "cursor::o4::p",
            "claude::o3::p",
        ]
    );
}

#[test]
fn extensions_replace_axis_by_axis_and_templates_yield_nothing() {
    let text = with(
        "agents: claude
prompts: [{id: p, prompt: x}]
products: [{name: a}, {name: b}]
extensions:
  - id: outer
    products: [{name: c}]
    extensions:
      - id: inner
        prompts: [{id: q, prompt: y}]
      - id: plain
  - id: last",
    );
    assert_eq!(
        ids(&text),
        [
            "claude::q::c::outer/inner",
            "claude::p::c::outer/plain",
            "claude::p::a::last",
            "claude::p::b::last",
        ]
    );
}

#[test]
fn variables_of_a_variant_are_merged_by_name() {
    let text = with(
        "agents: claude
prompts: [x]
environment_variables: [{name: B, value: top}, {name: A, value: top}]
environments:
  - {name: e, setup: {environment_variables: [{name: B, value: environment}]}}
products:
  - {name: p, setup: {environment_variables: [{name: B, value: axp://secrets/b}]}}
  - {name: q}",
    );
    let of = |index: usize| -> Vec<String> {
        let variants = variants(&text);
        let variables = variants[index].variables.iter();
        variables.map(|one| format!("{}={}", one.name, one.value.as_written())).collect()
    };
    assert_eq!(of(0), ["A=top", "B=axp://secrets/b"]);
    assert_eq!(of(1), ["A=top", "B=environment"]);
}

#[test]
fn fingerprints_follow_the_document_and_change_with_what_counts() {
    let text = with(
        "agents: [{name: claude, model: {name: claude-a, thinking: true}}]
prompts: [{id: p, prompt: \"a\\u00e9\\u0001\"}]
environments: [{name: e, setup: {script: ':', files: [{name: f, source: f, dest: f}]}}]
products:
  - name: p
    setup:
      skills: [{name: s, source: s}]
      environment_variables: [{name: A, value: b}]
      mcp_servers:
        - {name: m, type: stdio, command: c, args: [a], env: [{name: B, from: A}]}
        - {name: n, type: http, url: 'https://x', headers: [{name: A, value: axp://secrets/s}]}
extensions: [{id: a, extensions: [{id: b}]}]",
    );
    let one = experiment(&text);
    let known = Contents([("f".into(), Digest::of(b"f"))].into());
    for contents in [Contents::default(), known.clone()] {
        for variant in resolve(&one, &contents) {
            let mut bytes = Vec::new();
            canonical(&document(&one, &variant, &contents), &mut bytes);
            assert_eq!(variant.fingerprint, format!("sha256:{}", Digest::of(&bytes)));
        }
    }
    let of = |text: &str, contents: &Contents| -> String {
        resolve(&experiment(text), contents)[0].fingerprint.clone()
    };
    let none = Contents::default();
    let base = of(&text, &none);
    let changes = [
        ("script: ':'", "script: 'true'"),
        ("command: c", "command: d"),
        ("thinking: true", "thinking: false"),
        ("axp://secrets/s", "axp://secrets/t"),
        ("source: s", "source: t"),
        ("test -f /workspace/a", "test -f /workspace/b"),
        ("max_time_seconds: 60", "max_time_seconds: 61"),
        ("dest: f", "dest: g"),
    ];
    let mut seen: BTreeSet<String> = [base.clone(), of(&text, &known)].into();
    for (from, to) in changes {
        let changed = text.replace(from, to);
        // The path of a source does not count, only its content.
        let is_new = seen.insert(of(&changed, &none));
        assert_eq!(is_new, from != "source: s", "{from}");
    }
    for (from, to) in [
        ("name: X", "name: Y"),
        ("id: x", "id: y"),
        ("name: e, setup", "name: e, tags: [a], setup"),
    ] {
        assert_eq!(of(&text.replace(from, to), &none), base, "{from}");
    }
}

#[test]
fn selections() {
    let text = with(
        "agents: [claude, codex]
models: [claude-a, gpt-b]
prompts: [{id: cold, prompt: x}, {id: warm, prompt: y}]
products: [{name: docs}, {name: mcp}]",
    );
    let chosen = |selection: Selection| -> Result<Vec<String>, String> {
        let chosen = select(variants(&text), &selection).map_err(|error| error.to_string())?;
        Ok(chosen.into_iter().map(|variant| variant.id.to_string()).collect())
    };
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(|w| (*w).to_owned()).collect() };
    assert_eq!(chosen(Selection::default()).unwrap().len(), 8);
    let narrow = Selection {
        models: words(&["openai-gpt-b", "claude-a"]),
        prompts: words(&["cold"]),
        products: words(&["mcp"]),
        ..Selection::default()
    };
    assert_eq!(
        chosen(narrow).unwrap(),
        ["claude::anthropic-claude-a::cold::mcp", "codex::openai-gpt-b::cold::mcp"]
    );
    let one = Selection {
        variants: words(&[
            "codex::openai-gpt-b::warm::docs",
            "claude::anthropic-claude-a::warm::docs",
        ]),
        ..Selection::default()
    };
    assert_eq!(chosen(one).unwrap().len(), 2);
    let stranger = Selection { prompts: words(&["colt"]), ..Selection::default() };
    assert_eq!(
        chosen(stranger).unwrap_err(),
        "no variant has the prompt `colt`; did you mean `cold`?"
    );
    let none = Selection { environments: words(&["x"]), ..Selection::default() };
    assert_eq!(chosen(none).unwrap_err(), "no variant has the environment `x`; none has any");
    let apart =
        Selection { agents: words(&["claude"]), models: words(&["gpt-b"]), ..Selection::default() };
    assert_eq!(
        chosen(apart).unwrap_err(),
        "no variant has all of that; list them with `proctor experiment variants`"
    );
}

/// The oracle: the rules of the format, word for word, over strings.
fn naive(experiment: &Experiment) -> Vec<String> {
    fn level(own: &Axes, above: [Option<Vec<String>>; 5]) -> ([Option<Vec<String>>; 5], bool) {
        let [agents, models, prompts, environments, products] = above;
        let names = |text: &str| text.to_owned();
        let agents = own
            .agents
            .as_ref()
            .map(|all| {
                all.iter()
                    .map(|one| match &one.model {
                        Some(model) => {
                            let effort = model.effort.iter().map(|effort| format!("\t{effort}"));
                            format!("{}\t{}{}", one.name, model.name, effort.collect::<String>())
                        }
                        None => one.name.to_string(),
                    })
                    .collect()
            })
            .or(agents);
        let models = own
            .models
            .as_ref()
            .map(|all| {
                all.iter()
                    .map(|one| match &one.effort {
                        Some(effort) => format!("{}\t{effort}", one.name),
                        None => one.name.clone(),
                    })
                    .collect()
            })
            .or(models);
        let prompts = own
            .prompts
            .as_ref()
            .map(|all| all.iter().map(|one| names(one.id.as_str())).collect())
            .or(prompts);
        let environments = own
            .environments
            .as_ref()
            .map(|all| all.iter().map(|one| names(one.name.as_str())).collect())
            .or(environments);
        let products = own
            .products
            .as_ref()
            .map(|all| all.iter().map(|one| names(one.name.as_str())).collect())
            .or(products);
        ([agents, models, prompts, environments, products], true)
    }
    fn provider(model: &str) -> String {
        match model.split('-').next() {
            Some("claude") => format!("anthropic-{model}"),
            Some("gpt") => format!("openai-{model}"),
            Some("grok") => format!("xai-{model}"),
            _ => model.to_owned(),
        }
    }
    fn leaf(axes: &[Option<Vec<String>>; 5], path: &str, ids: &mut Vec<String>) {
        let optional = |axis: &Option<Vec<String>>| match axis {
            Some(all) => all.iter().cloned().map(Some).collect(),
            None => vec![None],
        };
        for agent in axes[0].clone().unwrap_or_default() {
            let models = match agent.split_once('\t') {
                Some((_, model)) => vec![Some(model.to_owned())],
                None => optional(&axes[1]),
            };
            let agent = agent.split('\t').next().unwrap().to_owned();
            for model in models {
                let bare = model.as_ref().map(|model| model.split('\t').next().unwrap().to_owned());
                if bare.is_some_and(|model| !drives(&agent.parse().unwrap(), &model)) {
                    continue;
                }
                for prompt in axes[2].clone().unwrap_or_default() {
                    for environment in optional(&axes[3]) {
                        for product in optional(&axes[4]) {
                            let mut parts = vec![agent.clone()];
                            if let Some(model) = &model {
                                let mut pieces = model.split('\t');
                                parts.push(provider(pieces.next().unwrap()));
                                parts.extend(pieces.map(str::to_owned));
                            }
                            parts.push(prompt.clone());
                            parts.extend(environment.clone());
                            parts.extend(product.clone());
                            if !path.is_empty() {
                                parts.push(path.to_owned());
                            }
                            ids.push(parts.join("::"));
                        }
                    }
                }
            }
        }
    }
    fn below(
        extensions: &[Extension],
        above: &[Option<Vec<String>>; 5],
        path: &str,
        ids: &mut Vec<String>,
    ) {
        for extension in extensions {
            let (axes, _) = level(&extension.axes, above.clone());
            let path = if path.is_empty() {
                extension.id.to_string()
            } else {
                format!("{path}/{}", extension.id)
            };
            if extension.extensions.is_empty() {
                leaf(&axes, &path, ids);
            } else {
                below(&extension.extensions, &axes, &path, ids);
            }
        }
    }
    let (top, _) = level(&experiment.axes, [None, None, None, None, None]);
    let mut ids = Vec::new();
    if experiment.extensions.is_empty() {
        leaf(&top, "", &mut ids);
    } else {
        below(&experiment.extensions, &top, "", &mut ids);
    }
    ids
}

/// A few of the words, in their order.
fn some(words: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    let list = proptest::sample::subsequence(words, 1..=words.len());
    proptest::option::weighted(0.6, list.prop_map(|words| format!("[{}]", words.join(", "))))
}

fn axes() -> impl Strategy<Value = String> {
    let agents = some(&[
        "claude",
        "codex",
        "cursor",
        "{name: claude, model: claude-x}",
        "{name: codex, model: {name: gpt-y, effort: low}}",
    ]);
    let models =
        some(&["claude-sonnet-5", "gpt-5.6", "{name: gpt-5.6, effort: high}", "grok-4.5", "o3"]);
    let prompts = some(&["{id: cold, prompt: x}", "{id: warm, prompt: y}"]);
    let environments = some(&["{name: blank}", "{name: docker host}"]);
    let products = some(&["{name: docs}", "{name: mcp}"]);
    (agents, models, prompts, environments, products).prop_map(|(a, m, p, e, q)| {
        let keys =
            [("agents", a), ("models", m), ("prompts", p), ("environments", e), ("products", q)];
        let present =
            keys.into_iter().filter_map(|(key, list)| Some(format!("{key}: {}, ", list?)));
        present.collect()
    })
}

fn extensions(depth: u32) -> BoxedStrategy<String> {
    let inner = if depth == 0 { Just(String::new()).boxed() } else { extensions(depth - 1) };
    let one = (axes(), inner);
    proptest::collection::vec(one, 0..3)
        .prop_map(|all| {
            if all.is_empty() {
                return String::new();
            }
            let items: Vec<String> = all
                .into_iter()
                .enumerate()
                .map(|(n, (axes, inner))| format!("{{id: e{n}, {axes}{inner}}}"))
                .collect();
            format!("extensions: [{}], ", items.join(", "))
        })
        .boxed()
}

proptest! {
    #[test]
    fn variants_are_those_of_the_naive_resolver(axes in axes(), extensions in extensions(2)) {
        let text = format!(
            "{{schema_version: 2, id: x, name: X, {axes}{extensions}\
             tests: [{{name: t, script: test -f a}}], limits: {{max_time_seconds: 1}}}}"
        );
        let reading = reading(&text);
        if let Some(experiment) = reading.experiment {
            let ids: Vec<String> = resolve(&experiment, &Contents::default())
                .iter()
                .map(|variant| variant.id.to_string())
                .collect();
            prop_assert!(!ids.is_empty());
            prop_assert_eq!(ids, naive(&experiment));
        } else {
            // Whatever is refused has no agent, no prompt, no variant, or one twice.
            let known = ["incomplete-variant", "no-variants", "duplicate-variant"];
            prop_assert!(reading.findings.iter().any(|one| known.contains(&one.code.code())), "{:#?}", reading.findings);
        }
    }

    #[test]
    fn the_reader_ends_with_a_word_whatever_the_text(text in "(?s).{0,400}") {
        let reading = reading(&text);
        prop_assert!(reading.experiment.is_some() || !reading.findings.is_empty());
    }
}

#[test]
fn a_file_with_axes_is_right() {
    assert_eq!(ids(&with(AXES)), ["claude::prompt-1"]);
}
