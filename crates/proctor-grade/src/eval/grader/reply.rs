//! What counts as the reply of a judge: one JSON object with a score and a reason, nothing else.
//!
//! Nothing is guessed: a reply that only resembles a grade is none.

use serde::Deserialize;

use super::super::outcome::Grade;

/// Bytes of a reply that are read.
const MOST_BYTES: usize = 64 << 10;

/// Bytes of a reason that are kept.
const REASON_BYTES: usize = 300;

/// Bytes of what is wrong with a reply.
const FAULT_BYTES: usize = 160;

/// Why a reply is no grade.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadReply {
    /// There is nothing in it.
    #[error("the judge said nothing")]
    Empty,
    /// It goes on and on.
    #[error("the judge's reply has {0} bytes, which no grade has")]
    TooLong(usize),
    /// It is something else than one object with a number `score` and a text `rationale`.
    #[error("the judge's reply is no grade: {0}")]
    NotAGrade(String),
    /// The score is none.
    #[error("the judge's reply is no grade: the score {0} is not from 0 to 1")]
    OutOfRange(f64),
    /// The answer holds the same grade.
    #[error("the judge's reply stands in the answer itself, which may not grade itself")]
    Dictated,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    score: f64,
    rationale: String,
}

/// Reads a reply. Its reason is as it was said.
pub(super) fn parse(reply: &str) -> Result<Grade, BadReply> {
    let text = unfenced(reply);
    if text.is_empty() {
        return Err(BadReply::Empty);
    }
    if text.len() > MOST_BYTES {
        return Err(BadReply::TooLong(text.len()));
    }
    // The derived reader would take a list of the two values as well.
    if !text.starts_with('{') {
        return Err(BadReply::NotAGrade("it does not begin with `{`".to_owned()));
    }
    let reply: Reply = serde_json::from_str(text)
        .map_err(|error| BadReply::NotAGrade(line_of(&error.to_string(), FAULT_BYTES)))?;
    if !(0.0..=1.0).contains(&reply.score) {
        return Err(BadReply::OutOfRange(reply.score));
    }
    // -0 is 0.
    Ok(Grade { score: reply.score.abs(), rationale: reply.rationale })
}

/// The text in a code fence around all of it, if there is one.
fn unfenced(reply: &str) -> &str {
    let text = reply.trim();
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inside.map_or(text, |inside| inside.strip_prefix("json").unwrap_or(inside).trim())
}

/// Whether the answer that was shown holds this very grade, in whatever spelling: then who wrote the
/// answer gave it, or a judge that repeats what it reads.
pub(super) fn dictated(shown: &str, grade: &Grade) -> bool {
    let unescaped = shown.contains("\\\"").then(|| shown.replace("\\\"", "\""));
    let texts = [Some(shown), unescaped.as_deref()].into_iter().flatten();
    let said = one_line(&grade.rationale);
    let same = |found: &Grade| {
        found.score.to_bits() == grade.score.to_bits() && one_line(&found.rationale) == said
    };
    texts.flat_map(grades).any(|found| same(&found))
}

/// Every grade that stands in a text.
///
/// Each attempt ends at the first thing that is no part of a grade, so that nested brackets are not
/// read over and over.
pub(super) fn grades(text: &str) -> impl Iterator<Item = Grade> {
    text.match_indices('{').filter_map(|(at, _)| {
        let rest = text.get(at..)?;
        if !rest.get(1..)?.trim_start().starts_with('"') {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Reply>();
        let Reply { score, rationale } = values.next()?.ok()?;
        Some(Grade { score, rationale })
    })
}

/// A reason on one line, not too long.
pub(super) fn one_line(text: &str) -> String {
    line_of(text, REASON_BYTES)
}

fn line_of(text: &str, most: usize) -> String {
    const MORE: &str = "...";
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > most {
        line.truncate(line.floor_char_boundary(most - MORE.len()));
        line.push_str(MORE);
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn grades_are_read() {
        for (reply, score) in [
            (r#"{"score":1,"rationale":"r"}"#, 1.0_f64),
            (r#"{"rationale":"r","score":0.5}"#, 0.5),
            ("  {\n\"score\" : 0.0 , \"rationale\" : \"r\" }\n", 0.0),
            ("```json\n{\"score\":5e-1,\"rationale\":\"r\"}\n```\n", 0.5),
            ("```\n{\"score\":1.0,\"rationale\":\"r\"}```", 1.0),
            (r#"{"score":-0,"rationale":"r"}"#, 0.0),
        ] {
            let grade = parse(reply).unwrap_or_else(|error| panic!("{reply}: {error}"));
            assert_eq!(grade.score.to_bits(), score.to_bits(), "{reply}");
            assert_eq!(grade.rationale, "r");
        }
    }

    #[test]
    fn nothing_else_is_a_grade() {
        for (reply, fault) in [
            ("", "said nothing"),
            ("  \n", "said nothing"),
            ("``````", "said nothing"),
            ("The answer is good: 0.9", "does not begin with `{`"),
            ("INCORRECT", "does not begin with `{`"),
            ("CORRECT", "does not begin with `{`"),
            ("1", "does not begin with `{`"),
            ("null", "does not begin with `{`"),
            (r#"[1,"r"]"#, "does not begin with `{`"),
            (r#"[{"score":1,"rationale":"r"}]"#, "does not begin with `{`"),
            ("\u{feff}{\"score\":1,\"rationale\":\"r\"}", "does not begin with `{`"),
            (r#"Sure! {"score":1,"rationale":"r"}"#, "does not begin with `{`"),
            (r#"{"score":1,"rationale":"r"} "#, ""),
            (r#"{"score":1,"rationale":"r"}."#, "trailing characters"),
            (r#"{"score":1,"rationale":"r"}{"score":0,"rationale":"r"}"#, "trailing characters"),
            ("{\"score\":1,\"rationale\":\"r\"}\n{\"score\":1,\"rationale\":\"r\"}", "trailing"),
            ("```json\n{\"score\":1,\"rationale\":\"r\"}\n```\nHope this helps", "begin with `{`"),
            ("```json\n{\"score\":1,\"rationale\":\"r\"}", "does not begin with `{`"),
            (r#"{"score":2,"rationale":"r"}"#, "the score 2 is not from 0 to 1"),
            (r#"{"score":-0.1,"rationale":"r"}"#, "the score -0.1 is not"),
            (r#"{"score":1.0000001,"rationale":"r"}"#, "is not from 0 to 1"),
            (r#"{"score":NaN,"rationale":"r"}"#, "expected value"),
            (r#"{"score":Infinity,"rationale":"r"}"#, "expected value"),
            (r#"{"score":1e309,"rationale":"r"}"#, "number out of range"),
            (r#"{"score":"0.5","rationale":"r"}"#, "invalid type: string"),
            (r#"{"score":true,"rationale":"r"}"#, "invalid type: boolean"),
            (r#"{"score":null,"rationale":"r"}"#, "invalid type: null"),
            (r#"{"score":[1],"rationale":"r"}"#, "invalid type: sequence"),
            (r#"{"score":.5,"rationale":"r"}"#, "expected value"),
            (r#"{"score":1}"#, "missing field `rationale`"),
            (r#"{"rationale":"r"}"#, "missing field `score`"),
            (r#"{"score":1,"rationale":null}"#, "invalid type: null"),
            (r#"{"score":1,"rationale":"r","pass":true}"#, "unknown field `pass`"),
            (r#"{"score":0,"score":1,"rationale":"r"}"#, "duplicate field `score`"),
            (r#"{"score":0,"\u0073core":1,"rationale":"r"}"#, "duplicate field `score`"),
            (r#"{"Score":1,"rationale":"r"}"#, "unknown field `Score`"),
            (r#"{"verdict":{"score":1,"rationale":"r"}}"#, "unknown field `verdict`"),
            (r#"{"score":1,"rationale":"r",}"#, "trailing comma"),
            (r#"{"score":1,"rationale":"r""#, "EOF"),
            (r"{'score':1,'rationale':'r'}", "key must be a string"),
            ("{\"score\":1,\"rationale\":\"a\nb\"}", "control character"),
        ] {
            let parsed = parse(reply);
            if fault.is_empty() {
                assert!(parsed.is_ok(), "{reply}");
                continue;
            }
            let error = parsed.expect_err(reply).to_string();
            assert!(error.contains(fault), "{reply}: {error}");
        }
    }

    #[test]
    fn faults_and_reasons_stay_short() {
        let long = format!(r#"{{"score":1,"{}":1}}"#, "é".repeat(9000));
        let error = parse(&long).expect_err("unknown field").to_string();
        assert!(error.len() < 220 && error.ends_with("..."), "{error}");
        let endless = format!(r#"{{"score":1,"rationale":"{}"}}"#, "r".repeat(MOST_BYTES));
        assert!(matches!(parse(&endless), Err(BadReply::TooLong(_))));
        assert_eq!(one_line(&"x".repeat(300)).len(), 300);
        let cut = one_line(&"é ".repeat(200));
        assert!(cut.len() <= 300 && cut.ends_with("..."), "{cut}");
        assert_eq!(one_line(" a\t\nb\u{2028}c "), "a b c");
    }

    #[test]
    fn hostile_nesting_is_not_read_over_and_over() {
        let start = std::time::Instant::now();
        for piece in
            ["{\"score\":{", "{\"score\":1,\"rationale\":\"", "{ ", "{\"a\":[", "{\"score\":1,"]
        {
            let text = piece.repeat((64 << 10) / piece.len());
            assert_eq!(grades(&text).count(), 0, "{piece}");
        }
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(score in 0.0f64..=1.0, rationale in "\\PC{0,40}") {
            let reply = serde_json::json!({"score": score, "rationale": rationale}).to_string();
            let grade = parse(&reply).expect("a grade");
            prop_assert_eq!(grade.score.to_bits(), score.to_bits());
            let answer = format!("x {reply} y");
            prop_assert!(dictated(&answer, &grade));
            prop_assert!(!dictated("", &grade));
        }

        #[test]
        fn no_reply_panics(reply in "[{}\\[\\]\":,0-9a-z`\\PC]{0,80}") {
            let _ = parse(&reply);
            let _ = grades(&reply).count();
        }
    }
}
