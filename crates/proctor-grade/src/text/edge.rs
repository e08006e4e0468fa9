//! Where a word may begin and end.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup, Script};
use icu_properties::script::ScriptWithExtensions;

/// Scripts that are written without spaces between words.
const SPACELESS: [Script; 7] = [
    Script::Han,
    Script::Hiragana,
    Script::Katakana,
    Script::Thai,
    Script::Lao,
    Script::Khmer,
    Script::Myanmar,
];

/// The first or the last character of what is searched for, and whether a word may end beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// Whether what [`continues`] a word continues this one.
    joins: bool,
}

impl End {
    /// A text that ends in punctuation (`C++`) has a border there whatever follows.
    pub(super) fn new(own: Option<char>) -> Self {
        Self { joins: own.is_some_and(|own| is_word(own) && !is_spaceless(own)) }
    }

    /// Whether there is a border between it and its neighbour. Where either side is in a script
    /// without spaces there is nothing to tell a border by, and every place counts.
    pub(super) fn borders(self, neighbour: Option<char>) -> bool {
        !self.joins || neighbour.is_none_or(|other| !continues(other) || is_spaceless(other))
    }
}

/// A letter, a number or a mark.
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let category = category(c);
    GeneralCategoryGroup::Letter.contains(category)
        || GeneralCategoryGroup::Number.contains(category)
        || GeneralCategoryGroup::Mark.contains(category)
}

/// What carries a word on: [`is_word`] or a connector such as `_`.
fn continues(c: char) -> bool {
    c == '_' || is_word(c) || category(c) == GeneralCategory::ConnectorPunctuation
}

fn category(c: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(c)
}

fn is_spaceless(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let scripts = ScriptWithExtensions::new().get_script_extensions_val(c);
    scripts.iter().any(|script| SPACELESS.contains(&script))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_edge(own: Option<char>, neighbour: Option<char>) -> bool {
        End::new(own).borders(neighbour)
    }

    #[test]
    fn letters_numbers_and_marks_hold_together() {
        for (own, neighbour) in [
            ('n', 'e'),
            ('3', '0'),
            ('3', 'r'),
            ('o', '_'),
            ('x', '\u{302}'),
            ('é', 'é'),
            ('2', '²'),
            ('я', 'я'),
            ('a', '\u{203f}'),
        ] {
            assert!(!is_edge(Some(own), Some(neighbour)), "{own:?} {neighbour:?}");
        }
    }

    #[test]
    fn everything_else_is_an_edge() {
        for (own, neighbour) in [
            ('n', ' '),
            ('n', '.'),
            ('n', '-'),
            ('n', '’'),
            ('+', 'x'),
            ('$', 'U'),
            ('_', 'x'),
            ('3', ':'),
        ] {
            assert!(is_edge(Some(own), Some(neighbour)), "{own:?} {neighbour:?}");
        }
        assert!(is_edge(Some('a'), None));
    }

    #[test]
    fn scripts_without_spaces_have_edges_everywhere() {
        for (own, neighbour) in [
            ('京', '都'),
            ('ย', 'แ'),
            ('ー', 'が'),
            ('o', 'に'),
            ('ກ', 'ຂ'),
            ('ក', 'ខ'),
            ('က', 'ခ'),
        ] {
            assert!(is_edge(Some(own), Some(neighbour)), "{own:?} {neighbour:?}");
        }
        assert!(!is_edge(Some('서'), Some('울')), "Korean has spaces");
    }
}
