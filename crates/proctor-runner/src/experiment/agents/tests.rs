//! What agents need, decided without starting anything.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::{ValueSource, Values, read, resolve, values};
use proctor_harness::SessionCommand;
use proctor_model::experiment::document::Contents;
use proctor_model::experiment::{SecretText, Variant};
use proctor_sandbox::isolation::{Bind, Engine, Wanted};

use super::plan::Place;
use super::{AgentError, AgentErrors, AgentPlan, Ground, Play, prepare, skills};

/// A machine with the programs that are put there.
struct Machine {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
    wanted: Wanted,
    play: Play,
}

fn machine() -> Machine {
    let folder = tempfile::tempdir().unwrap();
    let mut machine =
        Machine { folder, env: BTreeMap::new(), wanted: Wanted::Bubblewrap, play: Play::Real };
    fs::create_dir(machine.path("bin")).unwrap();
    machine.set("PATH", machine.path("bin").as_str());
    machine
}

impl Machine {
    fn path(&self, name: &str) -> Utf8PathBuf {
        let root = fs::canonicalize(self.folder.path()).unwrap();
        Utf8PathBuf::from_path_buf(root.join(name)).unwrap()
    }

    fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.to_owned(), value.to_owned());
    }

    fn file(&self, name: &str, text: &str) -> Utf8PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn prepare(&self, variant: &Variant) -> Result<AgentPlan, AgentErrors> {
        let secrets = BTreeMap::from([("db-key".to_owned(), SecretText::new("hunter2"))]);
        let sources = [ValueSource::of_secrets("s", secrets)];
        self.prepare_with(variant, &values(variant, &sources).unwrap())
    }

    fn prepare_with(&self, variant: &Variant, values: &Values) -> Result<AgentPlan, AgentErrors> {
        let folder = self.path("");
        let ground = Ground {
            env: &self.env,
            proctor: Utf8Path::new("/somewhere/proctor"),
            folder: &folder,
            wanted: &self.wanted,
            play: self.play,
        };
        prepare(variant, values, &ground)
    }

    fn refused(&self, agent: &str) -> String {
        self.prepare(&variant(agent, "")).unwrap_err().to_string()
    }
}

/// The variant of an experiment with this agent and setup.
fn variant(agent: &str, setup: &str) -> Variant {
    let environment = if setup.is_empty() {
        String::new()
    } else {
        format!("environments:\n  - name: e\n    setup:\n      - {setup}\n")
    };
    let text = format!(
        "schema_version: 2\nid: x\nname: X\nagents:\n  - {agent}\nprompts: [Do it.]\n{environment}\
         environment_variables:\n  - {{name: DB_KEY, value: 'axp://secrets/db-key'}}\n\
         tests:\n  - name: t\n    script: 'true'\n\
         limits: {{max_time_seconds: 60, max_turns: 5, max_cost_usd: 1.5}}\n"
    );
    let reading = read(Utf8Path::new("x.yaml"), text.as_bytes());
    let findings: Vec<String> = reading.findings.iter().map(ToString::to_string).collect();
    let experiment = reading.experiment.unwrap_or_else(|| panic!("{findings:?}\n{text}"));
    resolve(&experiment, &Contents::default()).remove(0)
}

fn command(plan: &AgentPlan) -> SessionCommand {
    let place = Place::new("/workspace".into(), "/home/agent".into());
    plan.adapter().command(&plan.request(&place, "Do it.")).unwrap()
}

fn binds(plan: &AgentPlan) -> Vec<Bind> {
    plan.binds().to_vec()
}

#[test]
fn a_program_is_called_where_it_lies_with_its_limits_and_credentials() {
    let mut machine = machine();
    let program = machine.file("bin/claude", "\x7fELF");
    machine.set("ANTHROPIC_API_KEY", "sk-1");
    machine.set("ANTHROPIC_BASE_URL", "http://h");
    machine.set("CLAUDE_CONFIG_DIR", "/home/u/.claude");
    machine.set("OPENAI_API_KEY", "other");
    let plan = machine.prepare(&variant("{name: claude, model: claude-sonnet-5}", "")).unwrap();
    let built = command(&plan);
    assert_eq!(built.program, program);
    let args = built.args.join(" ");
    assert!(args.contains("--model=claude-sonnet-5 --strict-mcp-config"), "{args}");
    assert!(args.ends_with("--max-budget-usd 1.5 --max-turns 5 -- Do it."), "{args}");
    assert_eq!(binds(&plan), [Bind::same(&program)]);
    assert!(plan.unkept_limits().is_empty());
    let names: Vec<&str> = plan.credentials().collect();
    assert_eq!(names, ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]);
    assert!(!format!("{:?}", plan.secrets()).contains("sk-1"));

    let mut env = BTreeMap::from(
        [("PATH", "/usr/bin"), ("ANTHROPIC_BASE_URL", "http://declared")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    plan.complete(&mut env);
    assert_eq!(env["ANTHROPIC_API_KEY"], "sk-1");
    assert_eq!(env["ANTHROPIC_BASE_URL"], "http://declared");
    assert_eq!((&*env["PATH"], &*env["PROCTOR_MAX_TIME_SECONDS"]), ("/usr/bin", "60"));
    assert_eq!(env.len(), 4);
}

#[test]
fn what_is_missing_is_told_before_anything_runs() {
    let machine = machine();
    let refused = machine.refused("claude");
    let program =
        "the agent `claude`: `claude` is not on PATH, and no setup script could install it; ";
    assert!(refused.starts_with(program), "{refused}");
    assert!(refused.contains("`claude` has no credentials"), "{refused}");
    // Perhaps a setup brings it, or the image has it.
    let brought = machine.prepare(&variant("codex", "{script: npm i -g codex}")).unwrap_err();
    assert!(matches!(brought.0[..], [AgentError::NoCredentials { .. }]), "{brought}");
    machine.file("bin/claude", "");
    assert_eq!(
        machine.refused("claude"),
        "the agent `claude` has no credentials: looked for ANTHROPIC_API_KEY, \
         ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN, CLAUDE_CODE_USE_BEDROCK, \
         CLAUDE_CODE_USE_VERTEX, CLAUDE_CODE_USE_FOUNDRY, ~/.claude/.credentials.json"
    );
    assert!(machine.refused("cursor").starts_with("there is no agent `cursor`: known are claude"));
    assert!(machine.refused("scripted").contains("agent.yaml` cannot be read: "));
}

#[test]
fn a_declared_variable_is_a_credential_as_well() {
    let machine = machine();
    machine.file("bin/codex", "");
    let declared = "{script: ':', environment_variables: [{name: CODEX_API_KEY, value: k}]}";
    let plan = machine.prepare(&variant("codex", declared)).unwrap();
    assert_eq!(plan.credentials().count(), 0);
    assert_eq!(plan.unkept_limits(), ["max_turns", "max_cost_usd"]);
}

#[test]
fn a_login_is_copied_when_there_is_no_key() {
    let mut machine = machine();
    machine.file("bin/codex", "");
    machine.file("home/.codex/auth.json", r#"{"tokens":["a-long-secret-token"],"mode":"x"}"#);
    machine.set("HOME", machine.path("home").as_str());
    let plan = machine.prepare(&variant("codex", "")).unwrap();
    let files: Vec<_> = plan.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, [".codex/auth.json"]);
    assert_eq!(plan.secrets(), [SecretText::new("a-long-secret-token")]);
    machine.set("OPENAI_API_KEY", "k");
    assert!(machine.prepare(&variant("codex", "")).unwrap().files().is_empty());
}

#[test]
fn what_an_agent_cannot_do_is_told_before_anything_runs() {
    let mut machine = machine();
    machine.file("bin/codex", "");
    machine.set("OPENAI_API_KEY", "k");
    let sse = "{script: ':', mcp_servers: [{name: s, type: sse, url: 'http://h'}]}";
    let refused = machine.prepare(&variant("codex", sse)).unwrap_err().to_string();
    assert_eq!(refused, "the agent `codex`: the MCP server `s`: codex does not speak sse");
    machine.file("bin/claude", "");
    machine.set("ANTHROPIC_API_KEY", "k");
    let agent = "{name: claude, model: {name: claude-x, effort: huge}}";
    let expected = "the agent `claude`: effort: claude knows";
    assert!(machine.refused(agent).starts_with(expected));
}

#[test]
fn servers_get_the_values_of_variables_and_secrets() {
    let mut machine = machine();
    machine.file("bin/claude", "");
    machine.set("ANTHROPIC_API_KEY", "k");
    let setup = "{script: ':', mcp_servers: [\
        {name: db, type: stdio, command: srv, args: [x], env: [{name: KEY, from: DB_KEY}]}, \
        {name: web, type: http, url: 'http://h', headers: [{name: A, value: 'axp://secrets/db-key'}]}]}";
    let plan = machine.prepare(&variant("claude", setup)).unwrap();
    let [file] = &command(&plan).files[..] else { panic!() };
    assert_eq!(
        file.content.expose(),
        r#"{"mcpServers":{"db":{"type":"stdio","command":"srv","args":["x"],"env":{"KEY":"hunter2"}},"web":{"type":"http","url":"http://h","headers":{"A":"hunter2"}}}}"#
    );
    assert!(!format!("{plan:?}").contains("hunter2"));
    let variant = variant("claude", setup);
    let error = machine.prepare_with(&variant, &Values::default()).unwrap_err().to_string();
    assert_eq!(error, "the MCP server `db`: the variable `DB_KEY` is not declared");
}

#[test]
fn agents_behind_the_protocol_are_commands() {
    let mut machine = machine();
    let node = machine.file("bin/node", "\x7fELF");
    let main = machine.file("my/main.js", "");
    let agent = "{name: mine, acp: [node, ./my/main.js, --acp, /no/such/file]}";
    let plan = machine.prepare(&variant(agent, "")).unwrap();
    let built = command(&plan);
    assert_eq!(built.program, "/somewhere/proctor");
    let expected =
        ["__acp", "--", node.as_str(), main.as_str(), "--acp", "/no/such/file"].map(str::to_owned);
    assert_eq!(built.args, expected);
    for path in ["/somewhere/proctor".into(), node, main] {
        assert!(binds(&plan).contains(&Bind::same(&path)), "{path}");
    }
    assert_eq!(binds(&plan).len(), 3);
    // What is not here may be there.
    let plan = machine.prepare(&variant("{name: mine, acp: [installed-later]}", "")).unwrap();
    assert_eq!(command(&plan).args, ["__acp", "--", "installed-later"]);
    // With the name of a known one, it gets what that one gets.
    machine.set("ANTHROPIC_API_KEY", "k");
    let plan = machine.prepare(&variant("{name: claude, acp: [bridge]}", "")).unwrap();
    assert_eq!(plan.credentials().collect::<Vec<_>>(), ["ANTHROPIC_API_KEY"]);
}

#[test]
fn an_image_has_programs_of_its_own() {
    let mut machine = machine();
    machine.file("bin/claude", "");
    machine.set("ANTHROPIC_API_KEY", "k");
    machine.wanted = Wanted::Container { engine: Engine::Podman, image: "i".into() };
    let plan = machine.prepare(&variant("claude", "")).unwrap();
    assert_eq!(command(&plan).program, "claude");
    assert!(plan.binds().is_empty());
}

#[test]
fn built_in_agents_need_this_program_alone() {
    let mut machine = machine();
    machine.file("agent.yaml", "steps: []\n");
    let plan = machine.prepare(&variant("scripted", "")).unwrap();
    let args = command(&plan).args;
    assert_eq!(args, ["__agent", "/home/agent/.proctor/agent.yaml", "--", "Do it."]);
    assert_eq!(plan.files()[0].content.expose(), "steps: []\n");
    assert_eq!(binds(&plan), [Bind::same("/somewhere/proctor")]);
    machine.play = Play::Mock;
    for agent in ["cursor", "claude", "{name: x, acp: [y]}"] {
        let plan = machine.prepare(&variant(agent, "")).unwrap();
        assert_eq!(command(&plan).args, ["__agent", "--mock", "--", "Do it."]);
        assert_eq!(binds(&plan), [Bind::same("/somewhere/proctor")]);
    }
}

#[test]
fn skills_go_where_the_agent_looks() {
    let setup = "{script: ':', skills: [{name: greet, source: s/greet}]}";
    for (agent, folder) in [
        ("claude", ".claude/skills/greet"),
        ("codex", ".agents/skills/greet"),
        ("cursor", ".cursor/skills/greet"),
        ("{name: claude, acp: [bridge]}", ".claude/skills/greet"),
        ("{name: other, acp: [x]}", ".agents/skills/greet"),
    ] {
        let variant = variant(agent, setup);
        let placed = skills(&variant).unwrap();
        let [(skill, dest)] = &placed[..] else { panic!() };
        assert_eq!((skill.source.as_str(), dest.as_str()), ("s/greet", folder));
    }
}
