//! The results file on disk.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use camino::Utf8Path;
use nix::fcntl::OFlag;

use super::key::Key;
use super::results::{Results, ResultsError};
use crate::whole::replace;

/// The longest results file that is read: 64 MiB, room for tens of thousands of skills.
pub const MAX_RESULTS_BYTES: u64 = 64 * 1024 * 1024;

/// The results file at `path`; empty when there is none. Only what `key` signed is believed.
pub fn load(path: &Utf8Path, key: Option<&Key>) -> Result<Results, ResultsError> {
    let text = read(path.as_std_path());
    match text.map_err(|source| ResultsError::Read { file: path.to_string(), source })? {
        None => Ok(Results::default()),
        Some(text) => Results::parse(path.as_str(), &text, key),
    }
}

/// Changes the results file at `path` and gives what it now holds.
///
/// The file is read anew under a lock, so that of several runs none loses what another wrote, and
/// replaced whole, so that a reader or a crash never meets half of it. When nothing is put or
/// amended, nothing is written.
pub fn update(
    path: &Utf8Path,
    key: Option<&Key>,
    change: impl FnOnce(&mut Results),
) -> Result<Results, ResultsError> {
    let failed = |source: io::Error| ResultsError::Write { file: path.to_string(), source };
    let folder = match path.parent() {
        Some(parent) if !parent.as_str().is_empty() => parent.as_std_path(),
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(failed)?;
    // The folder itself is locked: a lock file beside a committed file would be litter. The lock
    // ends with the handle.
    let lock = File::open(folder).map_err(failed)?;
    match lock.lock() {
        // Some network file systems have no locks; the file is still replaced whole.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
        locked => locked.map_err(failed)?,
    }
    let mut results = load(path, key)?;
    let before = results.digest().copied();
    change(&mut results);
    if results.digest().copied() != before || (before.is_none() && !results.is_empty()) {
        let text = results.to_text().map_err(|error| failed(error.into()))?;
        replace(folder, path.as_std_path(), text.as_bytes()).map_err(failed)?;
        results.written_as(&text);
    }
    Ok(results)
}

/// The bytes of a regular file; `None` when there is nothing.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Without waiting for the other end of a pipe.
    let flags = OFlag::O_NONBLOCK.bits();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_RESULTS_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_RESULTS_BYTES {
        let message = format!("it is larger than {MAX_RESULTS_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;
    use std::thread;

    use camino::Utf8PathBuf;
    use proctor_model::eval::SkillRecord;

    use super::*;

    fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(temp.path()).unwrap().join(".ai-rulez/eval-results.json");
        (temp, path)
    }

    fn record(id: &str) -> SkillRecord {
        SkillRecord { id: id.to_owned(), ..SkillRecord::default() }
    }

    #[test]
    fn no_file_is_an_empty_one() {
        let (_temp, path) = folder();
        assert_eq!(load(&path, None).unwrap(), Results::default());
        assert_eq!(update(&path, None, |_| {}).unwrap(), Results::default());
        assert!(!path.exists());
    }

    #[test]
    fn a_change_is_there_whole_and_nothing_else_is() {
        let (_temp, path) = folder();
        let key = Key::of([1; 32]);
        let written = update(&path, Some(&key), |results| results.put(record("a"), Some(&key)));
        let (written, read) = (written.unwrap(), load(&path, Some(&key)).unwrap());
        assert_eq!(written.to_text().unwrap(), read.to_text().unwrap());
        assert_eq!(written.digest(), read.digest());
        assert_eq!(written.get("a").unwrap().trust(), read.get("a").unwrap().trust());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(fs::read_to_string(&path).unwrap().ends_with("]\n}\n"));
    }

    #[test]
    fn what_does_not_change_is_not_written() {
        let (_temp, path) = folder();
        update(&path, None, |results| results.put(record("a"), None)).unwrap();
        let compact = "{\"skills\":[{\"id\":\"a\"}],\"schema_version\":1}";
        fs::write(&path, compact).unwrap();
        update(&path, None, |_| {}).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), compact);
    }

    #[test]
    fn a_damaged_file_is_left_alone() {
        let (_temp, path) = folder();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        for text in ["{", "<<<<<<< ours\n{\"schema_version\":1}", "{\"schema_version\":9}"] {
            fs::write(&path, text).unwrap();
            let error = update(&path, None, |results| results.put(record("a"), None)).unwrap_err();
            assert!(error.to_string().contains("eval-results.json"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_file_is_told() {
        let error = load("/dev/null".into(), None).unwrap_err();
        assert_eq!(error.to_string(), "results file /dev/null cannot be read: it is no file");
        let error = update("/dev/null/x".into(), None, |_| {}).unwrap_err();
        assert!(error.to_string().starts_with("results file /dev/null/x cannot be written"));
    }

    #[test]
    fn of_many_writers_none_loses_what_another_wrote() {
        let (_temp, path) = folder();
        thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    for skill in 0..4 {
                        let record = record(&format!("{writer}-{skill}"));
                        update(path, None, |results| results.put(record, None)).unwrap();
                    }
                });
            }
        });
        assert_eq!(load(&path, None).unwrap().records().count(), 32);
    }
}
