//! Values that know where they stand in their file, and strict readers over them.
//!
//! A front end turns text into a [`Node`]: [`json()`], [`yaml()`], [`toml()`]. Readers ([`Object`],
//! [`text`], [`list`] and their kin) then take typed values out of it and push whatever is wrong
//! to [`Problems`], each mistake with its place, its field path, what was expected and what was
//! found.
//!
//! The JSON parser is our own: `jsonc-parser`, the nearest library with places, takes raw control
//! characters inside strings and any Unicode white space between values even with all its
//! extensions off, reports no duplicate keys and has a fixed depth limit; `serde_json` gives no
//! places for values. Ours is held against `serde_json` by property tests.

mod json;
mod problems;
mod read;
mod toml;
mod yaml;

use proctor_model::Location;

pub(crate) use json::too_long;
pub use json::{MAX_BYTES, MAX_DEPTH, MAX_VALUES, json, json_first};
pub use problems::{MAX_LISTED, Problems};
pub use read::{
    Field, Object, boolean, choice, list, non_blank, positive_number, text, whole_number,
};
pub use toml::toml;
pub use yaml::{yaml, yaml_first};

/// A value and the place of its first character.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it starts.
    pub location: Location,
    /// What it is.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written, in the spelling of JSON: no reader is forced through a float.
    /// YAML has three more, `.inf`, `-.inf` and `.nan`.
    Number(String),
    /// A string with its escapes resolved.
    String(String),
    /// A list.
    Array(Vec<Node>),
    /// Members in file order, duplicates included; readers see the first of equals.
    Object(Vec<Member>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The key with its escapes resolved.
    pub key: String,
    /// Where the key starts.
    pub key_location: Location,
    /// The value.
    pub value: Node,
}
