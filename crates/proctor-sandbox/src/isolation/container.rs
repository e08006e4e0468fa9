//! Sandboxes that are containers of podman or docker.
//!
//! The image is the system; it needs `sh` and `sleep`, and is never pulled. The workspace is a copy
//! that is mounted into it. A container does not end with Proctor: the next start ends those whose
//! process is gone.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::spec::{AGENT_ID, Engine, HOME, Network, SandboxSpec, User, WORKSPACE};
use super::{SandboxError, failed};
use crate::spawn::{Spawn, find_program};

/// Containers of ours carry it; its value is the process that made them.
const LABEL: &str = "proctor.process";
/// What waits in a container: a shell that takes in orphans.
const HOLD: &str = "trap exit TERM; while :; do sleep 3600 & wait $!; done";
/// What root in a container keeps.
const CAPABILITIES: [&str; 8] =
    ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE"];

/// The folders of a container's sandbox.
pub(super) struct Folders<'a> {
    /// Ours, where nobody else may come.
    pub(super) own: &'a Path,
    pub(super) workspace: &'a Path,
    pub(super) home: &'a Path,
    pub(super) tmp: &'a Path,
}

/// A container that runs. Dropping it ends it, with everything in it.
#[derive(Debug)]
pub(super) struct Container {
    program: PathBuf,
    name: String,
    /// The file with the variables of the program that runs just now.
    variables: PathBuf,
}

impl Container {
    pub(super) fn start(
        spec: &SandboxSpec,
        engine: Engine,
        image: &str,
        folders: &Folders<'_>,
        number: u64,
    ) -> Result<Self, SandboxError> {
        let program = find(engine).ok_or_else(|| SandboxError::Unavailable {
            reason: format!("{} is not on the PATH; install it", engine.program()),
        })?;
        reap(&program);
        let process = std::process::id();
        let name = format!("proctor-{process}-{number}");
        let mut command = engine_command(&program);
        command.args(["run", "--detach", "--rm", "--pull", "never", "--name", &name]);
        command.args(["--label", &format!("{LABEL}={process}"), "--hostname", "sandbox"]);
        command.args(["--security-opt", "no-new-privileges", "--cap-drop", "ALL"]);
        for capability in CAPABILITIES {
            command.args(["--cap-add", capability]);
        }
        command.args(["--network", if spec.network == Network::None { "none" } else { "host" }]);
        limits(&mut command, spec);
        for (from, to, mode) in [
            (folders.workspace, WORKSPACE, "rw"),
            (folders.home, HOME, "rw"),
            (folders.tmp, "/tmp", "rw"),
        ] {
            volume(&mut command, from, Path::new(to), mode)?;
        }
        for bind in &spec.binds {
            volume(&mut command, &bind.from, &bind.to, "ro")?;
        }
        command.args(["--user", "0:0", "--entrypoint", "sh", "--", image, "-c", HOLD]);
        let output = command.output().map_err(failed("start the container"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(SandboxError::Ended { said });
        }
        Ok(Self { program, name, variables: folders.own.join("variables") })
    }

    /// How the same program is run in the container. Values stand in a file that only this user can
    /// read, and not on a command line.
    pub(super) fn enter(&self, user: User, spawn: &Spawn) -> io::Result<Spawn> {
        let ids = match user {
            User::Setup => "0:0".to_owned(),
            User::Agent => format!("{AGENT_ID}:{AGENT_ID}"),
        };
        let mut args: Vec<OsString> =
            vec!["exec".into(), "--interactive".into(), "--user".into(), ids.into()];
        args.extend(["--workdir".into(), spawn.cwd.as_os_str().to_owned()]);
        let mut file = fs::File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.variables)?;
        for (name, value) in &spawn.env {
            if value.as_bytes().contains(&b'\n') {
                // The file has no way to say this.
                let mut variable = name.clone();
                variable.push("=");
                variable.push(value);
                args.extend(["--env".into(), variable]);
            } else {
                file.write_all(name.as_bytes())?;
                file.write_all(b"=")?;
                file.write_all(value.as_bytes())?;
                file.write_all(b"\n")?;
            }
        }
        args.extend(["--env-file".into(), self.variables.clone().into()]);
        args.extend([OsString::from(&self.name), spawn.program.clone()]);
        args.extend(spawn.args.iter().cloned());
        Ok(Spawn {
            program: self.program.clone().into(),
            args,
            cwd: "/".into(),
            env: own_variables().collect(),
            stdin: spawn.stdin.clone(),
        })
    }

    /// Ends every process in the container, but not the container.
    pub(super) fn kill_all(&self) {
        let mut command = engine_command(&self.program);
        command.args(["exec", "--user", "0:0", &self.name, "sh", "-c", "kill -9 -1"]);
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        remove(&self.program, &self.name);
        let _ = fs::remove_file(&self.variables);
    }
}

/// Why containers of an image cannot be had; `None` when they can, as far as is known without one.
pub(super) fn problem(engine: Engine, image: &str) -> Option<String> {
    let name = engine.program();
    let Some(program) = find(engine) else {
        return Some(format!("{name} is not on the PATH; install it"));
    };
    let mut command = engine_command(&program);
    command.args(["image", "inspect", "--format", "{{.Id}}", "--", image]);
    match command.output() {
        Err(error) => Some(format!("{name} cannot be started: {error}")),
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Some(format!("{name} has no image `{image}`; pull or build it first: {said}"))
        }
    }
}

/// The first of the programs for containers that is installed.
pub(super) fn installed() -> Option<Engine> {
    [Engine::Podman, Engine::Docker].into_iter().find(|engine| find(*engine).is_some())
}

/// Looks for the engine's program on the `PATH` of this process.
pub(super) fn find(engine: Engine) -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    find_program(engine.program().as_ref(), path.as_deref(), Path::new("/")).ok()
}

fn limits(command: &mut Command, spec: &SandboxSpec) {
    let limits = &spec.limits;
    if let Some(limit) = limits.processes {
        command.args(["--pids-limit", &limit.to_string()]);
    }
    if let Some(limit) = limits.memory {
        command.args(["--memory", &format!("{limit}b")]);
    }
    // Left to itself podman asks for more than its runtime may set where CAP_SYS_RESOURCE is
    // missing. This is the most that was seen to work there; the real limit is that above.
    let threads = Some(32_768);
    for (name, limit) in
        [("nofile", limits.open_files), ("fsize", limits.file_size), ("nproc", threads)]
    {
        if let Some(limit) = limit {
            command.args(["--ulimit", &format!("{name}={limit}:{limit}")]);
        }
    }
}

fn volume(command: &mut Command, from: &Path, to: &Path, mode: &str) -> Result<(), SandboxError> {
    let mut volume = OsString::new();
    for (index, part) in [from.as_os_str(), to.as_os_str(), OsStr::new(mode)].iter().enumerate() {
        if part.as_bytes().contains(&b':') {
            let source = io::Error::from(io::ErrorKind::InvalidInput);
            return Err(SandboxError::Io { action: "mount a path that has a colon", source });
        }
        if index > 0 {
            volume.push(":");
        }
        volume.push(part);
    }
    command.arg("--volume").arg(volume);
    Ok(())
}

/// Ends containers of processes that are gone.
fn reap(program: &Path) {
    let mut command = engine_command(program);
    command.args(["ps", "--all", "--filter", &format!("label={LABEL}")]);
    command.args(["--format", "{{.Names}}"]);
    let Ok(output) = command.stderr(Stdio::null()).output() else { return };
    for name in String::from_utf8_lossy(&output.stdout).lines() {
        let process = name.strip_prefix("proctor-").and_then(|rest| rest.split('-').next());
        let process = process.and_then(|process| process.parse().ok());
        if process.is_some_and(|process| kill(Pid::from_raw(process), None) == Err(Errno::ESRCH)) {
            remove(program, name);
        }
    }
}

fn remove(program: &Path, name: &str) {
    let mut command = engine_command(program);
    command.args(["rm", "--force", "--volumes", name]);
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn engine_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(own_variables()).stdin(Stdio::null()).current_dir("/");
    command
}

/// What the engine needs of this process's environment.
fn own_variables() -> impl Iterator<Item = (OsString, OsString)> {
    const NEEDED: [&str; 11] = [
        "PATH",
        "HOME",
        "USER",
        "XDG_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "DOCKER_CONFIG",
        "CONTAINER_HOST",
        "CONTAINERS_CONF",
    ];
    NEEDED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
}
