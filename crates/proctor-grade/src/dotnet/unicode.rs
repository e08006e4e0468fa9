//! Categories and case of UTF-16 code units, as .NET's `Char` knows them: a surrogate is its own
//! character, of category Cs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory as Category;

use super::blocks::BLOCKS;
use super::class::Set;

const DIGIT: &[Category] = &[Category::DecimalNumber];

const WORD: &[Category] = &[
    Category::UppercaseLetter,
    Category::LowercaseLetter,
    Category::TitlecaseLetter,
    Category::ModifierLetter,
    Category::OtherLetter,
    Category::NonspacingMark,
    Category::DecimalNumber,
    Category::ConnectorPunctuation,
];

/// `Char.IsWhiteSpace`.
const SPACE: [(u16, u16); 10] = [
    (0x09, 0x0D),
    (0x20, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
];

/// The zero-width non-joiner and joiner: word characters for `\b` and for group names only.
const JOINERS: (u16, u16) = (0x200C, 0x200D);

/// `\d`, `\s` and `\w`, with the sets of their capital letters.
pub(super) struct Shorthand {
    pub(super) set: Set,
    pub(super) others: Set,
}

impl Shorthand {
    fn new(set: Set) -> Self {
        let others = Set::except(set.ranges().iter().copied());
        Self { set, others }
    }

    pub(super) fn get(&self, others: bool) -> &Set {
        if others { &self.others } else { &self.set }
    }
}

pub(super) static DIGITS: LazyLock<Shorthand> = LazyLock::new(|| Shorthand::new(categories(DIGIT)));
pub(super) static WORDS: LazyLock<Shorthand> = LazyLock::new(|| Shorthand::new(categories(WORD)));
pub(super) static SPACES: LazyLock<Shorthand> = LazyLock::new(|| Shorthand::new(Set::new(SPACE)));

static BOUNDARY: LazyLock<Set> =
    LazyLock::new(|| Set::new(WORDS.set.ranges().iter().copied().chain([JOINERS])));

/// Whether `\b` takes the unit for part of a word.
pub(super) fn is_boundary_word(unit: u16) -> bool {
    BOUNDARY.contains(unit)
}

/// The set behind `\p{name}`; `None` for a name that .NET does not know.
pub(super) fn property(name: &str, fold: bool) -> Option<Set> {
    const CASED: &[Category] =
        &[Category::UppercaseLetter, Category::LowercaseLetter, Category::TitlecaseLetter];
    if let Ok(at) = BLOCKS.binary_search_by_key(&name, |block| block.0) {
        return BLOCKS.get(at).map(|(_, first, last)| Set::new([(*first, *last)]));
    }
    if fold && matches!(name, "Lu" | "Ll" | "Lt") {
        return Some(categories(CASED));
    }
    // `L` is every category whose name starts with it, and so on.
    let wanted: Vec<Category> = NAMES
        .iter()
        .filter(|(long, _)| *long == name || (name.len() == 1 && long.starts_with(name)))
        .map(|(_, category)| *category)
        .collect();
    (!wanted.is_empty()).then(|| categories(&wanted))
}

const NAMES: [(&str, Category); 30] = [
    ("Cc", Category::Control),
    ("Cf", Category::Format),
    ("Cn", Category::Unassigned),
    ("Co", Category::PrivateUse),
    ("Cs", Category::Surrogate),
    ("Ll", Category::LowercaseLetter),
    ("Lm", Category::ModifierLetter),
    ("Lo", Category::OtherLetter),
    ("Lt", Category::TitlecaseLetter),
    ("Lu", Category::UppercaseLetter),
    ("Mc", Category::SpacingMark),
    ("Me", Category::EnclosingMark),
    ("Mn", Category::NonspacingMark),
    ("Nd", Category::DecimalNumber),
    ("Nl", Category::LetterNumber),
    ("No", Category::OtherNumber),
    ("Pc", Category::ConnectorPunctuation),
    ("Pd", Category::DashPunctuation),
    ("Pe", Category::ClosePunctuation),
    ("Pf", Category::FinalPunctuation),
    ("Pi", Category::InitialPunctuation),
    ("Po", Category::OtherPunctuation),
    ("Ps", Category::OpenPunctuation),
    ("Sc", Category::CurrencySymbol),
    ("Sk", Category::ModifierSymbol),
    ("Sm", Category::MathSymbol),
    ("So", Category::OtherSymbol),
    ("Zl", Category::LineSeparator),
    ("Zp", Category::ParagraphSeparator),
    ("Zs", Category::SpaceSeparator),
];

fn categories(wanted: &[Category]) -> Set {
    let map = CodePointMapData::<Category>::new();
    Set::new(wanted.iter().flat_map(|category| {
        map.iter_ranges_for_value(*category).filter_map(|range| {
            let first = u16::try_from(*range.start()).ok()?;
            Some((first, u16::try_from(*range.end()).unwrap_or(u16::MAX)))
        })
    }))
}

/// Units that are the same when case is ignored, each family sorted, none of one member.
pub(super) fn case_families() -> &'static [Vec<u16>] {
    &FAMILIES
}

static FAMILIES: LazyLock<Vec<Vec<u16>>> = LazyLock::new(|| {
    let mut pairs: Vec<(u16, u16)> = (0..=u16::MAX)
        .filter_map(|unit| {
            let lower = lower(unit);
            (lower != unit).then_some((lower, unit))
        })
        .collect();
    pairs.sort_unstable();
    pairs
        .chunk_by(|left, right| left.0 == right.0)
        .map(|family| {
            let mut units: Vec<u16> = family.iter().map(|pair| pair.1).collect();
            units.extend(family.first().map(|pair| pair.0));
            units.sort_unstable();
            units
        })
        .collect()
});

/// The simple lowercase of a unit: equal for units that are the same when case is ignored.
pub(super) fn lower(unit: u16) -> u16 {
    // U+0130 lowers to `i` in no culture-invariant comparison.
    if unit == 0x130 {
        return unit;
    }
    let Some(character) = char::from_u32(u32::from(unit)) else { return unit };
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(single), None) => u16::try_from(u32::from(single)).unwrap_or(unit),
        _ => unit,
    }
}

/// The set of a single unit when case is ignored; `None` when it has no other case.
pub(super) fn folded(unit: u16) -> Option<Set> {
    static MEMBERS: LazyLock<BTreeMap<u16, &'static [u16]>> = LazyLock::new(|| {
        let members = |family: &'static Vec<u16>| family.iter().map(|unit| (*unit, &**family));
        FAMILIES.iter().flat_map(members).collect()
    });
    MEMBERS.get(&unit).map(|family| Set::new(family.iter().map(|unit| (*unit, *unit))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(character: char) -> String {
        let unit = u16::try_from(u32::from(character)).unwrap();
        let family = case_families().iter().find(|family| family.contains(&unit));
        family.map_or(String::new(), |units| String::from_utf16(units).unwrap())
    }

    #[test]
    fn case_follows_the_invariant_culture() {
        assert_eq!(family('a'), "Aa");
        assert_eq!(family('i'), "Ii");
        assert_eq!(family('\u{130}'), "");
        assert_eq!(family('\u{131}'), "");
        assert_eq!(family('k'), "Kk\u{212A}");
        assert_eq!(family('s'), "Ss");
        assert_eq!(family('\u{17F}'), "");
        assert_eq!(family('σ'), "Σσ");
        assert_eq!(family('ς'), "");
        assert_eq!(family('ß'), "ß\u{1E9E}");
        assert_eq!(family('ǅ'), "Ǆǅǆ");
        assert_eq!(family('1'), "");
    }

    #[test]
    fn properties_by_name() {
        assert!(property("Lu", false).unwrap().contains(b'A'.into()));
        assert!(!property("Lu", false).unwrap().contains(b'a'.into()));
        assert!(property("Lu", true).unwrap().contains(b'a'.into()));
        assert!(property("L", false).unwrap().contains(0x5D0));
        assert!(property("Cs", false).unwrap().contains(0xD83D));
        assert!(property("IsGreek", false).unwrap().contains(0x3B1));
        for unknown in ["", "l", "Letter", "IsKlingon", "Greek", "LU", "X"] {
            assert_eq!(property(unknown, false), None, "{unknown}");
        }
        assert!(NAMES.is_sorted_by_key(|name| name.0));
    }
}
