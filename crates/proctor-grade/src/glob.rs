//! Globs of fixtures: `*` within a segment, `**` as a whole segment, everything else literal.

use proctor_model::conformance::path_rules::segments;

/// A compiled glob.
///
/// `**` as a whole segment crosses zero or more directories; as the last segment it stands for the
/// files at any depth, as `**/*` does. `*` stands for any run of characters within a segment, dot
/// files included. Case counts on every platform. Nothing else is special.
#[derive(Debug)]
pub struct Glob {
    segments: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
    /// `**`.
    Any,
    /// A name: the texts between its `*`s.
    Name(Vec<String>),
}

/// How much of a glob a path has matched so far: positions in the glob, sorted. There are never
/// more of them than the glob has segments, which keeps matching polynomial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress(Vec<usize>);

impl Glob {
    /// Compiles `text`, which `proctor_model::conformance::path_rules` accepted.
    pub fn new(text: &str) -> Self {
        let mut compiled = Vec::new();
        for segment in segments(text) {
            match (segment, compiled.last()) {
                ("**", Some(Segment::Any)) => {}
                ("**", _) => compiled.push(Segment::Any),
                (name, _) => {
                    compiled.push(Segment::Name(name.split('*').map(str::to_owned).collect()));
                }
            }
        }
        if let Some(Segment::Any) = compiled.last() {
            compiled.push(Segment::Name(vec![String::new(); 2]));
        }
        Self { segments: compiled }
    }

    /// The progress at the root.
    pub fn start(&self) -> Progress {
        self.closed(vec![0])
    }

    /// The progress after one more segment of a path, which need not be UTF-8.
    pub fn step(&self, progress: &Progress, name: &[u8]) -> Progress {
        let next = progress.0.iter().filter_map(|at| match self.segments.get(*at)? {
            Segment::Any => Some(*at),
            Segment::Name(parts) => matches(parts, name).then_some(at + 1),
        });
        self.closed(next.collect())
    }

    /// Whether a path with this progress matches.
    pub fn is_match(&self, progress: &Progress) -> bool {
        progress.0.last() == Some(&self.segments.len())
    }

    /// Whether a longer path could match.
    pub fn can_continue(&self, progress: &Progress) -> bool {
        progress.0.first().is_some_and(|at| *at < self.segments.len())
    }

    /// Whether the whole relative path matches.
    pub fn matches(&self, path: &str) -> bool {
        let end = path.split('/').fold(self.start(), |at, name| self.step(&at, name.as_bytes()));
        self.is_match(&end)
    }

    /// Adds what `**` reaches by crossing no directory.
    fn closed(&self, mut positions: Vec<usize>) -> Progress {
        let crossed =
            positions.iter().filter(|at| matches!(self.segments.get(**at), Some(Segment::Any)));
        let crossed: Vec<usize> = crossed.map(|at| at + 1).collect();
        positions.extend(crossed);
        positions.sort_unstable();
        positions.dedup();
        Progress(positions)
    }
}

/// Whether `name` is the `parts` in order with anything between them. Taking each part at its
/// first place leaves the most room for the rest, so there is nothing to come back to.
fn matches(parts: &[String], name: &[u8]) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| only.as_bytes() == name);
    };
    let Some(mut rest) = name.strip_prefix(first.as_bytes()) else { return false };
    for part in middle {
        match memchr::memmem::find(rest, part.as_bytes()) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last.as_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn documented_meanings() {
        for (glob, path, expected) in [
            ("**/result.txt", "result.txt", true),
            ("**/result.txt", "a/b/result.txt", true),
            ("**/result.txt", "a/xresult.txt", false),
            ("*.md", "a.md", true),
            ("*.md", ".md", true),
            ("*.md", "a/b.md", false),
            ("*", ".hidden", true),
            ("a/**", "a/b/c", true),
            ("a/**", "a", false),
            ("**", "a", true),
            ("**", "a/b", true),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a/**/b", "ab", false),
            ("**/**/b", "b", true),
            ("a**b", "axxb", true),
            ("a**b", "a/b", false),
            ("*a*", "bab", true),
            ("a*a", "a", false),
            ("a*ab", "aab", true),
            ("[ab]?{c}", "[ab]?{c}", true),
            ("[ab]", "a", false),
            ("README", "readme", false),
            ("./a\\b", "a/b", true),
        ] {
            assert_eq!(Glob::new(glob).matches(path), expected, "{glob} {path}");
        }
    }

    #[test]
    fn hostile_globs_end() {
        let glob = Glob::new(&format!("{}{}", "**/".repeat(200), "*a".repeat(200)));
        assert!(!glob.matches(&format!("{}b", "a/".repeat(500))));
        assert!(!Glob::new(&"*a".repeat(2_000)).matches(&"a".repeat(1_999)));
        assert!(!Glob::new(&format!("{}x", "**/a/".repeat(300))).matches(&"a/".repeat(1_000)));
    }

    /// Straight from the definition, exponential.
    fn oracle(glob: &[&str], path: &[&str]) -> bool {
        match (glob, path) {
            ([], []) => true,
            (["**"], path) => !path.is_empty(),
            (["**", rest @ ..], _) if oracle(rest, path) => true,
            (["**", ..], [_, path @ ..]) => oracle(glob, path),
            ([name, glob @ ..], [segment, path @ ..]) => {
                oracle_name(name.as_bytes(), segment.as_bytes()) && oracle(glob, path)
            }
            _ => false,
        }
    }

    fn oracle_name(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) if oracle_name(rest, name) => true,
            ([b'*', ..], [_, name @ ..]) => oracle_name(pattern, name),
            ([p, pattern @ ..], [n, name @ ..]) => p == n && oracle_name(pattern, name),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(
            glob in prop::collection::vec("\\*\\*|[ab*]{1,4}", 1..5),
            path in prop::collection::vec("[ab]{1,4}", 1..5),
        ) {
            let (glob, path): (Vec<&str>, Vec<&str>) =
                (glob.iter().map(String::as_str).collect(), path.iter().map(String::as_str).collect());
            let expected = oracle(&glob, &path);
            prop_assert_eq!(Glob::new(&glob.join("/")).matches(&path.join("/")), expected);
        }

        #[test]
        fn a_dead_end_stays_one(
            glob in prop::collection::vec("\\*\\*|[ab*]{1,3}", 1..5),
            path in prop::collection::vec("[ab]{1,3}", 1..6),
        ) {
            let glob = Glob::new(&glob.join("/"));
            let mut progress = glob.start();
            for name in &path {
                let alive = glob.can_continue(&progress);
                progress = glob.step(&progress, name.as_bytes());
                prop_assert!(alive || !glob.is_match(&progress));
            }
        }
    }
}
