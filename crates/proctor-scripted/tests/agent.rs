//! The agent as a process: what it prints, does and exits with.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use proctor_scripted::Script;

struct Scene {
    temp: tempfile::TempDir,
}

fn scene() -> Scene {
    Scene { temp: tempfile::tempdir().unwrap() }
}

/// What a run left: its streams and exit code.
struct Run {
    out: String,
    err: String,
    code: Option<i32>,
}

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join("work").join(name)
    }

    fn command(&self, steps: &str, args: &[&str]) -> Command {
        fs::create_dir_all(self.path("")).unwrap();
        let script = self.temp.path().join("agent.yaml");
        fs::write(&script, steps).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_proctor-scripted"));
        command.arg("__agent").arg("../agent.yaml").args(args).current_dir(self.path(""));
        command.env_remove("PROCTOR_MAX_TURNS").stdin(Stdio::null());
        command
    }

    fn run(&self, steps: &str) -> Run {
        run(&mut self.command(steps, &["--", "the prompt"]))
    }
}

fn run(command: &mut Command) -> Run {
    let Output { status, stdout, stderr } = command.output().unwrap();
    Run {
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
        code: status.code(),
    }
}

fn out(steps: &str) -> String {
    let run = scene().run(steps);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    run.out
}

#[test]
fn an_empty_script_completes() {
    insta::assert_snapshot!(out("steps: []"), @r##"
{"type":"start","version":1}
{"type":"end","outcome":"completed","message":""}
"##);
}

#[test]
fn the_mock_repeats_the_prompt_writes_one_file_and_reports_usage() {
    let scene = scene();
    fs::create_dir_all(scene.path("")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_proctor-scripted"));
    command.args(["__agent", proctor_scripted::MOCK, "--", "say \"hi\""]);
    command.current_dir(scene.path("")).env_remove("PROCTOR_MAX_TURNS").stdin(Stdio::null());
    let run = run(&mut command);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(scene.path("mock.txt")).unwrap(), "say \"hi\"");
    insta::assert_snapshot!(run.out, @r##"
{"type":"start","version":1}
{"type":"tool_call","id":"1","name":"Write","input":{"file_path":"mock.txt","content":"say \"hi\""}}
{"type":"tool_result","id":"1","status":"ok","text":""}
{"type":"file_change","path":"mock.txt","change":"added"}
{"type":"say","text":"say \"hi\""}
{"type":"usage","input_tokens":100,"output_tokens":20,"cost_usd":0.0}
{"type":"end","outcome":"completed","message":""}
"##);
}

#[test]
fn it_speaks_reads_and_warns() {
    let scene = scene();
    fs::create_dir_all(scene.path("")).unwrap();
    fs::write(scene.path("a.md"), "content\n").unwrap();
    let run = scene.run(
        "steps:\n  - say: 'I was told: ${prompt}'\n  - read: a.md\n  - read: none.md\n  \
         - notice: careful\n  - skill: review\n  - usage: {input_tokens: 5, cost_usd: 0.25}\n",
    );
    insta::assert_snapshot!(run.out, @r##"
{"type":"start","version":1}
{"type":"say","text":"I was told: the prompt"}
{"type":"tool_call","id":"1","name":"Read","input":{"file_path":"a.md"}}
{"type":"tool_result","id":"1","status":"ok","text":"content\n"}
{"type":"tool_call","id":"2","name":"Read","input":{"file_path":"none.md"}}
{"type":"tool_result","id":"2","status":"error","text":"none.md: No such file or directory (os error 2)"}
{"type":"notice","message":"careful"}
{"type":"tool_call","id":"3","name":"Skill","input":{"skill":"review"}}
{"type":"tool_result","id":"3","status":"ok","text":""}
{"type":"usage","input_tokens":5,"cost_usd":0.25}
{"type":"end","outcome":"completed","message":""}
"##);
}

#[test]
fn it_changes_files() {
    let scene = scene();
    let run = scene.run(
        "steps:\n  - write: {path: deep/er/a.txt, text: \"${prompt}\\n\"}\n  \
         - append: {path: deep/er/a.txt, text: more}\n  - append: {path: b.txt, text: new}\n  \
         - write: {path: c.txt, text: x}\n  - delete: c.txt\n  - delete: c.txt\n  \
         - write: {path: deep, text: x}\n",
    );
    insta::assert_snapshot!(run.out, @r##"
{"type":"start","version":1}
{"type":"tool_call","id":"1","name":"Write","input":{"file_path":"deep/er/a.txt","content":"the prompt\n"}}
{"type":"tool_result","id":"1","status":"ok","text":""}
{"type":"file_change","path":"deep/er/a.txt","change":"added"}
{"type":"tool_call","id":"2","name":"Edit","input":{"file_path":"deep/er/a.txt","old_string":"","new_string":"more"}}
{"type":"tool_result","id":"2","status":"ok","text":""}
{"type":"file_change","path":"deep/er/a.txt","change":"updated"}
{"type":"tool_call","id":"3","name":"Edit","input":{"file_path":"b.txt","old_string":"","new_string":"new"}}
{"type":"tool_result","id":"3","status":"ok","text":""}
{"type":"file_change","path":"b.txt","change":"added"}
{"type":"tool_call","id":"4","name":"Write","input":{"file_path":"c.txt","content":"x"}}
{"type":"tool_result","id":"4","status":"ok","text":""}
{"type":"file_change","path":"c.txt","change":"added"}
{"type":"tool_call","id":"5","name":"Delete","input":{"file_path":"c.txt"}}
{"type":"tool_result","id":"5","status":"ok","text":""}
{"type":"file_change","path":"c.txt","change":"deleted"}
{"type":"tool_call","id":"6","name":"Delete","input":{"file_path":"c.txt"}}
{"type":"tool_result","id":"6","status":"error","text":"c.txt: No such file or directory (os error 2)"}
{"type":"tool_call","id":"7","name":"Write","input":{"file_path":"deep","content":"x"}}
{"type":"tool_result","id":"7","status":"error","text":"deep: Is a directory (os error 21)"}
{"type":"end","outcome":"completed","message":""}
"##);
    assert_eq!(fs::read_to_string(scene.path("deep/er/a.txt")).unwrap(), "the prompt\nmore");
    assert_eq!(fs::read_to_string(scene.path("b.txt")).unwrap(), "new");
    assert!(!scene.path("c.txt").exists());
}

#[test]
fn it_runs_programs() {
    insta::assert_snapshot!(out(
        "steps:\n  - run: [sh, -c, 'echo out; echo err >&2; echo \"$1\"', sh, '${prompt}']\n  \
         - run: [sh, -c, 'echo failing; exit 3']\n  - run: [sh, -c, 'kill -9 $$']\n  \
         - run: [no-such-program]\n  - run: [cat]\n  - run: []\n",
    ), @r##"
{"type":"start","version":1}
{"type":"tool_call","id":"1","name":"Bash","input":{"command":"sh -c 'echo out; echo err >&2; echo \"$1\"' sh 'the prompt'"}}
{"type":"tool_result","id":"1","status":"ok","text":"out\nerr\nthe prompt\n"}
{"type":"tool_call","id":"2","name":"Bash","input":{"command":"sh -c 'echo failing; exit 3'"}}
{"type":"tool_result","id":"2","status":"error","text":"failing\nexit code 3"}
{"type":"tool_call","id":"3","name":"Bash","input":{"command":"sh -c 'kill -9 $$'"}}
{"type":"tool_result","id":"3","status":"error","text":"signal 9"}
{"type":"tool_call","id":"4","name":"Bash","input":{"command":"no-such-program"}}
{"type":"tool_result","id":"4","status":"error","text":"no-such-program: No such file or directory (os error 2)"}
{"type":"tool_call","id":"5","name":"Bash","input":{"command":"cat"}}
{"type":"tool_result","id":"5","status":"ok","text":""}
{"type":"tool_call","id":"6","name":"Bash","input":{"command":""}}
{"type":"tool_result","id":"6","status":"error","text":"nothing to run"}
{"type":"end","outcome":"completed","message":""}
"##);
}

#[test]
fn a_long_output_is_cut() {
    let long = out("steps:\n  - run: [head, -c, '200000', /dev/zero]\n");
    assert_eq!(long.matches("\\u0000").count(), 65_536);
}

#[test]
fn it_pretends_tool_calls() {
    insta::assert_snapshot!(out(
        "steps:\n  - tool: {name: WebFetch, input: {url: 'http://h', deep: [1, no]}, \
         status: denied, text: 'no: ${prompt}'}\n  - tool: {name: Glob}\n",
    ), @r##"
{"type":"start","version":1}
{"type":"tool_call","id":"1","name":"WebFetch","input":{"url":"http://h","deep":[1,"no"]}}
{"type":"tool_result","id":"1","status":"denied","text":"no: the prompt"}
{"type":"tool_call","id":"2","name":"Glob","input":{}}
{"type":"tool_result","id":"2","status":"ok","text":""}
{"type":"end","outcome":"completed","message":""}
"##);
}

#[test]
fn it_prints_garbage() {
    let scene = scene();
    let mut command = scene.command(
        "steps:\n  - print: 'not JSON: ${prompt}'\n  - print_bytes: [255, 0, 10]\n  - stderr: oh\n",
        &["p"],
    );
    let output = command.output().unwrap();
    let expected: &[u8] =
        b"{\"type\":\"start\",\"version\":1}\nnot JSON: p\xFF\0\n{\"type\":\"end\",\
                            \"outcome\":\"completed\",\"message\":\"\"}\n";
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (expected, &b"oh"[..]));
}

#[test]
fn it_ends_as_it_is_told() {
    let scene = scene();
    let failed = scene.run(
        "steps:\n  - end: {outcome: rate_limited, message: 'slow down, ${prompt}'}\n  - say: never\n",
    );
    assert_eq!(failed.code, Some(1));
    assert_eq!(
        failed.out.lines().nth(1),
        Some(r#"{"type":"end","outcome":"rate_limited","message":"slow down, the prompt"}"#)
    );
    assert_eq!(failed.out.lines().count(), 2);
    assert_eq!(scene.run("steps:\n  - end: {outcome: completed}\n").code, Some(0));
}

#[test]
fn it_crashes_without_a_last_line() {
    use std::os::unix::process::ExitStatusExt as _;
    let scene = scene();
    let coded = scene.run("steps:\n  - crash: {exit: 137}\n");
    assert_eq!((coded.code, coded.out.lines().count()), (Some(137), 1));
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15)] {
        // Even of a signal that it ignores.
        let ignored = if name == "KILL" { "" } else { name };
        let steps = format!("steps:\n  - ignore: [{ignored}]\n  - crash: {{signal: {name}}}\n");
        let status = scene.command(&steps, &[]).output().unwrap().status;
        assert_eq!(status.signal(), Some(number), "{name}");
    }
}

#[test]
fn it_ignores_what_it_is_told_to() {
    let steps = "steps:\n  - ignore: [TERM, HUP]\n  - run: [sh, -c, 'kill -TERM $PPID; kill -HUP \
                 $PPID; kill -TERM $$; echo alive']\n";
    assert!(out(steps).contains(r#""status":"ok","text":"alive\n""#));
}

#[test]
fn it_sleeps() {
    let start = std::time::Instant::now();
    out("steps:\n  - sleep: 0.05\n");
    assert!(start.elapsed() >= std::time::Duration::from_millis(50));
}

#[test]
fn a_stalled_agent_waits_for_its_end() {
    let scene = scene();
    let mut child = scene
        .command("steps:\n  - say: up\n  - stall\n  - say: never\n", &[])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    // Each line is flushed as it is printed.
    assert!(lines.next().unwrap().unwrap().contains("start"));
    assert!(lines.next().unwrap().unwrap().contains("up"));
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(lines.next().is_none());
}

/// Field 4 or 6 of `/proc/PID/stat`: the parent, or the session.
fn stat(pid: &str, field: usize) -> String {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(field - 3).unwrap().to_owned()
}

/// Lets the agent leave a process behind, and says whether that is in another session and whether
/// it is the agent's own child. A fifo makes each wait for the other.
fn left_behind(options: &str) -> (bool, bool) {
    let scene = scene();
    fs::create_dir_all(scene.path("")).unwrap();
    let made = Command::new("mkfifo").args(["told", "go"]).current_dir(scene.path("")).status();
    assert!(made.unwrap().success());
    let steps = format!(
        "steps:\n  - spawn: {{run: [sh, -c, 'echo $$ > told; read x < go'], {options}}}\n  - stall\n"
    );
    let mut agent = scene.command(&steps, &[]).stdout(Stdio::null()).spawn().unwrap();
    let told = fs::read_to_string(scene.path("told")).unwrap();
    let (left, agent_pid) = (told.trim(), agent.id().to_string());
    let own_session = stat(left, 6) != stat(&agent_pid, 6);
    let child = stat(left, 4) == agent_pid;
    fs::write(scene.path("go"), "\n").unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    (own_session, child)
}

#[test]
fn it_leaves_processes_behind() {
    assert_eq!(left_behind("setsid: false"), (false, true));
    assert_eq!(left_behind("setsid: true"), (true, true));
    assert_eq!(left_behind("double_fork: true"), (false, false));
    assert_eq!(left_behind("setsid: true, double_fork: true"), (true, false));
}

#[test]
fn a_process_that_is_left_behind_holds_the_pipes_only_when_told_to() {
    let says =
        |options: &str| out(&format!("steps:\n  - spawn: {{run: [echo, hello]{options}}}\n"));
    assert!(!says("").contains("hello"));
    assert!(says(", keep_pipes: true").contains("hello\n"));
}

#[test]
fn turns_are_limited() {
    let scene = scene();
    let steps = "steps:\n  - say: one\n  - tool: {name: x}\n  - notice: free\n  - say: three\n";
    let limited = |most: &str| run(scene.command(steps, &[]).env("PROCTOR_MAX_TURNS", most));
    let two = limited("2");
    assert_eq!(two.code, Some(1));
    assert_eq!(
        two.out.lines().last(),
        Some(
            r#"{"type":"end","outcome":"max_turns","message":"the limit of 2 turns was reached"}"#
        )
    );
    assert!(two.out.contains("free") && !two.out.contains("three"));
    assert_eq!(limited("3").code, Some(0));
    let wrong = limited("many");
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(2), ""));
    assert_eq!(wrong.err, "PROCTOR_MAX_TURNS is `many`, which is no number above zero\n");
}

#[test]
fn the_prompt_comes_in_three_ways() {
    let scene = scene();
    let said = |args: &[&str], input: &str| {
        let mut command = scene.command("steps:\n  - say: <${prompt}>\n", args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // An agent that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().nth(1).unwrap().to_owned()
    };
    assert!(said(&[], "x").contains("<>"));
    assert!(said(&["a b"], "x").contains("<a b>"));
    assert!(said(&["--", "-"], "x").contains("<->"));
    assert!(said(&["-"], "${prompt}\n").contains(r"<${prompt}\n>"), "it is put in once");
}

#[test]
fn a_bad_script_prints_nothing() {
    let scene = scene();
    let bad = scene.run("steps:\n  - say: fine\n  - wirte: {path: a, text: b}\n");
    assert_eq!((bad.code, bad.out.as_str()), (Some(2), ""));
    assert_eq!(bad.err, "../agent.yaml:3:5: unknown name `wirte` (hint: did you mean `write`?)\n");
    let usage = run(Command::new(env!("CARGO_BIN_EXE_proctor-scripted")).arg("__agent"));
    assert_eq!((usage.code, usage.out.as_str()), (Some(2), ""));
    assert_eq!(usage.err, "usage: proctor __agent SCRIPT [--] [PROMPT]\n");
    let missing =
        run(Command::new(env!("CARGO_BIN_EXE_proctor-scripted")).args(["__agent", "/no/script"]));
    assert_eq!((missing.code, missing.out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(missing.err, @r##"/no/script: the script cannot be read: No such file or directory (os error 2)"##);
}

#[test]
fn every_step_in_the_documentation_is_one() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scripted-agent.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let examples: Vec<&str> = rows.flat_map(|(steps, _)| steps.split("` or `")).collect();
    assert_eq!(examples.len(), 20, "nineteen steps, one of them in two ways");
    let script = format!("steps:\n  - {}\n", examples.join("\n  - "));
    let script = Script::parse(&script).unwrap();
    let kinds: BTreeSet<String> = script
        .steps
        .iter()
        .map(|step| {
            let shown = format!("{step:?}");
            shown.split('(').next().unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(kinds.len(), 19);
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    Script::parse(rest.split_once("```").unwrap().0).unwrap();
}

#[test]
fn it_does_the_same_every_time() {
    let steps = "steps:\n  - tool: {name: x, input: {z: 1, a: {y: 2, b: 3}}}\n  - write: {path: f, \
                 text: t}\n  - read: f\n  - run: [ls]\n  - usage: {turns: 1, input_tokens: 2}\n";
    let first = out(steps);
    assert!(first.contains(r#""input":{"z":1,"a":{"y":2,"b":3}}"#));
    assert!((0..5).all(|_| out(steps) == first));
}

#[test]
fn nobody_listening_is_no_panic() {
    let scene = scene();
    let mut command = scene.command("steps:\n  - say: x\n", &[]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(1), &b""[..]));
}
