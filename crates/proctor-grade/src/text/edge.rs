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

/// Whether a word may end between two neighbours, of which `own` belongs to what was searched for.
///
/// A text that ends in punctuation (`C++`) has a border there whatever follows. Where either side
/// is in a script without spaces there is nothing to tell a border by, and every place counts.
pub(super) fn is_edge(own: Option<char>, neighbour: Option<char>) -> bool {
    let (Some(own), Some(neighbour)) = (own, neighbour) else { return true };
    !is_word(own) || !continues(neighbour) || is_spaceless(own) || is_spaceless(neighbour)
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
    let scripts = ScriptWithExtensions::new();
    !c.is_ascii() && SPACELESS.iter().any(|&script| scripts.has_script(c, script))
}

#[cfg(test)]
mod tests {
    use super::*;

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
