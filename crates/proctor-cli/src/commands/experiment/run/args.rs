//! The arguments of `proctor experiment run`.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use camino::Utf8PathBuf;

use super::super::common::Narrow;
use super::super::engine::{Kind, NetworkName, dollars};
use super::super::format::Format;
use crate::store::StoreFlag;

/// Arguments of `proctor experiment run`.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = "Examples:
  proctor experiment run experiment.yaml --mock
  proctor experiment run experiment.yaml --check-only
  proctor experiment run experiment.yaml --repeat 5 --jobs 4
  proctor experiment run experiment.yaml --repeat 10 --max-cost 25
  proctor experiment run experiment.yaml --prompt cold --file cli=./target/release/cli
  proctor experiment run experiment.yaml --env-file .env --network none

Every trial has a sandbox of its own in which /workspace is its workspace. Setups, setup checks and
the agent share it; tests run in a fork of what the agent left, with files that the agent never saw.
What is kept lies in .proctor/runs/; `proctor run view`, `resume` and `rerun` work on it. With
`--store` finished trials also go to a ClickHouse server; one that is away costs the run nothing,
and `proctor run push` sends them later.

Runs spend what the agents spend: `--mock` plays every agent for nothing, `--check-only` runs setups
and checks alone. Under `--max-cost` what a trial may cost is set aside before it starts: the file's
`max_cost_usd`, or else what the dearest one like it has cost; what is not started is named, and
`proctor run resume --max-cost USD` goes on with it.

Exit codes: 0 every test of every trial passed; 1 a test failed or a trial has no result; 2 the
experiment or the command line is wrong; 130 interrupted.")]
pub(crate) struct Args {
    /// The experiment.
    #[arg(value_name = "FILE")]
    pub(super) file: Utf8PathBuf,
    /// How often each variant is run.
    #[arg(short, long, value_name = "N", default_value = "1")]
    pub(super) repeat: NonZeroU32,
    /// How many trials run side by side.
    #[arg(short, long, value_name = "N", default_value = "4")]
    pub(super) jobs: NonZeroUsize,
    /// Play every agent by a driver that spends nothing and needs nothing installed.
    #[arg(long)]
    pub(super) mock: bool,
    /// Run setups and setup checks of every variant, and ask agents behind the Agent Client Protocol for
    /// their models; no agent gets a prompt.
    #[arg(long)]
    pub(super) check_only: bool,
    /// Say what would run, and write nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Seconds that one test may take.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    pub(super) test_timeout: NonZeroU64,
    /// US dollars that the run may cost: no trial is started that could pass it.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(super) max_cost: Option<f64>,
    /// How to print the results.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
    /// Taken for compatibility: everything runs on this machine.
    #[arg(long, hide = true)]
    pub(super) local: bool,

    /// What keeps a trial apart.
    #[arg(long, value_name = "KIND", default_value = "bubblewrap", help_heading = "Sandbox")]
    pub(super) sandbox: Kind,
    /// The image of containers, which is never pulled; it needs `bash` and `sleep`.
    #[arg(long, value_name = "IMAGE", help_heading = "Sandbox")]
    pub(super) image: Option<String>,
    /// Which network agents, setups and tests have.
    #[arg(long, value_name = "NETWORK", default_value = "host", help_heading = "Sandbox")]
    pub(super) network: NetworkName,
    /// Run scripts that name /workspace although nothing keeps them apart.
    #[arg(long, help_heading = "Sandbox")]
    pub(super) allow_unsandboxed: bool,

    /// Bind a file: NAME=PATH, VARIANT:NAME=PATH, or `PATH::DEST` for one that nobody declared; may
    /// be given several times.
    #[arg(long = "file", value_name = "BINDING", help_heading = "Values")]
    pub(super) files: Vec<String>,
    /// Set a variable: NAME=VALUE, or NAME to take it from the environment.
    #[arg(long = "env", value_name = "VARIABLE", help_heading = "Values")]
    pub(super) env: Vec<String>,
    /// Read variables from a file; the first that has one wins.
    #[arg(long = "env-file", value_name = "FILE", help_heading = "Values")]
    pub(super) env_files: Vec<Utf8PathBuf>,
    #[command(flatten)]
    pub(super) store: StoreFlag,
    #[command(flatten, next_help_heading = "Selection")]
    pub(super) narrow: Narrow,
}
