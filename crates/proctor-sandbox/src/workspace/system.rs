//! The other tree in which setups may write: `/usr/local`.
//!
//! Setups install programs there, as root. It is not the agent's, who cannot write there; what
//! setups have put there, tests find as well.

use std::io;
use std::path::{Path, PathBuf};

use nix::sys::stat::{Mode, fchmod};
use nix::unistd::geteuid;

use super::build::make_folder;
use crate::rooms::Room;

/// Its path, on the host and inside.
pub(crate) const SYSTEM: &str = "/usr/local";

/// The folders of an overlay over it: what is changed, and that in which it works.
pub(crate) const UPPER: &str = "local";
pub(crate) const WORK: &str = "local-work";

/// Root inside is not the owner of the host's folders where Proctor is not root, but of these,
/// which an overlay merges with those.
const OURS: [&str; 6] = ["bin", "etc", "include", "lib", "sbin", "share"];

/// What is changed there.
pub(crate) fn upper(room: &Room) -> PathBuf {
    room.root().join(UPPER).into()
}

/// Makes the folders of an overlay whose changes are kept.
pub(super) fn prepare(room: &Room) -> io::Result<()> {
    let upper = upper(room);
    open_to_all(&upper)?;
    make_folder(room.root().join(WORK).as_std_path())?;
    if !geteuid().is_root() {
        for name in OURS {
            let host = Path::new(SYSTEM).join(name);
            if host.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                open_to_all(&upper.join(name))?;
            }
        }
    }
    Ok(())
}

fn open_to_all(path: &Path) -> io::Result<()> {
    Ok(fchmod(make_folder(path)?, Mode::from_bits_truncate(0o755))?)
}
