//! Every program that speaks the Agent Client Protocol: this program itself, started as
//! `__acp -- COMMAND...`, is the client, and prints each frame as one line.
//!
//! Its lines are defined by `proctor-acp`; this is the reading side.

mod action;
mod calls;
mod lines;

pub use lines::{PERMISSION_ALLOWED, PERMISSION_CANCELLED};

use std::path::Path;

use proctor_model::AcpJob;
use proctor_model::experiment::AgentMode;

use crate::adapter::{
    Adapter, Credentials, Enforces, OwnFolder, SessionCommand, SessionRequest, StreamParser,
    Unavailable,
};
use crate::stream::JsonLines;

/// The adapter.
pub(crate) struct Acp;

/// A record that somebody kept, with the moments in it.
pub(crate) fn record() -> Box<dyn StreamParser + Send> {
    Box::new(JsonLines::dated(lines::Lines::default()))
}

impl Adapter for Acp {
    fn id(&self) -> &'static str {
        "acp"
    }

    fn corpus_harness(&self) -> Option<&'static str> {
        None
    }

    fn skills_folder(&self) -> &'static str {
        ".agents/skills"
    }

    fn prompt_loads(&self, _prompt: &str, _skill: &str) -> bool {
        false
    }

    /// Nobody knows which program it is.
    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    fn own_folder(&self) -> Option<OwnFolder> {
        None
    }

    /// The budget as far as the program says what it costs.
    fn enforces(&self) -> Enforces {
        Enforces { budget: true, turns: false }
    }

    fn command(&self, request: &SessionRequest<'_>) -> Result<SessionCommand, Unavailable> {
        let Some(room) = request.room.filter(|room| !room.acp.is_empty()) else {
            let reason = "no command: an agent needs `acp: [COMMAND, ...]` in its experiment";
            return Err(Unavailable { reason: reason.to_owned() });
        };
        let (mut model, mut effort) = (request.model.map(str::to_owned), None);
        if let Some(wanted) = room.model {
            if wanted.context_window_size.is_some()
                || wanted.thinking.is_some()
                || wanted.fast.is_some()
            {
                let reason = "the Agent Client Protocol has no context_window_size, thinking and \
                              fast: set them where the agent has its settings";
                return Err(Unavailable { reason: reason.to_owned() });
            }
            model = Some(wanted.name.clone());
            effort.clone_from(&wanted.effort);
        }
        let job = AcpJob {
            prompt: request.prompt.to_owned(),
            cwd: request.workspace.to_owned(),
            model,
            effort,
            is_read_only: room.mode == AgentMode::Plan,
            max_cost_usd: request.max_budget_usd,
            servers: room.servers.to_vec(),
        };
        let stdin = serde_json::to_vec(&job).map_err(|error| Unavailable {
            reason: format!("the job cannot be written: {error}"),
        })?;
        let mut args = vec!["__acp".to_owned(), "--".to_owned()];
        args.extend_from_slice(room.acp);
        args.extend_from_slice(request.args);
        Ok(SessionCommand {
            program: request.proctor.to_string(),
            args,
            env: Vec::new(),
            stdin: Some(stdin),
            files: Vec::new(),
        })
    }

    fn parser(&self) -> Box<dyn StreamParser + Send> {
        Box::new(JsonLines::new(lines::Lines::default()))
    }

    /// Nobody knows which it needs.
    fn credentials(
        &self,
        _env: &dyn Fn(&str) -> Option<String>,
        _file_exists: &dyn Fn(&Path) -> bool,
    ) -> Credentials {
        Credentials::Present
    }
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;
    use proctor_model::experiment::Model;
    use serde_json::{Value, json};

    use super::*;
    use crate::RoomRequest;

    fn command(room: RoomRequest<'_>) -> Result<SessionCommand, Unavailable> {
        let request = SessionRequest::new("do it", "/workspace".into(), "/bin/proctor".into());
        Acp.command(&SessionRequest { room: Some(room), max_budget_usd: Some(1.5), ..request })
    }

    fn model(name: &str) -> Model {
        let name = name.to_owned();
        Model { name, effort: None, context_window_size: None, thinking: None, fast: None }
    }

    #[test]
    fn the_job_goes_to_standard_input() {
        let acp = ["some-agent".to_owned(), "--acp".to_owned()];
        let model = Model { effort: Some("high".into()), ..model("large") };
        let room = RoomRequest {
            home: Utf8Path::new("/home/agent"),
            mode: AgentMode::Plan,
            model: Some(&model),
            servers: &[],
            acp: &acp,
        };
        let built = command(room).unwrap();
        assert_eq!(built.program, "/bin/proctor");
        assert_eq!(built.args, ["__acp", "--", "some-agent", "--acp"]);
        let job: Value = serde_json::from_slice(&built.stdin.unwrap()).unwrap();
        let expected = json!({
            "prompt": "do it", "cwd": "/workspace", "model": "large", "effort": "high",
            "is_read_only": true, "max_cost_usd": 1.5, "servers": []
        });
        assert_eq!(job, expected);
        let without = command(RoomRequest { acp: &[], ..room }).unwrap_err().to_string();
        assert!(without.starts_with("no command"), "{without}");
        let fast = Model { fast: Some(true), ..model.clone() };
        assert!(command(RoomRequest { model: Some(&fast), ..room }).is_err());
    }
}
