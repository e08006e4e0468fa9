//! The state of a workspace at which a comparison starts.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::fcntl::OFlag;
use proctor_model::{Digest, FsDiff, Layering};

use super::base::{Prepared, Snapshot};
use super::diff;
use super::manifest::{Known, Manifest, Node, ReadLimits, Stamp};
use super::walk::{Kind, Next, open_beneath, open_root, walk};
use super::{WorkspaceError, failed};

/// What setups wrote is kept up to this much, so that patches can say what it was.
const KEPT: u64 = 8 << 20;
/// Times of change are no finer than the clock's tick on older kernels; a file that changed so
/// recently may change again without showing it.
const FRESH: Duration = Duration::from_millis(50);

/// How much of a difference is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLimits {
    /// Entries of all lists together.
    pub entries: usize,
    /// Bytes of a file, before or after, from which a patch is made.
    pub patch_file: u64,
    /// Bytes of all patches together.
    pub patches: usize,
}

impl Default for DiffLimits {
    /// 20,000 entries, files up to 256 KiB, 4 MiB of patches.
    fn default() -> Self {
        Self { entries: 20_000, patch_file: 256 << 10, patches: 4 << 20 }
    }
}

/// A workspace at the moment when the agent is let in: every comparison starts here, so that what
/// setups did is not the agent's.
#[derive(Debug)]
pub struct Baseline {
    manifest: Manifest,
    known: Known,
    /// What lay in the writable layer and may be overwritten.
    kept: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Where everything else still lies.
    lowers: Vec<PathBuf>,
}

impl Baseline {
    pub(crate) fn take(prepared: &Prepared) -> Result<Self, WorkspaceError> {
        let upper = prepared.upper();
        let limits = ReadLimits::default();
        let nothing = Known::new();
        let below = match prepared.layering {
            Layering::Overlay => Some(prepared.origin.manifest()?),
            Layering::Copy => None,
        };
        let read = || match &below {
            Some(below) => below.overlaid(open_root(&upper)?, &limits, &nothing),
            None => Manifest::of_tree(open_root(&upper)?, &limits, &nothing),
        };
        let manifest = read().map_err(failed("read", &upper))?;
        // In a copy, what is as in the base need not be kept a second time.
        let base = match prepared.layering {
            Layering::Overlay => None,
            Layering::Copy => Some(prepared.origin.base().manifest()?),
        };
        let mut baseline = Self {
            manifest,
            known: Known::new(),
            kept: BTreeMap::new(),
            lowers: match prepared.layering {
                Layering::Overlay => prepared.lowers.clone(),
                Layering::Copy => vec![prepared.origin.base().folder().to_owned()],
            },
        };
        baseline.remember(&upper, base).map_err(failed("read", &upper))?;
        Ok(baseline)
    }

    /// Notes by what the files of the writable layer are known again, and keeps the small ones.
    fn remember(&mut self, upper: &Path, base: Option<&Manifest>) -> io::Result<()> {
        let fresh = SystemTime::now().checked_sub(FRESH).unwrap_or(UNIX_EPOCH);
        let largest = DiffLimits::default().patch_file;
        let mut left = KEPT;
        let root = open_root(upper)?;
        walk(root.as_fd(), &mut |entry| {
            let Some(Node::File { size, digest, .. }) = self.manifest.get(entry.path) else {
                return Ok(Next::Enter);
            };
            if entry.kind() != Kind::File {
                return Ok(Next::Enter);
            }
            let seconds = u64::try_from(entry.stat.st_ctime).unwrap_or(0);
            let part = u32::try_from(entry.stat.st_ctime_nsec).unwrap_or(0);
            if UNIX_EPOCH + Duration::new(seconds, part) < fresh {
                self.known.insert(entry.path.to_vec(), (Stamp::of(entry), *digest));
            }
            let same = |base: &Manifest| base.get(entry.path) == self.manifest.get(entry.path);
            if *size <= largest.min(left) && !base.is_some_and(same) {
                let mut content = Vec::new();
                File::from(entry.open_file()?).take(largest).read_to_end(&mut content)?;
                if Some(Digest::of(&content)) == *digest {
                    left -= *size;
                    self.kept.insert(entry.path.to_vec(), content);
                }
            }
            Ok(Next::Enter)
        })?;
        Ok(())
    }

    /// What was there.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What differs in `after`, a snapshot of the same workspace.
    pub fn diff(&self, after: &Snapshot, limits: &DiffLimits) -> Result<FsDiff, WorkspaceError> {
        let later = after.manifest_knowing(&self.known)?;
        let before = |path: &[u8], digest: Digest| match self.kept.get(path) {
            Some(content) if Digest::of(content) == digest => Some(content.clone()),
            _ => find(&self.lowers, path, digest, limits.patch_file),
        };
        // The snapshot is ours, and as it was when the digests were made.
        let after = |path: &[u8], _: Digest| read(&after.top, path, limits.patch_file);
        Ok(diff::compare(&self.manifest, &later, &before, &after, limits))
    }
}

impl Manifest {
    /// What is in a folder of this machine now.
    pub fn of_folder(folder: &Path) -> Result<Self, WorkspaceError> {
        let read = || Self::of_tree(open_root(folder)?, &ReadLimits::default(), &Known::new());
        read().map_err(failed("read", folder))
    }

    /// What differs in the folder of which this is the earlier manifest. Of what was there before the
    /// content is no longer to be had, so that only new files have patches.
    pub fn diff_folder(
        &self,
        folder: &Path,
        limits: &DiffLimits,
    ) -> Result<FsDiff, WorkspaceError> {
        let later = Self::of_folder(folder)?;
        let after = |path: &[u8], digest: Digest| {
            let content = read(folder, path, limits.patch_file)?;
            (Digest::of(&content) == digest).then_some(content)
        };
        Ok(diff::compare(self, &later, &|_, _| None, &after, limits))
    }
}

/// The content of a file with this digest in the first of `layers` that has it.
fn find(layers: &[PathBuf], path: &[u8], digest: Digest, most: u64) -> Option<Vec<u8>> {
    layers.iter().find_map(|layer| {
        let content = read(layer, path, most)?;
        (Digest::of(&content) == digest).then_some(content)
    })
}

/// The content of a file in a layer; of one that is no text perhaps only the beginning.
fn read(layer: &Path, path: &[u8], most: u64) -> Option<Vec<u8>> {
    const BEGINNING: u64 = 8 << 10;
    let path = CString::new(path).ok()?;
    let root = open_root(layer).ok()?;
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK;
    let mut file = File::from(open_beneath(root.as_fd(), &path, flags).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    (&mut file).take(BEGINNING).read_to_end(&mut content).ok()?;
    if !content.contains(&0) {
        file.take(most.saturating_sub(BEGINNING)).read_to_end(&mut content).ok()?;
    }
    Some(content)
}

#[cfg(test)]
mod tests {
    use proctor_model::fs_diff::Patch;

    use super::*;

    #[test]
    fn a_plain_folder_is_compared_with_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("changed", "old\n");
        write("gone", "x\n");
        write("same", "s\n");
        let before = Manifest::of_folder(folder.path()).unwrap();
        write("changed", "new\n");
        write("added", "a\n");
        std::fs::remove_file(folder.path().join("gone")).unwrap();
        let diff = before.diff_folder(folder.path(), &DiffLimits::default()).unwrap();
        assert_eq!(diff.added.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["added"]);
        assert!(matches!(&diff.added[0].patch, Patch::Text { diff } if diff.contains("+a")));
        assert_eq!(
            (diff.changed[0].path.as_str(), &diff.changed[0].patch),
            ("changed", &Patch::Unknown)
        );
        assert_eq!(diff.deleted[0].path, "gone");
        assert!(Manifest::of_folder(&folder.path().join("none")).is_err());
    }
}
