//! Agents at work in rooms: the real programs against the fake model, and one behind the Agent
//! Client Protocol. Skipped where bubblewrap or the programs are not installed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use proctor_formats::experiment::{ValueSource, read, resolve, values};
use proctor_harness::{ExitKind, SessionEnd, SessionSummary};
use proctor_model::experiment::document::Contents;
use proctor_model::experiment::{SecretText, Variant};
use proctor_model::run::ExitReason;
use proctor_model::{EventKind, OutcomeClass};
use proctor_runner::experiment::agents::{Ground, Place, Play, exit_reason, prepare, skills};
use proctor_sandbox::isolation::{Bind, SandboxSpec, Sandboxes, User, Wanted};
use proctor_sandbox::workspace::{Base, Workspace};
use proctor_sandbox::{Cancel, Ending, Launcher, Limits, Rooms, Spawn, Stream};
use proctor_testkit::{FakeModel, SealedHome, Turn};
use serde_json::json;

const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");

/// A server of the Model Context Protocol with one tool, which says what its key is.
const SERVER: &str = r#"
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result = message["method"], None
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "tell", "description": "tells",
                             "inputSchema": {"type": "object", "properties": {}}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "the key is " + os.environ["TINY_KEY"]}]}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    answer.update({"result": result} if result else {"error": {"code": -32601, "message": "?"}})
    print(json.dumps(answer), flush=True)
"#;

/// What a session in a room left.
struct Ran {
    events: Vec<EventKind>,
    summary: SessionSummary,
    /// Paths and owners in the workspace afterwards.
    files: BTreeSet<String>,
    stderr: String,
}

/// The user's machine: a home with programs, and their environment.
struct Machine {
    home: SealedHome,
    /// What else rooms must show, for programs that are scripts of this test.
    extra: Vec<Bind>,
}

fn variant(agent: &str, setup: &str) -> Variant {
    let text = format!(
        "schema_version: 2\nid: x\nname: X\nagents:\n  - {agent}\nprompts: [Do it.]\n\
         environments:\n  - name: e\n    setup:\n      - {setup}\n\
         environment_variables:\n  - {{name: KEY, value: 'axp://secrets/key'}}\n\
         tests:\n  - name: t\n    script: 'true'\nlimits: {{max_time_seconds: 60}}\n"
    );
    let reading = read(Utf8Path::new("x.yaml"), text.as_bytes());
    let findings: Vec<String> = reading.findings.iter().map(ToString::to_string).collect();
    let experiment = reading.experiment.unwrap_or_else(|| panic!("{findings:?}"));
    resolve(&experiment, &Contents::default()).remove(0)
}

#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
fn skipped(reason: &str) {
    let required = std::env::var_os("PROCTOR_REQUIRE_HARNESSES").is_some_and(|value| value == "1");
    assert!(!required, "{reason}");
    eprintln!("skipped: {reason}");
}

/// Lets the agent of a variant work in a room of its own; `None` without bubblewrap.
fn run(machine: &Machine, variant: &Variant) -> Option<Ran> {
    let temp = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(temp.path()).unwrap();
    let rooms = Rooms::open(&root.join("rooms")).unwrap();
    let sandboxes = Sandboxes::new(Launcher::new(PROCTOR), &rooms).unwrap();
    if let Err(reason) = &sandboxes.available().bubblewrap {
        skipped(reason);
        return None;
    }
    let secrets = BTreeMap::from([("key".to_owned(), SecretText::new("hunter2"))]);
    let values = values(variant, &[ValueSource::of_secrets("s", secrets)]).unwrap();
    let ground = Ground {
        env: machine.home.environment(),
        proctor: Utf8Path::new(PROCTOR),
        folder: root,
        wanted: &Wanted::Bubblewrap,
        play: Play::Real,
    };
    let plan = prepare(variant, &values, &ground).unwrap();

    let mut spec = SandboxSpec::bubblewrap();
    spec.binds = plan.binds().to_vec();
    spec.binds.extend(machine.extra.iter().cloned());
    let folder = root.join("base");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("known.md"), "known\n").unwrap();
    fs::write(folder.join("server.py"), SERVER).unwrap();
    for (skill, dest) in skills(variant).unwrap() {
        let dest = folder.join(dest.as_path());
        fs::create_dir_all(&dest).unwrap();
        let text = format!("---\nname: {}\ndescription: d\n---\nHi.\n", skill.name);
        fs::write(dest.join("SKILL.md"), text).unwrap();
    }
    let base = Base::freeze(&folder).unwrap();
    let room = rooms.create("trial").unwrap();
    let sandbox = sandboxes.open(&spec, Workspace::new(&base, room)).unwrap();
    let cancel = Cancel::new().unwrap();
    sandbox.hand_over().unwrap();
    plan.furnish(&sandbox, &cancel).unwrap();

    let place = Place::in_sandbox(&sandbox);
    let command = plan.adapter().command(&plan.request(&place, "Do it.")).unwrap();
    let mut env = BTreeMap::from([
        ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("HOME".to_owned(), sandbox.home().to_str().unwrap().to_owned()),
        ("TMPDIR".to_owned(), sandbox.tmp().to_str().unwrap().to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
    ]);
    env.extend(command.env);
    plan.complete(&mut env);
    let spawn = Spawn {
        args: command.args.into_iter().map(Into::into).collect(),
        env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        stdin: command.stdin,
        ..Spawn::new(command.program, sandbox.workspace())
    };
    let limits = Limits::until(Instant::now() + Duration::from_mins(2));
    let mut events = Vec::new();
    let (mut parser, mut stderr) = (plan.adapter().parser(), String::new());
    let finished = sandbox
        .run(User::Agent, &spawn, &limits, &cancel, &mut |stream, bytes| match stream {
            Stream::Out => parser.push(bytes, &mut |event| events.push(event.kind)),
            Stream::Err => stderr.push_str(&String::from_utf8_lossy(bytes)),
        })
        .unwrap();
    let exit = match finished.ending {
        Ending::Exited(code) => Some(ExitKind::Code(code)),
        _ => None,
    };
    let end = SessionEnd { exit, stderr: &stderr, ended_by: None };
    let summary = parser.finish(&end, &mut |event| events.push(event.kind));
    let mut listed = String::new();
    let mut list = |_: Stream, bytes: &[u8]| listed.push_str(&String::from_utf8_lossy(bytes));
    let find = Spawn {
        args: ["-mindepth", "1", "-printf", "%P %U\\n"].map(Into::into).to_vec(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..Spawn::new("find", sandbox.workspace())
    };
    sandbox.run(User::Agent, &find, &limits, &cancel, &mut list).unwrap();
    let files = listed.lines().map(str::to_owned).collect();
    Some(Ran { events, summary, files, stderr })
}

impl Ran {
    fn results(&self) -> Vec<&str> {
        let results = self.events.iter().filter_map(|event| match event {
            EventKind::ToolResult { text, .. } => Some(text.as_str()),
            _ => None,
        });
        results.collect()
    }

    #[track_caller]
    fn completed(&self) -> &Self {
        let outcome = &self.summary.outcome;
        let all = format!("{outcome:?}\n{:?}\n{}", self.events, self.stderr);
        assert_eq!(outcome.class, OutcomeClass::Completed, "{all}");
        assert_eq!(exit_reason(outcome), ExitReason::EndTurn);
        assert!(self.summary.warnings.is_empty(), "{:?}\n{all}", self.summary.warnings);
        self
    }
}

/// A machine on which the program talks to the fake model.
fn machine(harness: &str, model: &FakeModel) -> Option<Machine> {
    let program = proctor_testkit::harness::require_harness(harness)?;
    let mut home = SealedHome::new();
    // The script that stands for codex starts the real one, by its place in the room: the agent may
    // not enter every folder of this machine.
    let packages = program.ancestors().filter(|path| path.ends_with("node_modules")).last();
    let mut extra = Vec::new();
    let mut inside = program.clone();
    if let Some(from) = packages.filter(|_| harness == "codex") {
        let to = PathBuf::from("/run/packages");
        inside = to.join(program.strip_prefix(from).unwrap());
        extra.push(Bind { from: from.to_owned(), to });
    }
    home.add_harness(harness, &inside, &model.url());
    Some(Machine { home, extra })
}

fn shell(harness: &str, command: &str) -> Turn {
    match harness {
        "claude" => Turn::tool("Bash", json!({"command": command, "description": "d"})),
        _ => Turn::tool("exec_command", json!({"cmd": command})),
    }
}

#[test]
fn real_agents_work_in_their_rooms() {
    for harness in ["claude", "codex"] {
        let call = match harness {
            "claude" => Turn::tool("mcp__tiny__tell", json!({})),
            _ => Turn::namespaced_tool("mcp__tiny", "tell", json!({})),
        };
        let work = "id -u; pwd; ls /root /home 2>&1; cat known.md; echo made > made.txt";
        let script = [shell(harness, work), call, Turn::text("done")];
        let model = FakeModel::start(script);
        let Some(machine) = machine(harness, &model) else { continue };
        let setup = "{script: ':', mcp_servers: [{name: tiny, type: stdio, command: python3, \
                     args: [/workspace/server.py], env: [{name: TINY_KEY, from: KEY}]}], skills: [{name: greet, source: s}]}";
        let Some(ran) = run(&machine, &variant(harness, setup)) else { return };
        ran.completed();
        let results = ran.results();
        // What belongs to root is closed to it, and nobody else's home is there.
        assert!(results[0].starts_with("1000\n/workspace\n"), "{results:?}");
        assert!(results[0].contains("/root': Permission denied"), "{results:?}");
        assert!(results[0].contains("/home:\nagent\n"), "{results:?}");
        assert!(results[0].contains("known"), "{results:?}");
        assert_eq!(results[1], "the key is hunter2", "{harness}");
        assert!(ran.files.contains("made.txt 1000"), "{:?}", ran.files);
        // Nothing of its own is in the workspace: the skill has three folders and a file.
        assert_eq!(ran.files.len(), 3 + 4, "{:?}", ran.files);
        let told = |event: &EventKind| matches!(event, EventKind::Session { skills, .. } if skills.contains(&"greet".to_owned()));
        // Codex tells of no skills.
        assert!(harness != "claude" || ran.events.iter().any(told), "{:?}", ran.events);
    }
}

#[test]
fn one_that_plans_changes_nothing_in_its_room() {
    let model = FakeModel::start([shell("claude", "echo made > made.txt"), Turn::text("done")]);
    let Some(machine) = machine("claude", &model) else { return };
    let agent = "{name: claude, agent_mode: plan}";
    let Some(ran) = run(&machine, &variant(agent, "{script: ':'}")) else { return };
    assert_eq!(ran.summary.outcome.class, OutcomeClass::Completed, "{:?}", ran.summary);
    assert_eq!(ran.files.len(), 2, "{:?}", ran.files);
}

#[test]
fn an_agent_behind_the_protocol_works_in_its_room() {
    let home = SealedHome::new();
    home.add_script(
        "my-agent",
        r#"#!/bin/sh
        read -r _; echo '{"id":0,"result":{"protocolVersion":1}}'
        read -r new; echo '{"id":1,"result":{"sessionId":"s"}}'
        read -r _; echo "$new" > new.json; id -u > uid.txt
        echo '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"done"}}}}'
        echo '{"id":2,"result":{"stopReason":"end_turn"}}'
        "#,
    );
    let machine = Machine { home, extra: Vec::new() };
    let setup = "{script: ':', mcp_servers: [{name: tiny, type: stdio, command: python3, \
                 env: [{name: TINY_KEY, from: KEY}]}]}";
    let variant = variant("{name: mine, acp: [my-agent]}", setup);
    let Some(ran) = run(&machine, &variant) else { return };
    ran.completed();
    assert_eq!(ran.summary.final_text.as_deref(), Some("done"));
    assert!(ran.files.contains("uid.txt 1000"), "{:?}", ran.files);
}
