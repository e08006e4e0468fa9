//! From YAML to a script, or to a diagnostic that helps.

use proctor_model::{Diagnostic, Location, nearest};
use serde_saphyr::{DuplicateKeyPolicy, Error, MergeKeyPolicy, Options};

use crate::script::Script;

impl Script {
    /// Reads a script. The diagnostic of the first mistake has a place and no file.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        serde_saphyr::from_str_with_options(text, options())
            .map_err(|error| diagnostic(error.without_snippet()))
    }
}

/// YAML 1.2 and nothing that surprises: in the arguments of a tool call, which have no types, `no`
/// and `012` and `1_000` are texts.
fn options() -> Options {
    serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        reject_unsupported_tags: true,
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
    }
}

fn diagnostic(error: &Error) -> Diagnostic {
    let named = |what: &str, word: &str, known: &[&'static str]| {
        let diagnostic = Diagnostic::error(format!("unknown {what} `{word}`"));
        match nearest(word, known.iter().copied()) {
            Some(name) => diagnostic.hint(format!("did you mean `{name}`?")),
            None => diagnostic.hint(format!("known: {}", known.join(", "))),
        }
    };
    let plain = |message: &str| Diagnostic::error(message);
    let diagnostic = match error {
        Error::SerdeUnknownField { field, expected, .. } => named("key", field, expected),
        Error::SerdeUnknownVariant { variant, expected, .. } => named("name", variant, expected),
        Error::SerdeMissingField { field, .. } => {
            Diagnostic::error(format!("the key `{field}` is missing"))
        }
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            Diagnostic::error(format!("the key `{key}` is there twice"))
        }
        Error::ExpectedMappingEndAfterEnumVariantValue { .. } => {
            plain("a second key where only one is allowed").hint("start each step with `- `")
        }
        Error::UnexpectedValueForUnitEnumVariant { .. } => plain("this step takes no value"),
        Error::NullIntoString { .. } => {
            plain("a text is missing").hint("an empty text is written `\"\"`")
        }
        Error::InvalidBooleanStrict { .. } => plain("expected `true` or `false`"),
        Error::InvalidScalar { ty: "u8", .. } => plain("expected a whole number from 0 to 255"),
        Error::InvalidScalar { ty: "u64", .. } => plain("expected a whole number from 0 up"),
        Error::InvalidScalar { ty: "floating point", .. } => plain("expected a number"),
        Error::Unexpected { expected: "sequence start", .. } => plain("expected a list"),
        Error::Unexpected { expected: "mapping start", .. } => plain("expected a mapping"),
        Error::Unexpected { expected: "string scalar", .. } => plain("expected a text"),
        Error::MergeKeyNotAllowed { .. } => plain("merge keys (`<<`) are not allowed"),
        Error::MultipleDocuments { .. } => plain("a second document; a script is one"),
        other => Diagnostic::error(words(other)),
    };
    match error.location() {
        Some(location) => diagnostic.at(Location {
            line: u32::try_from(location.line()).unwrap_or(u32::MAX),
            column: u32::try_from(location.column()).unwrap_or(u32::MAX),
        }),
        None => diagnostic,
    }
}

/// The library's own words, on one line and without the place, which a diagnostic has elsewhere.
fn words(error: &Error) -> String {
    let text = error.render();
    let line = text.lines().next().unwrap_or_default();
    line.split_once(" at line ").map_or(line, |(words, _)| words).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::*;
    use crate::script::Step;

    fn complaints(documents: &[&str]) -> String {
        let mut text = String::new();
        for document in documents {
            let error = Script::parse(document).expect_err(document).in_file("s");
            writeln!(text, "{error}").unwrap();
        }
        text
    }

    /// To be run again, and looked at, whenever the YAML library changes.
    #[test]
    fn bad_documents() {
        insta::assert_snapshot!(complaints(&[
            "",
            "steps: 3",
            "step: []",
            "steps: []\nextra: 1",
            "steps: []\n---\nsteps: []",
            "steps: [",
            "steps:\n\t- say: a",
            "steps:\n  - say: \"a",
            "steps:\n  - say: !foo x",
            "steps:\n  - &a say: *b",
            "steps: &a [*a]",
            "a: &a [x,x]\nsteps: *a",
        ]), @r##"
s:1:1: unexpected end of input
s:1:8: expected a list
s:1:1: unknown key `step` (hint: did you mean `steps`?)
s:2:1: unknown key `extra` (hint: known: steps)
s:3:1: a second document; a script is one
s:1:8: unclosed bracket '['
s:2:2: tabs disallowed within this context (block indentation)
s:2:10: unclosed quote
s:2:15: unsupported tag `!foo`
s:2:13: alias references unknown anchor
s:1:12: recursive references require weak recursion types
s:1:1: unknown key `a` (hint: known: steps)
"##);
    }

    #[test]
    fn bad_steps() {
        insta::assert_snapshot!(complaints(&[
            "steps:\n  - sya: hi",
            "steps:\n  - frobnicate: hi",
            "steps:\n  - say: [a]",
            "steps:\n  - say:",
            "steps:\n  - say: null",
            "steps:\n  - say",
            "steps:\n  - {say: a, read: b}",
            "steps:\n  - say: a\n    read: b",
            "steps:\n  - stall: 1",
            "steps:\n  - run: ls",
            "steps:\n  - write: a",
            "steps:\n  - write: {path: a, txt: b}",
            "steps:\n  - write: {path: a}",
            "steps:\n  - write: {path: a, path: b, text: c}",
            "steps:\n  - sleep: -1",
            "steps:\n  - sleep: soon",
            "steps:\n  - sleep: .nan",
            "steps:\n  - tool: {name: x, status: maybe}",
            "steps:\n  - tool: {name: x, input: {<<: {a: 1}}}",
            "steps:\n  - ignore: [TREM]",
            "steps:\n  - ignore: [KILL]",
            "steps:\n  - crash: {exit: 256}",
            "steps:\n  - crash: 3",
            "steps:\n  - end: {outcome: complete}",
            "steps:\n  - end: {message: x}",
            "steps:\n  - print_bytes: [1, 256]",
            "steps:\n  - spawn: {run: [a], setsid: yes}",
            "steps:\n  - usage: {input_token: 1}",
            "steps:\n  - usage: {input_tokens: -1}",
        ]), @r##"
s:2:5: unknown name `sya` (hint: known: say, read, write, append, delete, run, tool, skill, sleep, spawn, ignore, print, print_bytes, stderr, notice, usage, crash, stall, end)
s:2:5: unknown name `frobnicate` (hint: known: say, read, write, append, delete, run, tool, skill, sleep, spawn, ignore, print, print_bytes, stderr, notice, usage, crash, stall, end)
s:2:10: expected a text
s:2:8: a text is missing (hint: an empty text is written `""`)
s:2:10: a text is missing (hint: an empty text is written `""`)
s:2:8: expected a text
s:2:14: a second key where only one is allowed (hint: start each step with `- `)
s:3:5: a second key where only one is allowed (hint: start each step with `- `)
s:2:12: this step takes no value
s:2:10: expected a list
s:2:12: expected a mapping
s:2:22: unknown key `txt` (hint: did you mean `text`?)
s:2:13: the key `text` is missing
s:2:22: the key `path` is there twice
s:2:5: invalid value: floating point `-1.0`, expected a number of seconds from 0 to 86400
s:2:12: expected a number
s:2:5: invalid value: floating point `NaN`, expected a number of seconds from 0 to 86400
s:2:29: unknown name `maybe` (hint: known: ok, error, denied)
s:2:29: merge keys (`<<`) are not allowed
s:2:14: unknown name `TREM` (hint: did you mean `TERM`?)
s:2:14: KILL cannot be ignored
s:2:19: expected a whole number from 0 to 255
s:2:12: unknown name `3` (hint: known: signal, exit)
s:2:20: unknown name `complete` (hint: did you mean `completed`?)
s:2:11: the key `outcome` is missing
s:2:22: expected a whole number from 0 to 255
s:2:31: expected `true` or `false`
s:2:13: unknown key `input_token` (hint: did you mean `input_tokens`?)
s:2:27: expected a whole number from 0 up
"##);
    }

    #[test]
    fn untyped_values_are_what_they_look_like() {
        let text = "steps:\n  - tool: {name: x, input: {a: no, b: 012, c: 1_000, d: 1.5, e: 12, \
                    f: null, g: true, h: y, i: 2020-01-01, j: [on, \"1\"]}}";
        let script = Script::parse(text).unwrap();
        let [Step::Tool(tool)] = script.steps.as_slice() else { panic!("{script:?}") };
        assert_eq!(
            serde_json::Value::Object(tool.input.clone()),
            json!({
                "a": "no", "b": "012", "c": "1_000", "d": 1.5, "e": 12, "f": null, "g": true,
                "h": "y", "i": "2020-01-01", "j": ["on", "1"]
            })
        );
    }

    #[test]
    fn typed_texts_stay_texts() {
        let script = Script::parse("steps: [say: no, say: 012, say: 1e3, {say: true}]").unwrap();
        let said = ["no", "012", "1e3", "true"].map(|text| Step::Say(text.to_owned()));
        assert_eq!(script.steps, said);
    }

    #[test]
    fn json_is_yaml() {
        let script = Script::parse(r#"{"steps": [{"say": "a"}, "stall"]}"#).unwrap();
        assert_eq!(script.steps, [Step::Say("a".to_owned()), Step::Stall]);
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let mut text = String::from("steps:\n  - tool: {name: x, input: {a: &a [x,x,x,x,x,x,x,x]");
        for pair in ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij", "jk"] {
            let (from, to) = pair.split_at(1);
            let aliases = vec![format!("*{from}"); 8].join(",");
            write!(text, ", {to}: &{to} [{aliases}]").unwrap();
        }
        text.push_str("}}");
        let error = Script::parse(&text).unwrap_err();
        assert!(error.location.is_some(), "{error}");
    }
}
