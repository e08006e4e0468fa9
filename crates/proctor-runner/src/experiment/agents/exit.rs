//! How a session's end is called in the records of experiments.

use proctor_harness::is_unsupported_model;
use proctor_model::run::ExitReason;
use proctor_model::{Outcome, OutcomeClass};

/// What the end of a session means for its trial: the words of the Agent Client Protocol for turns
/// that ended, and else who is to blame.
pub fn exit_reason(outcome: &Outcome) -> ExitReason {
    if is_unsupported_model(outcome) {
        return ExitReason::ModelUnsupportedByHarness;
    }
    match outcome.class {
        OutcomeClass::Completed => ExitReason::EndTurn,
        // Of the answer, or of the conversation: what was done until then is there to be tested.
        OutcomeClass::MaxOutput | OutcomeClass::ContextOverflow => ExitReason::MaxTokens,
        OutcomeClass::MaxTurns => ExitReason::MaxTurnRequests,
        OutcomeClass::Budget => ExitReason::MaxCost,
        OutcomeClass::Refused => ExitReason::Refusal,
        OutcomeClass::Interrupted => ExitReason::Cancelled,
        OutcomeClass::Timeout => ExitReason::Timeout,
        OutcomeClass::AuthFailed
        | OutcomeClass::RateLimited
        | OutcomeClass::Overloaded
        | OutcomeClass::Quota
        | OutcomeClass::ApiError
        | OutcomeClass::CutShort
        | OutcomeClass::UsageError
        | OutcomeClass::Stalled => ExitReason::DriverError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_its_reason() {
        let reasons = OutcomeClass::ALL.map(|class| {
            let reason = exit_reason(&Outcome::new(class, "why"));
            format!("{class} {reason} {}", reason.is_end_of_turn())
        });
        insta::assert_snapshot!(reasons.join("\n"), @"
        completed end_turn true
        auth_failed driver_error false
        rate_limited driver_error false
        overloaded driver_error false
        quota driver_error false
        api_error driver_error false
        context_overflow max_tokens true
        max_output max_tokens true
        max_turns max_turn_requests true
        budget max_cost true
        refused refusal true
        interrupted cancelled false
        cut_short driver_error false
        usage_error driver_error false
        stalled driver_error false
        timeout timeout false
        ");
    }

    #[test]
    fn a_model_that_an_agent_cannot_drive_is_told_from_a_failure() {
        let says = |class, message: &str| exit_reason(&Outcome::new(class, message));
        let codex = "The 'x' model is not supported when using Codex with a ChatGPT account.";
        assert_eq!(says(OutcomeClass::ApiError, codex), ExitReason::ModelUnsupportedByHarness);
        let acp = "the agent cannot drive the model: it does not offer it";
        assert_eq!(says(OutcomeClass::UsageError, acp), ExitReason::ModelUnsupportedByHarness);
        assert_eq!(says(OutcomeClass::CutShort, acp), ExitReason::DriverError);
        // Of the provider: the model does not exist for the account.
        assert_eq!(says(OutcomeClass::ApiError, "model: x"), ExitReason::DriverError);
    }
}
