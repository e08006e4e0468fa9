//! What a request says, whatever its dialect.

use serde_json::Value;

/// The kinds of request that the fake model tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic Messages.
    Messages,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
    /// Gemini's `generateContent`.
    Gemini,
    /// Anthropic's token counting.
    CountTokens,
    /// A list of models.
    Models,
    /// An attempt to open a WebSocket.
    WebSocket,
    /// An attempt to reach another host through the fake model as a proxy.
    Egress,
    /// Anything else.
    Other,
}

/// The result of a tool call, as the agent reports it to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// Whether the agent calls it an error; only Anthropic Messages says so.
    pub is_error: bool,
    /// Its text.
    pub text: String,
}

/// The parts of a request that scripts and tests look at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The model's name.
    pub model: String,
    /// Whether an event stream is wanted.
    pub stream: bool,
    /// Every system text, one after the other.
    pub system: String,
    /// The newest thing the user said, without what the agent wraps around it.
    pub prompt: String,
    /// The directory in which the agent says it works; empty when it does not say.
    pub cwd: String,
    /// The names of the tools on offer; `NAMESPACE.NAME` for tools in a namespace.
    pub tools: Vec<String>,
    /// The results of earlier tool calls, oldest first.
    pub tool_results: Vec<ToolResult>,
}

impl Asked {
    pub(super) fn read(api: Api, body: &Value) -> Self {
        let mut asked = Self {
            model: string(&body["model"]),
            stream: body["stream"].as_bool().unwrap_or(false),
            ..Self::default()
        };
        let mut said = String::new();
        match api {
            Api::Messages => asked.read_messages(body, &mut said),
            Api::Responses => asked.read_responses(body, &mut said),
            Api::Chat => asked.read_chat(body, &mut said),
            Api::Gemini => asked.read_gemini(body, &mut said),
            _ => {}
        }
        let cwd = working_directory(&asked.system)
            .or_else(|| between(&said, "<cwd>", "</cwd>"))
            .or_else(|| working_directory(&said))
            .unwrap_or_default()
            .to_owned();
        Self { cwd, ..asked }
    }

    fn read_messages(&mut self, body: &Value, said: &mut String) {
        self.add_system(&text_of(&body["system"]));
        for message in items(&body["messages"]) {
            let text = text_of(&message["content"]);
            match message["role"].as_str() {
                // Claude Code describes its surroundings in a message with this role.
                Some("system") => self.add_system(&text),
                Some("user") => {
                    self.add_user(&text, said);
                    for part in items(&message["content"]) {
                        if part["type"] == "tool_result" {
                            self.tool_results.push(ToolResult {
                                id: string(&part["tool_use_id"]),
                                is_error: part["is_error"].as_bool().unwrap_or(false),
                                text: text_of(&part["content"]),
                            });
                        }
                    }
                }
                _ => {}
            }
        }
        self.tools = items(&body["tools"]).iter().map(tool_name).collect();
    }

    fn read_responses(&mut self, body: &Value, said: &mut String) {
        self.add_system(&text_of(&body["instructions"]));
        self.add_tools(&body["tools"]);
        if let Some(text) = body["input"].as_str() {
            self.add_user(text, said);
        }
        for item in items(&body["input"]) {
            let text = text_of(&item["content"]);
            match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
                ("message", Some("user")) => self.add_user(&text, said),
                ("message", Some("system" | "developer")) => self.add_system(&text),
                // Codex's code mode sends its tools as an item of the input.
                ("additional_tools", _) => self.add_tools(&item["tools"]),
                (kind, _) if kind.ends_with("_output") => {
                    let output = &item["output"];
                    let text = text_of(output);
                    self.tool_results.push(ToolResult {
                        id: string(&item["call_id"]),
                        is_error: false,
                        text: if text.is_empty() { output.to_string() } else { text },
                    });
                }
                _ => {}
            }
        }
    }

    fn read_chat(&mut self, body: &Value, said: &mut String) {
        for message in items(&body["messages"]) {
            let text = text_of(&message["content"]);
            match message["role"].as_str() {
                Some("system" | "developer") => self.add_system(&text),
                Some("user") => self.add_user(&text, said),
                Some("tool") => self.tool_results.push(ToolResult {
                    id: string(&message["tool_call_id"]),
                    is_error: false,
                    text,
                }),
                _ => {}
            }
        }
        self.tools =
            items(&body["tools"]).iter().map(|tool| tool_name(&tool["function"])).collect();
    }

    /// The model is not in the body: it stands in the path.
    fn read_gemini(&mut self, body: &Value, said: &mut String) {
        self.add_system(&text_of(&body["systemInstruction"]["parts"]));
        for content in items(&body["contents"]) {
            if content["role"].as_str().is_none_or(|role| role == "user") {
                self.add_user(&text_of(&content["parts"]), said);
            }
        }
    }

    fn add_tools(&mut self, tools: &Value) {
        for tool in items(tools) {
            if tool["type"] == "namespace" {
                let space = string(&tool["name"]);
                let inner = items(&tool["tools"]).iter();
                self.tools.extend(inner.map(|tool| format!("{space}.{}", tool_name(tool))));
            } else {
                self.tools.push(tool_name(tool));
            }
        }
    }

    fn add_system(&mut self, text: &str) {
        if !self.system.is_empty() {
            self.system.push('\n');
        }
        self.system.push_str(text);
    }

    fn add_user(&mut self, text: &str, said: &mut String) {
        said.push_str(text);
        said.push('\n');
        let own_words = without_wrapping(text);
        if !own_words.is_empty() {
            self.prompt = own_words;
        }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn tool_name(tool: &Value) -> String {
    string(if tool["name"].is_string() { &tool["name"] } else { &tool["type"] })
}

/// The text of a content value: a string, or a list of parts of which some have a `text`.
fn text_of(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = items(content).iter();
    let texts = parts.filter_map(|part| part.as_str().or_else(|| part["text"].as_str()));
    texts.collect::<Vec<_>>().join("\n")
}

/// What the user said, without the blocks that agents add; empty when nothing is left.
fn without_wrapping(text: &str) -> String {
    const BLOCKS: [&str; 4] =
        ["<environment_context>", "<skill>", "<user_instructions>", "# AGENTS.md instructions"];
    if BLOCKS.iter().any(|block| text.trim_start().starts_with(block)) {
        return String::new();
    }
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<system-reminder>") {
        left.push_str(before);
        rest = after.split_once("</system-reminder>").map_or("", |(_, after)| after);
    }
    left.push_str(rest);
    left.trim().to_owned()
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.split_once(open)?.1.split_once(close).map(|(inner, _)| inner)
}

/// The path after the words "working directory" on a line.
fn working_directory(text: &str) -> Option<&str> {
    text.split("orking directory").skip(1).find_map(|after| {
        let line = after.lines().next()?;
        let path = &line[line.find('/')?..];
        let end = path.find(['`', '*', '<', '"']).unwrap_or(path.len());
        Some(path[..end].trim_end())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_with_system_blocks_reminders_and_results() {
        let asked = Asked::read(
            Api::Messages,
            &json!({
                "model": "m", "stream": true,
                "system": [{"type": "text", "text": "Primary working directory: /w/s\n"}],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "<system-reminder>x</system-reminder>"},
                                                 {"type": "text", "text": "hi there"}]},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": "T", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "i", "is_error": true,
                                                  "content": "boom"}]}],
                "tools": [{"name": "Write"}, {"type": "web_search"}]
            }),
        );
        assert_eq!((asked.model.as_str(), asked.stream), ("m", true));
        assert_eq!(asked.prompt, "hi there");
        assert_eq!(asked.cwd, "/w/s");
        assert_eq!(asked.tools, ["Write", "web_search"]);
        let result = ToolResult { id: "i".into(), is_error: true, text: "boom".into() };
        assert_eq!(asked.tool_results, [result]);
    }

    #[test]
    fn responses_with_environment_context_namespaces_and_code_mode_tools() {
        let asked = Asked::read(
            Api::Responses,
            &json!({
                "instructions": "be good",
                "input": [
                    {"type": "message", "role": "user", "content": [
                        {"type": "input_text", "text": "<environment_context>\n<cwd>/w/s</cwd></environment_context>"}]},
                    {"type": "message", "role": "developer", "content": "more"},
                    {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                    {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]},
                    {"type": "function_call_output", "call_id": "c", "output": {"ok": 1}}],
                "tools": [{"type": "function", "name": "exec_command"},
                          {"type": "namespace", "name": "mcp__t", "tools": [{"name": "echo"}]}]
            }),
        );
        assert_eq!(asked.prompt, "hi");
        assert_eq!(asked.cwd, "/w/s");
        assert_eq!(asked.system, "be good\nmore");
        assert_eq!(asked.tools, ["exec_command", "mcp__t.echo", "exec"]);
        assert_eq!(asked.tool_results[0].text, r#"{"ok":1}"#);
    }

    #[test]
    fn chat_with_tool_messages() {
        let asked = Asked::read(
            Api::Chat,
            &json!({
                "messages": [{"role": "system", "content": "Working directory: `/w/s`"}, {"role": "user", "content": "hi"},
                             {"role": "tool", "tool_call_id": "c", "content": "out"}],
                "tools": [{"type": "function", "function": {"name": "bash"}}]
            }),
        );
        assert_eq!((asked.prompt.as_str(), asked.cwd.as_str()), ("hi", "/w/s"));
        assert_eq!(asked.tools, ["bash"]);
        assert_eq!(asked.tool_results[0].text, "out");
    }

    #[test]
    fn gemini_with_a_system_instruction() {
        let asked = Asked::read(
            Api::Gemini,
            &json!({
                "systemInstruction": {"parts": [{"text": "be good"}]},
                "contents": [{"role": "user", "parts": [{"text": "hi"}, {"text": "you"}]},
                             {"role": "model", "parts": [{"text": "no"}]}]
            }),
        );
        assert_eq!((asked.system.as_str(), asked.prompt.as_str()), ("be good", "hi\nyou"));
    }

    #[test]
    fn a_plain_input_string_is_a_prompt() {
        assert_eq!(Asked::read(Api::Responses, &json!({"input": "hi"})).prompt, "hi");
    }

    #[test]
    fn bodies_of_any_other_shape_ask_for_nothing() {
        for body in [json!(null), json!([]), json!({"messages": 3, "input": {}, "tools": "x"})] {
            for api in [Api::Messages, Api::Responses, Api::Chat, Api::Gemini, Api::Other] {
                assert_eq!(Asked::read(api, &body), Asked::default());
            }
        }
    }
}
