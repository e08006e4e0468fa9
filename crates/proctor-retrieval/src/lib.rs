//! Which skill the words of a prompt point at.
//!
//! A BM25 over the weighted fields of [`Document`]s: no model, no network, and the same answer on
//! every machine. The formula, its constants and the rules of the tokeniser are those of ai-rulez,
//! so that figures can be compared.

mod index;
mod token;

pub use index::{Hit, Index, Match, Top};
pub use token::tokens;

/// What is ranked: the searched fields of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Whose fields they are. It is handed back and not searched.
    pub id: String,
    /// The name, weight 3. It also decides between equal scores.
    pub name: String,
    /// What the skill says it is for, weight 1.
    pub description: String,
    /// Phrases that should lead to it, weight 2.5.
    pub triggers: Vec<String>,
    /// Words that it goes by, weight 2.
    pub keywords: Vec<String>,
}
