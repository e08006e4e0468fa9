//! An empty repository, without running git.

use std::io;
use std::path::Path;
use std::{fs, path::PathBuf};

/// What `git init` writes, less its samples: enough for every git command.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                      \tlogallrefupdates = true\n";

/// Makes `workspace` an empty repository on the branch `main`, unless it has a `.git` of any kind.
/// Says whether it did.
///
/// Agents look for the root of a repository in the folders above them; this one ends the search.
pub fn git_skeleton(workspace: &Path) -> Result<bool, GitError> {
    let git = workspace.join(".git");
    match fs::symlink_metadata(&git) {
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(GitError { path: git, source }),
    }
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        let path = git.join(folder);
        fs::create_dir_all(&path).map_err(|source| GitError { path, source })?;
    }
    for (name, content) in [("config", CONFIG), ("HEAD", "ref: refs/heads/main\n")] {
        let path = git.join(name);
        fs::write(&path, content).map_err(|source| GitError { path, source })?;
    }
    Ok(true)
}

/// A part of the repository could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write `{}`: {source}", path.display())]
pub struct GitError {
    /// The part.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

    use std::process::Command;

    use super::*;

    fn git(workspace: &Path, args: &[&str]) -> Option<String> {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(args)
            .current_dir(workspace)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn git_takes_it_for_a_repository() {
        let temp = tempfile::tempdir().unwrap();
        assert!(git_skeleton(temp.path()).unwrap());
        let Some(root) = git(temp.path(), &["rev-parse", "--show-toplevel"]) else {
            eprintln!("skipped: no git");
            return;
        };
        assert_eq!(Path::new(root.trim()), temp.path().canonicalize().unwrap());
        git(temp.path(), &["fsck", "--strict"]);
        fs::write(temp.path().join("file"), "text").unwrap();
        git(temp.path(), &["add", "file"]);
        git(temp.path(), &["commit", "-qm", "first"]);
        assert_eq!(git(temp.path(), &["branch", "--show-current"]).unwrap(), "main\n");
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(".git"), "gitdir: elsewhere\n").unwrap();
        assert!(!git_skeleton(temp.path()).unwrap());
        assert_eq!(fs::read(temp.path().join(".git")).unwrap(), b"gitdir: elsewhere\n");
    }

    #[test]
    fn the_error_names_the_part() {
        let error = git_skeleton(Path::new("/dev/null")).unwrap_err();
        assert!(error.to_string().starts_with("cannot write `/dev/null/.git"), "{error}");
    }
}
