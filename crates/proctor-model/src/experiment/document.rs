//! A resolved variant as a JSON document, and its fingerprint.
//!
//! The document is
//!
//! ```json
//! {"common": {"files", "limits", "tests", "variables"},
//!  "variant": {"agent", "environment", "extension", "id", "product", "prompt"}}
//! ```
//!
//! without the members that are absent. Files, skills and scripts that stand in files of their own
//! are there by the digest of their content (`null` while it is unknown, as that of a slot always
//! is), secrets by reference. What only people read (descriptions, tags, versions, commits) is not
//! part of it. The fingerprint is `sha256:` and the SHA-256 of its canonical form (RFC 8785).
//!
//! What all variants share comes first, so that its digest is computed once: ten thousand variants
//! of an experiment with long tests cost ten thousand digests of what differs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::agent::{Agent, Thinking};
use super::declared::{Environment, Experiment, Product, Prompt};
use super::setup::{FileEntry, McpServer, McpTransport, Setup, Skill, Variable};
use super::test::{Limits, Script, Test, When};
use super::variant::{Variant, VariantId};
use crate::Digest;
use crate::digest::DigestStream;
use crate::json::{Json, Number, Object, canonical};

/// The digests of what the sources of an experiment hold, by path as written in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents(pub BTreeMap<Utf8PathBuf, Digest>);

impl Contents {
    fn of<'a>(&self, path: Option<&Utf8Path>) -> Json<'a> {
        match path.and_then(|path| self.0.get(path)) {
            Some(digest) => owned(digest.to_string()),
            None => Json::Null,
        }
    }
}

/// The document of one variant of `experiment`.
pub fn document<'a>(
    experiment: &'a Experiment,
    variant: &'a Variant,
    contents: &Contents,
) -> Json<'a> {
    let of_variant = object([
        ("agent", Some(agent(&variant.agent))),
        ("environment", variant.environment.as_deref().map(|one| environment(one, contents))),
        ("extension", variant.extension.as_deref().map(text)),
        ("id", Some(text(variant.id.as_str()))),
        ("product", variant.product.as_deref().map(|one| product(one, contents))),
        ("prompt", Some(prompt(&variant.prompt))),
    ]);
    object([("common", Some(common(experiment, contents))), ("variant", Some(of_variant))])
}

/// The canonical form of a part of a document, made once and used for many variants.
#[derive(Debug, Clone)]
pub struct Part(Vec<u8>);

impl Part {
    /// The part of an agent.
    pub fn agent(one: &Agent) -> Self {
        Self::new(&agent(one))
    }

    /// The part of a prompt.
    pub fn prompt(one: &Prompt) -> Self {
        Self::new(&prompt(one))
    }

    /// The part of an environment.
    pub fn environment(one: &Environment, contents: &Contents) -> Self {
        Self::new(&environment(one, contents))
    }

    /// The part of a product.
    pub fn product(one: &Product, contents: &Contents) -> Self {
        Self::new(&product(one, contents))
    }

    fn new(json: &Json<'_>) -> Self {
        let mut bytes = Vec::new();
        canonical(json, &mut bytes);
        Self(bytes)
    }
}

/// The parts of one variant.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// Its agent.
    pub agent: &'a Part,
    /// Its environment.
    pub environment: Option<&'a Part>,
    /// Its extension.
    pub extension: Option<&'a str>,
    /// Its id.
    pub id: &'a VariantId,
    /// Its product.
    pub product: Option<&'a Part>,
    /// Its prompt.
    pub prompt: &'a Part,
}

/// Computes the fingerprints of the variants of one experiment.
#[derive(Clone)]
pub struct Fingerprinter(DigestStream);

impl Fingerprinter {
    /// Digests what all variants share.
    pub fn new(experiment: &Experiment, contents: &Contents) -> Self {
        let mut stream = Digest::stream();
        stream.update(b"{\"common\":");
        stream.update(&Part::new(&common(experiment, contents)).0);
        stream.update(b",\"variant\":{\"agent\":");
        Self(stream)
    }

    /// The fingerprint of the variant that consists of `parts`.
    pub fn fingerprint(&self, parts: Parts<'_>) -> String {
        let mut stream = self.0.clone();
        stream.update(&parts.agent.0);
        let mut member = |key: &str, part: &Part| {
            stream.update(key.as_bytes());
            stream.update(&part.0);
        };
        if let Some(environment) = parts.environment {
            member(",\"environment\":", environment);
        }
        if let Some(extension) = parts.extension {
            member(",\"extension\":", &Part::new(&text(extension)));
        }
        member(",\"id\":", &Part::new(&text(parts.id.as_str())));
        if let Some(product) = parts.product {
            member(",\"product\":", product);
        }
        member(",\"prompt\":", parts.prompt);
        stream.update(b"}}");
        format!("sha256:{}", stream.finish())
    }
}

fn common<'a>(experiment: &'a Experiment, contents: &Contents) -> Json<'a> {
    object([
        ("files", Some(array(&experiment.files, |entry| file(entry, contents)))),
        ("limits", Some(limits(experiment.limits))),
        ("tests", Some(array(&experiment.tests, |one| test(one, contents)))),
        ("variables", Some(array(&experiment.variables, variable))),
    ])
}

fn agent(agent: &Agent) -> Json<'_> {
    let model = agent.model.as_ref().map(|model| {
        object([
            ("context_window_size", model.context_window_size.map(|size| number(size.get()))),
            ("effort", model.effort.as_deref().map(text)),
            ("fast", model.fast.map(Json::Bool)),
            ("name", Some(text(&model.name))),
            ("thinking", model.thinking.as_ref().map(thinking)),
        ])
    });
    object([
        ("acp", agent.acp.as_ref().map(|command| array(command, |word| text(word)))),
        ("mode", agent.mode.map(|mode| text(mode.as_str()))),
        ("model", model),
        ("name", Some(text(agent.name.as_str()))),
    ])
}

fn thinking(thinking: &Thinking) -> Json<'_> {
    match thinking {
        Thinking::Switch(on) => Json::Bool(*on),
        Thinking::Level(level) => text(level),
    }
}

fn prompt(prompt: &Prompt) -> Json<'_> {
    object([("id", Some(text(prompt.id.as_str()))), ("text", Some(text(&prompt.text)))])
}

fn environment<'a>(environment: &'a Environment, contents: &Contents) -> Json<'a> {
    object([
        ("name", Some(text(environment.name.as_str()))),
        ("setups", Some(array(&environment.setups, |one| setup(one, contents)))),
    ])
}

fn product<'a>(product: &'a Product, contents: &Contents) -> Json<'a> {
    object([
        ("name", Some(text(product.name.as_str()))),
        ("setups", Some(array(&product.setups, |one| setup(one, contents)))),
    ])
}

fn setup<'a>(setup: &'a Setup, contents: &Contents) -> Json<'a> {
    let checks = array(&setup.checks, |check| {
        object([("name", Some(text(check.name.as_str()))), ("script", Some(text(&check.script)))])
    });
    object([
        ("checks", Some(checks)),
        ("files", Some(array(&setup.files, |entry| file(entry, contents)))),
        ("mcp_servers", Some(array(&setup.mcp_servers, mcp_server))),
        ("name", setup.name.as_ref().map(|name| text(name.as_str()))),
        ("script", Some(text(&setup.script))),
        ("skills", Some(array(&setup.skills, |one| skill(one, contents)))),
        ("variables", Some(array(&setup.variables, variable))),
    ])
}

fn file<'a>(entry: &'a FileEntry, contents: &Contents) -> Json<'a> {
    object([
        ("content", Some(contents.of(entry.source_path()))),
        ("dest", Some(text(entry.dest.as_str()))),
        ("name", Some(text(entry.name.as_str()))),
    ])
}

fn skill<'a>(skill: &'a Skill, contents: &Contents) -> Json<'a> {
    object([
        ("content", Some(contents.of(Some(&skill.source)))),
        ("name", Some(text(skill.name.as_str()))),
    ])
}

fn variable(variable: &Variable) -> Json<'_> {
    object([
        ("name", Some(text(variable.name.as_str()))),
        ("value", Some(owned(variable.value.as_written()))),
    ])
}

fn mcp_server(server: &McpServer) -> Json<'_> {
    let mut members = vec![
        ("name", Some(text(server.name.as_str()))),
        ("type", Some(text(server.transport.as_str()))),
    ];
    match &server.transport {
        McpTransport::Stdio { command, args, env } => {
            let env = array(env, |one| {
                object([
                    ("from", Some(text(one.from.as_str()))),
                    ("name", Some(text(one.name.as_str()))),
                ])
            });
            members.push(("args", Some(array(args, |argument| text(argument)))));
            members.push(("command", Some(text(command))));
            members.push(("env", Some(env)));
        }
        McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
            let headers = array(headers, |header| {
                object([
                    ("name", Some(text(&header.name))),
                    ("value", Some(owned(header.value.as_written()))),
                ])
            });
            members.push(("headers", Some(headers)));
            members.push(("url", Some(text(url))));
        }
    }
    object(members)
}

fn test<'a>(test: &'a Test, contents: &Contents) -> Json<'a> {
    let (script, content) = match &test.script {
        Script::Inline(script) => (Some(text(script)), None),
        Script::File(path) => (None, Some(contents.of(Some(path)))),
    };
    object([
        ("bucket", test.bucket.map(|bucket| text(bucket.as_str()))),
        ("content", content),
        ("files", Some(array(&test.files, |entry| file(entry, contents)))),
        ("name", Some(text(test.name.as_str()))),
        ("script", script),
        (
            "when",
            Some(test.when).filter(|when| *when == When::Live).map(|when| text(when.as_str())),
        ),
    ])
}

fn limits<'a>(limits: Limits) -> Json<'a> {
    let cost = limits.max_cost_usd.map(|cost| Json::Number(Number::written(cost.to_string())));
    object([
        ("max_cost_usd", cost),
        ("max_time_seconds", Some(number(limits.max_time_seconds.get().into()))),
        ("max_turns", limits.max_turns.map(|turns| number(turns.get().into()))),
    ])
}

fn object<'a>(members: impl IntoIterator<Item = (&'static str, Option<Json<'a>>)>) -> Json<'a> {
    let present = members.into_iter().filter_map(|(key, value)| Some((Cow::Borrowed(key), value?)));
    Json::Object(Object::new(present.collect()))
}

fn array<'a, T>(items: &'a [T], one: impl FnMut(&'a T) -> Json<'a>) -> Json<'a> {
    Json::Array(items.iter().map(one).collect())
}

fn text(text: &str) -> Json<'_> {
    Json::String(Cow::Borrowed(text))
}

fn owned<'a>(text: String) -> Json<'a> {
    Json::String(Cow::Owned(text))
}

fn number<'a>(number: u64) -> Json<'a> {
    Json::Number(Number::written(number.to_string()))
}
