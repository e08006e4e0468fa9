//! `proctor plugin bundle`.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{Bundle, EvalSettings, SIDECAR, find, verify_bundle};
use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor plugin bundle`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor plugin bundle
  proctor plugin bundle --output dist/billing

Name, version and description stand under [plugin] in proctor.toml, or in the configuration of
.ai-rulez; include_evals = true takes the eval cases along. The folder appears at once and whole. A
bundle that is there is replaced unless somebody changed it.

Exit codes: 0 written; 2 nothing was written.")]
pub(crate) struct Args {
    /// Where to write [default: plugins/NAME].
    #[arg(short, long, value_name = "DIR")]
    output: Option<Utf8PathBuf>,
    /// Skills folder or configuration folder [default: the first of .ai-rulez, .claude/skills,
    /// .agents/skills and skills that is there].
    #[arg(long, value_name = "DIR")]
    root: Option<Utf8PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let project = find(&context.cwd, args.root.as_deref()).map_err(CommandError::usage)?;
    let (settings, diagnostics) = EvalSettings::load(&project);
    if diagnostics.has_errors() {
        let lines: Vec<String> = diagnostics.0.iter().map(ToString::to_string).collect();
        let message = format!("the settings are wrong\n  {}", lines.join("\n  "));
        return Err(CommandError::usage(message));
    }
    for warning in diagnostics.0.iter().chain(&project.warnings.0) {
        context.printer.warning(&warning.to_string());
    }
    let bundle = Bundle::plan(&project, &settings.plugin).map_err(CommandError::usage)?;
    let shown = match &args.output {
        Some(output) => output.clone(),
        None => Utf8PathBuf::from("plugins").join(&bundle.name),
    };
    let output = context.cwd.join(&shown);
    deny_inside_sources(&output, &project.skills)?;
    let replaces = may_replace(&output)?;
    write(&bundle, &output, replaces)?;
    let evals = match bundle.eval_files {
        0 => String::new(),
        count => format!(", {count} of them eval material"),
    };
    context.printer.data(&proctor_report::inert(&format!(
        "{shown}: plugin {} with {} skill(s), {} files{evals}\n",
        bundle.name,
        bundle.skills.len(),
        bundle.len()
    )))?;
    Ok(ExitCode::SUCCESS)
}

/// A bundle inside a skill would be part of the next one.
fn deny_inside_sources(
    output: &Utf8Path,
    skills: &[proctor_formats::eval::Skill],
) -> Result<(), CommandError> {
    match skills.iter().find(|skill| output.starts_with(&skill.folder)) {
        None => Ok(()),
        Some(skill) => {
            let message = format!("{output} lies inside the skill `{}`", skill.id);
            Err(CommandError::usage(message).hint("choose another folder with `--output`"))
        }
    }
}

/// Whether a bundle is to be replaced; an error when something else is there, or when the bundle
/// there was changed.
fn may_replace(output: &Utf8Path) -> Result<bool, CommandError> {
    let other = "choose another folder with `--output`, or move this one away";
    match fs::symlink_metadata(output) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
        Ok(metadata) if !metadata.is_dir() => {
            return Err(CommandError::usage(format!("{output} is no folder")).hint(other));
        }
        Ok(_) => {}
    }
    if output.read_dir_utf8()?.next().is_none() {
        return Ok(true);
    }
    if !output.join(SIDECAR).is_file() {
        return Err(CommandError::usage(format!("{output} holds no bundle")).hint(other));
    }
    let verified = verify_bundle(output).map_err(|e| CommandError::usage(e).hint(other))?;
    if verified.drift.is_empty() {
        return Ok(true);
    }
    let message = format!("{output} holds a bundle that somebody changed");
    Err(CommandError::usage(message)
        .hint(format!("`proctor plugin verify {output}` lists the changes"))
        .hint(other))
}

/// Writes into a folder beside the output, which then takes its place.
fn write(bundle: &Bundle, output: &Utf8Path, replaces: bool) -> Result<(), CommandError> {
    let parent = output.parent().unwrap_or(Utf8Path::new("/"));
    fs_err::create_dir_all(parent.as_std_path())?;
    let staging = tempfile::Builder::new().prefix(".bundle-").tempdir_in(parent)?;
    let staged = Utf8PathBuf::from_path_buf(staging.path().to_owned())
        .map_err(|path| CommandError::usage(format!("{} is not UTF-8", path.display())))?;
    let (fresh, old) = (staged.join("new"), staged.join("old"));
    fs_err::create_dir(fresh.as_std_path())?;
    bundle.write(&fresh).map_err(CommandError::usage)?;
    if replaces {
        fs_err::rename(output.as_std_path(), old.as_std_path())?;
    }
    if let Err(error) = fs_err::rename(fresh.as_std_path(), output.as_std_path()) {
        if replaces {
            fs_err::rename(old.as_std_path(), output.as_std_path())?;
        }
        return Err(error.into());
    }
    Ok(())
}
