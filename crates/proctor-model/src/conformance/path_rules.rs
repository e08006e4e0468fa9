//! What a fixture may write as `path` or `glob`, decided from the text alone.
//!
//! Both separators split, on every platform, so that a fixture means the same everywhere and no
//! `..\` slips through where only `/` separates. Links are a matter of the workspace, not of the
//! text: `proctor-grade` follows them.

use std::fmt;

use super::fixture::Target;

/// Directories that result-phase checks leave out, at any depth.
pub const EXCLUDED_IN_RESULT: [&str; 3] = [".git", ".cratis", "node_modules"];

/// The directory that install-phase checks see only when they name it.
pub const NAMED_IN_INSTALL: &str = ".cratis";

/// Why a path or glob can never be accepted. Displays as a fragment that completes
/// "`path` ...".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offence {
    /// Nothing but separators and `.` segments.
    Empty,
    /// A NUL character.
    Nul,
    /// A leading `/` or `\`.
    Absolute,
    /// Two leading separators: a network share.
    Unc,
    /// A leading drive letter, `C:`.
    Drive,
    /// A `..` segment.
    Parent,
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "names no file",
            Self::Nul => "contains a NUL character",
            Self::Absolute => "is absolute; write it relative to the workspace",
            Self::Unc => "names a network share; write it relative to the workspace",
            Self::Drive => "starts with a drive letter; write it relative to the workspace",
            Self::Parent => "contains a `..` segment; it may not leave the workspace",
        })
    }
}

/// The segments of a path or glob: split on `/` and `\`, without empty and `.` segments.
pub fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(['/', '\\']).filter(|segment| !segment.is_empty() && *segment != ".")
}

/// The first reason for which `text` may not stand as `path` or `glob`.
pub fn static_offence(text: &str) -> Option<Offence> {
    let bytes = text.as_bytes();
    let separator = |at: usize| matches!(bytes.get(at), Some(b'/' | b'\\'));
    if bytes.contains(&0) {
        return Some(Offence::Nul);
    }
    if separator(0) {
        return Some(if separator(1) { Offence::Unc } else { Offence::Absolute });
    }
    if bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':') {
        return Some(Offence::Drive);
    }
    if segments(text).any(|segment| segment == "..") {
        return Some(Offence::Parent);
    }
    segments(text).next().is_none().then_some(Offence::Empty)
}

/// The excluded directory that a result-phase `path`, or the literal prefix of a `glob` (the
/// segments before the first `*`), lies in. Such a check sees no file whatever the agent does.
///
/// A `path` has no wildcards, so pass it through [`excluded_target`] when it may contain `*`.
pub fn inside_excluded(text: &str) -> Option<&'static str> {
    excluded_in(segments(text).take_while(|segment| !segment.contains('*')))
}

/// [`inside_excluded`] for a target: every segment of a path counts, `*` included.
pub fn excluded_target(target: &Target) -> Option<&'static str> {
    match target {
        Target::Path(path) => excluded_in(segments(path)),
        Target::Glob(glob) => inside_excluded(glob),
    }
}

/// Whether the first segment is literally `.cratis`: only then does an install-phase glob look
/// into it.
pub fn names_cratis(text: &str) -> bool {
    segments(text).next() == Some(NAMED_IN_INSTALL)
}

fn excluded_in<'a>(mut segments: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    segments.find_map(|segment| EXCLUDED_IN_RESULT.into_iter().find(|name| *name == segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offences_are_named() {
        for (text, expected) in [
            ("", Some(Offence::Empty)),
            ("./", Some(Offence::Empty)),
            ("a\0b", Some(Offence::Nul)),
            ("/etc/passwd", Some(Offence::Absolute)),
            ("\\windows", Some(Offence::Absolute)),
            ("\\\\server\\share", Some(Offence::Unc)),
            ("//server/share", Some(Offence::Unc)),
            ("C:\\x", Some(Offence::Drive)),
            ("c:x", Some(Offence::Drive)),
            ("..", Some(Offence::Parent)),
            ("a/../b", Some(Offence::Parent)),
            ("a\\..\\b", Some(Offence::Parent)),
            ("**/..", Some(Offence::Parent)),
            ("a..b/...", None),
            ("./a/.b", None),
            ("**/result.txt", None),
            ("é:x", None),
        ] {
            assert_eq!(static_offence(text), expected, "{text:?}");
        }
    }

    #[test]
    fn excluded_directories_are_found_at_any_depth_of_the_literal_prefix() {
        for (text, expected) in [
            (".cratis/ai/rules/general.md", Some(".cratis")),
            ("./.git\\config", Some(".git")),
            ("web/node_modules/x/**", Some("node_modules")),
            ("node_modules", Some("node_modules")),
            ("**/node_modules/x", None),
            ("src*/.git/x", None),
            (".gitignore", None),
            (".GIT/config", None),
        ] {
            assert_eq!(inside_excluded(text), expected, "{text:?}");
        }
        assert_eq!(excluded_target(&Target::Path("a*/.git/x".into())), Some(".git"));
        assert_eq!(excluded_target(&Target::Glob("a*/.git/x".into())), None);
    }

    #[test]
    fn only_a_first_segment_names_cratis() {
        assert!(names_cratis(".cratis/ai"));
        assert!(names_cratis("./.cratis"));
        assert!(!names_cratis("**/.cratis/ai"));
        assert!(!names_cratis(".cratis*/ai"));
    }
}
