//! From text to terms.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};

/// Endings in the order in which they are tried.
const SUFFIXES: [&str; 6] = ["ing", "ied", "ies", "ed", "es", "s"];

/// The terms of a text in the order of the text: lower-cased runs of letters and decimal digits,
/// without stop words, cut to their stems.
pub fn tokens(text: &str) -> impl Iterator<Item = String> {
    words(text).map(stem)
}

/// Lower-cased runs of letters and decimal digits that are no stop words.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c| !is_in_word(c)).filter(|word| !word.is_empty()).map(lower_case);
    words.filter(|word| !says_nothing(word))
}

/// Whether the word is one of those that stand in any text.
#[rustfmt::skip]
fn says_nothing(word: &str) -> bool {
    matches!(
        word,
        "a" | "an" | "and" | "are" | "as" | "at" | "be" | "by" | "do" | "for" | "from" | "how"
            | "i" | "in" | "is" | "it" | "me" | "my" | "need" | "of" | "on" | "or" | "should"
            | "that" | "the" | "this" | "to" | "use" | "want" | "we" | "when" | "with" | "you"
    )
}

fn is_in_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    // `char::is_alphanumeric` takes more: marks, letter-like numbers, circled letters.
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    category == GeneralCategory::DecimalNumber || GeneralCategoryGroup::Letter.contains(category)
}

/// Letter by letter: no letter becomes two, and none depends on its neighbours.
fn lower_case(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    // Only `İ` has two; the first is the one of the simple mapping.
    word.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}

/// Cuts a few English endings. Lengths are in bytes, as the format has them; since endings are ASCII
/// every cut is at the edge of a letter.
pub(crate) fn stem(mut word: String) -> String {
    let has = |suffix: &str| word.len() > suffix.len() + 3 && word.ends_with(suffix);
    match SUFFIXES.into_iter().find(|suffix| has(suffix)) {
        Some("ied" | "ies") => {
            word.truncate(word.len() - 3);
            word.push('y');
            return word;
        }
        Some("es") => {
            let base = word.len() - 2;
            let stays = ["s", "x", "z", "ch", "sh"].iter().any(|end| word[..base].ends_with(end));
            word.truncate(if stays { base } else { base + 1 });
        }
        Some("s") if word.ends_with("ss") => return word,
        Some(suffix) => word.truncate(word.len() - suffix.len()),
        None => {}
    }
    if word.len() > 4 && word.ends_with('e') {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str) -> Vec<String> {
        tokens(text).collect()
    }

    #[test]
    fn words_that_say_nothing_are_left_out() {
        let all = "a an and are as at be by do for from how i in is it me my of on or that the \
                   this to use want we with you need when should";
        assert_eq!(all.split(' ').count(), 33);
        assert_eq!(terms(all), [""; 0]);
        assert_eq!(terms("an ann thee"), ["ann", "thee"]);
    }

    #[test]
    fn words_end_where_letters_and_digits_end() {
        assert_eq!(
            terms("Pipeline.yml v2: set-up_x \"it\""),
            ["pipelin", "yml", "v2", "set", "up", "x"]
        );
        assert_eq!(terms(""), [""; 0]);
        assert_eq!(terms("How do I use the ... ?"), [""; 0]);
        // A stop word is one before it is cut: `needs` and `using` are none.
        assert_eq!(terms("needs using"), ["need", "using"]);
    }

    #[test]
    fn letters_and_digits_are_those_of_every_script() {
        assert_eq!(terms("ÜBER Straße 東京 ٣٤"), ["über", "straß", "東京", "٣٤"]);
        // A mark, a letter-like number, a superscript and a circled letter are none.
        assert_eq!(terms("a\u{301}b xⅣy x²y xⒶy"), ["b", "x", "y", "x", "y", "x", "y"]);
        // One letter for one letter: no dot is left of İ, and no sigma is a final one.
        assert_eq!(terms("İX ΟΔΟΣ"), ["ix", "οδοσ"]);
    }

    #[test]
    fn endings_are_cut_by_the_length_of_the_word() {
        for (word, expected) in [
            ("testing", "test"),
            ("caching", "cach"),
            ("string", "string"),
            ("strings", "string"),
            ("retried", "retry"),
            ("queries", "query"),
            ("flies", "flie"),
            ("cached", "cach"),
            ("need", "need"),
            ("boxes", "boxe"),
            ("branches", "branch"),
            ("classes", "class"),
            ("pushes", "push"),
            ("pipelines", "pipelin"),
            ("pipeline", "pipelin"),
            ("rules", "rule"),
            ("rule", "rule"),
            ("tests", "test"),
            ("runs", "runs"),
            ("access", "access"),
            ("processing", "process"),
            ("seeing", "seeing"),
            ("freezing", "freez"),
            ("agreeing", "agre"),
            // Bytes, not letters: é has two.
            ("étés", "été"),
        ] {
            assert_eq!(stem(word.to_owned()), expected, "{word}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_terms_of_letters_and_digits(text in "\\PC{0,40}|[a-zéßİ日ſ]{0,12}(ing|ied|ies|ed|es|s|e)") {
            for term in tokens(&text) {
                prop_assert!(!term.is_empty());
                prop_assert!(term.chars().all(is_in_word), "{term:?}");
            }
        }
    }
}
