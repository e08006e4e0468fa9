//! One cell of the matrix.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::declared::{Environment, Product, Prompt};
use super::setup::{FileEntry, McpServer, Setup, SetupCheck, Skill, Variable};
use super::test::{Limits, Test};
use crate::Digest;

/// A resolved variant: everything that a trial of it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its coordinates.
    pub id: VariantId,
    /// Who works, with its model.
    pub agent: Agent,
    /// What is asked.
    pub prompt: Arc<Prompt>,
    /// Where it happens.
    pub environment: Option<Arc<Environment>>,
    /// What is examined.
    pub product: Option<Arc<Product>>,
    /// The ids of the extensions down to the leaf, joined by `/`.
    pub extension: Option<String>,
    /// The files of the whole experiment; those of setups stand in [`Variant::setups`].
    pub files: Arc<[FileEntry]>,
    /// In the order in which they run.
    pub tests: Arc<[Test]>,
    /// Of every trial.
    pub limits: Limits,
    /// Of the experiment and of the setups, by name; of equal names the last one stands.
    pub variables: Arc<[Variable]>,
    /// `sha256:` and the digest of everything above, see [`super::document`].
    pub fingerprint: String,
}

impl Variant {
    /// The setups in the order in which they run: those of the environment, then of the product.
    pub fn setups(&self) -> impl Iterator<Item = &Setup> {
        let environment = self.environment.iter().flat_map(|environment| &environment.setups);
        environment.chain(self.product.iter().flat_map(|product| &product.setups))
    }

    /// Every file that is staged before the agent starts: those of the experiment, then those of
    /// the setups.
    pub fn staged_files(&self) -> impl Iterator<Item = &FileEntry> {
        self.files.iter().chain(self.setups().flat_map(|setup| &setup.files))
    }

    /// The checks of all setups, in order.
    pub fn checks(&self) -> impl Iterator<Item = &SetupCheck> {
        self.setups().flat_map(|setup| &setup.checks)
    }

    /// The servers of all setups, in order.
    pub fn mcp_servers(&self) -> impl Iterator<Item = &McpServer> {
        self.setups().flat_map(|setup| &setup.mcp_servers)
    }

    /// The skills of all setups, in order.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.setups().flat_map(|setup| &setup.skills)
    }

    /// What `proctor experiment variants` prints about it.
    pub fn row(&self) -> VariantRow {
        let model = self.agent.model.as_ref();
        VariantRow {
            id: self.id.to_string(),
            agent: self.agent.name.to_string(),
            model: model.map(|model| model.name.clone()),
            effort: model.and_then(|model| model.effort.clone()),
            prompt: self.prompt.id.to_string(),
            environment: self.environment.as_ref().map(|one| one.name.to_string()),
            product: self.product.as_ref().map(|one| one.name.to_string()),
            extension: self.extension.clone(),
            fingerprint: self.fingerprint.clone(),
        }
    }
}

/// The coordinates of a variant, joined by `::`; absent ones are left out.
///
/// Agent, `<provider>-<model>`, effort, prompt, environment, product, extension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VariantId(String);

impl VariantId {
    /// The id with these coordinates.
    pub fn new(
        agent: &Agent,
        prompt: &Prompt,
        environment: Option<&Environment>,
        product: Option<&Product>,
        extension: Option<&str>,
    ) -> Self {
        let mut id = agent.name.to_string();
        let mut add = |coordinate: &str| {
            id.push_str("::");
            id.push_str(coordinate);
        };
        if let Some(model) = &agent.model {
            add(&model.coordinate());
            if let Some(effort) = &model.effort {
                add(effort);
            }
        }
        add(prompt.id.as_str());
        if let Some(environment) = environment {
            add(environment.name.as_str());
        }
        if let Some(product) = product {
            add(product.name.as_str());
        }
        if let Some(extension) = extension {
            add(extension);
        }
        Self(id)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as a directory name: `::` becomes `__`, every other character outside
    /// `[A-Za-z0-9._-]` becomes `-`. Names over 200 bytes are cut, and end in eight digits of the
    /// digest of the id. Different ids may have the same name; see [`directory_names`].
    pub fn directory_name(&self) -> String {
        const LONGEST: usize = 200;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let replaced = self.0.replace("::", "__");
        let name: String = replaced.chars().map(|c| if plain(c) { c } else { '-' }).collect();
        if name.len() <= LONGEST {
            return name;
        }
        let digest = Digest::of(self.0.as_bytes()).to_string();
        let kept: String = name.chars().take(LONGEST - 9).collect();
        let suffix: String = digest.chars().take(8).collect();
        format!("{kept}-{suffix}")
    }
}

/// An id from a command line or a record; whether there is such a variant is another question.
impl From<String> for VariantId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl fmt::Display for VariantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A directory name for each id, in their order; a name that is already taken gets `-2`, `-3`, ...
pub fn directory_names<'a>(ids: impl IntoIterator<Item = &'a VariantId>) -> Vec<String> {
    let mut taken = BTreeSet::new();
    ids.into_iter()
        .map(|id| {
            let plain = id.directory_name();
            let mut name = plain.clone();
            let mut number = 2_u64;
            while !taken.insert(name.clone()) {
                name = format!("{plain}-{number}");
                number += 1;
            }
            name
        })
        .collect()
}

/// A line of `proctor experiment variants`; coordinates that the variant lacks are null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantRow {
    /// The variant id.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The model's name, without its provider.
    pub model: Option<String>,
    /// The model's effort.
    pub effort: Option<String>,
    /// The prompt's id.
    pub prompt: String,
    /// The environment's name.
    pub environment: Option<String>,
    /// The product's name.
    pub product: Option<String>,
    /// The extension's id; for nested ones the path.
    pub extension: Option<String>,
    /// The fingerprint.
    pub fingerprint: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_names_are_plain_and_unlike() {
        let ids: Vec<VariantId> = ["a::b c", "a::b-c", "a::b/c", "a__b-c-2", "ä::x"]
            .map(|id| VariantId::from(id.to_owned()))
            .to_vec();
        assert_eq!(directory_names(&ids), ["a__b-c", "a__b-c-2", "a__b-c-3", "a__b-c-2-2", "-__x"]);
    }

    #[test]
    fn long_names_are_cut_and_stay_unlike() {
        let long = |end: &str| VariantId::from(format!("{}{end}", "x".repeat(300)));
        let (one, other) = (long("1").directory_name(), long("2").directory_name());
        assert_eq!(one.len(), 200);
        assert_ne!(one, other);
    }
}
