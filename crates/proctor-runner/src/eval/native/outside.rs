//! Whether a command goes to where the skill is: the project, which a session's agent knows nothing
//! of and has no reason to enter.
//!
//! This reads commands and runs nothing. What a program does with a path that it puts together by
//! itself is not to be seen here; the [guard](super::guard) sees it.

use std::collections::BTreeMap;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};
use proctor_formats::eval::SKILL_FILE;

use super::shell::{self, Piece, Word};

/// The longest command that is followed: the system takes no longer argument (`MAX_ARG_STRLEN`).
const MAX_COMMAND: usize = 128 << 10;
/// The longest path (`PATH_MAX`).
const MAX_PATH: usize = 4096;
/// The deepest folder that is followed.
const MAX_DEPTH: usize = 64;
/// Letters that a pattern in an unknown folder needs to mean a file and not any.
const TELLING_LETTERS: usize = 4;
/// Programs that walk through whole trees.
const WALKERS: &[&str] = &["find", "fd", "fdfind", "rg", "ag", "ack", "tree", "du", "rsync", "tar"];
/// Programs that do so when an option says it.
const WALKERS_ON_REQUEST: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "ls", "cp"];
/// Words before the program of a command.
const PREFIXES: &[&str] = &[
    "sudo", "xargs", "time", "nice", "env", "command", "exec", "nohup", "if", "then", "else",
    "while", "until", "do", "!", "{",
];

/// What lies outside of the sessions' rooms and concerns the skill. A place that is reached through
/// a link has two paths.
pub(super) struct Outside {
    /// The project, or the part of it that only it has.
    projects: Vec<Vec<String>>,
    /// The skill's folder and its eval folders.
    kept: Vec<Vec<String>>,
    /// The skill's file.
    file: Vec<String>,
}

/// What a command does outside of its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// It goes through folders above the project.
    Above,
    /// It names the project, which may be by chance: its path is that short.
    Near,
    /// It goes into the project.
    Into,
    /// It goes to the skill or its cases.
    Reached,
}

/// Where a session stands.
#[derive(Clone)]
pub(super) struct Place {
    /// The folder of the moment.
    folder: Path,
    variables: BTreeMap<&'static str, Vec<String>>,
}

/// A path as a pattern.
#[derive(Clone)]
struct Path {
    /// Whether it begins at the root; otherwise somewhere.
    is_absolute: bool,
    parts: Vec<Word>,
}

impl Outside {
    /// `project` is the project, or the part of it that only it has.
    pub(super) fn new<'a>(
        project: &Utf8Path,
        skill: &'a Utf8Path,
        eval_folders: impl Iterator<Item = &'a Utf8Path>,
    ) -> Self {
        let kept = std::iter::once(skill).chain(eval_folders).flat_map(with_target);
        Self {
            projects: with_target(project).iter().map(|path| parts(path)).collect(),
            kept: kept.map(|path| parts(&path)).collect(),
            file: parts(&skill.join(SKILL_FILE)),
        }
    }

    /// Follows a command line from a place, and says the furthest that it goes.
    pub(super) fn follow(&self, line: &str, place: &mut Place) -> Option<Step> {
        let mut furthest = None;
        for words in shell::commands(start(line)) {
            let program = program(&words);
            let goes = matches!(program.as_deref(), Some("cd" | "pushd"));
            let walks = walks(program.as_deref(), &words);
            if walks {
                furthest = furthest.max(self.step(&place.folder, false, true));
            }
            for word in &words {
                let path = place.path(word);
                furthest = furthest.max(self.step(&path, goes, walks));
            }
            if goes {
                let is_option = |word: &&Word| word.first() == Some(&Piece::Char('-'));
                let target = words.iter().skip(1).rfind(|word| !is_option(word));
                place.folder = target.map_or_else(|| place.home(), |word| place.path(word));
            }
        }
        furthest
    }

    /// How far a path that an argument of a tool names goes.
    pub(super) fn path(&self, path: &str, place: &Place) -> Option<Step> {
        if path.len() > MAX_PATH {
            return None;
        }
        let commands = shell::commands(path);
        let steps = commands.iter().flatten().map(|word| {
            let path = place.path(word);
            let fixed = path.parts.iter().take_while(|part| shell::literal(part).is_some()).count();
            let above = Path { parts: path.parts.iter().take(fixed).cloned().collect(), ..path };
            self.step(&path, false, true).max(self.step(&above, false, true))
        });
        steps.max().flatten()
    }

    fn step(&self, path: &Path, goes: bool, walks: bool) -> Option<Step> {
        if !path.is_absolute {
            return self.is_file_somewhere(path).then_some(Step::Reached);
        }
        let parts = &path.parts;
        if self.kept.iter().any(|kept| parts.len() >= kept.len() && begins(kept, parts)) {
            return Some(Step::Reached);
        }
        let steps =
            self.projects.iter().filter(|project| begins(project, parts)).filter_map(|project| {
                if parts.len() < project.len() {
                    return walks.then_some(Step::Above);
                }
                let mut named = parts.iter().take(project.len());
                let is_named = named.all(|part| shell::literal(part).is_some());
                Some(match project.len() {
                    // As `/home/*/*`, which means any folder.
                    _ if !is_named && !goes => Step::Above,
                    0 | 1 => Step::Near,
                    _ => Step::Into,
                })
            });
        steps.max()
    }

    /// Whether a path in an unknown folder means the skill's file, like `.ai*/skills/*/SKILL.md`.
    fn is_file_somewhere(&self, path: &Path) -> bool {
        let characters = path.parts.iter().flatten();
        let letters = characters.filter(|p| matches!(p, Piece::Char(c) if c.is_alphanumeric()));
        path.parts.len() > 1
            && letters.count() >= TELLING_LETTERS
            && self.file.len().checked_sub(path.parts.len()).is_some_and(|start| {
                let tail = self.file.iter().skip(start);
                tail.zip(&path.parts).all(|(name, part)| matches(part, name))
            })
    }
}

impl Place {
    /// A session's workspace, and the folders that its environment names.
    pub(super) fn new<'a>(
        workspace: &Utf8Path,
        variables: impl Iterator<Item = (&'static str, &'a str)>,
    ) -> Self {
        let folder = Path::of(&parts(workspace));
        let variables = variables.map(|(name, path)| (name, parts(Utf8Path::new(path)))).collect();
        Self { folder, variables }
    }

    fn home(&self) -> Path {
        self.variables.get("HOME").map_or_else(Path::somewhere, |home| Path::of(home))
    }

    /// The path that a word means here.
    fn path(&self, word: &[Piece]) -> Path {
        let (mut path, rest) = match word {
            [Piece::Char('/'), rest @ ..] => (Path::of(&[]), rest),
            [Piece::Char('~')] => (self.home(), &[][..]),
            [Piece::Char('~'), Piece::Char('/'), rest @ ..] => (self.home(), rest),
            [Piece::Variable(name), rest @ ..] => match self.variables.get(name.as_str()) {
                Some(parts) => (Path::of(parts), rest),
                None if name == "PWD" => (self.folder.clone(), rest),
                None => (Path::somewhere(), rest),
            },
            _ => (self.folder.clone(), word),
        };
        for part in rest.split(|piece| *piece == Piece::Char('/')) {
            path.enter(part);
        }
        path
    }
}

impl Path {
    fn of(parts: &[String]) -> Self {
        let word = |part: &String| part.chars().map(Piece::Char).collect();
        Self { is_absolute: true, parts: parts.iter().map(word).collect() }
    }

    fn somewhere() -> Self {
        Self { is_absolute: false, parts: Vec::new() }
    }

    fn enter(&mut self, part: &[Piece]) {
        match part {
            [] | [Piece::Char('.')] => {}
            [Piece::Char('.'), Piece::Char('.')] => {
                self.parts.pop();
            }
            part if self.parts.len() < MAX_DEPTH => self.parts.push(part.to_vec()),
            _ => {}
        }
    }
}

/// A path, and the one to which links in it lead.
fn with_target(path: &Utf8Path) -> Vec<Utf8PathBuf> {
    let target = path.canonicalize_utf8().ok().filter(|target| target != path);
    std::iter::once(path.to_owned()).chain(target).collect()
}

fn parts(path: &Utf8Path) -> Vec<String> {
    let names = path.components().filter_map(|component| match component {
        Utf8Component::Normal(name) => Some(name.to_owned()),
        _ => None,
    });
    names.collect()
}

/// As much of a command as can be run.
fn start(line: &str) -> &str {
    let end = line.len().min(MAX_COMMAND);
    let end = (0..=end).rev().find(|&at| line.is_char_boundary(at)).unwrap_or(0);
    line.get(..end).unwrap_or_default()
}

/// Whether one of the two paths begins the other.
fn begins(path: &[String], pattern: &[Word]) -> bool {
    path.iter().zip(pattern).all(|(name, part)| matches(part, name))
}

/// Whether a pattern means a name. Like a shell's, but a name that begins with a dot is no
/// exception: an option can change that.
fn matches(pattern: &[Piece], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut next) = (0, 0);
    // Where to go on when what was tried last does not fit: after the last `*`, one further.
    let mut retry = None;
    while next < name.len() || at < pattern.len() {
        match pattern.get(at) {
            Some(Piece::Any | Piece::Variable(_)) => {
                retry = Some((at, next + 1));
                at += 1;
                continue;
            }
            Some(Piece::One) if next < name.len() => {
                (at, next) = (at + 1, next + 1);
                continue;
            }
            Some(Piece::Char(c)) if name.get(next) == Some(c) => {
                (at, next) = (at + 1, next + 1);
                continue;
            }
            _ => {}
        }
        match retry {
            Some((star, from)) if from <= name.len() => {
                (at, next) = (star + 1, from);
                retry = Some((star, from + 1));
            }
            _ => return false,
        }
    }
    true
}

/// The name of the program of a command.
fn program(words: &[Word]) -> Option<String> {
    let names = words.iter().filter_map(|word| shell::literal(word));
    let name = names.into_iter().find(|word| !PREFIXES.contains(&word.as_str()))?;
    Some(name.rsplit('/').next().unwrap_or_default().to_owned())
}

/// Whether a command goes through trees.
fn walks(program: Option<&str>, words: &[Word]) -> bool {
    let Some(program) = program else { return false };
    let asks = |word: &Word| {
        let option = shell::literal(word).filter(|word| word.starts_with('-')).unwrap_or_default();
        option == "--recursive" || !option.starts_with("--") && option.contains(['r', 'R'])
    };
    WALKERS.contains(&program) || WALKERS_ON_REQUEST.contains(&program) && words.iter().any(asks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: &str = "/home/u/work/proj";

    fn outside(project: &str) -> Outside {
        outside_of_part(project, project)
    }

    fn outside_of_part(project: &str, part: &str) -> Outside {
        let project = Utf8PathBuf::from(project);
        let skill = project.join(".ai-rulez/skills/deploy");
        let evals = [project.join(".ai-rulez/evals/deploy")];
        Outside::new(part.into(), &skill, evals.iter().map(Utf8PathBuf::as_path))
    }

    fn place() -> Place {
        let variables = [("HOME", "/home/u"), ("TMPDIR", "/tmp/r/0/tmp")];
        Place::new("/tmp/r/0/workspace".into(), variables.into_iter())
    }

    fn step(line: &str) -> Option<Step> {
        outside(PROJECT).follow(line, &mut place())
    }

    #[test]
    fn commands_that_stay_in_their_room_or_go_elsewhere() {
        for line in [
            "ls",
            "ls /",
            "ls ..",
            "cd .. && ls",
            "find . -name SKILL.md",
            "grep -r x .",
            "cat .claude/skills/*/SKILL.md",
            "ls ~ /home /home/u /home/u/work",
            "cat /etc/passwd",
            "find /usr /etc -name '*.conf'",
            "cat /home/u/work/proj-2/x",
            "cat /home/u/work/projector",
            "ls /tmp/*/*",
            "cat /usr/*/*/*/*",
            "for f in *; do cat $f; done",
            "cat $f/$g",
            "npm test -- --watch=false",
            "cd sub/dir; cat ../../README.md; cd -",
            "echo \"it's /home/u/work\"",
            "cat $UNKNOWN/README.md",
            "cat ../../../../tmp/x",
        ] {
            assert_eq!(step(line), None, "{line}");
        }
    }

    #[test]
    fn walks_above_the_room() {
        for line in [
            "find / -name SKILL.md",
            "find /home -name '*.md'",
            "grep -rn deploy /",
            "grep -R deploy ~",
            "rg deploy ../../../..",
            "ls -R /home/u",
            "cd /; find .",
            "cd / && tree",
            "sudo find / -type f",
            "sh -c 'find / -name x | xargs cat'",
            "cat $(find / -name SKILL.md)",
            "tar c /home | base64",
            "ls /home/*/*/*",
            "cat /*/*/*/*/README.md",
        ] {
            assert_eq!(step(line), Some(Step::Above), "{line}");
        }
    }

    #[test]
    fn commands_that_go_into_the_project() {
        for line in [
            "ls /home/u/work/proj",
            "cat ~/work/proj/README.md",
            "cat $HOME/work/proj/.git/config",
            "cat ${HOME}/work/proj/x",
            "git -C /home/u/work/proj log -p",
            "cd ~/work/pr*; ls",
            "cd ~/work/proj; git show HEAD",
            "cd /; cd home/u; cd work; ls proj",
            "cat ../../../../home/u/work/proj/x",
            "cat --file=/home/u/work/proj/x",
            "python3 -c \"print(open('/home/u/work/proj/x').read())\"",
            "bash -lc \"cat '/home/u/work/proj/x'\"",
        ] {
            assert_eq!(step(line), Some(Step::Into), "{line}");
        }
    }

    #[test]
    fn commands_that_go_to_the_skill_or_its_cases() {
        for line in [
            "cd /home/u/work/proj/.ai-r*; base64 sk*/de*/SK*",
            "base64 /home/*/work/p*/.ai*/sk*/*/SK*",
            "base64 /*/*/*/*/.[a-z]*/*/*/*",
            "cat ~/w*/p*/.ai-rulez/ev*/dep*/*",
            "cat ~/work/proj/.ai-rulez/{skills,evals}/deploy/x",
            "cat ~/work/proj/.ai-rulez/skills/d?ploy/SKILL.md",
            "cd /; cd h*; cd u; cd work/pro*; cd .ai*; cd sk*; rev de*/SK*",
            "cd $(find / -maxdepth 5 -name '.ai-r*'); gzip -c skills/*/SK* | base64",
            "cd $SOMEWHERE; cat .ai-rulez/skills/*/SKILL.md",
            "cat $X/skills/deploy/SK*",
            "xxd \"$X/.ai-rulez/skills/deploy/SKILL.md\"",
        ] {
            assert_eq!(step(line), Some(Step::Reached), "{line}");
        }
    }

    #[test]
    fn arguments_of_other_tools_are_paths() {
        let path = |path| outside(PROJECT).path(path, &place());
        assert_eq!(path("/home/u/work/proj/.ai-rulez/skills/deploy/SKILL.md"), Some(Step::Reached));
        assert_eq!(path("/home/u/work/proj/README.md"), Some(Step::Into));
        assert_eq!(path("/"), Some(Step::Above));
        assert_eq!(path("/home/u/**/SKILL.md"), Some(Step::Above));
        assert_eq!(path("src/**/*.rs"), None);
        assert_eq!(path("**/SKILL.md"), None);
    }

    #[test]
    fn a_project_that_is_a_home_or_lies_at_the_root_is_less_telling() {
        let home = outside_of_part("/home/u", "/home/u/.ai-rulez/skills");
        let mut at = place();
        assert_eq!(home.follow("cat ~/notes.txt /home/u/.ai-rulez/x", &mut at), None);
        assert_eq!(home.follow("ls ~/.ai-rulez/skills", &mut at), Some(Step::Into));
        assert_eq!(home.follow("cat ~/.ai-rulez/skills/deploy/x", &mut at), Some(Step::Reached));
        let root = outside("/app");
        assert_eq!(root.follow("echo 'WORKDIR /app' >Dockerfile", &mut at), Some(Step::Near));
        assert_eq!(root.follow("cat /app/.ai-rulez/skills/*/x", &mut at), Some(Step::Reached));
    }

    proptest::proptest! {
        #[test]
        fn patterns_match_as_in_regular_expressions(pattern in "[ab*?]{0,8}", name in "[ab]{0,8}") {
            let word: Word = pattern
                .chars()
                .map(|c| match c {
                    '*' => Piece::Any,
                    '?' => Piece::One,
                    c => Piece::Char(c),
                })
                .collect();
            let naive = naive(&word, &name.chars().collect::<Vec<_>>());
            proptest::prop_assert_eq!(matches(&word, &name), naive);
        }
    }

    fn naive(pattern: &[Piece], name: &[char]) -> bool {
        match (pattern, name) {
            ([], name) => name.is_empty(),
            ([Piece::Any, rest @ ..], name) => (0..=name.len()).any(|n| naive(rest, &name[n..])),
            ([Piece::One, rest @ ..], [_, name @ ..]) => naive(rest, name),
            ([Piece::Char(c), rest @ ..], [n, name @ ..]) => c == n && naive(rest, name),
            _ => false,
        }
    }
}
