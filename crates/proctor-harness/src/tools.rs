//! What the tools of Claude Code mean. The scripted agent uses the same names.

use proctor_model::Action;
use serde_json::Value;

/// The meaning of a call; a call whose arguments are not what the tool takes is `Other`.
pub(crate) fn action(name: &str, input: &Value) -> Action {
    known(name, input).unwrap_or(Action::Other)
}

fn known(name: &str, input: &Value) -> Option<Action> {
    let text = |key: &str| Some(input.get(key)?.as_str()?.to_owned());
    Some(match name {
        "Read" => Action::Read { path: text("file_path")? },
        "Write" => Action::Write { path: text("file_path")? },
        "Edit" | "MultiEdit" => Action::Edit { path: text("file_path")? },
        "NotebookEdit" => Action::Edit { path: text("notebook_path")? },
        "Bash" => Action::Shell { command: text("command")? },
        "Skill" => Action::Skill { name: text("skill")? },
        "Glob" | "Grep" => Action::Search { pattern: text("pattern")? },
        "WebFetch" => Action::Web { target: text("url")? },
        "WebSearch" => Action::Web { target: text("query")? },
        "Task" | "Agent" => Action::Agent { name: text("subagent_type").unwrap_or_default() },
        _ => {
            let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
            Action::Mcp { server: server.to_owned(), tool: tool.to_owned() }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_have_neutral_meanings() {
        let path = json!({"file_path": "a.md", "notebook_path": "n.ipynb"});
        let a = || "a.md".to_owned();
        assert_eq!(action("Read", &path), Action::Read { path: a() });
        assert_eq!(action("Write", &path), Action::Write { path: a() });
        assert_eq!(action("Edit", &path), Action::Edit { path: a() });
        assert_eq!(action("MultiEdit", &path), Action::Edit { path: a() });
        assert_eq!(action("NotebookEdit", &path), Action::Edit { path: "n.ipynb".into() });
        let other = json!({
            "command": "ls", "skill": "p:s", "pattern": "*.rs", "url": "http://h", "query": "q",
            "subagent_type": "Explore"
        });
        assert_eq!(action("Bash", &other), Action::Shell { command: "ls".into() });
        assert_eq!(action("Skill", &other), Action::Skill { name: "p:s".into() });
        assert_eq!(action("Glob", &other), Action::Search { pattern: "*.rs".into() });
        assert_eq!(action("Grep", &other), Action::Search { pattern: "*.rs".into() });
        assert_eq!(action("WebFetch", &other), Action::Web { target: "http://h".into() });
        assert_eq!(action("WebSearch", &other), Action::Web { target: "q".into() });
        assert_eq!(action("Task", &other), Action::Agent { name: "Explore".into() });
        assert_eq!(action("Agent", &json!({})), Action::Agent { name: String::new() });
        let mcp = Action::Mcp { server: "git_hub".into(), tool: "list__all".into() };
        assert_eq!(action("mcp__git_hub__list__all", &json!({})), mcp);
    }

    #[test]
    fn wrong_arguments_and_strange_tools_are_other() {
        assert_eq!(action("Read", &json!({"file_path": 7})), Action::Other);
        assert_eq!(action("Read", &json!("x")), Action::Other);
        assert_eq!(action("Teleport", &json!({})), Action::Other);
        assert_eq!(action("mcp__lonely", &json!({})), Action::Other);
    }
}
