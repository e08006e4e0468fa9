//! What every way of running needs: the project, its results, prices, and the signature for others.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{EvalSettings, Project, Skill};
use proctor_grade::eval::{PRICES, Price, PriceOverrides};
use proctor_model::eval::Estimate;
use proctor_sandbox::Rooms;
use proctor_store::eval::{Key, PrivateKey, Results, changed_files, load, write_attestation};

use super::args::{Args, Figure};
use crate::commands::eval::common;
use crate::context::Context;
use crate::error::CommandError;

/// What is known before anything is planned.
pub(super) struct Base {
    pub(super) project: Project,
    pub(super) settings: EvalSettings,
    pub(super) file: Utf8PathBuf,
    pub(super) key: Option<Key>,
    pub(super) results: Results,
    pub(super) price: Price,
    pub(super) date: Option<String>,
    /// Signs the results file for others.
    signer: Option<PrivateKey>,
}

impl Base {
    pub(super) fn new(args: &Args, context: &Context) -> Result<Self, CommandError> {
        let date = args.date(context)?;
        let signer =
            args.sign_key.as_deref().map(|file| signer(file, args, context)).transpose()?;
        let project = args.place.project(context)?;
        for warning in &project.warnings.0 {
            context.printer.warning(&warning.to_string());
        }
        let settings = common::settings(&project, context)?;
        let overrides = PriceOverrides::given(args.price_in, args.price_out).or(PriceOverrides {
            input: settings.estimate.price_in_per_mtok,
            output: settings.estimate.price_out_per_mtok,
        });
        let price = PRICES.price(args.model(), overrides);
        let file = args.place.results(&project, context);
        let key = if args.keeps() {
            common::load_or_create_key(context)
        } else {
            common::load_key(context)
        };
        let results = args.place.load(&project, key.as_ref(), context)?;
        Ok(Self { project, settings, file, key, results, price, date, signer })
    }

    /// The skills that differ from the base; `None` when that does not matter.
    pub(super) fn changed(
        &self,
        args: &Args,
        chosen: &[&Skill],
    ) -> Result<Option<BTreeSet<String>>, CommandError> {
        if !args.changed_only {
            return Ok(None);
        }
        let files = changed_files(&self.project.root, &args.base).map_err(CommandError::usage)?;
        let changed = chosen.iter().filter(|skill| files.touch(skill));
        Ok(Some(changed.map(|skill| skill.id.clone()).collect()))
    }

    /// Refuses to start what `--max-cost` does not cover; `usual` is the figure that counts when
    /// nobody says which.
    pub(super) fn refuse_too_dear(
        &self,
        args: &Args,
        estimate: &Estimate,
        usual: Figure,
    ) -> Result<(), CommandError> {
        if args.max_cost == 0.0 || estimate.agent_runs == 0 {
            return Ok(());
        }
        if !self.price.known {
            let message = format!("the price of model `{}` is not known", args.model());
            return Err(CommandError::usage(message).hint(
                "`--max-cost` needs one: give `--price-in` and `--price-out`, US dollars a million \
                 tokens",
            ));
        }
        let (figure, word) = match args.max_cost_mode.unwrap_or(usual) {
            Figure::Expected => (estimate.cost_usd, "expected"),
            Figure::High => (estimate.cost_high_usd, "high"),
        };
        if figure <= args.max_cost {
            return Ok(());
        }
        let message = format!(
            "nothing was started: the estimate is ${figure:.4} ({word} figure), above the \
             `--max-cost` of ${}",
            args.max_cost
        );
        Err(CommandError::usage(message)
            .hint("`--dry-run` shows the estimate of each skill; name fewer, or raise the cap"))
    }

    /// Signs the results file as it now is, unless that would make others believe what is not
    /// believed here.
    pub(super) fn sign(&self, context: &Context) -> Result<(), CommandError> {
        let Some(signer) = &self.signer else { return Ok(()) };
        let results = load(&self.file, self.key.as_ref()).map_err(CommandError::usage)?;
        let unbelieved: Vec<&str> = results
            .records()
            .filter(|stored| !stored.is_believed())
            .map(|stored| stored.record().id.as_str())
            .collect();
        if !unbelieved.is_empty() {
            let message = format!(
                "the results file is not signed: the records of {} are unverified",
                unbelieved.join(", ")
            );
            return Err(
                CommandError::usage(message).hint("run these skills too, or remove their records")
            );
        }
        let path = write_attestation(&self.file, signer, env!("CARGO_PKG_VERSION"))
            .map_err(CommandError::usage)?;
        context.printer.note(&format!("signed: {}", self.project.shown(&path)));
        Ok(())
    }
}

/// Rooms for what is run; what was left over of earlier runs is removed.
pub(super) fn rooms(context: &Context) -> Result<Rooms, CommandError> {
    let base = context.temporary.join(format!("proctor-{}", nix::unistd::getuid()));
    let rooms = Rooms::open(&base).map_err(CommandError::usage)?;
    for failure in rooms.reap().map_err(CommandError::usage)?.failures {
        context.printer.warning(&format!("left over: {failure}"));
    }
    Ok(rooms)
}

/// The key that signs for others.
fn signer(file: &Utf8Path, args: &Args, context: &Context) -> Result<PrivateKey, CommandError> {
    if !args.keeps() {
        return Err(CommandError::usage("there is nothing to sign: no result is kept").hint(
            "`--sign` does not go with `--dry-run`, `--no-write`, `--tag` and `--description-from`",
        ));
    }
    let text = fs_err::read_to_string(context.cwd.join(file).as_std_path())?;
    PrivateKey::from_pem(&text).map_err(|error| CommandError::usage(format!("{file}: {error}")))
}
