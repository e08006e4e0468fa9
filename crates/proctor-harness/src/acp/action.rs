//! What a tool call means, from what the protocol says of it.

use proctor_model::Action;
use serde_json::Value;

use super::calls::Call;
use crate::tools;

/// Keys under which agents put what a tool works on.
const PATHS: &[&str] = &["file_path", "path", "absolute_path", "filePath", "abs_path"];
const COMMANDS: &[&str] = &["command", "cmd"];
const PATTERNS: &[&str] = &["pattern", "query", "regex", "glob"];
const TARGETS: &[&str] = &["url", "query", "prompt"];
const SKILLS: &[&str] = &["skill", "name"];

/// The meaning of a call. The name of the tool says more than its kind, where both are known.
pub(super) fn of(call: &Call) -> Action {
    let none = Value::Null;
    let input = call.input.as_ref().unwrap_or(&none);
    let name = call.name.as_deref().unwrap_or_default();
    let named = tools::action(name, input);
    if named != Action::Other {
        return named;
    }
    if let (Some(server), Some(tool)) = (text(input, &["server"]), text(input, &["tool"])) {
        return Action::Mcp { server, tool };
    }
    if matches!(name, "skill" | "activate_skill")
        && let Some(name) = text(input, SKILLS)
    {
        return Action::Skill { name };
    }
    by_kind(call, input)
}

fn by_kind(call: &Call, input: &Value) -> Action {
    let title = || call.title.clone().unwrap_or_default();
    let path = || text(input, PATHS).or_else(|| call.path.clone());
    match call.kind.as_deref().unwrap_or_default() {
        "read" => path().map_or(Action::Other, |path| Action::Read { path }),
        "edit" if call.makes_file() => Action::Write { path: path().unwrap_or_default() },
        "edit" | "delete" | "move" => Action::Edit { path: path().unwrap_or_default() },
        "execute" => Action::Shell { command: command(input).unwrap_or_else(title) },
        "search" => Action::Search { pattern: text(input, PATTERNS).unwrap_or_else(title) },
        "fetch" => Action::Web { target: text(input, TARGETS).unwrap_or_else(title) },
        _ => Action::Other,
    }
}

/// The first of these members that is a text.
fn text(input: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| Some(input.get(key)?.as_str()?.to_owned()))
}

/// A command line, or its words; of `sh -c SCRIPT` the script.
fn command(input: &Value) -> Option<String> {
    if let Some(line) = text(input, COMMANDS) {
        return Some(line);
    }
    let words = COMMANDS.iter().find_map(|key| input.get(key)?.as_array())?;
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    if let [shell, "-c" | "-lc", script] = words[..]
        && matches!(shell.rsplit('/').next(), Some("sh" | "bash" | "zsh"))
    {
        return Some(script.to_owned());
    }
    // A NUL, which no command can hold, is all that cannot be quoted.
    shlex::try_join(words).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn action(name: Option<&str>, kind: &str, title: &str, input: Value) -> Action {
        of(&Call {
            name: name.map(str::to_owned),
            kind: Some(kind.to_owned()),
            title: Some(title.to_owned()),
            input: Some(input),
            ..Call::default()
        })
    }

    #[test]
    fn kinds_have_meanings() {
        let shell = |command: &str| Action::Shell { command: command.into() };
        assert_eq!(action(None, "execute", "t", json!({"command": "ls -l"})), shell("ls -l"));
        let words = json!({"command": ["/bin/bash", "-lc", "ls; pwd"]});
        assert_eq!(action(None, "execute", "t", words), shell("ls; pwd"));
        let words = json!({"command": ["echo", "a b"]});
        assert_eq!(action(None, "execute", "t", words), shell("echo 'a b'"));
        assert_eq!(action(None, "execute", "make all", json!({})), shell("make all"));
        let path = json!({"absolute_path": "/w/a"});
        assert_eq!(action(None, "read", "t", path.clone()), Action::Read { path: "/w/a".into() });
        assert_eq!(action(None, "delete", "t", path), Action::Edit { path: "/w/a".into() });
        assert_eq!(action(None, "read", "t", json!({})), Action::Other);
        let search = Action::Search { pattern: "x*".into() };
        assert_eq!(action(None, "search", "t", json!({"pattern": "x*"})), search);
        let web = Action::Web { target: "http://h".into() };
        assert_eq!(action(None, "fetch", "t", json!({"url": "http://h"})), web);
        assert_eq!(action(None, "think", "t", json!({})), Action::Other);
    }

    #[test]
    fn names_tell_servers_and_skills() {
        let mcp = Action::Mcp { server: "db".into(), tool: "query".into() };
        assert_eq!(action(Some("mcp__db__query"), "other", "t", json!({})), mcp);
        let input = json!({"server": "db", "tool": "query", "arguments": {}});
        assert_eq!(action(None, "execute", "t", input), mcp);
        let skill = Action::Skill { name: "greet".into() };
        assert_eq!(action(Some("Skill"), "other", "t", json!({"skill": "greet"})), skill);
        assert_eq!(action(Some("activate_skill"), "other", "t", json!({"name": "greet"})), skill);
        // A tool that only happens to have such an argument.
        assert_eq!(action(Some("teach"), "other", "t", json!({"skill": "greet"})), Action::Other);
        let read = Action::Read { path: "a".into() };
        assert_eq!(action(Some("Read"), "other", "t", json!({"file_path": "a"})), read);
    }
}
