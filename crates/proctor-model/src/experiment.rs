//! Experiments: agents x models x prompts x environments x products, graded by scripts.
//!
//! [`Experiment`] is a file as declared, [`Variant`] one cell of its matrix with everything that a
//! trial of it needs. Values that passed a rule have a type of their own ([`Slug`], [`Dest`],
//! [`VariableName`], ...), so that what stands behind the reader never has to ask again.

pub mod agent;
pub mod declared;
pub mod document;
pub mod finding;
pub mod name;
pub mod secret;
pub mod setup;
pub mod test;
pub mod variant;

pub use agent::{Agent, AgentMode, Model, Provider, Thinking, drives};
pub use declared::{Axes, Environment, Era, Experiment, Extension, Product, Prompt};
pub use finding::{Finding, Level, Rule};
pub use name::{AgentName, Dest, Name, NameError, SecretSlug, Slug, VariableName};
pub use secret::SecretText;
pub use setup::{
    FileEntry, FileSource, McpEnv, McpHeader, McpServer, McpTransport, Setup, SetupCheck, Skill,
    Value, Variable,
};
pub use test::{Bucket, Limits, Script, Test, When};
pub use variant::{Variant, VariantId, VariantRow, directory_names};
