//! Snapshots in one file, for tests that are run again another day.
//!
//! The file is a tar archive in zstd, as GNU tar writes it with `--xattrs`: whiteouts are character
//! devices 0/0, opaque folders carry their attribute. The first entry says over which base the layer
//! belongs; then follow the folders `workspace` and, when setups have installed something there,
//! `usr-local`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::sys::stat::{SFlag, fstat};
use proctor_model::Layering;
use tar::{Archive, EntryType, Header};

use super::base::{Base, Origin, Snapshot};
use super::build::{Builder, Meta, make_folder};
use super::layer::is_opaque;
use super::system;
use super::walk::{Entry, Kind, LONGEST_PATH, Next, open_root, walk};
use super::{WorkspaceError, failed};
use crate::rooms::Room;

/// The most bytes of all files together: as many as a trial may write to the disk. A file with holes
/// takes none there, and would be read for ever.
const MOST: u64 = 16 << 30;
/// The fastest level: what agents write is small.
const LEVEL: i32 = 1;
const BASE: &str = "PROCTOR.base";
const LAYERING: &str = "PROCTOR.layering";
const MODIFIED: &str = "mtime";
const OPAQUE: &str = "SCHILY.xattr.user.overlay.opaque";
const ROOT: &str = "./";
const WORKSPACE: &str = "workspace";
const SYSTEM: &str = "usr-local";

impl Snapshot {
    /// Saves what the trial changed into a new file, and returns its size in bytes. The base is
    /// not in it. What another program can put in its place is never written through: the file
    /// must not exist.
    pub fn save(&self, file: &Path) -> Result<u64, WorkspaceError> {
        self.save_within(file, MOST)
    }

    fn save_within(&self, file: &Path, most: u64) -> Result<u64, WorkspaceError> {
        let base = self.origin.base().digest()?.to_string();
        let Origin::Base(_) = &self.origin else {
            // The state after tests is of no use to anybody.
            return Err(failed("save a fork in", file)(io::Error::from(
                io::ErrorKind::Unsupported,
            )));
        };
        let out = File::create_new(file).map_err(failed("write", file))?;
        let save = || -> io::Result<u64> {
            let mut encoder = zstd::Encoder::new(BufWriter::new(out), LEVEL)?;
            encoder.include_checksum(true)?;
            let tar = tar::Builder::new(encoder);
            let mut pack = Pack { tar, seen: BTreeMap::new(), left: most };
            pack.about(&base, self.layering)?;
            pack.tree(WORKSPACE, &self.top)?;
            if let Some(system) = self.system.first() {
                pack.tree(SYSTEM, system)?;
            }
            let out = pack.tar.into_inner()?.finish()?.into_inner().map_err(io::Error::from)?;
            out.sync_all()?;
            Ok(out.metadata()?.len())
        };
        save().map_err(|error| {
            // Half of it must not be taken for the whole.
            let _ = std::fs::remove_file(file);
            failed("write", file)(error)
        })
    }

    /// Reads what [`save`](Self::save) wrote, over the same base, into a room.
    pub fn load(base: &Arc<Base>, file: &Path, room: Room) -> Result<Arc<Self>, WorkspaceError> {
        let damaged = |reason: String| WorkspaceError::Damaged { path: file.into(), reason };
        let opened = File::open(file).map_err(failed("open", file))?;
        let decoder = zstd::Decoder::new(BufReader::new(opened)).map_err(failed("read", file))?;
        let mut archive = Archive::new(decoder);
        let mut entries = archive.entries().map_err(|error| damaged(error.to_string()))?;
        let first = entries.next().ok_or_else(|| damaged("it is empty".into()))?;
        let mut first = first.map_err(|error| damaged(error.to_string()))?;
        let about = About::of(&mut first).map_err(|error| damaged(error.to_string()))?;
        if first.path_bytes().as_ref() != ROOT.as_bytes() {
            return Err(damaged("its first entry is another".into()));
        }
        if about.base.as_deref() != Some(base.digest()?.to_string().as_str()) {
            return Err(WorkspaceError::OtherBase { path: file.into() });
        }
        let layering = match about.layering.as_deref() {
            Some("overlay") => Layering::Overlay,
            Some("copy") => Layering::Copy,
            _ => return Err(damaged("it does not say how it was made".into())),
        };
        drop(first);
        let to = PathBuf::from(room.workspace());
        let system = system::upper(&room);
        let unpack = || -> io::Result<bool> {
            let (workspace, system) = (make_folder(&to)?, make_folder(&system)?);
            let mut workspace = (Builder::new(workspace.as_fd()), None);
            let mut system = (Builder::new(system.as_fd()), None);
            for entry in entries {
                unpack(&mut workspace, &mut system, entry?)?;
            }
            let with_system = system.1.is_some();
            for (builder, meta) in [workspace, system] {
                builder.finish(meta)?;
            }
            Ok(with_system)
        };
        let with_system = unpack().map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                damaged(error.to_string())
            }
            _ => failed("unpack into", &to)(error),
        })?;
        let system = if with_system { vec![system] } else { Vec::new() };
        Ok(Self::new(Origin::Base(Arc::clone(base)), to, layering, system, room))
    }
}

struct Pack<W: Write> {
    tar: tar::Builder<W>,
    /// Files with more than one name.
    seen: BTreeMap<(u64, u64), Vec<u8>>,
    /// Bytes of files that may still come.
    left: u64,
}

impl<W: Write> Pack<W> {
    fn about(&mut self, base: &str, layering: Layering) -> io::Result<()> {
        let layering = match layering {
            Layering::Overlay => "overlay",
            Layering::Copy => "copy",
        };
        let about = [(BASE, base.as_bytes()), (LAYERING, layering.as_bytes())];
        self.tar.append_pax_extensions(about)?;
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Directory);
        header.set_mode(0o755);
        header.set_size(0);
        self.tar.append_data(&mut header, ROOT, io::empty())
    }

    /// Everything below a folder, and the folder, under a name.
    fn tree(&mut self, name: &str, folder: &Path) -> io::Result<()> {
        let root = open_root(folder)?;
        let path = name.as_bytes();
        let entry = Entry { folder: root.as_fd(), name: c".", path, stat: fstat(&root)? };
        self.entry(&entry)?;
        self.seen.clear();
        walk(root.as_fd(), &mut |entry| {
            let path = [name.as_bytes(), b"/", entry.path].concat();
            self.entry(&Entry { path: &path, ..*entry })
        })?;
        Ok(())
    }

    fn entry(&mut self, entry: &Entry<'_>) -> io::Result<Next> {
        let path = Path::new(OsStr::from_bytes(entry.path));
        match entry.kind() {
            Kind::Folder => {
                let opaque = [(OPAQUE, b"y".as_slice())];
                let marks = if is_opaque(entry)? { &opaque[..] } else { &[] };
                let mut header = self.begin(entry, EntryType::Directory, marks)?;
                self.tar.append_data(&mut header, path, io::empty())?;
            }
            Kind::Link => {
                let mut header = self.begin(entry, EntryType::Symlink, &[])?;
                self.link_name(&entry.link_target()?)?;
                self.tar.append_data(&mut header, path, io::empty())?;
            }
            Kind::File => self.file(entry, path)?,
            // There is nothing in a socket that would outlive its process.
            Kind::Socket => {}
            Kind::Fifo => self.device(entry, path, EntryType::Fifo)?,
            Kind::BlockDevice => self.device(entry, path, EntryType::Block)?,
            Kind::Whiteout | Kind::CharDevice => self.device(entry, path, EntryType::Char)?,
        }
        Ok(Next::Enter)
    }

    fn file(&mut self, entry: &Entry<'_>, path: &Path) -> io::Result<()> {
        let identity = (entry.stat.st_dev, entry.stat.st_ino);
        if let Some(first) = self.seen.get(&identity).cloned() {
            let mut header = self.begin(entry, EntryType::Link, &[])?;
            self.link_name(&first)?;
            return self.tar.append_data(&mut header, path, io::empty());
        }
        if entry.stat.st_nlink > 1 {
            self.seen.insert(identity, entry.path.to_vec());
        }
        let file = File::from(entry.open_file()?);
        let size = file.metadata()?.len();
        self.left = self.left.checked_sub(size).ok_or_else(|| {
            let message = "its files have more bytes than a trial may write, holes among them";
            io::Error::new(io::ErrorKind::FileTooLarge, message)
        })?;
        let mut header = self.begin(entry, EntryType::Regular, &[])?;
        header.set_size(size);
        // No shorter and no longer than promised, whatever happens to it.
        self.tar.append_data(&mut header, path, file.chain(io::repeat(0)).take(size))
    }

    fn device(&mut self, entry: &Entry<'_>, path: &Path, kind: EntryType) -> io::Result<()> {
        let mut header = self.begin(entry, kind, &[])?;
        let device = entry.stat.st_rdev;
        let number = |part: u64| u32::try_from(part).unwrap_or(0);
        header.set_device_major(number(nix::sys::stat::major(device)))?;
        header.set_device_minor(number(nix::sys::stat::minor(device)))?;
        self.tar.append_data(&mut header, path, io::empty())
    }

    /// The header of an entry, after what does not fit into it.
    fn begin(
        &mut self,
        entry: &Entry<'_>,
        kind: EntryType,
        marks: &[(&str, &[u8])],
    ) -> io::Result<Header> {
        let meta = Meta::of(entry);
        let (seconds, part) = meta.modified;
        let time = format!("{seconds}.{part:09}");
        let records = [(MODIFIED, time.as_bytes())];
        self.tar.append_pax_extensions(records.into_iter().chain(marks.iter().copied()))?;
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(meta.mode);
        header.set_uid(meta.owner.into());
        header.set_gid(meta.group.into());
        header.set_mtime(u64::try_from(seconds).unwrap_or(0));
        header.set_size(0);
        Ok(header)
    }

    /// Where the next entry leads, byte by byte; in its header the library would tidy it up.
    fn link_name(&mut self, target: &[u8]) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_path("././@LongLink")?;
        header.set_entry_type(EntryType::GNULongLink);
        header.set_mode(0o644);
        header.set_size(target.len() as u64 + 1);
        header.set_cksum();
        self.tar.append(&header, target.chain(&b"\0"[..]))
    }
}

/// What stands before an entry.
#[derive(Default)]
struct About {
    base: Option<String>,
    layering: Option<String>,
    modified: Option<(i64, i64)>,
    opaque: bool,
}

impl About {
    fn of<R: Read>(entry: &mut tar::Entry<'_, R>) -> io::Result<Self> {
        let mut about = Self::default();
        for record in entry.pax_extensions()?.into_iter().flatten() {
            let record = record?;
            let value = || String::from_utf8_lossy(record.value_bytes()).into_owned();
            match record.key_bytes() {
                key if key == BASE.as_bytes() => about.base = Some(value()),
                key if key == LAYERING.as_bytes() => about.layering = Some(value()),
                key if key == MODIFIED.as_bytes() => about.modified = time(&value()),
                key if key == OPAQUE.as_bytes() => about.opaque = record.value_bytes() == b"y",
                _ => {}
            }
        }
        Ok(about)
    }

    fn meta(&self, header: &Header) -> io::Result<Meta> {
        let id = |id: u64| u32::try_from(id).map_err(|_| io::ErrorKind::InvalidData);
        let modified = match self.modified {
            Some(time) => time,
            None => (i64::try_from(header.mtime()?).unwrap_or(0), 0),
        };
        Ok(Meta {
            mode: header.mode()? & 0o7777,
            owner: id(header.uid()?)?,
            group: id(header.gid()?)?,
            modified,
        })
    }
}

/// Seconds and nanoseconds.
fn time(text: &str) -> Option<(i64, i64)> {
    let (seconds, part) = text.split_once('.').unwrap_or((text, "0"));
    let part = part.get(..9).unwrap_or(part);
    let nanoseconds = part.parse::<u32>().ok()?;
    (part.len() == 9 || part == "0").then_some(())?;
    Some((seconds.parse().ok()?, nanoseconds.into()))
}

/// A tree in the making, and what its root is to have.
type Root<'a> = (Builder<'a>, Option<Meta>);

fn unpack<'b, R: Read>(
    workspace: &mut Root<'b>,
    system: &mut Root<'b>,
    mut entry: tar::Entry<'_, R>,
) -> io::Result<()> {
    let about = About::of(&mut entry)?;
    let meta = about.meta(entry.header())?;
    let whole = entry.path_bytes().into_owned();
    let Some((root, path)) = inside(&whole) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let (builder, of_root) = if root == WORKSPACE { workspace } else { system };
    if path.is_empty() {
        *of_root = Some(meta);
        return Ok(());
    }
    if path.len() > LONGEST_PATH + 256 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let target = entry.link_name_bytes().map(Cow::into_owned).unwrap_or_default();
    match entry.header().entry_type() {
        EntryType::Directory => builder.folder(path, meta, about.opaque),
        EntryType::Symlink => builder.link(path, &target, meta),
        EntryType::Link => match inside(&target) {
            Some((same, first)) if same == root => builder.hard_link(path, first),
            _ => Err(io::ErrorKind::InvalidData.into()),
        },
        EntryType::Regular => {
            builder.file(path, meta, |file| io::copy(&mut entry, file).map(|_| ()))
        }
        EntryType::Fifo => builder.special(path, SFlag::S_IFIFO, 0, meta),
        // Devices with numbers are of no use where a workspace is mounted.
        EntryType::Char | EntryType::Block => {
            let number = |part: io::Result<Option<u32>>| part.map(Option::unwrap_or_default);
            let header = entry.header();
            match (number(header.device_major())?, number(header.device_minor())?) {
                (0, 0) => builder.special(path, SFlag::S_IFCHR, 0, meta),
                _ => Ok(()),
            }
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Which of the two folders a path belongs to, and where in it.
fn inside(path: &[u8]) -> Option<(&'static str, &[u8])> {
    [WORKSPACE, SYSTEM].into_iter().find_map(|name| {
        let rest = path.strip_prefix(name.as_bytes())?;
        match rest {
            [] => Some((name, rest)),
            [b'/', rest @ ..] => Some((name, rest)),
            _ => None,
        }
    })
}
