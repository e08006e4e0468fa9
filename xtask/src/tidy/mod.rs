//! Rules of this repository that no compiler checks.

mod layers;
mod licences;
mod metadata;
mod sources;

use serde::Deserialize;

use self::metadata::Metadata;
use crate::Result;
use crate::sh::{root, say};

/// Checks everything and reports every breach at once.
pub(crate) fn run() -> Result {
    let metadata = Metadata::read()?;
    let policy = Policy::read()?;
    let mut breaches = Vec::new();
    layers::check(&metadata, &mut breaches);
    licences::check(&metadata, &policy, &mut breaches);
    sources::check(&mut breaches)?;
    if breaches.is_empty() {
        say("tidy");
        return Ok(());
    }
    Err(format!("{} breaches of this repository's rules\n{}", breaches.len(), breaches.join("\n"))
        .into())
}

/// The parts of `deny.toml` that are checked here too, since `cargo deny` may be missing.
#[derive(Debug, Deserialize)]
struct Policy {
    licenses: Licences,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

impl Policy {
    fn read() -> Result<Self> {
        Ok(toml::from_str(&fs_err::read_to_string(root().join("deny.toml"))?)?)
    }
}
