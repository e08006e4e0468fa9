//! `--runs auto`: how many runs of a prompt follow before it is looked at again.

use proctor_grade::eval::activation::settled;

/// The fewest further runs, of `left`, after which the verdict of a prompt could be settled: fewer
/// would tell nothing, and of more some could be for nothing. 0 once it is settled.
///
/// `fires` of `done` usable runs fired the skill; `expect` says whether it should fire.
pub(super) fn wave(expect: bool, fires: u64, done: u64, left: u64) -> u64 {
    if done > 0 && settled(expect, fires, done, done + left) {
        return 0;
    }
    let planned = done + left;
    let could_settle = |more: &u64| {
        // The two ends settle first: between them both verdicts are still near.
        [0, *more].into_iter().any(|hits| settled(expect, fires + hits, done + more, planned))
    };
    (1..=left).find(could_settle).unwrap_or(left)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The waves of a prompt whose runs come out as `outcomes` say.
    fn waves(expect: bool, outcomes: &[bool], ceiling: u64) -> Vec<u64> {
        let (mut fires, mut done, mut sizes) = (0, 0, Vec::new());
        loop {
            let size = wave(expect, fires, done, ceiling - done);
            if size == 0 {
                return sizes;
            }
            sizes.push(size);
            for _ in 0..size {
                fires += u64::from(outcomes[usize::try_from(done).unwrap()]);
                done += 1;
            }
        }
    }

    #[test]
    fn a_prompt_that_fails_soon_is_left_soon() {
        assert_eq!(waves(true, &[false; 5], 5), [2]);
        assert_eq!(waves(false, &[true; 5], 5), [2]);
        // Five of five differs from four of five, so a good prompt is run to the end.
        assert_eq!(waves(true, &[true; 5], 5), [2, 2, 1]);
        // Nine of nine is not: the tenth could not make it borderline.
        assert_eq!(waves(true, &[true; 10], 10), [3, 3, 3]);
        assert_eq!(waves(true, &[true], 1), [1]);
        assert_eq!(waves(true, &[false, true, true, false, true], 5), [2, 1, 1]);
    }

    proptest! {
        #[test]
        fn nothing_that_is_left_out_could_have_changed_the_verdict(
            expect: bool, outcomes in proptest::collection::vec(any::<bool>(), 1..20)
        ) {
            let ceiling = outcomes.len() as u64;
            let ran: u64 = waves(expect, &outcomes, ceiling).iter().sum();
            let fires = |runs: u64| {
                outcomes.iter().take(usize::try_from(runs).unwrap()).filter(|fired| **fired).count() as u64
            };
            let status = proctor_grade::eval::activation::status;
            prop_assert!(ran >= 1 && ran <= ceiling);
            prop_assert_eq!(status(expect, fires(ran), ran), status(expect, fires(ceiling), ceiling));
            // One run less would not have settled it.
            prop_assert!(ran == 1 || !settled(expect, fires(ran - 1), ran - 1, ceiling));
        }
    }
}
