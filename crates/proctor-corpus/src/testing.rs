//! A small corpus and a project to install it into, for tests.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use crate::{Compat, Corpus, InstallError, InstallReport, InstallRequest, Manner, Selection};

const MANIFEST: &str = r#"{"schemaVersion": "1.0", "harnesses": ["claude", "codex", "copilot",
  "cursor", "opencode", "pi", "kettle"], "profiles": ["tea", "tea/green", "cratis/application/x",
  "cratis/documentation", "tea/forgotten"], "languages": ["csharp", "typescript", "kotlin"]}"#;

const CATALOG: &str = r#"{"publicProfiles": [
  {"id": "tea", "composes": ["tea/green"], "availableTargets": ["brew", "absent"]},
  {"id": "tea/green", "languages": ["csharp"], "availableTargets": ["steep"]},
  {"id": "cratis/application/x"}], "engineeringProfiles": [{"id": "cratis/documentation"}]}"#;

const SERVERS: &str = r#"{"schemaVersion": "1.0", "servers": [{"id": "screenplay",
  "profiles": ["tea/green"], "transport": "stdio", "command": "kettle", "args": ["boil", "mcp"],
  "description": "Boils."}]}"#;

/// The files of the small corpus, below `.cratis/ai`.
const FILES: [(&str, &str); 17] = [
    ("manifest.json", MANIFEST),
    ("profile-catalog.json", CATALOG),
    ("agents/taster.md", "---\nname: taster\n---\nTaste.\n"),
    ("harnesses/cursor/rules/tea.mdc", "Tea.\n"),
    ("harnesses/kettle/on.txt", "on\n"),
    ("harnesses/pi/extensions/tea.ts", "export {};\n"),
    ("hooks/check.sh", "#!/bin/sh\nexit 0\n"),
    ("hooks/settings.template.json", "{\"hooks\": {}}"),
    ("prompts/brew.prompt.md", "Brew.\n"),
    ("rules/general.md", "# General\n"),
    ("rules/csharp.md", "---\napplyTo: \"**/*.cs\"\n---\n# C#\n"),
    ("rules/app.md", "---\nprofile: application\n---\n# App\n"),
    ("skills/brew/SKILL.md", "---\nname: brew\n---\nBrew.\n"),
    ("skills/brew/evals/evals.json", "{}"),
    ("skills/brew/verification.json", "{}"),
    ("skills/other/SKILL.md", "Other.\n"),
    ("skills/steep/references/time.md", "Three minutes.\n"),
];

/// A corpus checkout and an empty project.
pub(crate) struct Bench {
    pub(crate) temp: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self { temp: tempfile::tempdir().unwrap() };
        for (path, text) in FILES {
            bench.write(&format!("corpus/.cratis/ai/{path}"), text);
        }
        std::fs::create_dir(bench.at("project")).unwrap();
        // The revision of a directory without git is its time.
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_hours(24);
        std::fs::File::open(bench.at("corpus")).unwrap().set_modified(time).unwrap();
        bench
    }

    /// With the MCP server `screenplay`, which the profile `tea/green` selects.
    pub(crate) fn with_mcp() -> Self {
        let bench = Self::new();
        bench.write("corpus/.cratis/ai/mcp-servers.json", SERVERS);
        bench
    }

    pub(crate) fn at(&self, path: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.temp.path()).unwrap().join(path)
    }

    pub(crate) fn project(&self) -> Utf8PathBuf {
        self.at("project")
    }

    pub(crate) fn corpus(&self) -> Corpus {
        Corpus::open(&self.at("corpus")).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.at(path)).unwrap();
    }

    pub(crate) fn install(&self, request: &InstallRequest) -> Result<InstallReport, InstallError> {
        crate::install(&self.project(), &self.corpus(), request)
    }

    /// Everything in the project: path, kind, content or target, permission bits.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        walk(&self.project(), "", &mut tree);
        tree
    }

    /// The paths in the project, directories left out.
    pub(crate) fn paths(&self) -> String {
        let tree = self.tree();
        tree.iter()
            .filter(|(_, content)| !content.starts_with("directory"))
            .map(|(path, content)| match content.strip_prefix("link ") {
                Some(target) => format!("{path} -> {target}\n"),
                None => format!("{path}\n"),
            })
            .collect()
    }
}

fn walk(directory: &Utf8Path, prefix: &str, tree: &mut BTreeMap<String, String>) {
    for entry in directory.read_dir_utf8().unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name());
        let metadata = entry.path().symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o777;
        let content = if metadata.is_symlink() {
            format!("link {}", entry.path().read_link_utf8().unwrap())
        } else if metadata.is_dir() {
            walk(entry.path(), &format!("{path}/"), tree);
            format!("directory {mode:o}")
        } else {
            let bytes = std::fs::read(entry.path()).unwrap();
            format!("file {mode:o} {}", String::from_utf8_lossy(&bytes))
        };
        tree.insert(path, content);
    }
}

/// Asserts that two trees are equal, and names only what is not.
#[track_caller]
pub(crate) fn assert_same(
    found: &BTreeMap<String, String>,
    expected: &BTreeMap<String, String>,
    context: &str,
) {
    let paths: std::collections::BTreeSet<_> = found.keys().chain(expected.keys()).collect();
    let differing: Vec<_> = paths
        .into_iter()
        .filter(|&path| found.get(path) != expected.get(path))
        .map(|path| (path, found.get(path), expected.get(path)))
        .collect();
    assert!(differing.is_empty(), "{context}: (path, found, expected) {differing:#?}");
}

/// One item a line.
pub(crate) fn lines<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join("\n")
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// A request for harnesses, profiles and languages, separated by spaces.
pub(crate) fn request(harnesses: &str, profiles: &str, languages: &str) -> InstallRequest {
    let selection = Selection {
        harnesses: words(harnesses),
        profiles: words(profiles),
        languages: words(languages),
    };
    InstallRequest { selection, compat: Compat::Proctor, manner: Manner::default() }
}

/// Replaces what was edited.
pub(crate) const FORCE: Manner = Manner { force: true, dry_run: false };
/// Only says what would be done.
pub(crate) const DRY_RUN: Manner = Manner { force: false, dry_run: true };

pub(crate) fn forced(request: InstallRequest) -> InstallRequest {
    InstallRequest { manner: FORCE, ..request }
}
