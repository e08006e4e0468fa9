//! What is said in one session, in order.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AuthMethod, AuthenticateRequest, ContentBlock, EnvVariable, ErrorCode,
    HttpHeader, Implementation, InitializeRequest, InitializeResponse, McpCapabilities, McpServer,
    McpServerHttp, McpServerSse, McpServerStdio, NewSessionRequest, NewSessionResponse,
    PromptRequest, SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigSelectOption, SessionConfigSelectOptions, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, TextContent,
};
use proctor_model::{AcpJob, ResolvedServer, ResolvedTransport};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::Client;
use crate::failure::Failure;
use crate::frames::Recorder;

/// How long an agent may take for each step before the prompt.
const PATIENCE: Duration = Duration::from_mins(2);

/// The ids of modes in which agents write nothing.
const READ_ONLY_MODES: [&str; 3] = ["plan", "read-only", "readonly"];

/// Choosing a model, before there were options for it.
const SET_MODEL: &str = "session/set_model";

/// Does the job, and puts all of it on record.
pub(crate) fn run<W: Write>(
    program: &OsString,
    args: &[OsString],
    job: &AcpJob,
    recorder: &mut Recorder<W>,
) -> Result<(), Failure> {
    recorder.meta()?;
    let done = Client::start(program, args, job.max_cost_usd, recorder).and_then(|mut client| {
        let done = converse(&mut client, job);
        client.finish()?;
        done
    });
    if let Err(failure) = &done
        && let Some((outcome, reason)) = failure.told()
    {
        recorder.end(outcome, reason, &failure.to_string())?;
    }
    done
}

fn converse<W: Write>(client: &mut Client<'_, W>, job: &AcpJob) -> Result<(), Failure> {
    let info = Implementation::new("proctor", env!("CARGO_PKG_VERSION"));
    let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(info);
    let agent: InitializeResponse =
        typed(client, AGENT_METHOD_NAMES.initialize, &hello, Some(PATIENCE))?;
    if agent.protocol_version != ProtocolVersion::V1 {
        return Err(Failure::Version { version: agent.protocol_version.as_u16() });
    }

    let servers = servers(&job.servers, &agent.agent_capabilities.mcp_capabilities)?;
    let new = NewSessionRequest::new(job.cwd.as_std_path()).mcp_servers(servers);
    let method = AGENT_METHOD_NAMES.session_new;
    let answer = match client.request(method, &new, Some(PATIENCE)) {
        Err(Failure::Refused { method, error }) if is_auth_required(error.code) => {
            let Some(way) = key_method(&agent.auth_methods) else {
                return Err(Failure::Refused { method, error });
            };
            client.request(AGENT_METHOD_NAMES.authenticate, &way, Some(PATIENCE))?;
            client.request(method, &new, Some(PATIENCE))?
        }
        other => other?,
    };
    let session = parsed::<NewSessionResponse>(method, answer.clone())?;
    let session_id = session.session_id.clone();
    choose(client, job, session, &answer)?;
    if job.prompt.is_empty() {
        // It was only asked whether it has what is wanted of it.
        return Ok(());
    }

    let prompt = vec![ContentBlock::Text(TextContent::new(job.prompt.clone()))];
    let method = AGENT_METHOD_NAMES.session_prompt;
    let answer = client.request(method, &PromptRequest::new(session_id, prompt), None)?;
    match answer.get("stopReason").and_then(Value::as_str) {
        Some("end_turn") => Ok(()),
        Some(_) => Err(Failure::Turn),
        None => Err(Failure::Strange { method, why: "it has no `stopReason`".to_owned() }),
    }
}

/// Chooses model, effort and mode where the job asks for them. An agent that does not offer what is
/// asked for would be recorded as what it is not, so that ends the session.
fn choose<W: Write>(
    client: &mut Client<'_, W>,
    job: &AcpJob,
    session: NewSessionResponse,
    answer: &Value,
) -> Result<(), Failure> {
    let mut options = Options {
        session_id: session.session_id.to_string(),
        options: session.config_options.unwrap_or_default(),
    };
    if let Some(model) = &job.model {
        let chosen = options.choose(client, &SessionConfigOptionCategory::Model, &[model])?;
        if let Err(offered) = chosen {
            choose_listed_model(client, &options.session_id, model, answer, offered)?;
        }
    }
    if let Some(effort) = &job.effort {
        let thought = SessionConfigOptionCategory::ThoughtLevel;
        let chosen = options.choose(client, &thought, &[effort])?;
        chosen.map_err(|offered| Failure::Effort { effort: effort.clone(), offered })?;
    }
    if job.is_read_only {
        let mode = SessionConfigOptionCategory::Mode;
        if let Err(mut offered) = options.choose(client, &mode, &READ_ONLY_MODES)? {
            let modes = session.modes.map(|state| state.available_modes).unwrap_or_default();
            let is_wanted = |id: &str| READ_ONLY_MODES.contains(&id.to_lowercase().as_str());
            let Some(mode) = modes.iter().find(|mode| is_wanted(&mode.id.0)) else {
                offered.extend(modes.iter().map(|mode| mode.id.to_string()));
                return Err(Failure::ReadOnly { offered });
            };
            let set = SetSessionModeRequest::new(options.session_id, mode.id.clone());
            client.request(AGENT_METHOD_NAMES.session_set_mode, &set, Some(PATIENCE))?;
        }
    }
    Ok(())
}

/// Chooses from the list of models that older agents give in place of an option.
fn choose_listed_model<W: Write>(
    client: &mut Client<'_, W>,
    session_id: &str,
    model: &str,
    answer: &Value,
    mut offered: Vec<String>,
) -> Result<(), Failure> {
    let listed = answer.pointer("/models/availableModels").and_then(Value::as_array);
    let listed = listed.map_or(&[][..], Vec::as_slice);
    let text = |entry: &Value, key: &str| entry.get(key)?.as_str().map(str::to_owned);
    let is_wanted = |entry: &&Value| {
        ["modelId", "name"].iter().any(|key| text(entry, key).as_deref() == Some(model))
    };
    let Some(id) = listed.iter().find(is_wanted).and_then(|entry| text(entry, "modelId")) else {
        offered.extend(listed.iter().filter_map(|entry| text(entry, "modelId")));
        return Err(Failure::Model { model: model.to_owned(), offered });
    };
    let set = json!({ "sessionId": session_id, "modelId": id });
    client.request(SET_MODEL, &set, Some(PATIENCE)).map(drop)
}

/// The options of a session as they stand; choosing one may change the others.
struct Options {
    session_id: String,
    options: Vec<SessionConfigOption>,
}

impl Options {
    /// Chooses the first of `wanted` that an option of this category offers by value or name;
    /// otherwise says what is offered.
    fn choose<W: Write>(
        &mut self,
        client: &mut Client<'_, W>,
        category: &SessionConfigOptionCategory,
        wanted: &[impl AsRef<str>],
    ) -> Result<Result<(), Vec<String>>, Failure> {
        let of_category =
            self.options.iter().find(|option| option.category.as_ref() == Some(category));
        let Some((option, SessionConfigKind::Select(select))) =
            of_category.map(|option| (option, &option.kind))
        else {
            return Ok(Err(Vec::new()));
        };
        let offered = values(&select.options);
        let found = wanted.iter().map(AsRef::as_ref).find_map(|wanted| {
            let is_it =
                |one: &&&SessionConfigSelectOption| *one.value.0 == *wanted || one.name == wanted;
            offered.iter().find(is_it).map(|one| one.value.clone())
        });
        let Some(value) = found else {
            return Ok(Err(offered.iter().map(|one| one.value.to_string()).collect()));
        };
        if value != select.current_value {
            let id = option.id.clone();
            let set = SetSessionConfigOptionRequest::new(self.session_id.clone(), id, value);
            let method = AGENT_METHOD_NAMES.session_set_config_option;
            let changed: SetSessionConfigOptionResponse =
                typed(client, method, &set, Some(PATIENCE))?;
            self.options = changed.config_options;
        }
        Ok(Ok(()))
    }
}

fn values(options: &SessionConfigSelectOptions) -> Vec<&SessionConfigSelectOption> {
    match options {
        SessionConfigSelectOptions::Ungrouped(options) => options.iter().collect(),
        SessionConfigSelectOptions::Grouped(groups) => {
            groups.iter().flat_map(|group| &group.options).collect()
        }
        _ => Vec::new(),
    }
}

fn is_auth_required(code: i64) -> bool {
    i64::from(i32::from(ErrorCode::AuthRequired)) == code
}

/// The way to authenticate that takes a key from the environment; the others want a person.
fn key_method(methods: &[AuthMethod]) -> Option<AuthenticateRequest> {
    let is_key = |id: &str| id.contains("api-key") || id.contains("api_key") || id == "apikey";
    let way = methods.iter().find(|method| is_key(&method.id().0))?;
    Some(AuthenticateRequest::new(way.id().clone()))
}

fn typed<W: Write, T: DeserializeOwned>(
    client: &mut Client<'_, W>,
    method: &'static str,
    params: &impl serde::Serialize,
    patience: Option<Duration>,
) -> Result<T, Failure> {
    parsed(method, client.request(method, params, patience)?)
}

fn parsed<T: DeserializeOwned>(method: &'static str, answer: Value) -> Result<T, Failure> {
    serde_json::from_value(answer)
        .map_err(|error| Failure::Strange { method, why: error.to_string() })
}

/// The servers as the protocol has them.
fn servers(
    servers: &[ResolvedServer],
    capabilities: &McpCapabilities,
) -> Result<Vec<McpServer>, Failure> {
    let headers = |pairs: &[(String, String)]| -> Vec<HttpHeader> {
        pairs.iter().map(|(name, value)| HttpHeader::new(name, value)).collect()
    };
    let refused = |server: &ResolvedServer, transport| {
        Err(Failure::Transport { server: server.name.clone(), transport })
    };
    let one = |server: &ResolvedServer| match &server.transport {
        ResolvedTransport::Stdio { command, args, env } => {
            let env = env.iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
            let command = on_path(command, env::var_os("PATH").as_deref());
            let stdio = McpServerStdio::new(&server.name, command).args(args.clone()).env(env);
            Ok(McpServer::Stdio(stdio))
        }
        ResolvedTransport::Http { .. } if !capabilities.http => refused(server, "HTTP"),
        ResolvedTransport::Sse { .. } if !capabilities.sse => refused(server, "SSE"),
        ResolvedTransport::Http { url, headers: pairs } => {
            Ok(McpServer::Http(McpServerHttp::new(&server.name, url).headers(headers(pairs))))
        }
        ResolvedTransport::Sse { url, headers: pairs } => {
            Ok(McpServer::Sse(McpServerSse::new(&server.name, url).headers(headers(pairs))))
        }
    };
    servers.iter().map(one).collect()
}

/// The protocol wants absolute paths, people write names.
fn on_path(command: &str, path: Option<&std::ffi::OsStr>) -> PathBuf {
    if !command.contains('/') {
        let found = path.into_iter().flat_map(env::split_paths).map(|folder| folder.join(command));
        if let Some(found) = found.filter(|file| file.is_absolute()).find(|file| file.is_file()) {
            return found;
        }
    }
    Path::new(command).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(transport: ResolvedTransport) -> Vec<ResolvedServer> {
        vec![ResolvedServer { name: "s".into(), transport }]
    }

    #[test]
    fn servers_are_written_as_the_protocol_has_them() {
        let pair = || vec![("A".to_owned(), "b".to_owned())];
        let stdio = ResolvedTransport::Stdio {
            command: "no-such-program-here".into(),
            args: vec!["x".into()],
            env: pair(),
        };
        let written = |servers_: &[ResolvedServer], capabilities: &McpCapabilities| {
            serde_json::to_value(servers(servers_, capabilities).unwrap()).unwrap()
        };
        let none = McpCapabilities::default();
        assert_eq!(
            written(&server(stdio), &none),
            json!([{"name": "s", "command": "no-such-program-here", "args": ["x"],
                "env": [{"name": "A", "value": "b"}]}])
        );
        let http = server(ResolvedTransport::Http { url: "http://h".into(), headers: pair() });
        let all = McpCapabilities::default().http(true);
        assert_eq!(
            written(&http, &all),
            json!([{"type": "http", "name": "s", "url": "http://h",
                "headers": [{"name": "A", "value": "b"}]}])
        );
        assert_eq!(
            servers(&http, &none).unwrap_err().to_string(),
            "the agent cannot use the MCP server `s`: it does not speak HTTP"
        );
    }

    #[test]
    fn names_become_absolute_paths() {
        let sh = on_path("sh", Some("relative:/nonexistent:/bin".as_ref()));
        assert_eq!(sh, Path::new("/bin/sh"));
        assert_eq!(on_path("./sh", Some("/bin".as_ref())), Path::new("./sh"));
    }
}
