//! What an agent did to the files of its workspace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The difference between the workspace that the agent was given and the one that it left.
///
/// Paths are relative to the workspace, with `/` between names; folders stand before what is in
/// them, and names in their byte order. What is not UTF-8 in a name is shown as U+FFFD, and
/// `raw_paths` then has the bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsDiff {
    /// `sha256:` and the digest over the whole tree before.
    pub before_root: String,
    /// The same after. Equal roots mean equal trees.
    pub after_root: String,
    /// What was not there before. Everything below a new folder is listed too.
    pub added: Vec<Added>,
    /// What is there before and after, and is not the same.
    pub changed: Vec<Changed>,
    /// What is no longer there. Everything below a folder that went is listed too.
    pub deleted: Vec<Deleted>,
    /// What the lists would have held beyond their limits.
    #[serde(default, skip_serializing_if = "Omitted::is_nothing")]
    pub omitted: Omitted,
    /// For a path of the lists that is not valid UTF-8: its bytes in hexadecimal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub raw_paths: BTreeMap<String, String>,
}

impl FsDiff {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.before_root == self.after_root
    }
}

/// What an entry of a tree is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NodeState {
    /// A regular file.
    File {
        /// Permission bits in octal, as `0644`.
        mode: String,
        /// Bytes.
        size: u64,
        /// `sha256:` and the digest; `None` when the file was beyond the limits of reading.
        digest: Option<String>,
    },
    /// A folder.
    Folder {
        /// Permission bits in octal.
        mode: String,
    },
    /// A symbolic link; it is never followed.
    Link {
        /// Where it leads, as written.
        target: String,
    },
    /// A named pipe, socket or device; it is never opened.
    Special {
        /// `fifo`, `socket`, `block_device` or `char_device`.
        what: String,
        /// Permission bits in octal.
        mode: String,
    },
}

/// An entry that is new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// Where.
    pub path: String,
    /// What it is.
    pub after: NodeState,
    /// Its content.
    pub patch: Patch,
}

/// An entry that is another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// Where.
    pub path: String,
    /// What it was.
    pub before: NodeState,
    /// What it is.
    pub after: NodeState,
    /// How its content differs.
    pub patch: Patch,
}

/// An entry that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Where.
    pub path: String,
    /// What it was.
    pub before: NodeState,
}

/// How the content of an entry differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Patch {
    /// There is no content, or it is the same.
    None,
    /// A unified diff with three lines of context, without its two header lines.
    Text {
        /// The diff.
        diff: String,
    },
    /// A side is not UTF-8 text: the digests and sizes say all.
    Binary,
    /// A side is longer than patches are made of, or the budget of all patches was used up.
    TooLarge,
    /// The content before was not kept.
    Unknown,
}

/// How much was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Omitted {
    /// Entries that are in none of the lists.
    pub entries: u64,
    /// Patches that the budget did not allow.
    pub patches: u64,
    /// Files of the lists whose content was not read, so that their digest is unknown.
    pub unread: u64,
}

impl Omitted {
    /// Whether nothing was left out.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}
