//! Names that say what a file is for.

/// Words in the names of files that hold answers or grade them.
const WORDS: [&str; 14] = [
    "answer",
    "answers",
    "expected",
    "golden",
    "grade",
    "grader",
    "graders",
    "grading",
    "oracle",
    "rubric",
    "rubrics",
    "solution",
    "solutions",
    "verdict",
];

/// The word by which a path or name says that it holds an answer or grades one.
pub(in crate::experiment) fn answer_word(path: &str) -> Option<&'static str> {
    let lower = path.to_ascii_lowercase();
    lower
        .split(|c: char| !c.is_ascii_alphabetic())
        .find_map(|word| WORDS.into_iter().find(|known| *known == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_not_parts_of_words() {
        assert_eq!(answer_word("fixtures/expected.json"), Some("expected"));
        assert_eq!(answer_word("Solution_2.py"), Some("solution"));
        assert_eq!(answer_word("src/upgrade.py"), None);
        assert_eq!(answer_word("docs/unexpected.md"), None);
    }
}
