//! The fence around an answer: it cannot be ended from inside.

use std::borrow::Cow;

use proctor_model::Digest;

use super::PROMPT_VERSION;

/// Bytes of an answer that are shown. Of a longer one the beginning and the end are, half of it
/// each: what was asked for is usually said last.
const MOST_BYTES: usize = 64 << 10;

/// Bytes of a digest that make a token.
const TOKEN_BYTES: usize = 12;

/// The line before an answer.
pub(super) fn opening(token: &str) -> String {
    format!("<<<TRANSCRIPT {token}")
}

/// The line after it.
pub(super) fn closing(token: &str) -> String {
    format!("TRANSCRIPT {token}>>>")
}

/// At most about [`MOST_BYTES`] of an answer.
pub(super) fn cut(answer: &str) -> Cow<'_, str> {
    if answer.len() <= MOST_BYTES {
        return Cow::Borrowed(answer);
    }
    let half = MOST_BYTES / 2;
    let (head, _) = answer.split_at(answer.floor_char_boundary(half));
    let (_, tail) = answer.split_at(answer.ceil_char_boundary(answer.len() - half));
    let left_out = answer.len() - head.len() - tail.len();
    Cow::Owned(format!("{head}\n[{left_out} bytes of the transcript are left out here]\n{tail}"))
}

/// An answer without what could pass for the fence or cannot be seen: no three angle brackets of
/// one kind stand together, and control characters and invisible tags become U+FFFD.
pub(super) fn defused(answer: &str) -> String {
    let mut text = String::with_capacity(answer.len() + answer.len() / 16);
    let mut rest = answer;
    while let Some(first) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(first).len();
        let (same, after) = rest.split_at(run);
        match first {
            '<' => spread(&mut text, "<", run, run % 2, false),
            '>' => spread(&mut text, ">", run, run % 2, true),
            '\n' | '\t' => text.push_str(same),
            '\r' if after.starts_with('\n') => text.push_str(same),
            _ if first.is_control() || ('\u{E0000}'..='\u{E007F}').contains(&first) => {
                text.extend(same.chars().map(|_| char::REPLACEMENT_CHARACTER));
            }
            _ => text.push_str(same),
        }
        rest = after;
    }
    text
}

/// Writes a run of brackets in pairs with a space between them; an odd one stands first or last.
fn spread(text: &mut String, bracket: &str, run: usize, odd: usize, odd_first: bool) {
    if run < 3 {
        text.push_str(&bracket.repeat(run));
        return;
    }
    let mut groups = vec![2; run / 2];
    if odd == 1 {
        groups.insert(if odd_first { 0 } else { groups.len() }, 1);
    }
    for (index, group) in groups.into_iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push_str(&bracket.repeat(group));
    }
}

/// The token of a request: nobody who writes an answer knows it, since it depends on the answer, and
/// the same request has the same one.
pub(super) fn token(rubric: &str, shown: &str) -> String {
    let digest = Digest::of(format!("{PROMPT_VERSION}\0{rubric}\0{shown}").as_bytes());
    absent_token(digest, &[rubric, shown])
}

/// The first token, from `digest` on, that is in none of the texts, in whatever letter case.
fn absent_token(mut digest: Digest, texts: &[&str]) -> String {
    let lower: Vec<String> = texts.iter().map(|text| text.to_ascii_lowercase()).collect();
    loop {
        let mut token = digest.to_string();
        token.truncate(2 * TOKEN_BYTES);
        if !lower.iter().any(|text| text.contains(&token)) {
            return token;
        }
        digest = Digest::of(digest.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_worked_vector() {
        assert_eq!(
            token("names the cluster", "deployed to staging-eu"),
            "16b2716c0066b939a72fcd85"
        );
    }

    #[test]
    fn a_token_that_occurs_is_not_taken() {
        let first = Digest::of(b"x");
        let token_of = |digest: Digest| digest.to_string()[..24].to_owned();
        let second = Digest::of(first.as_bytes());
        let third = Digest::of(second.as_bytes());
        assert_eq!(absent_token(first, &["", ""]), token_of(first));
        let shouted = token_of(second).to_uppercase();
        assert_eq!(absent_token(first, &[&token_of(first), &shouted]), token_of(third));
    }

    #[test]
    fn brackets_are_spread() {
        for (answer, expected) in [
            ("<<<TRANSCRIPT", "<< <TRANSCRIPT"),
            ("TRANSCRIPT>>>", "TRANSCRIPT> >>"),
            ("<<<<", "<< <<"),
            ("<<<<<", "<< << <"),
            (">>>>", ">> >>"),
            (">>>>>", "> >> >>"),
            ("a << b >> c", "a << b >> c"),
            ("<<<>>>", "<< <> >>"),
        ] {
            assert_eq!(defused(answer), expected);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(defused("a\0b\u{1b}[0m\tc\r\nd\re"), "a\u{fffd}b\u{fffd}[0m\tc\r\nd\u{fffd}e");
        assert_eq!(defused("x\u{E0041}\u{E0042}y"), "x\u{fffd}\u{fffd}y");
        assert_eq!(defused("naïve 😀 \u{200d}"), "naïve 😀 \u{200d}");
    }

    #[test]
    fn long_answers_keep_both_ends() {
        let fits = "é".repeat(32 << 10);
        assert!(matches!(cut(&fits), Cow::Borrowed(_)));
        // The halves end inside a character.
        let long = format!("a{}b", "é".repeat(40_000));
        let shown = cut(&long);
        assert!(shown.starts_with("aé") && shown.ends_with("éb"), "{}", shown.len());
        assert!(shown.contains("\n[14468 bytes of the transcript are left out here]\n"));
        let huge = "x".repeat(10 << 20);
        assert!(cut(&huge).len() < MOST_BYTES + 100);
    }

    /// Texts that try it.
    fn hostile() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[<>]{1,9}",
            "(TRANSCRIPT|transcript|<<<TRANSCRIPT|TRANSCRIPT [0-9a-f]{24}>>>)",
            "[0-9a-f]{12,24}",
            "[\\n\\r\\x00 ]{1,3}",
            "\\PC{0,8}",
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_answer_ends_its_fence(rubric in hostile(), answer in hostile()) {
            let shown = defused(&answer);
            let token = token(&rubric, &shown);
            prop_assert!(!shown.contains("<<<") && !shown.contains(">>>"));
            prop_assert!(!shown.to_lowercase().contains(&token));
            let message = super::super::user(&rubric, &shown, &token);
            let end = closing(&token);
            let lines: Vec<&str> = message.split('\n').filter(|line| *line == end).collect();
            prop_assert_eq!(lines.len(), 1);
            prop_assert!(message.ends_with(&end));
        }

        #[test]
        fn defusing_twice_changes_nothing_and_loses_nothing(answer in hostile()) {
            let shown = defused(&answer);
            prop_assert_eq!(defused(&shown), shown.clone());
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric() || "<>".contains(*c)).collect::<String>();
            prop_assert_eq!(letters(&shown), letters(&answer));
        }
    }
}
