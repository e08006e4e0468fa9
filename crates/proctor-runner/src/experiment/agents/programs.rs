//! Where a program lives on the machine, and what must be seen of it inside a room.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use proctor_sandbox::find_program;
use proctor_sandbox::isolation::Bind;

/// What every room shows of the machine.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"];

/// How many interpreters may stand one behind the other.
const MAX_INTERPRETERS: usize = 4;

/// The most of a first line that is read, as the kernel has it.
const MAX_SHEBANG: u64 = 256;

/// The home of root in a room with a file tree of its own; nobody else enters it.
const CLOSED: &str = "/root";

/// Where what lies there outside is seen inside.
const APART: &str = "/run/proctor/host";

/// What a room must show for some programs to run in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Whether the room has a file tree of its own.
    has_tree: bool,
    /// What is seen inside, by its path there.
    seen: BTreeMap<PathBuf, PathBuf>,
    /// Folders in which interpreters are looked for by name.
    pub(super) search: Vec<PathBuf>,
}

impl Needs {
    /// Nothing, in a room with a file tree of its own or without.
    pub(super) fn new(has_tree: bool) -> Self {
        Self { has_tree, ..Self::default() }
    }

    pub(super) fn binds(&self) -> Vec<Bind> {
        let is_shown = |path: &Path| self.seen.get(path).is_some_and(|of| self.inside(of) == *path);
        let is_within = |path: &Path| path.ancestors().skip(1).any(is_shown);
        let apart = self.seen.iter().filter(|(to, _)| !is_within(to));
        apart.map(|(to, from)| Bind { from: from.clone(), to: to.clone() }).collect()
    }

    /// Adds what `program` needs, and says how it is called inside; `None` when there is no such
    /// program.
    pub(super) fn program(
        &mut self,
        program: &OsStr,
        path: Option<&OsStr>,
        folder: &Path,
    ) -> Option<PathBuf> {
        let file = find_program(program, path, folder).ok()?;
        let real = self.follow(&file, path, folder, MAX_INTERPRETERS)?;
        // Programs find their parts by where they really are. What is a link of the system, leads
        // to where it leads inside as well.
        Some(if is_of_system(&file) && is_of_system(&real) { file } else { self.inside(&real) })
    }

    /// Adds a file or folder, and says where it is inside.
    pub(super) fn file(&mut self, file: &Path) -> PathBuf {
        let inside = self.inside(file);
        if !is_of_system(file) {
            self.seen.insert(inside.clone(), file.to_owned());
        }
        inside
    }

    /// Where a path of the machine is inside.
    fn inside(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(CLOSED) {
            Ok(_) if self.has_tree => Path::new(APART).join(path.strip_prefix("/").unwrap_or(path)),
            _ => path.to_owned(),
        }
    }

    /// Adds what a file that is a program consists of, and its interpreters; says where it really
    /// is.
    fn follow(
        &mut self,
        file: &Path,
        path: Option<&OsStr>,
        folder: &Path,
        interpreters: usize,
    ) -> Option<PathBuf> {
        let real = fs::canonicalize(file).ok()?;
        if !is_of_system(&real) {
            self.file(&home_of(&real));
        }
        if let Some(left) = interpreters.checked_sub(1)
            && let Some(interpreter) = shebang(&real)
            && let Ok(file) = find_program(&interpreter, path, folder)
            && let Some(real) = self.follow(&file, path, folder, left)
            && !is_of_system(&file)
        {
            // It is asked for by this path, or by its name.
            let file = self.inside(&file);
            self.seen.entry(file.clone()).or_insert(real);
            let is_name = !interpreter.as_encoded_bytes().contains(&b'/');
            if let Some(parent) = file.parent().filter(|_| is_name)
                && !self.search.iter().any(|known| known == parent)
            {
                self.search.push(parent.to_owned());
            }
        }
        Some(real)
    }
}

fn is_of_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// What of the machine a program consists of: the packages of its language that it lies among, the
/// folder of its virtual environment or of its installation, else the file alone. Never a home.
fn home_of(real: &Path) -> PathBuf {
    let mut packages = real.ancestors().filter(|path| path.ends_with("node_modules"));
    if let Some(topmost) = packages.by_ref().last() {
        return topmost.to_owned();
    }
    let above = real.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    if let Some(prefix) = above.filter(|prefix| holds_python(prefix)) {
        return prefix.to_owned();
    }
    real.to_owned()
}

/// Whether a folder is an installation of Python, or a virtual environment.
fn holds_python(prefix: &Path) -> bool {
    if prefix.join("pyvenv.cfg").is_file() {
        return true;
    }
    let Ok(entries) = fs::read_dir(prefix.join("lib")) else { return false };
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    // The standard library: packages alone also lie below homes.
    names.any(|name| {
        name.as_encoded_bytes().starts_with(b"python3")
            && prefix.join("lib").join(&name).join("os.py").is_file()
    })
}

/// The interpreter of a script: its path, or the name that `env` is to look for.
fn shebang(file: &Path) -> Option<OsString> {
    let mut start = Vec::new();
    File::open(file).ok()?.take(MAX_SHEBANG).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let interpreter = words.next()?;
    if !interpreter.ends_with("/env") {
        return Some(interpreter.into());
    }
    let is_name = |word: &&str| !word.starts_with('-') && !word.contains('=');
    words.find(is_name).map(OsString::from)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Machine(tempfile::TempDir);

    impl Machine {
        fn path(&self, name: &str) -> PathBuf {
            fs::canonicalize(self.0.path()).unwrap().join(name)
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn needs(&self, program: &str, path: &[PathBuf]) -> (Option<PathBuf>, Needs) {
            let mut needs = Needs::default();
            let path = std::env::join_paths(path).unwrap();
            let found = needs.program(program.as_ref(), Some(&path), self.0.path());
            (found, needs)
        }
    }

    fn machine() -> Machine {
        Machine(tempfile::tempdir().unwrap())
    }

    fn paths(needs: &Needs) -> Vec<PathBuf> {
        needs.binds().into_iter().map(|bind| bind.to).collect()
    }

    #[test]
    fn programs_of_the_system_are_there_already() {
        let machine = machine();
        let (found, needs) = machine.needs("sh", &["/bin".into()]);
        assert_eq!(found, Some("/bin/sh".into()));
        assert_eq!(needs, Needs::default());
        assert_eq!(machine.needs("no-such-program", &["/bin".into()]).0, None);
    }

    #[test]
    fn a_program_on_its_own_is_one_file_and_links_are_followed() {
        let machine = machine();
        let real = machine.file("share/tool/1.2/tool", "\x7fELF");
        let bin = machine.path("bin");
        fs::create_dir(&bin).unwrap();
        symlink(&real, bin.join("tool")).unwrap();
        let (found, needs) = machine.needs("tool", &[bin]);
        assert_eq!((found, paths(&needs)), (Some(real.clone()), vec![real]));
    }

    #[test]
    fn a_package_brings_its_neighbours_and_its_interpreter() {
        let machine = machine();
        let node = machine.file("node/bin/node", "\x7fELF");
        let cli = machine.file(
            "node/lib/node_modules/agent/node_modules/core/cli.js",
            "#!/usr/bin/env -S node --flag\n",
        );
        let bin = machine.path("node/bin");
        symlink(&cli, bin.join("agent")).unwrap();
        let (found, needs) = machine.needs("agent", std::slice::from_ref(&bin));
        assert_eq!(found, Some(cli));
        assert_eq!(paths(&needs), [node, machine.path("node/lib/node_modules")]);
        assert_eq!(needs.search, [bin]);
    }

    #[test]
    fn an_environment_of_python_is_bound_with_the_python_it_is_made_of() {
        let machine = machine();
        let python = machine.file("py/bin/python3", "\x7fELF");
        machine.file("py/lib/python3.12/os.py", "");
        machine.file("venv/pyvenv.cfg", "home = py/bin");
        machine.file("venv/bin/.keep", "");
        let inner = machine.path("venv/bin/python");
        symlink(&python, &inner).unwrap();
        let text = format!("#!{}\n", inner.display());
        let script = machine.file("venv/bin/agent", &text);
        let (found, needs) = machine.needs(script.to_str().unwrap(), &[]);
        assert_eq!(found, Some(script));
        assert_eq!(paths(&needs), [machine.path("py"), machine.path("venv")]);
    }

    #[test]
    fn an_interpreter_is_where_it_is_asked_for() {
        let machine = machine();
        let real = machine.file("share/lang/9/lang9", "\x7fELF");
        let bin = machine.path("bin");
        fs::create_dir(&bin).unwrap();
        symlink(&real, bin.join("lang")).unwrap();
        let script = machine.file("tool", "#!/usr/bin/env lang\n");
        let (_, needs) = machine.needs(script.to_str().unwrap(), std::slice::from_ref(&bin));
        let asked = Bind { from: real.clone(), to: bin.join("lang") };
        assert_eq!(needs.binds(), [asked, Bind::same(real), Bind::same(script)]);
        assert_eq!(needs.search, [bin]);
    }

    #[test]
    fn the_home_of_root_is_shown_elsewhere() {
        let mut needs = Needs::new(true);
        let inside = needs.file(Path::new("/root/.local/bin/agent"));
        assert_eq!(inside, Path::new("/run/proctor/host/root/.local/bin/agent"));
        let bind = Bind { from: "/root/.local/bin/agent".into(), to: inside };
        assert_eq!(needs.binds(), [bind]);
        let mut needs = Needs::new(false);
        needs.file(Path::new("/root/agent"));
        assert_eq!(needs.binds(), [Bind::same("/root/agent")]);
    }

    #[test]
    fn packages_of_a_user_are_no_installation() {
        let machine = machine();
        machine.file("home/.local/lib/python3.12/site-packages/x.py", "");
        machine.file("home/.local/bin/python3", "\x7fELF");
        let script = machine.file("home/.local/bin/agent", "#!/bin/sh\n");
        let (_, needs) = machine.needs(script.to_str().unwrap(), &[]);
        assert_eq!(needs.binds(), [Bind::same(script)]);
    }

    #[test]
    fn interpreters_in_a_circle_end() {
        let machine = machine();
        let text = format!("#!{}\n", machine.path("loop").display());
        let program = machine.file("loop", &text);
        let (found, needs) = machine.needs(program.to_str().unwrap(), &[]);
        assert_eq!((found, paths(&needs)), (Some(program.clone()), vec![program]));
    }
}
