//! Assertions of a case, on the answer and on the files of the working directory.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proctor_model::eval::Assertion;
use proctor_model::eval::re2::{SIZE_LIMIT, translate};
use regex::RegexBuilder;

use crate::CommandEnd;

/// How much of a text a message shows, in characters.
const SHOWN: usize = 120;

/// The files of a working directory. What cannot be told is an `Err` with a reason that completes
/// "`path` ...".
pub trait Files {
    /// Whether something lies at `path`.
    fn exists(&self, path: &str) -> Result<bool, String>;

    /// The text of the regular file at `path`.
    fn text(&self, path: &str) -> Result<String, String>;
}

/// What assertions look at.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The final answer; `None` when the runner gave none.
    pub answer: Option<&'a str>,
    /// The working directory; `None` when there is none that could be looked at.
    pub files: Option<&'a dyn Files>,
    /// How the command of each `command_exit` assertion ended, by the assertion's place in the
    /// case, from 0. One that is not in here was not allowed to run.
    pub commands: &'a BTreeMap<usize, CommandEnd>,
}

/// For each assertion why it does not hold; `None` for one that does. What cannot be decided does
/// not hold.
///
/// Messages quote the answer and files in part: whoever prints them redacts them first.
pub fn answers(assertions: &[Assertion], evidence: &Evidence<'_>) -> Vec<Option<String>> {
    let answers = assertions.iter().enumerate().map(|(index, assertion)| {
        let reason = check(index, assertion, evidence).err()?;
        Some(format!("{}: {reason}", assertion.type_name()))
    });
    answers.collect()
}

fn check(index: usize, assertion: &Assertion, evidence: &Evidence<'_>) -> Result<(), String> {
    match assertion {
        Assertion::Contains { value, path } => {
            let subject = Subject::of(path.as_deref(), evidence)?;
            if subject.text.contains(value) {
                return Ok(());
            }
            Err(format!(
                "{} does not contain {}{}",
                subject.name,
                quoted(value),
                subject.what_it_is()
            ))
        }
        Assertion::NotContains { value, path } => {
            let subject = Subject::of(path.as_deref(), evidence)?;
            let Some(at) = subject.text.find(value) else { return Ok(()) };
            let line = subject.text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            Err(format!("{} contains {} (line {line})", subject.name, quoted(value)))
        }
        Assertion::Regex { value, path } => {
            let subject = Subject::of(path.as_deref(), evidence)?;
            let pattern = translate(value).map_err(|error| error.to_string()).and_then(|text| {
                RegexBuilder::new(&text).size_limit(SIZE_LIMIT).build().map_err(|e| e.to_string())
            });
            let pattern = pattern
                .map_err(|error| format!("{} is no pattern of RE2: {error}", quoted(value)))?;
            if pattern.is_match(&subject.text) {
                return Ok(());
            }
            let (name, is) = (&subject.name, subject.what_it_is());
            Err(format!("{name} does not match {}{is}", quoted(value)))
        }
        Assertion::FileExists { path, exists } => {
            let files = evidence.files.ok_or_else(no_folder)?;
            let is_there = files.exists(path).map_err(|reason| format!("`{path}` {reason}"))?;
            match (is_there, exists) {
                (true, true) | (false, false) => Ok(()),
                (false, true) => Err(format!("`{path}` is not there")),
                (true, false) => Err(format!("`{path}` is there and must not be")),
            }
        }
        Assertion::CommandExit { command, exit_code } => {
            command_exit(command, *exit_code, evidence.commands.get(&index))
        }
    }
}

fn command_exit(command: &str, expected: i32, end: Option<&CommandEnd>) -> Result<(), String> {
    let how = match end {
        Some(CommandEnd::Exited(code)) if *code == expected => return Ok(()),
        Some(CommandEnd::Exited(code)) => format!("exited with {code}, expected {expected}"),
        Some(CommandEnd::Signaled(signal)) => {
            format!("was ended by signal {signal}, expected exit code {expected}")
        }
        Some(CommandEnd::TimedOut) => "was killed because its time was up".to_owned(),
        Some(CommandEnd::NotFound { program }) => format!("needs `{program}`, which is not there"),
        Some(CommandEnd::NotStarted { reason }) => format!("could not be started: {reason}"),
        None => "was not run: commands of cases need `--allow-exec`".to_owned(),
    };
    Err(format!("{} {how}", quoted(command)))
}

/// The text that an assertion looks at.
struct Subject<'a> {
    name: String,
    text: Cow<'a, str>,
}

impl<'a> Subject<'a> {
    fn of(path: Option<&str>, evidence: &Evidence<'a>) -> Result<Self, String> {
        let Some(path) = path else {
            let answer = evidence.answer.ok_or("the runner gave no answer to look at")?;
            return Ok(Self { name: "the answer".to_owned(), text: Cow::Borrowed(answer) });
        };
        let files = evidence.files.ok_or_else(no_folder)?;
        let text = files.text(path).map_err(|reason| format!("`{path}` {reason}"))?;
        Ok(Self { name: format!("`{path}`"), text: Cow::Owned(text) })
    }

    /// The begin of the text, for messages.
    fn what_it_is(&self) -> String {
        if self.text.trim().is_empty() {
            "; it is empty".to_owned()
        } else {
            format!("; it begins {}", quoted(&self.text))
        }
    }
}

fn no_folder() -> String {
    "the runner left no working directory to look at".to_owned()
}

/// At most [`SHOWN`] characters of the text on one line, in backticks.
fn quoted(text: &str) -> String {
    let text = text.trim();
    let mut shown = String::from("`");
    let mut characters = text.chars();
    for character in characters.by_ref().take(SHOWN) {
        shown.push(if character.is_control() { ' ' } else { character });
    }
    shown.push_str(if characters.next().is_some() { "…`" } else { "`" });
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Tree;

    impl Files for Tree {
        fn exists(&self, path: &str) -> Result<bool, String> {
            match path {
                "out" => Err("leads out".to_owned()),
                _ => Ok(path == "log"),
            }
        }

        fn text(&self, path: &str) -> Result<String, String> {
            if path == "log" { Ok("all ok\n".to_owned()) } else { Err("is not there".to_owned()) }
        }
    }

    fn failure(assertion: Assertion, answer: Option<&str>, files: Option<&dyn Files>) -> String {
        let evidence = Evidence { answer, files, commands: &BTreeMap::new() };
        answers(&[assertion], &evidence).pop().flatten().unwrap_or_default()
    }

    fn contains(value: &str, path: Option<&str>) -> Assertion {
        Assertion::Contains { value: value.to_owned(), path: path.map(str::to_owned) }
    }

    fn not_contains(value: &str) -> Assertion {
        Assertion::NotContains { value: value.to_owned(), path: None }
    }

    fn regex(value: &str) -> Assertion {
        Assertion::Regex { value: value.to_owned(), path: None }
    }

    #[test]
    fn letter_case_counts() {
        assert_eq!(failure(contains("EU", None), Some("staging-EU"), None), "");
        assert_eq!(
            failure(contains("EU", None), Some("staging-eu\nok"), None),
            "contains: the answer does not contain `EU`; it begins `staging-eu ok`"
        );
        assert_eq!(failure(not_contains("prod"), Some("Prod"), None), "");
        assert_eq!(
            failure(not_contains("prod"), Some("a\nto prod"), None),
            "not_contains: the answer contains `prod` (line 2)"
        );
    }

    #[test]
    fn patterns_are_those_of_re2_and_match_anywhere() {
        assert_eq!(
            failure(regex(r"deployed \d+ services?"), Some("we deployed 3 services"), None),
            ""
        );
        // Digits of other scripts are none in RE2.
        assert_eq!(
            failure(regex(r"\d"), Some("٣"), None),
            r"regex: the answer does not match `\d`; it begins `٣`"
        );
        assert_eq!(failure(regex(r"\Qa.b\E"), Some("xa.by"), None), "");
        assert!(failure(regex("("), Some("("), None).contains("is no pattern of RE2"));
        assert_eq!(
            failure(regex("x"), Some(" "), None),
            "regex: the answer does not match `x`; it is empty"
        );
    }

    #[test]
    fn without_an_answer_nothing_holds() {
        for assertion in [contains("a", None), not_contains("a"), regex("a*")] {
            let message = failure(assertion, None, Some(&Tree));
            assert!(message.ends_with(": the runner gave no answer to look at"), "{message}");
        }
        assert_eq!(failure(not_contains("a"), Some(""), None), "");
    }

    #[test]
    fn files_are_looked_at_where_a_path_is_given() {
        assert_eq!(failure(contains("ok", Some("log")), None, Some(&Tree)), "");
        assert_eq!(
            failure(contains("ok", Some("gone")), Some("ok"), Some(&Tree)),
            "contains: `gone` is not there"
        );
        assert_eq!(
            failure(contains("ok", Some("log")), Some("ok"), None),
            "contains: the runner left no working directory to look at"
        );
    }

    #[test]
    fn presence_and_absence() {
        let exists = |path: &str, exists| Assertion::FileExists { path: path.to_owned(), exists };
        let tree: Option<&dyn Files> = Some(&Tree);
        assert_eq!(failure(exists("log", true), None, tree), "");
        assert_eq!(failure(exists("gone", false), None, tree), "");
        assert_eq!(failure(exists("gone", true), None, tree), "file_exists: `gone` is not there");
        assert_eq!(
            failure(exists("log", false), None, tree),
            "file_exists: `log` is there and must not be"
        );
        // Absence is not proven by a path that may not be followed, nor by having no folder.
        assert_eq!(failure(exists("out", false), None, tree), "file_exists: `out` leads out");
        assert!(failure(exists("log", false), None, None).contains("no working directory"));
    }

    #[test]
    fn commands_are_judged_by_how_they_ended() {
        let assertion = Assertion::CommandExit { command: "grep -q ok".to_owned(), exit_code: 1 };
        let judge = |end: Option<CommandEnd>| {
            let commands: BTreeMap<_, _> = end.into_iter().map(|end| (1, end)).collect();
            let evidence = Evidence { answer: Some("ok"), files: None, commands: &commands };
            answers(&[contains("ok", None), assertion.clone()], &evidence)
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(judge(Some(CommandEnd::Exited(1))), "");
        for (end, message) in [
            (Some(CommandEnd::Exited(0)), "exited with 0, expected 1"),
            (Some(CommandEnd::Signaled(9)), "was ended by signal 9, expected exit code 1"),
            (Some(CommandEnd::TimedOut), "was killed because its time was up"),
            (
                Some(CommandEnd::NotFound { program: "sh".to_owned() }),
                "needs `sh`, which is not there",
            ),
            (Some(CommandEnd::NotStarted { reason: "no".to_owned() }), "could not be started: no"),
            (None, "was not run: commands of cases need `--allow-exec`"),
        ] {
            assert_eq!(judge(end), format!("command_exit: `grep -q ok` {message}"));
        }
    }

    #[test]
    fn messages_stay_on_one_line() {
        let message = failure(contains(&"x".repeat(500), None), Some("a\r\n\u{1b}[31mb"), None);
        assert!(!message.contains(char::is_control));
        assert!(message.chars().count() < 400, "{message}");
        assert!(message.contains("x…`"));
    }

    proptest! {
        #[test]
        fn contains_and_not_contains_are_opposites(answer in "[ab\n]{0,8}", value in "[ab]{1,3}") {
            let has = failure(contains(&value, None), Some(&answer), None).is_empty();
            let lacks = failure(not_contains(&value), Some(&answer), None).is_empty();
            prop_assert_eq!(has, answer.contains(&value));
            prop_assert_eq!(lacks, !has);
        }
    }
}
