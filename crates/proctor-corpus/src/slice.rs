//! The part of a corpus that one selection installs.

use std::collections::BTreeMap;
use std::sync::Arc;

use proctor_model::Digest;

use crate::corpus::Content;
use crate::corpus::McpServer;
use crate::links::{self, Harness, Instructions, Integration};
use crate::selection::Selection;

/// What one selection installs: files with their final bytes, links, MCP servers. Made by
/// [`Corpus::slice`](crate::Corpus::slice); contents are shared between slices and installations.
#[derive(Debug, Clone)]
pub struct Slice {
    selection: Selection,
    revision: String,
    files: Arc<[SliceFile]>,
    harnesses: Vec<Harness>,
    harness_ids: Vec<String>,
    mcp_servers: Vec<McpServer>,
    notes: Vec<String>,
}

/// A file as it is installed.
#[derive(Debug, Clone)]
pub struct SliceFile {
    destination: String,
    content: Content,
}

impl SliceFile {
    pub(crate) fn new(destination: &str, content: Content) -> Self {
        Self { destination: destination.to_owned(), content }
    }

    /// Where it goes, relative to `.cratis/ai`; also the path that it has in the corpus.
    pub fn destination(&self) -> &str {
        &self.destination
    }

    /// What is written, with the managed marker.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.content.bytes
    }

    /// The digest of [`SliceFile::bytes`].
    pub fn digest(&self) -> Digest {
        self.content.digest
    }

    /// Whether everybody who can read it may run it.
    pub fn executable(&self) -> bool {
        self.content.executable
    }
}

impl Slice {
    pub(crate) fn new(
        selection: Selection,
        revision: String,
        files: Vec<SliceFile>,
        harnesses: Vec<Harness>,
        harness_ids: Vec<String>,
        mcp_servers: Vec<McpServer>,
        notes: Vec<String>,
    ) -> Self {
        let files = files.into();
        Self { selection, revision, files, harnesses, harness_ids, mcp_servers, notes }
    }

    /// What was selected, as it was written.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The revision of the corpus.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The files in byte order of their destination.
    pub fn files(&self) -> &[SliceFile] {
        &self.files
    }

    /// The links, by path, as a project without instructions of its own gets them.
    pub fn integrations(&self) -> BTreeMap<String, Integration> {
        self.links(Instructions::General)
    }

    /// What the user should know about the selection.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    pub(crate) fn links(&self, instructions: Instructions) -> BTreeMap<String, Integration> {
        let files: Vec<_> = self.files.iter().map(SliceFile::destination).collect();
        links::plan(&self.harnesses, &files, instructions)
    }

    /// Harness ids as the corpus spells them, each once.
    pub(crate) fn harness_ids(&self) -> &[String] {
        &self.harness_ids
    }

    /// The MCP servers that the selected profiles bring.
    pub(crate) fn mcp_servers(&self) -> &[McpServer] {
        &self.mcp_servers
    }

    pub(crate) fn has_file(&self, destination: &str) -> bool {
        self.files.binary_search_by(|file| file.destination.as_str().cmp(destination)).is_ok()
    }
}
