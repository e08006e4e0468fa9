//! What programs learn of the environment.

use std::collections::BTreeMap;

use proctor_harness::Adapter;

/// What the commands of cases get: no credential is among it.
pub(super) const COMMAND_VARIABLES: &[&str] =
    &["PATH", "HOME", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "LANGUAGE", "LC_*", "CI"];

/// What every agent program gets beside what it names itself: no credential is among it.
const AGENT_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TERM",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// The environment of an agent program: its own credentials, and none of clouds and forges. Where
/// the user works is not in it either, since the skills lie there.
pub(super) fn agent(
    env: &BTreeMap<String, String>,
    adapter: &dyn Adapter,
) -> BTreeMap<String, String> {
    let mut own = scrubbed(env, AGENT_VARIABLES);
    own.extend(scrubbed(env, adapter.variables()));
    own
}

/// The variables of `env` that `names` lists. A name that ends in `*` means all that begin so.
pub(super) fn scrubbed(env: &BTreeMap<String, String>, names: &[&str]) -> BTreeMap<String, String> {
    let listed = |variable: &str| {
        names.iter().any(|name| match name.strip_suffix('*') {
            Some(prefix) => variable.starts_with(prefix),
            None => variable == *name,
        })
    };
    let kept = env.iter().filter(|(name, _)| listed(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_left() {
        let env = ["PATH", "LC_ALL", "LC_CTYPE", "LCX", "AWS_SECRET", "PATH_X", "CI"];
        let env = env.map(|name| (name.to_owned(), "1".to_owned())).into();
        let kept: Vec<String> = scrubbed(&env, COMMAND_VARIABLES).into_keys().collect();
        assert_eq!(kept, ["CI", "LC_ALL", "LC_CTYPE", "PATH"]);
    }

    #[test]
    fn an_agent_gets_its_own_credentials_alone() {
        let names = [
            "PATH",
            "PWD",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "CLAUDECODE",
        ];
        let env = names.map(|name| (name.to_owned(), "1".to_owned())).into();
        for (harness, expected) in [
            ("claude", vec!["ANTHROPIC_API_KEY", "PATH"]),
            ("codex", vec!["OPENAI_API_KEY", "PATH"]),
            ("scripted", vec!["PATH"]),
        ] {
            let adapter = proctor_harness::find(harness).unwrap();
            assert!(agent(&env, adapter).into_keys().eq(expected), "{harness}");
        }
    }
}
