//! Claude Code in a room of its own.

use proctor_model::experiment::{AgentMode, Model, SecretText, Thinking};
use proctor_model::{ResolvedServer, ResolvedTransport};
use serde_json::{Map, Value, json};

use crate::adapter::{HomeFile, RoomRequest, Unavailable};
use crate::servers::plain_name;

/// The levels of `--effort`; another one is passed over with a warning.
const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

/// The file of the servers, below the home.
const SERVERS_FILE: &str = ".proctor/mcp.json";

/// The sizes of context windows, in tokens.
const USUAL_WINDOW: u64 = 200_000;
const LARGE_WINDOW: u64 = 1_000_000;

/// Adds what a room needs. The last of `args` is the option for the mode.
pub(super) fn furnish(
    room: &RoomRequest<'_>,
    args: &mut Vec<String>,
    env: &mut Vec<(String, String)>,
    files: &mut Vec<HomeFile>,
) -> Result<(), Unavailable> {
    let mut set = |name: &str, value: &str| env.push((name.to_owned(), value.to_owned()));
    match room.mode {
        AgentMode::Plan => args.push("plan".to_owned()),
        AgentMode::Build => {
            args.push("bypassPermissions".to_owned());
            // Otherwise it refuses to do so for root, which it is where a room has no users.
            set("IS_SANDBOX", "1");
        }
    }
    // Servers that programs of packages have to fetch first take longer than the usual time.
    set("MCP_TIMEOUT", "60000");
    if let Some(model) = room.model {
        choose(model, args, &mut set)?;
    }
    args.push("--strict-mcp-config".to_owned());
    if !room.servers.is_empty() {
        args.push(format!("--mcp-config={}", room.home.join(SERVERS_FILE)));
        let content = SecretText::new(servers(room.servers)?);
        files.push(HomeFile { path: SERVERS_FILE.into(), content });
    }
    Ok(())
}

fn choose(
    model: &Model,
    args: &mut Vec<String>,
    set: &mut dyn FnMut(&str, &str),
) -> Result<(), Unavailable> {
    let mut name = model.name.clone();
    match model.context_window_size.map(u64::from) {
        None => {}
        Some(USUAL_WINDOW) => set("CLAUDE_CODE_DISABLE_1M_CONTEXT", "1"),
        Some(LARGE_WINDOW) => name.push_str("[1m]"),
        Some(other) => {
            let reason = format!(
                "context_window_size: claude has windows of 200000 and 1000000 tokens, not {other}"
            );
            return Err(Unavailable { reason });
        }
    }
    args.push(format!("--model={name}"));
    if let Some(effort) = &model.effort {
        if !EFFORTS.contains(&effort.as_str()) {
            let known = EFFORTS.join(", ");
            let reason = format!("effort: claude knows {known}, not `{effort}`");
            return Err(Unavailable { reason });
        }
        args.push(format!("--effort={effort}"));
    }
    match &model.thinking {
        None => {}
        Some(Thinking::Switch(true)) => args.push("--thinking=enabled".to_owned()),
        Some(Thinking::Switch(false)) => args.push("--thinking=disabled".to_owned()),
        Some(Thinking::Level(level)) if ["enabled", "adaptive", "disabled"].contains(&&**level) => {
            args.push(format!("--thinking={level}"));
        }
        Some(Thinking::Level(level)) => {
            let reason =
                format!("thinking: claude knows enabled, adaptive and disabled, not `{level}`");
            return Err(Unavailable { reason });
        }
    }
    if let Some(fast) = model.fast {
        args.push(format!("--settings={}", json!({ "fastMode": fast })));
    }
    Ok(())
}

fn servers(servers: &[ResolvedServer]) -> Result<String, Unavailable> {
    let object = |pairs: &[(String, String)]| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect()
    };
    let mut named = Map::new();
    for server in servers {
        let entry = match &server.transport {
            ResolvedTransport::Stdio { command, args, env } => {
                json!({ "type": "stdio", "command": command, "args": args, "env": object(env) })
            }
            ResolvedTransport::Http { url, headers } => {
                json!({ "type": "http", "url": url, "headers": object(headers) })
            }
            ResolvedTransport::Sse { url, headers } => {
                json!({ "type": "sse", "url": url, "headers": object(headers) })
            }
        };
        named.insert(plain_name(server, "claude")?.to_owned(), entry);
    }
    Ok(json!({ "mcpServers": named }).to_string())
}

#[cfg(test)]
mod tests {
    use camino::Utf8Path;

    use super::*;
    use crate::{SessionCommand, SessionRequest, find};

    fn command(room: RoomRequest<'_>) -> Result<SessionCommand, Unavailable> {
        let request = SessionRequest::new("do it", "/workspace".into(), "/p".into());
        find("claude").unwrap().command(&SessionRequest { room: Some(room), ..request })
    }

    fn room() -> RoomRequest<'static> {
        let home = Utf8Path::new("/home/agent");
        RoomRequest { home, mode: AgentMode::Build, model: None, servers: &[], acp: &[] }
    }

    fn model(name: &str) -> Model {
        let name = name.to_owned();
        Model { name, effort: None, context_window_size: None, thinking: None, fast: None }
    }

    #[test]
    fn a_room_asks_for_no_leave() {
        let built = command(room()).unwrap();
        let text = built.args.join(" ");
        assert!(text.ends_with("--permission-mode bypassPermissions --strict-mcp-config -- do it"));
        assert!(built.env.contains(&("IS_SANDBOX".into(), "1".into())));
        assert!(built.files.is_empty());
        let planned = command(RoomRequest { mode: AgentMode::Plan, ..room() }).unwrap();
        assert!(planned.args.join(" ").contains("--permission-mode plan "));
        assert!(planned.env.iter().all(|(name, _)| name != "IS_SANDBOX"));
    }

    #[test]
    fn a_model_has_its_knobs() {
        let wanted = Model {
            effort: Some("low".into()),
            context_window_size: LARGE_WINDOW.try_into().ok(),
            thinking: Some(Thinking::Switch(false)),
            fast: Some(true),
            ..model("claude-sonnet-5")
        };
        let args = command(RoomRequest { model: Some(&wanted), ..room() }).unwrap().args.join(" ");
        let expected = "--model=claude-sonnet-5[1m] --effort=low --thinking=disabled \
                        --settings={\"fastMode\":true} --strict-mcp-config";
        assert!(args.contains(expected), "{args}");
    }

    #[test]
    fn what_it_does_not_know_is_refused() {
        let refused = |model: Model| {
            command(RoomRequest { model: Some(&model), ..room() }).unwrap_err().to_string()
        };
        let effort = Model { effort: Some("huge".into()), ..model("m") };
        assert_eq!(
            refused(effort),
            "effort: claude knows low, medium, high, xhigh, max, not `huge`"
        );
        let window = Model { context_window_size: 5.try_into().ok(), ..model("m") };
        assert!(refused(window).contains("not 5"));
        let thinking = Model { thinking: Some(Thinking::Level("loud".into())), ..model("m") };
        assert!(refused(thinking).contains("not `loud`"));
        let transport = ResolvedTransport::Http { url: "u".into(), headers: Vec::new() };
        let server = [ResolvedServer { name: "a b".into(), transport }];
        let named = command(RoomRequest { servers: &server, ..room() }).unwrap_err().to_string();
        assert!(named.starts_with("the MCP server `a b`"), "{named}");
    }

    #[test]
    fn servers_are_a_file_in_the_home() {
        let pair = || vec![("K".to_owned(), "secret".to_owned())];
        let stdio = ResolvedTransport::Stdio { command: "srv".into(), args: vec![], env: pair() };
        let sse = ResolvedTransport::Sse { url: "http://h".into(), headers: pair() };
        let named = |name: &str, transport| ResolvedServer { name: name.into(), transport };
        let servers = [named("one", stdio), named("two", sse)];
        let built = command(RoomRequest { servers: &servers, ..room() }).unwrap();
        let args = built.args.join(" ");
        assert!(args.contains("--mcp-config=/home/agent/.proctor/mcp.json"), "{args}");
        assert!(!args.contains("secret") && !format!("{built:?}").contains("secret"));
        let [file] = &built.files[..] else { panic!() };
        assert_eq!(file.path, SERVERS_FILE);
        assert_eq!(
            file.content.expose(),
            r#"{"mcpServers":{"one":{"type":"stdio","command":"srv","args":[],"env":{"K":"secret"}},"two":{"type":"sse","url":"http://h","headers":{"K":"secret"}}}}"#
        );
    }
}
