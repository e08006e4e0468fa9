//! What the commands under `proctor eval` share: the project, its settings, its results, the key.

use std::ffi::OsStr;
use std::path::PathBuf;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{EvalSettings, Project, Skill, find};
use proctor_model::eval::record::STORE_FILE_NAME;
use proctor_model::nearest;
use proctor_store::eval::{
    Key, PublicKey, Results, ResultsError, attestation_path, load, read_attestation, user_folder,
};

use crate::context::Context;
use crate::error::CommandError;

/// Which project, and where its results are kept.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// Skills folder or configuration folder [default: the first of .ai-rulez, .claude/skills,
    /// .agents/skills and skills that is there].
    #[arg(long, value_name = "DIR")]
    root: Option<Utf8PathBuf>,
    /// Results file [default: eval-results.json in the configuration folder].
    #[arg(long, value_name = "FILE")]
    results: Option<Utf8PathBuf>,
    /// Believe results that this public key signed, too; repeat for several.
    #[arg(long, value_name = "FILE")]
    trust: Vec<Utf8PathBuf>,
}

impl Place {
    /// The skills of the project in the current directory.
    pub(super) fn project(&self, context: &Context) -> Result<Project, CommandError> {
        find(&context.cwd, self.root.as_deref()).map_err(CommandError::usage)
    }

    /// The results file.
    pub(super) fn results(&self, project: &Project, context: &Context) -> Utf8PathBuf {
        match &self.results {
            Some(file) => context.cwd.join(file),
            None => project.configuration.join(STORE_FILE_NAME),
        }
    }

    /// What the results file holds.
    pub(super) fn load(
        &self,
        project: &Project,
        key: Option<&Key>,
        context: &Context,
    ) -> Result<Results, CommandError> {
        let Loaded { results, distrust } = self.try_load(project, key, context)?;
        if let Some(why) = distrust {
            context.printer.warning(&why);
        }
        results.map_err(CommandError::usage)
    }

    /// The same, with a file that cannot be read as a value. Keys that cannot be read are errors of
    /// the command.
    pub(super) fn try_load(
        &self,
        project: &Project,
        key: Option<&Key>,
        context: &Context,
    ) -> Result<Loaded, CommandError> {
        let file = self.results(project, context);
        let trusted = self.trust.iter().map(|file| public_key(file, context));
        let trusted = trusted.collect::<Result<Vec<_>, _>>()?;
        let mut results = match load(&file, key) {
            Ok(results) => results,
            Err(error) => return Ok(Loaded { results: Err(error), distrust: None }),
        };
        let distrust = match results.digest() {
            Some(_) if !trusted.is_empty() => believe(&mut results, &file, &trusted)?,
            _ => None,
        };
        Ok(Loaded { results: Ok(results), distrust })
    }
}

/// What came of reading the results file.
pub(super) struct Loaded {
    /// What it holds, or why it cannot be read.
    pub(super) results: Result<Results, ResultsError>,
    /// Why the signature that was asked for does not count; `None` when it does, or none was asked
    /// for.
    pub(super) distrust: Option<String>,
}

fn public_key(file: &Utf8Path, context: &Context) -> Result<PublicKey, CommandError> {
    let text = fs_err::read_to_string(context.cwd.join(file).as_std_path())?;
    PublicKey::from_pem(&text).map_err(|error| CommandError::usage(format!("{file}: {error}")))
}

/// Believes what one of the trusted keys signed. A signature that does not count changes nothing;
/// why it does not is returned.
fn believe(
    results: &mut Results,
    file: &Utf8Path,
    trusted: &[PublicKey],
) -> Result<Option<String>, CommandError> {
    let path = attestation_path(file);
    let problem = match read_attestation(file).map_err(CommandError::usage)? {
        None => "it is not there".to_owned(),
        Some(envelope) => match results.verify_attestation(&envelope, trusted) {
            Ok(_) => return Ok(None),
            Err(error) => error.to_string(),
        },
    };
    Ok(Some(format!("signature {path} does not count: {problem}")))
}

/// The settings of a project. Mistakes in them end the command, every one of them named.
pub(super) fn settings(project: &Project, context: &Context) -> Result<EvalSettings, CommandError> {
    let (settings, diagnostics) = EvalSettings::load(project);
    if diagnostics.has_errors() {
        let lines: Vec<String> = diagnostics.0.iter().map(ToString::to_string).collect();
        return Err(CommandError::usage(format!(
            "the settings are wrong\n  {}",
            lines.join("\n  ")
        )));
    }
    for warning in &diagnostics.0 {
        context.printer.warning(&warning.to_string());
    }
    Ok(settings)
}

/// The skills with these ids, all when there are none, in the order of the project.
pub(super) fn choose<'a>(
    project: &'a Project,
    ids: &[String],
) -> Result<Vec<&'a Skill>, CommandError> {
    if let Some(unknown) = ids.iter().find(|id| project.skill(id).is_none()) {
        let known: Vec<&str> = project.skills.iter().map(|skill| skill.id.as_str()).collect();
        let error = CommandError::usage(format!("no skill is named `{unknown}`"));
        return Err(match nearest(unknown, known.iter().copied()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("`proctor eval list` names the skills"),
        });
    }
    let chosen = |skill: &&Skill| ids.is_empty() || ids.contains(&skill.id);
    Ok(project.skills.iter().filter(chosen).collect())
}

/// That none of the chosen skills has a case with one of these tags.
pub(super) fn no_case_has(tags: &[String]) -> CommandError {
    CommandError::usage(format!("no case has the tag `{}`", tags.join("`, `")))
        .hint("`proctor eval list --format json` shows the tags")
}

/// The folder of the user's key; `None` when the environment names no place for it.
fn key_folder(context: &Context) -> Option<PathBuf> {
    user_folder(context.var("XDG_CONFIG_HOME").map(OsStr::new), context.var("HOME").map(OsStr::new))
}

/// The user's key, when there is one. Without it nothing is believed, which is said.
pub(super) fn load_key(context: &Context) -> Option<Key> {
    let loaded = Key::load(&key_folder(context)?);
    loaded.unwrap_or_else(|error| {
        context.printer.warning(&format!("{error}; recorded results count as unverified"));
        None
    })
}

/// The user's key, which is made when there is none: results of runs are signed.
pub(super) fn load_or_create_key(context: &Context) -> Option<Key> {
    let Some(folder) = key_folder(context) else {
        let message = "neither XDG_CONFIG_HOME nor HOME names a folder for your key: results are \
                       not signed, and count as unverified";
        context.printer.warning(message);
        return None;
    };
    let key = Key::load_or_create(&folder);
    key.map_err(|error| context.printer.warning(&format!("{error}; results are not signed"))).ok()
}

/// Whether this is a job of GitHub Actions, which reads commands out of what is printed.
pub(super) fn in_github_actions(context: &Context) -> bool {
    context.var("GITHUB_ACTIONS") == Some("true")
}

/// Prints workflow commands. Standard error is read for them too, and keeps the data apart.
pub(super) fn annotate(commands: &str, context: &Context) {
    for command in commands.lines() {
        context.printer.note(command);
    }
}

/// Writes a file whole or not at all, with the folders above it.
pub(super) fn write_file(path: &Utf8Path, text: &str) -> Result<(), CommandError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_str().is_empty() => folder,
        _ => Utf8Path::new("."),
    };
    let write = || {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)
    };
    let written: std::io::Result<_> = write();
    written.map_err(|error| CommandError::usage(format!("{path} cannot be written: {error}")))?;
    Ok(())
}

/// A share of one, as an argument.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err("expected a number from 0 to 1, such as 0.8".to_owned()),
    }
}
