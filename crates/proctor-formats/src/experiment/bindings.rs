//! `--file`: what slots are bound to, and files that nobody declared.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::experiment::{Dest, NameError};

use super::select::Selection;

/// What the flags `--file` of a run say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Paths of the host by variant id (`None` for every variant) and name of the slot.
    pub slots: BTreeMap<(Option<String>, String), Utf8PathBuf>,
    /// Files that are staged in every variant, with their places.
    pub extra: Vec<(Utf8PathBuf, Dest)>,
    /// The variants that run: the slots of others need not be bound.
    pub selection: Selection,
}

/// What is wrong with a flag `--file`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// It has none of the three forms.
    #[error("expected NAME=PATH, VARIANT:NAME=PATH or PATH::DEST")]
    Form,
    /// The place is none below the workspace.
    #[error("`{dest}` behind `::`: {source}")]
    Dest {
        /// The text.
        dest: String,
        /// What was expected.
        source: NameError,
    },
    /// The slot is bound already.
    #[error("`{0}` is bound twice")]
    Twice(String),
}

impl Bindings {
    /// Adds a flag; paths are relative to `folder`.
    ///
    /// A text with `=` is `NAME=PATH` or `VARIANT:NAME=PATH`, where the name is what follows the
    /// last `:` before the `=`. Without `=`, what follows the last `::` is a place.
    pub fn add(&mut self, flag: &str, folder: &Utf8Path) -> Result<(), BindingError> {
        if let Some((left, path)) = flag.split_once('=') {
            let (variant, name) = match left.rsplit_once(':') {
                Some((variant, name)) => (Some(variant.to_owned()), name),
                None => (None, left),
            };
            if name.is_empty() || path.is_empty() || variant.as_deref() == Some("") {
                return Err(BindingError::Form);
            }
            let key = (variant, name.to_owned());
            if self.slots.insert(key, folder.join(path)).is_some() {
                return Err(BindingError::Twice(left.to_owned()));
            }
            return Ok(());
        }
        let (path, dest) = flag.rsplit_once("::").ok_or(BindingError::Form)?;
        if path.is_empty() {
            return Err(BindingError::Form);
        }
        let place =
            dest.parse().map_err(|source| BindingError::Dest { dest: dest.to_owned(), source })?;
        self.extra.push((folder.join(path), place));
        Ok(())
    }

    /// The key of what binds a slot of a variant: its own binding before that of all.
    pub(super) fn key(&self, variant: &str, name: &str) -> Option<(Option<String>, String)> {
        let own = (Some(variant.to_owned()), name.to_owned());
        let all = (None, name.to_owned());
        [own, all].into_iter().find(|key| self.slots.contains_key(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms() {
        let mut bindings = Bindings::default();
        for flag in ["cli=./a", "claude::cold:cli=/b=c", "x/y::data/y"] {
            bindings.add(flag, "/here".into()).unwrap();
        }
        assert_eq!(
            bindings.slots.into_iter().collect::<Vec<_>>(),
            [
                ((None, "cli".to_owned()), Utf8PathBuf::from("/here/./a")),
                ((Some("claude::cold".to_owned()), "cli".to_owned()), "/b=c".into()),
            ]
        );
        assert_eq!(bindings.extra, [("/here/x/y".into(), "data/y".parse().unwrap())]);
    }

    #[test]
    fn other_forms_are_refused() {
        for flag in ["", "cli", "=x", "cli=", "::a", "x::../y", "x::", ":cli=x"] {
            assert!(Bindings::default().add(flag, "/".into()).is_err(), "{flag}");
        }
        let mut bindings = Bindings::default();
        bindings.add("a=1", "/".into()).unwrap();
        assert_eq!(bindings.add("a=2", "/".into()), Err(BindingError::Twice("a".to_owned())));
    }
}
