//! `proctor eval keygen`.

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::ExitCode;
use proctor_store::eval::PrivateKey;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor eval keygen`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor eval keygen ~/keys/evals.pem
  proctor eval run --sign ed25519 --sign-key ~/keys/evals.pem
  proctor eval lint --trust evals.pem.pub

Writes the private key to FILE, for you alone, and the public key to FILE.pub, for everybody who
checks your results. Neither file may be there yet.")]
pub(crate) struct Args {
    /// Where the private key goes; never into the repository.
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let file = context.cwd.join(&args.file);
    let key = PrivateKey::generate().map_err(CommandError::usage)?;
    let public = key.write(file.as_std_path()).map_err(CommandError::usage)?;
    let public = Utf8Path::from_path(&public).unwrap_or(&file);
    context.printer.data(&format!("{}\n", key.public().id()))?;
    context.printer.note(&format!("private key {file}, public key {public}"));
    Ok(ExitCode::SUCCESS)
}
