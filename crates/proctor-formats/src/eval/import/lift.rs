//! Criteria that state a mechanical check in a fixed phrasing, as assertions.
//!
//! The phrasings are few on purpose: what is checked must be quoted, and nothing else may stand in
//! the sentence, since a wrong lift changes what is graded. The criterion stays in the rubric.

use std::sync::LazyLock;

use proctor_model::eval::Assertion;
use regex::Regex;

use super::document::quoted;
use super::draft::{Draft, NewAssertion};
use super::report::Lifted;
use crate::eval::paths::clean;

/// What a sentence says about its quoted value.
#[derive(Debug, Clone, Copy)]
enum Claim {
    Present,
    Absent,
    Contains,
    ContainsNot,
}

static PHRASINGS: LazyLock<[(Claim, Regex); 4]> = LazyLock::new(|| {
    const FILE: &str = "(?:file|path)";
    const ANSWER: &str = r"(?:output|answer|response|final\s+answer)";
    [
        (Claim::Present, FILE, r"(?:exists|is\s+created|is\s+present|gets\s+created)", true),
        (Claim::Absent, FILE, r"(?:does\s+not\s+exist|is\s+not\s+created|is\s+absent)", true),
        (Claim::Contains, ANSWER, r"(?:contains|includes|mentions)", false),
        (
            Claim::ContainsNot,
            ANSWER,
            r"(?:does\s+not|doesn't)\s+(?:contain|include|mention)",
            false,
        ),
    ]
    .map(|(claim, subject, verb, value_first)| {
        let value = r#"(?:"([^"'`\n]{1,200})"|'([^"'`\n]{1,200})'|`([^"'`\n]{1,200})`)"#;
        let (second, third) = if value_first { (value, verb) } else { (verb, value) };
        let pattern = format!(r"(?i)\A(?:the\s+)?{subject}\s+{second}\s+{third}\.?\z");
        (claim, Regex::new(&pattern).expect("a constant pattern that tests compile"))
    })
});

/// Adds an assertion for every criterion that states one.
pub(super) fn lift(draft: &mut Draft) {
    let mut looks_at_text = false;
    for case in &mut draft.cases {
        for criterion in &case.criteria {
            let Some(assertion) = lifted(criterion.text.trim()) else { continue };
            looks_at_text |= !matches!(assertion, Assertion::FileExists { .. });
            draft.report.lifted.push(Lifted {
                criterion: criterion.label().to_owned(),
                assertion: described(&assertion),
            });
            let lifted_from = Some(criterion.label().to_owned());
            case.assertions.push(NewAssertion { assertion, lifted_from });
        }
    }
    if looks_at_text {
        let note = "lifted contains and not_contains assertions match case-sensitively; the \
                    criteria they came from do not say so";
        draft.report.assumed.push(note.to_owned());
    }
}

fn lifted(text: &str) -> Option<Assertion> {
    PHRASINGS.iter().find_map(|(claim, pattern)| {
        let captures = pattern.captures(text)?;
        let value = captures.iter().skip(1).flatten().next()?.as_str();
        let file = |exists| Some(Assertion::FileExists { path: clean(value).ok()?, exists });
        let value = value.to_owned();
        match claim {
            Claim::Present => file(true),
            Claim::Absent => file(false),
            Claim::Contains => Some(Assertion::Contains { value, path: None }),
            Claim::ContainsNot => Some(Assertion::NotContains { value, path: None }),
        }
    })
}

fn described(assertion: &Assertion) -> String {
    let name = assertion.type_name();
    match assertion {
        Assertion::FileExists { path, exists: true } => format!("{name} {}", quoted(path)),
        Assertion::FileExists { path, exists: false } => {
            format!("{name} {} (absent)", quoted(path))
        }
        Assertion::Contains { value, .. }
        | Assertion::NotContains { value, .. }
        | Assertion::Regex { value, .. } => format!("{name} {}", quoted(value)),
        Assertion::CommandExit { command, .. } => format!("{name} {}", quoted(command)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fixed_phrasings_are_lifted() {
        for (text, expected) in [
            (r#"The file "out/report.txt" is created."#, Some(r#"file_exists "out/report.txt""#)),
            ("file 'a.txt' is present", Some(r#"file_exists "a.txt""#)),
            ("PATH `a` GETS  CREATED", Some(r#"file_exists "a""#)),
            ("The file 'a' is absent", Some(r#"file_exists "a" (absent)"#)),
            ("the path 'a' is not created", Some(r#"file_exists "a" (absent)"#)),
            (r#"The output includes "ok""#, Some(r#"contains "ok""#)),
            ("The response mentions 'staging-eu'.", Some(r#"contains "staging-eu""#)),
            ("Final answer contains 'x y'", Some(r#"contains "x y""#)),
            (r#"The answer doesn't mention "prod""#, Some(r#"not_contains "prod""#)),
            ("The output contains ok", None),
            (r#"The output contains "a" and "b""#, None),
            (r#"The output contains "a'"#, None),
            (r#"The file "/etc/passwd" exists"#, None),
            (r#"The file "../x" exists"#, None),
            (r#"Explains the tradeoff in the output "somewhere""#, None),
            (r#"The output contains """#, None),
            ("The output contains 'a\nb'", None),
            ("The output contains 'a'..", None),
            ("The file 'a' exists\n", None),
        ] {
            let found = lifted(text).map(|assertion| described(&assertion));
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        let long = format!("The output contains '{}'", "x".repeat(201));
        assert_eq!(lifted(&long), None);
    }
}
