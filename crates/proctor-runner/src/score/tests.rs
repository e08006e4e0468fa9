use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use proctor_formats::fixture_run::adapters::adapter;
use proctor_model::recorded::report::{Counts, Verdict};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

/// A folder of runs.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn gather(&self, paths: &[&str], exclude: &[&str]) -> Result<Inputs, InputError> {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        let exclude: Vec<String> = exclude.iter().map(ToString::to_string).collect();
        Inputs::gather(&paths, self.path(), &exclude)
    }

    fn score(&self, paths: &[&str]) -> Shown {
        shown(self.gather(paths, &[]).unwrap(), &options(), "")
    }
}

fn options() -> Options {
    Options {
        boundary: Boundary::Substring,
        adapter: None,
        order_by: None,
        self_test: false,
        labels: None,
        workers: NonZeroUsize::new(3).unwrap(),
        temporary: std::env::temp_dir(),
    }
}

/// A scored set: a line a run with path, verdict, first violation and notes.
struct Shown {
    runs: Vec<String>,
    summary: Summary,
}

fn shown(inputs: Inputs, options: &Options, stdin: &str) -> Shown {
    let render = |report: &RunReport<'_>, out: &mut Vec<u8>| {
        let path = report.path.as_deref().unwrap_or("alone");
        let violation = report.violations.first().map(|v| format!(" {v}")).unwrap_or_default();
        let notes: Vec<_> = report.notes.iter().flat_map(|note| [" +", note]).collect();
        let notes = notes.concat();
        out.extend_from_slice(format!("{path} {}{violation}{notes}\n", report.verdict).as_bytes());
    };
    let scored = score(inputs, &mut stdin.as_bytes(), options, &render).unwrap();
    let mut text = Vec::new();
    assert!(!scored.duplicates_unfinished);
    scored.runs.copy_to(0, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    Shown { runs: text.lines().map(str::to_owned).collect(), summary: scored.summary }
}

#[expect(clippy::needless_pass_by_value, reason = "literals")]
fn envelope(id: &str, kind: &str, expected: Value, actual: Value) -> Value {
    let mut run = json!({
        "contractVersion": "1",
        "fixture": {"id": id, "category": "forgetting", "kind": kind, "expected": expected},
    });
    if !actual.is_null() {
        run["actual"] = actual;
    }
    run
}

/// A run that passes, fails, is unknown or breaks the contract.
fn run(id: &str, verdict: &str) -> String {
    let expected = json!({"mustContain": ["Oslo"]});
    match verdict {
        "pass" => envelope(id, "positive", expected, json!({"answer": "Oslo"})),
        "fail" => envelope(id, "negative", expected, json!({"answer": "Rome"})),
        "unknown" => envelope(id, "missing-data", expected, json!(null)),
        _ => envelope(id, "malformed", json!([]), json!(null)),
    }
    .to_string()
}

#[test]
fn a_directory_is_scored_in_the_order_of_its_names() {
    let folder = Folder::new();
    folder
        .write("set/b.json", run("b", "fail"))
        .write("set/a/z.JSON", run("z", "pass"))
        .write("set/a.json", run("a", "unknown"))
        .write("set/c.jsonl", format!("{}\n\n  \r\n{}", run("c1", "pass"), run("c3", "error")))
        .write("set/notes.txt", "no run")
        .write("set/e.json", "{");
    let shown = folder.score(&["set"]);
    assert_eq!(
        shown.runs,
        [
            "a.json unknown",
            "a/z.JSON pass",
            "b.json fail",
            "c.jsonl:1 pass",
            "c.jsonl:4 error /fixture/expected: expected an object, found an empty list",
            "e.json error column 1: `{` is never closed",
        ]
    );
    assert_eq!(shown.summary.verdict, Verdict::Error);
    assert_eq!(shown.summary.counts, Counts { error: 2, fail: 1, unknown: 1, pass: 2 });
    assert_eq!(shown.summary.skipped, 0);
    let cells: Vec<String> = shown
        .summary
        .matrix
        .iter()
        .map(|cell| {
            format!("{:?} {:?} {} {}", cell.category, cell.kind, cell.verdict, cell.counts.total())
        })
        .collect();
    assert_eq!(
        cells,
        [
            "Some(Forgetting) Some(Positive) pass 2",
            "Some(Forgetting) Some(Negative) fail 1",
            "Some(Forgetting) Some(Malformed) error 1",
            "Some(Forgetting) Some(MissingData) unknown 1",
            "None None error 1",
        ]
    );
}

#[test]
fn what_is_left_out_is_counted() {
    let folder = Folder::new();
    let passes = run("x", "pass");
    folder
        .write("a.json", &passes)
        .write(".hidden.json", "{")
        .write(".config/b.json", "{")
        .write("node_modules/c.json", "{")
        .write("sub/target/d.json", "{")
        .write("sub/.gitignore", "")
        .write("sub/drafts/e.json", "{")
        .write("sub/f.draft.json", "{")
        .write("sub/keep.draft.json", &passes)
        .write("sub/g.json", "{")
        .write(".fixturerunignore", "\u{feff}*.draft.json\r\n# drafts\r\n/sub/drafts/\r\n")
        .write("sub/.fixturerunignore", "!keep.draft.json\n");
    let shown = shown(folder.gather(&["."], &["g.json"]).unwrap(), &options(), "");
    assert_eq!(shown.runs, ["a.json pass", "sub/keep.draft.json pass"]);
    assert_eq!(shown.summary.skipped, 7);
    // A file that is named is read whatever its name.
    assert_eq!(folder.score(&[".hidden.json"]).runs.len(), 1);
    let none = folder.gather(&["a.json"], &["*.json"]).unwrap();
    assert!(none.complaints().is_empty() && !none.is_single());
}

#[test]
fn nothing_to_score_is_unknown() {
    let folder = Folder::new();
    folder.write("set/readme.md", "");
    let shown = folder.score(&["set"]);
    assert!(shown.runs.is_empty());
    assert_eq!(shown.summary.verdict, Verdict::Unknown);
    assert_eq!(shown.summary.notes, ["no fixture-runs found"]);
}

#[test]
fn lines_that_are_none_do_not_pass_beside_others() {
    let folder = Folder::new();
    folder
        .write("set/a.jsonl", "")
        .write("set/b.jsonl", " \n\r\n")
        .write("set/c.json", run("c", "pass"));
    let shown = folder.score(&["set"]);
    let empty = "the file is empty; expected a fixture-run a line";
    let expected =
        [format!("a.jsonl error {empty}"), format!("b.jsonl error {empty}"), "c.json pass".into()];
    assert_eq!(shown.runs, expected);
    assert_eq!(shown.summary.verdict, Verdict::Error);
}

#[test]
fn links_are_read_once_and_never_lead_out() {
    let folder = Folder::new();
    folder.write("set/real.json", run("x", "pass")).write("out.json", run("o", "pass"));
    let set = folder.path().join("set");
    fs::create_dir(set.join("sub")).unwrap();
    symlink("real.json", set.join("link.json")).unwrap();
    symlink("..", set.join("sub/up")).unwrap();
    symlink("loop.json", set.join("loop.json")).unwrap();
    symlink("nothing", set.join("none.json")).unwrap();
    symlink("../out.json", set.join("out.json")).unwrap();
    let shown = folder.score(&["set"]);
    assert_eq!(
        shown.runs,
        [
            "link.json pass",
            "loop.json error is a link that leads back to itself; mend the link",
            "none.json error is a link to nothing; mend the link",
            "out.json error is a link out of the directory; name the file itself to score it",
        ]
    );
    assert_eq!(shown.summary.skipped, 2);
    // The same file, named twice.
    let twice = folder.score(&["set/real.json", "./set/real.json", "out.json"]);
    assert_eq!(twice.runs, ["out.json pass", "set/real.json pass"]);
    assert_eq!(twice.summary.skipped, 1);
}

#[test]
fn what_is_no_file_is_an_error_of_its_own() {
    let folder = Folder::new();
    folder.write("set/a.json", run("a", "pass")).write("set/b.json", [0, 159, 146, 150]);
    let pipe = folder.path().join("set/pipe.json");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    nix::unistd::mkfifo(&folder.path().join("set/pipe.jsonl"), nix::sys::stat::Mode::S_IRWXU)
        .unwrap();
    let name = OsStr::from_bytes(b"set/\xff\n.json");
    folder.write(Path::new(name), run("n", "pass"));
    let shown = folder.score(&["set"]);
    assert_eq!(shown.runs.len(), 6);
    assert_eq!(shown.runs[0], "\\xff");
    assert_eq!(shown.runs[1], ".json pass");
    assert_eq!(shown.runs[2], "a.json pass");
    assert!(shown.runs[3].starts_with("b.json error column 2: invalid UTF-8"), "{}", shown.runs[3]);
    assert_eq!(shown.runs[4], "pipe.json error expected a file, found a pipe, socket or device");
    assert_eq!(shown.runs[5], "pipe.jsonl error expected a file, found a pipe, socket or device");
}

#[test]
fn a_path_that_is_not_there_is_scored_as_an_error_and_complained_about() {
    let folder = Folder::new();
    folder.write("a.json", run("a", "pass"));
    let inputs = folder.gather(&["nothing.json"], &[]).unwrap();
    assert!(inputs.is_single());
    assert!(inputs.complaints()[0].starts_with("nothing.json: does not exist"));
    let alone = shown(inputs, &options(), "");
    assert!(alone.runs[0].starts_with("alone error does not exist"));
    let both = folder.score(&["nothing.json", "a.json"]);
    assert_eq!(both.runs[0], "a.json pass");
    assert_eq!(both.summary.verdict, Verdict::Error);
}

#[test]
fn absolute_paths_are_named_as_far_as_they_differ() {
    let folder = Folder::new();
    folder
        .write("one/x/a.json", run("a", "pass"))
        .write("two/x/a.json", run("b", "pass"))
        .write("two/b.json", run("c", "pass"));
    let absolute = |path: &str| folder.path().join(path).display().to_string();
    let (one, two, b) =
        (absolute("one/x/a.json"), absolute("two/x/a.json"), absolute("two/b.json"));
    assert_eq!(
        folder.score(&[&one, &two, &b, &one]).runs,
        ["b.json pass", "one/x/a.json pass", "two/x/a.json pass"]
    );
    assert_eq!(
        folder.score(&[&absolute("one/x"), &absolute("./two/x")]).runs,
        ["one/x/a.json pass", "two/x/a.json pass"]
    );
    assert_eq!(folder.score(&["one/x/a.json", &one]).runs, ["a.json pass"]);
}

#[test]
fn names_are_those_of_the_command_line() {
    let folder = Folder::new();
    folder.write("one/a.json", run("a", "pass")).write("two/a.json", run("a", "pass"));
    let all = folder.score(&["two/", "./one", "one/../two/a.json"]);
    assert_eq!(all.runs, ["one/../two/a.json pass", "one/a.json pass"]);
    let absolute = folder.path().join("one").display().to_string();
    assert_eq!(folder.score(&[&absolute, "two"]).runs, ["one/a.json pass", "two/a.json pass"]);
    assert_eq!(
        folder.score(&[&format!("{absolute}/a.json"), "two"]).runs,
        ["a.json pass", "two/a.json pass"]
    );
    assert_eq!(folder.score(&["one/a.json"]).runs, ["alone pass"]);
}

#[test]
fn standard_input_holds_one_run() {
    let folder = Folder::new();
    let inputs = folder.gather(&["-"], &[]).unwrap();
    assert_eq!(shown(inputs, &options(), &run("x", "fail")).runs, ["alone fail"]);
    let inputs = folder.gather(&["-"], &[]).unwrap();
    assert!(shown(inputs, &options(), "").runs[0].contains("found an empty file"));
    folder.write("a.json", run("a", "pass"));
    let inputs = folder.gather(&["a.json", "-"], &[]).unwrap();
    assert_eq!(shown(inputs, &options(), &run("x", "fail")).runs, ["- fail", "a.json pass"]);
    assert!(matches!(folder.gather(&["-", "-"], &[]), Err(InputError::StdinTwice)));
}

#[test]
fn patterns_that_are_none_end_everything() {
    let folder = Folder::new();
    folder.write("set/a.json", run("a", "pass")).write("set/.fixturerunignore", "ok\na[\n");
    let error = folder.gather(&["."], &["x[y"]).unwrap_err().to_string();
    assert!(error.starts_with("`x[y` is no pattern: "), "{error}");
    let error = folder.gather(&["set"], &[]).unwrap_err().to_string();
    assert!(error.starts_with("`a[` is no pattern in .fixturerunignore:2: "), "{error}");
    fs::write(folder.path().join("set/.fixturerunignore"), b"\xff").unwrap();
    let error = folder.gather(&["set"], &[]).unwrap_err().to_string();
    assert_eq!(error, ".fixturerunignore cannot be used: is no UTF-8");
    // Only files have comments.
    folder.write("more/#a.json", run("a", "pass"));
    let inputs = folder.gather(&["more"], &["#a.json"]).unwrap();
    assert_eq!(shown(inputs, &options(), "").summary.skipped, 1);
}

#[test]
fn lines_stand_on_their_own() {
    let folder = Folder::new();
    let long = format!("\"{}\"", "x".repeat(17 * 1024 * 1024));
    let padded = format!("{}{}", " ".repeat(300_000), run("padded", "pass"));
    let mut text = format!("\u{feff}{}\n{long}\n{padded}\n", run("first", "pass")).into_bytes();
    text.extend_from_slice(b"\"\xff\"\n");
    text.extend_from_slice(run("last", "fail").as_bytes());
    folder.write("r.jsonl", text);
    let shown = folder.score(&["r.jsonl"]);
    assert_eq!(
        shown.runs,
        [
            "r.jsonl:1 pass",
            "r.jsonl:2 error line is 17825794 bytes long; the limit is 16777216 bytes",
            "r.jsonl:3 pass",
            "r.jsonl:4 error column 2: invalid UTF-8: byte 0xFF at offset 1; save the file as UTF-8",
            "r.jsonl:5 fail",
        ]
    );
    folder.write("end.jsonl", format!("{}\n{long}", run("first", "pass")));
    assert_eq!(
        folder.score(&["end.jsonl"]).runs,
        [shown.runs[0].replace("r.", "end."), shown.runs[1].replace("r.", "end.")]
    );
}

#[test]
fn however_many_work_the_report_is_the_same() {
    let folder = Folder::new();
    let verdicts = ["pass", "fail", "unknown", "error"];
    let mut text = String::new();
    for index in 0..3_000 {
        text += &run(&format!("r{}", index % 700), verdicts[index % 4]);
        text.push('\n');
        if index % 7 == 0 {
            text.push('\n');
        }
        if index < 200 {
            folder.write(format!("f{index}.json"), run(&format!("f{index}"), verdicts[index % 4]));
        }
    }
    folder.write("r.jsonl", text);
    let by = |workers| {
        let options = Options { workers: NonZeroUsize::new(workers).unwrap(), ..options() };
        shown(folder.gather(&["."], &[]).unwrap(), &options, "")
    };
    let one = by(1);
    assert_eq!(one.summary.counts.total(), 3_200);
    assert!(one.runs.is_sorted_by_key(|line| {
        let path = line.split(' ').next().unwrap();
        let (file, number) = path.split_once(':').unwrap_or((path, "0"));
        (file.to_owned(), number.parse::<u64>().unwrap())
    }));
    for workers in [2, 5, 16] {
        let many = by(workers);
        assert_eq!(many.runs, one.runs);
        assert_eq!(many.summary, one.summary);
    }
}

#[test]
fn the_same_id_with_other_content_is_noted() {
    let folder = Folder::new();
    folder
        .write("a.json", run("x", "pass"))
        .write("b.json", format!(" {}", run("x", "pass")))
        .write("c.json", run("x", "fail"))
        .write("d.json", run("y", "fail"))
        .write("e.json", run("x", "pass"));
    assert_eq!(
        folder.score(&["."]).runs,
        [
            "a.json pass",
            "b.json pass",
            "c.json fail +duplicate_id",
            "d.json fail",
            "e.json pass +duplicate_id",
        ]
    );
}

#[test]
fn an_adapter_reads_the_payload() {
    let folder = Folder::new();
    let with = |payload: Value| {
        let mut run = envelope("x", "positive", json!({"mustContain": ["Oslo"]}), json!(null));
        run["payload"] = payload;
        run.to_string()
    };
    folder
        .write("a.json", with(json!({"messages": [{"role": "assistant", "content": "Oslo"}]})))
        .write("b.json", with(json!({"messages": []})))
        .write("c.json", with(json!([])))
        .write("d.json", run("x", "pass"))
        .write(
            "e.json",
            envelope("x", "positive", json!({"mustContain": ["Oslo"]}), json!(null)).to_string(),
        )
        .write("f.json", with(json!(1)).replace("positive", "odd"));
    let options = Options { adapter: adapter("transcript"), ..options() };
    let shown = shown(folder.gather(&["."], &[]).unwrap(), &options, "");
    assert_eq!(shown.runs[0], "a.json pass");
    assert_eq!(shown.runs[1], "b.json unknown +no_answer_text +duplicate_id");
    assert!(shown.runs[2].starts_with("c.json error /payload: found "), "{}", shown.runs[2]);
    assert_eq!(
        shown.runs[3],
        "d.json error /actual: unknown key; an adapter makes `actual` from `payload` +duplicate_id"
    );
    assert_eq!(shown.runs[4], "e.json unknown +duplicate_id");
    assert!(shown.runs[5].starts_with("f.json error /fixture/kind: "), "{}", shown.runs[5]);
}

#[test]
fn a_self_test_holds_verdicts_against_kinds() {
    let folder = Folder::new();
    let test = |folder: &Folder| {
        let options = Options { self_test: true, ..options() };
        shown(folder.gather(&["."], &[]).unwrap(), &options, "").summary
    };
    assert_eq!(test(&folder).verdict, Verdict::Unknown);
    for verdict in ["pass", "fail", "unknown", "error"] {
        folder.write(format!("{verdict}.json"), run(verdict, verdict));
    }
    let adversarial =
        envelope("ad", "adversarial", json!({"mustContain": ["x"]}), json!({"answer": "y"}));
    folder.write("adversarial.json", adversarial.to_string());
    let mut stated =
        envelope("st", "adversarial", json!({"mustContain": ["x"]}), json!({"answer": "x"}));
    stated["fixture"]["intendedVerdict"] = json!("pass");
    folder.write("stated.json", stated.to_string());
    let summary = test(&folder);
    assert_eq!(summary.verdict, Verdict::Pass);
    assert_eq!(summary.self_test.unwrap().as_intended, 6);
    folder.write("truncated.json", "{\"contractVersion\":");
    let summary = test(&folder);
    assert_eq!((summary.verdict, summary.self_test.unwrap().undecided), (Verdict::Fail, 1));
    folder.write("wrong.json", run("w", "pass").replace("positive", "negative"));
    assert_eq!(test(&folder).self_test.unwrap().otherwise, 1);
}

#[test]
fn labels_are_compared_with_verdicts() {
    let folder = Folder::new();
    let labels = |text: &str| {
        folder.write("labels.csv", text);
        Labels::read(&folder.path().join("labels.csv"))
    };
    for (name, verdict) in
        [("a", "pass"), ("b", "fail"), ("c", "pass"), ("d", "unknown"), ("e", "pass")]
    {
        folder.write(format!("{name}.json"), run(name, verdict));
    }
    let text = "\u{feff}id,label\na,pass\nb\tfail\n\nc.json,fail\n d , pass \nnobody,pass\n";
    let options = Options { labels: Some(labels(text).unwrap()), ..options() };
    let summary = shown(folder.gather(&["."], &[]).unwrap(), &options, "").summary;
    let agreement = summary.agreement.unwrap();
    let table: Vec<_> = agreement
        .table
        .iter()
        .map(|r| (r.verdict.as_str(), r.labelled_pass, r.labelled_fail))
        .collect();
    assert_eq!(table, [("pass", 1, 1), ("unknown", 1, 0), ("fail", 0, 1), ("error", 0, 0)]);
    assert_eq!((agreement.unlabelled, agreement.unused), (1, 1));
    assert_eq!(agreement.agree.value, Some(0.6667));
    assert_eq!(agreement.pass_is_right.value, Some(0.5));

    for (text, message) in [
        ("a", "labels.csv:1: expected an id, a comma or tab, and `pass` or `fail`"),
        ("a,pass\nb,yes", "labels.csv:2: expected `pass` or `fail` at the end, found \"yes\""),
        (" ,pass", "labels.csv:1: the id is missing"),
        ("a,pass\na,fail", "labels.csv:2: `a` has a label already; label runs by their path"),
    ] {
        let error = labels(text).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
}

#[test]
fn a_report_that_cannot_be_kept_ends_the_scoring() {
    let folder = Folder::new();
    let many: String = (0..2_000).map(|index| run(&format!("r{index}"), "pass") + "\n").collect();
    folder.write("r.jsonl", many);
    let options = Options { temporary: folder.path().join("nowhere"), ..options() };
    let render = |_: &RunReport<'_>, out: &mut Vec<u8>| out.extend_from_slice(&[b'x'; 10_000]);
    // Whoever comes next must not forget the error.
    for _ in 0..10 {
        let inputs = folder.gather(&["r.jsonl"], &[]).unwrap();
        let error = score(inputs, &mut io::empty(), &options, &render).unwrap_err().to_string();
        assert!(error.contains("nowhere") && error.contains("TMPDIR"), "{error}");
    }
}

/// A bug of ours in a renderer ends the scoring; it must not leave anybody waiting.
#[test]
fn a_panic_ends_the_round() {
    let folder = Folder::new();
    let many: String = (0..20_000).map(|index| run(&format!("r{index}"), "pass") + "\n").collect();
    folder.write("r.jsonl", many);
    for (workers, line) in [(1, "r.jsonl:1"), (3, "r.jsonl:1"), (3, "r.jsonl:15000")] {
        let inputs = folder.gather(&["r.jsonl"], &[]).unwrap();
        let options = Options { workers: NonZeroUsize::new(workers).unwrap(), ..options() };
        let render = |report: &RunReport<'_>, _: &mut Vec<u8>| {
            assert_ne!(report.path.as_deref(), Some(line), "on purpose");
        };
        let done =
            catch_unwind(AssertUnwindSafe(|| score(inputs, &mut io::empty(), &options, &render)));
        assert!(done.is_err());
    }
}
