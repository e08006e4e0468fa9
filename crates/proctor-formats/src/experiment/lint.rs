//! Notes about experiments that can be run, and may not measure what their authors mean.
//!
//! Each rule comes from a mistake that somebody made, published and paid for. They look at the text
//! alone and know no shell: a rule that may be wrong says what it saw, and is a note.

mod gate;
mod names;
mod scripts;
mod shell;

use proctor_model::experiment::{
    AgentMode, Era, Experiment, McpServer, Name, Rule, Script, Test, When,
};
use proctor_model::{Diagnostic, Location};

pub(super) use self::gate::check_repeat;
pub use self::gate::{Comparison, least_trials};
pub(super) use self::names::answer_word;
pub(super) use self::scripts::compared_literals;
use super::walk;
use crate::tree::{Kind, Node, Problems};

/// Pushes the notes about what the text says.
pub(super) fn lint(root: &Node, experiment: &Experiment, problems: &mut Problems) {
    complete_template(root, experiment, problems);
    plan_mode(root, experiment, problems);
    visible_answers(experiment, problems);
    gate::check_text(root, experiment, problems);
    let subject = Subject::of(experiment);
    for test in &*experiment.tests {
        if let Script::Inline(script) = &test.script {
            scripts::lint(&subject, test, script, problems);
        }
    }
}

/// Pushes the notes about a test whose script stands in a file of its own.
pub(super) fn lint_script_file(
    experiment: &Experiment,
    test: &Test,
    script: &str,
    problems: &mut Problems,
) {
    scripts::lint(&Subject::of(experiment), test, script, problems);
}

/// How many names are looked for in queries.
const MOST_OFFERED: usize = 64;

/// What the rules about scripts need to know of the experiment.
struct Subject<'a> {
    era: Era,
    /// Names of skills and MCP servers: what an agent may use or ignore.
    offered: Vec<&'a str>,
}

impl<'a> Subject<'a> {
    fn of(experiment: &'a Experiment) -> Self {
        let setups = || walk::setup_lists(experiment).into_iter().flatten();
        let servers =
            setups().flat_map(|setup| &setup.mcp_servers).map(|one: &McpServer| &one.name);
        let skills = setups().flat_map(|setup| &setup.skills).map(|skill| &skill.name);
        let mut offered: Vec<&str> = servers.chain(skills).map(Name::as_str).collect();
        offered.sort_unstable();
        offered.dedup();
        offered.truncate(MOST_OFFERED);
        Self { era: experiment.era, offered }
    }
}

/// The place of a key at the top level.
fn key_location(root: &Node, key: &str) -> Location {
    let top = Location { line: 1, column: 1 };
    let Kind::Object(members) = &root.kind else { return top };
    members.iter().find(|member| member.key == key).map_or(top, |member| member.key_location)
}

fn complete_template(root: &Node, experiment: &Experiment, problems: &mut Problems) {
    let axes = &experiment.axes;
    if experiment.extensions.is_empty() || axes.agents.is_none() || axes.prompts.is_none() {
        return;
    }
    let message = "the top level has agents and prompts, and gives no variants of its own: only \
                   the extensions do";
    let hint = "add an extension without axes to have them as well";
    let note = Diagnostic::warning(message).at(key_location(root, "extensions"));
    problems.push(note.rule(Rule::CompleteTemplate).hint(hint));
}

/// An agent that plans writes nothing that a test could read.
fn plan_mode(root: &Node, experiment: &Experiment, problems: &mut Problems) {
    let agents =
        walk::all_axes(experiment).into_iter().flat_map(|axes| axes.agents.iter().flatten());
    let Some(agent) = agents.into_iter().find(|agent| agent.mode == Some(AgentMode::Plan)) else {
        return;
    };
    let reads = |test: &&Test| match &test.script {
        Script::Inline(script) => script.contains("/workspace") || !script.contains("ax-run-query"),
        Script::File(_) => false,
    };
    let Some(test) = experiment.tests.iter().find(reads) else { return };
    let message = format!(
        "`{}` is in plan mode and writes nothing, but the test `{}` reads the workspace",
        agent.name, test.name
    );
    let at = first_member(root, "agent_mode").unwrap_or(test.at);
    let note = Diagnostic::warning(message).at(at).rule(Rule::PlanMode);
    problems.push(note.hint("use `agent_mode: build`, or test what the agent said"));
}

/// Where a key first stands, anywhere in the tree.
fn first_member(node: &Node, key: &str) -> Option<Location> {
    match &node.kind {
        Kind::Object(members) => members.iter().find_map(|member| {
            if member.key == key {
                return Some(member.key_location);
            }
            first_member(&member.value, key)
        }),
        Kind::Array(items) => items.iter().find_map(|item| first_member(item, key)),
        _ => None,
    }
}

/// Files that agents see, and whose names say that they should not.
fn visible_answers(experiment: &Experiment, problems: &mut Problems) {
    for file in walk::visible_files(experiment) {
        let source = file.source_path().map_or("", |path| path.file_name().unwrap_or_default());
        let texts = [file.dest.as_str(), source, file.name.as_str()];
        if let Some(word) = texts.into_iter().find_map(answer_word) {
            problems.push(visible_answer(file.at, file.dest.as_str(), word));
        }
    }
}

/// The note about a file that the agent sees.
pub(super) fn visible_answer(at: Location, dest: &str, word: &str) -> Diagnostic {
    let message = format!("the agent sees `{}`, whose name says `{word}`", dest.escape_debug());
    let hint = "stage what only a test needs in the `files` of that test";
    Diagnostic::warning(message).at(at).rule(Rule::VisibleAnswer).hint(hint)
}

/// Whether the test runs where the agent's processes are no more.
fn is_snapshot(test: &Test) -> bool {
    test.when == When::Snapshot
}
