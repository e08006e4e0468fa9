//! `proctor.toml`: project settings, committed.

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::CommandError;

/// The name of the settings file, in the project's root.
const FILE_NAME: &str = "proctor.toml";

/// What a project settles for everybody who works in it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(default)]
    conformance: Conformance,
    /// Of skill evals, which read it themselves.
    #[serde(default, rename = "lint")]
    _lint: IgnoredAny,
    /// The same.
    #[serde(default, rename = "plugin")]
    _plugin: IgnoredAny,
    /// The same.
    #[serde(default, rename = "llm")]
    _llm: IgnoredAny,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Conformance {
    /// The corpus checkout, relative to the settings file.
    source: Option<Utf8PathBuf>,
}

impl Settings {
    /// Reads the settings of a project; a project without the file has none.
    pub(crate) fn load(project: &Utf8Path) -> Result<Self, CommandError> {
        let file = project.join(FILE_NAME);
        let text = match fs_err::read_to_string(file.as_std_path()) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(error.into()),
        };
        toml::from_str(&text).map_err(|error| {
            CommandError::usage(format!("{file}: {}", error.to_string().trim_end()))
        })
    }

    /// The corpus checkout, when the project names one, relative to the project.
    pub(crate) fn conformance_source(&self) -> Option<Utf8PathBuf> {
        self.conformance.source.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Settings, CommandError> {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join(FILE_NAME), text).unwrap();
        Settings::load(Utf8Path::from_path(folder.path()).unwrap())
    }

    #[test]
    fn the_file_may_be_missing() {
        let settings = load(
            "[conformance]\nsource = \"../AI\"\n[lint.evals]\nrequire = true\n\
                  [llm]\nmax_calls = 9\n",
        )
        .unwrap();
        assert_eq!(settings.conformance_source(), Some("../AI".into()));
        let none = Settings::load("/nonexistent".into()).unwrap();
        assert_eq!(none.conformance_source(), None);
    }

    #[test]
    fn a_slip_is_named() {
        let error = format!("{:?}", load("[conformance]\nsorce = \"x\"\n").unwrap_err());
        assert!(error.contains("sorce") && error.contains("line 2"), "{error}");
    }
}
