//! Which skills a change touches, by what git says.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use camino::Utf8Path;
use proctor_formats::eval::Skill;

/// Files that differ from a commit, and files that git does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFiles(Vec<PathBuf>);

/// Why nobody knows what changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangedError {
    /// The base can be no commit.
    #[error("`{base}` names no commit: it is empty or begins with `-`")]
    BadBase {
        /// As it was given.
        base: String,
    },
    /// The base is no commit of the repository.
    #[error(
        "`{base}` is no commit here; fetch it first, for instance with `git fetch origin`, or name \
         another with `--base`"
    )]
    NoCommit {
        /// As it was given.
        base: String,
    },
    /// The project is in no repository.
    #[error("{folder} is in no git repository, which `--changed-only` needs: {message}")]
    NoRepository {
        /// The project root.
        folder: String,
        /// What git says.
        message: String,
    },
    /// Git fails.
    #[error("`git {command}` failed: {message}")]
    Git {
        /// The command.
        command: String,
        /// What it says.
        message: String,
    },
    /// Git cannot be started.
    #[error("git cannot be run, and `--changed-only` needs it: {0}")]
    NotRun(io::Error),
}

/// Asks git in the project at `root` what differs between the commit `base` and the working
/// directory, and which files below `root` it does not know and does not ignore.
pub fn changed_files(root: &Utf8Path, base: &str) -> Result<ChangedFiles, ChangedError> {
    if base.trim().is_empty() || base.starts_with('-') {
        return Err(ChangedError::BadBase { base: base.to_owned() });
    }
    let top = git(root, &["rev-parse", "--show-toplevel"]).map_err(|error| match error {
        ChangedError::Git { message, .. } => {
            ChangedError::NoRepository { folder: root.to_string(), message }
        }
        error => error,
    })?;
    let top = PathBuf::from(OsString::from_vec(top.strip_suffix(b"\n").unwrap_or(&top).to_vec()));
    let commit = format!("{base}^{{commit}}");
    let commit = git(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])
        .map_err(|error| match error {
            ChangedError::Git { .. } => ChangedError::NoCommit { base: base.to_owned() },
            error => error,
        })?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    // Without looking for renames, a file that was moved away counts at its old place too.
    let diff = ["diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-relative"];
    let differing = git(root, &[&diff[..], &[&commit, "--"]].concat())?;
    let unknown = ["ls-files", "-z", "--full-name", "--others", "--exclude-standard"];
    let unknown = git(root, &unknown)?;
    let names = differing.split(|byte| *byte == 0).chain(unknown.split(|byte| *byte == 0));
    let names = names.filter(|name| !name.is_empty());
    let mut paths: Vec<PathBuf> = names.map(|name| top.join(OsStr::from_bytes(name))).collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(ChangedFiles(paths))
}

impl ChangedFiles {
    /// Whether a changed file lies in the folder of the skill or in one of its eval folders, or is
    /// a link that makes up such a folder.
    pub fn touch(&self, skill: &Skill) -> bool {
        let folders = skill.eval_folders.iter().chain([&skill.folder]);
        let mut roots = Vec::new();
        for folder in folders {
            // Git names files by where they really are.
            roots.extend(folder.as_std_path().canonicalize().ok());
            roots.extend(in_real_parent(folder.as_std_path()));
        }
        roots.iter().any(|root| self.holds_below(root))
    }

    /// Whether `root` or anything below it changed. The paths are sorted by their parts, so what
    /// lies below stands together.
    fn holds_below(&self, root: &Path) -> bool {
        let at = self.0.partition_point(|path| path.as_path() < root);
        self.0.get(at).is_some_and(|path| path.starts_with(root))
    }
}

/// The path itself, whatever it links to, in its parent's real folder.
fn in_real_parent(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// What a git command prints. Of what the repository and its surroundings configure, nothing is run
/// but the filters without which files cannot be compared; no network is used, nothing is written.
fn git(folder: &Utf8Path, arguments: &[&str]) -> Result<Vec<u8>, ChangedError> {
    let mut command = Command::new("git");
    // A hook that runs us has set up git for its own repository.
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(b"GIT_") {
            command.env_remove(name);
        }
    }
    command
        .args(["--no-pager", "--no-optional-locks", "--literal-pathspecs"])
        .args(["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let output = command.output().map_err(ChangedError::NotRun)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let message = message.lines().map(str::trim).find(|line| !line.is_empty());
    Err(ChangedError::Git {
        command: arguments.first().copied().unwrap_or_default().to_owned(),
        message: message.unwrap_or("it says nothing").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

    use std::fs;
    use std::os::unix::fs::symlink;

    use camino::Utf8PathBuf;
    use proctor_formats::eval::find;

    use super::*;

    struct Repository {
        _temp: tempfile::TempDir,
        root: Utf8PathBuf,
    }

    impl Repository {
        /// Skills `a`, `b` and `a-b`, committed; `None` when there is no git.
        fn new() -> Option<Self> {
            let temp = tempfile::tempdir().unwrap();
            let root = Utf8PathBuf::from_path_buf(temp.path().join("re po")).unwrap();
            let repository = Self { _temp: temp, root };
            for skill in ["a", "b", "a-b"] {
                repository.write(&format!("project/.ai-rulez/skills/{skill}/SKILL.md"), "1");
            }
            repository.write("project/.ai-rulez/evals/b/b.eval.yaml", "1");
            repository.write("shared/linked/SKILL.md", "1");
            repository.write(".gitignore", "ignored*\n");
            let started = Command::new("git").arg("--version").output().is_ok();
            if !started {
                eprintln!("skipped: no git");
                return None;
            }
            repository.git(&["init", "-q"]);
            repository.commit();
            Some(repository)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn git(&self, arguments: &[&str]) {
            let output = Command::new("git")
                .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
                .args(arguments)
                .current_dir(&self.root)
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }

        fn commit(&self) {
            self.git(&["add", "-A"]);
            self.git(&["commit", "-qm", "x"]);
        }

        fn project(&self) -> Utf8PathBuf {
            self.root.join("project")
        }

        fn touched(&self, base: &str) -> String {
            let changed = changed_files(&self.project(), base).unwrap();
            let project = find(&self.project(), None).unwrap();
            let touched = project.skills.iter().filter(|skill| changed.touch(skill));
            touched.map(|skill| skill.id.clone()).collect::<Vec<_>>().join(" ")
        }
    }

    #[test]
    fn a_change_selects_the_skill_that_it_lies_in() {
        let Some(repository) = Repository::new() else { return };
        assert_eq!(repository.touched("HEAD"), "");
        repository.write("project/.ai-rulez/skills/a/SKILL.md", "2");
        repository.write("project/README.md", "2");
        assert_eq!(repository.touched("HEAD"), "a");
        repository.write("project/.ai-rulez/evals/b/b.eval.yaml", "2");
        assert_eq!(repository.touched("HEAD"), "a b");
        repository.commit();
        assert_eq!(repository.touched("HEAD"), "");
        assert_eq!(repository.touched("HEAD~1"), "a b");
    }

    #[test]
    fn new_and_removed_and_staged_files_count_and_ignored_ones_do_not() {
        let Some(repository) = Repository::new() else { return };
        repository.write("project/.ai-rulez/skills/a/ignored.txt", "2");
        assert_eq!(repository.touched("HEAD"), "");
        repository.write("project/.ai-rulez/skills/a/references/na\u{ef}ve\n.md", "2");
        assert_eq!(repository.touched("HEAD"), "a");
        fs::remove_file(repository.project().join(".ai-rulez/evals/b/b.eval.yaml")).unwrap();
        repository.write("project/.ai-rulez/skills/a-b/new.md", "2");
        repository.git(&["add", "project/.ai-rulez/skills/a-b/new.md"]);
        assert_eq!(repository.touched("HEAD"), "a a-b b");
    }

    #[test]
    fn a_file_that_moves_away_touches_both_places() {
        let Some(repository) = Repository::new() else { return };
        let skills = "project/.ai-rulez/skills";
        repository.write(&format!("{skills}/a/long.md"), &"line\n".repeat(50));
        repository.commit();
        repository.git(&["mv", &format!("{skills}/a/long.md"), &format!("{skills}/b/long.md")]);
        assert_eq!(repository.touched("HEAD"), "a b");
    }

    #[test]
    fn links_are_followed_and_count_themselves() {
        let Some(repository) = Repository::new() else { return };
        let link = repository.project().join(".ai-rulez/skills/a/evals");
        repository.write("project/.ai-rulez/material/x.eval.yaml", "1");
        symlink("../../material", &link).unwrap();
        repository.commit();
        repository.write("project/.ai-rulez/material/x.eval.yaml", "2");
        assert_eq!(repository.touched("HEAD"), "a");
        repository.git(&["checkout", "-q", "--", "."]);
        fs::remove_file(&link).unwrap();
        symlink("../../../.ai-rulez/material", &link).unwrap();
        assert_eq!(repository.touched("HEAD"), "a");
    }

    #[test]
    fn a_base_must_be_a_commit() {
        let Some(repository) = Repository::new() else { return };
        let error =
            |base: &str| changed_files(&repository.project(), base).unwrap_err().to_string();
        for base in ["", " ", "--output=/tmp/x", "-h"] {
            assert!(error(base).contains("names no commit"), "{base}");
        }
        for base in ["origin/main", "HEAD:project", "0000000"] {
            assert!(error(base).starts_with(&format!("`{base}` is no commit here")), "{base}");
        }
    }

    #[test]
    fn outside_of_a_repository_it_says_so() {
        if Repository::new().is_none() {
            return;
        }
        let temp = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(temp.path()).unwrap();
        let error = changed_files(folder, "HEAD").unwrap_err().to_string();
        assert!(error.contains("is in no git repository"), "{error}");
    }

    #[test]
    fn programs_that_the_repository_configures_are_not_run() {
        let Some(repository) = Repository::new() else { return };
        let proof = repository.root.join("proof");
        let touch = format!("touch '{proof}'");
        for name in ["core.fsmonitor", "diff.external", "core.pager", "diff.x.textconv"] {
            repository.git(&["config", name, &touch]);
        }
        repository.write(".gitattributes", "*.md diff=x\n");
        repository.write("project/.ai-rulez/skills/a/SKILL.md", "2");
        assert_eq!(repository.touched("HEAD"), "a");
        assert!(!proof.exists());
    }
}
