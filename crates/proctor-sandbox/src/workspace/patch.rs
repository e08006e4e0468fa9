//! How the content of a file differs.

use proctor_model::fs_diff::Patch;
use similar::TextDiff;

/// Lines of one side times lines of the other, without what both begin and end with: beyond it a
/// comparison takes too long.
const MOST_WORK: usize = 16_000_000;

/// The patch from one text to another; `budget` is what all patches may still take.
pub(super) fn patch(before: &str, after: &str, budget: &mut usize) -> Patch {
    if work(before, after) > MOST_WORK {
        return Patch::TooLarge;
    }
    let diff = TextDiff::from_lines(before, after);
    let diff = diff.unified_diff().context_radius(3).to_string();
    if diff.len() > *budget {
        return Patch::TooLarge;
    }
    *budget -= diff.len();
    Patch::Text { diff }
}

/// Text is UTF-8 without a zero.
pub(super) fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

/// How much a comparison of the lines has to do at worst.
fn work(before: &str, after: &str) -> usize {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    (a.len() - same).saturating_mul(b.len() - same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: &str, after: &str) -> Patch {
        patch(before, after, &mut 10_000)
    }

    fn shown(patch: Patch) -> String {
        match patch {
            Patch::Text { diff } => diff,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_patch_is_a_unified_diff_without_names() {
        check("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", "@@ -1,5 +1,5 @@\n a\n b\n-c\n+X\n d\n e\n");
        check("", "new\n", "@@ -0,0 +1 @@\n+new\n");
        check("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
    }

    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(shown(diff(before, after)), expected);
    }

    #[test]
    fn text_is_unicode_without_a_zero() {
        assert_eq!(text(b"a\0b"), None);
        assert_eq!(text(b"\xFF"), None);
        assert_eq!(text("é".as_bytes()), Some("é"));
    }

    #[test]
    fn the_budget_is_for_all() {
        let mut budget = 30;
        assert!(matches!(patch("", "abc\n", &mut budget), Patch::Text { .. }));
        assert_eq!(patch("", "abcdef\n", &mut budget), Patch::TooLarge);
    }

    #[test]
    fn many_lines_that_all_differ_are_not_compared() {
        let lines = |start: u32| {
            (start..start + 6_000).flat_map(|i| [i.to_string(), "\n".into()]).collect::<String>()
        };
        assert_eq!(diff(&lines(0), &lines(10_000)), Patch::TooLarge);
        // A long file with one changed line is.
        let changed = lines(0).replace("\n3000\n", "\nX\n");
        assert!(shown(diff(&lines(0), &changed)).starts_with("@@ -2998,7 +2998,7 @@\n"));
    }
}
