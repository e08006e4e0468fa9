//! What this program and the engine's process say to each other: a line of JSON, then bytes.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The longest line, in bytes; settings stand in it, and they may name many trials.
const MAX_LINE: u64 = 16 << 20;

/// A statement for the engine; so many bytes of it follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    /// Settings of the engine that hold for this statement, in their order.
    pub(super) settings: Vec<(String, String)>,
    /// The database; `None` is the one that is always there.
    pub(super) database: Option<String>,
    /// The format where the statement names none.
    pub(super) format: String,
    /// The length of the statement.
    pub(super) bytes: u64,
}

/// What the engine says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub(super) enum Reply {
    /// It has started.
    Ready {
        /// Its version.
        version: String,
    },
    /// So many bytes follow.
    Done {
        /// How many.
        bytes: u64,
    },
    /// It cannot.
    Failed {
        /// Why not.
        message: String,
    },
}

/// Writes a line and what follows it.
pub(super) fn write(
    stream: &mut impl Write,
    line: &impl Serialize,
    bytes: &[u8],
) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    stream.write_all(&text)?;
    stream.write_all(bytes)?;
    stream.flush()
}

/// Reads a line; `None` at the end of the stream.
pub(super) fn read<T: DeserializeOwned>(stream: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    stream.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() { Ok(None) } else { Ok(Some(serde_json::from_slice(&line)?)) }
}

/// Reads so many bytes.
pub(super) fn read_bytes(stream: &mut impl BufRead, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let got = stream.by_ref().take(count).read_to_end(&mut bytes)?;
    if (got as u64) < count { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let ask = Ask {
            settings: vec![("readonly".to_owned(), "1".to_owned())],
            database: None,
            format: "CSV".to_owned(),
            bytes: 9,
        };
        let mut stream = Vec::new();
        write(&mut stream, &ask, b"select\n1\n").unwrap();
        let mut stream = stream.as_slice();
        assert_eq!(read::<Ask>(&mut stream).unwrap(), Some(ask));
        assert_eq!(read_bytes(&mut stream, 9).unwrap(), b"select\n1\n");
        assert_eq!(read::<Ask>(&mut stream).unwrap(), None);
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        assert!(read::<Reply>(&mut b"{\"answer\":\"do".as_slice()).is_err());
        assert!(read_bytes(&mut b"abc".as_slice(), 4).is_err());
        // A length that is a lie takes no memory.
        assert!(read_bytes(&mut b"abc".as_slice(), u64::MAX).is_err());
    }
}
