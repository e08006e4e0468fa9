//! What several commands under `proctor experiment` share.

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::{self, Selection};
use proctor_model::ExitCode;
use proctor_model::experiment::{Experiment, Finding, Level};
use proctor_report::experiment as report;

use crate::context::Context;
use crate::error::CommandError;

/// Options that narrow an experiment to some of its variants.
#[derive(clap::Args)]
pub(super) struct Narrow {
    /// Only the variant with this id; may be given several times, like the other five.
    #[arg(long, value_name = "ID")]
    variant: Vec<String>,
    /// Only variants of this agent.
    #[arg(long, value_name = "NAME")]
    agent: Vec<String>,
    /// Only variants of this model, by its name or as it stands in ids.
    #[arg(long, value_name = "NAME")]
    model: Vec<String>,
    /// Only variants of this prompt.
    #[arg(long, value_name = "ID")]
    prompt: Vec<String>,
    /// Only variants of this environment.
    #[arg(long, value_name = "NAME")]
    environment: Vec<String>,
    /// Only variants of this product.
    #[arg(long, value_name = "NAME")]
    product: Vec<String>,
}

impl Narrow {
    pub(super) fn selection(&self) -> Selection {
        Selection {
            variants: self.variant.clone(),
            agents: self.agent.clone(),
            models: self.model.clone(),
            prompts: self.prompt.clone(),
            environments: self.environment.clone(),
            products: self.product.clone(),
        }
    }
}

/// An experiment that was read without an error.
pub(crate) struct Loaded {
    pub(crate) experiment: Experiment,
    /// The folder of its file.
    pub(crate) folder: Utf8PathBuf,
}

/// Reads an experiment; its errors are printed, and `Err` has the exit code.
pub(crate) fn load(file: &Utf8Path, context: &Context) -> Result<Loaded, ExitCode> {
    let path = context.cwd.join(file);
    let reading = experiment::read_path(file, &path);
    let Some(experiment) = reading.experiment else {
        complain(&reading.findings, context);
        return Err(ExitCode::USAGE);
    };
    let folder = path.parent().map_or_else(|| context.cwd.clone(), Utf8Path::to_owned);
    Ok(Loaded { experiment, folder })
}

/// Prints findings on standard error.
pub(super) fn complain(findings: &[Finding], context: &Context) {
    let text = report::findings_text(findings, &proctor_report::Styles::plain());
    for line in text.lines() {
        context.printer.note(line);
    }
}

/// Whether one of the findings is an error.
pub(super) fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Level::Error)
}

/// Writes a new file, and refuses to replace one.
pub(super) fn write_new(path: &Utf8Path, text: &str) -> Result<(), CommandError> {
    let failed = |error: &std::io::Error| {
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            CommandError::usage(format!("{path} is there already, and was left as it is"))
                .hint("name another file with `--output`")
        } else {
            CommandError::usage(format!("{path} cannot be written: {error}"))
        }
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    let mut file = std::fs::File::create_new(path).map_err(|error| failed(&error))?;
    std::io::Write::write_all(&mut file, text.as_bytes()).map_err(|error| failed(&error))
}
