//! Which class a failure between program and provider belongs to.
//!
//! A stated HTTP status decides first, then the program's own error code, then words. Words come
//! last because a provider's message may quote anything.

use proctor_model::{Outcome, OutcomeClass};

/// Characters of a message that are looked at.
const EXAMINED: usize = 4000;

/// How the message begins when a program does not offer the model that was asked for.
pub(crate) const UNSUPPORTED_MODEL: &str = "the agent cannot drive the model";

/// Whether the session failed because the program cannot drive the model, whoever provides it.
pub fn is_unsupported_model(outcome: &Outcome) -> bool {
    match outcome.class {
        OutcomeClass::UsageError => outcome.message.starts_with(UNSUPPORTED_MODEL),
        // Of codex, with a login that is for some models alone.
        OutcomeClass::ApiError => outcome.message.contains("is not supported when using Codex"),
        _ => false,
    }
}

/// What a program says about a failure.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Failure<'a> {
    /// HTTP status, when the program states it by itself.
    pub(crate) status: Option<u16>,
    /// The program's own name for the kind of failure.
    pub(crate) code: Option<&'a str>,
    /// Its message.
    pub(crate) text: &'a str,
}

/// The class, and the HTTP status behind it as far as it is known.
///
/// `AuthFailed` without a status means that no request was made.
pub(crate) fn classify(failure: Failure<'_>) -> (OutcomeClass, Option<u16>) {
    let text = crate::json::excerpt(failure.text, EXAMINED).to_lowercase();
    let status = failure.status.or_else(|| status_in(&text));
    let by_code = failure.code.and_then(|code| class_of_code(code, &text));
    let class = by_code.or_else(|| class_of_status(status?, &text));
    let class = class.or_else(|| class_of_words(&text)).unwrap_or(OutcomeClass::ApiError);
    if class == OutcomeClass::AuthFailed && status.is_none() && !has(&text, NO_REQUEST) {
        // Somebody looked at the credentials and refused them.
        return (class, Some(401));
    }
    (class, status)
}

fn class_of_code(code: &str, text: &str) -> Option<OutcomeClass> {
    match code {
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "cloud_credential_error" => Some(OutcomeClass::AuthFailed),
        "billing_error" => Some(OutcomeClass::Quota),
        "max_output_tokens" => Some(OutcomeClass::MaxOutput),
        "overloaded" => Some(OutcomeClass::Overloaded),
        "rate_limit" => Some(rate_limit_or_quota(text)),
        _ => None,
    }
}

fn class_of_status(status: u16, text: &str) -> Option<OutcomeClass> {
    match status {
        401 | 403 => Some(OutcomeClass::AuthFailed),
        402 => Some(OutcomeClass::Quota),
        413 => Some(OutcomeClass::ContextOverflow),
        429 => Some(rate_limit_or_quota(text)),
        529 => Some(OutcomeClass::Overloaded),
        503 if has(text, OVERLOADED) => Some(OutcomeClass::Overloaded),
        500..=599 => Some(OutcomeClass::ApiError),
        // A bad request may be one for which there is no credit or no room.
        _ => None,
    }
}

fn class_of_words(text: &str) -> Option<OutcomeClass> {
    let classes = [
        (INTERRUPTED, OutcomeClass::Interrupted),
        (CONTEXT, OutcomeClass::ContextOverflow),
        (MAX_OUTPUT, OutcomeClass::MaxOutput),
        (REFUSED, OutcomeClass::Refused),
        (QUOTA, OutcomeClass::Quota),
        (RATE_LIMIT, OutcomeClass::RateLimited),
        (NO_REQUEST, OutcomeClass::AuthFailed),
        (REFUSED_CREDENTIALS, OutcomeClass::AuthFailed),
        (OVERLOADED, OutcomeClass::Overloaded),
    ];
    classes.into_iter().find(|(words, _)| has(text, words)).map(|(_, class)| class)
}

fn rate_limit_or_quota(text: &str) -> OutcomeClass {
    if has(text, QUOTA) { OutcomeClass::Quota } else { OutcomeClass::RateLimited }
}

fn has(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| text.contains(word))
}

const INTERRUPTED: &[&str] = &["interrupted (ctrl-c)", "turn aborted", "turn interrupted"];
const CONTEXT: &[&str] = &[
    "prompt is too long",
    "input is too long",
    "context_length_exceeded",
    "context window",
    "context length",
];
const MAX_OUTPUT: &[&str] = &["max_output_tokens", "output token maximum"];
const REFUSED: &[&str] = &["content_filter", "usage policy"];
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "usage_limit_reached",
    "usage limit",
    "quota",
    "credit balance",
    "out of credits",
    "spend cap",
    "upgrade to plus",
    "hit your limit",
    "session limit",
    "weekly limit",
];
const RATE_LIMIT: &[&str] = &["rate limit", "rate_limit", "too many requests"];
const OVERLOADED: &[&str] = &["overloaded", "high demand", "at capacity"];
const REFUSED_CREDENTIALS: &[&str] = &[
    "invalid api key",
    "incorrect api key",
    "failed to authenticate",
    "unauthorized",
    "sign in again",
];
/// Words of programs that had no credentials to send.
const NO_REQUEST: &[&str] = &["not logged in", "missing environment variable", "no api key"];

/// The HTTP status that a (lowercase) message states after one of the phrases that the known
/// programs put before it.
fn status_in(text: &str) -> Option<u16> {
    const PHRASES: &[&str] =
        &["unexpected status ", "last status: ", "api error: ", "request rejected ("];
    PHRASES.iter().find_map(|phrase| {
        let (_, after) = text.split_once(phrase)?;
        let digits = after.get(..3)?;
        let next = after.chars().nth(3);
        let status: u16 = digits.parse().ok()?;
        let whole = next.is_none_or(|c| !c.is_alphanumeric());
        (whole && (400..=599).contains(&status)).then_some(status)
    })
}

#[cfg(test)]
mod tests {
    use OutcomeClass::{
        ApiError, AuthFailed, ContextOverflow, Interrupted, MaxOutput, Overloaded, Quota,
        RateLimited, Refused,
    };

    use super::*;

    fn class(status: Option<u16>, code: Option<&str>, text: &str) -> (OutcomeClass, Option<u16>) {
        classify(Failure { status, code, text })
    }

    #[test]
    fn a_status_decides_before_words() {
        assert_eq!(class(Some(500), None, "quota, rate limit, 401"), (ApiError, Some(500)));
        assert_eq!(class(Some(529), None, "whatever"), (Overloaded, Some(529)));
        assert_eq!(class(Some(503), None, "maintenance"), (ApiError, Some(503)));
        assert_eq!(class(Some(503), None, "Overloaded"), (Overloaded, Some(503)));
        assert_eq!(class(Some(403), None, "forbidden"), (AuthFailed, Some(403)));
        assert_eq!(class(Some(402), None, ""), (Quota, Some(402)));
        assert_eq!(class(Some(413), None, "too big"), (ContextOverflow, Some(413)));
    }

    #[test]
    fn a_429_is_a_rate_limit_unless_it_names_a_quota() {
        assert_eq!(class(Some(429), None, "slow down"), (RateLimited, Some(429)));
        let words = "You exceeded your current quota, check your plan";
        assert_eq!(class(Some(429), None, words), (Quota, Some(429)));
        assert_eq!(class(None, Some("rate_limit"), "You've hit your limit"), (Quota, None));
    }

    #[test]
    fn a_bad_request_is_told_apart_by_its_words() {
        assert_eq!(class(Some(400), None, "Prompt is too long"), (ContextOverflow, Some(400)));
        assert_eq!(class(Some(400), Some("billing_error"), "x"), (Quota, Some(400)));
        assert_eq!(class(Some(400), None, "Credit balance is too low"), (Quota, Some(400)));
        assert_eq!(class(Some(400), None, "bad request"), (ApiError, Some(400)));
        assert_eq!(class(None, None, "reason: max_output_tokens"), (MaxOutput, None));
        assert_eq!(class(None, None, "violates our Usage Policy"), (Refused, None));
    }

    #[test]
    fn a_status_is_found_in_the_words_of_the_programs() {
        let codex = "unexpected status 529 <unknown status code>: overloaded, url: http://h";
        assert_eq!(class(None, None, codex), (Overloaded, Some(529)));
        let codex = "exceeded retry limit, last status: 429 Too Many Requests, request id: r";
        assert_eq!(class(None, None, codex), (RateLimited, Some(429)));
        let claude = "API Error: Request rejected (429) · rate limited";
        assert_eq!(class(None, None, claude), (RateLimited, Some(429)));
        assert_eq!(class(None, None, "API Error: 5000 things"), (ApiError, None));
        assert_eq!(class(None, None, "API Error: ü"), (ApiError, None));
    }

    #[test]
    fn missing_and_refused_credentials_differ_in_the_status() {
        assert_eq!(class(None, Some("authentication_failed"), "Not logged in"), (AuthFailed, None));
        assert_eq!(class(None, None, "Missing environment variable: `K`."), (AuthFailed, None));
        assert_eq!(class(None, None, "Invalid API key · Fix it"), (AuthFailed, Some(401)));
        assert_eq!(class(None, None, "Failed to authenticate."), (AuthFailed, Some(401)));
    }

    #[test]
    fn words_of_an_interrupt_and_of_a_plan_are_known() {
        assert_eq!(class(None, None, "interrupted (Ctrl-C). Something"), (Interrupted, None));
        assert_eq!(class(None, None, "turn aborted. Something"), (Interrupted, None));
        assert_eq!(class(None, None, "To use it, upgrade to Plus: u"), (Quota, None));
        assert_eq!(class(None, None, "Selected model is at capacity."), (Overloaded, None));
    }

    #[test]
    fn other_failures_are_api_errors() {
        assert_eq!(class(None, Some("unknown"), "Connection refused"), (ApiError, None));
        assert_eq!(class(None, None, ""), (ApiError, None));
    }
}
