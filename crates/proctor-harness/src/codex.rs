//! Codex CLI (`codex exec --json`). Line shapes as of version 0.171.0.

mod lines;
mod rollout;
mod room;

use std::path::Path;

use crate::adapter::{
    Adapter, Credentials, Enforces, Login, OwnFolder, SessionCommand, SessionRequest, StreamParser,
    Unavailable, look_for, place_prompt,
};
use crate::stream::JsonLines;

pub(crate) use rollout::is_rollout;

/// The adapter.
pub(crate) struct Codex;

/// What the program prints.
pub(crate) fn stream() -> Box<dyn StreamParser + Send> {
    Box::new(JsonLines::dated(lines::Lines::default()))
}

/// What it keeps.
pub(crate) fn rollout() -> Box<dyn StreamParser + Send> {
    Box::new(JsonLines::dated(rollout::Rollout::default()))
}

/// Always given. Without `--disable unbounded_connection_retries` a refused connection is retried
/// for ever; without `analytics.enabled=false` every run without a network waits at its end; the
/// other two keep the program from talking to anything but its model.
const BASE_ARGS: &[&str] = &[
    "exec",
    "--json",
    "--ephemeral",
    "--skip-git-repo-check",
    "--disable",
    "plugins",
    "--disable",
    "unbounded_connection_retries",
    "-c",
    "analytics.enabled=false",
    "-c",
    "check_for_update_on_startup=false",
];

/// On the machine of its user: its own sandbox, and nothing of the user's settings.
const KEPT_IN: &[&str] = &["--ignore-user-config", "--sandbox", "workspace-write"];

const CREDENTIAL_VARIABLES: &[&str] = &["CODEX_API_KEY", "OPENAI_API_KEY"];

const OWN_FOLDER: OwnFolder =
    OwnFolder { variable: "CODEX_HOME", default: ".codex", is_enough: true };

const LOGIN: Login = Login { folder: OWN_FOLDER, name: "auth.json" };

const VARIABLES: &[&str] = &["CODEX_HOME", "CODEX_API_KEY", "OPENAI_*"];

impl Adapter for Codex {
    fn id(&self) -> &'static str {
        "codex"
    }

    fn corpus_harness(&self) -> Option<&'static str> {
        Some("codex")
    }

    fn skills_folder(&self) -> &'static str {
        ".agents/skills"
    }

    /// As `$skill` anywhere.
    fn prompt_loads(&self, prompt: &str, skill: &str) -> bool {
        let part_of_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let mut mentions = prompt.split('$').skip(1);
        mentions.any(|rest| {
            let after = rest.strip_prefix(skill);
            after.is_some_and(|after| !after.starts_with(part_of_name))
        })
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

    /// The program has no option for either limit.
    fn enforces(&self) -> Enforces {
        Enforces { budget: false, turns: false }
    }

    fn command(&self, request: &SessionRequest<'_>) -> Result<SessionCommand, Unavailable> {
        let mut args: Vec<String> = BASE_ARGS.iter().map(ToString::to_string).collect();
        let files = match &request.room {
            None => {
                args.extend(KEPT_IN.iter().map(ToString::to_string));
                Vec::new()
            }
            Some(room) => room::furnish(room, &mut args)?,
        };
        if let Some(model) = request.model {
            args.push(format!("--model={model}"));
        }
        args.extend_from_slice(request.args);
        let stdin = place_prompt(request.prompt, &mut args, &["-"]);
        let program = request.program.unwrap_or("codex").to_owned();
        Ok(SessionCommand { program, args, env: Vec::new(), stdin, files })
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
        SessionRequest {
            max_turns: Some(3),
            max_budget_usd: Some(1.0),
            ..SessionRequest::new(prompt, Utf8Path::new("/w"), Utf8Path::new("/bin/proctor"))
        }
    }

    #[test]
    fn limits_that_the_program_does_not_know_are_not_passed() {
        let command = Codex.command(&request("do it")).unwrap();
        assert_eq!(
            command.args.join(" "),
            "exec --json --ephemeral --skip-git-repo-check --disable plugins --disable \
             unbounded_connection_retries -c analytics.enabled=false -c \
             check_for_update_on_startup=false --ignore-user-config --sandbox workspace-write \
             -- do it"
        );
        assert_eq!(Codex.enforces(), Enforces { budget: false, turns: false });
    }

    #[test]
    fn a_long_prompt_is_piped_and_the_model_is_one_argument() {
        let prompt = "y".repeat(200_000);
        let request = SessionRequest { model: Some("-odd"), ..request(&prompt) };
        let command = Codex.command(&request).unwrap();
        assert!(command.args.ends_with(&["--model=-odd".to_owned(), "-".to_owned()]));
        assert_eq!(command.stdin.map(|bytes| bytes.len()), Some(200_000));
    }

    #[test]
    fn a_mention_loads_its_skill() {
        for prompt in ["$greet", "use $greet, please", "$a $greet"] {
            assert!(Codex.prompt_loads(prompt, "greet"), "{prompt:?}");
        }
        for prompt in ["greet", "/greet", "$greeting", "$greet-2", "$", ""] {
            assert!(!Codex.prompt_loads(prompt, "greet"), "{prompt:?}");
        }
    }

    #[test]
    fn credentials_are_variables_or_the_file_of_a_login() {
        let Credentials::Absent { tried } = Codex.credentials(&|_| None, &|_| false) else {
            panic!("nothing is there")
        };
        assert_eq!(tried, ["CODEX_API_KEY", "OPENAI_API_KEY", "~/.codex/auth.json"]);
        let home = |name: &str| (name == "CODEX_HOME").then(|| "/c".to_owned());
        let file = |path: &Path| path == Path::new("/c/auth.json");
        assert_eq!(Codex.credentials(&home, &file), Credentials::Present);
        let key = |name: &str| (name == "OPENAI_API_KEY").then(|| "k".to_owned());
        assert_eq!(Codex.credentials(&key, &|_| false), Credentials::Present);
    }
}
