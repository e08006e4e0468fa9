//! A model that judges answers: which one, what it may cost, and whether the user agreed to have
//! answers sent to it.

use proctor_formats::eval::{Project, llm_settings};
use proctor_grade::eval::{PRICES, PriceOverrides};
use proctor_llm::{Client, NoClient, Price};
use proctor_model::llm::LlmSettings;

use crate::context::Context;
use crate::error::CommandError;

/// A judge as it is set up; nothing is connected yet.
pub(crate) struct Judge {
    settings: LlmSettings,
    /// The model as reports name it.
    pub(crate) id: String,
    /// What it costs; `None` when that is not known.
    pub(crate) price: Option<Price>,
}

impl Judge {
    /// The judge that the settings name. No cap of `caps`, US dollars of which 0 stands for none, may
    /// be passed.
    pub(crate) fn new(
        project: Option<&Project>,
        caps: &[f64],
        context: &Context,
    ) -> Result<Self, CommandError> {
        let env = |name: &str| context.var(name).map(str::to_owned);
        let (mut settings, diagnostics) = llm_settings(project, &env);
        if diagnostics.has_errors() {
            let lines: Vec<String> = diagnostics.0.iter().map(ToString::to_string).collect();
            let message = format!("the settings of [llm] are wrong\n  {}", lines.join("\n  "));
            return Err(CommandError::usage(message));
        }
        for warning in &diagnostics.0 {
            context.printer.warning(&warning.to_string());
        }
        for cap in caps {
            settings.tighten_cost(*cap);
        }
        let id = settings.model_id().ok_or_else(|| refused(&NoClient::NoModel))?;
        let price = price(&id, &settings);
        Ok(Self { settings, id, price })
    }

    /// Connects, when everybody who has to agree does; nothing is sent yet. `agreed` says whether the
    /// command line does.
    pub(crate) fn connect(&self, agreed: bool, context: &Context) -> Result<Client, CommandError> {
        if !agreed {
            let message =
                format!("answers would be sent to {}, and nobody agreed to that", self.id);
            return Err(CommandError::usage(message)
                .hint("`--allow-llm` agrees; `--dry-run` says what it may cost"));
        }
        let env = |name: &str| context.var(name).map(str::to_owned);
        proctor_llm::connect(&self.settings, self.price, &env).map_err(|why| refused(&why))
    }
}

fn refused(why: &NoClient) -> CommandError {
    CommandError::usage(format!("the judge cannot be asked: {why}"))
}

/// What a model costs: as the user says, else as listed.
fn price(id: &str, settings: &LlmSettings) -> Option<Price> {
    let overrides = PriceOverrides {
        input: settings.price_input_per_mtok,
        output: settings.price_output_per_mtok,
    };
    let price = PRICES.price(id, overrides);
    price.known.then_some(Price { input: price.rates.input, output: price.rates.output })
}
