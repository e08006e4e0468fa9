//! What a call of a tool means when nobody knows which program made it.

use proctor_model::Action;
use serde_json::Value;

use crate::tools;

const PATHS: &[&str] = &["file_path", "path", "absolute_path", "filePath", "file", "filename"];
const COMMANDS: &[&str] = &["command", "cmd", "keystrokes", "commandline", "script"];
const PATTERNS: &[&str] = &["pattern", "query", "regex", "glob"];
const TARGETS: &[&str] = &["url", "query", "prompt"];
const SKILLS: &[&str] = &["skill", "name", "skill_name"];

/// The meaning of a call by its name and arguments, with the names that agent programs commonly give
/// to their tools. What is not known is `Other`.
pub fn meaning(name: &str, input: &Value) -> Action {
    let known = tools::action(name, input);
    if known != Action::Other {
        return known;
    }
    let text =
        |keys: &[&str]| keys.iter().find_map(|key| Some(input.get(key)?.as_str()?.to_owned()));
    let found = match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "shell_command" | "exec_command" | "execute_command"
        | "execute_bash" | "run_command" | "run_shell_command" | "bash_command" | "terminal"
        | "local_shell" => command(input).map(|command| Action::Shell { command }),
        "read" | "read_file" | "view" | "view_file" | "open_file" | "read_many_files" => {
            text(PATHS).map(|path| Action::Read { path })
        }
        "write" | "write_file" | "create_file" | "write_to_file" => {
            text(PATHS).map(|path| Action::Write { path })
        }
        "edit" | "edit_file" | "replace" | "str_replace" | "apply_patch" | "multi_edit"
        | "patch" => Some(Action::Edit { path: text(PATHS).unwrap_or_default() }),
        "grep" | "glob" | "search" | "search_files" | "search_file_content" | "find_files" => {
            text(PATTERNS).map(|pattern| Action::Search { pattern })
        }
        "web_search" | "web_fetch" | "webfetch" | "websearch" | "fetch" | "google_web_search" => {
            text(TARGETS).map(|target| Action::Web { target })
        }
        "skill" | "activate_skill" => text(SKILLS).map(|name| Action::Skill { name }),
        "task" | "spawn_agent" | "delegate" => {
            Some(Action::Agent { name: text(&["subagent_type", "agent_type"]).unwrap_or_default() })
        }
        _ => None,
    };
    found.unwrap_or(Action::Other)
}

/// A command line, or its words.
fn command(input: &Value) -> Option<String> {
    if let Value::String(line) = input {
        return Some(line.clone());
    }
    let value = COMMANDS.iter().find_map(|key| input.get(key))?;
    match value {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => shlex::try_join(words.iter().filter_map(Value::as_str)).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn common_names_have_meanings_whatever_their_case() {
        let shell = |command: &str| Action::Shell { command: command.into() };
        assert_eq!(meaning("bash", &json!({"cmd": "ls"})), shell("ls"));
        assert_eq!(meaning("Bash", &json!({"command": "ls"})), shell("ls"));
        assert_eq!(meaning("shell", &json!({"command": ["a", "b c"]})), shell("a 'b c'"));
        assert_eq!(meaning("bash_command", &json!({"keystrokes": "ls\n"})), shell("ls\n"));
        let path = json!({"path": "a.md"});
        assert_eq!(meaning("read_file", &path), Action::Read { path: "a.md".into() });
        assert_eq!(meaning("write_file", &path), Action::Write { path: "a.md".into() });
        assert_eq!(meaning("apply_patch", &json!("x")), Action::Edit { path: String::new() });
        assert_eq!(meaning("read_file", &json!({"path": 7})), Action::Other);
        assert_eq!(meaning("teleport", &json!({})), Action::Other);
    }
}
