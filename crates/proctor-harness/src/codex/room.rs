//! Codex in a room of its own.

use std::fmt::Write as _;

use proctor_model::experiment::{AgentMode, Model, SecretText, Thinking};
use proctor_model::{ResolvedServer, ResolvedTransport};

use crate::adapter::{HomeFile, RoomRequest, Unavailable};
use crate::servers::plain_name;

/// Its settings, below the home. The folder must be there before the program starts.
const SETTINGS: &str = ".codex/config.toml";

/// How it can show what it thinks; another word keeps it from starting.
const SUMMARIES: [&str; 4] = ["auto", "concise", "detailed", "none"];

/// Adds what a room needs, and says what must be in its home.
pub(super) fn furnish(
    room: &RoomRequest<'_>,
    args: &mut Vec<String>,
) -> Result<Vec<HomeFile>, Unavailable> {
    match room.mode {
        AgentMode::Build => args.push("--dangerously-bypass-approvals-and-sandbox".to_owned()),
        AgentMode::Plan => {
            // Its commands would die at once, mostly without an event, and the turn would complete.
            let reason = "agent_mode: plan: what keeps codex from writing is a sandbox of its own, \
                          which does not work within another one";
            return Err(Unavailable { reason: reason.to_owned() });
        }
    }
    if let Some(model) = room.model {
        choose(model, args)?;
    }
    let content = SecretText::new(servers(room.servers)?);
    Ok(vec![HomeFile { path: SETTINGS.into(), content }])
}

fn choose(model: &Model, args: &mut Vec<String>) -> Result<(), Unavailable> {
    let mut set = |key: &str, value: &str| {
        args.extend(["-c".to_owned(), format!("{key}={value}")]);
    };
    if let Some(effort) = &model.effort {
        set("model_reasoning_effort", &quoted(effort));
    }
    if let Some(size) = model.context_window_size {
        set("model_context_window", &size.to_string());
    }
    match &model.thinking {
        None => {}
        Some(Thinking::Switch(true)) => set("model_reasoning_summary", "\"auto\""),
        Some(Thinking::Switch(false)) => set("model_reasoning_summary", "\"none\""),
        Some(Thinking::Level(level)) if SUMMARIES.contains(&level.as_str()) => {
            set("model_reasoning_summary", &quoted(level));
        }
        Some(Thinking::Level(level)) => {
            let known = SUMMARIES.join(", ");
            let reason = format!("thinking: codex knows {known}, not `{level}`");
            return Err(Unavailable { reason });
        }
    }
    if model.fast == Some(true) {
        set("service_tier", "\"fast\"");
    }
    args.push(format!("--model={}", model.name));
    Ok(())
}

fn servers(servers: &[ResolvedServer]) -> Result<String, Unavailable> {
    let mut text = String::new();
    for server in servers {
        let name = plain_name(server, "codex")?;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[mcp_servers.{name}]");
        match &server.transport {
            ResolvedTransport::Stdio { command, args, env } => {
                let args: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
                let _ = writeln!(text, "command = {}", quoted(command));
                let _ = writeln!(text, "args = [{}]", args.join(", "));
                let _ = writeln!(text, "env = {}", table(env));
            }
            ResolvedTransport::Http { url, headers } => {
                let _ = writeln!(text, "url = {}", quoted(url));
                let _ = writeln!(text, "http_headers = {}", table(headers));
            }
            ResolvedTransport::Sse { .. } => {
                let reason = format!("the MCP server `{name}`: codex does not speak sse");
                return Err(Unavailable { reason });
            }
        }
        // Servers that programs of packages have to fetch first take longer than the usual time;
        // tools that would have to be allowed are refused when nobody is there.
        text.push_str("startup_timeout_sec = 60\ndefault_tools_approval_mode = \"approve\"\n");
    }
    Ok(text)
}

fn table(pairs: &[(String, String)]) -> String {
    let entries: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value))).collect();
    format!("{{ {} }}", entries.join(", "))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use crate::{SessionCommand, SessionRequest, find};

    fn command(room: RoomRequest<'_>) -> Result<SessionCommand, Unavailable> {
        let request = SessionRequest::new("do it", "/workspace".into(), "/p".into());
        find("codex").unwrap().command(&SessionRequest { room: Some(room), ..request })
    }

    fn room() -> RoomRequest<'static> {
        let home = Utf8Path::new("/home/agent");
        RoomRequest { home, mode: AgentMode::Build, model: None, servers: &[], acp: &[] }
    }

    #[test]
    fn a_room_is_the_sandbox() {
        let built = command(room()).unwrap();
        let text = built.args.join(" ");
        assert!(text.ends_with(" --dangerously-bypass-approvals-and-sandbox -- do it"), "{text}");
        assert!(!text.contains("--ignore-user-config"));
        assert_eq!(built.files[0].path, SETTINGS);
        let planned = command(RoomRequest { mode: AgentMode::Plan, ..room() }).unwrap_err();
        assert!(planned.to_string().starts_with("agent_mode: plan: "), "{planned}");
    }

    #[test]
    fn a_model_has_its_knobs() {
        let wanted = Model {
            name: "gpt-5.5".into(),
            effort: Some("low".into()),
            context_window_size: 100_000.try_into().ok(),
            thinking: Some(Thinking::Level("detailed".into())),
            fast: Some(true),
        };
        let args = command(RoomRequest { model: Some(&wanted), ..room() }).unwrap().args.join(" ");
        let expected = "-c model_reasoning_effort=\"low\" -c model_context_window=100000 \
                        -c model_reasoning_summary=\"detailed\" -c service_tier=\"fast\" \
                        --model=gpt-5.5 -- do it";
        assert!(args.ends_with(expected), "{args}");
        let loud = Model { thinking: Some(Thinking::Level("loud".into())), ..wanted };
        let refused = command(RoomRequest { model: Some(&loud), ..room() }).unwrap_err();
        assert!(refused.to_string().ends_with("not `loud`"), "{refused}");
    }

    #[test]
    fn servers_are_settings() {
        let pair = || vec![("K".to_owned(), "a\"\\\n\u{7f}ü".to_owned())];
        let args = vec!["x y".to_owned()];
        let stdio = ResolvedTransport::Stdio { command: "srv".into(), args, env: pair() };
        let http = ResolvedTransport::Http { url: "http://h".into(), headers: Vec::new() };
        let named = |name: &str, transport| ResolvedServer { name: name.into(), transport };
        let both = [named("one", stdio), named("two", http)];
        let built = command(RoomRequest { servers: &both, ..room() }).unwrap();
        assert_eq!(
            built.files[0].content.expose(),
            "[mcp_servers.one]\ncommand = \"srv\"\nargs = [\"x y\"]\n\
             env = { \"K\" = \"a\\\"\\\\\\u000A\\u007Fü\" }\n\
             startup_timeout_sec = 60\ndefault_tools_approval_mode = \"approve\"\n\
             [mcp_servers.two]\nurl = \"http://h\"\nhttp_headers = {  }\n\
             startup_timeout_sec = 60\ndefault_tools_approval_mode = \"approve\"\n"
        );
        let sse = ResolvedTransport::Sse { url: "u".into(), headers: Vec::new() };
        let refused = command(RoomRequest { servers: &[named("s", sse)], ..room() }).unwrap_err();
        assert_eq!(refused.to_string(), "the MCP server `s`: codex does not speak sse");
    }
}
