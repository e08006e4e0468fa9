//! `proctor engine install`.

use std::path::Path;

use camino::Utf8PathBuf;
use proctor_clickhouse::install::{
    InstallError, PINNED, Source, Step, default_folder, install as install_package,
};
use proctor_clickhouse::local::LIBRARY_VARIABLE;
use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor engine install`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor engine install clickhouse
  proctor engine install clickhouse --to /opt/proctor
  proctor engine install clickhouse --from chdb-lib-linux-x64-gnu-26.7.3-stable.1.tgz

It is one file of 566 MB, for Linux on x86-64, under the Apache license 2.0. `npm` fetches it (178
MB) from the registry that your settings of npm name; its digest is part of this program. On a
machine without a network, give the archive that `npm pack` left elsewhere.

Exit codes: 0 it is installed; 2 it is not, and nothing has changed.")]
pub(crate) struct Args {
    /// The engine.
    #[arg(value_name = "ENGINE", value_parser = ["clickhouse"])]
    engine: String,
    /// The folder for the library, instead of the one where it is found by itself.
    #[arg(long, value_name = "DIR")]
    to: Option<Utf8PathBuf>,
    /// The archive of the package, instead of fetching it.
    #[arg(long, value_name = "FILE")]
    from: Option<Utf8PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let folder = match &args.to {
        Some(folder) => context.cwd.join(folder).into_std_path_buf(),
        None => default_folder(&context.env).ok_or_else(|| {
            CommandError::usage("there is no home folder to install in: HOME is not set")
                .hint("name a folder with `--to`")
        })?,
    };
    let from = args.from.as_ref().map(|file| context.cwd.join(file));
    let source = match &from {
        Some(file) => Source::File(file.as_std_path()),
        None => Source::Npm(Path::new("npm")),
    };
    let installed = install_package(&PINNED, source, &folder, &mut |step| {
        let spec = PINNED.spec();
        context.printer.note(&match step {
            Step::Fetching => format!("fetching {spec} with npm: 178 MB"),
            Step::Checking => "checking its digest".to_owned(),
            Step::Unpacking => "unpacking libchdb.so: 566 MB".to_owned(),
        });
    })
    .map_err(explain)?;
    if installed.was_there {
        context.printer.note("it was there before");
    }
    context.printer.data(&format!("{}\n", installed.path.display()))?;
    if args.to.is_some() {
        let path = installed.path.display();
        context.printer.note(&format!("it is found there with {LIBRARY_VARIABLE}={path}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What to do about it.
fn explain(error: InstallError) -> CommandError {
    let hint = match &error {
        InstallError::System(_) => {
            "a ClickHouse server serves every system: `--store clickhouse://…`"
        }
        InstallError::NoNpm(_) => {
            "install Node.js with npm, or fetch the package on another machine with \
             `npm pack` and pass the file with `--from`"
        }
        InstallError::Npm { .. } | InstallError::NoArchive(_) => {
            "npm uses your own settings: `npm config get registry` names the registry; without a \
             network, pass the archive with `--from`"
        }
        InstallError::Digest { .. }
        | InstallError::TooLarge { .. }
        | InstallError::NoLibrary(_) => {
            "the registry or the file holds something else than what this version of Proctor works \
             with"
        }
        InstallError::File { .. } => "nothing was changed",
    };
    CommandError::usage(error).hint(hint)
}
