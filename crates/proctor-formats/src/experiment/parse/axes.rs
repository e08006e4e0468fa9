//! Prompts, environments, products, and extensions.

use std::sync::Arc;

use proctor_model::experiment::{Axes, Environment, Extension, Product, Prompt, Rule, Slug};

use super::agents::{read_agents, read_models};
use super::setups::read_setups;
use super::values::{axis, name, texts, unique, without_nul, words};
use crate::tree::{Field, Kind, Object, Problems};

/// The keys of a prompt.
pub(in crate::experiment) const PROMPT_KEYS: [&str; 4] = ["id", "prompt", "description", "tags"];

/// The keys of an environment.
pub(in crate::experiment) const ENVIRONMENT_KEYS: [&str; 5] =
    ["name", "setup", "description", "tags", "commit"];

/// The keys of a product.
pub(in crate::experiment) const PRODUCT_KEYS: [&str; 7] =
    ["name", "type", "setup", "version", "commit", "description", "tags"];

/// The keys of an extension.
pub(in crate::experiment) const EXTENSION_KEYS: [&str; 9] = [
    "id",
    "description",
    "tags",
    "agents",
    "models",
    "prompts",
    "environments",
    "products",
    "extensions",
];

/// The kinds of products that are known.
const PRODUCT_TYPES: [&str; 6] = ["CLI", "SDK", "MCP", "Skill", "Docs", "API"];

/// Reads the axes of the top level or of an extension. An axis with a mistake counts as declared:
/// what it should have held would only be a guess.
pub(super) fn read_axes(object: &Object<'_>, problems: &mut Problems) -> Axes {
    Axes {
        agents: object.optional("agents", problems, read_agents).unwrap_or(Some(Vec::new())),
        models: object.optional("models", problems, read_models).unwrap_or(Some(Vec::new())),
        prompts: object.optional("prompts", problems, read_prompts).unwrap_or(Some(Vec::new())),
        environments: object
            .optional("environments", problems, read_environments)
            .unwrap_or(Some(Vec::new())),
        products: object.optional("products", problems, read_products).unwrap_or(Some(Vec::new())),
    }
}

fn read_prompts(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Arc<Prompt>>> {
    let position = std::cell::Cell::new(0_usize);
    axis(
        "prompts",
        |prompt: &Arc<Prompt>| prompt.id.to_string(),
        |field, problems| {
            position.set(position.get() + 1);
            read_prompt(field, position.get(), problems).map(Arc::new)
        },
    )(field, problems)
}

/// Reads a prompt; a bare text gets an id by its position, from 1.
fn read_prompt(field: &Field<'_>, position: usize, problems: &mut Problems) -> Option<Prompt> {
    if matches!(field.node().kind, Kind::String(_)) {
        let text = read_text(field, problems)?;
        // Letters, a dash and digits are a slug.
        let id: Slug = format!("prompt-{position}").parse().ok()?;
        return Some(Prompt { id, text, description: None, tags: Vec::new() });
    }
    let object = Object::at(field, "a prompt: a text, or an object with `id`", problems)?;
    object.deny_unknown(&PROMPT_KEYS, problems);
    let id = object.required("id", problems, name);
    let text = object.required("prompt", problems, read_text);
    let (description, tags) = for_people(&object, problems)?;
    Some(Prompt { id: id?, text: text?, description, tags })
}

fn read_text(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let text = words(field, problems)?;
    without_nul(field, text, problems)
}

/// Reads what only people and queries use: a description and tags.
pub(super) fn for_people(
    object: &Object<'_>,
    problems: &mut Problems,
) -> Option<(Option<String>, Vec<String>)> {
    let description = object.optional("description", problems, words);
    let tags = object.or("tags", Vec::new(), problems, texts);
    Some((description?, tags?))
}

fn read_environments(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Arc<Environment>>> {
    axis(
        "environments",
        |one: &Arc<Environment>| one.name.to_string(),
        |field, problems| {
            let object = Object::at(field, "an environment: an object with `name`", problems)?;
            object.deny_unknown(&ENVIRONMENT_KEYS, problems);
            let name = object.required("name", problems, name);
            let setups = object.or("setup", Vec::new(), problems, read_setups);
            let commit = object.optional("commit", problems, words);
            let (description, tags) = for_people(&object, problems)?;
            Some(Arc::new(Environment {
                name: name?,
                setups: setups?,
                description,
                tags,
                commit: commit?,
            }))
        },
    )(field, problems)
}

fn read_products(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Arc<Product>>> {
    axis(
        "products",
        |one: &Arc<Product>| one.name.to_string(),
        |field, problems| {
            let object = Object::at(field, "a product: an object with `name`", problems)?;
            object.deny_unknown(&PRODUCT_KEYS, problems);
            let name = object.required("name", problems, name);
            let kind = object.optional("type", problems, read_type);
            let setups = object.or("setup", Vec::new(), problems, read_setups);
            let version = object.optional("version", problems, words);
            let commit = object.optional("commit", problems, words);
            let (description, tags) = for_people(&object, problems)?;
            Some(Arc::new(Product {
                name: name?,
                kind: kind?,
                setups: setups?,
                version: version?,
                commit: commit?,
                description,
                tags,
            }))
        },
    )(field, problems)
}

fn read_type(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let kind = words(field, problems)?;
    if !PRODUCT_TYPES.iter().any(|known| known.eq_ignore_ascii_case(&kind)) {
        let message = format!("{} is none of {}", field.shown(), PRODUCT_TYPES.join(", "));
        problems.push(field.warning(message).rule(Rule::ProductType));
    }
    Some(kind)
}

/// How deep extensions may nest: their ids are joined to one coordinate.
const MAX_NESTING: usize = 8;

/// Reads extensions and theirs.
pub(super) fn read_extensions(
    field: &Field<'_>,
    problems: &mut Problems,
) -> Option<Vec<Extension>> {
    extensions_at(field, MAX_NESTING, problems)
}

fn extensions_at(
    field: &Field<'_>,
    levels: usize,
    problems: &mut Problems,
) -> Option<Vec<Extension>> {
    let Some(levels) = levels.checked_sub(1) else {
        let message = format!("extensions nest deeper than {MAX_NESTING} levels");
        problems.push(field.error(message).rule(Rule::TooLarge));
        return None;
    };
    unique(
        "extensions",
        |one: &Extension| one.id.to_string(),
        |field, problems| {
            let object = Object::at(field, "an extension: an object with `id`", problems)?;
            object.deny_unknown(&EXTENSION_KEYS, problems);
            let id = object.required("id", problems, name);
            let axes = read_axes(&object, problems);
            let extensions = object.or("extensions", Vec::new(), problems, |field, problems| {
                extensions_at(field, levels, problems)
            });
            let (description, tags) = for_people(&object, problems)?;
            Some(Extension {
                id: id?,
                description,
                tags,
                axes,
                extensions: extensions?,
                at: field.node().location,
            })
        },
    )(field, problems)
}
