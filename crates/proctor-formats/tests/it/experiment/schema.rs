//! The JSON Schema and the reader agree.

use proctor_formats::experiment::schema;
use proctor_formats::tree::{Kind, Node, Problems, yaml};
use proctor_model::experiment::{Level, Rule};
use serde_json::Value;

use super::{AXES, reading, with};

fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        Kind::Number(written) => serde_json::from_str(written).unwrap(),
        Kind::String(text) => Value::String(text.clone()),
        Kind::Array(items) => items.iter().map(value).collect(),
        Kind::Object(members) => {
            Value::Object(members.iter().map(|m| (m.key.clone(), value(&m.value))).collect())
        }
    }
}

/// Whether the schema accepts the text, and whether the reader does, as far as a schema can tell.
fn both(validator: &jsonschema::Validator, text: &str) -> (bool, bool) {
    let mut problems = Problems::new("x".into());
    let root = yaml(text.as_bytes(), &mut problems).unwrap();
    let beyond = [
        Rule::DuplicateName,
        Rule::DuplicateVariant,
        Rule::IncompleteVariant,
        Rule::NoVariants,
        Rule::DestCollision,
        Rule::UndeclaredVariable,
        Rule::TooLarge,
    ];
    let refused = reading(text)
        .findings
        .iter()
        .any(|one| one.severity == Level::Error && !beyond.contains(&one.code));
    (validator.is_valid(&value(&root)), !refused)
}

#[test]
fn the_schema_and_the_reader_agree() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let rest = |rest: &str| with(&format!("{AXES}{rest}"));
    let setup = |setup: &str| rest(&format!("products: [{{name: p, setup: {setup}}}]"));
    let test = |test: &str| {
        rest("")
            .replace("  - name: t\n    script: test -f /workspace/a\n", &format!("  - {test}\n"))
    };
    let server = |server: &str| setup(&format!("{{mcp_servers: [{server}]}}"));
    let cases = [
        (true, rest("")),
        (true, rest("$schema: x\ndescription: d")),
        (false, rest("description: ' '")),
        (false, rest("unknown: 1")),
        (false, rest("").replace("version: 2", "version: 1")),
        (false, rest("").replace("id: x", "id: x_y")),
        (false, rest("").replace("name: X\n", "")),
        (false, rest("").replace("max_time_seconds: 60", "max_turns: 60")),
        (false, rest("").replace("max_time_seconds: 60", "max_time_seconds: 0")),
        (
            true,
            rest("").replace(
                "max_time_seconds: 60",
                "max_time_seconds: 1\n  max_cost_usd: 0.5\n  max_turns: 1",
            ),
        ),
        (false, rest("").replace("max_time_seconds: 60", "max_time_seconds: 1\n  max_cost_usd: 0")),
        (true, with("agents: [claude, {name: x, acp: [a, '']}]\nprompts: [x]")),
        (false, with("agents: [{name: x, acp: []}]\nprompts: [x]")),
        (false, with("agents: [{name: x, acp: [' ']}]\nprompts: [x]")),
        (false, with("agents: []\nprompts: [x]")),
        (false, with("agents: ../x\nprompts: [x]")),
        (false, with("agents: {name: claude, agent_mode: fast}\nprompts: [x]")),
        (
            true,
            with(
                "agents: {name: claude, agent_mode: plan, model: {name: m, effort: low, thinking: true, fast: true, context_window_size: 1}}\nprompts: [x]",
            ),
        ),
        (false, rest("models: [{name: 'a::b'}]")),
        (false, rest("models: [{name: a, context_window_size: 1.5}]")),
        (false, rest("models: a")),
        (true, rest("models: [a, {name: b, thinking: max}]")),
        (false, with("agents: claude\nprompts: x")),
        (false, with("agents: claude\nprompts: [{id: A, prompt: x}]")),
        (false, with("agents: claude\nprompts: [{id: a}]")),
        (true, with("agents: claude\nprompts: [{id: a, prompt: x, tags: [a], description: d}]")),
        (true, rest("environments: [{name: 'a b', setup: ':', commit: x, tags: []}]")),
        (false, rest("environments: [{name: a, type: x}]")),
        (false, rest("environments: [{setup: ':'}]")),
        (true, rest("products: [{name: p, type: Docs, version: '1'}]")),
        (false, rest("products: [{name: p, version: 1}]")),
        (true, rest("extensions: [{id: a, extensions: [{id: b, models: [m]}]}]")),
        (false, rest("extensions: [{id: a, files: []}]")),
        (true, setup("[]")),
        (true, setup("{}")),
        (false, setup("''")),
        (false, setup("[':']")),
        (
            true,
            setup(
                "[{name: a, script: ':', description: d, tags: [x], secrets: [A], setup_checks: [{name: c, script: x}]}]",
            ),
        ),
        (false, setup("{setup_checks: [{name: c}]}")),
        (true, setup("{skills: [{name: s, source: ../s}]}")),
        (false, setup("{skills: [{name: a/b, source: s}]}")),
        (false, setup("{skills: [{name: .., source: s}]}")),
        (true, server("{name: a, type: stdio, command: c, args: [''], env: [{name: A, from: B}]}")),
        (false, server("{name: a, type: stdio, command: c, url: 'https://x'}")),
        (false, server("{name: a, type: stdio, url: 'https://x'}")),
        (
            true,
            server(
                "{name: a, type: sse, url: 'https://x', headers: [{name: A, value: axp://secrets/a}]}",
            ),
        ),
        (
            false,
            server(
                "{name: a, type: http, url: 'https://x', headers: [{name: A, value: axp://secrets/a b}]}",
            ),
        ),
        (false, server("{name: a, type: http, url: 'https://'}")),
        (false, server("{name: a, type: http, url: 'https://x', command: c}")),
        (false, server("{name: a, type: stdio, command: c, env: [{name: A, value: x}]}")),
        (false, server("{name: a, type: stdio, command: c, env: [{name: 1A, from: B}]}")),
        (true, rest("environment_variables: [{name: A, value: ''}]")),
        (false, rest("environment_variables: [{name: A}]")),
        (false, rest("environment_variables: [{name: A, value: axp://x}]")),
        (true, rest("secrets: [A_B]")),
        (false, rest("secrets: [a-b]")),
        (true, rest("files: [{name: a, dest: a/b}, {name: 'c=d', source: x, dest: .hidden}]")),
        (false, rest("files: [{name: 'c=d', dest: c}]")),
        (false, rest("files: [{name: a, dest: /a}]")),
        (false, rest("files: [{name: a, dest: a/../b}]")),
        (false, rest("files: [{name: a, dest: ./.}]")),
        (true, rest("files: [{name: a, dest: ..a}]")),
        (false, rest("files: [{name: a, source: x}]")),
        (false, rest("files: [{name: a, source: x, dest: a, sha256: abc}]")),
        (
            true,
            test(
                "{name: t, script_file: a.sh, when: live, description: d, files: [{name: a, dest: a}]}",
            ),
        ),
        (false, test("{name: t, script: a, script_file: b}")),
        (false, test("{name: t}")),
        (false, test("{name: t, script: a, timeout: 3}")),
        (false, test("{name: t, script: a, when: later}")),
        (
            true,
            rest("").replace(
                "tests:\n  - name: t\n    script: test -f /workspace/a\n",
                "tests: {application: [{name: t, script: a}]}\n",
            ),
        ),
        (
            false,
            rest("").replace(
                "tests:\n  - name: t\n    script: test -f /workspace/a\n",
                "tests: {other: [{name: t, script: a}]}\n",
            ),
        ),
        (
            false,
            rest("")
                .replace("tests:\n  - name: t\n    script: test -f /workspace/a\n", "tests: []\n"),
        ),
        (false, rest("").replace("tests:\n  - name: t\n    script: test -f /workspace/a\n", "")),
    ];
    for (expected, text) in cases {
        assert_eq!(both(&validator, &text), (expected, expected), "schema, reader:\n{text}");
    }
}
