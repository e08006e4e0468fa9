//! The assertions of a case.

use proctor_model::eval::Assertion;
use proctor_model::eval::re2::{self, SIZE_LIMIT};

use super::paths::relative_path;
use crate::tree::{Field, Object, Problems, boolean, choice, non_blank, text, whole_number};

/// The keys of an assertion.
pub(super) const ASSERTION_KEYS: [&str; 6] =
    ["type", "value", "path", "exists", "command", "exit_code"];

/// What an assertion looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Contains,
    NotContains,
    Regex,
    FileExists,
    CommandExit,
}

impl Type {
    pub(super) const ALL: [Self; 5] =
        [Self::Contains, Self::NotContains, Self::Regex, Self::FileExists, Self::CommandExit];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Contains => "contains",
            Self::NotContains => "not_contains",
            Self::Regex => "regex",
            Self::FileExists => "file_exists",
            Self::CommandExit => "command_exit",
        }
    }

    /// The keys that say nothing for this type.
    pub(super) fn refused(self) -> &'static [&'static str] {
        match self {
            Self::Contains | Self::NotContains | Self::Regex => &["exists", "command", "exit_code"],
            Self::FileExists => &["value", "command", "exit_code"],
            Self::CommandExit => &["value", "path", "exists"],
        }
    }
}

/// Reads one assertion.
pub(super) fn read_assertion(field: &Field<'_>, problems: &mut Problems) -> Option<Assertion> {
    let object = Object::at(field, "an assertion object", problems)?;
    object.deny_unknown(&ASSERTION_KEYS, problems);
    let types = Type::ALL.map(|kind| (kind.name(), kind));
    let kind = object.required("type", problems, choice(&types))?;
    for key in kind.refused() {
        if let Some(member) = object.get(key) {
            let message = format!("does not belong to an assertion of type `{}`", kind.name());
            problems.push(object.key_error(member, message).hint("remove it"));
        }
    }
    match kind {
        Type::Contains | Type::NotContains | Type::Regex => text_assertion(kind, &object, problems),
        Type::FileExists => {
            let path = object.required("path", problems, relative_path);
            let exists = object.or("exists", true, problems, boolean);
            Some(Assertion::FileExists { path: path?, exists: exists? })
        }
        Type::CommandExit => {
            let command = object.required("command", problems, command);
            let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
            let exit_code = object.or("exit_code", 0, problems, whole_number(range));
            let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
            Some(Assertion::CommandExit { command: command?, exit_code: exit_code? })
        }
    }
}

fn text_assertion(kind: Type, object: &Object<'_>, problems: &mut Problems) -> Option<Assertion> {
    let value = object.required("value", problems, |field, problems| {
        let value = text(field, problems)?;
        if value.is_empty() {
            problems.push(field.expected("a string that is not empty"));
            return None;
        }
        if kind == Type::Regex
            && let Err(message) = check_pattern(&value)
        {
            let message = format!("is no pattern of RE2: {message}");
            problems.push(field.error(message));
            return None;
        }
        Some(value)
    });
    let path = object.optional("path", problems, relative_path);
    let (value, path) = (value?, path?);
    Some(match kind {
        Type::Contains => Assertion::Contains { value, path },
        Type::NotContains => Assertion::NotContains { value, path },
        _ => Assertion::Regex { value, path },
    })
}

fn command(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let command = non_blank(field, problems)?;
    if command.contains('\0') {
        problems.push(field.error("contains a NUL character, which no program can be given"));
        return None;
    }
    Some(command)
}

/// So long a pattern compiles to less than [`SIZE_LIMIT`] when nothing in it is counted or names a
/// Unicode class.
const SURELY_SMALL: usize = 1000;

/// Whether the pattern compiles, and why not. To compile a pattern takes many times as long as to
/// parse it, and most need no more than that to be known as good.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    const NO_CLASS: &str = "it names a class of characters that does not exist";
    let rust = re2::translate(pattern).map_err(|error| error.to_string())?;
    if rust.len() < SURELY_SMALL && !rust.contains('{') {
        return regex_syntax::parse(&rust).map(drop).map_err(|_| NO_CLASS.to_owned());
    }
    match regex::RegexBuilder::new(&rust).size_limit(SIZE_LIMIT).build() {
        Ok(_) => Ok(()),
        Err(regex::Error::CompiledTooBig(limit)) => {
            Err(format!("it takes more than {limit} bytes when compiled"))
        }
        Err(_) => Err(NO_CLASS.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        let rust = re2::translate(pattern).unwrap();
        regex::Regex::new(&rust).unwrap_or_else(|e| panic!("{pattern}: {e}")).is_match(text)
    }

    #[test]
    fn patterns_match_as_in_re2() {
        for (pattern, text, expected) in [
            (r"deployed \d+ services?", "deployed 3 services", true),
            (r"^\d$", "\u{663}", false),
            (r"^\w$", "é", false),
            (r"\bé", "é", false),
            (r"\Bé", "é", true),
            (r"a\b", "aé", true),
            (r"^\s$", "\u{a0}", false),
            (r"^\s$", "\u{b}", false),
            (r"^.$", "é", true),
            (r"^.$", "\n", false),
            (r"(?s)^.$", "\n", true),
            (r"^b$", "a\nb", false),
            (r"(?m)^b$", "a\nb", true),
            (r"b\z", "b\n", false),
            (r"(?i)STRASSE", "strasse", true),
            (r"(?U)a+", "aa", true),
            (r"[[a]", "[", true),
            (r"[^a]", "\n", true),
            (r"\pN\p{Greek}\P{Lu}", "1αa", true),
            (r"[\pL\d]{2}", "é1", true),
            (r"\Q.*\E", "a.*", true),
            (r"x{,2}", "x{,2}", true),
            (r"(?P<a>x)(?:y)*", "xyy", true),
            (r"^*a", "a", true),
            ("a|", "", true),
            ("()", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text:?}");
        }
    }

    #[test]
    fn patterns_that_do_not_compile_say_why() {
        assert_eq!(
            check_pattern(r"\p{Klingon}").unwrap_err(),
            "it names a class of characters that does not exist"
        );
        let large = r"\pL{900}\pL{900}\pL{900}";
        assert!(check_pattern(large).unwrap_err().contains("more than 1048576 bytes"));
        assert!(check_pattern("(").unwrap_err().contains("at byte 0"));
        assert!(check_pattern(r"[\w.-]+@[\w-]+\.\w{2,}").is_ok());
    }

    const PIECES: [&str; 44] = [
        "a",
        "é",
        "^",
        "$",
        ".",
        "*",
        "+",
        "?",
        "{2}",
        "{2,}",
        "{,3}",
        "{",
        "}",
        "|",
        "(",
        "(?:",
        "(?i)",
        "(?-s:",
        "(?Um-i)",
        "(?P<n>",
        ")",
        "[",
        "[^",
        "]",
        "-",
        "[:alpha:]",
        "[:^word:]",
        "\\d",
        "\\W",
        "\\b",
        "\\B",
        "\\pL",
        "\\P{Greek}",
        "\\Q",
        "\\E",
        "\\n",
        "\\x41",
        "\\07",
        "\\.",
        "&&",
        "~~",
        "--",
        "#",
        " ",
    ];

    proptest! {
        /// Whatever the translation takes, the engine takes.
        #[test]
        fn translations_are_patterns(
            pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..10),
        ) {
            let pattern = pieces.concat();
            if let Ok(rust) = re2::translate(&pattern) {
                prop_assert!(regex_syntax::parse(&rust).is_ok(), "{pattern} became {rust}");
            }
        }
    }

    #[test]
    fn what_is_taken_for_small_is_small() {
        for piece in
            [".", "[^a]", "(?i:k)", r"\W", "(?s:.)", "(é|[^é])", "([^x]*)*", r"[[:^ascii:]]"]
        {
            let pattern = piece.repeat(SURELY_SMALL);
            let rust = re2::translate(&pattern).unwrap();
            let short: String = rust.chars().take(SURELY_SMALL).collect();
            // A cut may split a piece; what is left before it is as long as matters.
            let whole = (0..short.len()).rev().filter(|end| short.is_char_boundary(*end));
            let fits = whole.take(20).find_map(|end| {
                regex_syntax::parse(&short[..end]).ok().map(|_| short[..end].to_owned())
            });
            let fits = fits.unwrap_or_else(|| panic!("{piece}"));
            regex::RegexBuilder::new(&fits).size_limit(SIZE_LIMIT).build().unwrap();
        }
    }
}
