//! The variants that somebody asks for.

use std::collections::BTreeSet;

use proctor_model::experiment::Variant;
use proctor_model::nearest;

/// What variants are narrowed to. Within a list any entry will do, and every list that is not empty
/// must be met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Whole ids.
    pub variants: Vec<String>,
    /// Names of agents.
    pub agents: Vec<String>,
    /// Models, by name or as they stand in ids.
    pub models: Vec<String>,
    /// Ids of prompts.
    pub prompts: Vec<String>,
    /// Names of environments.
    pub environments: Vec<String>,
    /// Names of products.
    pub products: Vec<String>,
}

/// Why nothing can be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// No variant has this coordinate.
    #[error("no variant has the {what} `{wanted}`; {known}")]
    Unknown {
        /// `variant`, `agent`, ...
        what: &'static str,
        /// What was asked for.
        wanted: String,
        /// What there is, as a sentence fragment.
        known: String,
    },
    /// Each coordinate exists, but no variant has all of them.
    #[error("no variant has all of that; list them with `proctor experiment variants`")]
    Empty,
}

/// One axis of a selection: its name, what is wanted, and what a variant has on it.
type Axis<'a> = (&'static str, &'a [String], fn(&Variant) -> Vec<String>);

/// Keeps the variants that are selected, in their order.
pub fn select(variants: Vec<Variant>, selection: &Selection) -> Result<Vec<Variant>, SelectError> {
    let axes: [Axis<'_>; 6] = [
        ("variant", &selection.variants, |variant| vec![variant.id.to_string()]),
        ("agent", &selection.agents, |variant| vec![variant.agent.name.to_string()]),
        ("model", &selection.models, |variant| {
            let model = variant.agent.model.as_ref();
            model.map_or(Vec::new(), |model| vec![model.name.clone(), model.coordinate()])
        }),
        ("prompt", &selection.prompts, |variant| vec![variant.prompt.id.to_string()]),
        ("environment", &selection.environments, |variant| {
            variant.environment.iter().map(|one| one.name.to_string()).collect()
        }),
        ("product", &selection.products, |variant| {
            variant.product.iter().map(|one| one.name.to_string()).collect()
        }),
    ];
    let mut kept = variants;
    for (what, wanted, names) in axes {
        if wanted.is_empty() {
            continue;
        }
        let known: BTreeSet<String> = kept.iter().flat_map(names).collect();
        if let Some(stranger) = wanted.iter().find(|name| !known.contains(*name)) {
            return Err(unknown(what, stranger, &known));
        }
    }
    for (_, wanted, names) in axes {
        let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
        if !wanted.is_empty() {
            kept.retain(|variant| names(variant).iter().any(|name| wanted.contains(name.as_str())));
        }
    }
    if kept.is_empty() { Err(SelectError::Empty) } else { Ok(kept) }
}

fn unknown(what: &'static str, wanted: &str, known: &BTreeSet<String>) -> SelectError {
    /// More would be a page.
    const SHOWN: usize = 8;
    let known = if let Some(near) = nearest(wanted, known.iter().map(String::as_str)) {
        format!("did you mean `{near}`?")
    } else if known.is_empty() {
        "none has any".to_owned()
    } else {
        let shown: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
        let more = if known.len() > SHOWN { ", ..." } else { "" };
        format!("there are {}{more}", shown.join(", "))
    };
    SelectError::Unknown { what, wanted: wanted.to_owned(), known }
}
