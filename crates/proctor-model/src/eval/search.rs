//! What `proctor search` finds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the shape of what is found.
pub const SEARCH_SCHEMA_VERSION: u32 = 1;

/// The skills that a query points at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Search {
    /// [`SEARCH_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What was looked for.
    pub query: String,
    /// How many skills were ranked.
    pub skills: u64,
    /// Skills that could not be read, and so were not ranked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// How many skills have a word of the query; those beyond the limit are counted too.
    pub found: u64,
    /// The best of them: by score, the highest first, and by name where scores are equal.
    pub hits: Vec<SearchHit>,
}

/// A skill that has a word of the query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchHit {
    /// From 1.
    pub rank: u64,
    /// The id of the skill.
    pub id: String,
    /// Its name, which decides between equal scores.
    pub name: String,
    /// Its folder, relative to the project root where it lies below it.
    pub path: String,
    /// Above 0, with 6 decimals; to be compared with scores of the same query only.
    pub score: f64,
    /// The words of the query that the skill has, in the order of the query.
    pub matches: Vec<SearchMatch>,
}

/// A word of the query that a skill has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchMatch {
    /// As it stands in the query, in lower case.
    pub word: String,
    /// The stem that was looked for.
    pub term: String,
    /// What it adds to the score, with 6 decimals.
    pub score: f64,
}
