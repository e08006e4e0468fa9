//! Templates in which variables stand by their names, and nothing else.

use std::collections::BTreeMap;

use crate::eval::MAX_FILE_BYTES;

/// The variables of a test, and how much text the whole configuration may still become: a small one
/// could name a long variable any number of times.
pub(super) struct Templates<'a> {
    pub(super) variables: &'a BTreeMap<String, String>,
    pub(super) room: &'a mut Room,
}

/// How many bytes of text may still be made.
pub(super) struct Room(usize);

impl Room {
    /// Room for one case file.
    pub(super) fn new() -> Self {
        Self(usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX))
    }

    /// Whether something did not fit.
    pub(super) fn is_exhausted(&self) -> bool {
        self.0 == 0
    }

    /// Takes `bytes`; nothing fits any more after the first that did not.
    pub(super) fn take(&mut self, bytes: usize) -> Option<()> {
        let left = self.0.checked_sub(bytes).filter(|left| *left > 0);
        self.0 = left.unwrap_or(0);
        left.map(|_| ())
    }
}

impl Templates<'_> {
    /// The template with `{{name}}` replaced; `None` when it says anything else, names what is
    /// unknown, or would be too long.
    pub(super) fn render(&mut self, template: &str) -> Option<String> {
        let mut out = String::new();
        let mut push = |text: &str| {
            self.room.take(text.len())?;
            out.push_str(text);
            Some(())
        };
        let mut rest = template;
        while let Some(at) = rest.find('{') {
            let (plain, from) = rest.split_at(at);
            push(plain)?;
            if from.starts_with("{%") || from.starts_with("{#") {
                return None;
            }
            let Some(inside) = from.strip_prefix("{{") else {
                push("{")?;
                rest = from.get(1..).unwrap_or_default();
                continue;
            };
            let (name, after) = inside.split_once("}}")?;
            push(self.variables.get(name.trim())?)?;
            rest = after;
        }
        push(rest)?;
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_and_everything_else_is_left_alone() {
        let variables = BTreeMap::from([("a".to_owned(), "{{b}} {".to_owned())]);
        for (template, expected) in [
            ("x", Some("x")),
            ("x {{a}} y", Some("x {{b}} { y")),
            ("{{ a }}{}", Some("{{b}} {{}")),
            ("{{b}}", None),
            ("{{a | upper}}", None),
            ("{% if a %}x{% endif %}", None),
            ("{# comment #}", None),
            ("{{a", None),
        ] {
            let mut room = Room::new();
            let mut templates = Templates { variables: &variables, room: &mut room };
            assert_eq!(templates.render(template).as_deref(), expected, "{template}");
        }
        let mut room = Room(5);
        let mut templates = Templates { variables: &variables, room: &mut room };
        assert_eq!(templates.render("{{a}}"), None);
        assert!(room.is_exhausted());
    }
}
