//! What a runner is, as far as it can be told from outside: the part of the cache key that changes
//! when somebody edits the runner's script or updates its program.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use proctor_model::Digest;

/// Larger files are told apart by size and time of change: 128 MiB.
const MAX_HASHED_BYTES: u64 = 128 * 1024 * 1024;

/// Where programs and files of a command line are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Programs<'a> {
    /// The folder in which the command runs.
    pub folder: &'a Path,
    /// The value of `PATH`.
    pub search: Option<&'a OsStr>,
}

/// The fingerprint of the command runner: the command, and the content of each of its words that is
/// a file. The first word is also looked for in `PATH`; of `--option=file`, what follows the `=`
/// counts.
pub fn command_fingerprint(command: &str, programs: &Programs<'_>) -> String {
    let files: Vec<String> = words(command)
        .iter()
        .enumerate()
        .filter_map(|(index, word)| {
            let file = if index == 0 { programs.find(word) } else { programs.file(word) };
            let file = file.or_else(|| programs.file(word.split_once('=')?.1))?;
            Some(content(&file))
        })
        .collect();
    format!("command={command} program={}", files.join(","))
}

/// The fingerprint of the runner that drives `claude plugin eval`.
pub fn plugin_eval_fingerprint(
    program: &str,
    runs: u64,
    judge_model: &str,
    arguments: &[String],
    programs: &Programs<'_>,
) -> String {
    let stamp = programs.stamp(program);
    format!(
        "bin={program} stamp={stamp} runs={runs} judge={judge_model} args={}",
        quoted(arguments)
    )
}

/// The fingerprint of a runner of ours that drives the agent program `program` itself, `runs`
/// times for each case.
pub fn native_fingerprint(
    program: &str,
    runs: u64,
    arguments: &[String],
    programs: &Programs<'_>,
) -> String {
    let stamp = programs.stamp(program);
    format!("bin={program} stamp={stamp} runs={runs} args={}", quoted(arguments))
}

/// Arguments as one text that no other arguments have.
fn quoted(arguments: &[String]) -> String {
    serde_json::to_string(arguments).unwrap_or_default()
}

impl Programs<'_> {
    /// The program of this name: a path, or a name that `PATH` leads to.
    fn find(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            return self.file(name);
        }
        let folders = std::env::split_paths(self.search?);
        let is_program = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        };
        folders.map(|folder| self.folder.join(folder).join(name)).find(is_program)
    }

    /// The regular file that a word names.
    fn file(&self, word: &str) -> Option<PathBuf> {
        let path = self.folder.join(word);
        (!word.is_empty() && path.is_file()).then_some(path)
    }

    /// Path, size and time of change of a program; empty when it is not found.
    fn stamp(&self, program: &str) -> String {
        let Some(path) = self.find(program) else { return String::new() };
        format!("{}:{}", path.display(), size_and_time(&path).unwrap_or_default())
    }
}

/// The words of a shell command, as far as they can be told without a shell.
fn words(command: &str) -> Vec<String> {
    let plain = || command.split_whitespace().map(str::to_owned).collect();
    shlex::split(command).unwrap_or_else(plain)
}

fn content(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let value = hash(file).unwrap_or_else(|_| "unreadable".to_owned());
    format!("{name}={value}")
}

fn hash(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() > MAX_HASHED_BYTES {
        return size_and_time(path);
    }
    let mut stream = Digest::stream();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(format!("sha256:{}", stream.finish()));
        }
        stream.update(buffer.get(..count).unwrap_or_default());
    }
}

fn size_and_time(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    Ok(format!("{}:{}.{:09}", metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path, text: &str, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let bin = temp.path().join("bin");
        write(&bin.join("runner"), "abc", 0o755);
        write(&bin.join("data"), "abc", 0o644);
        write(&temp.path().join("run.sh"), "abc", 0o644);
        write(&temp.path().join("a b.toml"), "", 0o644);
        (temp, bin)
    }

    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn every_word_that_is_a_file_counts() {
        let (temp, bin) = folder();
        let programs = Programs { folder: temp.path(), search: Some(bin.as_os_str()) };
        for (command, files) in [
            ("./run.sh", format!("run.sh={ABC}")),
            ("runner --config='a b.toml'", format!("runner={ABC},a b.toml={EMPTY}")),
            ("sh run.sh data", format!("run.sh={ABC}")),
            ("X=run.sh runner", format!("run.sh={ABC}")),
            // Not executable, not there, a folder, nothing.
            ("data", String::new()),
            ("./gone.sh bin .", String::new()),
            ("", String::new()),
            // No shell would take it; its words are told apart all the same.
            ("./run.sh 'open", format!("run.sh={ABC}")),
        ] {
            let fingerprint = command_fingerprint(command, &programs);
            assert_eq!(fingerprint, format!("command={command} program={files}"));
        }
        // Without `PATH` no name leads anywhere.
        let lost = Programs { search: None, ..programs };
        assert_eq!(command_fingerprint("runner", &lost), "command=runner program=");
    }

    #[test]
    fn editing_a_script_changes_the_fingerprint() {
        let (temp, bin) = folder();
        let programs = Programs { folder: temp.path(), search: Some(bin.as_os_str()) };
        symlink("run.sh", temp.path().join("link.sh")).unwrap();
        let before = command_fingerprint("./link.sh", &programs);
        assert_eq!(before, format!("command=./link.sh program=link.sh={ABC}"));
        write(&temp.path().join("run.sh"), "abd", 0o644);
        assert_ne!(command_fingerprint("./link.sh", &programs), before);
    }

    #[test]
    fn programs_are_told_apart_by_their_stamp() {
        let (temp, bin) = folder();
        let programs = Programs { folder: temp.path(), search: Some(bin.as_os_str()) };
        let of = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            plugin_eval_fingerprint("runner", 3, "j", &arguments, &programs)
        };
        let begin = format!("bin=runner stamp={}:3:", bin.join("runner").display());
        assert!(of(&["a", "b"]).starts_with(&begin), "{}", of(&["a", "b"]));
        assert!(of(&["a", "b"]).ends_with(" runs=3 judge=j args=[\"a\",\"b\"]"));
        assert_ne!(of(&["a", "b"]), of(&["a b"]));
        let native = native_fingerprint("runner", 1, &[], &programs);
        let longer = || write(&bin.join("runner"), "longer", 0o755);
        longer();
        assert_ne!(native_fingerprint("runner", 1, &[], &programs), native);
        assert!(native_fingerprint("gone", 1, &[], &programs).contains("stamp= "));
    }
}
