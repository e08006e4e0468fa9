//! Servers of the Model Context Protocol in the terms of programs.

use proctor_model::ResolvedServer;

use crate::adapter::Unavailable;

/// Programs build the names of tools from those of servers, and refuse or mend others.
pub(crate) fn plain_name<'a>(
    server: &'a ResolvedServer,
    program: &str,
) -> Result<&'a str, Unavailable> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !server.name.is_empty() && server.name.chars().all(is_plain) {
        return Ok(&server.name);
    }
    let reason = format!(
        "the MCP server `{}`: {program} takes names of letters, digits, `-` and `_` only",
        server.name
    );
    Err(Unavailable { reason })
}
