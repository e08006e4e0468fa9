//! The limit of open files.

use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// As many as a few thousand runs at once need.
const ENOUGH: u64 = 65_536;

/// Raises this process's soft limit as far as it may and must. Returns what the limit was, which is
/// what programs are to get: some of them take their time over a high one.
///
/// The usual limit of 1,024 is passed by some 200 runs that start at once.
pub(crate) fn raise_soft_limit() -> Option<u64> {
    static BEFORE: OnceLock<Option<u64>> = OnceLock::new();
    *BEFORE.get_or_init(|| {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
        let enough = hard.min(ENOUGH);
        if soft >= enough {
            return None;
        }
        setrlimit(Resource::RLIMIT_NOFILE, enough, hard).ok()?;
        Some(soft)
    })
}

/// Lowers the limit again, before a program starts that inherits it.
pub(crate) fn set_soft_limit(soft: u64) {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // It fails only above the hard limit, which came from the same place.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft, hard);
    }
}
