//! A stream on its way to disk: redacted before it gets there, however it is split into pieces.

use std::fs::File;
use std::io::{self, PipeWriter, Read as _, Seek as _, SeekFrom, Write as _, pipe};
use std::thread::JoinHandle;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use proctor_redact::Redactor;

/// A file that a stream goes into. Nothing unredacted touches the disk: the bytes go through a pipe
/// to a thread that redacts.
pub(crate) struct Lane {
    path: Utf8PathBuf,
    pipe: PipeWriter,
    writer: JoinHandle<io::Result<u64>>,
    /// The first failure to hand bytes on; the writer's own error explains it.
    broken: bool,
}

impl Lane {
    /// Opens a new file, which its owner alone may read.
    pub(crate) fn open(path: Utf8PathBuf, redactor: &Redactor) -> io::Result<Self> {
        let file = fs_err::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path.as_std_path())?;
        let (reader, pipe) = pipe()?;
        let redactor = redactor.clone();
        let writer = std::thread::spawn(move || redactor.copy(reader, file));
        Ok(Self { path, pipe, writer, broken: false })
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.broken = self.pipe.write_all(bytes).is_err();
        }
    }

    /// Waits until everything is written, and gives the path.
    pub(crate) fn close(self) -> io::Result<Utf8PathBuf> {
        drop(self.pipe);
        let written =
            self.writer.join().unwrap_or_else(|_| Err(io::Error::other("writer panicked")));
        written.map_err(|error| {
            io::Error::new(error.kind(), format!("{} was not kept: {error}", self.path))
        })?;
        Ok(self.path)
    }
}

/// The end of a file, at most `limit` bytes of it, from a whole character on.
pub(crate) fn tail(path: &Utf8Path, limit: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    let is_inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let start = bytes.iter().take_while(|byte| length > limit && is_inside(byte)).count();
    Ok(String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_and_the_end_begins_with_a_whole_character() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("log");
        let redactor = Redactor::new(["hunter2-hunter2".to_owned()]);
        let mut lane = Lane::open(path.clone(), &redactor).unwrap();
        lane.push("ä key=hunter2-".as_bytes());
        lane.push(b"hunter2 end");
        lane.close().unwrap();
        assert_eq!(tail(&path, 1000).unwrap(), "ä key=[redacted] end");
        assert_eq!(tail(&path, 3).unwrap(), "end");
        let all = std::fs::metadata(&path).unwrap().len();
        assert_eq!(tail(&path, all - 1).unwrap(), " key=[redacted] end");
        assert!(Lane::open(path, &redactor).is_err());
    }
}
