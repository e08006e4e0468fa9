//! `git` as tests find it: this program under another name, which lets git look at the repository of
//! an agent and lets that repository run nothing.
//!
//! A repository says in its configuration which programs git is to run: monitors, filters, drivers
//! for differences, hooks. So git refuses one that belongs to somebody else, and a test that asks what
//! an agent has committed gets no answer; and where agent and tests are one user, it obeys. In
//! between: in the workspace git may read, and starts no process, whatever it is told.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proctor_runner::experiment::{GIT_PROGRAM, SOCKET_VARIABLE, WORKSPACE_VARIABLE};
use proctor_sandbox::become_alone;

/// What cannot be found, as shells say it.
const NOT_FOUND: i32 = 127;
/// As git says that it failed.
const FAILED: i32 = 128;

/// What these do has nothing to do with the repository around them.
const ELSEWHERE: [&str; 4] = ["clone", "help", "init", "version"];
/// Options before the command that take the word after them.
const WITH_VALUE: [&str; 6] =
    ["-c", "--config-env", "--exec-path", "--namespace", "--super-prefix", "--attr-source"];
/// What is set for git in the workspace: to read what is another user's, and not to try what it
/// cannot do.
const SETTINGS: [(&str, &str); 3] =
    [("safe.directory", "*"), ("core.fsmonitor", "false"), ("core.hooksPath", "/dev/null")];
/// The variable that says how many settings the environment has (`git(1)`).
const COUNT: &str = "GIT_CONFIG_COUNT";

/// Whether the program was started under this name, by a test.
pub(crate) fn is_asked_for(name: Option<&OsString>) -> bool {
    name.and_then(|name| Path::new(name).file_name()) == Some(OsStr::new(GIT_PROGRAM))
        && env::var_os(SOCKET_VARIABLE).is_some()
}

/// Becomes git, or says why not and returns the exit code.
pub(crate) fn main(args: &[OsString]) -> i32 {
    let Some(git) = find() else {
        return complain("git is not on the PATH", NOT_FOUND);
    };
    let args = args.get(1..).unwrap_or_default();
    let mut command = Command::new(git);
    command.args(args);
    let workspace = env::var_os(WORKSPACE_VARIABLE).map(PathBuf::from);
    let here = env::current_dir().unwrap_or_default();
    let git_dir = env::var_os("GIT_DIR").map(PathBuf::from);
    let is_agents = workspace.is_none_or(|workspace| meets(&workspace, &here, git_dir, args));
    let error = if is_agents {
        let known = env::var(COUNT).ok().and_then(|count| count.parse().ok()).unwrap_or(0_usize);
        for (index, (key, value)) in (known..).zip(SETTINGS) {
            command.env(format!("GIT_CONFIG_KEY_{index}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        command.env(COUNT, (known + SETTINGS.len()).to_string());
        become_alone(command)
    } else {
        command.exec()
    };
    complain(&error.to_string(), FAILED)
}

fn complain(message: &str, code: i32) -> i32 {
    let _ = writeln!(io::stderr(), "{GIT_PROGRAM}: {message}");
    code
}

/// The next git on the `PATH` that is not this program.
fn find() -> Option<PathBuf> {
    let own = env::current_exe().ok()?.canonicalize().ok()?;
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).find_map(|folder| {
        let path = proctor_sandbox::find_program(
            GIT_PROGRAM.as_ref(),
            Some(folder.as_os_str()),
            Path::new("/"),
        );
        path.ok().filter(|path| path.canonicalize().is_ok_and(|real| real != own))
    })
}

/// Whether git would use a repository in the workspace.
fn meets(workspace: &Path, here: &Path, git_dir: Option<PathBuf>, args: &[OsString]) -> bool {
    let (mut here, mut git_dir) = (here.to_owned(), git_dir);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if text == "-C" {
            here.push(words.next().map_or(OsStr::new("."), OsString::as_os_str));
        } else if text == "--git-dir" {
            git_dir = words.next().map(PathBuf::from);
        } else if let Some(path) = text.strip_prefix("--git-dir=") {
            git_dir = Some(path.into());
        } else if WITH_VALUE.contains(&&*text) {
            words.next();
        } else if !text.starts_with('-') {
            if ELSEWHERE.contains(&&*text) {
                return false;
            }
            break;
        }
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let workspace = real(workspace);
    if let Some(git_dir) = git_dir {
        return real(&here.join(git_dir)).starts_with(workspace);
    }
    let here = real(&here);
    let above = here.ancestors().take_while(|folder| folder.starts_with(&workspace));
    let is_repository = |folder: &Path| {
        folder.join(".git").symlink_metadata().is_ok() || folder.join("HEAD").exists()
    };
    above.into_iter().any(is_repository)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_that_git_would_use_is_found() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (workspace, other) = (root.join("workspace"), root.join("other"));
        for folder in ["workspace/sub/.git", "workspace/deep/down", "other/.git"] {
            fs_err::create_dir_all(root.join(folder)).unwrap();
        }
        let meets = |here: &Path, args: &[&str]| {
            let args: Vec<OsString> = args.iter().map(Into::into).collect();
            meets(&workspace, here, None, &args)
        };
        let sub = workspace.join("sub");
        assert!(meets(&sub, &["status"]));
        assert!(meets(&sub, &["-c", "a=b", "--no-pager", "diff"]));
        assert!(!meets(&workspace, &["status"]));
        assert!(meets(&workspace, &["-C", "sub", "status"]));
        assert!(meets(&workspace, &["--git-dir", "sub/.git", "status"]));
        assert!(meets(&other, &["--git-dir=../workspace/sub/.git", "status"]));
        assert!(!meets(&other, &["status"]));
        assert!(!meets(&sub, &["clone", "x"]));
        assert!(!meets(&sub, &["-C", "../../other", "log"]));
        let git_dir = Some(sub.join(".git"));
        assert!(super::meets(&workspace, &other, git_dir, &["log".into()]));
        // A file, which points anywhere, and a bare repository.
        fs_err::write(workspace.join("deep/.git"), "gitdir: /elsewhere\n").unwrap();
        assert!(meets(&workspace.join("deep/down"), &["log"]));
        fs_err::write(workspace.join("HEAD"), "ref: x\n").unwrap();
        assert!(meets(&workspace, &["log"]));
    }
}
