//! Which values are secrets, and the byte sequences that give them away.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::MARK;

/// Values shorter than this, in characters, are never redacted: too many ordinary words would go.
pub(crate) const SHORTEST: usize = 8;

/// Words that people put into variables named like secrets, and that reports are full of.
const PLAIN_WORDS: [&str; 60] = [
    "absolute",
    "activated",
    "allowlist",
    "anonymous",
    "application",
    "authenticated",
    "authentication",
    "authorization",
    "automatic",
    "available",
    "certificate",
    "changeme",
    "cleartext",
    "completed",
    "configured",
    "credential",
    "credentials",
    "deactivated",
    "development",
    "disabled",
    "encrypted",
    "environment",
    "external",
    "filesystem",
    "generated",
    "identity",
    "inactive",
    "inherited",
    "installed",
    "instance",
    "interactive",
    "internal",
    "keychain",
    "libsecret",
    "localhost",
    "metadata",
    "namespace",
    "notfound",
    "optional",
    "passphrase",
    "password",
    "passwordless",
    "permanent",
    "persistent",
    "placeholder",
    "plaintext",
    "production",
    "redacted",
    "repository",
    "required",
    "resource",
    "security",
    "standard",
    "temporary",
    "undefined",
    "unlimited",
    "unrestricted",
    "username",
    "validation",
    "workspace",
];

/// First segments of absolute paths that are places and not secrets. Base64 text may start with
/// `/` too, so a leading slash alone proves nothing.
const ROOTS: [&str; 30] = [
    "Applications",
    "Library",
    "Users",
    "Volumes",
    "app",
    "bin",
    "boot",
    "builds",
    "data",
    "dev",
    "etc",
    "github",
    "home",
    "lib",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "snap",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
    "workspace",
];

/// Whether the name of an environment variable says that its value is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET"].iter().any(|word| name.contains(word))
}

/// The secrets among `values`, and how many others were left out because redacting them would
/// blank a report.
pub(crate) fn select(values: impl IntoIterator<Item = String>) -> (BTreeSet<String>, usize) {
    let mut secrets = BTreeSet::new();
    let mut skipped = BTreeSet::new();
    for value in values {
        if value.chars().count() < SHORTEST {
            continue;
        }
        // A value read from a file often ends in a line break that no report repeats.
        let trimmed = value.trim();
        let secret = if trimmed.chars().count() < SHORTEST { &value } else { trimmed };
        if is_ordinary(secret) {
            skipped.insert(secret.to_owned());
        } else {
            secrets.insert(secret.to_owned());
        }
    }
    (secrets, skipped.len())
}

fn is_ordinary(value: &str) -> bool {
    let word = value.to_ascii_lowercase();
    value.trim().is_empty()
        || PLAIN_WORDS.binary_search(&word.as_str()).is_ok()
        || MARK.contains(value)
        || value.contains(MARK)
        || is_path(value)
}

fn is_path(value: &str) -> bool {
    let relative = ["~/", "./", "../", ".\\", "..\\"];
    if relative.iter().any(|start| value.starts_with(start)) {
        return true;
    }
    match value.as_bytes() {
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        [b'/', ..] => {
            value.split('/').nth(1).is_some_and(|root| ROOTS.binary_search(&root).is_ok())
        }
        _ => false,
    }
}

/// An automaton that finds every secret, also inside base64 text; `None` without secrets.
///
/// Building fails only when the secrets are too large for the automaton (gigabytes); the
/// environment of a process cannot hold that much.
pub(crate) fn automaton(secrets: &BTreeSet<String>) -> Option<AhoCorasick> {
    let needles: BTreeSet<Vec<u8>> =
        secrets.iter().flat_map(|secret| needles(secret.as_bytes())).collect();
    if needles.is_empty() {
        return None;
    }
    // Up to a few MiB of tables are worth the speed; beyond that the automaton decides.
    let length: usize = needles.iter().map(Vec::len).sum();
    let kind = (length <= 32 * 1024).then_some(AhoCorasickKind::DFA);
    AhoCorasick::builder().match_kind(MatchKind::Standard).kind(kind).build(needles).ok()
}

/// The secret itself, and what it looks like inside base64 text at each of the three alignments.
///
/// Base64 maps 3 bytes to 4 characters, so a secret that follows `k` bytes (mod 3) starts inside
/// a character: that character and the last one depend on the neighbours and are left out.
fn needles(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut needles = vec![secret.to_vec()];
    for before in 0..3 {
        let mut padded = vec![0; before];
        padded.extend_from_slice(secret);
        let inner = (before * 8).div_ceil(6)..padded.len() * 8 / 6;
        for encoded in [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            if let Some(needle) = encoded.as_bytes().get(inner.clone()) {
                needles.push(needle.to_vec());
            }
        }
    }
    needles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_for_the_search() {
        assert!(PLAIN_WORDS.is_sorted());
        assert!(ROOTS.is_sorted());
    }

    #[test]
    fn names_count_in_any_case() {
        for name in ["API_KEY", "my_token", "SecretSauce", "MONKEY"] {
            assert!(is_secret_name(name), "{name}");
        }
        assert!(!is_secret_name("PASSWORD"));
    }

    #[test]
    fn short_plain_and_path_values_are_no_secrets() {
        for (value, redacted, skipped) in [
            ("1234567", 0, 0),
            ("12345678", 1, 0),
            ("ééééééé", 0, 0),
            ("éééééééé", 1, 0),
            ("supersecretvalue", 1, 0),
            ("password", 0, 1),
            ("Disabled", 0, 1),
            ("        ", 0, 1),
            ("redacted", 0, 1),
            ("x[redacted]x", 0, 1),
            ("/home/me/.ssh/id_ed25519", 0, 1),
            ("~/keys/a", 0, 1),
            ("C:\\Users\\me\\key.pem", 0, 1),
            ("/wJalrXUtnFEMI/K7MDENG/bPxRfiCY", 1, 0),
            ("abcdefgh\n", 1, 0),
        ] {
            let (secrets, count) = select([value.to_owned()]);
            assert_eq!((secrets.len(), count), (redacted, skipped), "{value:?}");
        }
        let (secrets, _) = select(["abcdefgh\n".to_owned()]);
        assert!(secrets.contains("abcdefgh"));
    }

    #[test]
    fn a_secret_is_found_at_every_alignment() {
        let secret = "s3cr3t-value";
        let needles = needles(secret.as_bytes());
        for before in ["", "a", "ab", "abc"] {
            for after in ["", "y", "yz"] {
                let encoded = STANDARD_NO_PAD.encode(format!("{before}{secret}{after}"));
                assert!(
                    needles.iter().any(|needle| {
                        encoded.as_bytes().windows(needle.len()).any(|window| window == needle)
                    }),
                    "{before:?} {after:?}"
                );
            }
        }
    }
}
