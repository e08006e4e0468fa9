//! What .NET answers, by its documentation ("Regular Expression Language - Quick Reference" and
//! the pages below it) or by its parser where the documentation is silent.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

const LIMIT: Duration = Duration::from_secs(20);

fn find(pattern: &str, text: &str) -> Option<usize> {
    let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    compiled.find(&Text::new(text), LIMIT).unwrap()
}

/// `pattern: yes, yes | no, no`, texts with Rust's escapes.
fn check(table: &[(&str, &[&str], &[&str])]) {
    let mut wrong = String::new();
    for (pattern, yes, no) in table {
        for (texts, expected) in [(yes, true), (no, false)] {
            for text in *texts {
                if find(pattern, text).is_some() != expected {
                    writeln!(wrong, "{pattern:?} on {text:?}: .NET says {expected}").unwrap();
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn anchors() {
    check(&[
        ("^ready$", &["ready", "ready\n"], &["ready\r\n", "ready\n\n", "x\nready", "ready\nx"]),
        ("(?m)^ready$", &["x\nready\ny"], &["x\nready\r\ny"]),
        (r"\Aready\Z", &["ready", "ready\n"], &["ready\n\n", "\nready"]),
        (r"ready\z", &["ready"], &["ready\n"]),
        (r"(?m)\Ab", &["b"], &["a\nb"]),
        (r"(?m)a\Z", &["a\n"], &["a\nb"]),
        (r"\Ga", &["ab"], &["ba"]),
        ("^", &["", "a"], &[]),
        ("$", &["", "a"], &[]),
        ("(?m)^$", &["a\n", "\n"], &["a"]),
        (r"a$\n", &["a\n"], &["a\nb"]),
        ("(?m)a$\nb", &["a\nb"], &["ab"]),
        ("^*a", &["ba"], &[]),
        (r"\b+a\b", &["b a"], &["ba"]),
    ]);
}

#[test]
fn classes() {
    check(&[
        (".", &["\r", "\u{2028}", "\u{85}"], &["\n", ""]),
        ("(?s).", &["\n"], &[""]),
        ("^.$", &["a"], &["\u{1F600}"]),
        ("^..$", &["\u{1F600}"], &[]),
        (r"^\d$", &["1", "\u{661}", "\u{FF11}"], &["\u{B2}", "\u{2167}", "a"]),
        (r"^\D$", &["a", "\u{B2}"], &["1"]),
        (
            r"^\w$",
            &[
                "a",
                "_",
                "é",
                "\u{300}",
                "\u{203F}",
                "\u{661}",
                "\u{2E80}".replace('\u{2E80}', "文").as_str(),
            ],
            &["-", "\u{903}", "\u{200D}", "\u{2160}", "\u{24B6}"],
        ),
        (r"^\w+$", &["straße"], &["\u{1D400}"]),
        (r"^\W+$", &["\u{1D400}", "- "], &["a"]),
        (
            r"^\s$",
            &[" ", "\u{A0}", "\u{85}", "\u{2028}", "\u{1680}", "\u{3000}"],
            &["\u{200B}", "\u{FEFF}", "\u{180E}", "\u{1C}"],
        ),
        (r"^\S$", &["a", "\u{FEFF}"], &["\t"]),
        (r"^[\w-]+$", &["a-b"], &["a b"]),
        (r"^[^\w]$", &["-"], &["a"]),
        (r"^[\W\d]+$", &["1-"], &["a"]),
        (r"^[\s\S]$", &["\n", "a"], &[""]),
        ("^[]a]+$", &["]a"], &["b"]),
        ("^[^]a]+$", &["b"], &["]", "a"]),
        ("^[a-]+$", &["a-"], &["b"]),
        ("^[-a]+$", &["a-"], &["b"]),
        (r"^[a\-z]+$", &["a-z"], &["b"]),
        (r"^[\d-z]+$", &["1-z"], &["y"]),
        ("^[+--]+$", &["+,-"], &["."]),
        ("^[a&&b]+$", &["a&b"], &["c"]),
        ("^[[:alpha:]]$", &["a]", ":]", "[]"], &["b]", "a", "b"]),
        ("^[a~~b||c]+$", &["a~b|c"], &["d"]),
        ("^[[]$", &["["], &["]"]),
        (r"^[\]]$", &["]"], &["\\"]),
        (r"^[\b]$", &["\u{8}"], &["b"]),
        (r"^[\x41-\u0043\cA\e\n\t\07]+$", &["ABC\u{1}\u{1b}\n\t\u{7}"], &["D"]),
        ("^[.$^*(){}|?+]+$", &[".$^*(){}|?+"], &["a"]),
        (r"^[\p{Lu}\P{L}]+$", &["A1"], &["a"]),
        ("^[\u{1F600}]$", &[], &["\u{1F600}"]),
        ("^[\u{1F600}]+$", &["\u{1F600}"], &["a"]),
    ]);
}

#[test]
fn properties() {
    check(&[
        (r"^\p{L}$", &["a", "文"], &["1"]),
        (r"^\p{Ll}$", &["a"], &["A"]),
        (r"^\P{Ll}$", &["A", "1"], &["a"]),
        (r"^\p{Nd}\p{N}\p{Sc}$", &["1\u{B2}$"], &["a1$"]),
        (r"^\p{IsGreek}+$", &["αβγ"], &["abc"]),
        (r"^\p{IsCyrillic}\P{IsCyrillic}$", &["жa"], &["aж"]),
        (r"^\p{IsBasicLatin}+$", &["a1 "], &["é"]),
        (r"^\p{IsLatin-1Supplement}$", &["é"], &["e"]),
        (r"^\p{IsArabicPresentationForms-A}$", &["\u{FB50}"], &["\u{FB4F}"]),
        (r"^\p{IsHighSurrogates}\p{IsLowSurrogates}$", &["\u{1F600}"], &["ab"]),
        (r"^\p{Cs}{2}$", &["\u{1F600}"], &["ab"]),
        (r"(?i)^\p{Lu}$", &["a", "A"], &["1"]),
        (r"(?i)^[\P{Lu}]$", &["1"], &["a"]),
    ]);
}

#[test]
fn word_boundaries() {
    check(&[
        (r"\bready\b", &["is ready."], &["already", "ready2", "ready_"]),
        (r"\bé", &["é", "-é"], &["aé"]),
        (r"a\B", &["ab"], &["a b"]),
        // The joiners are word characters for `\b`, and not for `\w`.
        (r"a\b", &["a\u{200B}"], &["a\u{200D}", "a\u{200C}"]),
        // Half an emoji is no word character, half of a letter beyond the basic plane neither.
        (r"a\b", &["a\u{1F600}", "a\u{1D400}"], &[]),
        (r"\b\u0903", &[], &["\u{903}"]),
    ]);
}

#[test]
fn case() {
    check(&[
        ("(?i)ready", &["READY", "ReAdY"], &["re4dy"]),
        ("(?i)k", &["K", "\u{212A}"], &["x"]),
        ("(?i)s", &["S"], &["\u{17F}"]),
        ("(?i)i", &["I"], &["\u{130}", "\u{131}"]),
        ("(?i)ß", &["ß", "\u{1E9E}"], &["ss", "SS"]),
        ("(?i)Σ", &["σ"], &["ς"]),
        ("(?i)[a-c]+$", &["ABC"], &["D"]),
        ("(?i)^[^a]$", &["b"], &["A", "a"]),
        ("a(?i)b", &["aB"], &["AB"]),
        ("a(?i:b)c", &["aBc"], &["aBC"]),
        ("(a(?i)b)c", &["aBc"], &["aBC"]),
        ("x(?i)a|b", &["xA", "B"], &["XA"]),
        ("(?i)a(?-i)b", &["Ab"], &["AB"]),
        ("(?I)a", &["A"], &[]),
        ("(?i)(k)\\1", &["kK", "\u{212A}k"], &["kx"]),
        ("(a)\\1", &["aa"], &["aA"]),
    ]);
}

#[test]
fn groups_and_references() {
    check(&[
        (r"(\w)\1", &["book"], &["bok"]),
        (r"(?<x>\w)\k<x>", &["book"], &["bok"]),
        (r"(?'x'\w)\k'x'", &["book"], &["bok"]),
        (r"(?<x>a)(b)\1\2", &["abba"], &["abab"]),
        (r"(?<3>a)(b)\3\1", &["abab"], &["abba"]),
        (r"(?<x>a)\<x>", &["aa"], &["a"]),
        (r"\<a\>", &["<a>"], &["a"]),
        (r"\1(a)", &[], &["aa", "a"]),
        (r"(?:(a)|b)\1", &["aa"], &["ba", "b"]),
        (r"^(?:(a)|b)*\1$", &["aba", "aa"], &["ab", "b"]),
        (r"(a)\k<0>", &[], &["aa"]),
        (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10", &["abcdefghijj"], &["abcdefghija0"]),
        (r"(a)\10", &["a\u{8}"], &["aa0"]),
        (r"(a)\018", &["a\u{1}8"], &["aa"]),
        (r"(a)\x31", &["a1"], &["aa"]),
        (r"(?<n>a)(?<n>b)\k<n>", &["abb"], &["aba"]),
        (r"^(a(?=(b)))\2$", &[], &["a"]),
        (r"a(?=(b))\1", &["ab"], &["a"]),
        (r"a(?!(b))\1?c", &["ac"], &["abc"]),
        ("(?:ab)+c", &["ababc"], &["ac"]),
        ("a(?#comment )b", &["ab"], &["a b"]),
        ("a(?#c)*b", &["aaab", "b"], &[]),
        ("()", &[""], &[]),
        ("a||b", &[""], &[]),
        ("(|a)b", &["b", "ab"], &["a"]),
    ]);
}

#[test]
fn quantifiers() {
    check(&[
        ("^a{2}$", &["aa"], &["a", "aaa"]),
        ("^a{2,}$", &["aa", "aaa"], &["a"]),
        ("^a{1,2}$", &["a", "aa"], &["", "aaa"]),
        ("^a{,2}$", &["a{,2}"], &["a", ""]),
        ("^a{$", &["a{"], &["a"]),
        ("^a{1$", &["a{1"], &["a"]),
        ("^a{1,2$", &["a{1,2"], &["a"]),
        ("^a{ 1}$", &["a{ 1}"], &["a"]),
        ("^{a}$", &["{a}"], &[]),
        ("^a{0}b$", &["b"], &["ab"]),
        ("^a{1}?b$", &["ab"], &["b"]),
        ("^a+?b$", &["aab"], &["b"]),
        ("^a*?$", &["", "aa"], &["b"]),
        ("^a??b$", &["ab", "b"], &["aab"]),
        ("^a{1,3}?a$", &["aa", "aaaa"], &["a", "aaaaa"]),
        ("^(?:ab){2,3}$", &["abab", "ababab"], &["ab", "abababab"]),
        ("^(?:ab){2,3}?ab$", &["ababab", "abababab"], &["abab"]),
        ("^(?:a|ab)(?:c|bcd)$", &["abcd", "abc", "ac"], &["abd"]),
        ("^(a*)*$", &["", "aaa"], &["b"]),
        ("^(a*)+b$", &["b", "aab"], &["aa"]),
        ("^(a|b*)*?c$", &["abbac"], &["abd"]),
        ("^(?:a?){3}b$", &["b", "aaab"], &["aaaab"]),
        ("^(?:a?){3,}b$", &["aaaaab"], &["c"]),
        ("^(?:(?=a)a?)*$", &["aa"], &["b"]),
        ("(?=a)*b", &["b"], &["a"]),
        ("^(?>a*)a$", &[], &["aa"]),
        ("^(?>a|ab)c$", &["ac"], &["abc"]),
        ("^(?>(a+?))\\1$", &["aa"], &["a"]),
    ]);
}

#[test]
fn lookaround() {
    check(&[
        ("a(?=b)", &["ab"], &["ac"]),
        ("a(?!b)", &["ac", "a"], &["ab"]),
        ("(?<=a)b", &["ab"], &["cb"]),
        ("(?<!a)b", &["cb", "b"], &["ab"]),
        ("(?<=a+)b", &["aab"], &["b"]),
        (r"(?<=^\s*)#", &["  #", "#"], &["x#"]),
        (r"(?<=(\w)\1)!", &[], &["ab!", "aa!"]),
        (r"(?<=\1(\w))!", &["aa!"], &["ab!"]),
        (r"(?<=(?<x>a|bc))d\k<x>", &["bcdbc"], &["bcdc"]),
        ("(?<=ab|c)d", &["abd", "cd"], &["bd"]),
        ("(?<=a(?=b))b", &["ab"], &["ac"]),
        ("(?<=a.*?)z", &["a..z"], &["z"]),
        ("(?<!^)a", &["ba"], &["a"]),
        ("(?<=a{2,3}?b)c", &["aabc"], &["abc"]),
        ("(?<=(?:ab){2})c", &["ababc"], &["abc"]),
        (r"^(?!.*\bTODO\b).*$", &["fine", "TODOS"], &["a TODO b"]),
        (r"^(?=.*\d)(?=.*[a-z]).{4,}$", &["abc1"], &["abcd", "1234"]),
    ]);
}

#[test]
fn spaced_patterns() {
    check(&[
        ("(?x) a b # comment\n c", &["abc"], &["a b"]),
        ("(?x)a *", &["", "aa"], &[]),
        ("(?x)a + ? b", &["aab"], &["b"]),
        (r"(?x)a\ b", &["a b"], &["ab"]),
        ("(?x)[ ]a", &[" a"], &["a"]),
        ("(?x)a\u{A0}b", &["a\u{A0}b"], &["ab"]),
        ("a b(?x) c", &["a bc"], &["ab c"]),
        ("(?x: a )b c", &["ab c"], &["a b c"]),
        ("#", &["#"], &[]),
    ]);
}

#[test]
fn escapes() {
    check(&[
        (r"^\a\f\n\r\t\v\e$", &["\u{7}\u{c}\n\r\t\u{b}\u{1b}"], &[]),
        (r"^\x41\u0042\cC\cc$", &["AB\u{3}\u{3}"], &[]),
        (r"^\0\101\777$", &["\0A\u{FF}"], &[]),
        (r"^\.\*\[\]\(\)\{\}\\\/\-\ \#\@\!$", &[r".*[](){}\/- #@!"], &[]),
        ("^]}$", &["]}"], &[]),
        (r"^\ud83d\ude00$", &["\u{1F600}"], &[]),
        ("^\u{1F600}$", &["\u{1F600}"], &[]),
        ("^\u{1F600}+$", &["\u{1F600}"], &["\u{1F600}\u{1F600}"]),
    ]);
}

fn refusal(pattern: &str) -> String {
    match Pattern::new(pattern) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_not_supported_is_named() {
    for (pattern, expected) in [
        ("[a-z-[aeiou]]", "unsupported construct: character class subtraction at 4"),
        ("[a-[b]]", "unsupported construct: character class subtraction at 2"),
        (r"[\w-[\d]]", "unsupported construct: character class subtraction at 3"),
        ("x(?<a-b>c)", "unsupported construct: balancing group at 1"),
        ("(?<a>x)(?<-a>y)", "unsupported construct: balancing group at 7"),
        ("(?'-a'y)", "unsupported construct: balancing group at 0"),
        ("(?n)(a)", "unsupported construct: explicit capture option at 0"),
        ("(?i-n:a)", "unsupported construct: explicit capture option at 0"),
        ("(?r)a", "unsupported construct: right-to-left option at 0"),
        ("(a)?(?(1)b|c)", "unsupported construct: conditional group at 4"),
        ("(?(?=a)b|c)", "unsupported construct: conditional group at 0"),
        ("(?(x)b|c)", "unsupported construct: conditional group at 0"),
    ] {
        assert_eq!(refusal(pattern), expected, "{pattern}");
    }
}

#[test]
fn what_dotnet_refuses_is_refused() {
    for (pattern, expected) in [
        ("a++", "nested quantifier `+` at 2"),
        ("a**", "nested quantifier `*` at 2"),
        ("a???", "nested quantifier `?` at 3"),
        ("a{2}{3}", "nested quantifier `{` at 4"),
        ("*a", "quantifier `*` after nothing at 0"),
        ("(?i)*", "quantifier `*` after nothing at 4"),
        ("a|*", "quantifier `*` after nothing at 2"),
        ("(?)", "quantifier `?` after nothing at 1"),
        ("{2}", "quantifier `{` after nothing at 0"),
        ("a{3,2}", "a quantifier whose bounds are reversed at 1"),
        ("a{2147483648}", "a number above 2147483647 at 2"),
        ("(a", "a `(` without its `)` at 0"),
        ("a)", "a `)` without its `(` at 1"),
        ("[a", "a `[` without its `]` at 0"),
        ("[]", "a `[` without its `]` at 0"),
        ("[b-a]", "a range whose ends are reversed at 3"),
        (r"[a-\d]", "a class as the end of a range at 3"),
        ("a\\", "a `\\` at the end at 1"),
        (r"\h", r"unknown escape `\h` at 0"),
        (r"\R", r"unknown escape `\R` at 0"),
        (r"a\Kb", r"unknown escape `\K` at 1"),
        (r"\Qa\E", r"unknown escape `\Q` at 0"),
        (r"\y", r"unknown escape `\y` at 0"),
        (r"\_", r"unknown escape `\_` at 0"),
        (r"\é", r"unknown escape `\é` at 0"),
        (r"\8", "a reference to group 8, which does not exist at 0"),
        (r"\1", "a reference to group 1, which does not exist at 0"),
        (r"\81", r"unknown escape `\8` at 0"),
        (r"\k<x>", "a reference to a group that does not exist at 0"),
        (r"\k{x}", "`\\k` without `<name>` at 0"),
        (r"\k<x", "`\\k` without `<name>` at 0"),
        (r"\x4", "an escape with fewer than 2 hexadecimal digits at 0"),
        (r"\u{41}", "an escape with fewer than 4 hexadecimal digits at 0"),
        (r"\c1", "`\\c` without a control character at 0"),
        (r"\p{IsKlingon}", "unknown Unicode category or block `IsKlingon` at 3"),
        (r"\p{Greek}", "unknown Unicode category or block `Greek` at 3"),
        (r"\pL", "`\\p` without `{name}` at 2"),
        (r"\p{L&}", "`\\p{` without its `}` at 2"),
        ("(?P<x>a)", "an unknown kind of group at 0"),
        ("(?|a)", "an unknown kind of group at 0"),
        ("(?<x", "a group name that is not made of word characters at 3"),
        ("(?<x y>a)", "a group name that is not made of word characters at 3"),
        ("(?<1a>a)", "a group name that is not made of word characters at 3"),
        ("(?<0>a)", "a group numbered 0 at 3"),
        ("(?#a", "a comment without its `)` at 0"),
    ] {
        assert_eq!(refusal(pattern), format!("invalid pattern: {expected}"), "{pattern}");
    }
}

#[test]
fn patterns_are_limited() {
    assert_eq!(
        refusal(&"(".repeat(1_000)),
        "pattern is too large: groups inside groups, and the limit is 200"
    );
    assert_eq!(refusal(&format!("{}a{}", "(?:".repeat(200), ")".repeat(200))), "accepted");
    assert_eq!(
        refusal(&"a".repeat(40_000)),
        "pattern is too large: code units, and the limit is 32768"
    );
    assert_eq!(refusal(&"(?i)k[a-z]".repeat(3_000)), "accepted");
}

#[test]
fn matches_start_where_they_start() {
    assert_eq!(find("b+", "aabb"), Some(2));
    assert_eq!(find("b", "\u{1F600}b"), Some(2));
    assert_eq!(find(r"\w*b", "a-ab"), Some(2));
    assert_eq!(find("(?<=a)b", "bab"), Some(2));
    let text = Text::new("a\nb\r\nc");
    assert_eq!([0, 1, 2, 5].map(|at| text.line(at)), [1, 1, 2, 3]);
}

#[test]
fn hostile_patterns_end_in_time() {
    let limit = Duration::from_millis(100);
    let text = Text::new(&format!("{}!", "a".repeat(50_000)));
    for pattern in [
        "^(a+)+$",
        "^(a|aa)*$",
        "^(?:a*)*$",
        r"(a*)*\1b",
        "(?=(a+)+$)a",
        "(?<=b(a+)+)!",
        "(?>(a+)+$)",
        "(?:){2147483647}",
    ] {
        let started = Instant::now();
        let error = Pattern::new(pattern).unwrap().find(&text, limit).unwrap_err();
        let _ = error.to_string();
        // Generous, for a busy machine: without the deadline this would take years.
        assert!(started.elapsed() < Duration::from_secs(20), "{pattern}");
    }
    let error = Pattern::new("^(a+)+$").unwrap().find(&text, Duration::from_secs(1)).unwrap_err();
    assert_eq!(error.to_string(), "pattern took longer than 1 s");
}

#[test]
fn long_runs_are_not_tried_from_every_place() {
    let text = Text::new(&"a".repeat(400_000));
    for pattern in [".*b", "a+?b", r"\w+\s", "(?s).*b"] {
        assert_eq!(Pattern::new(pattern).unwrap().find(&text, LIMIT).unwrap(), None, "{pattern}");
    }
}

/// Patterns that mean the same in `fancy-regex`, over texts where they can.
fn shared_pattern() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        5 => "[abc]",
        2 => Just(".".to_owned()),
        2 => "\\[\\^?[abc-]{1,3}\\]".prop_filter("ranges in order", |class| !class.trim_end_matches("-]").contains('-')),
        1 => prop_oneof![Just(r"\b".to_owned()), Just(r"\w".to_owned()), Just(r"\s".to_owned()), Just(r"\W".to_owned())],
        1 => prop_oneof![Just("^".to_owned()), Just(r"\z".to_owned()), Just("(?:)".to_owned())],
    ];
    atom.prop_recursive(5, 40, 4, |inner| {
        let quantifier = prop_oneof![
            Just("*"), Just("+"), Just("?"), Just("*?"), Just("+?"), Just("??"), Just("{2}"), Just("{1,2}"), Just("{0,2}?")
        ];
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            1 => inner.clone().prop_map(|inner| format!("({inner})")),
            1 => inner.clone().prop_map(|inner| format!("(?={inner})")),
            1 => inner.clone().prop_map(|inner| format!("(?!{inner})")),
            1 => inner.clone().prop_map(|inner| format!("(?>{inner})")),
            4 => (inner, quantifier).prop_map(|(inner, quantifier)| format!("(?:{inner}){quantifier}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn agrees_with_another_engine_where_the_dialects_agree(
        pattern in shared_pattern(),
        texts in prop::collection::vec("[abc \n]{0,8}", 4),
    ) {
        let Ok(other) = fancy_regex::Regex::new(&pattern) else { return Ok(()) };
        let ours = Pattern::new(&pattern).unwrap();
        for text in texts {
            let Ok(theirs) = other.find(&text) else { continue };
            let theirs = theirs.map(|found| found.start());
            prop_assert_eq!(ours.find(&Text::new(&text), LIMIT).unwrap(), theirs, "{:?} on {:?}", pattern, text);
        }
    }

    #[test]
    fn any_pattern_is_read_or_refused(pattern in r"[\\(\[\]){}?*+|^$.<>='!:#a-z0-9,\-& \n]{0,20}") {
        if let Ok(pattern) = Pattern::new(&pattern) {
            let _ = pattern.find(&Text::new("aab 01\n-x"), Duration::from_millis(50));
        }
    }

    #[test]
    fn an_escaped_text_finds_itself(text in "\\PC{1,12}") {
        let escaped = text.encode_utf16().fold(String::new(), |pattern, unit| format!("{pattern}\\u{unit:04x}"));
        prop_assert_eq!(find(&escaped, &format!("\u{1}{text}")), Some(1));
        let folded = format!("(?i){escaped}");
        prop_assert_eq!(find(&folded, &text), Some(0));
    }
}
