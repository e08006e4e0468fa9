use std::os::unix::fs::symlink;

use camino::Utf8PathBuf;
use nix::sys::stat::Mode;

use super::*;

/// A workspace in a temporary folder: `name` is a file, `name/` a directory, `name -> target` a link,
/// `name|` a pipe.
fn workspace(entries: &[&str]) -> (tempfile::TempDir, Utf8PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::from_path_buf(folder.path().join("w")).unwrap();
    fs::create_dir(&root).unwrap();
    for entry in entries {
        let (name, target) = entry.split_once(" -> ").map_or((*entry, None), |(n, t)| (n, Some(t)));
        let path = root.join(name.trim_end_matches(['/', '|']));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(target) = target {
            symlink(target.replace("{root}", root.as_str()), path).unwrap();
        } else if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else if name.ends_with('|') {
            nix::unistd::mkfifo(path.as_std_path(), Mode::S_IRWXU).unwrap();
        } else {
            fs::write(path, name).unwrap();
        }
    }
    (folder, root)
}

fn glob(root: &Utf8Path, glob: &str, phase: Phase) -> String {
    show(Workspace::new(root).select(&Target::Glob(glob.to_owned()), phase))
}

fn path(root: &Utf8Path, path: &str) -> String {
    show(Workspace::new(root).select(&Target::Path(path.to_owned()), Phase::Result))
}

fn show(selection: Result<Selection, WorkspaceError>) -> String {
    match selection {
        Ok(selection) => {
            let files = selection.files.iter().map(|file| file.name.clone());
            let others = selection.others.iter().map(|(name, other)| format!("({name}: {other})"));
            files.chain(others).collect::<Vec<_>>().join(" ")
        }
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn globs_select_files_in_order() {
    let (_folder, root) = workspace(&["b/x.md", "b.md", "a.md", "b/c/.x.md", "d/", "e.txt"]);
    assert_eq!(glob(&root, "**/*.md", Phase::Result), "a.md b.md b/c/.x.md b/x.md");
    assert_eq!(glob(&root, "*.md", Phase::Result), "a.md b.md");
    assert_eq!(glob(&root, "b/**", Phase::Result), "b/c/.x.md b/x.md");
    assert_eq!(glob(&root, "d*", Phase::Result), "");
}

#[test]
fn each_phase_leaves_out_its_directories() {
    let entries = [".git/a", ".cratis/a", "x/node_modules/a", "x/.cratis/a", "x/a"];
    let (_folder, root) = workspace(&entries);
    assert_eq!(glob(&root, "**/a", Phase::Result), "x/a");
    assert_eq!(glob(&root, "**/a", Phase::Install), ".git/a x/a x/node_modules/a");
    assert_eq!(glob(&root, ".cratis/**", Phase::Install), ".cratis/a");
    assert_eq!(glob(&root, "./.cratis/*", Phase::Install), ".cratis/a");
    assert_eq!(
        glob(&root, ".cratis/*", Phase::Result),
        "error: `.cratis/*` lies in `.cratis`, which result-phase checks leave out"
    );
    assert_eq!(
        path(&root, "x/node_modules/a"),
        "error: `x/node_modules/a` lies in `node_modules`, which result-phase checks leave out"
    );
}

#[test]
fn links_are_files_when_they_lead_to_one_inside() {
    let entries = [
        ".cratis/ai/rules/general.md",
        "AGENTS.md -> .cratis/ai/rules/general.md",
        ".claude/rules -> ../.cratis/ai/rules",
        "absolute.md -> {root}/AGENTS.md",
        "loop.md -> loop.md",
        "broken.md -> nowhere",
    ];
    let (_folder, root) = workspace(&entries);
    let selected = "AGENTS.md absolute.md (broken.md: a broken link) (loop.md: a broken link)";
    assert_eq!(glob(&root, "*.md", Phase::Result), selected);
    assert_eq!(glob(&root, ".claude/rules/*.md", Phase::Result), "");
    let selection = Workspace::new(&root)
        .select(&Target::Glob(".claude/rules/*.md".to_owned()), Phase::Result)
        .unwrap();
    assert_eq!(selection.not_entered.as_deref(), Some(".claude/rules"));
    assert_eq!(path(&root, ".claude/rules/general.md"), ".claude/rules/general.md");
    assert_eq!(path(&root, ".claude/rules/other.md"), "", "nothing, not a broken link");
    assert_eq!(path(&root, "AGENTS.md"), "AGENTS.md");
    assert_eq!(path(&root, "broken.md"), "(broken.md: a broken link)");
    assert_eq!(path(&root, "loop.md"), "(loop.md: a broken link)");
    assert_eq!(path(&root, "loop.md/x"), "error: `loop.md/x` passes a loop of links");
    assert_eq!(path(&root, ".claude/rules"), "(.claude/rules: a directory)");
    assert_eq!(path(&root, "AGENTS.md/x"), "");
}

#[test]
fn no_link_leads_out() {
    let entries = [
        "etc -> /etc",
        "up -> ../outside",
        "sneaky -> a/../../outside",
        "a/in -> ../b",
        "b",
        "passwd.md -> /etc/passwd",
    ];
    let (folder, root) = workspace(&entries);
    fs::write(folder.path().join("outside"), "secret").unwrap();
    for name in ["etc/passwd", "up", "sneaky", "passwd.md"] {
        assert_eq!(
            path(&root, name),
            format!("error: `{name}` is or passes a link that leads out of the workspace")
        );
    }
    assert_eq!(path(&root, "a/in"), "a/in");
    assert_eq!(glob(&root, "b", Phase::Result), "b");
    assert_eq!(glob(&root, "**/passwd", Phase::Result), "");
    assert!(glob(&root, "*.md", Phase::Result).starts_with("error: `passwd.md`"));
}

#[test]
fn a_workspace_through_a_link_is_itself_inside() {
    let (folder, root) = workspace(&["a", "b -> {root}/a"]);
    let alias = Utf8PathBuf::from_path_buf(folder.path().join("alias")).unwrap();
    symlink(&root, &alias).unwrap();
    assert_eq!(path(&alias, "b"), "b");
    assert_eq!(glob(&alias, "*", Phase::Result), "a b");
}

#[test]
fn special_files_are_seen_and_never_opened() {
    let (_folder, root) = workspace(&["pipe|", "file"]);
    assert_eq!(path(&root, "pipe"), "(pipe: neither file nor directory)");
    assert_eq!(glob(&root, "*", Phase::Result), "file (pipe: neither file nor directory)");
    let workspace = Workspace::new(&root);
    let file = Selected { name: "pipe".to_owned(), real: root.join("pipe").into() };
    let error = workspace.read(&file).unwrap_err();
    assert_eq!(error.to_string(), "`pipe` changed while it was looked at");
}

#[test]
fn names_are_safe_to_print() {
    let (_folder, root) = workspace(&["a\nb\u{1b}[31m"]);
    assert_eq!(glob(&root, "*", Phase::Result), r"a\nb\u{1b}[31m");
}

#[test]
fn sizes_are_limited() {
    let (_folder, root) = workspace(&["a/b/c", "d", "e"]);
    let limits = |entries, depth| Limits { entries, depth, file_bytes: 4, ..Limits::default() };
    let select = |limits| {
        let everything = Target::Glob("**".to_owned());
        show(Workspace::with_limits(&root, limits).select(&everything, Phase::Result))
    };
    assert_eq!(select(limits(5, 2)), "a/b/c d e");
    assert_eq!(
        select(limits(4, 2)),
        "error: workspace is too large for a check: more than 4 entries"
    );
    assert_eq!(
        select(limits(5, 1)),
        "error: workspace is too large for a check: more than 1 directories inside directories"
    );
    let workspace = Workspace::with_limits(&root, limits(5, 2));
    fs::write(root.join("d"), "1234").unwrap();
    fs::write(root.join("e"), "12345").unwrap();
    let read =
        |name: &str| workspace.read(&Selected { name: name.into(), real: root.join(name).into() });
    assert_eq!(read("d").unwrap(), "1234");
    assert_eq!(
        read("e").unwrap_err().to_string(),
        "`e` is larger than 4 bytes, the most that a pattern is applied to"
    );
}

#[test]
fn texts_are_read_as_documented() {
    let (_folder, root) = workspace(&["a"]);
    fs::write(root.join("a"), b"\xEF\xBB\xBFa\r\n\xFFb").unwrap();
    let workspace = Workspace::new(&root);
    let file = Selected { name: "a".into(), real: root.join("a").into() };
    assert_eq!(workspace.read(&file).unwrap(), "a\r\n\u{FFFD}b");
}

#[test]
fn a_missing_workspace_is_an_error() {
    let (_folder, root) = workspace(&[]);
    let missing = root.join("missing");
    assert!(path(&missing, "a").starts_with("error: cannot read `.`"));
    assert!(glob(&missing, "a", Phase::Result).starts_with("error: cannot read `.`"));
}

#[test]
fn offences_are_refused() {
    let (_folder, root) = workspace(&[]);
    assert_eq!(
        path(&root, "../x"),
        "error: `../x` contains a `..` segment; it may not leave the workspace"
    );
}
