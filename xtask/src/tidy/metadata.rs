//! The part of `cargo metadata` that the rules look at.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::Result;
use crate::sh::{Run, cargo};

#[derive(Debug, Deserialize)]
pub(super) struct Metadata {
    pub(super) packages: Vec<Package>,
    pub(super) workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    pub(super) dependencies: Vec<Dependency>,
}

/// A dependency as a manifest declares it.
#[derive(Debug, Deserialize)]
pub(super) struct Dependency {
    pub(super) name: String,
    /// `None` for a normal one, else `dev` or `build`.
    pub(super) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

impl Metadata {
    pub(super) fn read() -> Result<Self> {
        let text = cargo(["metadata", "--format-version", "1", "--locked"]).read()?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The packages of this workspace.
    pub(super) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Every package that the package `name` needs to be built and run, and who asks for it.
    pub(super) fn shipped_with(&self, name: &str) -> BTreeMap<&str, &str> {
        let nodes: BTreeMap<_, _> =
            self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let names: BTreeMap<_, _> = self
            .packages
            .iter()
            .map(|package| (package.id.as_str(), package.name.as_str()))
            .collect();
        let mut asked_by = BTreeMap::new();
        let start = self.members().find(|package| package.name == name);
        let mut left: Vec<&str> = start.map(|package| package.id.as_str()).into_iter().collect();
        while let Some(id) = left.pop() {
            for edge in nodes.get(id).map_or(&[][..], |node| &node.deps) {
                let needed = edge.dep_kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"));
                let (Some(to), Some(from)) = (names.get(edge.pkg.as_str()), names.get(id)) else {
                    continue;
                };
                if needed && !asked_by.contains_key(to) {
                    asked_by.insert(*to, *from);
                    left.push(&edge.pkg);
                }
            }
        }
        asked_by
    }
}
