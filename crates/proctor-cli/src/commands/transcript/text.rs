//! Events and endings of sessions as text for people.
//!
//! Each event is a label in a column of its own and text beside it, so that nothing an agent says
//! can pass for a label.

use std::fmt::Write as _;

use anstyle::Style;
use proctor_harness::SessionSummary;
use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{Action, Event, EventKind, OutcomeClass, Usage};
use proctor_report::Styles;
use serde_json::Value;

/// Columns of the label.
const LABEL: usize = 10;

/// Most lines of a tool's result, and most characters of one line of it, that are shown.
const RESULT_LINES: usize = 12;
const RESULT_COLUMNS: usize = 400;

/// Most characters of the arguments of a tool without a meaning of its own.
const INPUT_COLUMNS: usize = 200;

/// Renders one session.
pub(super) struct Renderer<'a> {
    pub(super) styles: Styles,
    /// Makes foreign text safe to print: without secrets and without terminal escapes.
    pub(super) clean: Box<dyn Fn(&str) -> String + 'a>,
}

impl Renderer<'_> {
    /// One event, with a final line feed.
    pub(super) fn event(&self, event: &Event) -> String {
        let quiet = self.styles.quiet;
        let (label, style, text) = match &event.kind {
            EventKind::Session { session_id, model, version, tools, skills } => {
                let facts = [
                    session_id.clone(),
                    model.as_ref().map(|model| format!("model {model}")),
                    version.as_ref().map(|version| format!("version {version}")),
                    (!tools.is_empty()).then(|| format!("tools {}", tools.join(" "))),
                    (!skills.is_empty()).then(|| format!("skills {}", skills.join(" "))),
                ];
                let facts: Vec<_> = facts.into_iter().flatten().collect();
                ("session", quiet, self.clean(&facts.join("; ")))
            }
            EventKind::Message { role, text } => {
                let (label, style) = match role {
                    Role::Assistant => ("assistant", self.styles.subject),
                    Role::User => ("user", self.styles.subject),
                    Role::Harness => ("harness", quiet),
                };
                (label, style, self.clean(text))
            }
            EventKind::Reasoning { text } => ("thinking", quiet, self.clean(text)),
            EventKind::ToolCall { name, action, input, .. } => {
                ("call", self.styles.hint, self.call(name, action, input))
            }
            EventKind::ToolResult { status, text, .. } => {
                let (label, style) = match status {
                    ToolStatus::Ok => ("ok", quiet),
                    ToolStatus::Error => ("error", self.styles.failed),
                    ToolStatus::Denied => ("denied", self.styles.warning),
                };
                (label, style, shortened(&self.clean(text)))
            }
            EventKind::FileChange { path, change } => {
                let label = match change {
                    FileChange::Added => "added",
                    FileChange::Updated => "updated",
                    FileChange::Deleted => "deleted",
                };
                (label, self.styles.hint, self.clean(path))
            }
            EventKind::Usage { usage } => ("usage", quiet, figures(usage)),
            EventKind::Retry { attempt, status, message } => {
                let attempt = attempt.map(|attempt| format!("attempt {attempt}: "));
                let status = status.map(|status| format!("HTTP {status}: "));
                let facts = [attempt, status].into_iter().flatten().collect::<String>();
                ("retry", self.styles.warning, format!("{facts}{}", self.clean(message)))
            }
            EventKind::Notice { message } => ("notice", self.styles.warning, self.clean(message)),
            EventKind::Lifecycle { name } => ("-", quiet, self.clean(name)),
            EventKind::Result { is_error: false, .. } => ("result", quiet, "done".to_owned()),
            EventKind::Result { is_error: true, .. } => ("result", quiet, "failed".to_owned()),
            EventKind::FileManifest { added, changed, deleted, omitted } => {
                ("files", quiet, self.manifest([added, changed, deleted], *omitted))
            }
            EventKind::Unknown { name } => ("unknown", quiet, self.clean(name)),
            EventKind::Garbage { excerpt } => ("garbage", self.styles.warning, self.clean(excerpt)),
        };
        let mark = if event.parent.is_some() { "| " } else { "" };
        block(label, style, mark, &text)
    }

    /// How the session ended, with a final line feed.
    pub(super) fn ending(&self, summary: &SessionSummary) -> String {
        let outcome = &summary.outcome;
        let style = match outcome.class {
            OutcomeClass::Completed => self.styles.passed,
            class if class.is_infrastructure() => self.styles.error,
            _ => self.styles.failed,
        };
        let mut text = outcome.class.to_string();
        if !outcome.message.is_empty() {
            let _ = write!(text, ": {}", self.clean(&outcome.message));
        }
        let mut out = format!("\n{}", block("outcome", style, "", &text));
        if let Some(usage) = &summary.usage {
            out.push_str(&block("usage", Style::new(), "", &figures(usage)));
        }
        out
    }

    /// What was added, changed and deleted, a path a line.
    fn manifest(&self, [added, changed, deleted]: [&[String]; 3], omitted: u64) -> String {
        let marked = |mark: char, paths: &[String]| -> Vec<String> {
            paths.iter().map(|path| format!("{mark} {}", self.clean(path))).collect()
        };
        let mut lines = [marked('+', added), marked('~', changed), marked('-', deleted)].concat();
        if omitted > 0 {
            lines.push(format!("{omitted} more"));
        }
        if lines.is_empty() { "nothing changed".to_owned() } else { lines.join("\n") }
    }

    fn clean(&self, text: &str) -> String {
        (self.clean)(text)
    }

    fn call(&self, name: &str, action: &Action, input: &Value) -> String {
        let target = match action {
            Action::Read { path } | Action::Write { path } | Action::Edit { path } => path,
            Action::Shell { command } => command,
            Action::Skill { name } | Action::Agent { name } => name,
            Action::Search { pattern } => pattern,
            Action::Web { target } => target,
            Action::Mcp { .. } | Action::Other => {
                // Cut after cleaning: half a secret is not found.
                let input = cut(&self.clean(&input.to_string()), INPUT_COLUMNS);
                return format!("{} {input}", self.clean(name));
            }
        };
        self.clean(&format!("{name} {target}"))
    }
}

/// A label, right-aligned, and text, of which every line is indented beyond the label.
fn block(label: &str, style: Style, mark: &str, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    for (index, line) in text.trim_end().split('\n').enumerate() {
        let label = if index == 0 { label } else { "" };
        let line = format!("{style}{label:>LABEL$}{style:#}  {mark}{line}");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn shortened(text: &str) -> String {
    let text = text.trim_end();
    let shown: Vec<_> =
        text.split('\n').take(RESULT_LINES).map(|line| cut(line, RESULT_COLUMNS)).collect();
    let left = text.split('\n').count() - shown.len();
    let mut out = shown.join("\n");
    if left > 0 {
        let lines = if left == 1 { "line" } else { "lines" };
        let _ = write!(out, "\n… {left} more {lines}; `--format json` shows all");
    }
    out
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The figures that are stated. Zero is left out where it says little.
fn figures(usage: &Usage) -> String {
    let telling = |count: Option<u64>| count.filter(|count| *count > 0);
    let counts = [
        (usage.input_tokens, "in"),
        (usage.output_tokens, "out"),
        (telling(usage.cache_read_tokens), "read from cache"),
        (telling(usage.cache_write_tokens), "written to cache"),
        (telling(usage.reasoning_tokens), "reasoning"),
    ];
    let stated = |(count, name): (Option<u64>, &str)| Some(format!("{} {name}", count?));
    let counts: Vec<_> = counts.into_iter().filter_map(stated).collect();
    let facts = [
        (!counts.is_empty()).then(|| format!("tokens {}", counts.join(", "))),
        usage.turns.map(|turns| format!("turns {turns}")),
        usage.cost_usd.map(|cost| format!("${cost:.6}")),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use proctor_harness::{adapters, find, replay};

    use super::*;

    fn render(harness: &str, stream: &str) -> String {
        let clean = |text: &str| proctor_report::inert(text).into_owned();
        let renderer = Renderer { styles: Styles::plain(), clean: Box::new(clean) };
        let mut out = String::new();
        let adapter = find(harness).unwrap();
        let summary =
            replay(adapter, stream.as_bytes(), &mut |event| out.push_str(&renderer.event(&event)));
        out + &renderer.ending(&summary.unwrap())
    }

    #[test]
    fn a_session_reads_like_a_page() {
        let stream = r#"{"type":"system","subtype":"init","session_id":"s-1","model":"model-x","tools":["Read","Bash"],"skills":["greet"],"claude_code_version":"9.9.9"}
{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]}}
{"type":"assistant","message":{"content":[{"type":"text","text":"I look first.\nThen I write.\n"}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"a\nb\n"}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"2","name":"mcp__db__query","input":{"sql":"select 1"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"2","is_error":true,"content":"no"}]}}
{"type":"assistant","parent_tool_use_id":"3","message":{"content":[{"type":"text","text":"sub"}]}}
{"type":"system","subtype":"api_retry","attempt":1,"error_status":529,"error":"overloaded"}
{"type":"system","subtype":"hook_started"}
Segmentation fault
{"type":"result","is_error":true,"terminal_reason":"api_error","api_error_status":529,"result":"API Error: 529 Overloaded","num_turns":2,"total_cost_usd":0.0123,"usage":{"input_tokens":350,"output_tokens":70}}
"#;
        insta::assert_snapshot!(render("claude", stream), @r#"
          session  s-1; model model-x; version 9.9.9; tools Read Bash; skills greet
         thinking  hm
        assistant  I look first.
                   Then I write.
             call  Bash ls
               ok  a
                   b
             call  mcp__db__query {"sql":"select 1"}
            error  no
        assistant  | sub
            retry  attempt 1: HTTP 529: overloaded
                -  hook_started
          garbage  Segmentation fault
            usage  tokens 350 in, 70 out; turns 2; $0.012300
           result  failed

          outcome  overloaded: API Error: 529 Overloaded
            usage  tokens 350 in, 70 out; turns 2; $0.012300
        "#);
    }

    #[test]
    fn hostile_text_neither_drives_the_terminal_nor_passes_for_a_label() {
        let line =
            serde_json::json!({"type": "say", "text": "\u{1b}[2J\n   outcome  completed\u{202e}"});
        insta::assert_snapshot!(render("scripted", &line.to_string()), @r"
        assistant  \u{1b}[2J
                      outcome  completed\u{202e}

          outcome  cut_short: the stream ended without its last line
        ");
    }

    #[test]
    fn long_results_are_shortened() {
        let text = format!("{}\n{}", "x".repeat(1000), "y\n".repeat(50));
        let line =
            serde_json::json!({"type": "tool_result", "id": "1", "status": "ok", "text": text});
        let out = render("scripted", &line.to_string());
        assert!(out.contains("… 39 more lines; `--format json` shows all"), "{out}");
        assert!(out.lines().all(|line| line.chars().count() < 420));
    }

    #[test]
    fn an_empty_recording_still_has_an_outcome() {
        for adapter in adapters() {
            let out = render(adapter.id(), "");
            assert_eq!(out, "\n   outcome  usage_error: the stream is empty\n");
        }
    }

    #[test]
    fn unstated_figures_are_not_zero() {
        let usage = Usage { output_tokens: Some(0), turns: Some(3), ..Usage::default() };
        assert_eq!(figures(&usage), "tokens 0 out; turns 3");
    }
}
