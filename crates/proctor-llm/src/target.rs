//! Where the settings point, in whose words, with which key: everything that must be right before
//! anything is sent.

use std::fmt;
use std::net::IpAddr;

use proctor_model::llm::{Backend, LlmSettings, Provider};
use ureq::http::Uri;

use crate::NoClient;
use crate::dialect::Dialect;

/// A text that holds a key: no debug print shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Whom to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) dialect: Dialect,
    /// Where questions go.
    pub(crate) url: String,
    /// Whether they go there through TLS.
    pub(crate) tls: bool,
    /// `None` for a gateway that wants none.
    pub(crate) key: Option<Secret>,
    /// The model as requests name it.
    pub(crate) model: String,
    /// The model as reports name it.
    pub(crate) id: String,
}

impl Target {
    /// Reads the settings; nothing is sent.
    pub(crate) fn of(
        settings: &LlmSettings,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, NoClient> {
        if !settings.allow_network {
            return Err(NoClient::NetworkDisabled);
        }
        let model = settings.model.as_ref().ok_or(NoClient::NoModel)?;
        let named = model.name.as_str();
        if model.from_repository {
            return Err(NoClient::ModelFromRepository { model: named.to_owned() });
        }
        if named.is_empty() || !named.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(NoClient::BadModel { model: named.to_owned() });
        }
        let route = route(settings, named)?;
        let base = match &settings.base_url {
            Some(base) => Base::read(base, settings)?,
            None => Base { url: route.dialect.home(), tls: true },
        };
        let model = match named.split_once('/') {
            // A gateway has names of its own.
            Some((first, rest)) if !route.verbatim && Some(first) == route.provider => rest,
            _ => named,
        };
        let id = settings.model_id().unwrap_or_default();
        let url = route.dialect.url(base.url, model);
        let url = url.ok_or_else(|| NoClient::BadModel { model: named.to_owned() })?;
        let key = key(settings, route.dialect, env)?;
        Ok(Self { dialect: route.dialect, url, tls: base.tls, key, model: model.to_owned(), id })
    }
}

/// Whose words are spoken.
struct Route<'a> {
    dialect: Dialect,
    provider: Option<&'a str>,
    /// Whether the model's name is sent as it is written.
    verbatim: bool,
}

fn route<'a>(settings: &'a LlmSettings, model: &'a str) -> Result<Route<'a>, NoClient> {
    let prefix = model.split_once('/').map(|(first, _)| first);
    let known = |name: &str| Provider::ALL.into_iter().find(|provider| provider.name() == name);
    let settled = settings.provider.as_ref();
    let named = settled
        .map(|provider| provider.name.as_str())
        .or(prefix.filter(|prefix| known(prefix).is_some()));
    let provider = match named {
        Some(name) => known(name),
        None => Provider::of_model(model),
    };
    let gateway = settings.base_url.is_some() && settings.backend != Backend::LiterLlm;
    if gateway {
        return Ok(Route { dialect: Dialect::OpenAi, provider: named, verbatim: true });
    }
    let compatible = settings.backend == Backend::OpenAiCompat;
    let provider = provider.filter(|provider| !compatible || *provider == Provider::OpenAi);
    let Some(provider) = provider else {
        return Err(match named {
            Some(provider) => NoClient::UnknownProvider { provider: provider.to_owned() },
            None => NoClient::NoProvider { model: model.to_owned() },
        });
    };
    let routed = settled.is_some_and(|provider| provider.from_repository);
    if routed && settings.base_url.is_none() && settings.api_key_env.is_some() {
        return Err(NoClient::ProviderFromRepository { provider: provider.name().to_owned() });
    }
    let dialect = match provider {
        Provider::Anthropic => Dialect::Anthropic,
        Provider::OpenAi => Dialect::OpenAi,
        Provider::Gemini => Dialect::Gemini,
    };
    Ok(Route { dialect, provider: Some(provider.name()), verbatim: false })
}

/// The root of an API.
struct Base<'a> {
    url: &'a str,
    tls: bool,
}

impl<'a> Base<'a> {
    fn read(text: &'a str, settings: &LlmSettings) -> Result<Self, NoClient> {
        let bad = |why| NoClient::BadBaseUrl { why };
        let url: Uri = text.parse().map_err(|_| bad("is no URL"))?;
        let host = url.host().filter(|host| !host.is_empty()).ok_or(bad("names no host"))?;
        if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(bad(
                "must not hold a user or a password: name the key's variable in api_key_env",
            ));
        }
        if text.contains(['?', '#']) {
            return Err(bad("must not have a query or a fragment"));
        }
        let tls = match url.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(bad("must begin with https:// or http://")),
        };
        if !tls && !is_this_machine(host) && !may_be_plain(&url, host, settings) {
            return Err(NoClient::PlainHttp { host: host.to_owned() });
        }
        Ok(Self { url: text.trim_end_matches('/'), tls })
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn may_be_plain(url: &Uri, host: &str, settings: &LlmSettings) -> bool {
    let with_port = url.authority().map_or(host, |authority| authority.as_str());
    let same = |listed: &&String| {
        listed.eq_ignore_ascii_case(host) || listed.eq_ignore_ascii_case(with_port)
    };
    settings.allow_plain_http && settings.plain_http_hosts.iter().find(same).is_some()
}

/// The key that goes along. The usual variable of a provider counts only for the provider's own
/// host: somewhere else, the user has to name one.
fn key(
    settings: &LlmSettings,
    dialect: Dialect,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Secret>, NoClient> {
    let variables: &[&str] = match (&settings.api_key_env, &settings.base_url) {
        (Some(named), _) => &[named.as_str()],
        (None, Some(_)) => return Ok(None),
        (None, None) => dialect.key_variables(),
    };
    let set = variables.iter().find_map(|variable| {
        let value = env(variable)?.trim().to_owned();
        (!value.is_empty()).then_some((*variable, value))
    });
    let Some((variable, value)) = set else {
        let variable = variables.first().copied().unwrap_or_default().to_owned();
        return Err(NoClient::NoKey { variable });
    };
    if value.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(Some(Secret(value)))
    } else {
        Err(NoClient::BadKey { variable: variable.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::llm::Named;

    use super::*;

    fn settings(model: &str) -> LlmSettings {
        LlmSettings {
            allow_network: true,
            model: Some(Named::by_user(model)),
            ..LlmSettings::default()
        }
    }

    /// Every variable holds a key that tells its name.
    fn target(settings: &LlmSettings) -> Result<Target, NoClient> {
        Target::of(settings, &|name| Some(format!("key-of-{name}")))
    }

    /// `dialect url key model id` in one line, or the mistake.
    fn shown(settings: &LlmSettings) -> String {
        match target(settings) {
            Ok(target) => format!(
                "{:?} {} {} {} {}",
                target.dialect,
                target.url,
                target.key.map_or("-".to_owned(), |key| key.0),
                target.model,
                target.id
            ),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_model_finds_its_provider_and_the_providers_key() {
        let lines = ["claude-x", "openai/gpt-5", "gemini/gemini-x", "llama-3", "mistral/large"]
            .map(|model| shown(&settings(model)))
            .join("\n");
        insta::assert_snapshot!(lines);
    }

    #[test]
    fn the_provider_may_be_named_apart() {
        let mut named = settings("sonnet");
        named.provider = Some(Named::by_user("anthropic"));
        insta::assert_snapshot!(shown(&named), @"Anthropic https://api.anthropic.com/v1/messages key-of-ANTHROPIC_API_KEY sonnet anthropic/sonnet");
        named.provider = Some(Named::by_user("cohere"));
        insta::assert_snapshot!(shown(&named), @r#"the API of the provider cohere is not known (anthropic, openai and gemini are): set base_url to something that speaks OpenAI's Chat Completions, with backend = "openaicompat""#);
    }

    #[test]
    fn a_gateway_speaks_chat_completions_unless_told_otherwise() {
        let mut gateway = settings("anthropic/claude-x");
        gateway.base_url = Some("https://gw.example/v1/".into());
        insta::assert_snapshot!(shown(&gateway), @"OpenAi https://gw.example/v1/chat/completions - anthropic/claude-x anthropic/claude-x");
        gateway.api_key_env = Some("GW".into());
        gateway.backend = Backend::LiterLlm;
        insta::assert_snapshot!(shown(&gateway), @"Anthropic https://gw.example/v1/messages key-of-GW claude-x anthropic/claude-x");
        let mut compatible = settings("claude-x");
        compatible.backend = Backend::OpenAiCompat;
        assert_eq!(target(&compatible), Err(NoClient::NoProvider { model: "claude-x".into() }));
    }

    #[test]
    fn a_repository_chooses_neither_model_nor_the_way_of_a_key() {
        let mut cloned = settings("claude-x");
        cloned.model.as_mut().unwrap().from_repository = true;
        assert_eq!(
            target(&cloned),
            Err(NoClient::ModelFromRepository { model: "claude-x".into() })
        );
        let mut routed = settings("x");
        routed.provider = Some(Named { name: "gemini".into(), from_repository: true });
        assert_eq!(target(&routed).unwrap().dialect, Dialect::Gemini);
        routed.api_key_env = Some("OPENAI_API_KEY".into());
        assert_eq!(
            target(&routed),
            Err(NoClient::ProviderFromRepository { provider: "gemini".into() })
        );
        routed.base_url = Some("https://gw.example/v1".into());
        assert!(target(&routed).is_ok());
    }

    #[test]
    fn nothing_goes_out_without_leave_model_and_key() {
        assert_eq!(target(&LlmSettings::default()), Err(NoClient::NetworkDisabled));
        let unnamed = LlmSettings { allow_network: true, ..LlmSettings::default() };
        assert_eq!(target(&unnamed), Err(NoClient::NoModel));
        for name in ["", "a b", "gpt-é", "gemini-x/../y", "gemini-?"] {
            let error = target(&settings(name)).unwrap_err();
            let provider = NoClient::NoProvider { model: name.into() };
            assert!(
                error == NoClient::BadModel { model: name.into() } || error == provider,
                "{name}"
            );
        }
        let none = Target::of(&settings("gemini-x"), &|_| None);
        assert_eq!(none, Err(NoClient::NoKey { variable: "GEMINI_API_KEY".into() }));
        let second = Target::of(&settings("gemini-x"), &|name| {
            (name == "GOOGLE_API_KEY").then(|| " k \n".to_owned())
        });
        assert_eq!(second.unwrap().key, Some(Secret("k".into())));
        let broken = Target::of(&settings("gpt-4o"), &|_| Some("a\nb".into()));
        assert_eq!(broken, Err(NoClient::BadKey { variable: "OPENAI_API_KEY".into() }));
    }

    #[test]
    fn only_this_machine_and_listed_hosts_go_without_tls() {
        let mut plain = settings("m");
        for url in
            ["http://127.0.0.1:4000", "http://localhost/v1", "http://[::1]:1/", "http://127.9.9.9"]
        {
            plain.base_url = Some(url.into());
            assert!(!target(&plain).unwrap().tls, "{url}");
        }
        plain.base_url = Some("http://gw.mesh:4000/v1".into());
        plain.plain_http_hosts = vec!["GW.mesh".into()];
        assert_eq!(target(&plain), Err(NoClient::PlainHttp { host: "gw.mesh".into() }));
        plain.allow_plain_http = true;
        assert!(target(&plain).is_ok());
        plain.plain_http_hosts = vec!["gw.mesh:4000".into()];
        assert!(target(&plain).is_ok());
        plain.plain_http_hosts = vec!["gw.mesh:4001".into()];
        assert!(target(&plain).is_err());
        for lookalike in ["http://127.0.0.1.evil.example", "http://localhost.evil.example/"] {
            plain.base_url = Some(lookalike.into());
            assert!(target(&plain).is_err(), "{lookalike}");
        }
    }

    #[test]
    fn roots_that_cannot_be_ones() {
        let mut broken = settings("m");
        let lines = [
            "",
            "gw.example",
            "/v1",
            "ftp://gw.example",
            "https://user:secret@gw.example",
            "https://gw.example/?key=1",
            "https://gw.example/#x",
            "https:///v1",
        ]
        .map(|url| {
            broken.base_url = Some(url.into());
            format!("{url}: {}", shown(&broken))
        });
        insta::assert_snapshot!(lines.join("\n"));
    }
}
