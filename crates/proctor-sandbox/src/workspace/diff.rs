//! What differs between two trees.

use std::cmp::Ordering;

use proctor_model::Digest;
use proctor_model::fs_diff::{Added, Changed, Deleted, FsDiff, NodeState, Omitted, Patch};

use super::baseline::DiffLimits;
use super::manifest::{Folder, Manifest, Node, join};
use super::patch::{patch, text};

/// The content of a file with this path and digest, if it is still to be had.
pub(super) type Content<'a> = &'a dyn Fn(&[u8], Digest) -> Option<Vec<u8>>;

/// Compares two trees entry by entry, but for folders that are the same.
pub(super) fn compare(
    before: &Manifest,
    after: &Manifest,
    old: Content<'_>,
    new: Content<'_>,
    limits: &DiffLimits,
) -> FsDiff {
    let mut comparison = Comparison {
        diff: FsDiff {
            before_root: shown(before.root()),
            after_root: shown(after.root()),
            omitted: Omitted { entries: before.omitted + after.omitted, ..Omitted::default() },
            ..FsDiff::default()
        },
        left: limits.entries,
        largest: limits.patch_file,
        budget: limits.patches,
        old,
        new,
    };
    comparison.folders(b"", before.folder(), after.folder());
    comparison.diff
}

struct Comparison<'a> {
    diff: FsDiff,
    /// Entries that the lists may still take.
    left: usize,
    largest: u64,
    budget: usize,
    old: Content<'a>,
    new: Content<'a>,
}

impl Comparison<'_> {
    /// What differs in two folders. As deep as a manifest is.
    fn folders(&mut self, path: &[u8], before: &Folder, after: &Folder) {
        if before.is(after) {
            return;
        }
        let (mut olds, mut news) = (before.entries().peekable(), after.entries().peekable());
        loop {
            let order = match (olds.peek(), news.peek()) {
                (None, None) => return,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            let old = if order.is_le() { olds.next() } else { None };
            let new = if order.is_ge() { news.next() } else { None };
            match (old, new) {
                (Some((name, old)), Some((_, new))) => self.both(&join(path, name), old, new),
                (Some((name, old)), None) => self.deleted(&join(path, name), old),
                (None, Some((name, new))) => self.added(&join(path, name), new),
                (None, None) => {}
            }
        }
    }

    fn both(&mut self, path: &[u8], old: &Node, new: &Node) {
        match (old, new) {
            (Node::Folder(before), Node::Folder(after)) => {
                if before.mode() != after.mode() {
                    self.changed(path, old, new);
                }
                self.folders(path, before, after);
            }
            _ if old == new => {}
            _ => {
                self.changed(path, old, new);
                let nothing = Folder::default();
                match (old, new) {
                    (Node::Folder(before), _) => self.folders(path, before, &nothing),
                    (_, Node::Folder(after)) => self.folders(path, &nothing, after),
                    _ => {}
                }
            }
        }
    }

    /// The path as it is shown, when there is room for another entry.
    fn path(&mut self, path: &[u8]) -> Option<String> {
        let Some(left) = self.left.checked_sub(1) else {
            self.diff.omitted.entries += 1;
            return None;
        };
        self.left = left;
        let shown = String::from_utf8_lossy(path).into_owned();
        if shown.as_bytes() != path {
            self.diff.raw_paths.insert(shown.clone(), hexadecimal(path));
        }
        Some(shown)
    }

    fn added(&mut self, path: &[u8], node: &Node) {
        self.add(path, node);
        if let Node::Folder(folder) = node {
            self.folders(path, &Folder::default(), folder);
        }
    }

    fn add(&mut self, path: &[u8], node: &Node) {
        let Some(shown) = self.path(path) else { return };
        let patch = match node {
            Node::File { size, digest, .. } => {
                self.patch(path, &Side::NOTHING, &Side { size: *size, digest: *digest })
            }
            _ => Patch::None,
        };
        self.diff.added.push(Added { path: shown, after: state(node), patch });
    }

    fn changed(&mut self, path: &[u8], before: &Node, after: &Node) {
        let Some(shown) = self.path(path) else { return };
        let patch = match (before, after) {
            (
                Node::File { size: old_size, digest: old_digest, .. },
                Node::File { size, digest, .. },
            ) => {
                let old = Side { size: *old_size, digest: *old_digest };
                self.patch(path, &old, &Side { size: *size, digest: *digest })
            }
            (_, Node::File { size, digest, .. }) => {
                self.patch(path, &Side::NOTHING, &Side { size: *size, digest: *digest })
            }
            _ => Patch::None,
        };
        let (before, after) = (state(before), state(after));
        self.diff.changed.push(Changed { path: shown, before, after, patch });
    }

    fn deleted(&mut self, path: &[u8], node: &Node) {
        if let Some(shown) = self.path(path) {
            self.diff.deleted.push(Deleted { path: shown, before: state(node) });
        }
        if let Node::Folder(folder) = node {
            self.folders(path, folder, &Folder::default());
        }
    }

    fn patch(&mut self, path: &[u8], before: &Side, after: &Side) -> Patch {
        if before.size == after.size && before.digest == after.digest {
            // Of files that were not read nobody knows.
            return if after.digest.is_some() { Patch::None } else { Patch::Unknown };
        }
        if before.size.max(after.size) > self.largest {
            self.diff.omitted.patches += 1;
            return Patch::TooLarge;
        }
        if after.digest.is_none() && after.size > 0 {
            self.diff.omitted.unread += 1;
        }
        let Some(new) = after.read(path, self.new) else { return Patch::Unknown };
        // Then what was before need not be read.
        let Some(new) = text(&new) else { return Patch::Binary };
        let Some(old) = before.read(path, self.old) else { return Patch::Unknown };
        let Some(old) = text(&old) else { return Patch::Binary };
        let patch = patch(old, new, &mut self.budget);
        if patch == Patch::TooLarge {
            self.diff.omitted.patches += 1;
        }
        patch
    }
}

/// One side of a patch.
struct Side {
    size: u64,
    digest: Option<Digest>,
}

impl Side {
    const NOTHING: Self = Self { size: 0, digest: None };

    fn read(&self, path: &[u8], content: Content<'_>) -> Option<Vec<u8>> {
        match self.digest {
            Some(digest) => content(path, digest),
            None => (self.size == 0).then(Vec::new),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('?');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn shown(digest: Digest) -> String {
    format!("sha256:{digest}")
}

fn state(node: &Node) -> NodeState {
    let octal = |mode: &u32| format!("{mode:04o}");
    match node {
        Node::File { mode, size, digest } => {
            NodeState::File { mode: octal(mode), size: *size, digest: digest.map(shown) }
        }
        Node::Folder(folder) => NodeState::Folder { mode: octal(&folder.mode()) },
        Node::Link { target } => {
            NodeState::Link { target: String::from_utf8_lossy(target).into_owned() }
        }
        Node::Special { what, mode } => {
            NodeState::Special { what: (*what).to_owned(), mode: octal(mode) }
        }
    }
}
