//! The servers of a variant, with the values that they get.

use proctor_formats::experiment::Values;
use proctor_model::experiment::{McpEnv, McpHeader, McpServer, McpTransport, Value, Variant};
use proctor_model::{ResolvedServer, ResolvedTransport};

use super::plan::AgentError;

pub(super) fn resolve(
    variant: &Variant,
    values: &Values,
) -> Result<Vec<ResolvedServer>, AgentError> {
    variant.mcp_servers().map(|server| one(server, values)).collect()
}

fn one(server: &McpServer, values: &Values) -> Result<ResolvedServer, AgentError> {
    let missing = |what: String| AgentError::Server { server: server.name.to_string(), what };
    let variable = |McpEnv { name, from }: &McpEnv| {
        let value = values.variables.get(from);
        let value =
            value.ok_or_else(|| missing(format!("the variable `{from}` is not declared")))?;
        Ok((name.to_string(), value.expose().to_owned()))
    };
    let header = |McpHeader { name, value }: &McpHeader| {
        let value = match value {
            Value::Literal(text) => text.clone(),
            Value::Secret(slug) => {
                let value = values.headers.get(slug);
                let value =
                    value.ok_or_else(|| missing(format!("the secret `{slug}` is nowhere")))?;
                value.expose().to_owned()
            }
        };
        Ok((name.clone(), value))
    };
    let transport = match &server.transport {
        McpTransport::Stdio { command, args, env } => ResolvedTransport::Stdio {
            command: command.clone(),
            args: args.clone(),
            env: env.iter().map(variable).collect::<Result<_, _>>()?,
        },
        McpTransport::Http { url, headers } => ResolvedTransport::Http {
            url: url.clone(),
            headers: headers.iter().map(header).collect::<Result<_, _>>()?,
        },
        McpTransport::Sse { url, headers } => ResolvedTransport::Sse {
            url: url.clone(),
            headers: headers.iter().map(header).collect::<Result<_, _>>()?,
        },
    };
    Ok(ResolvedServer { name: server.name.to_string(), transport })
}
