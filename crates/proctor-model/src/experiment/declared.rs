//! A file as declared, shorthand forms written out.

use std::sync::Arc;

use super::agent::{Agent, Model};
use super::name::{Name, Slug};
use super::setup::{FileEntry, Setup, Variable};
use super::test::{Limits, Test};
use crate::Location;

/// An experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its stable id.
    pub id: Slug,
    /// For people.
    pub name: String,
    /// The question it answers, for people.
    pub description: Option<String>,
    /// The dialect of its file.
    pub era: Era,
    /// What every extension inherits; the matrix itself when there is none.
    pub axes: Axes,
    /// Parts of the matrix with axes of their own.
    pub extensions: Vec<Extension>,
    /// Seen by scripts, checks, agents and tests of every variant.
    pub variables: Vec<Variable>,
    /// Staged in every variant, where the agent sees them.
    pub files: Arc<[FileEntry]>,
    /// In the order in which they run.
    pub tests: Arc<[Test]>,
    /// Of every trial.
    pub limits: Limits,
}

/// Two dialects share the version number 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Tests are one flat list. No trace file is staged.
    Current,
    /// Tests stand in two buckets and may read a trace file.
    Early,
}

/// The axes that a level declares; `None` inherits, and contributes nothing at the top.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axes {
    /// Who works.
    pub agents: Option<Vec<Agent>>,
    /// What they think with; crossed with the agents that bring no model of their own.
    pub models: Option<Vec<Model>>,
    /// What is asked.
    pub prompts: Option<Vec<Arc<Prompt>>>,
    /// Where it happens.
    pub environments: Option<Vec<Arc<Environment>>>,
    /// What is examined.
    pub products: Option<Vec<Arc<Product>>>,
}

/// A part of the matrix. One with children is a template for them; one without is a leaf.
#[derive(Debug, Clone, PartialEq)]
pub struct Extension {
    /// Its id; the ids down to a leaf, joined by `/`, are the last coordinate of a variant.
    pub id: Slug,
    /// For people.
    pub description: Option<String>,
    /// For people and queries.
    pub tags: Vec<String>,
    /// What it declares itself.
    pub axes: Axes,
    /// Its children.
    pub extensions: Vec<Extension>,
    /// Where it stands in the file.
    pub at: Location,
}

/// What is asked, verbatim, in one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its id, a coordinate of variants.
    pub id: Slug,
    /// The text.
    pub text: String,
    /// For people.
    pub description: Option<String>,
    /// For people and queries.
    pub tags: Vec<String>,
}

/// Where it happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Its name, a coordinate of variants.
    pub name: Name,
    /// In the order in which they run.
    pub setups: Vec<Setup>,
    /// For people.
    pub description: Option<String>,
    /// For people and queries.
    pub tags: Vec<String>,
    /// Where it comes from; nothing reads it.
    pub commit: Option<String>,
}

/// What is examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Its name, a coordinate of variants.
    pub name: Name,
    /// CLI, SDK, MCP, Skill, Docs, API or a word of the author's own.
    pub kind: Option<String>,
    /// In the order in which they run.
    pub setups: Vec<Setup>,
    /// Its version; nothing reads it.
    pub version: Option<String>,
    /// Where it comes from; nothing reads it.
    pub commit: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// For people and queries.
    pub tags: Vec<String>,
}
