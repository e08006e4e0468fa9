//! Where the library is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The variable that names the library's file.
pub const LIBRARY_VARIABLE: &str = "PROCTOR_LIBCHDB";

/// The name of the library's file.
pub const FILE_NAME: &str = "libchdb.so";

/// Where the library may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// What the user says, which is the only place when it is said.
    pub named: Option<PathBuf>,
    /// Where `proctor engine install` puts it; `None` without a home.
    pub installed: Option<PathBuf>,
    /// Where libraries are.
    pub system: Vec<PathBuf>,
}

/// A library that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
}

impl Places {
    /// By the variables of an environment: `PROCTOR_LIBCHDB`, the folder for users' data
    /// (`XDG_DATA_HOME`, or `~/.local/share`), `LD_LIBRARY_PATH`, `/usr/local/lib`, `/usr/lib`.
    pub fn of(environment: &BTreeMap<String, String>) -> Self {
        let var = |name: &str| environment.get(name).filter(|value| !value.is_empty());
        let listed = var("LD_LIBRARY_PATH").into_iter().flat_map(|list| list.split(':'));
        let folders = listed.filter(|folder| folder.starts_with('/'));
        let folders = folders.chain(["/usr/local/lib", "/usr/lib"]);
        Self {
            named: var(LIBRARY_VARIABLE).map(PathBuf::from),
            installed: installed_in(environment).map(|folder| folder.join(FILE_NAME)),
            system: folders.map(|folder| Path::new(folder).join(FILE_NAME)).collect(),
        }
    }

    /// The places that are looked at, in their order.
    pub fn in_order(&self) -> Vec<&Path> {
        match &self.named {
            Some(named) => vec![named],
            None => self.installed.iter().chain(&self.system).map(PathBuf::as_path).collect(),
        }
    }
}

/// The folder of the version that this program installs.
pub(crate) fn installed_in(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let var = |name: &str| environment.get(name).filter(|value| value.starts_with('/'));
    let data = var("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(Path::new(var("HOME")?).join(".local/share")))?;
    Some(data.join("proctor/engines").join(crate::install::PINNED.folder()))
}

/// The first library that is there.
pub fn find(places: &Places) -> Option<Found> {
    places.in_order().into_iter().find_map(|path| {
        let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some(Found { path: path.to_owned(), size: metadata.len() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(pairs: &[(&str, &str)]) -> Places {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Places::of(&pairs.collect())
    }

    #[test]
    fn what_the_user_names_is_the_only_place() {
        let named = places(&[(LIBRARY_VARIABLE, "/x/libchdb.so"), ("HOME", "/home/me")]);
        assert_eq!(named.in_order(), [Path::new("/x/libchdb.so")]);
    }

    #[test]
    fn else_the_users_folder_comes_before_the_systems() {
        let home = places(&[("HOME", "/home/me"), ("LD_LIBRARY_PATH", "/opt/x::relative")]);
        let texts: Vec<String> =
            home.in_order().iter().map(|path| path.display().to_string()).collect();
        assert!(texts[0].starts_with("/home/me/.local/share/proctor/engines/clickhouse-"));
        assert_eq!(
            texts[1..],
            ["/opt/x/libchdb.so", "/usr/local/lib/libchdb.so", "/usr/lib/libchdb.so"]
        );
        assert!(places(&[("HOME", "relative")]).installed.is_none());
    }

    #[test]
    fn only_a_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let named = Places { named: Some(path.clone()), installed: None, system: Vec::new() };
        assert_eq!(find(&named), None);
        std::fs::create_dir(&path).unwrap();
        assert_eq!(find(&named), None);
        std::fs::remove_dir(&path).unwrap();
        std::fs::write(&path, "x").unwrap();
        assert_eq!(find(&named), Some(Found { path, size: 1 }));
    }
}
