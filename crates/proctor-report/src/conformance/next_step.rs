//! What a reader may do about a result that is no pass.

use std::borrow::Cow;

use proctor_model::conformance::fixture::Phase;
use proctor_model::conformance::report::TrialResult;
use proctor_model::{CheckStatus, Outcome, OutcomeClass};

/// One line, or nothing where the reason already says it all.
pub(super) fn next_step(result: &TrialResult) -> Option<String> {
    match result.status {
        CheckStatus::Passed => None,
        CheckStatus::Skipped => agent_step(result.outcome.as_ref()),
        CheckStatus::Error if result.harness.is_none() => {
            Some("correct the fixture; the other fixtures are not touched by it".to_owned())
        }
        CheckStatus::Error => Some(agent_step(result.outcome.as_ref()).unwrap_or_else(|| {
            "mend what kept the check from being carried out; it says nothing about the agent"
                .to_owned()
        })),
        CheckStatus::Failed => Some(failed_step(result)),
    }
}

fn failed_step(result: &TrialResult) -> String {
    let fixture = shell_word(&result.fixture);
    let install = result.checks.iter().any(|check| {
        check.phase == Phase::Install && !check.optional && check.status == CheckStatus::Failed
    });
    if install {
        return format!(
            "run it with `--install-only --fixture {fixture}` to repeat this without an agent"
        );
    }
    if let Some(step) = agent_step(result.outcome.as_ref()) {
        return step;
    }
    let harness = result.harness.as_deref().map(shell_word).unwrap_or_default();
    match &result.transcript {
        Some(file) => format!(
            "`proctor transcript show --harness {harness} {}` shows what the agent did",
            shell_word(file)
        ),
        None => format!(
            "run it with `--fixture {fixture} --harnesses {harness} --keep-transcripts` to keep \
             what the agent did"
        ),
    }
}

/// What helps against the way in which a session ended; nothing after a plain completion.
fn agent_step(outcome: Option<&Outcome>) -> Option<String> {
    let outcome = outcome?;
    let step = match outcome.class {
        OutcomeClass::Completed => return None,
        OutcomeClass::AuthFailed if outcome.http_status.is_some() => {
            "the credentials were refused: renew them"
        }
        OutcomeClass::AuthFailed => "give the harness its credentials: log in, or set its API key",
        OutcomeClass::RateLimited | OutcomeClass::Overloaded => "wait, then run it again",
        OutcomeClass::Quota => "add credit to the account, or use another one",
        OutcomeClass::ApiError => "run it again; if it stays, ask the provider",
        OutcomeClass::ContextOverflow => "shorten the prompt, the input files or the guidance",
        OutcomeClass::MaxOutput => "ask for less at once",
        OutcomeClass::MaxTurns => "raise `bounds.max_turns`, or make the task smaller",
        OutcomeClass::Budget => {
            "raise `bounds.max_budget_usd` or `--max-budget-usd`; the lower one holds"
        }
        OutcomeClass::Refused => "reword the prompt",
        OutcomeClass::Interrupted => "run it again",
        OutcomeClass::CutShort => "run it with `--keep-transcripts` to see the last thing it did",
        OutcomeClass::UsageError => "see whether this version of the harness is supported",
        OutcomeClass::Stalled => "see whether the harness waits for something, then run it again",
        OutcomeClass::Timeout => {
            "raise `bounds.timeout_seconds` or `--timeout`; the lower one holds"
        }
    };
    Some(step.to_owned())
}

/// `text` as one word of a POSIX shell, because people paste what a report tells them to run.
pub(super) fn shell_word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_words() {
        assert_eq!(shell_word("add-reactor_2"), "add-reactor_2");
        assert_eq!(shell_word("a; rm -rf ~"), "'a; rm -rf ~'");
        assert_eq!(shell_word("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn every_ending_but_a_completion_has_a_step() {
        for class in OutcomeClass::ALL {
            let step = agent_step(Some(&Outcome::new(class, "")));
            assert_eq!(step.is_none(), class == OutcomeClass::Completed);
        }
        let refused = Outcome::new(OutcomeClass::AuthFailed, "").with_status(Some(401));
        assert_ne!(
            agent_step(Some(&refused)),
            agent_step(Some(&Outcome::new(OutcomeClass::AuthFailed, "")))
        );
    }
}
