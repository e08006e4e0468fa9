//! What programs learn of the environment.

use std::collections::BTreeMap;

/// What the commands of cases get: no credential is among it.
pub(super) const COMMAND_VARIABLES: &[&str] =
    &["PATH", "HOME", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "LANGUAGE", "LC_*", "CI"];

/// What Claude Code gets: its own credentials, and none of clouds and forges.
pub(super) const CLAUDE_VARIABLES: &[&str] = &[
    "PATH",
    "USER",
    "HOME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "CLAUDE_CONFIG_DIR",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
];

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
}
