//! Keeping from a session where the project lies: no value of its environment may say so.

use std::collections::BTreeMap;

use camino::Utf8Path;
use proctor_sandbox::find_program;

/// The project, unless it is the user's home or holds that: then nothing can be kept from an agent
/// that is at home there.
pub(super) fn concealable<'a>(
    project: &'a Utf8Path,
    env: &BTreeMap<String, String>,
) -> Option<&'a Utf8Path> {
    let is_home = env.get("HOME").is_some_and(|home| Utf8Path::new(home).starts_with(project));
    (!is_home).then_some(project)
}

/// Takes the project's own folders of programs out of `PATH`. Returns the variables that name the
/// project nevertheless: a session needs them.
pub(super) fn conceal(env: &mut BTreeMap<String, String>, project: &Utf8Path) -> Vec<String> {
    let inside = |path: &str| Utf8Path::new(path).starts_with(project);
    if let Some(path) = env.get_mut("PATH") {
        let kept: Vec<&str> = path.split(':').filter(|folder| !inside(folder)).collect();
        *path = kept.join(":");
    }
    let names = |value: &String| value.split(':').any(inside);
    let naming = env.iter().filter(|(_, value)| names(value));
    naming.map(|(name, _)| name.clone()).collect()
}

/// The program as a session finds it: one that lies in the project, which its `PATH` does not show,
/// by its path.
pub(super) fn place_program(
    program: &str,
    env: &BTreeMap<String, String>,
    project: &Utf8Path,
) -> String {
    let path = env.get("PATH").map(AsRef::as_ref);
    match find_program(program.as_ref(), path, project.as_std_path()) {
        Ok(found) if found.starts_with(project) => found.to_string_lossy().into_owned(),
        _ => program.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_names_the_project_unless_it_must() {
        let mut env = BTreeMap::from(
            [
                ("PATH", "/p/node_modules/.bin:/usr/bin:/p:/p-2/bin:/bin"),
                ("SSL_CERT_FILE", "/p/certs/a.pem"),
                ("NODE_EXTRA_CA_CERTS", "/etc/ca.pem"),
                ("LANG", "C"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        assert_eq!(conceal(&mut env, "/p".into()), ["SSL_CERT_FILE"]);
        assert_eq!(env["PATH"], "/usr/bin:/p-2/bin:/bin");
    }

    #[test]
    fn a_home_is_not_concealed() {
        let env = BTreeMap::from([("HOME".to_owned(), "/home/u".to_owned())]);
        let concealable = |project: &'static str| concealable(project.into(), &env);
        assert_eq!(concealable("/home/u/p"), Some("/home/u/p".into()));
        assert_eq!(["/home/u", "/home", "/"].map(concealable), [None; 3]);
    }

    #[test]
    fn a_program_of_the_project_is_found_by_its_path() {
        use std::os::unix::fs::PermissionsExt as _;
        let temp = tempfile::tempdir().unwrap();
        let project = Utf8Path::from_path(temp.path()).unwrap();
        let bin = project.join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("agent"), "").unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join("agent"), mode).unwrap();
        let env = BTreeMap::from([("PATH".to_owned(), format!("{bin}:/usr/bin:/bin"))]);
        assert_eq!(place_program("agent", &env, project), bin.join("agent").as_str());
        for elsewhere in ["sh", "no-such-program"] {
            assert_eq!(place_program(elsewhere, &env, project), elsewhere);
        }
    }
}
