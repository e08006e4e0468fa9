//! What can be had on this machine.

use std::fs;
use std::path::{Path, PathBuf};

use super::SandboxError;
use super::bwrap::{self, Etc, Tree};
use super::cgroup::Group;
use super::container;
use super::holder::{Holder, Overlay, Plan};
use super::spec::{Engine, Network};
use crate::sys;

/// What can be had on this machine, found by trying.
#[derive(Debug)]
pub struct Available {
    /// Bubblewrap and the namespaces it needs, or why not.
    pub bubblewrap: Result<Bubblewrap, String>,
    /// The version of Landlock.
    pub landlock: Option<u32>,
    /// The programs for containers that are installed.
    pub engines: Vec<Engine>,
}

/// What is known of bubblewrap.
#[derive(Debug)]
pub struct Bubblewrap {
    /// The program.
    pub program: PathBuf,
    /// Whether workspaces can be overlays, or why they are copies.
    pub overlay: Result<(), String>,
    pub(super) etc: Etc,
    /// Where overlays are mounted. Each sandbox has its own mounts, so that one place serves all.
    pub(super) workspace: PathBuf,
    /// The same for [`SYSTEM`](crate::workspace::system::SYSTEM).
    pub(super) system: PathBuf,
}

/// Tries everything out, in a folder of ours.
pub(super) fn probe(exe: &Path, folder: &Path) -> Available {
    let installed = |engine: &Engine| container::find(*engine).is_some();
    Available {
        bubblewrap: bubblewrap(exe, folder),
        landlock: sys::landlock_version(),
        engines: [Engine::Podman, Engine::Docker].into_iter().filter(installed).collect(),
    }
}

fn bubblewrap(exe: &Path, folder: &Path) -> Result<Bubblewrap, String> {
    let program = bwrap::find().ok_or("bubblewrap (bwrap) is not on the PATH; install it")?;
    let places = ["lower", "upper", "work", "workspace-mount", "home", "temporary", "local-mount"]
        .map(|name| folder.join(name));
    let etc = places
        .iter()
        .try_for_each(fs::create_dir_all)
        .and_then(|()| Etc::write(&folder.join("etc")))
        .map_err(|error| format!("cannot prepare `{}`: {error}", folder.display()))?;
    let [lower, _, _, merged, home, tmp, system] = &places;
    let probed = Overlay {
        folder: Some(folder.to_owned()),
        upper: "upper",
        work: "work",
        lowers: vec![lower.clone()],
        target: merged.clone(),
    };
    let start = |overlay: bool| -> Result<(), SandboxError> {
        let tree = Tree {
            exe,
            etc: &etc,
            workspace: merged,
            home,
            tmp,
            network: Network::None,
            binds: &[],
            system: None,
        };
        let holder = Holder::start(&Plan {
            exe,
            bwrap: &program,
            overlays: if overlay { vec![probed.clone()] } else { Vec::new() },
            arguments: tree.arguments(),
            group: &Group::default(),
        })?;
        holder.workspace().map(|_| ()).map_err(super::failed("look into the sandbox"))
    };
    let overlay = match start(true) {
        Ok(()) => Ok(()),
        // It may be the overlay or all of it.
        Err(error) => {
            start(false).map_err(|error| error.to_string())?;
            Err(error.to_string())
        }
    };
    Ok(Bubblewrap { program, overlay, etc, workspace: merged.clone(), system: system.clone() })
}
