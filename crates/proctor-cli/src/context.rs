//! What a command may know of the process it runs in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use camino::Utf8PathBuf;
use proctor_redact::Redactor;

use crate::error::CommandError;
use crate::printer::Printer;

/// The surroundings of a command, read once at the start.
pub(crate) struct Context {
    pub(crate) printer: Printer,
    /// The current directory.
    pub(crate) cwd: Utf8PathBuf,
    /// The environment; names and values that are not UTF-8 are left out.
    pub(crate) env: BTreeMap<String, String>,
    /// The folder for temporary files.
    pub(crate) temporary: Utf8PathBuf,
    /// The path of this program.
    pub(crate) proctor: Utf8PathBuf,
    /// Knows the secrets of the environment.
    pub(crate) redactor: Redactor,
}

impl Context {
    /// Reads the surroundings of this process.
    pub(crate) fn from_process(printer: Printer) -> Result<Self, CommandError> {
        let cwd = std::env::current_dir().map_err(|error| {
            CommandError::usage(format!("the current directory cannot be read: {error}"))
                .hint("change to a directory that exists")
        })?;
        let cwd = utf8("the current directory", cwd)?;
        let temporary = cwd.join(utf8("the folder for temporary files", temporary())?);
        let proctor = utf8("the path of this program", std::env::current_exe()?)?;
        let env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let redactor = Redactor::from_environment(env.clone());
        Ok(Self { printer, cwd, env, temporary, proctor, redactor })
    }

    /// An environment variable; empty counts as unset.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// As the standard library has it, but empty counts as unset: rooms in the current directory would
/// be rooms in the user's project.
fn temporary() -> PathBuf {
    match std::env::var_os("TMPDIR") {
        Some(folder) if folder.is_empty() => "/tmp".into(),
        _ => std::env::temp_dir(),
    }
}

fn utf8(what: &str, path: PathBuf) -> Result<Utf8PathBuf, CommandError> {
    Utf8PathBuf::from_path_buf(path)
        .map_err(|path| CommandError::usage(format!("{what} is not UTF-8: {}", path.display())))
}
