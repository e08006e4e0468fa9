//! Skills, their cases and their digests on disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{
    FindError, Layout, LoadedSkill, Project, cases_digest, find, load_skill, lock_digest,
    skill_digest,
};
use proctor_model::eval::{Assertion, Criteria};
use tempfile::TempDir;

/// A project with these files; a path ending in `/` is a folder.
struct Tree {
    _folder: TempDir,
    root: Utf8PathBuf,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap();
        let tree = Self { _folder: folder, root };
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let file = self.root.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(file).unwrap();
        } else {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
    }

    fn link(&self, path: &str, target: &str) {
        let link = self.root.join(path);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(target, link).unwrap();
    }

    fn find(&self) -> Project {
        find(&self.root, None).unwrap()
    }

    fn load(&self, id: &str) -> LoadedSkill {
        let project = self.find();
        load_skill(&project, project.skill(id).unwrap())
    }

    /// The mistakes of the only skill, `.ai-rulez/skills/s`.
    fn mistakes(&self) -> String {
        self.load("s").diagnostics.to_string().replace(".ai-rulez/skills/s/evals/", "")
    }
}

/// A project with one skill and one case file.
fn one_file(name: &str, text: &str) -> Tree {
    let tree = Tree::new(&[(".ai-rulez/skills/s/SKILL.md", "---\nname: s\n---\n")]);
    tree.write(&format!(".ai-rulez/skills/s/evals/{name}"), text);
    tree
}

fn mistakes(text: &str) -> String {
    one_file("a.eval.yaml", text).mistakes()
}

fn ids(project: &Project) -> Vec<&str> {
    project.skills.iter().map(|skill| skill.id.as_str()).collect()
}

const SKILL: &str = "---\nname: x\n---\n";
const CASE: &str = "id: a\nprompt: p\nexpect_trigger: true\n";

const WHOLE: &str = r#"# cases of a skill
schema_version: 1
cases:
  - id: deploy-basic
    description: The plain request fires the skill
    prompt: Deploy the billing service to staging
    expect_trigger: true
    near_miss:
      - Explain how our environments differ
      - Roll back the last deploy
    files:
      - path: ./services//billing/config.yaml
        content: "env: staging"
      - path: notes.txt
        source: fixtures/notes.txt
      - path: empty
    assertions:
      - type: contains
        value: staging-eu
      - {type: not_contains, value: production, path: deploy.log}
      - type: regex
        value: 'deployed \d+ services?'
      - type: file_exists
        path: deploy.log
      - {type: file_exists, path: tmp, exists: false}
      - type: command_exit
        command: grep -q ok deploy.log
        exit_code: 0
    rubric: The answer names the cluster.
    rubric_min_score: 0.8
    model: haiku
    tags: [smoke, "deploy:eu"]
  - id: from-file
    prompt_file: prompts/long.md
    expect_trigger: false
    rubric_items:
      - text: Names the cluster
        weight: 2
      - text: Says when
"#;

#[test]
fn a_whole_file_is_read_with_everything_that_it_names() {
    let tree = one_file("deploy.eval.yaml", WHOLE);
    tree.write(".ai-rulez/skills/s/evals/fixtures/notes.txt", b"\xff\x00");
    tree.write(".ai-rulez/skills/s/evals/prompts/long.md", "What is\nthis?\n\n");
    let loaded = tree.load("s");
    assert_eq!(loaded.diagnostics.to_string(), "");
    let [basic, from_file] = loaded.cases.as_slice() else { panic!("{:?}", loaded.cases) };
    assert_eq!((basic.place.location.line, basic.place.location.column), (4, 5));
    assert_eq!(basic.place.file, ".ai-rulez/skills/s/evals/deploy.eval.yaml");
    let files: Vec<_> = basic.files.iter().map(|f| (f.path.as_str(), &f.content[..])).collect();
    assert_eq!(
        files,
        [
            ("services/billing/config.yaml", &b"env: staging"[..]),
            ("notes.txt", b"\xff\x00"),
            ("empty", b"")
        ]
    );
    assert_eq!(basic.assertions.len(), 6);
    assert_eq!(
        basic.assertions[4],
        Assertion::FileExists { path: "tmp".to_owned(), exists: false }
    );
    assert!((basic.rubric.as_ref().unwrap().pass_mark() - 0.8).abs() < 1e-9);
    assert_eq!(from_file.prompt, "What is\nthis?");
    let Some(Criteria::Items(items)) = from_file.rubric.as_ref().map(|r| &r.criteria) else {
        panic!("{:?}", from_file.rubric)
    };
    assert_eq!((items[0].weight, items[1].weight), (Some(2.0), None));
    let expanded: Vec<String> = loaded.expanded().into_iter().map(|case| case.id).collect();
    assert_eq!(
        expanded,
        ["deploy-basic", "deploy-basic.near-miss-1", "deploy-basic.near-miss-2", "from-file"]
    );
}

#[test]
fn a_file_of_one_case_is_named_by_its_file() {
    let tree = one_file("Handoff.EVAL.YML", "prompt: p\nexpect_trigger: false\n$schema: x\n");
    let loaded = tree.load("s");
    assert_eq!(loaded.diagnostics.to_string(), "");
    assert_eq!(loaded.cases[0].id, "handoff");
    let json = one_file(
        "a.eval.json",
        r#"{"schema_version": 1, "id": "x", "prompt": "p", "expect_trigger": true} trailing"#,
    );
    assert_eq!(json.load("s").cases[0].id, "x");
    assert_eq!(
        one_file("Über uns.eval.yaml", "prompt: p\nexpect_trigger: false\n").mistakes(),
        "Über uns.eval.yaml:1:1: the file's name gives the id \"über uns\", which is none \
         (hint: add `id`: lower-case letters, digits, `.`, `_` and `-`, first a letter or a digit)"
    );
}

#[test]
fn every_mistake_is_reported_at_once_with_its_place() {
    let text = r#"schema_version: 2
cases:
  - id: Deploy Basic
    promt: Deploy
    expect_trigger: "yes"
    near_miss: ["", ok]
    files:
      - path: /etc/passwd
      - path: ../x
      - path: a
        content: x
        source: y
      - pth: b
      - text
    assertions:
      - type: contain
        value: x
      - value: x
      - {type: contains}
      - {type: contains, value: "", exists: true}
      - {type: regex, value: "(?=x)"}
      - {type: regex, value: '\p{Klingon}'}
      - {type: file_exists, value: x}
      - {type: file_exists, path: ~/x, exists: no}
      - {type: command_exit, command: " ", exit_code: 1.5}
      - {type: command_exit, command: x, path: y, exit_code: 3000000000}
    rubric: r
    rubric_items: []
    rubric_min_score: 1.5
    model: ""
    tags: [Smoke, 7, "a b"]
  - id: b
    prompt: p
    prompt_file: q
    expect_trigger: false
    near_miss: [x]
    rubric_min_score: 0.5
  - id: b
    prompt: " "
    expect_trigger: true
    rubric_items: [{text: "", weight: 0}, {text: t, weight: .inf}, {wait: 1}]
  - just text
  - id: c
"#;
    insta::assert_snapshot!(mistakes(text));
}

#[test]
fn the_shape_of_a_file_must_be_one_of_the_two() {
    for (text, expected) in [
        ("", "1:1: expected a YAML document, found an empty file"),
        ("---\n", "file holds no cases"),
        ("[]", "expected an object with `cases`, or one case, found an empty list"),
        ("cases: []\n", "1:8: cases: file holds no cases (hint: add one)"),
        ("cases:\n", "expected a list of cases, found null"),
        ("tags: [a]\n", "1:1: file holds no cases"),
        (
            "prompt: p\ncases:\n  - {id: a, prompt: p, expect_trigger: true}\n",
            "1:1: prompt: a file holds either `cases` or one case at its top level, not both \
             (hint: move the case into `cases`)",
        ),
        ("case:\n  - {id: a}\n", "1:1: case: unknown key (hint: did you mean `cases`?)"),
        (
            "id: a\nexpct_trigger: true\nprompt: p\n",
            "2:1: expct_trigger: unknown key (hint: did you mean `expect_trigger`?)",
        ),
        ("prompt: p\nexpect_trigger: true\nschema_version: '1'\n", "expected a whole number"),
    ] {
        let found = mistakes(text);
        assert!(found.contains(expected), "{text}\n{found}");
    }
}

#[test]
fn keys_of_a_case_beside_cases_are_ignored_with_a_warning() {
    let tree = one_file(
        "a.eval.yaml",
        "description: d\nassertions: [nonsense]\ncases:\n  - {id: a, prompt: p, expect_trigger: true}\n",
    );
    let loaded = tree.load("s");
    assert!(loaded.is_valid() && loaded.cases.len() == 1);
    insta::assert_snapshot!(tree.mistakes(), @r"
    a.eval.yaml:1:1: description: is ignored beside `cases` (hint: move it into a case)
    a.eval.yaml:2:1: assertions: is ignored beside `cases` (hint: move it into a case)
    ");
}

#[test]
fn ids_are_unique_in_a_skill_and_among_its_near_misses() {
    let tree = Tree::new(&[
        (".ai-rulez/skills/s/SKILL.md", SKILL),
        (
            ".ai-rulez/skills/s/evals/a.eval.yaml",
            "cases:\n  - &x {id: a, prompt: p, expect_trigger: true, near_miss: [x, y]}\n  - *x\n",
        ),
        (
            ".ai-rulez/skills/s/evals/b.eval.yaml",
            "cases:\n  - {id: a.near-miss-2, prompt: p, expect_trigger: true}\n  - {id: a.near-miss-3, prompt: p, expect_trigger: true}\n  - {id: a.near-miss-02, prompt: p, expect_trigger: true}\n",
        ),
        (".ai-rulez/evals/s/c.eval.yaml", CASE),
    ]);
    insta::assert_snapshot!(tree.mistakes(), @r"
    .ai-rulez/evals/s/c.eval.yaml:1:5: a.eval.yaml:2 has a case with the id `a` too (hint: rename one of them)
    a.eval.yaml:2:13: an earlier case, at line 2, has the id `a` (hint: rename one of them)
    b.eval.yaml:2:10: the id is that of near miss 2 of `a` (hint: rename the case)
    ");
}

#[test]
fn prompt_files_and_fixtures_stay_in_the_eval_folder() {
    let case = |id: &str, rest: &str| format!("  - {{id: {id}, expect_trigger: true, {rest}}}\n");
    let source = |path: &str| format!("prompt: p, files: [{{path: a, source: {path}}}]");
    let text = format!(
        "cases:\n{}{}{}{}{}{}{}{}{}{}",
        case("inside", &source("deep/../ok.txt")),
        case("absolute", &source("link-absolute")),
        case("linked", &source("link-inside")),
        case("missing", &source("none.txt")),
        case("outside", &source("link-outside")),
        case("through", &source("folder-outside/secret")),
        case("broken", &source("broken")),
        case("folder", &source("deep")),
        case("blank", "prompt_file: blank.md"),
        case("binary", "prompt_file: binary"),
    );
    let tree = one_file("a.eval.yaml", &text);
    let at = |path: &str| format!(".ai-rulez/skills/s/evals/{path}");
    tree.write("secret", "s");
    tree.write(&at("ok.txt"), "ok");
    tree.write(&at("deep/"), "");
    tree.write(&at("blank.md"), "\n\n");
    tree.write(&at("binary"), b"\xff");
    tree.link(&at("link-inside"), "ok.txt");
    tree.link(&at("link-absolute"), tree.root.join(at("ok.txt")).as_str());
    tree.link(&at("link-outside"), "../../../../secret");
    tree.link(&at("folder-outside"), "../../../..");
    tree.link(&at("broken"), "nowhere");
    insta::assert_snapshot!(tree.mistakes());
}

#[test]
fn large_files_are_refused_before_they_are_read() {
    let tree = one_file("a.eval.yaml", "id: a\nprompt_file: p.md\nexpect_trigger: true\n");
    let large = "x".repeat(1024 * 1024 + 1);
    tree.write(".ai-rulez/skills/s/evals/p.md", &large);
    tree.write(".ai-rulez/skills/s/evals/b.eval.json", &large);
    insta::assert_snapshot!(tree.mistakes(), @r"
    a.eval.yaml:2:14: prompt_file: is 1048577 bytes long; the limit is 1048576 bytes (1 MiB)
    b.eval.json:1:1: is 1048577 bytes long; the limit is 1048576 bytes (1 MiB)
    ");
}

#[test]
fn a_small_file_cannot_ask_for_a_large_case() {
    let tree = one_file("a.eval.yaml", "");
    tree.write(".ai-rulez/skills/s/evals/f", "x".repeat(1024 * 1024));
    let files = "{path: a, source: f}, ".repeat(100);
    let text = format!("prompt: p\nexpect_trigger: true\nfiles: [{files}]\n");
    tree.write(".ai-rulez/skills/s/evals/a.eval.yaml", text);
    let loaded = tree.load("s");
    assert!(loaded.diagnostics.to_string().contains("larger than 67108864 bytes together"));
    assert!(loaded.cases.is_empty());
    let near_misses = "x, ".repeat(1001);
    let text = format!("prompt: p\nexpect_trigger: true\nnear_miss: [{near_misses}]\n");
    assert!(mistakes(&text).contains("has 1001 prompts; the limit is 1000"));
    let text = format!("{CASE}tags: [{}]\n", "t".repeat(201));
    assert!(mistakes(&text).contains("is 201 bytes long; the limit is 200"));
}

#[test]
fn only_regular_case_files_outside_hidden_and_result_folders_are_read() {
    let tree = Tree::new(&[
        (".ai-rulez/skills/s/SKILL.md", SKILL),
        (".ai-rulez/skills/s/evals/z.eval.yaml", &CASE.replace("id: a", "id: z")),
        (".ai-rulez/skills/s/evals/a/b.eval.yml", &CASE.replace("id: a", "id: ab")),
        (".ai-rulez/skills/s/evals/a.eval.yaml", CASE),
        (".ai-rulez/skills/s/evals/case.yaml", "not ours"),
        (".ai-rulez/skills/s/evals/.eval.yaml", "not ours: ["),
        (".ai-rulez/skills/s/evals/.hidden/b.eval.yaml", "not ours: ["),
        (".ai-rulez/skills/s/evals/results/b.eval.yaml", "not ours: ["),
        (".ai-rulez/skills/s/evals/node_modules/b.eval.yaml", "not ours: ["),
        (".ai-rulez/skills/s/evals/folder.eval.yaml/", ""),
        (".ai-rulez/evals/s/c.eval.json", r#"{"id": "c", "prompt": "p", "expect_trigger": true}"#),
    ]);
    tree.link(".ai-rulez/skills/s/evals/linked.eval.yaml", "a.eval.yaml");
    let loaded = tree.load("s");
    let found: Vec<&str> = loaded.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(found, ["a", "ab", "z", "c"]);
    insta::assert_snapshot!(
        tree.mistakes(),
        @"linked.eval.yaml:1:1: is not read: it is a link (hint: put the case file itself here)"
    );
}

#[test]
fn the_first_of_the_four_layouts_counts() {
    let all = [
        (Layout::AiRulez, ".ai-rulez/skills/a/SKILL.md"),
        (Layout::Claude, ".claude/skills/b/SKILL.md"),
        (Layout::Agents, ".agents/skills/c/SKILL.md"),
        (Layout::Plain, "skills/d/SKILL.md"),
    ];
    for start in 0..all.len() {
        let files: Vec<_> = all[start..].iter().map(|(_, path)| (*path, SKILL)).collect();
        let project = Tree::new(&files).find();
        assert_eq!(project.layout, all[start].0);
        assert_eq!(project.skills.len(), 1);
    }
    let none = Tree::new(&[("src/main.rs", "")]);
    let error = find(&none.root, None).unwrap_err();
    assert!(matches!(error, FindError::Nothing { .. }), "{error}");
    // An empty `.ai-rulez` is a project without skills.
    let project = Tree::new(&[(".ai-rulez/", ""), ("skills/d/SKILL.md", SKILL)]).find();
    assert!(project.skills.is_empty());
}

#[test]
fn a_folder_can_be_named_instead() {
    let tree = Tree::new(&[
        (".ai-rulez/skills/a/SKILL.md", SKILL),
        ("elsewhere/b/SKILL.md", SKILL),
        ("evals/b/x.eval.yaml", CASE),
        ("config/skills/c/SKILL.md", SKILL),
        ("config/domains/d/skills/e/SKILL.md", SKILL),
        ("odd/skills/SKILL.md", SKILL),
    ]);
    let named = |folder: &str| find(&tree.root, Some(Utf8Path::new(folder)));
    let project = named("elsewhere").unwrap();
    assert_eq!((project.layout, ids(&project)), (Layout::NamedSkills, vec!["b"]));
    assert_eq!(project.skills[0].eval_folders, [tree.root.join("evals/b")]);
    let project = named("config").unwrap();
    assert_eq!((project.layout, ids(&project)), (Layout::NamedConfiguration, vec!["c", "e"]));
    assert_eq!(project.skills[1].domain.as_deref(), Some("d"));
    assert_eq!(ids(&named(".ai-rulez").unwrap()), ["a"]);
    assert_eq!(ids(&named("odd").unwrap()), ["skills"]);
    assert!(matches!(named("nowhere"), Err(FindError::NotAFolder { .. })));
}

#[test]
fn root_skills_come_before_domains_and_what_is_passed_over_is_told() {
    let tree = Tree::new(&[
        (".ai-rulez/skills/deploy/SKILL.md", SKILL),
        (".ai-rulez/skills/zeta/SKILL.md", SKILL),
        (".ai-rulez/skills/.hidden/SKILL.md", SKILL),
        (".ai-rulez/skills/no-skill/README.md", ""),
        (".ai-rulez/skills/forgotten/evals/a.eval.yaml", CASE),
        (".ai-rulez/domains/b/skills/alpha/SKILL.md", SKILL),
        (".ai-rulez/domains/a/skills/alpha/SKILL.md", SKILL),
        (".ai-rulez/domains/a/skills/deploy/SKILL.md", SKILL),
        (".ai-rulez/evals/deploy/a.eval.yaml", CASE),
        (".ai-rulez/evals/nobody/a.eval.yaml", CASE),
        (".ai-rulez/evals/stray.eval.yaml", CASE),
        (".ai-rulez/evals/README.md", ""),
        ("shared/linked/SKILL.md", SKILL),
        ("shared/linked/evals/a.eval.yaml", CASE),
    ]);
    let outside = Tree::new(&[("out/SKILL.md", SKILL)]);
    tree.link(".ai-rulez/skills/linked", "../../shared/linked");
    tree.link(".ai-rulez/skills/outside", outside.root.join("out").as_str());
    let project = tree.find();
    assert_eq!(ids(&project), ["alpha", "deploy", "linked", "zeta"]);
    assert_eq!(project.skill("alpha").unwrap().domain.as_deref(), Some("a"));
    assert_eq!(project.skill("deploy").unwrap().domain, None);
    assert_eq!(project.skill("linked").unwrap().eval_folders.len(), 1);
    insta::assert_snapshot!(project.warnings.to_string());
}

#[test]
fn an_eval_folder_that_leads_out_is_refused() {
    let tree = Tree::new(&[(".ai-rulez/skills/s/SKILL.md", SKILL), ("cases/a.eval.yaml", CASE)]);
    tree.link(".ai-rulez/skills/s/evals", "../../../cases");
    tree.link(".ai-rulez/evals/s", "../real");
    tree.write(".ai-rulez/real/b.eval.yaml", CASE);
    let project = tree.find();
    let skill = project.skill("s").unwrap();
    assert_eq!(skill.escaped, [tree.root.join(".ai-rulez/skills/s/evals")]);
    assert_eq!(skill.eval_folders, [tree.root.join(".ai-rulez/evals/s")]);
    let loaded = load_skill(&project, skill);
    assert!(loaded.cases.is_empty() && !loaded.is_valid());
    let problems = loaded.problems();
    assert_eq!((problems[0].file.as_str(), problems[0].line), (".ai-rulez/skills/s/evals", 1));
}

#[test]
fn digests_equal_the_published_vectors() {
    let tree = Tree::new(&[
        ("skills/deploy/SKILL.md", "---\nname: deploy\n---\nDeploy.\n"),
        ("skills/deploy/references/a.md", "A\n"),
        ("skills/deploy/evals/a.eval.yaml", "id: a\n"),
        ("skills/deploy/.DS_Store", "junk"),
        ("skills/deploy/references/._a.md", "junk"),
        ("evals/deploy/b.eval.yaml", "id: b\n"),
        ("evals/deploy/results/x", "left out"),
        ("evals/deploy/Thumbs.db", "junk"),
    ]);
    let project = tree.find();
    let skill = project.skill("deploy").unwrap();
    assert_eq!(
        skill_digest(&skill.folder).unwrap(),
        "sha256:614efd28c4cdb04449c227181275ec0f111bfbb592bab156b95db04ad033235e"
    );
    assert_eq!(
        cases_digest(&skill.eval_folders).unwrap(),
        "sha256:c0d3062b870d452ad32face31481270b20f6803ba77a81358740aca2b1ef60cf"
    );
    assert_eq!(
        cases_digest(&[]).unwrap(),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    let skill = tree.root.join("locked");
    tree.write("locked/SKILL.md", "---\nname: deploy\n---\nDeploy.\n");
    tree.write("locked/scripts/run.sh", "#!/bin/sh\necho hi\n");
    tree.write("locked/assets/logo.bin", b"\x00\x01\r\n\x02");
    tree.write("locked/evals/a.eval.yaml", CASE);
    tree.write("locked/notes.md", "no resource");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(skill.join("scripts/run.sh"), executable).unwrap();
    assert_eq!(
        lock_digest(&skill).unwrap(),
        "sha256:262d721306783b4c3b554a1345253c266f6f991733dad6a347e1b55d5e57ac05"
    );
}

#[test]
fn a_digest_changes_with_what_it_covers_and_with_nothing_else() {
    let tree = Tree::new(&[("s/SKILL.md", "a"), ("s/sub/evals/x", "counts")]);
    let skill = tree.root.join("s");
    let digest = || skill_digest(&skill).unwrap();
    let first = digest();
    tree.write("s/evals/a.eval.yaml", CASE);
    tree.write("s/Thumbs.db", "");
    tree.write("s/empty/", "");
    assert_eq!(digest(), first, "cases, junk and empty folders do not count");
    tree.write("s/.hidden", "");
    let hidden = digest();
    assert_ne!(hidden, first, "hidden files count");
    tree.link("s/link", "target");
    let linked = digest();
    assert_ne!(linked, hidden, "links count");
    fs::remove_file(skill.join("link")).unwrap();
    tree.link("s/link", "other");
    assert_ne!(digest(), linked, "and where they lead");
    assert!(
        skill_digest(&tree.root.join("none"))
            .unwrap_err()
            .to_string()
            .contains("none cannot be read")
    );
    tree.write("s/assets/a\\b", "");
    assert!(lock_digest(&skill).unwrap_err().to_string().contains("backslash"));
}

#[test]
fn pipes_neither_stop_nor_change_anything() {
    let tree = one_file("a.eval.yaml", "id: a\nprompt_file: pipe\nexpect_trigger: true\n");
    let folder = tree.root.join(".ai-rulez/skills/s");
    let before = skill_digest(&folder).unwrap();
    for path in ["pipe", "evals/pipe", "evals/b.eval.yaml"] {
        nix::unistd::mkfifo(folder.join(path).as_std_path(), nix::sys::stat::Mode::S_IRWXU)
            .unwrap();
    }
    assert_eq!(skill_digest(&folder).unwrap(), before);
    insta::assert_snapshot!(
        tree.mistakes(),
        @"a.eval.yaml:2:14: prompt_file: expected a file, found a pipe, socket or device"
    );
}

#[test]
fn a_folder_that_may_not_be_read_makes_the_skill_invalid() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let tree = one_file("a.eval.yaml", CASE);
    let folder = tree.root.join(".ai-rulez/skills/s/evals");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    let loaded = tree.load("s");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!loaded.is_valid());
}
