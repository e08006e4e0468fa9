//! Kept transcripts: a session's raw streams, redacted on their way to disk.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_sandbox::Stream;

use super::run::Settings;
use crate::lane::Lane;
use crate::session::Recorder;

/// The transcript of one trial; keeps nothing unless the run keeps transcripts.
///
/// Nothing unredacted touches the disk: each stream goes through a pipe to a thread that redacts.
pub(super) struct Transcript {
    stdout: Option<Lane>,
    stderr: Option<Lane>,
}

impl Transcript {
    /// Opens the files `<stem>.jsonl` and `<stem>.stderr.txt`; no other trial of the run has the
    /// stem.
    pub(super) fn create(settings: &Settings<'_>, stem: &str) -> io::Result<Self> {
        let Some(folder) = settings.transcripts else {
            return Ok(Self { stdout: None, stderr: None });
        };
        let stem = file_name(stem);
        let lane =
            |suffix: &str| Lane::open(folder.join(format!("{stem}.{suffix}")), settings.redactor);
        Ok(Self { stdout: Some(lane("jsonl")?), stderr: Some(lane("stderr.txt")?) })
    }

    /// Closes the files and gives the path of the stream.
    pub(super) fn finish(self) -> io::Result<Option<Utf8PathBuf>> {
        if let Some(lane) = self.stderr {
            lane.close()?;
        }
        self.stdout.map(Lane::close).transpose()
    }
}

impl Recorder for Transcript {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        let lane = match stream {
            Stream::Out => &mut self.stdout,
            Stream::Err => &mut self.stderr,
        };
        if let Some(lane) = lane {
            lane.push(bytes);
        }
    }
}

/// A text as part of a file name: no longer than file systems allow, suffix included.
fn file_name(text: &str) -> String {
    const LONGEST: usize = 200;
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    text.chars().map(safe).take(LONGEST).collect()
}

/// Makes the folder for a run's transcripts, readable by its owner only.
pub(super) fn transcript_folder(parent: &Utf8Path) -> io::Result<Utf8PathBuf> {
    let folder = tempfile::Builder::new().prefix("proctor-transcripts-").tempdir_in(parent)?;
    let path = folder.keep();
    Utf8PathBuf::from_path_buf(path).map_err(|path| {
        io::Error::other(format!("the temporary folder is not UTF-8: {}", path.display()))
    })
}
