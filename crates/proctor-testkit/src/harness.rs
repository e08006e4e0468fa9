//! The pinned real agent programs, and homes in which they can be run without touching anything else.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::FakeModel;

/// Directory that holds `bin/NAME` of the real programs, instead of `target/harnesses`.
pub const HARNESSES_VARIABLE: &str = "PROCTOR_HARNESSES";

/// Set to `1`, it makes a test fail that would be skipped for want of a real program.
pub const REQUIRE_VARIABLE: &str = "PROCTOR_REQUIRE_HARNESSES";

/// The root of the workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two levels below the root").to_owned()
}

/// The real program `name` (`claude`, `codex`), if `cargo xtask test` has installed it.
pub fn real_harness(name: &str) -> Option<PathBuf> {
    let prefix = env::var_os(HARNESSES_VARIABLE)
        .map_or_else(|| workspace_root().join("target/harnesses"), PathBuf::from);
    // Resolved, since Codex finds its helper programs beside its real path.
    fs::canonicalize(prefix.join("bin").join(name)).ok()
}

/// The real program `name`, or `None` with a note that the test is skipped.
///
/// # Panics
///
/// When the program is missing and `PROCTOR_REQUIRE_HARNESSES` is `1`.
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
pub fn require_harness(name: &str) -> Option<PathBuf> {
    let found = real_harness(name);
    if found.is_none() {
        let required = env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1");
        assert!(!required, "{name} is not installed; `cargo xtask test` installs it");
        eprintln!("skipped: {name} is not installed; `cargo xtask test` installs it");
    }
    found
}

/// A home, configuration, temporary and program directory for one agent run, and the whole
/// environment of that run. Removed when dropped.
///
/// It lies under the workspace's `target`, never under the system's temporary directory: there
/// Codex would refuse to set up its sandbox, and still report success.
#[derive(Debug)]
pub struct SealedHome {
    root: TempDir,
    environment: BTreeMap<String, String>,
}

impl SealedHome {
    /// A sealed home without any agent program and without credentials.
    ///
    /// # Panics
    ///
    /// When its directories cannot be made.
    pub fn new() -> Self {
        let parent = workspace_root().join("target/sealed");
        fs::create_dir_all(&parent).expect("a directory under target");
        let root = TempDir::new_in(&parent).expect("a directory under target/sealed");
        let mut home = Self { root, environment: BTreeMap::new() };
        for (variable, directory) in [
            ("HOME", "home"),
            ("CLAUDE_CONFIG_DIR", "home/claude"),
            ("CODEX_HOME", "home/codex"),
            ("TMPDIR", "tmp"),
        ] {
            let path = home.path(directory);
            fs::create_dir_all(&path).expect("a directory in the sealed home");
            home.set(variable, path.to_str().expect("the workspace's path is UTF-8"));
        }
        let bin = home.bin();
        fs::create_dir(&bin).expect("a directory in the sealed home");
        let bin = bin.to_str().expect("the workspace's path is UTF-8").to_owned();
        home.set("PATH", &format!("{bin}:/usr/local/bin:/usr/bin:/bin"));
        home.set("LANG", "C.UTF-8");
        home.set("TERM", "dumb");
        home.set("TZ", "UTC");
        home
    }

    /// A sealed home in which the real program `name` is on the `PATH` and talks to `model` with
    /// a made-up key; `None` when the test is to be skipped (see [`require_harness`]).
    pub fn with_harness(name: &str, model: &FakeModel) -> Option<Self> {
        let program = require_harness(name)?;
        let mut home = Self::new();
        home.add_harness(name, &program, &model.url());
        Some(home)
    }

    /// Puts the real `program` on the `PATH` as `name`, talking to the fake model at `url`.
    ///
    /// Claude Code takes its address from the environment. Codex takes it only from its command
    /// line, which is not ours to write, so a script of that name adds the provider.
    ///
    /// # Panics
    ///
    /// For a name other than `claude` and `codex`.
    pub fn add_harness(&mut self, name: &str, program: &Path, url: &str) {
        match name {
            "claude" => {
                symlink(program, self.bin().join(name)).expect("a link in the sealed home");
                self.set("ANTHROPIC_BASE_URL", url);
                self.set("ANTHROPIC_API_KEY", "fake-key-of-a-test");
            }
            "codex" => {
                self.add_script(name, &codex_script(program, url));
                self.set("OPENAI_API_KEY", "fake-key-of-a-test");
            }
            other => panic!("no way is known to point {other} at a fake model"),
        }
    }

    /// Puts an executable script on the `PATH`, such as a stand-in for an agent program.
    ///
    /// # Panics
    ///
    /// When it cannot be written.
    pub fn add_script(&self, name: &str, text: &str) {
        let path = self.bin().join(name);
        fs::write(&path, text).expect("a script in the sealed home");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .expect("an executable script");
    }

    /// The directory of everything.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The first directory of the `PATH`.
    pub fn bin(&self) -> PathBuf {
        self.path("bin")
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// Sets a variable of the environment.
    pub fn set(&mut self, variable: &str, value: &str) {
        self.environment.insert(variable.to_owned(), value.to_owned());
    }

    /// Takes a variable out of the environment, such as a credential.
    pub fn unset(&mut self, variable: &str) {
        self.environment.remove(variable);
    }

    /// The whole environment.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// A command in the sealed environment with nothing on its standard input.
    ///
    /// `program` is looked up on the sealed `PATH` first, so `command("codex")` runs the script.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let own = self.bin().join(&program);
        let mut command = Command::new(if own.exists() { &own } else { program.as_ref() });
        command.env_clear().envs(&self.environment).stdin(Stdio::null()).current_dir(self.root());
        command
    }
}

impl Default for SealedHome {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs Codex with a provider that is the fake model at `url`.
fn codex_script(program: &Path, url: &str) -> String {
    let program = program.to_str().expect("the workspace's path is UTF-8").replace('\'', r"'\''");
    let settings = [
        r#"model="gpt-5.5""#,
        r#"model_provider="fake""#,
        r#"model_providers.fake.name="fake""#,
        &format!(r#"model_providers.fake.base_url="{url}/v1""#),
        r#"model_providers.fake.wire_api="responses""#,
        r#"model_providers.fake.env_key="OPENAI_API_KEY""#,
        "model_providers.fake.request_max_retries=1",
        "model_providers.fake.stream_max_retries=1",
        "model_providers.fake.stream_idle_timeout_ms=30000",
    ]
    .map(|setting| format!(" -c '{setting}'"))
    .concat();
    format!(
        "#!/bin/sh\nif [ \"$1\" = exec ]; then\n  shift\n  exec '{program}' exec{settings} \"$@\"\nfi\n\
         exec '{program}' \"$@\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_whole_sealed_and_removed() {
        let home = SealedHome::new();
        home.add_script("agent", "#!/bin/sh\nenv\n");
        let root = home.root().to_owned();
        assert!(!root.starts_with(env::temp_dir()), "{root:?}");
        let output = home.command("agent").output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap();
        for (variable, value) in home.environment() {
            assert!(seen.contains(&format!("{variable}={value}\n")), "{variable}");
        }
        // The shell adds these two.
        let added = seen.lines().filter(|line| line.starts_with("PWD=") || line.starts_with("_="));
        assert_eq!(seen.lines().count() - added.count(), home.environment().len());
        assert!(Path::new(&home.environment()["CODEX_HOME"]).is_dir());
        drop(home);
        assert!(!root.exists());
    }

    #[test]
    fn the_script_for_codex_only_changes_exec() {
        let home = SealedHome::new();
        home.add_script("real it's", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
        let script = codex_script(&home.bin().join("real it's"), "http://127.0.0.1:1");
        home.add_script("codex", &script);
        let run = |args: &[&str]| {
            let output = home.command("codex").args(args).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(run(&["--version", "a b"]), "--version\na b\n");
        let seen = run(&["exec", "--json", "a b"]);
        assert!(seen.starts_with("exec\n-c\nmodel=\"gpt-5.5\"\n-c\n"), "{seen}");
        assert!(seen.contains("-c\nmodel_providers.fake.base_url=\"http://127.0.0.1:1/v1\"\n"));
        assert!(seen.ends_with("\n--json\na b\n"), "{seen}");
    }
}
