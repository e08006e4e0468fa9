//! Following links by hand.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{Other, Workspace, WorkspaceError, printable};

/// Links that one path may pass, as Linux allows.
const MOST_LINKS: usize = 40;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A regular file: its path without links.
    File(PathBuf),
    /// Something else.
    Other(Other),
}

impl Workspace {
    /// Follows `path`, relative to the root, as long as it stays inside.
    pub(super) fn resolve(&self, path: &Path) -> Result<Found, WorkspaceError> {
        let name = || printable(&path.to_string_lossy());
        let io = |source| WorkspaceError::Io { name: name(), source };
        let mut ahead = components(path);
        let mut inside = PathBuf::new();
        let mut links = 0;
        // Whether the path itself is a link, rather than passing one on its way.
        let mut is_link = false;
        let missing =
            |is_link| if is_link { Found::Other(Other::BrokenLink) } else { Found::Nothing };
        while let Some(step) = ahead.pop_front() {
            if step == ".." {
                if !inside.pop() {
                    return Err(WorkspaceError::Escape { name: name() });
                }
                continue;
            }
            let here = inside.join(&step);
            let at = self.root.as_std_path().join(&here);
            let kind = match fs::symlink_metadata(&at) {
                Ok(metadata) => metadata.file_type(),
                Err(error) if is_missing(&error) => return Ok(missing(is_link)),
                Err(error) => return Err(io(error)),
            };
            if kind.is_symlink() {
                is_link |= ahead.is_empty();
                links += 1;
                if links > MOST_LINKS {
                    return if is_link {
                        Ok(missing(true))
                    } else {
                        Err(WorkspaceError::Loop { name: name() })
                    };
                }
                let target = fs::read_link(&at).map_err(io)?;
                let target = if target.is_absolute() {
                    inside = PathBuf::new();
                    self.relative(&target).ok_or_else(|| WorkspaceError::Escape { name: name() })?
                } else {
                    target
                };
                for component in components(&target).into_iter().rev() {
                    ahead.push_front(component);
                }
            } else if ahead.is_empty() {
                return Ok(found(kind, at));
            } else if kind.is_dir() {
                inside = here;
            } else {
                return Ok(missing(is_link));
            }
        }
        Ok(Found::Other(Other::Directory))
    }

    /// An absolute link target as a path from the root.
    fn relative(&self, target: &Path) -> Option<PathBuf> {
        let inside =
            |root: &camino::Utf8PathBuf| target.strip_prefix(root).ok().map(Path::to_owned);
        inside(&self.real).or_else(|| inside(&self.root))
    }
}

fn components(path: &Path) -> VecDeque<OsString> {
    let named = |component: Component<'_>| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        _ => None,
    };
    path.components().filter_map(named).collect()
}

fn found(kind: FileType, at: PathBuf) -> Found {
    if kind.is_file() {
        Found::File(at)
    } else if kind.is_dir() {
        Found::Other(Other::Directory)
    } else {
        Found::Other(Other::Special)
    }
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
