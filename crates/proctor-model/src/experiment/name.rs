//! Names that passed their rule.

use std::fmt;
use std::str::FromStr;

use camino::Utf8Path;
use serde::Serialize;

/// The longest name, in bytes: several of them are joined to ids and file names.
pub const MAX_NAME: usize = 100;

/// Why a text is no name of its kind. Displays as what was expected instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameError(&'static str);

impl NameError {
    /// What was expected, with its article.
    pub fn expected(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.0)
    }
}

impl std::error::Error for NameError {}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $accepts:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                let accepts: fn(&str) -> bool = $accepts;
                if text.len() <= MAX_NAME && accepts(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(NameError($expected))
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

name_type!(
    /// A kebab-case id: of an experiment, a prompt, an extension, a test.
    Slug,
    is_kebab,
    "a kebab-case name of at most 100 characters: a-z, 0-9 and single `-` between them"
);

name_type!(
    /// The name of an environment or a product, or one that only messages show: any text on one
    /// line. It is a coordinate of variant ids, so it holds no `::`.
    Name,
    |text| !text.trim().is_empty() && !text.contains("::") && !text.chars().any(char::is_control),
    "a name of at most 100 bytes on one line, without `::`"
);

name_type!(
    /// The name of an agent program.
    AgentName,
    |text| begins_alphanumeric(text) && text.bytes().all(is_word),
    "an agent's name: letters, digits, `.`, `_` and `-`, at most 100, the first a letter or digit"
);

name_type!(
    /// The name of an environment variable.
    VariableName,
    |text| !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
    "a variable's name: letters, digits and `_`, at most 100, the first no digit"
);

name_type!(
    /// The name under which a secret is kept: what stands behind `axp://secrets/`.
    SecretSlug,
    |text| begins_alphanumeric(text) && text.bytes().all(is_word),
    "a secret's name: letters, digits, `.`, `_` and `-`, at most 100, the first a letter or digit"
);

/// Every variable may name a secret.
impl From<&VariableName> for SecretSlug {
    fn from(name: &VariableName) -> Self {
        Self(name.0.clone())
    }
}

/// `a-z`, `0-9`, and single dashes between them.
fn is_kebab(text: &str) -> bool {
    text.split('-').all(|word| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
}

fn begins_alphanumeric(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

/// A place below the workspace: relative, without `.` and `..` segments, separated by `/`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Dest(String);

impl Dest {
    /// The longest, in bytes.
    pub const MAX: usize = 1024;

    /// The place, to be joined to the workspace.
    pub fn as_path(&self) -> &Utf8Path {
        Utf8Path::new(&self.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The place of an entry below this one; `None` when `relative` is no place.
    pub fn join(&self, relative: &str) -> Option<Self> {
        format!("{}/{relative}", self.0).parse().ok()
    }

    /// Whether one of the two is the other or lies below it, so that both cannot be files.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.as_path().starts_with(other.as_path()) || other.as_path().starts_with(self.as_path())
    }
}

impl FromStr for Dest {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        const EXPECTED: &str =
            "a path below the workspace, at most 1024 bytes: relative, without `..`";
        let bad = text.len() > Self::MAX
            || text.starts_with('/')
            || text.chars().any(char::is_control)
            || text.split('/').any(|segment| segment == ".." || segment.len() > 255);
        let segments: Vec<&str> =
            text.split('/').filter(|segment| !segment.is_empty() && *segment != ".").collect();
        if bad || segments.is_empty() {
            return Err(NameError(EXPECTED));
        }
        Ok(Self(segments.join("/")))
    }
}

impl fmt::Display for Dest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kebab() {
        for good in ["a", "cold", "agent-native", "gpt-5", "0"] {
            assert!(good.parse::<Slug>().is_ok(), "{good}");
        }
        let long = "a".repeat(MAX_NAME + 1);
        for bad in ["", "-", "a-", "-a", "a--b", "A", "a_b", "a.b", "a b", "ä", "a\n", &long] {
            assert!(bad.parse::<Slug>().is_err(), "{bad}");
        }
    }

    #[test]
    fn other_names() {
        assert!("docker host".parse::<Name>().is_ok());
        for bad in ["", "  ", "a::b", "a\nb"] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
        assert!("../x".parse::<AgentName>().is_err());
        assert!("claude-2.1".parse::<AgentName>().is_ok());
        assert!("1A".parse::<VariableName>().is_err());
        assert!("_A1".parse::<VariableName>().is_ok());
        assert!("team/key".parse::<SecretSlug>().is_err());
    }

    #[test]
    fn destinations_stay_below_the_workspace() {
        assert_eq!("./a//b/".parse::<Dest>().unwrap().as_str(), "a/b");
        for bad in ["", ".", "/", "/a", "..", "a/../b", "a\0b"] {
            assert!(bad.parse::<Dest>().is_err(), "{bad}");
        }
        let dest = |text: &str| text.parse::<Dest>().unwrap();
        assert!(dest("a/b").overlaps(&dest("a")));
        assert!(!dest("a/b").overlaps(&dest("a/bc")));
        assert_eq!(dest("a").join("b/c"), Some(dest("a/b/c")));
        assert_eq!(dest("a").join("../c"), None);
    }
}
