//! The status of one prompt from its runs.

use proctor_model::eval::PromptStatus;

/// With fewer runs, one run the other way always turns the verdict, so that it says nothing.
const MIN_BORDERLINE_RUNS: u64 = 3;

/// What a prompt came to whose skill fired in `fires` of `runs` usable runs. `expect` says whether
/// it should fire.
///
/// One that should fire passes from 80 % of the runs on, one that should not up to 20 %. One that
/// passes, but would not with one run the other way, is borderline; a perfect score never is.
pub fn status(expect: bool, fires: u64, runs: u64) -> PromptStatus {
    let right = if expect { fires.min(runs) } else { runs.saturating_sub(fires) };
    // In whole numbers: 4/5 has no exact double.
    let reaches = |right: u64| u128::from(right) * 5 >= u128::from(runs) * 4;
    if runs == 0 || !reaches(right) {
        PromptStatus::Failed
    } else if runs >= MIN_BORDERLINE_RUNS && right < runs && !reaches(right - 1) {
        PromptStatus::Borderline
    } else {
        PromptStatus::Passed
    }
}

/// Whether [`status`] can no longer change: `done` of `planned` usable runs are over, the skill fired
/// in `fires` of them, and whatever the others bring, even if some of them fail and count for
/// nothing, the prompt comes to what it has come to now.
pub fn settled(expect: bool, fires: u64, done: u64, planned: u64) -> bool {
    let (left, now) = (planned.saturating_sub(done), status(expect, fires, done));
    // More runs in which it fires never make the status of a prompt that should fire worse, and the
    // other way round: the two ends say it all.
    status(expect, fires, done + left) == now && status(expect, fires + left, done + left) == now
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::PromptStatus::{Borderline, Failed, Passed};
    use proptest::prelude::*;

    use super::*;
    use crate::eval::round::float;

    #[test]
    fn thresholds_and_borders() {
        for (expect, fires, runs, expected) in [
            (true, 5, 5, Passed),
            (true, 4, 5, Borderline),
            (true, 3, 5, Failed),
            (false, 0, 5, Passed),
            (false, 1, 5, Borderline),
            (false, 2, 5, Failed),
            (true, 9, 10, Passed),
            (true, 8, 10, Borderline),
            (false, 1, 10, Passed),
            (false, 2, 10, Borderline),
            // One run of few is no border.
            (true, 1, 1, Passed),
            (true, 0, 1, Failed),
            (false, 0, 1, Passed),
            (false, 1, 1, Failed),
            (true, 1, 2, Failed),
            (true, 3, 3, Passed),
            (true, 2, 3, Failed),
            (true, 0, 0, Failed),
            (false, 0, 0, Failed),
        ] {
            assert_eq!(status(expect, fires, runs), expected, "{expect} {fires}/{runs}");
        }
    }

    #[test]
    fn a_lost_prompt_is_settled_before_its_last_run() {
        assert!(!settled(true, 0, 1, 5));
        assert!(settled(true, 0, 2, 5));
        assert!(settled(false, 2, 2, 5));
        // 4 of 4 may become 4 of 5, which reads differently from 5 of 5.
        assert!(!settled(true, 4, 4, 5));
        assert!(settled(true, 9, 9, 10) && !settled(true, 8, 8, 10));
        assert!(settled(true, 4, 5, 5));
    }

    /// Every continuation: of `left` runs, `usable` bring something and `firing` of those fire.
    fn settled_by_brute_force(expect: bool, fires: u64, done: u64, planned: u64) -> bool {
        let now = status(expect, fires, done);
        (0..=planned - done).all(|usable| {
            (0..=usable).all(|firing| status(expect, fires + firing, done + usable) == now)
        })
    }

    proptest! {
        #[test]
        fn settled_means_that_no_continuation_changes_it(
            (expect, planned, done, fires) in (any::<bool>(), 1u64..40).prop_flat_map(
                |(expect, planned)| (Just(expect), Just(planned), 1..=planned),
            ).prop_flat_map(
                |(expect, planned, done)| (Just(expect), Just(planned), Just(done), 0..=done),
            ),
        ) {
            prop_assert_eq!(
                settled(expect, fires, done, planned),
                settled_by_brute_force(expect, fires, done, planned)
            );
        }

        #[test]
        fn it_is_that_of_the_documented_rates(
            (runs, fires) in (1u64..200).prop_flat_map(|runs| (Just(runs), 0..=runs)),
        ) {
            let rate = |fires: u64| float(fires) / float(runs);
            prop_assert_eq!(status(true, fires, runs) == Failed, rate(fires) < 0.8 - 1e-9);
            prop_assert_eq!(status(false, fires, runs) == Failed, rate(fires) > 0.2 + 1e-9);
            let on_the_border = runs >= 3 && fires < runs && rate(fires) >= 0.8 - 1e-9
                && rate(fires.saturating_sub(1)) < 0.8 - 1e-9;
            prop_assert_eq!(status(true, fires, runs) == Borderline, on_the_border);
        }
    }
}
