//! Where the values of variables come from.
//!
//! `axp://secrets/<slug>` as the value of the variable `NAME` is looked for as `NAME` and then as
//! `<slug>` on the command line, in env files and in the environment, and as `<slug>` in the user's
//! secrets file. The first place that has it wins; an empty value is a value.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Diagnostics;
use proctor_model::experiment::{
    McpTransport, SecretSlug, SecretText, Value, Variable, VariableName, Variant,
};

use super::env_file::{read_env_file, read_secrets_file};

/// A place in which values are looked for, in the order of preference.
#[derive(Debug, Clone)]
pub struct ValueSource {
    /// How it is called in messages: `--env`, `--env-file ci.env`, `the environment`.
    pub name: String,
    /// Its values.
    pub values: BTreeMap<String, SecretText>,
    /// Whether it is asked for names of variables too, and not for slugs only.
    pub has_names: bool,
}

impl ValueSource {
    /// A place that knows variables.
    pub fn of_variables(
        name: impl Into<String>,
        values: impl IntoIterator<Item = (String, SecretText)>,
    ) -> Self {
        Self { name: name.into(), values: values.into_iter().collect(), has_names: true }
    }

    /// A place that knows slugs.
    pub fn of_secrets(name: impl Into<String>, values: BTreeMap<String, SecretText>) -> Self {
        Self { name: name.into(), values, has_names: false }
    }
}

/// A secret that no place has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingValue {
    /// The variable that wants it; `None` for the header of a server.
    pub variable: Option<VariableName>,
    /// The secret.
    pub slug: SecretSlug,
    /// The places that were asked, in their order.
    pub asked: Vec<String>,
}

/// What is missing, where it was looked for, and what to do.
impl std::fmt::Display for MissingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { variable, slug, asked } = self;
        let name = if let Some(variable) = variable {
            write!(f, "the secret `{slug}` of the variable `{variable}` is nowhere")?;
            variable.as_str()
        } else {
            write!(f, "the secret `{slug}` of an MCP server's header is nowhere")?;
            slug.as_str()
        };
        write!(f, ": looked in {}; pass `--env {name}`, or put it there", joined(asked))
    }
}

fn joined(places: &[String]) -> String {
    let mut text = String::new();
    for (index, place) in places.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{place}", if index > 0 { ", " } else { "" });
    }
    text
}

/// The values of one variant.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Those of its variables.
    pub variables: BTreeMap<VariableName, SecretText>,
    /// Those of the secrets in headers of MCP servers.
    pub headers: BTreeMap<SecretSlug, SecretText>,
    /// Every value that came from a secret, to be redacted everywhere.
    pub secrets: Vec<SecretText>,
}

/// The values of a variant's variables and headers, or everything that is missing.
pub fn values(variant: &Variant, sources: &[ValueSource]) -> Result<Values, Vec<MissingValue>> {
    let mut values = Values::default();
    let mut missing = Vec::new();
    for Variable { name, value } in &*variant.variables {
        let found = match value {
            Value::Literal(text) => Ok(SecretText::new(text.clone())),
            Value::Secret(slug) => find(Some(name), slug, sources).inspect(|found| {
                values.secrets.push(found.clone());
            }),
        };
        match found {
            Ok(found) => drop(values.variables.insert(name.clone(), found)),
            Err(error) => missing.push(error),
        }
    }
    for slug in header_secrets(variant) {
        match find(None, slug, sources) {
            Ok(found) => {
                values.secrets.push(found.clone());
                values.headers.insert(slug.clone(), found);
            }
            Err(error) => missing.push(error),
        }
    }
    if missing.is_empty() { Ok(values) } else { Err(missing) }
}

fn header_secrets(variant: &Variant) -> impl Iterator<Item = &SecretSlug> {
    variant
        .mcp_servers()
        .flat_map(|server| match &server.transport {
            McpTransport::Http { headers, .. } | McpTransport::Sse { headers, .. } => {
                headers.as_slice()
            }
            McpTransport::Stdio { .. } => &[],
        })
        .filter_map(|header| header.value.secret())
}

fn find(
    variable: Option<&VariableName>,
    slug: &SecretSlug,
    sources: &[ValueSource],
) -> Result<SecretText, MissingValue> {
    let found = sources.iter().find_map(|source| {
        let by_name = variable
            .filter(|_| source.has_names)
            .and_then(|variable| source.values.get(variable.as_str()));
        by_name.or_else(|| source.values.get(slug.as_str()))
    });
    found.cloned().ok_or_else(|| MissingValue {
        variable: variable.cloned(),
        slug: slug.clone(),
        asked: sources.iter().map(|source| source.name.clone()).collect(),
    })
}

/// Where a run looks for values.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// The flags `--env`, in their order; of equal names the last one stands.
    pub flags: &'a [String],
    /// The flags `--env-file`, in their order: the names for messages, and the paths.
    pub env_files: &'a [(Utf8PathBuf, Utf8PathBuf)],
    /// The environment.
    pub environment: &'a BTreeMap<String, String>,
    /// The user's secrets file, which need not be there.
    pub secrets_file: Option<&'a Utf8Path>,
}

/// Why values cannot be looked for. No message holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// A flag `--env` is wrong.
    #[error("--env: {0}")]
    Flag(#[from] EnvFlagError),
    /// A file is wrong, or is not to be used.
    #[error("{0}")]
    File(Diagnostics),
}

/// The places in the order in which they are asked: flags, env files (the last one first), the
/// environment, the secrets file.
pub fn value_sources(places: Places<'_>) -> Result<Vec<ValueSource>, PlaceError> {
    let flags: Result<Vec<_>, _> =
        places.flags.iter().map(|flag| env_flag(flag, places.environment)).collect();
    let mut sources = vec![ValueSource::of_variables("--env", flags?)];
    for (name, path) in places.env_files.iter().rev() {
        let values = read_env_file(name, path).map_err(PlaceError::File)?;
        sources.push(ValueSource::of_variables(format!("--env-file {name}"), values));
    }
    let environment = places.environment.iter();
    let environment = environment.map(|(name, value)| (name.clone(), SecretText::new(value)));
    sources.push(ValueSource::of_variables("the environment", environment));
    if let Some(path) = places.secrets_file {
        let values = read_secrets_file(path).map_err(PlaceError::File)?;
        sources.push(ValueSource::of_secrets(path.as_str(), values.unwrap_or_default()));
    }
    Ok(sources)
}

/// A flag `--env NAME=VALUE`, or `--env NAME`, which takes the value from the environment.
pub fn env_flag(
    flag: &str,
    environment: &BTreeMap<String, String>,
) -> Result<(String, SecretText), EnvFlagError> {
    let (name, value) = match flag.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (flag, None),
    };
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(EnvFlagError::Name);
    }
    match value.or_else(|| environment.get(name).map(String::as_str)) {
        Some(value) => Ok((name.to_owned(), SecretText::new(value))),
        None => Err(EnvFlagError::Unset(name.to_owned())),
    }
}

/// What is wrong with a flag `--env`. No message holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvFlagError {
    /// It does not begin with a name.
    #[error("expected NAME=VALUE or NAME")]
    Name,
    /// The variable is not set.
    #[error("`{0}` is not set in the environment; pass `{0}=VALUE`")]
    Unset(String),
}
