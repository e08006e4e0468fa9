//! Questions that nobody thought of: random expressions over the events. Each is answered here with
//! values of the types that the translation says, or refused; and, where ClickHouse is at hand, as
//! ClickHouse answers it.

use crate::corpus::{Said, is_same, ours, theirs};
use crate::evidence::evidence;
use crate::oracle::ClickHouse;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).unwrap_or(0)
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }

    fn whole(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&[
                    "source_seq",
                    "ts_ms",
                    "1",
                    "-3",
                    "300",
                    "NULL",
                    "length(payload)",
                    "70000",
                    "0",
                ])
                .to_owned();
        }
        let (a, b) = (self.whole(depth - 1), self.whole(depth - 1));
        match self.roll(16) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * {b})"),
            3 => format!("intDiv({a}, 7)"),
            4 => format!("({a} % 5)"),
            5 => format!("if({}, {a}, {b})", self.truth(depth - 1)),
            6 => format!("coalesce({a}, {b})"),
            7 => format!("length({})", self.text(depth - 1)),
            8 => format!("position({}, {})", self.text(depth - 1), self.text(0)),
            9 => format!("-({a})"),
            10 => format!("toInt32({a})"),
            11 => format!("JSONExtractInt(payload, 'input', 'limit') + {a}"),
            12 => format!("nullIf({a}, {b})"),
            13 => format!("abs({a})"),
            14 => format!("CASE WHEN {} THEN {a} ELSE {b} END", self.truth(depth - 1)),
            _ => format!("indexOf(splitByChar('e', {}), 'r')", self.plain_text(depth - 1)),
        }
    }

    /// A text that is never NULL.
    fn plain_text(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&["payload", "kind", "agent", "'e'", "''", "'ä%_'", "source"])
                .to_owned();
        }
        let text = self.plain_text(depth - 1);
        match self.roll(4) {
            0 => format!("upperUTF8({text})"),
            1 => format!("substringUTF8({text}, 2, 9)"),
            2 => format!("ifNull({}, {text})", self.text(depth - 1)),
            _ => format!("replaceAll({text}, 'e', 'é')"),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&["payload", "kind", "tool_name", "'e'", "role", "'a\\'b'", "NULL"])
                .to_owned();
        }
        let text = self.text(depth - 1);
        match self.roll(12) {
            0 => format!("lower({text})"),
            1 => format!("substring({text}, {}, 8)", self.pick(&["1", "3", "-4"])),
            2 => format!("concat({text}, {})", self.text(depth - 1)),
            3 => format!("toString({})", self.whole(depth - 1)),
            4 => format!(
                "JSONExtractString(payload, 'input', {})",
                self.pick(&["'file_path'", "'command'", "'x'"])
            ),
            5 => format!("replaceRegexpAll({text}, '[aeiou]+', '<\\\\0>')"),
            6 => format!("if({}, {text}, {})", self.truth(depth - 1), self.text(depth - 1)),
            7 => format!("trim({text})"),
            8 => format!("coalesce({text}, 'none')"),
            9 => format!(
                "splitByChar('e', {})[{}]",
                self.plain_text(depth - 1),
                self.pick(&["1", "-1", "2"])
            ),
            10 => format!("extract({text}, '([a-z]+)_')"),
            _ => format!("toString({})", self.fraction(depth - 1)),
        }
    }

    fn fraction(&mut self, depth: usize) -> String {
        let whole = self.pick(&["source_seq", "length(payload)", "3", "0", "repeat_zero"]);
        let whole = if whole == "repeat_zero" { "(source_seq - source_seq)" } else { whole };
        match self.roll(4) {
            0 => format!("({whole} / 4)"),
            1 => format!("({whole} / (source_seq - 3))"),
            2 => format!("round({whole} / 3, 2)"),
            _ if depth > 0 => format!("({} + 0.5)", self.fraction(depth - 1)),
            _ => "1.5".to_owned(),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        let depth = depth.saturating_sub(1);
        match self.roll(9) {
            0 => format!("{} > {}", self.whole(depth), self.whole(depth)),
            1 => format!("{} = {}", self.text(depth), self.text(depth)),
            2 => format!("{} LIKE '%e%'", self.text(depth)),
            3 => format!("{} IN ('e', 'tool_call', NULL)", self.text(depth)),
            4 => format!("{} IS NULL", self.text(depth)),
            5 => format!("{} BETWEEN 1 AND 10", self.whole(depth)),
            6 => format!("NOT ({} < {})", self.fraction(depth), self.fraction(depth)),
            7 => format!("has(['e', 'message'], {})", self.plain_text(depth)),
            _ => format!(
                "({} OR {})",
                self.pick(&["role = 'user'", "status != 'failed'"]),
                self.pick(&["ts_ms > 1764558003000", "agent = 'codex'"])
            ),
        }
    }

    fn many(&mut self) -> String {
        let (whole, text) = (self.whole(1), self.text(1));
        match self.roll(12) {
            0 => format!("sum({})", self.pick(&["source_seq", "length(payload)", "ts_ms"])),
            1 => format!("countIf({})", self.truth(2)),
            2 => format!("uniqExact({text})"),
            3 => format!("min({text})"),
            4 => format!("max({whole})"),
            5 => format!("argMax({text}, source_seq)"),
            6 => format!("arraySort(groupUniqArray({text}))"),
            7 => "quantile(0.3)(source_seq)".to_owned(),
            // The last digit of a sum depends on the order.
            8 => format!("round(avg({}), 9)", self.fraction(1)),
            9 => format!("anyIf({}, {})", self.plain_text(0), self.truth(1)),
            10 => "stddevPop(source_seq)".to_owned(),
            _ => format!("uniqExact({text}, {whole})"),
        }
    }

    fn statement(&mut self) -> String {
        if self.roll(3) == 0 {
            let key = self.pick(&["agent", "kind", "role", "source_seq % 3"]);
            let having = if self.roll(3) == 0 { " HAVING count() > 1" } else { "" };
            let many: Vec<String> = (0..3).map(|_| self.many()).collect();
            let filter = self.truth(2);
            format!(
                "SELECT {key} AS k, {} FROM events WHERE {filter} GROUP BY k{having} ORDER BY k",
                many.join(", ")
            )
        } else {
            let (whole, text, truth, fraction) =
                (self.whole(2), self.text(2), self.truth(3), self.fraction(2));
            format!(
                "SELECT {whole} AS w, {text} AS t, {truth} AS b, {fraction} AS f FROM events WHERE {} ORDER BY run_id, source_seq LIMIT 7",
                self.truth(2)
            )
        }
    }
}

#[test]
fn random_questions_have_the_answers_of_clickhouse() {
    let mut evidence = evidence();
    let mut clickhouse = ClickHouse::start(&mut evidence);
    let seeds: u64 =
        std::env::var("PROCTOR_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let (mut problems, mut refused) = (Vec::new(), 0);
    for seed in 0..seeds {
        let sql = Dice(seed).statement();
        let said = ours(&mut evidence, &sql);
        match (&said, clickhouse.as_mut().map(|clickhouse| theirs(clickhouse, &sql))) {
            (Said::Refused(words), _) if words.contains(" is no ") || words.contains("syntax") => {
                problems.push(format!("{sql}\n  {words}"));
            }
            (Said::Refused(_), _) => refused += 1,
            (Said::Rows(ours), Some(Said::Rows(theirs))) => {
                // Names are a matter of the corpus.
                if !is_same(&sql, &ours[1..], &theirs[1..]) {
                    problems.push(format!(
                        "{sql}\n  clickhouse: {}\n  here:       {}",
                        theirs[1..].join("\n    "),
                        ours[1..].join("\n    ")
                    ));
                }
            }
            (Said::Rows(_), Some(Said::Refused(code))) => {
                problems.push(format!("{sql}\n  clickhouse refuses: {code}"));
            }
            (Said::Rows(_), None) => {}
        }
    }
    assert!(refused * 5 < seeds, "{refused} of {seeds} are refused");
    assert!(problems.is_empty(), "{} of {seeds}:\n{}", problems.len(), problems.join("\n\n"));
}
