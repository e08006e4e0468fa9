//! `[llm]`: which model may be asked, how, and for how much.
//!
//! Three sources have a say: the repository (the configuration of ai-rulez, its local overlay and
//! `proctor.toml`), the user (`proctor/config.toml` and `ai-rulez/config.toml` in the user's
//! configuration folder, the first wins), and the environment (`AI_RULEZ_LLM_*`, which wins over
//! both). A repository is whatever somebody cloned: it may propose, and may lower limits; whether
//! anything is sent, where to, with which key and at which price is for the user alone.

use std::borrow::Cow;
use std::fs;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::llm::{Backend, LlmSettings, Named};
use proctor_model::{Diagnostic, Diagnostics, Location};
use proctor_redact::Redactor;

use super::layout::Project;
use super::paths::read_bounded;
use super::settings::{amount, project_files, syntax_tree, table};
use crate::tree::{
    Field, Kind, Member, Node, Object, Problems, boolean, choice, list, non_blank, text,
    whole_number,
};

/// What the variables of the environment begin with; the key in capitals follows.
const VARIABLES: &str = "AI_RULEZ_LLM_";

/// The most time for one question, in seconds.
const MAX_TIMEOUT: i64 = 3600;

/// The most repeats of one question.
const MAX_RETRIES: i64 = 10;

const KEYS: [&str; 17] = [
    "provider",
    "model",
    "backend",
    "base_url",
    "api_key_env",
    "embedding_model",
    "max_cost_usd",
    "max_tokens",
    "max_calls",
    "cache",
    "allow_network",
    "timeout_seconds",
    "max_retries",
    "allow_plain_http",
    "plain_http_hosts",
    "price_input_per_mtok",
    "price_output_per_mtok",
];

/// What only the user may say.
const FOR_THE_USER: [&str; 7] = [
    "base_url",
    "api_key_env",
    "allow_network",
    "allow_plain_http",
    "plain_http_hosts",
    "price_input_per_mtok",
    "price_output_per_mtok",
];

/// Reads every source of `[llm]`; without a project there is no repository to have a say. An error in the diagnostics means that the settings must not be
/// used; a warning names what a repository said in vain.
pub fn llm_settings(
    project: Option<&Project>,
    env: &dyn Fn(&str) -> Option<String>,
) -> (LlmSettings, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let mut repository = Table::default();
    for (project, file) in project
        .iter()
        .flat_map(|project| project_files(project).into_iter().map(move |file| (project, file)))
    {
        let mut table = Table::default();
        let shown = project.shown(&file);
        diagnostics.0.extend(read_file(&file, &shown, Source::Repository, &mut table).0);
        repository = table.over(repository);
    }
    let mut user = Table::default();
    // What stands first wins, so that it is laid over the others last.
    for file in user_files(env).iter().rev() {
        let mut table = Table::default();
        diagnostics.0.extend(read_file(file, file, Source::User, &mut table).0);
        user = table.over(user);
    }
    let (environment, mistakes) = Table::of_environment(env);
    diagnostics.0.extend(mistakes.0);
    (settled(repository, environment.over(user)), diagnostics)
}

/// The configuration files of the user, whether they exist or not; none without a place for them.
fn user_files(env: &dyn Fn(&str) -> Option<String>) -> Vec<Utf8PathBuf> {
    let folder =
        |variable: &str| env(variable).map(Utf8PathBuf::from).filter(|path| path.is_absolute());
    let folder = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    let files = ["proctor/config.toml", "ai-rulez/config.toml"];
    folder.into_iter().flat_map(|folder| files.map(|file| folder.join(file))).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Repository,
    User,
}

fn read_file(file: &Utf8Path, shown: &Utf8Path, source: Source, into: &mut Table) -> Diagnostics {
    let mut problems = Problems::new(shown);
    if fs::symlink_metadata(file).is_err() {
        return problems.finish();
    }
    match read_bounded(file.as_std_path()) {
        Ok(bytes) => {
            if let Some(root) = syntax_tree(file, &bytes, &mut problems) {
                into.read_document(&Field::root(&root), source, &mut problems);
            }
        }
        Err(diagnostic) => problems.push(diagnostic),
    }
    problems.finish()
}

/// What one source says.
#[derive(Debug, Default, PartialEq)]
struct Table {
    provider: Option<String>,
    model: Option<String>,
    backend: Option<Backend>,
    base_url: Option<String>,
    api_key_env: Option<String>,
    max_cost_usd: Option<f64>,
    max_tokens: Option<u64>,
    max_calls: Option<u64>,
    cache: Option<bool>,
    allow_network: Option<bool>,
    timeout_seconds: Option<u64>,
    max_retries: Option<u32>,
    allow_plain_http: Option<bool>,
    plain_http_hosts: Option<Vec<String>>,
    price_input: Option<f64>,
    price_output: Option<f64>,
}

impl Table {
    /// This, and where it says nothing `other`.
    fn over(self, other: Self) -> Self {
        Self {
            provider: self.provider.or(other.provider),
            model: self.model.or(other.model),
            backend: self.backend.or(other.backend),
            base_url: self.base_url.or(other.base_url),
            api_key_env: self.api_key_env.or(other.api_key_env),
            max_cost_usd: self.max_cost_usd.or(other.max_cost_usd),
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_calls: self.max_calls.or(other.max_calls),
            cache: self.cache.or(other.cache),
            allow_network: self.allow_network.or(other.allow_network),
            timeout_seconds: self.timeout_seconds.or(other.timeout_seconds),
            max_retries: self.max_retries.or(other.max_retries),
            allow_plain_http: self.allow_plain_http.or(other.allow_plain_http),
            plain_http_hosts: self.plain_http_hosts.or(other.plain_http_hosts),
            price_input: self.price_input.or(other.price_input),
            price_output: self.price_output.or(other.price_output),
        }
    }

    fn read_document(&mut self, root: &Field<'_>, source: Source, problems: &mut Problems) {
        let Some(object) = table(root, problems) else { return };
        object.optional("llm", problems, |field, problems| {
            let object = table(field, problems)?;
            self.read(&object, problems);
            if source == Source::Repository {
                self.give_up_what_is_for_the_user(&object, problems);
            }
            Some(())
        });
    }

    /// The local overlay of a clone is no better than the clone: what is written there came with a
    /// checkout, or may have.
    fn give_up_what_is_for_the_user(&mut self, object: &Object<'_>, problems: &mut Problems) {
        for key in FOR_THE_USER {
            let Some(member) = object.get(key) else { continue };
            // Who asks for nothing is refused nothing.
            if member.value.kind == Kind::Bool(false) {
                continue;
            }
            let field = object.field().member(key, &member.value);
            let variable = variable(key);
            let message = "is ignored here: a repository has no say in it";
            let hint = format!("set it in your own proctor/config.toml, or as {variable}");
            problems.push(field.warning(message).hint(hint));
        }
        *self = Self {
            base_url: None,
            api_key_env: None,
            allow_network: None,
            allow_plain_http: None,
            plain_http_hosts: None,
            price_input: None,
            price_output: None,
            ..std::mem::take(self)
        };
    }

    fn read(&mut self, object: &Object<'_>, problems: &mut Problems) {
        object.deny_unknown(&KEYS, problems);
        let backends = [
            ("auto", Backend::Auto),
            ("openaicompat", Backend::OpenAiCompat),
            ("literllm", Backend::LiterLlm),
        ];
        let provider = object.optional("provider", problems, non_blank).flatten();
        self.provider = provider.map(|name| name.to_ascii_lowercase());
        self.model = object.optional("model", problems, non_blank).flatten();
        self.backend = object.optional("backend", problems, choice(&backends)).flatten();
        // Looked at when it is used: what is wrong with it may be a secret in it.
        self.base_url = object.optional("base_url", problems, url).flatten();
        self.api_key_env = object.optional("api_key_env", problems, variable_name).flatten();
        // Nothing here needs one, and the same table serves ai-rulez.
        object.optional("embedding_model", problems, non_blank);
        self.cache = object.optional("cache", problems, boolean).flatten();
        self.allow_network = object.optional("allow_network", problems, boolean).flatten();
        self.allow_plain_http = object.optional("allow_plain_http", problems, boolean).flatten();
        self.plain_http_hosts =
            object.optional("plain_http_hosts", problems, list("hosts", host)).flatten();
        for (key, place) in [
            ("max_cost_usd", &mut self.max_cost_usd),
            ("price_input_per_mtok", &mut self.price_input),
            ("price_output_per_mtok", &mut self.price_output),
        ] {
            *place = object.optional(key, problems, amount).flatten().flatten();
        }
        for (key, most, place) in [
            ("max_tokens", i64::MAX, &mut self.max_tokens),
            ("max_calls", i64::MAX, &mut self.max_calls),
            ("timeout_seconds", MAX_TIMEOUT, &mut self.timeout_seconds),
        ] {
            let read = object.optional(key, problems, whole_number(0..=most)).flatten();
            // 0 stands for none.
            *place = read.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
        }
        let retries = object.optional("max_retries", problems, whole_number(-1..=MAX_RETRIES));
        self.max_retries = match retries.flatten() {
            // 0 stands for none said, and -1 for no repeats.
            None | Some(0) => None,
            Some(value) => Some(u32::try_from(value).unwrap_or(0)),
        };
    }

    /// The variables are read as if they stood in a file, so that the same rules hold.
    fn of_environment(env: &dyn Fn(&str) -> Option<String>) -> (Self, Diagnostics) {
        let location = Location { line: 1, column: 1 };
        let members = KEYS.into_iter().filter_map(|key| {
            let text = env(&variable(key))?.trim().to_owned();
            let kind = (!text.is_empty()).then(|| kind(key, text, location))?;
            let value = Node { location, kind };
            Some(Member { key: key.to_owned(), key_location: location, value })
        });
        let root = Node { location, kind: Kind::Object(members.collect()) };
        let field = Field::root(&root);
        let mut problems = Problems::new("".into());
        let mut read = Self::default();
        if let Some(object) = Object::at(&field, "variables", &mut problems) {
            read.read(&object, &mut problems);
        }
        let named = |diagnostic: Diagnostic| {
            let key = diagnostic.field.as_deref().unwrap_or_default();
            let field = variable(key.split('[').next().unwrap_or_default());
            Diagnostic { file: None, location: None, field: Some(field), ..diagnostic }
        };
        (read, Diagnostics(problems.finish().0.into_iter().map(named).collect()))
    }
}

fn variable(key: &str) -> String {
    format!("{VARIABLES}{}", key.to_ascii_uppercase())
}

/// The text of a variable as the value that its key wants; a text where it is none.
fn kind(key: &str, text: String, location: Location) -> Kind {
    match key {
        "cache" | "allow_network" | "allow_plain_http" => match text.as_str() {
            "1" | "t" | "T" | "true" | "True" | "TRUE" => Kind::Bool(true),
            "0" | "f" | "F" | "false" | "False" | "FALSE" => Kind::Bool(false),
            _ => Kind::String(text),
        },
        "plain_http_hosts" => {
            let hosts = text.split(',').map(str::trim).filter(|host| !host.is_empty());
            let node = |host: &str| Node { location, kind: Kind::String(host.to_owned()) };
            Kind::Array(hosts.map(node).collect())
        }
        _ if (key.starts_with("max_") || key.starts_with("price_") || key == "timeout_seconds")
            && text.parse::<f64>().is_ok() =>
        {
            Kind::Number(text)
        }
        _ => Kind::String(text),
    }
}

fn settled(repository: Table, user: Table) -> LlmSettings {
    let defaults = LlmSettings::default();
    let named = |by_user: Option<String>, by_repository: Option<String>| {
        let proposed = by_repository.map(|name| Named { name, from_repository: true });
        by_user.map(Named::by_user).or(proposed)
    };
    let seconds = lower(user.timeout_seconds, repository.timeout_seconds, u64::min);
    LlmSettings {
        provider: named(user.provider, repository.provider),
        model: named(user.model, repository.model),
        backend: user.backend.or(repository.backend).unwrap_or(defaults.backend),
        base_url: user.base_url,
        api_key_env: user.api_key_env,
        max_cost_usd: lower(user.max_cost_usd, repository.max_cost_usd, f64::min),
        max_tokens: lower(user.max_tokens, repository.max_tokens, u64::min),
        max_calls: lower(user.max_calls, repository.max_calls, u64::min),
        cache: user.cache.or(repository.cache).unwrap_or(defaults.cache),
        allow_network: user.allow_network.unwrap_or(defaults.allow_network),
        timeout: seconds.map_or(defaults.timeout, Duration::from_secs),
        max_retries: lower(user.max_retries, repository.max_retries, u32::min)
            .unwrap_or(defaults.max_retries),
        allow_plain_http: user.allow_plain_http.unwrap_or(defaults.allow_plain_http),
        plain_http_hosts: user.plain_http_hosts.unwrap_or_default(),
        price_input_per_mtok: user.price_input,
        price_output_per_mtok: user.price_output,
    }
}

/// The lower of two limits, of which either may be none.
fn lower<T: Copy>(a: Option<T>, b: Option<T>, min: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(min(a, b)),
        (a, b) => a.or(b),
    }
}

/// A URL. There may be a secret in it, so that no message may show it.
fn url(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let text = string(field).map(str::trim).filter(|text| !text.is_empty());
    if text.is_none() {
        problems.push(field.error("expected a URL"));
    }
    text.map(str::to_owned)
}

/// The name of a variable. People put the key itself here, so that no message may show it.
fn variable_name(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let name = string(field);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = |name: &str| {
        name.bytes().all(plain) && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
    };
    // A key may be all of letters and digits, and then it is long and has no gaps.
    let is_key = |name: &str| {
        let shape = Redactor::default();
        matches!(shape.text(name), Cow::Owned(_)) || (name.len() >= 24 && !name.contains('_'))
    };
    match name {
        Some(name) if is_name(name) && !is_key(name) => Some(name.to_owned()),
        _ => {
            let message = "expected the name of a variable, such as OPENAI_API_KEY, and never the \
                           key itself";
            problems.push(field.error(message));
            None
        }
    }
}

fn string<'a>(field: &Field<'a>) -> Option<&'a str> {
    match &field.node().kind {
        Kind::String(text) => Some(text),
        _ => None,
    }
}

/// A host, perhaps with a port.
fn host(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let host = text(field, problems)?;
    if host.is_empty() || host.contains(['/', '@', '?', '#']) || host.contains(char::is_whitespace)
    {
        problems.push(field.expected("a host or host:port, without scheme and path"));
        return None;
    }
    Some(host)
}

#[cfg(test)]
mod tests;
