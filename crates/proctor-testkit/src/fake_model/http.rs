//! As much of HTTP/1.1 as agent programs use: one request a connection, so that every way of ending it is exact.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{setsockopt, sockopt};

const MAX_HEAD: u64 = 64 * 1024;
const MAX_BODY: u64 = 64 * 1024 * 1024;

/// A request line with its headers; header names are lowercase.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// One accepted connection, and what has been sent on it.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    /// The value of the `request-id` headers.
    pub(crate) request_id: String,
    /// The status that was sent.
    pub(crate) status: Option<u16>,
    aborted: bool,
}

/// How a pause ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The time is over.
    Over,
    /// The client closed its side, or the server is being stopped.
    Gone,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            reader: BufReader::new(stream),
            request_id: String::new(),
            status: None,
            aborted: false,
        }
    }

    /// Reads up to the empty line; `None` when the client sent nothing at all.
    pub(crate) fn read_head(&mut self) -> io::Result<Option<Head>> {
        let mut limited = self.reader.by_ref().take(MAX_HEAD);
        let Some(request_line) = read_line(&mut limited)? else { return Ok(None) };
        let mut words = request_line.split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        loop {
            match read_line(&mut limited)?.as_deref() {
                None => return Err(ErrorKind::UnexpectedEof.into()),
                Some("") => return Ok(Some(Head { method, target, headers })),
                Some(line) => {
                    let (name, value) = line.split_once(':').unwrap_or((line, ""));
                    headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
                }
            }
        }
    }

    pub(crate) fn read_body(&mut self, head: &Head) -> io::Result<Vec<u8>> {
        if head.header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let chunked = head
            .header("transfer-encoding")
            .is_some_and(|value| value.to_ascii_lowercase().contains("chunked"));
        if chunked {
            return self.read_chunks();
        }
        let length = match head.header("content-length") {
            Some(text) => text.parse().map_err(|_| io::Error::from(ErrorKind::InvalidData))?,
            None => 0,
        };
        self.read_exactly(length)
    }

    fn read_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = read_line(&mut self.reader.by_ref().take(MAX_HEAD))?;
            let size = line.as_deref().and_then(|text| text.split(';').next());
            let size = size.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
            let size = size.ok_or(ErrorKind::InvalidData)?;
            if size.saturating_add(body.len() as u64) > MAX_BODY {
                return Err(ErrorKind::InvalidData.into());
            }
            body.extend(self.read_exactly(size)?);
            // The line end of a chunk, or the (empty) trailer.
            read_line(&mut self.reader.by_ref().take(MAX_HEAD))?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    pub(crate) fn read_exactly(&mut self, length: u64) -> io::Result<Vec<u8>> {
        if length > MAX_BODY {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut body = Vec::new();
        let got = self.reader.by_ref().take(length).read_to_end(&mut body)?;
        if (got as u64) < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(body) }
    }

    /// Sends a whole answer.
    pub(crate) fn respond(
        &mut self,
        status: u16,
        content_type: &str,
        body: &[u8],
        headers: &[(String, String)],
    ) -> io::Result<()> {
        self.start(status, content_type, &format!("content-length: {}", body.len()), headers)?;
        self.send(body)
    }

    /// Sends the headers of an event stream.
    pub(crate) fn start_stream(&mut self) -> io::Result<()> {
        self.start(200, "text/event-stream; charset=utf-8", "transfer-encoding: chunked", &[])
    }

    /// Sends a status line and headers; `framing` says how the body's end is found.
    pub(crate) fn start(
        &mut self,
        status: u16,
        content_type: &str,
        framing: &str,
        headers: &[(String, String)],
    ) -> io::Result<()> {
        self.status = Some(status);
        let id = &self.request_id;
        let reason = reason(status);
        let mut head = format!(
            "HTTP/1.1 {status} {reason}\r\ncontent-type: {content_type}\r\n{framing}\r\n\
             connection: close\r\nrequest-id: {id}\r\nx-request-id: {id}\r\n"
        );
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        self.send(head.as_bytes())
    }

    /// Sends one chunk of a stream.
    pub(crate) fn chunk(&mut self, data: &[u8]) -> io::Result<()> {
        let mut framed = format!("{:x}\r\n", data.len()).into_bytes();
        framed.extend_from_slice(data);
        framed.extend_from_slice(b"\r\n");
        self.send(&framed)
    }

    /// Ends a stream cleanly.
    pub(crate) fn end_stream(&mut self) -> io::Result<()> {
        self.send(b"0\r\n\r\n")
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Makes the coming close a TCP reset: with a linger time of zero nothing is flushed.
    pub(crate) fn reset(&mut self) -> io::Result<()> {
        self.aborted = true;
        let abort = libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(self.reader.get_ref(), sockopt::Linger, &abort).map_err(io::Error::from)
    }

    /// Waits for `time`, or until the client has gone.
    pub(crate) fn pause(&self, time: Duration) -> io::Result<Pause> {
        // The library has no name for this one.
        let half_closed = PollFlags::from_bits_retain(libc::POLLRDHUP);
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Pause::Over);
            }
            // Rounded up, so that the loop never spins through the last millisecond.
            let timeout =
                PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
            let mut fds = [PollFd::new(self.reader.get_ref().as_fd(), half_closed)];
            match poll(&mut fds, timeout) {
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return Ok(Pause::Gone),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Ends an answer, unless the connection is to be reset.
    pub(crate) fn finish(&self) {
        if !self.aborted {
            // The client may have gone already: then there is nothing to end.
            let _ = self.reader.get_ref().shutdown(Shutdown::Write);
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop() != Some(b'\n') {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    line.pop_if(|byte| *byte == b'\r');
    String::from_utf8(line).map(Some).map_err(|_| ErrorKind::InvalidData.into())
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        _ => "Other",
    }
}
