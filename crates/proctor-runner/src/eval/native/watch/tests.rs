//! Transcripts as the harnesses write them, and what they show.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use camino::Utf8Path;
use proctor_harness::{SessionEnd, find};
use proctor_model::Location;
use proctor_model::eval::protocol::Arm;
use proctor_model::eval::{Assertion, ExpandedCase, FixtureFile, Place as CasePlace};
use serde_json::{Value, json};

use super::super::needles::{Material, Needles};
use super::super::outside::{Outside, Place};
use super::*;

const SKILL: &str = "\
---
name: release-notes
description: Writes the notes of a release from the log of its commits. Use before a release.
---

# Release notes

Collect the commits since the last tag, oldest first, and drop everything that only touches tests.

Group what is left under three headings: what breaks, what is new, and what was mended before.
Each entry is one sentence in the past tense that a user of the product understands without the code.

```sh
git log --reverse --format='%h %s' \"$(git describe --tags --abbrev=0)\"..HEAD
grep -v '^test' commits.txt | sort -k2 > sorted.txt
```

Never mention the names of people, branches or tickets: readers of release notes know none of them.
- Short.
- Plain words.
Put the result on top of `CHANGELOG.md`, below its title, and leave everything that is there as it is.
End with a thank-you to reporters – “merci” – in one line.
";

const CASES: &str = "\
cases:
  - id: one
    prompt: Write the notes of the release
    expect_trigger: true
    assertions: [{type: contains, value: what breaks and what was mended before}]
";

fn material() -> Material {
    Material {
        skill: "release-notes".to_owned(),
        folder: "/home/u/proj/.ai-rulez/skills/release-notes".into(),
        text: SKILL.to_owned(),
        eval_folders: vec!["/home/u/proj/.ai-rulez/skills/release-notes/evals".into()],
        cases: vec![("some.eval.yaml".to_owned(), CASES.to_owned())],
        criteria: vec![
            "The notes name no ticket and thank whoever has reported a fault".to_owned(),
        ],
    }
}

fn case(prompt: &str, files: &[(&str, &str)]) -> ExpandedCase {
    let file = |&(path, content): &(&str, &str)| FixtureFile {
        path: path.into(),
        content: content.as_bytes().to_vec(),
    };
    ExpandedCase {
        id: "one".to_owned(),
        description: None,
        prompt: prompt.to_owned(),
        expect_trigger: true,
        files: files.iter().map(file).collect(),
        assertions: Vec::new(),
        rubric: None,
        model: None,
        tags: Vec::new(),
        near_miss_of: None,
        place: CasePlace {
            file: "skills/release-notes/evals/some.eval.yaml".into(),
            location: Location { line: 1, column: 1 },
        },
    }
}

/// What a session of a harness that printed these lines has shown.
fn seen_in(harness: &str, arm: Arm, case: &ExpandedCase, lines: &[Value]) -> Seen {
    let material = material();
    let needles = Needles::new(&material, arm);
    let needles = needles.of_case(case);
    let evals = material.eval_folders.iter().map(AsRef::as_ref);
    let outside = Outside::new(Utf8Path::new("/home/u/proj"), &material.folder, evals);
    let place = Place::new("/tmp/r/0/workspace".into(), [("HOME", "/home/u")].into_iter());
    let (skill, outside, place) = (material.skill.as_str(), &outside, &place);
    let mut watch = Watch::new(Sought { skill, arm, needles: &needles, outside, place });
    let mut parser = find(harness).unwrap().parser();
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    parser.push(text.as_bytes(), &mut |event| watch.observe(&event));
    parser.finish(&SessionEnd::default(), &mut |event| watch.observe(&event));
    watch.finish()
}

/// One call of the shell and its result, in the words of each harness.
fn shell(harness: &str, command: &str, output: &str) -> Vec<Value> {
    match harness {
        "claude" => vec![
            json!({"type": "assistant", "message": {"content": [
                {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": command}}]}}),
            json!({"type": "user", "message": {"content": [
                {"type": "tool_result", "tool_use_id": "1", "content": output}]}}),
        ],
        "codex" => {
            let item = |output: Option<&str>| {
                json!({"id": "1", "type": "command_execution", "command": command,
                       "aggregated_output": output, "status": "completed"})
            };
            vec![
                json!({"type": "item.started", "item": item(None)}),
                json!({"type": "item.completed", "item": item(Some(output))}),
            ]
        }
        _ => vec![
            json!({"type": "tool_call", "id": "1", "name": "Bash", "input": {"command": command}}),
            json!({"type": "tool_result", "id": "1", "status": "ok", "text": output}),
        ],
    }
}

const HARNESSES: [&str; 3] = ["claude", "codex", "scripted"];

fn plain_case() -> ExpandedCase {
    case("Write the notes", &[])
}

/// What a command that printed `output` shows, the same in each harness.
fn shows(arm: Arm, command: &str, output: &str) -> Seen {
    let seen = |harness| seen_in(harness, arm, &plain_case(), &shell(harness, command, output));
    let [first, second, third] = HARNESSES.map(seen);
    assert_eq!(first, second, "{command}");
    assert_eq!(second, third, "{command}");
    first
}

fn loads(command: &str, output: &str) -> bool {
    let seen = shows(Arm::With, command, output);
    assert_eq!(seen.trace, None, "{command}");
    seen.loaded.skills == ["release-notes"]
}

fn contaminates(command: &str, output: &str) -> bool {
    shows(Arm::Without, command, output).trace.is_some()
}

/// What a command prints when the skill is its input. `None` where it is not installed.
fn piped(command: &str) -> Option<String> {
    piped_from(SKILL, command)
}

/// The same of another skill.
fn piped_from(skill: &str, command: &str) -> Option<String> {
    let mut child = Command::new("bash")
        .args(["-o", "pipefail", "-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(skill.as_bytes()).ok()?;
    let output = child.wait_with_output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_load_counts_however_the_file_is_named() {
    for command in [
        "cat $(find . -name SKILL.md)",
        "cat .claude/skills/*/S*",
        "head -50 $(ls -d .agents/*/*)/*",
        "python -c \"print(open('.ag' + 'ents/skills/release-notes/SKI' + 'LL.md').read())\"",
        "grep -r '' .agents",
        "x=SKILL; cat */*/*/$x.md",
        "mystery",
    ] {
        assert!(loads(command, SKILL), "{command}");
        assert!(shows(Arm::With, command, SKILL).loaded.by_text_alone, "{command}");
    }
}

#[test]
fn a_load_by_another_tool_or_by_the_harness_counts() {
    let seen = |lines: &[Value]| seen_in("claude", Arm::With, &plain_case(), lines);
    let call = |name: &str, input: Value| {
        json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": "1", "name": name, "input": input}]}})
    };
    let result = |content: Value| {
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "1", "content": content}]}})
    };
    let blocks = json!([{"type": "text", "text": SKILL}]);
    let numbered: Vec<String> =
        SKILL.lines().enumerate().map(|(n, line)| format!("{n}\t{line}")).collect();
    for (lines, how) in [
        (vec![call("mcp__fs__read", json!({"path": "x"})), result(blocks)], "an MCP server"),
        (
            vec![call("Read", json!({"file_path": "link.md"})), result(numbered.join("\n").into())],
            "a link",
        ),
        (
            vec![json!({"type": "user", "isSynthetic": true, "message": {"content": [
                {"type": "text", "text": format!("Base directory: /w\n\n{SKILL}")}]}})],
            "the harness",
        ),
    ] {
        assert_eq!(seen(&lines).loaded.skills, ["release-notes"], "{how}");
        assert!(
            seen_in("claude", Arm::Without, &plain_case(), &lines).trace.is_some(),
            "{how}, without the skill"
        );
    }
    let mcp = json!({"type": "item.completed", "item": {"id": "1", "type": "mcp_tool_call",
        "server": "fs", "tool": "read", "arguments": {}, "status": "completed",
        "result": {"content": [{"type": "text", "text": SKILL}]}}});
    assert_eq!(seen_in("codex", Arm::With, &plain_case(), &[mcp]).loaded.skills, ["release-notes"]);
}

#[test]
fn what_shows_less_than_the_skill_is_no_load() {
    let lines: Vec<&str> = SKILL.lines().collect();
    let one_line = lines[7];
    let front = lines[..5].join("\n");
    let headings = "# Release notes\n- Short.\n- Plain words.";
    for (command, output) in [
        ("ls .agents/skills/release-notes/SKILL.md", ".agents/skills/release-notes/SKILL.md"),
        ("wc -l .agents/skills/*/SKILL.md", "27 .agents/skills/release-notes/SKILL.md"),
        ("git add .agents/skills/release-notes/SKILL.md", ""),
        ("grep -rn oldest .agents", one_line),
        ("head -5 .agents/skills/release-notes/SKILL.md", &front),
        ("grep description .agents/skills/*/SKILL.md", lines[2]),
        ("cat CHANGELOG.md", "Put the result on top."),
        ("cat x", headings),
    ] {
        assert!(!loads(command, output), "{command}");
    }
}

#[test]
fn what_the_front_matter_or_the_case_says_is_no_sign() {
    let body: String = SKILL.lines().skip(5).collect::<Vec<_>>().join("\n");
    let known = case("Write", &[("docs/how-to.md", &body)]);
    for arm in [Arm::With, Arm::Without] {
        for harness in HARNESSES {
            let lines = shell(harness, "cat docs/how-to.md", &body);
            let seen = seen_in(harness, arm, &known, &lines);
            assert_eq!((seen.trace, seen.loaded.skills), (None, Vec::new()), "{harness}");
        }
    }
    let front: String = SKILL.lines().take(4).collect::<Vec<_>>().join("\n");
    assert!(!contaminates("list", &front));
}

#[test]
fn parts_of_a_skill_add_up() {
    let lines: Vec<&str> = SKILL.lines().collect();
    let parts: Vec<Value> =
        lines.chunks(9).flat_map(|part| shell("scripted", "sed -n", &part.join("\n"))).collect();
    let seen = |lines: &[Value]| seen_in("scripted", Arm::With, &plain_case(), lines);
    assert!(seen(&parts[..2]).loaded.skills.is_empty());
    assert_eq!(seen(&parts).loaded.skills, ["release-notes"]);
}

#[test]
fn of_a_long_skill_much_in_a_row_is_enough() {
    let mut long = String::from("---\nname: long\n---\n");
    let words = ["alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "theta"];
    for n in 0..512_usize {
        let word = |shift: usize| words[n >> (3 * shift) & 7];
        writeln!(long, "Whenever {} comes, tell {} about {} and wait.", word(0), word(1), word(2))
            .unwrap();
    }
    let mut texts = super::super::texts::Collector::default();
    texts.add_skill(&long);
    let texts = texts.finish();
    let known = texts.beside(std::iter::empty());
    let loaded = |shown: &str| {
        let mut sighted = Sighted::new(&known);
        sighted.look(shown);
        sighted.loads_skill()
    };
    let lines: Vec<&str> = long.lines().skip(3).collect();
    assert!(loaded(&lines[40..60].join("\n")));
    let scattered: Vec<&str> = lines.iter().step_by(10).copied().collect();
    assert!(!loaded(&scattered.join("\n")));
}

#[test]
fn the_order_of_loads_holds_when_one_is_known_by_its_text() {
    let mut lines = vec![json!({"type": "tool_call", "id": "0", "name": "Skill",
                                "input": {"skill": "other"}})];
    lines.extend(shell("scripted", "cat */*/*/*", SKILL));
    lines
        .push(json!({"type": "tool_call", "id": "9", "name": "Skill", "input": {"skill": "last"}}));
    let seen = seen_in("scripted", Arm::With, &plain_case(), &lines);
    assert_eq!(seen.loaded.skills, ["other", "release-notes", "last"]);
    lines.push(json!({"type": "tool_call", "id": "10", "name": "Skill",
                      "input": {"skill": "release-notes"}}));
    let seen = seen_in("scripted", Arm::With, &plain_case(), &lines);
    assert_eq!(seen.loaded.skills, ["other", "release-notes", "last"]);
    assert!(!seen.loaded.by_text_alone);
}

#[test]
fn an_encoded_or_transformed_copy_is_a_sign_in_both_arms() {
    let mut tried = 0;
    for command in [
        "cat",
        "base64",
        "base64 -w0",
        "base64 -w 10",
        "base64 | cat -n",
        "base64 | sed 's/^/> /'",
        "base64 | tr '+/' '-_' | tr -d '='",
        "base64 | base64",
        "base64 | tail -c +150",
        "base32",
        "base64 -w0 | sed 's/./& /g'",
        "xxd",
        "xxd -p",
        "xxd -p | base64",
        "xxd -b",
        "xxd -i",
        "xxd | cat -n",
        "hexdump",
        "hexdump -C",
        "od",
        "od -c",
        "od -b",
        "od -An -tx1",
        "od -tx1z",
        "od -An -tu1",
        "od -tx2",
        "rev",
        "tac",
        "tac | rev",
        "tr 'A-Za-z' 'N-ZA-Mn-za-m'",
        "tr 'A-Za-z' 'N-ZA-Mn-za-m' | rev",
        "tr 'A-Za-z' 'N-ZA-Mn-za-m' | base64",
        "tr a-z A-Z",
        "tr ' ' '_'",
        "tr -d ' \\n'",
        "cat -A",
        "cat -n",
        "nl",
        "nl -ba -s': '",
        "grep -n ''",
        "sed 's/^/> /'",
        "sed 's/^/SKILL.md:12:/'",
        "sed 's/./&\\n/g'",
        "fold -w 76",
        "fold -w 20 | nl",
        "fmt -w 40",
        "xargs -n1 -d ' '",
        "pr",
        "awk '{print NR \": \" $0}'",
        "awk '{print length, $0}'",
        "sort",
        "shuf",
        "python3 -c 'import sys,json; print(json.dumps(sys.stdin.read()))'",
        "python3 -c 'import sys,json; print(json.dumps(json.dumps(sys.stdin.read())))'",
        "python3 -c 'import sys; print(sys.stdin.buffer.read())'",
        "python3 -c 'import sys; print(list(sys.stdin.buffer.read()))'",
        "python3 -c 'import sys; print([hex(b) for b in sys.stdin.buffer.read()])'",
        "iconv -t UTF-16 | base64",
        "iconv -t UTF-16 | xxd",
        "python3 -c 'import sys; print(sys.stdin.buffer.read().hex())'",
        "python3 -c 'import sys; print(sys.stdin.buffer.read().hex(\":\"))'",
        "python3 -c 'import sys,urllib.parse; print(urllib.parse.quote(sys.stdin.read()))'",
        "python3 -c 'import sys,html; print(html.escape(sys.stdin.read()))'",
        "python3 -c 'import sys,quopri; quopri.encode(sys.stdin.buffer, sys.stdout.buffer, True)'",
        "python3 -c 'import sys; print(sys.stdin.read().split())'",
        "python3 -c 'import sys; print(sys.stdin.read()[::-1])'",
    ] {
        let Some(output) = piped(command) else { continue };
        tried += 1;
        let seen = |arm| seen_in("codex", arm, &plain_case(), &shell("codex", "mystery", &output));
        assert_eq!(seen(Arm::With).loaded.skills, ["release-notes"], "{command}:\n{output}");
        assert!(seen(Arm::Without).trace.is_some(), "{command}:\n{output}");
    }
    assert!(tried > 40, "only {tried} of the commands are installed");
}

#[test]
fn a_copy_that_is_split_over_several_results_adds_up() {
    for command in ["base64", "xxd", "cat", "rev"] {
        let Some(output) = piped(command) else { continue };
        let lines: Vec<&str> = output.lines().collect();
        let parts = lines.chunks(5).flat_map(|part| shell("codex", "mystery", &part.join("\n")));
        let parts: Vec<Value> = parts.collect();
        let seen = |arm| seen_in("codex", arm, &plain_case(), &parts);
        assert!(seen(Arm::Without).trace.is_some(), "{command}");
        assert_eq!(seen(Arm::With).loaded.skills, ["release-notes"], "{command}");
    }
}

#[test]
fn one_line_of_prose_contaminates_and_code_or_scraps_do_not() {
    let lines: Vec<&str> = SKILL.lines().collect();
    assert!(contaminates("grep -r x .", lines[7]));
    assert!(contaminates(
        "grep -r x .",
        "The notes name no ticket and thank whoever has reported a fault"
    ));
    assert!(contaminates("cat", &CASES[..CASES.len() - 20]) || contaminates("cat", CASES));
    for (command, output) in [
        ("cat log.sh", lines[13]),
        ("cat CHANGELOG.md", "# Release notes\n- Short.\n- Plain words."),
        ("ls /", "bin\netc\nhome\nusr"),
        ("git log", "Collect the commits since the last tag"),
        ("ls -la", "total 4\ndrwxr-xr-x 2 u u 4096 Dec 1 00:00 .git"),
    ] {
        assert!(!contaminates(command, output), "{command}");
    }
}

#[test]
fn the_paths_and_values_that_a_case_asks_for_are_no_lines_of_it() {
    let mut case = plain_case();
    case.assertions = vec![
        Assertion::FileExists { path: "notes/planning-meeting.md".to_owned(), exists: true },
        Assertion::Contains {
            value: "what breaks and what was mended before".to_owned(),
            path: None,
        },
    ];
    let texts = "cases:\n  - path: notes/planning-meeting.md\n    value: what breaks and what was \
                 mended before\n    description: a note of the meeting is left alone\n";
    let mut material = material();
    material.cases = vec![("some.eval.yaml".to_owned(), texts.to_owned())];
    let needles = Needles::new(&material, Arm::With);
    let needles = needles.of_case(&case);
    let shows = |text: &str| {
        let mut sighted = Sighted::new(&needles.texts);
        sighted.look(text);
        sighted.shows(Source::Cases)
    };
    assert!(!shows(r#"{"file_path": "notes/planning-meeting.md"}"#));
    assert!(!shows(r#"{"value": "what breaks and what was mended before"}"#));
    assert!(shows(texts));
}

#[test]
fn a_skill_in_another_script_is_told_too() {
    let skill = "---\nname: n\ndescription: d\n---\n# \u{53d1}\u{5e03}\u{8bf4}\u{660e}\n\n\
                 \u{4ece}\u{4e0a}\u{4e00}\u{4e2a}\u{6807}\u{7b7e}\u{8d77}\u{6536}\u{96c6}\
                 \u{6240}\u{6709}\u{63d0}\u{4ea4}\u{ff0c}\u{6309}\u{65f6}\u{95f4}\u{6392}\
                 \u{5e8f}\u{ff0c}\u{5e76}\u{5220}\u{9664}\u{53ea}\u{6d89}\u{53ca}\u{6d4b}\
                 \u{8bd5}\u{7684}\u{6761}\u{76ee}\u{3002}\n";
    let mut material = material();
    skill.clone_into(&mut material.text);
    let needles = Needles::new(&material, Arm::Without);
    let needles = needles.of_case(&plain_case());
    for command in ["cat", "base64", "xxd", "rev"] {
        let Some(output) = piped_from(skill, command) else { continue };
        let mut sighted = Sighted::new(&needles.texts);
        sighted.look(&output);
        assert!(sighted.shows_skill() && sighted.loads_skill(), "{command}: {output}");
    }
}

#[test]
fn the_words_of_an_agent_give_away_what_it_saw() {
    let lines: Vec<&str> = SKILL.lines().collect();
    let say = |text: String| {
        let line = json!({"type": "say", "text": text});
        seen_in("scripted", Arm::Without, &plain_case(), &[line]).trace
    };
    let quoted = format!("It says: {} And: {}", lines[7], lines[9]);
    assert_eq!(say(quoted).as_deref(), Some("the agent quotes the skill"));
    assert_eq!(say(format!("I would do so: {}", lines[7])), None);
}

#[test]
fn a_call_outside_counts_unless_it_was_denied() {
    let command = "cd /home/u/proj/.ai-r*; base64 sk*/rel*/SK*";
    let mut lines = shell("scripted", command, "");
    let seen = |lines: &[Value]| seen_in("scripted", Arm::Without, &plain_case(), lines);
    let trace = seen(&lines).trace.unwrap();
    assert_eq!(trace, format!("`{command}` goes to the skill or its cases"));
    lines[1] = json!({"type": "tool_result", "id": "1", "status": "denied", "text": "no"});
    assert_eq!(seen(&lines).trace, None);
    let with = seen_in("scripted", Arm::With, &plain_case(), &lines);
    assert_eq!(with.trace, None);
    let around = seen(&shell("scripted", "find / -name '*.toml'", "/etc/x.toml"));
    assert_eq!(around.trace, None);
    assert_eq!(around.looked_around.as_deref(), Some("`find / -name '*.toml'`"));
}
