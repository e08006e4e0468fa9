//! Installing the library: one pinned package, fetched by the user's own `npm` from the registry
//! that his settings name, or taken from a file; checked here, and unpacked whole or not at all.

mod unpack;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::local::FILE_NAME;

/// A package that holds the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Its name in the registry.
    pub name: &'static str,
    /// Its exact version.
    pub version: &'static str,
    /// The SHA-512 of the archive, in base 64, as registries state it.
    pub sha512: &'static str,
    /// The system that it is for, as Rust calls it: operating system and processor.
    pub system: (&'static str, &'static str),
    /// The largest size of the archive and of the library, in bytes.
    pub at_most: (u64, u64),
}

/// The package that this version of Proctor works with (Apache-2.0).
pub const PINNED: Package = Package {
    name: "@chdb/lib-linux-x64-gnu",
    version: "26.7.3-stable.1",
    sha512: "XP97mMqnc5tZpKQywR8N7cLTsHNiTmHr30pC5mzo3jWmukjKn2IBa60c2B/gWUNcuFjOMjWoorQICCqBVj5wpw==",
    system: ("linux", "x86_64"),
    at_most: (256 << 20, 1 << 30),
};

/// The library's place in the archive.
const MEMBER: &str = "package/libchdb.so";

/// Where the archive comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// The user's `npm`: the program, which is looked up on the `PATH`.
    Npm(&'a Path),
    /// A file that somebody fetched with `npm pack`.
    File(&'a Path),
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `npm` fetches the archive.
    Fetching,
    /// The archive is compared with the pinned digest.
    Checking,
    /// The library is taken out.
    Unpacking,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The library's file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it had been there before.
    pub was_there: bool,
}

/// Why nothing was installed. What was there before is as it was.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is none for this system.
    #[error("ClickHouse as a library is known for {} on {} only", .0.0, .0.1)]
    System((&'static str, &'static str)),
    /// `npm` is missing.
    #[error("`npm` cannot be started: {0}")]
    NoNpm(io::Error),
    /// `npm` failed.
    #[error("`npm pack {spec}` failed ({status}){said}")]
    Npm {
        /// What was asked for.
        spec: String,
        /// How it ended.
        status: String,
        /// The end of what it said, after a line break; may be empty.
        said: String,
    },
    /// `npm` left no archive, or several.
    #[error("`npm pack {0}` left no archive")]
    NoArchive(String),
    /// The archive is not the one that is pinned.
    #[error(
        "{} is not {}: its SHA-512 is {found}, expected {expected}",
        .path.display(), .package
    )]
    Digest {
        /// The archive.
        path: PathBuf,
        /// What it should be.
        package: String,
        /// Its digest.
        found: String,
        /// The pinned one.
        expected: &'static str,
    },
    /// The archive is too large to be the one that is pinned.
    #[error("{} is larger than {at_most} bytes", .path.display())]
    TooLarge {
        /// The archive, or the library.
        path: PathBuf,
        /// The limit.
        at_most: u64,
    },
    /// The archive does not hold the library.
    #[error("{} holds no {MEMBER}", .0.display())]
    NoLibrary(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl Package {
    /// `NAME@VERSION`, as `npm` takes it.
    pub fn spec(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The name of the folder of this version.
    pub(crate) fn folder(&self) -> String {
        format!("clickhouse-{}", self.version)
    }
}

/// The folder where the library goes unless the user says otherwise: `proctor/engines/…` in
/// `XDG_DATA_HOME`, or in `~/.local/share`. `None` without a home.
pub fn default_folder(environment: &std::collections::BTreeMap<String, String>) -> Option<PathBuf> {
    crate::local::Places::of(environment)
        .installed
        .and_then(|file| file.parent().map(Path::to_owned))
}

/// Installs the library of `package` in `folder`, unless it is there.
///
/// # Errors
///
/// [`InstallError`]; nothing is left behind then.
pub fn install(
    package: &Package,
    source: Source<'_>,
    folder: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<Installed, InstallError> {
    if package.system != (std::env::consts::OS, std::env::consts::ARCH) {
        return Err(InstallError::System(package.system));
    }
    let path = folder.join(FILE_NAME);
    if let Ok(metadata) = fs::metadata(&path)
        && metadata.is_file()
        && fs::read_to_string(mark(folder)).is_ok_and(|spec| spec.trim() == package.spec())
    {
        return Ok(Installed { path, size: metadata.len(), was_there: true });
    }
    fs::create_dir_all(folder).map_err(at(folder))?;
    // Beside the place where the library goes, so that it can be renamed; gone with everything in
    // it, however this ends.
    let aside = tempfile::Builder::new().prefix(".installing-").tempdir_in(folder);
    let aside = aside.map_err(at(folder))?;
    let archive = match source {
        Source::File(path) => path.to_owned(),
        Source::Npm(npm) => {
            tell(Step::Fetching);
            fetch(package, npm, aside.path())?
        }
    };
    tell(Step::Checking);
    let file = unpack::checked(package, &archive)?;
    tell(Step::Unpacking);
    let unpacked = aside.path().join(FILE_NAME);
    let size = unpack::library(package, file, &archive, &unpacked)?;
    fs::rename(&unpacked, &path).map_err(at(&path))?;
    fs::write(mark(folder), package.spec() + "\n").map_err(at(&mark(folder)))?;
    Ok(Installed { path, size, was_there: false })
}

/// The file that says which package a folder holds.
fn mark(folder: &Path) -> PathBuf {
    folder.join("package.txt")
}

/// Which version a folder holds, as far as this program installed it.
pub fn version_in(folder: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = String::new();
    File::open(mark(folder)).ok()?.take(256).read_to_string(&mut text).ok()?;
    text.trim().rsplit_once('@').map(|(_, version)| version.to_owned())
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_owned();
    move |error| InstallError::File { path, error }
}

/// Lets `npm` fetch the archive. It runs in an empty folder, so that the settings of the user and
/// of the environment hold, and none that lie in a project; nothing of the package is run.
fn fetch(package: &Package, npm: &Path, aside: &Path) -> Result<PathBuf, InstallError> {
    let spec = package.spec();
    let downloaded = aside.join("download");
    fs::create_dir(&downloaded).map_err(at(&downloaded))?;
    let output = Command::new(npm)
        .args(["pack", &spec, "--pack-destination"])
        .arg(&downloaded)
        .args(["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"])
        .arg("--loglevel=error")
        .current_dir(aside)
        .stdin(Stdio::null())
        .output()
        .map_err(InstallError::NoNpm)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = said.len().saturating_sub(12);
        let said = said.get(last..).unwrap_or_default();
        let said = [&[""][..], said].concat().join("\n  ");
        return Err(InstallError::Npm { spec, status: output.status.to_string(), said });
    }
    let mut names: Vec<OsString> = fs::read_dir(&downloaded)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect())
        .map_err(at(&downloaded))?;
    match (names.pop(), names.is_empty()) {
        (Some(name), true) => Ok(downloaded.join(name)),
        _ => Err(InstallError::NoArchive(spec)),
    }
}

#[cfg(test)]
mod tests;
