//! Experiments: `experiment.yaml` of AX/AXP, schema version 2, in both of its dialects.
//!
//! [`read`] gives what a file declares with everything that is wrong in it, [`resolve`] the variants
//! of its matrix, [`select`] the ones that somebody asks for.

mod bindings;
mod env_file;
mod lint;
mod migrate;
mod parse;
mod preflight;
mod resolve;
mod rules;
mod schema;
mod select;
mod sources;
mod template;
mod variables;
mod walk;

use camino::Utf8Path;
use proctor_model::experiment::{Experiment, Finding, Level, Rule};
use proctor_model::{Diagnostics, Severity};

pub use self::bindings::{BindingError, Bindings};
pub use self::env_file::{env_file, read_env_file, read_secrets_file, secrets_file};
pub use self::lint::{Comparison, least_trials};
pub use self::migrate::{Migration, migrate};
pub use self::preflight::{Preflight, Purpose, preflight, script_of};
pub use self::resolve::{MAX_VARIANTS, resolve};
pub use self::schema::schema;
pub use self::select::{SelectError, Selection, select};
pub use self::sources::{IGNORE_FILE, Item, ItemKind, MAX_ITEMS, Source, Sources, survey};
pub use self::template::{CliInstall, Template, scaffold};
pub use self::variables::{
    EnvFlagError, MissingValue, PlaceError, Places, ValueSource, Values, env_flag, value_sources,
    values,
};
use crate::read_file::read_file;
use crate::tree::{self, Problems};

/// What a file came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it declares; `None` when something is wrong with it.
    pub experiment: Option<Experiment>,
    /// Errors and notes, in the order of the text.
    pub findings: Vec<Finding>,
}

/// Reads an experiment. `file` is named in findings as given; nothing but `bytes` is looked at, so
/// the sources of its files are not.
pub fn read(file: &Utf8Path, bytes: &[u8]) -> Reading {
    let mut problems = Problems::new(file);
    let Some(root) = tree::yaml(bytes, &mut problems) else {
        return Reading {
            experiment: None,
            findings: findings(file, problems.finish(), Rule::Yaml),
        };
    };
    let experiment = parse::parse(file, &root, &mut problems);
    if let Some(experiment) = &experiment {
        rules::check(experiment, &mut problems);
        resolve::check(experiment, &mut problems);
        lint::lint(&root, experiment, &mut problems);
    }
    let experiment = experiment.filter(|_| !problems.has_errors());
    Reading { experiment, findings: findings(file, problems.finish(), Rule::Shape) }
}

/// Reads the file at `path`, and names it `file` in findings.
pub fn read_path(file: &Utf8Path, path: &Utf8Path) -> Reading {
    match bytes_of(file, path) {
        Ok(bytes) => read(file, &bytes),
        Err(findings) => Reading { experiment: None, findings },
    }
}

/// The bytes of the file at `path`, of at most 16 MiB, or why there are none.
pub fn bytes_of(file: &Utf8Path, path: &Utf8Path) -> Result<Vec<u8>, Vec<Finding>> {
    read_file(path.as_std_path())
        .map_err(|diagnostic| findings(file, Diagnostics(vec![diagnostic]), Rule::Yaml))
}

/// Diagnostics as findings; `otherwise` is the rule of those that name none.
fn findings(file: &Utf8Path, diagnostics: Diagnostics, otherwise: Rule) -> Vec<Finding> {
    // What has no place stands where the one before it stands: at the start, or, when it counts what
    // is not listed, at the end.
    let mut last = (1, 1);
    let one = |diagnostic: proctor_model::Diagnostic| {
        let mut message = match &diagnostic.field {
            Some(field) => format!("{field}: {}", diagnostic.message),
            None => diagnostic.message,
        };
        if let Some(hint) = diagnostic.hint {
            message = format!("{message} (hint: {hint})");
        }
        let (line, column) = diagnostic.location.map_or(last, |at| (at.line, at.column));
        last = (line, column);
        Finding {
            file: file.to_owned(),
            line,
            column,
            severity: match diagnostic.severity {
                Severity::Error => Level::Error,
                Severity::Warning => Level::Note,
            },
            code: diagnostic.rule.unwrap_or(otherwise),
            message,
        }
    };
    diagnostics.0.into_iter().map(one).collect()
}
