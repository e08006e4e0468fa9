//! What the labels of one query say of which skill.

use std::collections::BTreeSet;

/// The labels of a query, as far as they are there.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// The skill that `should_trigger` is about.
    pub(super) skill: Option<String>,
    pub(super) should_trigger: Option<bool>,
    pub(super) expected: Option<String>,
    pub(super) forbidden: Vec<String>,
}

/// A skill, when one is named, and whether the query should fire it.
pub(super) type Verdict<'a> = (Option<&'a str>, bool);

impl Labels {
    /// What is said, or why that cannot be told; `given` is the skill that the user named for the
    /// whole list.
    pub(super) fn verdicts<'a>(
        &'a self,
        given: Option<&'a str>,
    ) -> Result<Vec<Verdict<'a>>, &'static str> {
        let own = self.skill.as_deref();
        let subject = own.or(given);
        let expected = self.expected.as_deref();
        let mut verdicts = match (self.should_trigger, expected) {
            (Some(true) | None, Some(expected)) if own.is_some_and(|own| own != expected) => {
                return Err("`skill` and the expected skill are two skills, and `should_trigger` \
                            does not say that the first must not fire");
            }
            (Some(true) | None, Some(_)) => vec![(expected, true)],
            (Some(true), None) => vec![(subject, true)],
            (Some(false), Some(_)) if subject.is_some() && subject != expected => {
                vec![(subject, false), (expected, true)]
            }
            (Some(false), Some(_)) => {
                return Err("a skill is expected and `should_trigger` is false; name the skill \
                            that must not fire as `skill`");
            }
            (Some(false), None) if subject.is_some() || self.forbidden.is_empty() => {
                vec![(subject, false)]
            }
            (None, None) if own.is_some() => {
                return Err("`skill` is there and `should_trigger` is not");
            }
            (Some(false) | None, None) => Vec::new(),
        };
        if verdicts.iter().any(|(skill, fires)| {
            *fires && skill.is_some_and(|skill| self.forbidden.iter().any(|name| name == skill))
        }) {
            return Err("the same skill is expected and forbidden");
        }
        let mut named: BTreeSet<&str> = verdicts.iter().filter_map(|(skill, _)| *skill).collect();
        let forbidden = self.forbidden.iter().map(String::as_str);
        verdicts
            .extend(forbidden.filter(|name| named.insert(name)).map(|name| (Some(name), false)));
        Ok(verdicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(
        skill: &str,
        should_trigger: Option<bool>,
        expected: &str,
        forbidden: &[&str],
        given: &str,
    ) -> Result<String, &'static str> {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let labels = Labels {
            skill: some(skill),
            should_trigger,
            expected: some(expected),
            forbidden: forbidden.iter().map(|&skill| skill.to_owned()).collect(),
        };
        let verdicts = labels.verdicts(Some(given).filter(|given| !given.is_empty()))?;
        let word = |(skill, fires): &Verdict<'_>| {
            format!("{}{}", if *fires { "+" } else { "-" }, skill.unwrap_or("?"))
        };
        Ok(verdicts.iter().map(word).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn each_label_speaks_of_the_skill_it_names() {
        let (yes, no) = (Some(true), Some(false));
        for (skill, fires, expected, forbidden, given, said) in [
            ("", None, "a", &[][..], "", "+a"),
            ("", None, "a", &["b", "c", "b"], "", "+a -b -c"),
            ("", None, "", &["b"], "", "-b"),
            ("", yes, "a", &[], "", "+a"),
            ("", yes, "", &[], "", "+?"),
            ("", no, "", &[], "", "-?"),
            ("", yes, "", &[], "s", "+s"),
            ("", no, "", &[], "s", "-s"),
            ("", yes, "a", &[], "s", "+a"),
            ("", no, "a", &[], "s", "-s +a"),
            ("", no, "", &["b"], "", "-b"),
            ("", no, "", &["b"], "s", "-s -b"),
            ("s", yes, "", &["b"], "", "+s -b"),
            ("s", no, "a", &["s"], "", "-s +a"),
            ("a", None, "a", &[], "", "+a"),
            ("", None, "", &[], "s", ""),
        ] {
            let found = verdicts(skill, fires, expected, forbidden, given);
            assert_eq!(found.as_deref(), Ok(said), "{skill} {fires:?} {expected} {forbidden:?}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_refused() {
        let (yes, no) = (Some(true), Some(false));
        for (skill, fires, expected, forbidden, given) in [
            ("", no, "a", &[][..], ""),
            ("", no, "a", &[], "a"),
            ("a", no, "a", &[], ""),
            ("s", yes, "a", &[], ""),
            ("s", None, "a", &[], ""),
            ("s", None, "", &[], ""),
            ("", None, "a", &["a"], ""),
            ("", yes, "", &["s"], "s"),
        ] {
            let found = verdicts(skill, fires, expected, forbidden, given);
            assert!(found.is_err(), "{skill} {fires:?} {expected} {forbidden:?}: {found:?}");
        }
    }
}
