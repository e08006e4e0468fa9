//! The key of a user, with which records are signed.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use tempfile::NamedTempFile;

/// The name of the key file in the user's folder.
pub const KEY_FILE_NAME: &str = "eval-results.key";

const LENGTH: usize = 32;

/// The key of a user: 32 random bytes, which never leave the user's folder.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; LENGTH]);

/// Why there is no key. Everything goes on without one: nothing is then believed and nothing is
/// signed.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file is no key.
    #[error(
        "`{}` is no key: it has to be a file of {LENGTH} bytes; remove it, and `proctor eval run` \
         makes a new one", file.display()
    )]
    NoKey {
        /// The file.
        file: PathBuf,
    },
    /// The file or its folder cannot be read or written.
    #[error("the key `{}` cannot be {action}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The system has no random numbers to give.
    #[error("no random numbers for a new key: {0}")]
    Random(getrandom::Error),
}

/// The folder of a user's keys, from `XDG_CONFIG_HOME` and `HOME`: shared with ai-rulez, so that
/// both believe each other's records. `None` when neither variable names an absolute path.
pub fn user_folder(xdg_config_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<PathBuf> {
    let absolute = |path: &&Path| path.is_absolute();
    let configuration = xdg_config_home.map(Path::new).filter(absolute).map(Path::to_owned);
    let configuration =
        configuration.or_else(|| Some(home.map(Path::new).filter(absolute)?.join(".config")));
    configuration.map(|folder| folder.join("ai-rulez"))
}

impl Key {
    /// A key of these bytes.
    pub fn of(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    /// The key in the user's folder; `None` when there is no such file. Never makes one.
    pub fn load(folder: &Path) -> Result<Option<Self>, KeyError> {
        let file = folder.join(KEY_FILE_NAME);
        match read(&file) {
            Ok(bytes) => match bytes.try_into() {
                Ok(bytes) => Ok(Some(Self(bytes))),
                Err(_) => Err(KeyError::NoKey { file }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(KeyError::Io { file, action: "read", source }),
        }
    }

    /// The key in the user's folder, which is made when it is not there. Of several processes that
    /// make one at once, all get the same.
    pub fn load_or_create(folder: &Path) -> Result<Self, KeyError> {
        if let Some(key) = Self::load(folder)? {
            return Ok(key);
        }
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes).map_err(KeyError::Random)?;
        let file = folder.join(KEY_FILE_NAME);
        match write_new(folder, &file, &bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Self::load(folder)?.ok_or(KeyError::NoKey { file })
            }
            Err(source) => Err(KeyError::Io { file, action: "written", source }),
        }
    }

    pub(super) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }
}

/// Shows nothing of the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// At most one byte more than a key has; of what is no file, nothing.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlag::O_NONBLOCK.bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(file)?;
    let mut bytes = Vec::new();
    if opened.metadata()?.is_file() {
        opened.take(LENGTH as u64 + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Writes a file of mode 0600 that must not be there yet; it is never there half.
pub(super) fn write_new(folder: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    if !fs::exists(folder)? {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut written = NamedTempFile::new_in(folder)?;
    written.write_all(bytes)?;
    written.as_file().sync_all()?;
    written.persist_noclobber(file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::thread;

    use super::*;

    #[test]
    fn the_folder_is_that_of_the_user() {
        let folder = |xdg: Option<&str>, home: Option<&str>| {
            let folder = user_folder(xdg.map(OsStr::new), home.map(OsStr::new));
            folder.map(|folder| folder.to_str().unwrap().to_owned())
        };
        assert_eq!(folder(Some("/x"), Some("/h")).unwrap(), "/x/ai-rulez");
        for xdg in [None, Some(""), Some("x")] {
            assert_eq!(folder(xdg, Some("/h")).unwrap(), "/h/.config/ai-rulez");
        }
        assert_eq!(folder(None, None), None);
        assert_eq!(folder(None, Some("")), None);
    }

    #[test]
    fn a_key_is_made_once_and_only_on_request() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("a/ai-rulez");
        assert_eq!(Key::load(&folder).unwrap(), None);
        assert!(!folder.exists());
        let made = Key::load_or_create(&folder).unwrap();
        assert_eq!(Key::load(&folder).unwrap().unwrap(), made);
        assert_eq!(Key::load_or_create(&folder).unwrap(), made);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.join(KEY_FILE_NAME)), 0o600);
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(fs::read(folder.join(KEY_FILE_NAME)).unwrap(), made.bytes());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert_ne!(made.bytes(), &[0; 32]);
    }

    #[test]
    fn what_is_no_key_is_left_alone() {
        for bytes in [&[][..], &[1; 31], &[1; 33], "0".repeat(64).as_bytes()] {
            let temp = tempfile::tempdir().unwrap();
            let file = temp.path().join(KEY_FILE_NAME);
            fs::write(&file, bytes).unwrap();
            assert!(matches!(Key::load(temp.path()), Err(KeyError::NoKey { .. })));
            let error = Key::load_or_create(temp.path()).unwrap_err();
            assert!(error.to_string().contains("is no key"), "{error}");
            assert_eq!(fs::read(&file).unwrap(), bytes);
        }
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join(KEY_FILE_NAME)).unwrap();
        assert!(Key::load(temp.path()).is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told() {
        let error = Key::load_or_create(Path::new("/dev/null/x")).unwrap_err();
        assert!(error.to_string().starts_with("the key `/dev/null/x/eval-results.key`"), "{error}");
    }

    #[test]
    fn all_who_make_a_key_at_once_get_the_same() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path();
        let keys: Vec<Key> = thread::scope(|scope| {
            let make = || scope.spawn(|| Key::load_or_create(folder).unwrap());
            let threads: Vec<_> = (0..8).map(|_| make()).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
    }

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?}", Key::of([7; 32])), "Key(..)");
    }
}
