//! An agent for tests, made with the agent's side of the official crate. What it does is said by
//! the first word of the prompt.

use std::io::Write as _;
use std::sync::Mutex;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, ContentBlock, ContentChunk, Cost, Implementation, InitializeRequest,
    InitializeResponse, McpCapabilities, McpServer, NewSessionRequest, NewSessionResponse,
    PermissionOption, PermissionOptionKind, PromptRequest, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequest, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelectOption, SessionId, SessionMode,
    SessionModeState, SessionNotification, SessionUpdate, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, SetSessionModeResponse, StopReason,
    ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, Usage, UsageUpdate,
};
use agent_client_protocol::{Agent, Client, Error, Result, Stdio};
use serde_json::json;

/// What the session was told so far.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The model that is chosen.
static MODEL: Mutex<String> = Mutex::new(String::new());

fn tell(what: impl Into<String>) {
    TOLD.lock().unwrap().push(what.into());
}

fn options(model: &str) -> Vec<SessionConfigOption> {
    let values = |names: &[&'static str]| -> Vec<SessionConfigSelectOption> {
        names.iter().map(|name| SessionConfigSelectOption::new(*name, *name)).collect()
    };
    vec![
        SessionConfigOption::select("m", "Model", model.to_owned(), values(&["small", "large"]))
            .category(SessionConfigOptionCategory::Model),
        SessionConfigOption::select("t", "Thought", "low", values(&["low", "high"]))
            .category(SessionConfigOptionCategory::ThoughtLevel),
    ]
}

#[expect(clippy::exit, reason = "to die is what it is asked for")]
fn die() -> ! {
    let _ = writeln!(std::io::stderr(), "a fatal mistake");
    std::process::exit(3)
}

fn main() -> Result<()> {
    futures::executor::block_on(
        Agent
            .v1()
            .name("agent-of-tests")
            .on_receive_request(
                async move |hello: InitializeRequest, responder, _| {
                    let mcp = McpCapabilities::default().http(true);
                    responder.respond(
                        InitializeResponse::new(hello.protocol_version)
                            .agent_capabilities(AgentCapabilities::new().mcp_capabilities(mcp))
                            .agent_info(Implementation::new("agent-of-tests", "7.0")),
                    )
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |new: NewSessionRequest, responder, _| {
                    tell(format!("cwd {}", new.cwd.display()));
                    for server in &new.mcp_servers {
                        tell(match server {
                            McpServer::Stdio(stdio) => format!("mcp {}", stdio.name),
                            McpServer::Http(http) => format!("mcp {} at {}", http.name, http.url),
                            _ => "mcp of another kind".to_owned(),
                        });
                    }
                    let modes = ["code", "plan"].map(|mode| SessionMode::new(mode, mode)).into();
                    responder.respond(
                        NewSessionResponse::new("session-1")
                            .config_options(options("small"))
                            .modes(SessionModeState::new("code", modes)),
                    )
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |set: SetSessionConfigOptionRequest, responder, _| {
                    let value = set.value.as_value_id().map(ToString::to_string);
                    let value = value.unwrap_or_default();
                    tell(format!("{} {value}", set.config_id));
                    let mut model = MODEL.lock().unwrap();
                    if *set.config_id.0 == *"m" {
                        *model = value;
                    }
                    responder.respond(SetSessionConfigOptionResponse::new(options(&model)))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |set: SetSessionModeRequest, responder, _| {
                    tell(format!("mode {}", set.mode_id));
                    responder.respond(SetSessionModeResponse::new())
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: PromptRequest, responder, connection: ConnectionTo<Client>| {
                    let talk = connection.clone();
                    connection.spawn(async move {
                        match turn(request, talk).await {
                            Ok(response) => responder.respond(response),
                            Err(error) => responder.respond_with_error(error),
                        }
                    })
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_to(Stdio::new()),
    )
}

async fn turn(request: PromptRequest, connection: ConnectionTo<Client>) -> Result<PromptResponse> {
    let [ContentBlock::Text(prompt)] = &request.prompt[..] else {
        return Err(Error::invalid_params());
    };
    let session = request.session_id;
    let update =
        |update| connection.send_notification(SessionNotification::new(session.clone(), update));
    let say = |text: &str| update(SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into())));
    match prompt.text.split_whitespace().next().unwrap_or_default() {
        "work" => {
            for text in ["let ", "me ", "think"] {
                update(SessionUpdate::AgentThoughtChunk(ContentChunk::new(text.into())))?;
            }
            say("I will ")?;
            update(SessionUpdate::UsageUpdate(UsageUpdate::new(10, 1000)))?;
            say("write.")?;
            let text = "a line\n";
            let input = json!({"file_path": "/w/made.txt", "content": text});
            update(SessionUpdate::ToolCall(
                ToolCall::new("call-1", "Write made.txt").kind(ToolKind::Edit).raw_input(input),
            ))?;
            let allowed = ask(&connection, &session).await?;
            std::fs::write("made.txt", text).map_err(Error::into_internal_error)?;
            let fields = ToolCallUpdateFields::new()
                .status(ToolCallStatus::Completed)
                .raw_output(json!(allowed));
            update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("call-1", fields)))?;
            let told = TOLD.lock().unwrap().join("; ");
            say(&told)?;
            let usage = UsageUpdate::new(20, 1000).cost(Cost::new(0.25, "USD"));
            update(SessionUpdate::UsageUpdate(usage))?;
            let usage = Usage::new(33, 20, 10).cached_read_tokens(3);
            Ok(PromptResponse::new(StopReason::EndTurn).usage(usage))
        }
        "refuse" => Ok(PromptResponse::new(StopReason::Refusal)),
        "long" => Ok(PromptResponse::new(StopReason::MaxTokens)),
        "turns" => Ok(PromptResponse::new(StopReason::MaxTurnRequests)),
        "login" => Err(Error::auth_required()),
        "limited" => Err(Error::new(-32603, "429: rate limit of the provider")),
        "spend" => {
            for amount in 1..=50 {
                let cost = Cost::new(f64::from(amount) / 10.0, "USD");
                update(SessionUpdate::UsageUpdate(UsageUpdate::new(1, 1000).cost(cost)))?;
            }
            Ok(PromptResponse::new(StopReason::Cancelled))
        }
        "die" => {
            say("I am about to")?;
            ask(&connection, &session).await?;
            die()
        }
        other => {
            say(&format!("what is {other}?"))?;
            Ok(PromptResponse::new(StopReason::EndTurn))
        }
    }
}

/// Asks for leave, and says what was answered.
async fn ask(connection: &ConnectionTo<Client>, session: &SessionId) -> Result<String> {
    let option = |id: &'static str, kind| PermissionOption::new(id, id, kind);
    let request = RequestPermissionRequest::new(
        session.clone(),
        ToolCallUpdate::new("call-1", ToolCallUpdateFields::new()),
        vec![
            option("never", PermissionOptionKind::RejectAlways),
            option("once", PermissionOptionKind::AllowOnce),
            option("always", PermissionOptionKind::AllowAlways),
        ],
    );
    let response = connection.send_request(request).block_task().await?;
    Ok(match response.outcome {
        RequestPermissionOutcome::Selected(selected) => selected.option_id.to_string(),
        _ => "cancelled".to_owned(),
    })
}
