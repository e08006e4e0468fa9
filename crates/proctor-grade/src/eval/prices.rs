//! What models cost. The table is data, `prices.json`, with the day it was made as its version.

use std::sync::LazyLock;

use serde::Deserialize;

use super::spend::Rates;

/// The model whose price is taken when none is named, and for models that the table does not have.
pub const FALLBACK_MODEL: &str = "sonnet";

/// The name that reports give the model when none is named.
pub const DEFAULT_MODEL: &str = "default";

/// The table that the program carries.
pub static PRICES: LazyLock<PriceTable> = LazyLock::new(|| {
    serde_json::from_str(include_str!("prices.json")).expect("a constant that the tests read")
});

/// A table of prices. They are approximate: providers change them.
#[derive(Debug, Clone, Deserialize)]
pub struct PriceTable {
    /// The day it was made, and the how-manieth of that day.
    pub version: String,
    models: Vec<Listed>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    input: f64,
    output: f64,
    #[serde(default)]
    embedding: bool,
}

/// What the tokens of a run cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// US dollars for a million tokens.
    pub rates: Rates,
    /// Whether it is the price of the model, as far as we know: it is named by nobody, listed, or
    /// the user gave both prices.
    pub known: bool,
    /// The listed model whose price was taken in place of the model's own.
    pub priced_as: Option<String>,
}

/// Prices that a user gives, US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PriceOverrides {
    /// In.
    pub input: Option<f64>,
    /// Out.
    pub output: Option<f64>,
}

impl PriceOverrides {
    /// Prices as options and settings give them, where 0 stands for none.
    pub fn given(input: f64, output: f64) -> Self {
        let some = |price: f64| (price > 0.0).then_some(price);
        Self { input: some(input), output: some(output) }
    }

    /// These, and where there is none the other's.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { input: self.input.or(other.input), output: self.output.or(other.output) }
    }
}

impl PriceTable {
    /// The price of `model`, which is empty or [`DEFAULT_MODEL`] when none was named. A price that
    /// the user gives wins; with one alone, the other comes from the table.
    pub fn price(&self, model: &str, overrides: PriceOverrides) -> Price {
        let unnamed = model.is_empty() || model == DEFAULT_MODEL;
        let mut price = match self.find(if unnamed { FALLBACK_MODEL } else { model }) {
            Some((listed, is_own)) => Price {
                rates: listed.rates(),
                known: true,
                priced_as: (unnamed || !is_own).then(|| listed.name.clone()),
            },
            None => Price {
                rates: self
                    .find(FALLBACK_MODEL)
                    .map(|(listed, _)| listed.rates())
                    .unwrap_or_default(),
                known: false,
                priced_as: Some(FALLBACK_MODEL.to_owned()),
            },
        };
        if let (Some(_), Some(_)) = (overrides.input, overrides.output) {
            (price.known, price.priced_as) = (true, None);
        }
        price.rates.input = overrides.input.unwrap_or(price.rates.input);
        price.rates.output = overrides.output.unwrap_or(price.rates.output);
        price
    }

    /// The entry for a model, and whether it is the model's own.
    ///
    /// Letter case and what stands before the last `/` do not count. The longest name that the
    /// model's begins with is taken when a version follows it, or nothing; else the dearest model
    /// of its family, so that a price is never too low.
    fn find(&self, model: &str) -> Option<(&Listed, bool)> {
        let lower = model.to_lowercase();
        let name = lower.rsplit('/').next().unwrap_or_default();
        let begins = |listed: &&Listed| name.starts_with(&listed.name);
        let listed = self.models.iter().filter(begins).max_by_key(|listed| listed.name.len())?;
        let rest = name.strip_prefix(&listed.name).unwrap_or_default();
        if rest.is_empty() || is_version(rest) {
            return Some((listed, true));
        }
        let of_family = |other: &&Listed| !other.embedding && other.family() == listed.family();
        let sum = |listed: &Listed| listed.input + listed.output;
        let dearest = self
            .models
            .iter()
            .filter(of_family)
            .reduce(|dearest, other| if sum(other) > sum(dearest) { other } else { dearest });
        dearest.map(|dearest| (dearest, false))
    }
}

/// Whether the rest of a name says only which version of the model it is.
fn is_version(rest: &str) -> bool {
    let is_word = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_digit())
            || matches!(word, "latest" | "preview" | "exp")
    };
    rest.starts_with(['-', '@']) && rest.split(['-', '@', '.', '_']).all(is_word)
}

impl Listed {
    fn rates(&self) -> Rates {
        Rates { input: self.input, output: self.output }
    }

    fn family(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(model: &str) -> String {
        let price = PRICES.price(model, PriceOverrides::default());
        let Rates { input, output } = price.rates;
        let known = if price.known { "" } else { " unknown" };
        let priced_as = price.priced_as.map(|name| format!(" as {name}")).unwrap_or_default();
        format!("{input}/{output}{priced_as}{known}")
    }

    #[test]
    fn the_table_is_dated_and_sound() {
        assert_eq!(PRICES.version, "2026-10-07.1");
        let mut names: Vec<&str> =
            PRICES.models.iter().map(|listed| listed.name.as_str()).collect();
        assert_eq!(names.len(), 23);
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 23);
        for listed in &PRICES.models {
            assert!(listed.input > 0.0 && listed.output >= 0.0, "{}", listed.name);
            assert_eq!(listed.embedding, listed.name.contains("embedding"));
        }
    }

    #[test]
    fn models_are_found_by_the_longest_name() {
        for (model, expected) in [
            ("haiku", "1/5"),
            ("opus", "15/75"),
            ("claude-haiku-5-5", "0.5/2.5"),
            ("claude-haiku-5-5-20261001", "0.5/2.5"),
            ("claude-haiku-5", "1/5"),
            ("claude-sonnet-4-6@20250929", "3/15"),
            ("anthropic/Claude-Opus-4-8", "5/25"),
            ("bedrock/us/claude-opus-5-latest", "5/25"),
            ("claude-opus-4", "15/75"),
            ("claude-opus-4-1.preview_2", "15/75"),
            ("gpt-4o-mini-2024-07-18", "0.15/0.6"),
            ("gpt-4o-exp", "2.5/10"),
            ("gemini-2.5-flash-lite-preview", "0.1/0.4"),
            ("text-embedding-3-small", "0.02/0"),
        ] {
            assert_eq!(shown(model), expected, "{model}");
        }
    }

    #[test]
    fn a_strange_variant_is_priced_as_the_dearest_of_its_family() {
        for (model, expected) in [
            ("gpt-4.1-nano", "2.5/10 as gpt-4o"),
            ("gpt-4o.5", "2.5/10 as gpt-4o"),
            ("claude-haiku-fast", "15/75 as claude-opus"),
            ("claude-sonnet5", "15/75 as claude-opus"),
            ("gemini-2.5-flash-image", "0.3/2.5 as gemini-2.5-flash"),
            ("haikuu", "1/5 as haiku"),
            // A family of nothing but embeddings.
            ("text-embedding-3-small-x", "3/15 as sonnet unknown"),
        ] {
            assert_eq!(shown(model), expected, "{model}");
        }
    }

    #[test]
    fn no_model_and_no_price() {
        assert_eq!(shown(""), "3/15 as sonnet");
        assert_eq!(shown("default"), "3/15 as sonnet");
        for model in ["gpt-5", "llama-3", "gemini-3-pro", "claude-3-5-sonnet", "vendor/"] {
            assert_eq!(shown(model), "3/15 as sonnet unknown", "{model}");
        }
    }

    #[test]
    fn given_prices_win() {
        let price = |model: &str, input, output| {
            let price = PRICES.price(model, PriceOverrides::given(input, output));
            (price.rates.input, price.rates.output, price.known, price.priced_as)
        };
        assert_eq!(price("x", 7.0, 8.0), (7.0, 8.0, true, None));
        assert_eq!(price("", 7.0, 8.0), (7.0, 8.0, true, None));
        assert_eq!(price("haiku", 0.0, 8.0), (1.0, 8.0, true, None));
        assert_eq!(price("x", 7.0, 0.0), (7.0, 15.0, false, Some("sonnet".to_owned())));
        let options = PriceOverrides::given(7.0, 0.0);
        let merged = options.or(PriceOverrides::given(1.0, 2.0));
        assert_eq!(merged, PriceOverrides::given(7.0, 2.0));
    }

    proptest! {
        #[test]
        fn every_name_has_a_price(model in "\\PC{0,20}|(claude|gpt|haiku)[-@./_a-z0-9]{0,20}") {
            let price = PRICES.price(&model, PriceOverrides::default());
            prop_assert!(price.rates.input > 0.0);
            prop_assert!(price.known || price.priced_as.is_some());
        }
    }
}
