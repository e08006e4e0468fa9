//! The engine's process.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use nix::unistd;

use super::confine::confine;
use super::ffi::{Chdb, exit_now};
use super::frame::{self, Ask, Reply};
use crate::query::MAX_ANSWER;
use crate::schema::{quoted_name, quoted_text};

/// The first argument by which the engine's process is asked for: `proctor __clickhouse LIBRARY
/// FOLDER`.
pub const ARGUMENT: &str = "__clickhouse";

/// The longest statement that is taken, in bytes: rows that are put in are part of it.
const MAX_STATEMENT: u64 = 64 << 20;

/// Runs the engine until standard input ends. It answers statements one after the other.
pub fn main(args: &[OsString]) -> i32 {
    let [library, folder] = args else { return 2 };
    let (library, folder) = (Path::new(library), Path::new(folder));
    let Ok((input, mut output)) = apart() else { return 2 };
    let opened = confine(library, folder).and_then(|()| Chdb::open(library));
    let served = opened.and_then(|chdb| serve(&chdb, folder, input, &mut output));
    let code = match served {
        Ok(()) => 0,
        Err(message) => {
            // Nobody listens to a process whose output is gone.
            let _ = frame::write(&mut output, &Reply::Failed { message }, &[]);
            1
        }
    };
    exit_now(code)
}

/// The input and the output of this process, which the engine itself gets none of: it would take
/// what stands in its input for rows of an insertion.
fn apart() -> io::Result<(File, File)> {
    let input = unistd::dup(io::stdin())?;
    let output = unistd::dup(io::stdout())?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    unistd::dup2_stdin(&nothing)?;
    unistd::dup2_stdout(&nothing)?;
    Ok((input.into(), output.into()))
}

fn serve(chdb: &Chdb, folder: &Path, input: File, output: &mut File) -> Result<(), String> {
    let data = folder.join("data");
    // Held open, since the engine closes its data with its last session.
    let first = chdb.session(&data)?;
    let version = first.run(b"SELECT version()", "TSVRaw")?;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    frame::write(output, &Reply::Ready { version }, &[]).map_err(|error| error.to_string())?;
    for (ask, sql) in statements(folder, input) {
        let written = match run(chdb, &data, &ask, &sql) {
            Ok(body) => {
                let bytes = body.len() as u64;
                frame::write(output, &Reply::Done { bytes }, &body)
            }
            Err(message) => frame::write(output, &Reply::Failed { message }, &[]),
        };
        written.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The statements of the input. When that ends, so does this process, whatever it is doing:
/// nobody is left to hear of it.
fn statements(folder: &Path, input: File) -> mpsc::IntoIter<(Ask, Vec<u8>)> {
    let (tell, told) = mpsc::sync_channel(1);
    let folder = folder.to_owned();
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Ok(Some(ask)) = frame::read::<Ask>(&mut input) {
            if ask.bytes > MAX_STATEMENT {
                break;
            }
            let Ok(sql) = frame::read_bytes(&mut input, ask.bytes) else { break };
            if tell.send((ask, sql)).is_err() {
                break;
            }
        }
        // Where the one who asked was killed, nobody else removes it.
        let _ = std::fs::remove_dir_all(folder.join("data"));
        exit_now(0);
    });
    told.into_iter()
}

/// Runs one statement in a session of its own, so that settings end with it.
fn run(chdb: &Chdb, data: &Path, ask: &Ask, sql: &[u8]) -> Result<Vec<u8>, String> {
    let session = chdb.session(data)?;
    if let Some(database) = &ask.database {
        session.run(format!("USE {}", quoted_name(database)).as_bytes(), "TSV")?;
    }
    for (name, value) in &ask.settings {
        let set = format!("SET {} = {}", quoted_name(name), quoted_text(value));
        session.run(set.as_bytes(), "TSV")?;
    }
    let body = session.run(sql, &ask.format)?;
    if body.len() as u64 > MAX_ANSWER {
        return Err(format!("the answer is larger than {} MiB", MAX_ANSWER >> 20));
    }
    Ok(body.to_vec())
}
