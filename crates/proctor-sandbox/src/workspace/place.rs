//! Files that Proctor puts into a workspace that an agent has had.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fchmod, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

use super::shut::{For, Lent, open_folder, set_mode};
use super::walk::{FOLDER, Kind, Next, open_beneath, open_root, walk};
use crate::remove::remove_tree_at;

/// Where what was in the way waits.
const ASIDE: &CStr = c".proctor-aside";

/// Why something could not be put into a workspace.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The destination is no path below the workspace.
    #[error("`{}` is no path below the workspace", dest.display())]
    Outside {
        /// The destination.
        dest: PathBuf,
    },
    /// The source is neither a file nor a folder of files, folders and links.
    #[error("cannot take `{}`: {reason}", source_path.display())]
    Source {
        /// The source.
        source_path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system refused something.
    #[error("cannot put `{}` into the workspace: {source}", dest.display())]
    Io {
        /// The destination.
        dest: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What was put into a workspace, to be taken out again.
#[derive(Debug, Default)]
pub struct Placed {
    /// What was made, in the order of making; a folder ends with a slash.
    made: Vec<Vec<u8>>,
    /// What was in the way: where, and under which name it waits.
    aside: Vec<(Vec<u8>, CString)>,
    /// Folders that were shut, and their modes.
    opened: Vec<(Vec<u8>, Mode)>,
}

impl Placed {
    /// Whether something that the agent had left was in the way.
    pub fn displaced(&self) -> bool {
        !self.aside.is_empty()
    }
}

/// Puts the file or folder `from` at `dest` below `root`.
///
/// No link is followed on the way, and whatever stands in the way is put aside, or removed when it
/// cannot be: an agent that has put a link, a folder or a pipe there gains nothing by it.
/// Folders that are there already are used. Files keep whether they can be executed, and
/// everybody can read them.
pub(crate) fn place(
    root: BorrowedFd<'_>,
    from: &Path,
    dest: &Path,
    number: u64,
) -> Result<Placed, PlaceError> {
    let mut names = Vec::new();
    for component in dest.components() {
        match component {
            Component::Normal(name) => names.push(name.as_bytes()),
            Component::CurDir => {}
            _ => return Err(PlaceError::Outside { dest: dest.into() }),
        }
    }
    let failed = |source: io::Error| PlaceError::Io { dest: dest.into(), source };
    let mut placing = Placing { root, placed: Placed::default(), number };
    let result = placing.all(from, &names);
    match result {
        Ok(()) => Ok(placing.placed),
        Err(error) => {
            // What is half there must not be taken for the whole.
            let _ = take_out(root, &placing.placed);
            Err(match error {
                Fault::Source(reason) => PlaceError::Source { source_path: from.into(), reason },
                Fault::Io(error) => failed(error),
                Fault::Root => PlaceError::Outside { dest: dest.into() },
            })
        }
    }
}

/// Takes out what was put in, as far as it is still there, and puts back what was in the way.
pub(crate) fn take_out(root: BorrowedFd<'_>, placed: &Placed) -> io::Result<()> {
    for path in placed.made.iter().rev() {
        let (path, is_folder) = match path.strip_suffix(b"/") {
            Some(path) => (path, true),
            None => (path.as_slice(), false),
        };
        let Some((folder, name)) = parent(root, path)? else { continue };
        let removed = if is_folder {
            // What a test has put beside its files stays.
            match unlinkat(&folder, name.as_c_str(), UnlinkatFlags::RemoveDir) {
                Err(Errno::ENOTEMPTY | Errno::EEXIST | Errno::ENOTDIR) => Ok(()),
                other => other,
            }
        } else {
            match unlinkat(&folder, name.as_c_str(), UnlinkatFlags::NoRemoveDir) {
                Err(Errno::EISDIR) => Ok(()),
                other => other,
            }
        };
        match removed {
            Ok(()) | Err(Errno::ENOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    for (path, name) in placed.aside.iter().rev() {
        let Some((folder, to)) = parent(root, path)? else { continue };
        let Ok(aside) = open_beneath(root, ASIDE, OFlag::O_RDONLY | OFlag::O_DIRECTORY) else {
            continue;
        };
        if fstatat(&folder, to.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW) == Err(Errno::ENOENT) {
            let _ = renameat(&aside, name.as_c_str(), &folder, to.as_c_str());
        }
    }
    // Unless another placing still uses it.
    let _ = unlinkat(root, ASIDE, UnlinkatFlags::RemoveDir);
    for (path, mode) in placed.opened.iter().rev() {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        if let Ok(folder) = open_beneath(root, &CString::new(path.as_slice())?, flags) {
            set_mode(&folder, *mode)?;
        }
    }
    Ok(())
}

/// The folder of a path, and the name in it; `None` when the folder is gone.
fn parent(root: BorrowedFd<'_>, path: &[u8]) -> io::Result<Option<(OwnedFd, CString)>> {
    let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&b"."[..], path),
    };
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
    match open_beneath(root, &CString::new(folder)?, flags) {
        Ok(folder) => Ok(Some((folder, CString::new(name)?))),
        Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

enum Fault {
    Source(String),
    Io(io::Error),
    /// A file cannot take the place of the workspace itself.
    Root,
}

impl<E: Into<io::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

struct Placing<'a> {
    root: BorrowedFd<'a>,
    placed: Placed,
    number: u64,
}

impl Placing<'_> {
    fn all(&mut self, from: &Path, names: &[&[u8]]) -> Result<(), Fault> {
        let source = |error: io::Error| Fault::Source(error.to_string());
        let metadata = fs::metadata(from).map_err(source)?;
        let lent = Lent::of(self.root.try_clone_to_owned()?, For::Writing)?;
        self.placed.opened.extend(lent.map(|lent| (b".".to_vec(), lent.mode())));
        let mut here = openat(self.root, c".", FOLDER, Mode::empty())?;
        let mut path = Vec::new();
        if metadata.is_dir() {
            for name in names {
                here = self.folder(&here, &mut path, name, 0o755)?;
            }
            return self.tree(from, &path);
        }
        if !metadata.is_file() {
            return Err(Fault::Source("it is neither a file nor a folder".into()));
        }
        let Some((name, folders)) = names.split_last() else { return Err(Fault::Root) };
        for folder in folders {
            here = self.folder(&here, &mut path, folder, 0o755)?;
        }
        let file = File::open(from).map_err(source)?;
        self.file(&here, &join(&path, name), name, file, metadata.mode())
    }

    /// Enters the folder `name`, which is made when something else is there.
    fn folder(
        &mut self,
        here: &OwnedFd,
        path: &mut Vec<u8>,
        name: &[u8],
        mode: u32,
    ) -> Result<OwnedFd, Fault> {
        *path = join(path, name);
        let name = CString::new(name).map_err(io::Error::from)?;
        match self.enter(here, path, &name) {
            Ok(folder) => return Ok(folder),
            Err(Errno::ENOENT) => {}
            Err(_) => self.clear(here, path, &name)?,
        }
        mkdirat(here, name.as_c_str(), Mode::S_IRWXU)?;
        let mut made = path.clone();
        made.push(b'/');
        self.placed.made.push(made);
        let folder = openat(here, name.as_c_str(), FOLDER, Mode::empty())?;
        fchmod(&folder, Mode::from_bits_truncate(mode))?;
        Ok(folder)
    }

    /// Enters a folder that is there, and opens it when its owner has shut it.
    fn enter(&mut self, here: &OwnedFd, path: &[u8], name: &CStr) -> nix::Result<OwnedFd> {
        let (folder, had) = open_folder(here, name, For::Writing)?;
        self.placed.opened.extend(had.map(|mode| (path.to_vec(), mode)));
        Ok(folder)
    }

    fn file(
        &mut self,
        here: &OwnedFd,
        path: &[u8],
        name: &[u8],
        mut from: File,
        mode: u32,
    ) -> Result<(), Fault> {
        let name = CString::new(name).map_err(io::Error::from)?;
        self.clear(here, path, &name)?;
        let flags =
            OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = openat(here, name.as_c_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
        self.placed.made.push(path.to_vec());
        let mut file = File::from(file);
        io::copy(&mut from, &mut file)?;
        let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
        fchmod(&file, Mode::from_bits_truncate(mode))?;
        Ok(())
    }

    /// Everything below a folder of the host; links in it are made as they are.
    fn tree(&mut self, from: &Path, to: &[u8]) -> Result<(), Fault> {
        let source = open_root(from)?;
        let mut fault = None;
        walk(source.as_fd(), &mut |entry| {
            let path = join(to, entry.path);
            let result = self.entry(entry, &path);
            if let Err(found) = result {
                fault = Some(found);
                return Err(io::ErrorKind::Other.into());
            }
            Ok(Next::Enter)
        })
        .map_err(|error| fault.take().unwrap_or(Fault::Io(error)))?;
        Ok(())
    }

    fn entry(&mut self, entry: &super::walk::Entry<'_>, path: &[u8]) -> Result<(), Fault> {
        let Some((here, name)) = parent(self.root, path)? else {
            return Err(Fault::Io(io::ErrorKind::NotFound.into()));
        };
        match entry.kind() {
            Kind::Folder => {
                let mut at = path.to_vec();
                at.truncate(path.len() - name.as_bytes().len());
                let mut at = at.strip_suffix(b"/").unwrap_or(&at).to_vec();
                self.folder(&here, &mut at, name.as_bytes(), 0o755).map(|_| ())
            }
            Kind::File => {
                let file = File::from(entry.open_file()?);
                self.file(&here, path, name.as_bytes(), file, entry.mode())
            }
            Kind::Link => {
                use std::ffi::OsStr;
                self.clear(&here, path, &name)?;
                let target = entry.link_target()?;
                symlinkat(OsStr::from_bytes(&target), &here, name.as_c_str())?;
                self.placed.made.push(path.to_vec());
                Ok(())
            }
            _ => {
                let shown = String::from_utf8_lossy(entry.path).into_owned();
                Err(Fault::Source(format!("`{shown}` in it is a pipe, socket or device")))
            }
        }
    }

    /// Makes room for something new.
    fn clear(&mut self, here: &OwnedFd, path: &[u8], name: &CStr) -> Result<(), Fault> {
        match fstatat(here, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => return Ok(()),
            Err(errno) => return Err(errno.into()),
            Ok(_) => {}
        }
        if let Ok(aside) = self.aside() {
            let waiting = CString::new(format!("{}-{}", self.number, self.placed.aside.len()))
                .map_err(io::Error::from)?;
            if renameat(here, name, &aside, waiting.as_c_str()).is_ok() {
                self.placed.aside.push((path.to_vec(), waiting));
                return Ok(());
            }
        }
        // A folder of a lower layer cannot be moved.
        Ok(remove_tree_at(here.try_clone()?, name)?)
    }

    /// The folder for what is in the way: ours, whatever an agent has put there.
    fn aside(&self) -> nix::Result<OwnedFd> {
        if let Err(Errno::EEXIST) = mkdirat(self.root, ASIDE, Mode::S_IRWXU) {
            let stat = fstatat(self.root, ASIDE, AtFlags::AT_SYMLINK_NOFOLLOW)?;
            let is_folder = stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFDIR.bits();
            if !is_folder || stat.st_uid != nix::unistd::geteuid().as_raw() {
                return Err(Errno::EEXIST);
            }
        }
        open_folder(self.root, ASIDE, For::Writing).map(|(folder, _)| folder)
    }
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}
