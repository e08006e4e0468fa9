//! What to install: harnesses, profiles, languages, and which rules follow from them.

use std::collections::BTreeSet;

use crate::marker::front_matter;

/// A choice of guidance. Order does not matter for what is installed; it is kept in `ai.json`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Harness ids, compared without regard to case. Empty installs files and no links.
    pub harnesses: Vec<String>,
    /// Profile ids.
    pub profiles: Vec<String>,
    /// Languages, compared without regard to case. Empty means any.
    pub languages: Vec<String>,
}

/// What an empty list of languages means for rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compat {
    /// No constraint, as the documentation says.
    #[default]
    Proctor,
    /// Rules for C# and TypeScript are dropped, as the Cratis CLI does; for trees that must be equal
    /// byte for byte.
    Reference,
}

/// What a rule file asks of a selection, from its front matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RuleNeeds {
    audience: Option<Audience>,
    csharp: bool,
    typescript: bool,
    documentation: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    Application,
    Framework,
}

/// Whether a rule belongs to a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleMatch {
    Yes,
    /// Only because no language is selected.
    Unconstrained,
    No,
}

impl RuleNeeds {
    /// Reads the needs of the rule at `path` (any separator-free prefix is irrelevant).
    ///
    /// `applyTo` is searched as text, exactly as the format's own installer does: `**/*.{ts,tsx}`
    /// does not hold `.ts`, `.css` holds `.cs`, and `README.md` makes a rule documentation.
    pub(crate) fn read(path: &str, content: &[u8]) -> Self {
        let text = String::from_utf8_lossy(content);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let front = front_matter(text).unwrap_or("");
        let apply_to = value(front, "applyTo").unwrap_or("").to_lowercase();
        let audience = match value(front, "profile").map(str::to_lowercase).as_deref() {
            Some("application") => Some(Audience::Application),
            Some("framework") => Some(Audience::Framework),
            _ => None,
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        Self {
            audience,
            csharp: apply_to.contains(".cs"),
            typescript: apply_to.contains(".ts") || name.eq_ignore_ascii_case("rtk.md"),
            documentation: apply_to.contains("md"),
        }
    }

    /// Whether the rule belongs to a selection with this closure and these languages.
    pub(crate) fn matches(
        &self,
        closure: &BTreeSet<String>,
        languages: &[String],
        compat: Compat,
    ) -> RuleMatch {
        let reaches = |prefix: &str| {
            closure.iter().any(|id| {
                id.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
            })
        };
        let audience = match self.audience {
            Some(Audience::Application) => reaches("cratis/application"),
            Some(Audience::Framework) => reaches("cratis/engineering"),
            None => true,
        };
        if !audience {
            return RuleMatch::No;
        }
        let listed = |language| contains_ignoring_case(languages, language);
        let met = !(self.csharp || self.typescript || self.documentation)
            || (self.csharp && listed("csharp"))
            || (self.typescript && listed("typescript"))
            || (self.documentation && closure.contains("cratis/documentation"));
        if met {
            RuleMatch::Yes
        } else if compat == Compat::Proctor
            && languages.is_empty()
            && (self.csharp || self.typescript)
        {
            RuleMatch::Unconstrained
        } else {
            RuleMatch::No
        }
    }
}

/// The value of a front matter line; quotes around it are dropped.
fn value<'a>(front: &'a str, name: &str) -> Option<&'a str> {
    front
        .split('\n')
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(|value| value.trim().trim_matches('"'))
}

pub(crate) fn contains_ignoring_case(values: &[String], wanted: &str) -> bool {
    values.iter().any(|value| value.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(front: &str, closure: &[&str], languages: &[&str], compat: Compat) -> RuleMatch {
        let needs = RuleNeeds::read("rules/x.md", format!("---\n{front}\n---\ntext\n").as_bytes());
        let closure = closure.iter().map(|&id| id.to_owned()).collect();
        let languages: Vec<_> = languages.iter().map(|&name| name.to_owned()).collect();
        needs.matches(&closure, &languages, compat)
    }

    #[test]
    fn rules_follow_the_listed_languages() {
        use Compat::{Proctor, Reference};
        use RuleMatch::{No, Unconstrained, Yes};
        // front matter, languages, as documented, as the Cratis CLI does
        let table: [(&str, &[&str], RuleMatch, RuleMatch); 12] = [
            ("applyTo: \"**/*\"", &[], Yes, Yes),
            ("description: none", &["kotlin"], Yes, Yes),
            ("applyTo: \"**/*.cs\"", &["CSharp"], Yes, Yes),
            ("applyTo: \"**/*.cs\"", &["typescript"], No, No),
            ("applyTo: \"**/*.cs\"", &[], Unconstrained, No),
            ("applyTo: \"**/*.tsx\"", &["typescript"], Yes, Yes),
            ("applyTo: \"**/*.{ts,tsx}\"", &["kotlin"], Yes, Yes),
            ("applyTo: \"**/*.css\"", &["csharp"], Yes, Yes),
            ("applyTo: \"AGENTS.md\"", &[], No, No),
            ("applyTo: \"**/*.kt\"", &["csharp"], Yes, Yes),
            ("applyTo: \"**/*.cs,**/*.ts\"", &["typescript"], Yes, Yes),
            (" applyTo: \"**/*.cs\"", &["typescript"], Yes, Yes),
        ];
        for (front, languages, proctor, reference) in table {
            assert_eq!(matches(front, &[], languages, Proctor), proctor, "{front} {languages:?}");
            assert_eq!(
                matches(front, &[], languages, Reference),
                reference,
                "{front} {languages:?}"
            );
        }
    }

    #[test]
    fn audiences_look_at_the_closure() {
        let rule = "profile: \"Application\"";
        assert_eq!(matches(rule, &["cratis/chronicle"], &[], Compat::Proctor), RuleMatch::No);
        assert_eq!(matches(rule, &["cratis/application/x"], &[], Compat::Proctor), RuleMatch::Yes);
        let rule = "profile: framework";
        assert_eq!(matches(rule, &["cratis/application"], &[], Compat::Proctor), RuleMatch::No);
        assert_eq!(matches(rule, &["cratis/engineering"], &[], Compat::Proctor), RuleMatch::Yes);
        assert_eq!(matches("profile: other", &[], &[], Compat::Proctor), RuleMatch::Yes);
        let both = "profile: application\napplyTo: \"**/*.cs\"";
        assert_eq!(matches(both, &["cratis"], &["csharp"], Compat::Proctor), RuleMatch::No);
    }

    #[test]
    fn documentation_needs_its_profile() {
        let rule = "applyTo: \"**/*.{md,mdx}\"";
        assert_eq!(
            matches(rule, &["cratis/documentation"], &[], Compat::Reference),
            RuleMatch::Yes
        );
        assert_eq!(matches(rule, &["cratis"], &["markdown"], Compat::Proctor), RuleMatch::No);
    }

    #[test]
    fn one_file_name_means_typescript() {
        let needs = RuleNeeds::read("rules/RTK.md", b"# no front matter\n");
        let none = BTreeSet::new();
        assert_eq!(needs.matches(&none, &["csharp".into()], Compat::Proctor), RuleMatch::No);
        assert_eq!(needs.matches(&none, &["typescript".into()], Compat::Proctor), RuleMatch::Yes);
    }
}
