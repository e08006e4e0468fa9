//! The functions of ClickHouse that are answered.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A group of functions, as the documentation lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Conditions and NULL.
    Conditions,
    /// Text.
    Text,
    /// Patterns.
    Patterns,
    /// Numbers.
    Numbers,
    /// From one type to another.
    Types,
    /// JSON.
    Json,
    /// Arrays, tuples and maps.
    Arrays,
    /// Days and times, in UTC.
    Times,
    /// Of many rows.
    Aggregates,
    /// Of windows.
    Windows,
}

#[cfg(test)]
impl Group {
    fn title(self) -> &'static str {
        match self {
            Self::Conditions => "Conditions and NULL",
            Self::Text => "Text",
            Self::Patterns => "Patterns (RE2)",
            Self::Numbers => "Numbers",
            Self::Types => "Types",
            Self::Json => "JSON",
            Self::Arrays => "Arrays, tuples, maps",
            Self::Times => "Days and times",
            Self::Aggregates => "Aggregates",
            Self::Windows => "Windows",
        }
    }
}

/// A function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) group: Group,
    pub(super) make: Make,
}

/// How a call is translated.
#[derive(Debug, Clone, Copy)]
pub(super) enum Make {
    /// By a function of SQLite of this name. First what the arguments are: `s` text, `n` a number,
    /// `i` a whole number, `a` an array, `t` a day or time, `x` anything; with `?` it may be left
    /// out, with `*` there may be any number of it. Then what it gives: a type, `=1` that of the
    /// first argument, `e1` that of the elements of the first argument.
    Plain(&'static str, &'static str, &'static str),
    /// Like [`Make::Plain`]; gives a fraction, and "not a number" at times.
    Fraction(&'static str, &'static str),
    /// By code of its own.
    Special,
    /// A function of many rows.
    Aggregate,
    /// A function of a window.
    Window,
}

use Group::{Aggregates, Arrays, Conditions, Json, Numbers, Patterns, Text, Times, Types, Windows};
use Make::{Fraction, Plain};

const fn f(group: Group, name: &'static str, make: Make) -> Entry {
    Entry { name, group, make }
}

const fn special(group: Group, name: &'static str) -> Entry {
    Entry { name, group, make: Make::Special }
}

const fn many(name: &'static str) -> Entry {
    Entry { name, group: Aggregates, make: Make::Aggregate }
}

const fn window(name: &'static str) -> Entry {
    Entry { name, group: Windows, make: Make::Window }
}

/// All of them. Names that end in `_` are those of [`super::prepare`].
const ENTRIES: &[Entry] = &[
    special(Conditions, "if"),
    special(Conditions, "multiIf"),
    special(Conditions, "coalesce"),
    special(Conditions, "ifNull"),
    special(Conditions, "nullIf"),
    special(Conditions, "isNull"),
    special(Conditions, "isNotNull"),
    special(Conditions, "assumeNotNull"),
    special(Conditions, "toNullable"),
    special(Conditions, "not"),
    special(Conditions, "and"),
    special(Conditions, "or"),
    special(Conditions, "xor"),
    special(Conditions, "equals"),
    special(Conditions, "notEquals"),
    special(Conditions, "less"),
    special(Conditions, "lessOrEquals"),
    special(Conditions, "greater"),
    special(Conditions, "greaterOrEquals"),
    special(Conditions, "toTypeName"),
    special(Conditions, "materialize"),
    // text
    special(Text, "length"),
    special(Text, "empty"),
    special(Text, "notEmpty"),
    special(Text, "reverse"),
    special(Text, "concat"),
    special(Text, "format"),
    f(Text, "lengthUTF8", Plain("s", "UInt64", "ch_length_utf8")),
    f(Text, "lower", Plain("s", "String", "lower")),
    f(Text, "lcase", Plain("s", "String", "lower")),
    f(Text, "upper", Plain("s", "String", "upper")),
    f(Text, "ucase", Plain("s", "String", "upper")),
    f(Text, "lowerUTF8", Plain("s", "String", "ch_lower_utf8")),
    f(Text, "upperUTF8", Plain("s", "String", "ch_upper_utf8")),
    f(Text, "substring_", Plain("s i i?", "String", "ch_substring")),
    f(Text, "substr_", Plain("s i i?", "String", "ch_substring")),
    f(Text, "mid", Plain("s i i?", "String", "ch_substring")),
    f(Text, "substringUTF8", Plain("s i i?", "String", "ch_substring_utf8")),
    f(Text, "left_", Plain("s i", "String", "ch_left")),
    f(Text, "right_", Plain("s i", "String", "ch_right")),
    f(Text, "leftPad", Plain("s i s?", "String", "ch_left_pad")),
    f(Text, "lpad", Plain("s i s?", "String", "ch_left_pad")),
    f(Text, "rightPad", Plain("s i s?", "String", "ch_right_pad")),
    f(Text, "rpad", Plain("s i s?", "String", "ch_right_pad")),
    f(Text, "repeat", Plain("s i", "String", "ch_repeat")),
    f(Text, "trim_", Plain("s s?", "String", "ch_trim")),
    f(Text, "trimBoth", Plain("s s?", "String", "ch_trim")),
    f(Text, "trimLeft", Plain("s s?", "String", "ch_trim_left")),
    f(Text, "ltrim", Plain("s s?", "String", "ch_trim_left")),
    f(Text, "trimRight", Plain("s s?", "String", "ch_trim_right")),
    f(Text, "rtrim", Plain("s s?", "String", "ch_trim_right")),
    f(Text, "reverseUTF8", Plain("s", "String", "ch_reverse_utf8")),
    f(Text, "position_", Plain("s s i?", "UInt64", "ch_position")),
    f(Text, "positionCaseInsensitive", Plain("s s i?", "UInt64", "ch_position_ci")),
    f(Text, "positionUTF8", Plain("s s i?", "UInt64", "ch_position_utf8")),
    f(Text, "positionCaseInsensitiveUTF8", Plain("s s i?", "UInt64", "ch_position_ci_utf8")),
    f(Text, "locate", Plain("s s i?", "UInt64", "ch_locate")),
    f(Text, "countSubstrings", Plain("s s", "UInt64", "ch_count_substrings")),
    f(Text, "startsWith", Plain("s s", "UInt8", "ch_starts_with")),
    f(Text, "endsWith", Plain("s s", "UInt8", "ch_ends_with")),
    f(Text, "hasToken", Plain("s s", "UInt8", "ch_has_token")),
    f(Text, "hasTokenCaseInsensitive", Plain("s s", "UInt8", "ch_has_token_ci")),
    f(Text, "replaceOne", Plain("s s s", "String", "ch_replace_one")),
    f(Text, "replaceAll", Plain("s s s", "String", "ch_replace_all")),
    f(Text, "replace", Plain("s s s", "String", "ch_replace_all")),
    f(Text, "splitByChar", Plain("s s i?", "Array(String)", "ch_split_by_char")),
    f(Text, "splitByString", Plain("s s i?", "Array(String)", "ch_split_by_string")),
    f(Text, "splitByWhitespace", Plain("s", "Array(String)", "ch_split_by_whitespace")),
    f(Text, "substringIndex", Plain("s s i", "String", "ch_substring_index")),
    f(Text, "basename", Plain("s", "String", "ch_basename")),
    f(Text, "ascii", Plain("s", "Int32", "ch_ascii")),
    f(Text, "multiSearchAny", Plain("s a", "UInt8", "ch_multi_search_any")),
    f(Text, "multiSearchAnyCaseInsensitive", Plain("s a", "UInt8", "ch_multi_search_any_ci")),
    // patterns
    f(Patterns, "like", Plain("s s", "UInt8", "ch_like")),
    f(Patterns, "notLike", Plain("s s", "UInt8", "ch_not_like")),
    f(Patterns, "ilike", Plain("s s", "UInt8", "ch_ilike")),
    f(Patterns, "notILike", Plain("s s", "UInt8", "ch_not_ilike")),
    f(Patterns, "match", Plain("s s", "UInt8", "ch_match")),
    f(Patterns, "extract_", Plain("s s", "String", "ch_extract")),
    f(Patterns, "extractAll", Plain("s s", "Array(String)", "ch_extract_all")),
    f(Patterns, "countMatches", Plain("s s", "UInt64", "ch_count_matches")),
    f(Patterns, "replaceRegexpAll", Plain("s s s", "String", "ch_replace_regexp_all")),
    f(Patterns, "replaceRegexpOne", Plain("s s s", "String", "ch_replace_regexp_one")),
    f(Patterns, "splitByRegexp", Plain("s s", "Array(String)", "ch_split_by_regexp")),
    f(Patterns, "multiMatchAny", Plain("s a", "UInt8", "ch_multi_match_any")),
    // numbers
    special(Numbers, "plus"),
    special(Numbers, "minus"),
    special(Numbers, "multiply"),
    special(Numbers, "divide"),
    special(Numbers, "intDiv"),
    special(Numbers, "modulo"),
    special(Numbers, "negate"),
    special(Numbers, "abs"),
    special(Numbers, "round"),
    special(Numbers, "floor_"),
    special(Numbers, "ceil_"),
    special(Numbers, "ceiling_"),
    special(Numbers, "greatest"),
    special(Numbers, "least"),
    special(Numbers, "isNaN"),
    special(Numbers, "isFinite"),
    f(Numbers, "sign", Plain("n", "Int8", "ch_sign")),
    f(Numbers, "sqrt", Fraction("n", "ch_sqrt")),
    f(Numbers, "exp", Fraction("n", "ch_exp")),
    f(Numbers, "log", Fraction("n", "ch_log")),
    f(Numbers, "ln", Fraction("n", "ch_log")),
    f(Numbers, "log2", Fraction("n", "ch_log2")),
    f(Numbers, "log10", Fraction("n", "ch_log10")),
    f(Numbers, "pow", Fraction("n n", "ch_pow")),
    f(Numbers, "power", Fraction("n n", "ch_pow")),
    // types
    special(Types, "toString"),
    special(Types, "toBool"),
    special(Types, "toInt8"),
    special(Types, "toInt16"),
    special(Types, "toInt32"),
    special(Types, "toInt64"),
    special(Types, "toUInt8"),
    special(Types, "toUInt16"),
    special(Types, "toUInt32"),
    special(Types, "toUInt64"),
    special(Types, "toFloat64"),
    special(Types, "toInt8OrNull"),
    special(Types, "toInt16OrNull"),
    special(Types, "toInt32OrNull"),
    special(Types, "toInt64OrNull"),
    special(Types, "toUInt8OrNull"),
    special(Types, "toUInt16OrNull"),
    special(Types, "toUInt32OrNull"),
    special(Types, "toUInt64OrNull"),
    special(Types, "toFloat64OrNull"),
    special(Types, "toInt8OrZero"),
    special(Types, "toInt16OrZero"),
    special(Types, "toInt32OrZero"),
    special(Types, "toInt64OrZero"),
    special(Types, "toUInt8OrZero"),
    special(Types, "toUInt16OrZero"),
    special(Types, "toUInt32OrZero"),
    special(Types, "toUInt64OrZero"),
    special(Types, "toFloat64OrZero"),
    special(Types, "accurateCastOrNull"),
    special(Types, "CAST"),
    // JSON
    special(Json, "JSONExtract"),
    special(Json, "JSONExtractString"),
    special(Json, "JSONExtractInt"),
    special(Json, "JSONExtractUInt"),
    special(Json, "JSONExtractFloat"),
    special(Json, "JSONExtractBool"),
    special(Json, "JSONExtractRaw"),
    special(Json, "JSONExtractArrayRaw"),
    special(Json, "JSONExtractKeys"),
    special(Json, "JSONExtractKeysAndValues"),
    special(Json, "JSONExtractKeysAndValuesRaw"),
    special(Json, "JSONHas"),
    special(Json, "JSONLength"),
    special(Json, "JSONType"),
    f(Json, "isValidJSON", Plain("s", "UInt8", "ch_json_valid")),
    f(Json, "simpleJSONExtractString", Plain("s s", "String", "ch_simple_string")),
    f(Json, "simpleJSONExtractInt", Plain("s s", "Int64", "ch_simple_int")),
    f(Json, "simpleJSONExtractUInt", Plain("s s", "UInt64", "ch_simple_int")),
    f(Json, "simpleJSONExtractBool", Plain("s s", "UInt8", "ch_simple_bool")),
    f(Json, "simpleJSONExtractRaw", Plain("s s", "String", "ch_simple_raw")),
    f(Json, "simpleJSONHas", Plain("s s", "UInt8", "ch_simple_has")),
    f(Json, "visitParamExtractString", Plain("s s", "String", "ch_simple_string")),
    f(Json, "visitParamExtractInt", Plain("s s", "Int64", "ch_simple_int")),
    f(Json, "visitParamExtractUInt", Plain("s s", "UInt64", "ch_simple_int")),
    f(Json, "visitParamExtractBool", Plain("s s", "UInt8", "ch_simple_bool")),
    f(Json, "visitParamExtractRaw", Plain("s s", "String", "ch_simple_raw")),
    f(Json, "visitParamHas", Plain("s s", "UInt8", "ch_simple_has")),
    // arrays
    special(Arrays, "array"),
    special(Arrays, "tuple"),
    special(Arrays, "map"),
    special(Arrays, "mapKeys"),
    special(Arrays, "mapValues"),
    special(Arrays, "mapContains"),
    special(Arrays, "tupleElement"),
    special(Arrays, "arrayElement"),
    special(Arrays, "arrayJoin"),
    special(Arrays, "has"),
    special(Arrays, "hasAny"),
    special(Arrays, "hasAll"),
    special(Arrays, "indexOf"),
    special(Arrays, "countEqual"),
    special(Arrays, "arrayConcat"),
    special(Arrays, "arrayPushBack"),
    special(Arrays, "arrayPushFront"),
    special(Arrays, "arraySum"),
    special(Arrays, "arrayMin"),
    special(Arrays, "arrayMax"),
    special(Arrays, "arrayAvg"),
    special(Arrays, "arrayDistinct"),
    special(Arrays, "arrayStringConcat"),
    special(Arrays, "arraySort"),
    special(Arrays, "arrayReverseSort"),
    f(Arrays, "arrayReverse", Plain("a", "=1", "ch_array_reverse")),
    f(Arrays, "arrayCompact", Plain("a", "=1", "ch_array_compact")),
    f(Arrays, "arraySlice", Plain("a i i?", "=1", "ch_array_slice")),
    f(Arrays, "arrayUniq", Plain("a", "UInt32", "ch_array_uniq")),
    f(Arrays, "arrayEnumerate", Plain("a", "Array(UInt32)", "ch_array_enumerate")),
    special(Arrays, "range"),
    // times
    special(Times, "toDate"),
    special(Times, "toDateOrNull"),
    special(Times, "toDateOrZero"),
    special(Times, "toDateTime"),
    special(Times, "toDateTimeOrNull"),
    special(Times, "toDateTimeOrZero"),
    special(Times, "toDateTime64"),
    special(Times, "toDateTime64OrNull"),
    special(Times, "toDateTime64OrZero"),
    special(Times, "parseDateTimeBestEffort"),
    special(Times, "parseDateTimeBestEffortOrNull"),
    special(Times, "parseDateTimeBestEffortOrZero"),
    special(Times, "parseDateTime64BestEffort"),
    special(Times, "parseDateTime64BestEffortOrNull"),
    special(Times, "parseDateTime64BestEffortOrZero"),
    special(Times, "fromUnixTimestamp"),
    f(Times, "fromUnixTimestamp64Milli", Plain("i", "DateTime64(3)", "ch_identity")),
    f(Times, "fromUnixTimestamp64Micro", Plain("i", "DateTime64(6)", "ch_identity")),
    f(Times, "fromUnixTimestamp64Nano", Plain("i", "DateTime64(9)", "ch_identity")),
    special(Times, "toUnixTimestamp"),
    special(Times, "toUnixTimestamp64Milli"),
    special(Times, "dateDiff"),
    special(Times, "date_diff"),
    special(Times, "dateTrunc"),
    special(Times, "date_trunc"),
    special(Times, "formatDateTime"),
    special(Times, "toStartOfInterval"),
    special(Times, "toStartOfSecond"),
    special(Times, "toStartOfMinute"),
    special(Times, "toStartOfFiveMinutes"),
    special(Times, "toStartOfTenMinutes"),
    special(Times, "toStartOfFifteenMinutes"),
    special(Times, "toStartOfHour"),
    special(Times, "toStartOfDay"),
    special(Times, "toStartOfWeek"),
    special(Times, "toMonday"),
    special(Times, "toStartOfMonth"),
    special(Times, "toStartOfQuarter"),
    special(Times, "toStartOfYear"),
    special(Times, "toYear"),
    special(Times, "toQuarter"),
    special(Times, "toMonth"),
    special(Times, "toDayOfYear"),
    special(Times, "toDayOfMonth"),
    special(Times, "toDayOfWeek"),
    special(Times, "toHour"),
    special(Times, "toMinute"),
    special(Times, "toSecond"),
    special(Times, "toYYYYMM"),
    special(Times, "toYYYYMMDD"),
    special(Times, "addSeconds"),
    special(Times, "addMinutes"),
    special(Times, "addHours"),
    special(Times, "addDays"),
    special(Times, "addWeeks"),
    special(Times, "addMonths"),
    special(Times, "addQuarters"),
    special(Times, "addYears"),
    special(Times, "subtractSeconds"),
    special(Times, "subtractMinutes"),
    special(Times, "subtractHours"),
    special(Times, "subtractDays"),
    special(Times, "subtractWeeks"),
    special(Times, "subtractMonths"),
    special(Times, "subtractQuarters"),
    special(Times, "subtractYears"),
    // aggregates
    many("count"),
    many("sum"),
    many("avg"),
    many("min"),
    many("max"),
    many("any_"),
    many("any"),
    many("anyLast"),
    many("argMin"),
    many("argMax"),
    many("uniq"),
    many("uniqExact"),
    many("quantile"),
    many("quantiles"),
    many("median"),
    many("quantileExact"),
    many("quantilesExact"),
    many("medianExact"),
    many("stddevPop"),
    many("stddevSamp"),
    many("varPop"),
    many("varSamp"),
    many("covarPop"),
    many("covarSamp"),
    many("corr"),
    many("groupArray"),
    many("groupUniqArray"),
    many("groupConcat"),
    // windows
    window("row_number"),
    window("rank"),
    window("dense_rank"),
    window("percent_rank"),
    window("ntile"),
    window("lag"),
    window("lead"),
    window("lagInFrame"),
    window("leadInFrame"),
    window("first_value"),
    window("last_value"),
    window("nth_value"),
];

/// Names that ClickHouse takes in any case.
const ANY_CASE: &[&str] = &[
    "CAST",
    "abs",
    "ascii",
    "avg",
    "ceil",
    "ceiling",
    "coalesce",
    "concat",
    "corr",
    "count",
    "countSubstrings",
    "dateDiff",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "greatest",
    "hasTokenCaseInsensitive",
    "if",
    "ifNull",
    "isNull",
    "lag",
    "last_value",
    "lcase",
    "lead",
    "least",
    "left",
    "length",
    "ln",
    "locate",
    "log",
    "log10",
    "log2",
    "lower",
    "lpad",
    "max",
    "mid",
    "min",
    "not",
    "nth_value",
    "ntile",
    "nullIf",
    "percent_rank",
    "position",
    "pow",
    "power",
    "rank",
    "repeat",
    "replace",
    "reverse",
    "right",
    "round",
    "row_number",
    "rpad",
    "sign",
    "sqrt",
    "substr",
    "substring",
    "sum",
    "ucase",
    "upper",
];

static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Entry>> =
    LazyLock::new(|| ENTRIES.iter().map(|entry| (entry.name, entry)).collect());

static BY_ANY_CASE: LazyLock<BTreeMap<String, &'static Entry>> = LazyLock::new(|| {
    let is_any_case = |entry: &&Entry| ANY_CASE.contains(&entry.name.trim_end_matches('_'));
    let known = ENTRIES.iter().filter(is_any_case);
    known.map(|entry| (entry.name.to_ascii_lowercase(), entry)).collect()
});

/// The function of that name.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    let exact = BY_NAME.get(name).copied();
    exact.or_else(|| BY_ANY_CASE.get(&name.to_ascii_lowercase()).copied())
}

/// Every name, as people write it, with its group.
pub(super) fn names() -> impl Iterator<Item = (&'static str, Group)> {
    let written = ENTRIES.iter().filter(|entry| entry.name != "any_");
    written.map(|entry| (entry.name.trim_end_matches('_'), entry.group))
}

/// An aggregate with its combinators.
pub(super) struct Combined {
    pub(super) entry: &'static Entry,
    /// Whether the last argument is a condition.
    pub(super) is_conditional: bool,
    /// Whether equal values count once.
    pub(super) is_distinct: bool,
    /// Whether it is NULL over no row.
    pub(super) or_null: bool,
}

/// What is known of the combinators of `name`: the aggregate, or the combinator that is not known.
pub(super) enum Combination {
    Known(Combined),
    /// The combinator, without the hyphen.
    Unknown(&'static str),
    /// No aggregate.
    None,
}

/// Takes the combinators off the name of an aggregate.
pub(super) fn combination(name: &str) -> Combination {
    const UNKNOWN: [&str; 11] = [
        "Array",
        "State",
        "Merge",
        "MergeState",
        "ForEach",
        "Map",
        "Resample",
        "SimpleState",
        "ArgMin",
        "ArgMax",
        "OrDefault",
    ];
    let is_aggregate =
        |name: &str| entry(name).filter(|entry| matches!(entry.make, Make::Aggregate));
    let (mut rest, mut is_conditional, mut is_distinct, mut or_null) = (name, false, false, false);
    loop {
        if let Some(entry) = is_aggregate(rest) {
            return Combination::Known(Combined { entry, is_conditional, is_distinct, or_null });
        }
        if let (Some(cut), false) = (rest.strip_suffix("If"), is_conditional) {
            (rest, is_conditional) = (cut, true);
        } else if let (Some(cut), false) = (rest.strip_suffix("Distinct"), is_distinct) {
            (rest, is_distinct) = (cut, true);
        } else if let (Some(cut), false) = (rest.strip_suffix("OrNull"), or_null) {
            (rest, or_null) = (cut, true);
        } else {
            break;
        }
    }
    let known = |ending: &&&str| {
        rest.strip_suffix(**ending)
            .is_some_and(|cut| !matches!(combination(cut), Combination::None))
    };
    UNKNOWN.iter().find(known).map_or(Combination::None, |ending| Combination::Unknown(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lists of the documentation; `PROCTOR_UPDATE=1` writes them anew.
    #[test]
    fn the_documentation_lists_every_function_and_format() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md");
        let text = std::fs::read_to_string(path).unwrap();
        let mut groups: BTreeMap<Group, Vec<String>> = BTreeMap::new();
        for (name, group) in names() {
            groups.entry(group).or_default().push(format!("`{name}`"));
        }
        let mut functions = String::from("\n");
        for (group, names) in groups {
            functions += &format!("**{}**: {}.\n\n", group.title(), names.join(", "));
        }
        let formats: Vec<String> =
            crate::format::Format::names().map(|name| format!("`{name}`")).collect();
        let formats = format!("\n{}.\n", formats.join(", "));
        let mut expected = text.clone();
        for (mark, list) in [("<!-- formats -->", formats), ("<!-- functions -->", functions)] {
            let (before, rest) = expected.split_once(mark).unwrap();
            let (_, after) = rest.split_once("<!-- end -->").unwrap();
            expected = format!("{before}{mark}{list}<!-- end -->{after}");
        }
        if std::env::var_os("PROCTOR_UPDATE").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        assert_eq!(text, expected, "docs/sql.md is behind; PROCTOR_UPDATE=1 writes it");
    }

    #[test]
    fn combinators_are_taken_off_in_any_order() {
        for name in ["countIf", "uniqExactIf", "countDistinctIf", "sumOrNullIf", "quantileIf"] {
            assert!(matches!(combination(name), Combination::Known(_)), "{name}");
        }
        assert!(matches!(combination("sumState"), Combination::Unknown("State")));
        assert!(matches!(combination("lengthIf"), Combination::None));
    }
}
