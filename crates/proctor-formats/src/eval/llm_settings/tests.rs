use std::collections::BTreeMap;

use tempfile::TempDir;

use super::*;
use crate::eval::{Layout, find};

/// A project, a home and an environment.
struct World {
    folder: TempDir,
    variables: BTreeMap<String, String>,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: TempDir::new().unwrap(), variables: BTreeMap::new() };
        world.file("project/.ai-rulez/skills/a/SKILL.md", "---\nname: a\n---\n");
        world
    }

    fn root(&self) -> &Utf8Path {
        Utf8Path::from_path(self.folder.path()).unwrap()
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn var(&mut self, key: &str, value: &str) {
        self.variables.insert(variable(key), value.to_owned());
    }

    /// The settings, and what was said about them.
    fn read(&self) -> (LlmSettings, String) {
        let project = find(&self.root().join("project"), None).unwrap();
        assert_eq!(project.layout, Layout::AiRulez);
        let (settings, diagnostics) = llm_settings(Some(&project), &|name| match name {
            "HOME" => Some(self.root().join("home").into_string()),
            name => self.variables.get(name).cloned(),
        });
        (settings, diagnostics.to_string().replace(self.root().as_str(), ""))
    }
}

const REPOSITORY: &str = "project/.ai-rulez/config.toml";
const OVERLAY: &str = "project/.ai-rulez/config.local.toml";
const USER: &str = "home/.config/proctor/config.toml";
const USER_OF_AI_RULEZ: &str = "home/.config/ai-rulez/config.toml";

const WHOLE: &str = r#"
[llm]
provider = "Anthropic"
model = "haiku"
backend = "literllm"
base_url = "https://gw.example/v1"
api_key_env = "GW_KEY"
embedding_model = "e"
max_cost_usd = 0.5
max_tokens = 100000
max_calls = 50
cache = false
allow_network = true
timeout_seconds = 30
max_retries = 2
allow_plain_http = true
plain_http_hosts = ["gw.mesh:4000"]
price_input_per_mtok = 1
price_output_per_mtok = 5.5

[other]
x = 1
"#;

fn whole() -> LlmSettings {
    LlmSettings {
        provider: Some(Named::by_user("anthropic")),
        model: Some(Named::by_user("haiku")),
        backend: Backend::LiterLlm,
        base_url: Some("https://gw.example/v1".into()),
        api_key_env: Some("GW_KEY".into()),
        max_cost_usd: Some(0.5),
        max_tokens: Some(100_000),
        max_calls: Some(50),
        cache: false,
        allow_network: true,
        timeout: Duration::from_secs(30),
        max_retries: 2,
        allow_plain_http: true,
        plain_http_hosts: vec!["gw.mesh:4000".into()],
        price_input_per_mtok: Some(1.0),
        price_output_per_mtok: Some(5.5),
    }
}

#[test]
fn nobody_says_anything() {
    let mut world = World::new();
    assert_eq!(world.read(), (LlmSettings::default(), String::new()));
    let (settings, diagnostics) = llm_settings(None, &|_| None);
    assert_eq!((settings, diagnostics), (LlmSettings::default(), Diagnostics::default()));
    // Empty variables say nothing either.
    for key in KEYS {
        world.var(key, " ");
    }
    assert_eq!(world.read(), (LlmSettings::default(), String::new()));
}

#[test]
fn the_user_may_say_everything_in_either_file() {
    for file in [USER, USER_OF_AI_RULEZ] {
        let world = World::new();
        world.file(file, WHOLE);
        assert_eq!(world.read(), (whole(), String::new()), "{file}");
    }
}

#[test]
fn the_environment_may_say_everything() {
    let mut world = World::new();
    for (key, value) in [
        ("provider", "anthropic"),
        ("model", "haiku"),
        ("backend", "literllm"),
        ("base_url", " https://gw.example/v1 "),
        ("api_key_env", "GW_KEY"),
        ("embedding_model", "e"),
        ("max_cost_usd", "0.5"),
        ("max_tokens", "100000"),
        ("max_calls", "50"),
        ("cache", "False"),
        ("allow_network", "1"),
        ("timeout_seconds", "30"),
        ("max_retries", "2"),
        ("allow_plain_http", "t"),
        ("plain_http_hosts", "gw.mesh:4000, "),
        ("price_input_per_mtok", "1"),
        ("price_output_per_mtok", "5.5"),
    ] {
        world.var(key, value);
    }
    assert_eq!(world.read(), (whole(), String::new()));
}

#[test]
fn what_is_for_the_user_is_ignored_in_a_repository_and_its_overlay() {
    let world = World::new();
    world.file(REPOSITORY, WHOLE);
    world.file(OVERLAY, "[llm]\nallow_network = true\nmax_calls = 60\n");
    world.file("project/proctor.toml", "[llm]\nbase_url = \"https://x\"\nallow_network = false\n");
    let (settings, said) = world.read();
    let proposed = |name: &str| Some(Named { name: name.into(), from_repository: true });
    let expected = LlmSettings {
        provider: proposed("anthropic"),
        model: proposed("haiku"),
        backend: Backend::LiterLlm,
        max_cost_usd: Some(0.5),
        max_tokens: Some(100_000),
        max_calls: Some(60),
        cache: false,
        timeout: Duration::from_secs(30),
        max_retries: 2,
        ..LlmSettings::default()
    };
    assert_eq!(settings, expected);
    insta::assert_snapshot!(said);
}

#[test]
fn a_repository_can_only_lower_limits() {
    let limits = |cost: f64, tokens: u64, calls: u64, seconds: u64, retries: u32| {
        format!(
            "[llm]\nmax_cost_usd = {cost}\nmax_tokens = {tokens}\nmax_calls = {calls}\n\
             timeout_seconds = {seconds}\nmax_retries = {retries}\n"
        )
    };
    let read = |repository: &str, user: &str| {
        let world = World::new();
        let (settings, said) = world.file(REPOSITORY, repository).file(USER, user).read();
        assert_eq!(said, "");
        (
            settings.max_cost_usd,
            settings.max_tokens,
            settings.max_calls,
            settings.timeout.as_secs(),
            settings.max_retries,
        )
    };
    let (low, high) = (limits(0.1, 10, 1, 5, 1), limits(9.0, 90, 9, 50, 9));
    let lowest = (Some(0.1), Some(10), Some(1), 5, 1);
    assert_eq!(read(&high, &low), lowest);
    assert_eq!(read(&low, &high), lowest);
    assert_eq!(read(&low, ""), lowest);
    assert_eq!(read("[llm]\nmax_retries = -1\n", &high).4, 0);
    // 0 is no limit, and does not lift one.
    assert_eq!(read(&limits(0.0, 0, 0, 0, 0), &low), lowest);
    assert_eq!(read("", "[llm]\nmax_cost_usd = 0\nmax_retries = 0\n"), (None, None, None, 60, 3));
}

#[test]
fn the_environment_wins_over_the_user_and_the_user_over_the_repository() {
    let mut world = World::new();
    world.file(REPOSITORY, "[llm]\nmodel = \"r\"\nprovider = \"gemini\"\nmax_calls = 7\n");
    world.file(USER_OF_AI_RULEZ, "[llm]\nmodel = \"a\"\ncache = false\nmax_calls = 8\n");
    world.file(USER, "[llm]\nmodel = \"p\"\n");
    let model = |world: &World| world.read().0.model.unwrap();
    assert_eq!(model(&world), Named::by_user("p"));
    let (settings, said) = world.read();
    assert_eq!(said, "");
    assert!(!settings.cache && settings.provider.unwrap().from_repository);
    world.var("model", "e");
    world.var("max_calls", "9");
    assert_eq!(model(&world), Named::by_user("e"));
    assert_eq!(world.read().0.max_calls, Some(7));
}

#[test]
fn every_slip_is_named() {
    let mut world = World::new();
    world.file(
        USER,
        r#"
[llm]
modle = "x"
provider = ""
backend = "liter"
base_url = 5
api_key_env = "sk-live-0123456789abcdef0123"
max_cost_usd = nan
max_tokens = -1
max_calls = 1.5
cache = "yes"
timeout_seconds = 3601
max_retries = 11
plain_http_hosts = ["http://x", "ok"]
price_input_per_mtok = inf
"#,
    );
    world.var("max_retries", "-2");
    world.var("max_cost_usd", "five");
    world.var("allow_network", "yes");
    world.var("plain_http_hosts", "a/b");
    world.var("api_key_env", "AIzaSyA0123456789abcdefghijklmnopqrstu");
    let (_, said) = world.read();
    assert!(!said.contains("sk-live") && !said.contains("AIza"), "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn no_key_passes_for_the_name_of_a_variable() {
    for (name, fits) in [
        ("OPENAI_API_KEY", true),
        ("_k2", true),
        ("A_VERY_LONG_NAME_OF_A_VARIABLE_KEY", true),
        ("", false),
        ("2K", false),
        ("A KEY", false),
        ("sk-0123456789abcdef", false),
        ("AKIAIOSFODNN7EXAMPLE", false),
        ("ghp_0123456789abcdefABCD", false),
        ("a1B2c3D4e5F6g7H8i9J0k1L2", false),
    ] {
        let mut world = World::new();
        world.file(USER, &format!("[llm]\napi_key_env = \"{name}\"\n"));
        assert_eq!(world.read().0.api_key_env.is_some(), fits, "{name}");
        world.variables.clear();
    }
}
