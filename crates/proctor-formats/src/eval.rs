//! Skill evals on disk: where skills and their cases lie, what a case file may say, and what is
//! hashed of them.
//!
//! [`find`] lists the skills of a project, [`load_skill`] reads the cases of one of them with every
//! mistake at once, and [`skill_digest`] and its kin say whether anything changed. The layout, the
//! rules and the digests are those of ai-rulez, whose trees are read as they are.

mod assertion;
mod bundle;
mod case_file;
mod description;
mod digest;
mod front_matter;
pub mod import;
mod inspect;
mod layout;
mod lint;
mod llm_settings;
mod load;
mod paths;
mod schema;
mod settings;
mod skill_card;
mod walk;

pub use bundle::{Bundle, BundleError, Drift, MANIFEST, SIDECAR, Verified, verify_bundle};
pub use case_file::check_case_file;
pub(crate) use case_file::{read_rubric, score as read_score};
pub use description::{DescriptionError, MAX_DESCRIPTION_BYTES, candidate, copy_with_description};
pub use digest::{DigestError, cases_digest, lock_digest, set_digest, skill_digest};
pub use front_matter::FrontMatter;
pub use inspect::{Inspected, inspect, inspect_skill};
pub use layout::{FindError, Layout, Project, Skill, find};
pub use lint::{Evidence, Recorded, lint};
pub use llm_settings::llm_settings;
pub use load::{LoadedSkill, load_skill};
pub use schema::case_schema;
pub use settings::{EstimateSettings, EvalSettings, PluginSettings};
pub use skill_card::SkillCard;

/// The longest case file, prompt file, fixture or checked file: 1 MiB.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The folder of cases inside a skill, and beside the skills inside the configuration folder.
pub const EVALS_NAME: &str = "evals";

/// The file that makes a folder a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The endings of case files; letter case does not count.
pub const CASE_FILE_SUFFIXES: [&str; 3] = [".eval.yaml", ".eval.yml", ".eval.json"];

/// The name without the ending of a case file; `None` when it has another.
fn case_file_stem(name: &str) -> Option<&str> {
    CASE_FILE_SUFFIXES.into_iter().find_map(|suffix| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(suffix.len())?)?;
        end.eq_ignore_ascii_case(suffix).then_some(stem)
    })
}

/// The first character of a text that shows nothing or reorders what stands around it, and has no
/// business where it stands: joiners within emoji, for example, have.
pub fn hidden_character(text: &str) -> Option<char> {
    import::hidden(text).map(|(_, character)| character)
}
