//! One outcome from what the stream says, how the process exited, and who ended it.

use proctor_model::{Outcome, OutcomeClass};

use crate::adapter::{ExitKind, SessionEnd};
use crate::json::excerpt;
use crate::stream::Ending;

/// Characters of foreign text that an outcome's message keeps.
const MESSAGE_LIMIT: usize = 2000;

/// Brings the stream's own account and the process's exit together.
///
/// `stated` is the program's account, `None` when its last line is missing. When the two
/// disagree, the worse one wins and a warning names both.
pub(crate) fn conclude(
    stated: Option<Outcome>,
    ending: &Ending<'_>,
    warnings: &mut Vec<String>,
) -> Outcome {
    let end = ending.end;
    if let Some(class) = end.ended_by {
        return ended_by_caller(class, stated.as_ref());
    }
    let Some(stated) = stated else {
        return without_account(ending);
    };
    let Some(exit) = end.exit else {
        return capped(stated);
    };
    let succeeded = exit == ExitKind::Code(0);
    let completed = stated.class == OutcomeClass::Completed;
    if succeeded == completed {
        return capped(stated);
    }
    warnings.push(format!(
        "the program {}, but its stream says `{}`; the worse of the two counts",
        describe(exit),
        stated.class
    ));
    if completed {
        let message = format!("the program {} after it had said that it was done", describe(exit));
        return Outcome::new(class_of_kill(exit), message);
    }
    capped(stated)
}

fn ended_by_caller(class: OutcomeClass, stated: Option<&Outcome>) -> Outcome {
    let what = match class {
        OutcomeClass::Timeout => "the time limit ended the session",
        OutcomeClass::Stalled => "the session was ended because it no longer printed anything",
        _ => "the session was interrupted",
    };
    let said = stated.map(|outcome| format!("; its stream says `{}`", outcome.class));
    Outcome::new(class, format!("{what}{}", said.unwrap_or_default()))
}

/// The program never said how it ended.
fn without_account(ending: &Ending<'_>) -> Outcome {
    let SessionEnd { exit, stderr, .. } = *ending.end;
    let class = match exit {
        Some(exit) if is_kill(exit) => class_of_kill(exit),
        _ if !ending.any_output => OutcomeClass::UsageError,
        _ => OutcomeClass::CutShort,
    };
    let stream = match ending {
        Ending { any_output: false, .. } => "the stream is empty",
        Ending { recognised: false, .. } => "no line of the stream is one of this program's",
        _ => "the stream ended without its last line",
    };
    let exit = exit.map(|exit| format!("; the program {}", describe(exit)));
    let what = format!("{stream}{}", exit.unwrap_or_default());
    let stderr = excerpt(stderr.trim(), MESSAGE_LIMIT);
    let message = if stderr.is_empty() { what } else { format!("{what}: {stderr}") };
    Outcome::new(class, message)
}

fn capped(mut outcome: Outcome) -> Outcome {
    outcome.message = excerpt(&outcome.message, MESSAGE_LIMIT);
    outcome
}

/// Whether a signal ended the program, or it says so by its exit code.
fn is_kill(exit: ExitKind) -> bool {
    match exit {
        ExitKind::Signal(_) => true,
        // Shells and runtimes report a signal as 128 plus its number.
        ExitKind::Code(code) => (129..=159).contains(&code),
    }
}

/// SIGHUP, SIGINT and SIGTERM are how people and supervisors interrupt; all else is a crash.
fn class_of_kill(exit: ExitKind) -> OutcomeClass {
    let signal = match exit {
        ExitKind::Signal(signal) => signal,
        ExitKind::Code(code) => code.saturating_sub(128),
    };
    if matches!(signal, 1 | 2 | 15) { OutcomeClass::Interrupted } else { OutcomeClass::CutShort }
}

fn describe(exit: ExitKind) -> String {
    match exit {
        ExitKind::Code(code) => format!("exited with code {code}"),
        ExitKind::Signal(signal) => format!("was killed by signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use OutcomeClass::{
        AuthFailed, Completed, CutShort, Interrupted, Stalled, Timeout, UsageError,
    };

    use super::*;

    fn run(
        stated: Option<OutcomeClass>,
        any_output: bool,
        end: SessionEnd<'_>,
    ) -> (OutcomeClass, String, Vec<String>) {
        let mut warnings = Vec::new();
        let stated = stated.map(|class| Outcome::new(class, "its words"));
        let outcome = conclude(
            stated,
            &Ending { end: &end, any_output, recognised: any_output },
            &mut warnings,
        );
        (outcome.class, outcome.message, warnings)
    }

    fn exit(kind: ExitKind) -> SessionEnd<'static> {
        SessionEnd { exit: Some(kind), ..SessionEnd::default() }
    }

    #[test]
    fn agreement_gives_the_streams_own_account() {
        let done = run(Some(Completed), true, exit(ExitKind::Code(0)));
        assert_eq!(done, (Completed, "its words".into(), vec![]));
        let failed = run(Some(AuthFailed), true, exit(ExitKind::Code(1)));
        assert_eq!(failed, (AuthFailed, "its words".into(), vec![]));
        let recording = run(Some(Completed), true, SessionEnd::default());
        assert_eq!(recording, (Completed, "its words".into(), vec![]));
    }

    #[test]
    fn in_a_disagreement_the_worse_wins_and_both_are_named() {
        let (class, _, warnings) = run(Some(AuthFailed), true, exit(ExitKind::Code(0)));
        assert_eq!(class, AuthFailed);
        assert_eq!(
            warnings,
            ["the program exited with code 0, but its stream says `auth_failed`; \
              the worse of the two counts"]
        );
        let (class, message, warnings) = run(Some(Completed), true, exit(ExitKind::Code(1)));
        assert_eq!(class, CutShort);
        assert_eq!(message, "the program exited with code 1 after it had said that it was done");
        assert_eq!(warnings.len(), 1);
        let (class, ..) = run(Some(Completed), true, exit(ExitKind::Signal(9)));
        assert_eq!(class, CutShort);
        let (class, ..) = run(Some(Completed), true, exit(ExitKind::Code(143)));
        assert_eq!(class, Interrupted);
    }

    #[test]
    fn a_missing_account_means_killed_or_never_started() {
        let class = |any, kind| run(None, any, exit(kind)).0;
        assert_eq!(class(false, ExitKind::Code(2)), UsageError);
        assert_eq!(class(false, ExitKind::Code(0)), UsageError);
        assert_eq!(class(true, ExitKind::Code(0)), CutShort);
        assert_eq!(class(true, ExitKind::Code(1)), CutShort);
        assert_eq!(class(true, ExitKind::Signal(9)), CutShort);
        assert_eq!(class(true, ExitKind::Code(137)), CutShort);
        assert_eq!(class(true, ExitKind::Signal(15)), Interrupted);
        assert_eq!(class(true, ExitKind::Code(130)), Interrupted);
        assert_eq!(class(false, ExitKind::Signal(15)), Interrupted);
        assert_eq!(run(None, true, SessionEnd::default()).0, CutShort);
        assert_eq!(run(None, false, SessionEnd::default()).0, UsageError);
    }

    #[test]
    fn standard_error_explains_a_missing_account() {
        let end = SessionEnd { stderr: " unknown option '--x'\n", ..exit(ExitKind::Code(1)) };
        let (_, message, _) = run(None, false, end);
        assert_eq!(
            message,
            "the stream is empty; the program exited with code 1: unknown option '--x'"
        );
    }

    #[test]
    fn who_ends_a_session_has_the_last_word() {
        for class in [Timeout, Stalled, Interrupted] {
            let end = SessionEnd { ended_by: Some(class), ..exit(ExitKind::Signal(9)) };
            assert_eq!(run(None, true, end).0, class);
            let (named, message, warnings) = run(Some(Completed), true, end);
            assert_eq!(named, class);
            assert!(message.ends_with("its stream says `completed`"), "{message}");
            assert!(warnings.is_empty());
        }
    }

    #[test]
    fn messages_are_capped() {
        let mut warnings = Vec::new();
        let long = Outcome::new(AuthFailed, "x ".repeat(5000));
        let end = SessionEnd::default();
        let ending = Ending { end: &end, any_output: true, recognised: true };
        let outcome = conclude(Some(long), &ending, &mut warnings);
        assert_eq!(outcome.message.chars().count(), MESSAGE_LIMIT);
    }
}
