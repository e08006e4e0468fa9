//! The pinned agent programs, in `target/harnesses`.
//!
//! `NAME-VERSION` is a whole npm tree, `bin/NAME` a link to the native program in it. A tree is
//! built and tried aside and then renamed, so one that is there is complete.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use fs_err as fs;
use serde::Deserialize;

use crate::Result;
use crate::sh::{Run, program, root, say};

const PINS: &str = include_str!("../harnesses.toml");

/// One program of `harnesses.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    package: String,
    version: String,
    program: String,
}

/// Installs the programs that are missing or of another version.
pub(crate) fn install() -> Result {
    let prefix = root().join("target/harnesses");
    fs::create_dir_all(prefix.join("bin"))?;
    // Held to the end, so that two runs at once do not build the same tree.
    let lock = fs::File::create(prefix.join(".lock"))?;
    lock.file().lock()?;
    for (name, pin) in toml::from_str::<BTreeMap<String, Pin>>(PINS)? {
        pin.install(&name, &prefix)?;
    }
    Ok(())
}

impl Pin {
    fn install(&self, name: &str, prefix: &Path) -> Result {
        let Self { package, version, .. } = self;
        let tree = prefix.join(format!("{name}-{version}"));
        let link = prefix.join("bin").join(name);
        let target = Path::new("..").join(format!("{name}-{version}")).join(self.program()?);
        if !tree.is_dir() {
            say(&format!("installing {package}@{version} with npm"));
            remove_other_trees(name, prefix)?;
            let aside = tempfile::Builder::new().prefix(".building-").tempdir_in(prefix)?;
            self.build(name, aside.path())?;
            fs::rename(aside.keep(), &tree)?;
        }
        if fs::read_link(&link).is_ok_and(|to| to == target) {
            return Ok(());
        }
        let new_link = prefix.join(".new-link");
        // Left by a run that was killed.
        if new_link.is_symlink() {
            fs::remove_file(&new_link)?;
        }
        symlink(&target, &new_link)?;
        fs::rename(&new_link, &link)?;
        Ok(())
    }

    /// The path of the native program in the tree.
    fn program(&self) -> Result<PathBuf> {
        let (platform, triple) = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => ("linux-x64", "x86_64-unknown-linux-musl"),
            ("linux", "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
            (os, cpu) => return Err(format!("no agent program is known for {os} on {cpu}").into()),
        };
        Ok(self.program.replace("{platform}", platform).replace("{triple}", triple).into())
    }

    fn build(&self, name: &str, aside: &Path) -> Result {
        let spec = format!("{}@{}", self.package, self.version);
        program("npm")
            .args([
                "install",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--no-update-notifier",
            ])
            .args(["--loglevel=error", "--prefix"])
            .args([aside.as_os_str(), spec.as_ref()])
            .current_dir(aside)
            .stdout(Stdio::null())
            .run()
            .map_err(|error| {
                format!(
                    "{spec} could not be installed: {error}\nif npm cannot reach its registry from \
                     here, `cargo xtask test --offline` runs the tests that need no agent program"
                )
            })?;
        let program = aside.join(self.program()?);
        if !program.is_file() {
            return Err(format!("{spec} came without {}", program.display()).into());
        }
        let said = try_out(&program, aside)?;
        if !said.contains(&self.version) {
            return Err(
                format!("{name} is to be {}, and says {:?}", self.version, said.trim()).into()
            );
        }
        Ok(())
    }
}

/// Removes trees of other versions, and those that a killed run left half built.
fn remove_other_trees(name: &str, prefix: &Path) -> Result {
    for entry in fs::read_dir(prefix)? {
        let path = entry?.path();
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let other = file_name.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
        if other || file_name.starts_with(".building-") {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

/// What `PROGRAM --version` says with an empty home and next to no environment.
fn try_out(harness: &Path, aside: &Path) -> Result<String> {
    let home = aside.join(".home");
    fs::create_dir(&home)?;
    let said = program(harness)
        .arg("--version")
        .env_clear()
        .env("HOME", &home)
        .env("PATH", "/usr/bin:/bin")
        .env("DISABLE_AUTOUPDATER", "1")
        .current_dir(&home)
        .stdin(Stdio::null())
        .read()?;
    fs::remove_dir_all(&home)?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pins_are_exact_versions_of_programs_for_this_system() {
        let pins: BTreeMap<String, Pin> = toml::from_str(PINS).unwrap();
        assert_eq!(pins.keys().collect::<Vec<_>>(), ["claude", "codex"]);
        for (name, pin) in pins {
            let digits = pin.version.split('.').filter(|part| part.parse::<u32>().is_ok()).count();
            assert_eq!(digits, 3, "{name}: {}", pin.version);
            let program = pin.program().unwrap();
            assert!(program.starts_with("node_modules"), "{name}: {program:?}");
            assert!(!program.to_string_lossy().contains('{'), "{name}: {program:?}");
        }
    }
}
