//! Claude Code (`claude -p --output-format stream-json`). Line shapes as of version 2.1.332.

mod ending;
mod lines;
mod room;
mod session;

use std::path::Path;

use crate::adapter::{
    Adapter, Credentials, Enforces, Login, OwnFolder, SessionCommand, SessionRequest, StreamParser,
    Unavailable, look_for, place_prompt,
};
use crate::stream::JsonLines;

pub(crate) use session::usage_beyond;

/// The adapter.
pub(crate) struct Claude;

/// What the program prints.
pub(crate) fn stream() -> Box<dyn StreamParser + Send> {
    Box::new(JsonLines::dated(lines::Lines::default()))
}

/// What it keeps.
pub(crate) fn session() -> Box<dyn StreamParser + Send> {
    Box::new(JsonLines::dated(session::Session::default()))
}

/// Always given. `--verbose` is required with `stream-json`; project settings only, so that what
/// the user has configured for themselves does not take part.
const BASE_ARGS: &[&str] = &[
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--setting-sources",
    "project",
    "--no-session-persistence",
    "--permission-mode",
];

/// Ten retries with back-off take three minutes to report a refused key; two take seconds. The
/// rest keeps the program from talking to anything but its model.
pub const CLAUDE_ENVIRONMENT: &[(&str, &str)] = &[
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
];

/// Each of them is enough; the last three switch to the credentials of a cloud provider.
const CREDENTIAL_VARIABLES: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

const OWN_FOLDER: OwnFolder =
    OwnFolder { variable: "CLAUDE_CONFIG_DIR", default: ".claude", is_enough: false };

const LOGIN: Login = Login { folder: OWN_FOLDER, name: ".credentials.json" };

/// Credentials, and who provides the model. What tells the program that it runs inside another one
/// is not among them.
const VARIABLES: &[&str] = &[
    "ANTHROPIC_*",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

impl Adapter for Claude {
    fn id(&self) -> &'static str {
        "claude"
    }

    fn corpus_harness(&self) -> Option<&'static str> {
        Some("claude")
    }

    fn skills_folder(&self) -> &'static str {
        ".claude/skills"
    }

    /// As `/skill` or `/plugin:skill` at the beginning.
    fn prompt_loads(&self, prompt: &str, skill: &str) -> bool {
        let word = prompt.split_whitespace().next().unwrap_or_default();
        let command = word.strip_prefix('/');
        command.is_some_and(|name| name.rsplit(':').next() == Some(skill))
    }

    fn variables(&self) -> &'static [&'static str] {
        VARIABLES
    }

    fn own_folder(&self) -> Option<OwnFolder> {
        Some(OWN_FOLDER)
    }

    fn login(&self) -> Option<Login> {
        Some(LOGIN)
    }

    fn enforces(&self) -> Enforces {
        Enforces { budget: true, turns: true }
    }

    fn command(&self, request: &SessionRequest<'_>) -> Result<SessionCommand, Unavailable> {
        let mut args: Vec<String> = BASE_ARGS.iter().map(ToString::to_string).collect();
        let (mut env, mut files) = (Vec::new(), Vec::new());
        match &request.room {
            None => args.push("acceptEdits".to_owned()),
            Some(room) => room::furnish(room, &mut args, &mut env, &mut files)?,
        }
        if let Some(model) = request.model {
            args.push(format!("--model={model}"));
        }
        if let Some(budget) = request.max_budget_usd {
            args.extend(["--max-budget-usd".to_owned(), budget.to_string()]);
        }
        if let Some(turns) = request.max_turns {
            args.extend(["--max-turns".to_owned(), turns.to_string()]);
        }
        args.extend_from_slice(request.args);
        // Without an argument the prompt is read from standard input.
        let stdin = place_prompt(request.prompt, &mut args, &[]);
        env.extend(CLAUDE_ENVIRONMENT.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())));
        let program = request.program.unwrap_or("claude").to_owned();
        Ok(SessionCommand { program, args, env, stdin, files })
    }

    fn parser(&self) -> Box<dyn StreamParser + Send> {
        Box::new(JsonLines::new(lines::Lines::default()))
    }

    fn credentials(
        &self,
        env: &dyn Fn(&str) -> Option<String>,
        file_exists: &dyn Fn(&Path) -> bool,
    ) -> Credentials {
        look_for(CREDENTIAL_VARIABLES, &LOGIN, env, file_exists)
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;

    fn request(prompt: &str) -> SessionRequest<'_> {
        SessionRequest::new(prompt, Utf8Path::new("/w"), Utf8Path::new("/bin/proctor"))
    }

    #[test]
    fn limits_appear_only_when_requested() {
        let plain = Claude.command(&request("do it")).unwrap();
        assert_eq!(
            plain.args.join(" "),
            "-p --output-format stream-json --verbose --setting-sources project \
             --no-session-persistence --permission-mode acceptEdits -- do it"
        );
        let limited = SessionRequest {
            max_turns: Some(5),
            max_budget_usd: Some(0.000_000_5),
            model: Some("haiku"),
            ..request("x")
        };
        let args = Claude.command(&limited).unwrap().args.join(" ");
        assert!(
            args.ends_with("--model=haiku --max-budget-usd 0.0000005 --max-turns 5 -- x"),
            "{args}"
        );
        let tools = ["--allowedTools".to_owned(), "Bash(ls:*)".to_owned()];
        let named = SessionRequest { program: Some("/opt/claude"), args: &tools, ..request("x") };
        let command = Claude.command(&named).unwrap();
        assert_eq!(command.program, "/opt/claude");
        assert!(command.args.join(" ").ends_with("acceptEdits --allowedTools Bash(ls:*) -- x"));
    }

    #[test]
    fn a_slash_command_loads_its_skill() {
        for prompt in ["/greet", " /greet Bob", "/plugin:greet\nBob"] {
            assert!(Claude.prompt_loads(prompt, "greet"), "{prompt:?}");
        }
        for prompt in ["greet", "say /greet", "/greeting", "/greet:other", "", "$greet"] {
            assert!(!Claude.prompt_loads(prompt, "greet"), "{prompt:?}");
        }
    }

    #[test]
    fn a_long_prompt_is_piped() {
        let prompt = "y".repeat(200_000);
        let command = Claude.command(&request(&prompt)).unwrap();
        assert_eq!(command.stdin.map(|bytes| bytes.len()), Some(200_000));
        assert_eq!(command.args.last().map(String::as_str), Some("acceptEdits"));
    }

    #[test]
    fn retries_and_traffic_have_defaults() {
        let env = Claude.command(&request("x")).unwrap().env;
        assert!(env.contains(&("CLAUDE_CODE_MAX_RETRIES".into(), "2".into())));
        assert_eq!(env.len(), 5);
    }

    #[test]
    fn credentials_are_variables_or_the_file_of_a_login() {
        let none = |_: &str| None;
        let Credentials::Absent { tried } = Claude.credentials(&none, &|_| true) else {
            panic!("a file without a home cannot exist")
        };
        assert_eq!(tried.last().map(String::as_str), Some("~/.claude/.credentials.json"));
        let key = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "k".to_owned());
        assert_eq!(Claude.credentials(&key, &|_| false), Credentials::Present);
        let home = |name: &str| (name == "HOME").then(|| "/home/u".to_owned());
        let file = |path: &Path| path == Path::new("/home/u/.claude/.credentials.json");
        assert_eq!(Claude.credentials(&home, &file), Credentials::Present);
        let moved = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| "/cfg".to_owned());
        let file = |path: &Path| path == Path::new("/cfg/.credentials.json");
        assert_eq!(Claude.credentials(&moved, &file), Credentials::Present);
    }
}
