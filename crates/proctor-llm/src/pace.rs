//! How long to wait before asking again.

use std::time::Duration;

/// The longest pause, whatever a provider asks for.
const LONGEST: Duration = Duration::from_secs(30);

/// The rhythm of repeats.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The pause before the first repeat; it doubles from one to the next.
    pub(crate) first: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { first: Duration::from_millis(500) }
    }
}

impl Pace {
    /// The pause after attempt number `attempt`, from 1, when the provider asked for `asked`.
    pub(crate) fn pause(self, attempt: u32, asked: Option<Duration>) -> Duration {
        let doubled = self.first.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        doubled.max(asked.unwrap_or_default()).min(LONGEST)
    }
}

/// The value of a `Retry-After` header in seconds. Dates, its other form, are left alone: our own
/// pauses serve as well.
pub(crate) fn retry_after(value: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(value.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute() {
        let pauses: Vec<_> = (1..=9).map(|attempt| Pace::default().pause(attempt, None)).collect();
        let seconds: Vec<_> = pauses.iter().map(Duration::as_secs_f64).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]);
        assert_eq!(Pace::default().pause(u32::MAX, None), LONGEST);
    }

    #[test]
    fn a_provider_may_ask_for_longer_pauses_within_reason() {
        let pace = Pace::default();
        assert_eq!(pace.pause(1, retry_after("7")), Duration::from_secs(7));
        assert_eq!(pace.pause(1, retry_after(" 0.1 ")), Duration::from_millis(500));
        assert_eq!(pace.pause(1, retry_after("86400")), LONGEST);
        for nonsense in ["", "-1", "NaN", "inf", "1e400", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(retry_after(nonsense), None, "{nonsense}");
        }
    }
}
