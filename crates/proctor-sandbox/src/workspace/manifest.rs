//! What a tree consists of.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};

use proctor_model::Digest;

use super::layer::is_opaque;
use super::walk::{Entry, Kind, Next, walk};

/// Folders in one another beyond which nothing is looked at.
const DEEPEST: usize = 500;

/// How much of a tree is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Entries that are listed at all.
    pub entries: u64,
    /// Bytes of a single file; the digest of a longer one is not known.
    pub file: u64,
    /// Bytes of all files together; beyond them, digests are not known.
    pub total: u64,
}

impl Default for ReadLimits {
    /// A million entries, 4 GiB a file, 16 GiB in all.
    fn default() -> Self {
        Self { entries: 1_000_000, file: 4 << 30, total: 16 << 30 }
    }
}

/// One entry of a [`Manifest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File {
        /// Permission, set-ID and sticky bits.
        mode: u32,
        /// Bytes.
        size: u64,
        /// Of its content; `None` beyond [`ReadLimits`].
        digest: Option<Digest>,
    },
    /// A folder.
    Folder(Folder),
    /// A symbolic link.
    Link {
        /// Where it leads, as written.
        target: Vec<u8>,
    },
    /// What is never opened.
    Special {
        /// `fifo`, `socket`, `block_device` or `char_device`.
        what: &'static str,
        /// Permission, set-ID and sticky bits.
        mode: u32,
    },
}

/// A folder with everything in it. Copies share what is the same in them.
#[derive(Debug, Clone, Default)]
pub struct Folder(Arc<Content>);

/// What is in a folder, by name.
type Entries = BTreeMap<Vec<u8>, Node>;

#[derive(Debug, Clone, Default)]
struct Content {
    mode: u32,
    entries: Entries,
    /// Of all entries; forgotten when one changes.
    digest: OnceLock<Digest>,
}

impl PartialEq for Folder {
    fn eq(&self, other: &Self) -> bool {
        self.is(other) || (self.mode() == other.mode() && self.0.entries == other.0.entries)
    }
}

impl Eq for Folder {}

impl Folder {
    fn empty(mode: u32) -> Self {
        Self(Arc::new(Content { mode, ..Content::default() }))
    }

    /// Permission, set-ID and sticky bits.
    pub fn mode(&self) -> u32 {
        self.0.mode
    }

    /// What is in it, in the byte order of the names.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &Node)> {
        self.0.entries.iter().map(|(name, node)| (name.as_slice(), node))
    }

    /// Whether both are one and the same, which costs nothing to know.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// One digest for everything in it: SHA-256 over one record an entry, in the byte order of the
    /// names. A record is kind, mode in octal, the length of the name, the name, for a file its
    /// size and digest, for a folder its digest, for a link the length of its target and the
    /// target, parted by spaces and ended by a line feed.
    fn digest(&self) -> Digest {
        *self.0.digest.get_or_init(|| {
            let mut records = Vec::with_capacity(self.0.entries.len() * 128);
            for (name, node) in &self.0.entries {
                node.record(name, &mut records);
            }
            Digest::of(&records)
        })
    }

    fn count(&self) -> usize {
        self.0.entries.values().map(Node::count).sum()
    }

    /// The entries, to be changed.
    fn change(&mut self) -> &mut Entries {
        let content = Arc::make_mut(&mut self.0);
        content.digest = OnceLock::new();
        &mut content.entries
    }
}

impl Node {
    fn record(&self, name: &[u8], records: &mut Vec<u8>) {
        let (kind, mode) = match self {
            Self::File { mode, .. } => ("file", *mode),
            Self::Folder(folder) => ("folder", folder.mode()),
            Self::Link { .. } => ("link", 0),
            Self::Special { what, mode } => (*what, *mode),
        };
        // Writing into memory cannot fail.
        let _ = write!(records, "{kind} {mode:o} {} ", name.len());
        records.extend_from_slice(name);
        let _ = match self {
            Self::File { size, digest: Some(digest), .. } => write!(records, " {size} {digest}"),
            Self::File { size, digest: None, .. } => write!(records, " {size} unread"),
            Self::Folder(folder) => write!(records, " {}", folder.digest()),
            Self::Link { target } => {
                let written = write!(records, " {} ", target.len());
                records.extend_from_slice(target);
                written
            }
            Self::Special { .. } => Ok(()),
        };
        records.push(b'\n');
    }

    /// Itself and everything in it.
    fn count(&self) -> usize {
        match self {
            Self::Folder(folder) => 1 + folder.count(),
            _ => 1,
        }
    }
}

/// A whole tree: what is where, with which mode and content. The mode of its root, owners, times
/// and hard links are no part of it.
#[derive(Debug, Clone, Default)]
pub struct Manifest {
    root: Folder,
    count: usize,
    /// Entries and folders that were left out.
    pub(super) omitted: u64,
}

impl PartialEq for Manifest {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root && self.omitted == other.omitted
    }
}

impl Eq for Manifest {}

/// By what a file is known again without being read: nobody but root can set a time of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(super) fn of(entry: &Entry<'_>) -> Self {
        let stat = &entry.stat;
        Self {
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// The digests of files that need not be read again.
pub(super) type Known = BTreeMap<Vec<u8>, (Stamp, Option<Digest>)>;

impl Manifest {
    /// Of everything below a folder.
    pub(super) fn of_tree(root: impl AsFd, limits: &ReadLimits, known: &Known) -> io::Result<Self> {
        let mut manifest = Self::default();
        manifest.read(root, limits, known, Layer::Whole)?;
        Ok(manifest)
    }

    /// Of what an overlay of `upper` over this tree shows (`overlayfs.rst`): an entry of the upper
    /// folder hides what is below it, folders are merged unless the upper one is opaque, and a
    /// character device 0/0 stands for nothing. Costs as much as there is in the upper folder.
    pub(super) fn overlaid(
        &self,
        upper: impl AsFd,
        limits: &ReadLimits,
        known: &Known,
    ) -> io::Result<Self> {
        let mut manifest = self.clone();
        manifest.read(upper, limits, known, Layer::Upper)?;
        Ok(manifest)
    }

    fn read(
        &mut self,
        root: impl AsFd,
        limits: &ReadLimits,
        known: &Known,
        layer: Layer,
    ) -> io::Result<()> {
        let mut reader = Reader { left: limits.total, file: limits.file, seen: BTreeMap::new() };
        let skipped = walk(root.as_fd(), &mut |entry| {
            if entry.path.split(|byte| *byte == b'/').count() > DEEPEST {
                self.omitted += 1;
                return Ok(Next::Pass);
            }
            if layer == Layer::Upper
                && entry.kind() == Kind::Folder
                && let Some(Node::Folder(below)) = self.get(entry.path)
                && !is_opaque(entry)?
            {
                if below.mode() != entry.mode() {
                    let mut folder = below.clone();
                    Arc::make_mut(&mut folder.0).mode = entry.mode();
                    self.put(entry.path, Node::Folder(folder));
                }
                return Ok(Next::Enter);
            }
            let node = reader.node(entry, known, layer)?;
            if layer == Layer::Upper {
                self.remove(entry.path);
            }
            if let Some(node) = node {
                if self.count as u64 >= limits.entries {
                    self.omitted += 1;
                    return Ok(Next::Pass);
                }
                self.count += 1;
                self.put(entry.path, node);
            }
            Ok(Next::Enter)
        })?;
        self.omitted += skipped.deep + skipped.closed;
        Ok(())
    }

    /// The entries of the folder of `path`, to be changed, and the name in it. `None` when there is
    /// no such folder.
    fn place<'p>(&mut self, path: &'p [u8]) -> Option<(&mut Entries, &'p [u8])> {
        let mut entries = self.root.change();
        let mut names = path.split(|byte| *byte == b'/').peekable();
        loop {
            let name = names.next()?;
            if names.peek().is_none() {
                return Some((entries, name));
            }
            let Some(Node::Folder(folder)) = entries.get_mut(name) else { return None };
            entries = folder.change();
        }
    }

    fn put(&mut self, path: &[u8], node: Node) {
        if let Some((entries, name)) = self.place(path) {
            entries.insert(name.to_vec(), node);
        }
    }

    fn remove(&mut self, path: &[u8]) {
        if self.get(path).is_none() {
            return;
        }
        let removed = self.place(path).and_then(|(entries, name)| entries.remove(name));
        self.count -= removed.map_or(0, |node| node.count());
    }

    /// The root.
    pub(super) fn folder(&self) -> &Folder {
        &self.root
    }

    /// Everything that it holds: folders before what is in them, names in their byte order.
    pub fn iter(&self) -> impl Iterator<Item = (Vec<u8>, &Node)> {
        let mut left = children(b"", &self.root);
        std::iter::from_fn(move || {
            let (path, node) = left.pop()?;
            if let Node::Folder(folder) = node {
                left.extend(children(&path, folder));
            }
            Some((path, node))
        })
    }

    /// What is at a path.
    pub fn get(&self, path: &[u8]) -> Option<&Node> {
        let mut folder = &self.root;
        let mut names = path.split(|byte| *byte == b'/').peekable();
        loop {
            let node = folder.0.entries.get(names.next()?)?;
            match node {
                _ if names.peek().is_none() => return Some(node),
                Node::Folder(below) => folder = below,
                _ => return None,
            }
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One digest for the whole tree, which is the same exactly when the trees are. It is that of
    /// the root: SHA-256 over one record an entry, in the byte order of the names. A record is
    /// kind, mode in octal, the length of the name, the name, for a file its size and digest, for
    /// a folder its digest, for a link the length of its target and the target, parted by spaces
    /// and ended by a line feed.
    pub fn root(&self) -> Digest {
        self.root.digest()
    }
}

/// What is in a folder, the last name first.
fn children<'f>(path: &[u8], folder: &'f Folder) -> Vec<(Vec<u8>, &'f Node)> {
    let entries = folder.0.entries.iter().rev();
    entries.map(|(name, node)| (join(path, name), node)).collect()
}

pub(super) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Whole,
    Upper,
}

struct Reader {
    /// Bytes that may still be read.
    left: u64,
    file: u64,
    /// Files with more than one name, so that each is read once.
    seen: BTreeMap<(u64, u64), Option<Digest>>,
}

impl Reader {
    fn node(&mut self, entry: &Entry<'_>, known: &Known, layer: Layer) -> io::Result<Option<Node>> {
        let mode = entry.mode();
        let special = |what| Some(Node::Special { what, mode });
        Ok(match entry.kind() {
            Kind::Folder => Some(Node::Folder(Folder::empty(mode))),
            Kind::Link => Some(Node::Link { target: entry.link_target()? }),
            Kind::Whiteout if layer == Layer::Upper => None,
            Kind::Whiteout | Kind::CharDevice => special("char_device"),
            Kind::Fifo => special("fifo"),
            Kind::Socket => special("socket"),
            Kind::BlockDevice => special("block_device"),
            Kind::File => {
                let size = u64::try_from(entry.stat.st_size).unwrap_or(0);
                let digest = match known.get(entry.path) {
                    Some((stamp, digest)) if *stamp == Stamp::of(entry) => *digest,
                    _ => self.digest(entry, size)?,
                };
                Some(Node::File { mode, size, digest })
            }
        })
    }

    fn digest(&mut self, entry: &Entry<'_>, size: u64) -> io::Result<Option<Digest>> {
        let identity = (entry.stat.st_dev, entry.stat.st_ino);
        if entry.stat.st_nlink > 1
            && let Some(digest) = self.seen.get(&identity)
        {
            return Ok(*digest);
        }
        let digest = if size > self.file.min(self.left) { None } else { self.read(entry, size)? };
        if entry.stat.st_nlink > 1 {
            self.seen.insert(identity, digest);
        }
        Ok(digest)
    }

    /// `None` when it may not be read.
    fn read(&mut self, entry: &Entry<'_>, size: u64) -> io::Result<Option<Digest>> {
        let Ok(file) = entry.open_file() else { return Ok(None) };
        let mut file = File::from(file).take(size);
        let mut stream = Digest::stream();
        let mut buffer = vec![0; 128 << 10];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => stream.update(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.left -= size;
        Ok(Some(stream.finish()))
    }
}
