//! What an activator is asked, and what it answers.

use std::num::NonZeroU32;

use camino::Utf8PathBuf;
use proctor_grade::eval::Spend;
use proctor_model::eval::protocol::Response;

use crate::eval::flow::Stopped;
use crate::eval::runner::{Call, CallError, Told};

/// Measures which of the competing skills fire for prompts.
pub trait Activator: Sync {
    /// The name that people write and records keep.
    fn name(&self) -> &'static str;

    /// Whether it says what its runs cost. Without that no budget can be kept, and a run under one is
    /// refused.
    fn reports_cost(&self) -> bool;

    /// How often [`prove`](Self::prove) starts an agent, for estimates; each of these runs costs about
    /// what a run of a prompt costs.
    fn proof_runs(&self) -> u64;

    /// Why this skill is not measured, whatever it would cost; known before anything is run.
    fn refuses(&self, contest: &Contest<'_>) -> Option<String>;

    /// Shows that skills load and that their firing is seen, before anything is measured.
    ///
    /// # Errors
    ///
    /// [`CallError::CannotRun`] when nothing can be measured at all, whatever the skill.
    fn prove(&self, contest: &Contest<'_>, tell: &mut dyn FnMut(Told)) -> Result<Proof, CallError>;

    /// Measures one skill. What happens meanwhile goes to `tell`, on this thread.
    ///
    /// # Errors
    ///
    /// [`CallError`] when there is no answer that can be believed as a whole. What concerns one prompt
    /// alone is an error in its result.
    fn measure(
        &self,
        contest: &Contest<'_>,
        tell: &mut dyn FnMut(Told),
    ) -> Result<Measured, CallError>;
}

/// How often each prompt is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// So often.
    Fixed(NonZeroU32),
    /// Until its verdict can no longer change, and at most so often.
    Auto {
        /// The most.
        ceiling: NonZeroU32,
    },
}

impl Runs {
    /// How often at most.
    pub fn ceiling(self) -> u32 {
        match self {
            Self::Fixed(runs) | Self::Auto { ceiling: runs } => runs.get(),
        }
    }
}

/// A skill that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Competitor {
    /// The id.
    pub id: String,
    /// Its folder, absolute. May be a copy that differs from the skill of the project.
    pub folder: Utf8PathBuf,
    /// Its digest.
    pub digest: String,
}

/// One skill to be measured, and those that it competes with.
#[derive(Clone, Copy)]
pub struct Contest<'a> {
    /// The skill under test and its prompts. Its arms are not compared, and its files, assertions and
    /// rubrics have no say.
    pub call: Call<'a>,
    /// Every skill that is installed, the one under test included.
    pub skills: &'a [Competitor],
    /// How often each prompt is run.
    pub runs: Runs,
    /// What a run is known to have cost, in US dollars: what one that does not say is taken for.
    pub run_usd: Option<f64>,
}

/// What the proof of an activator came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Proof {
    /// How often an agent was started.
    pub runs: u64,
    /// What that used, as reported.
    pub spend: Spend,
    /// Why nothing that would be measured could be believed.
    pub broken: Option<String>,
    /// Why the run ends.
    pub stopped: Option<Stopped>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

impl Proof {
    /// The error of a skill that a broken instrument would have measured.
    pub(super) fn error(&self) -> Option<String> {
        self.broken.as_deref().map(broken)
    }

    /// What one of its runs cost, when that is known.
    pub(super) fn run_usd(&self) -> Option<f64> {
        let runs = u32::try_from(self.runs).ok().filter(|runs| *runs > 0)?;
        (self.spend.cost_usd > 0.0).then(|| self.spend.cost_usd / f64::from(runs))
    }
}

/// The error of a skill that a broken instrument would have measured.
pub(super) fn broken(why: &str) -> String {
    format!("instrument broken: {why}")
}

/// What an activator measured of one skill.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// In the words of the protocol: one result a prompt, in the arm `with`.
    pub response: Response,
    /// How often an agent was started.
    pub runs: u64,
    /// How many planned runs were not needed, since the verdict of their prompt was settled.
    pub saved_runs: u64,
    /// Why nothing of it can be believed.
    pub error: Option<String>,
    /// Why the run ends, and nothing of this counts but what it cost.
    pub stopped: Option<Stopped>,
    /// What a reader should know beside the results.
    pub warnings: Vec<String>,
}
