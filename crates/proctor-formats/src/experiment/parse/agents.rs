//! Agents and models.

use std::num::NonZeroU64;

use proctor_model::experiment::{Agent, AgentMode, Model, Rule, Thinking};

use super::values::{axis, coordinate, name, without_nul, words};
use crate::tree::{Field, Kind, Object, Problems, boolean, choice, list, text, whole_number};

/// The keys of an agent.
pub(in crate::experiment) const AGENT_KEYS: [&str; 4] = ["name", "model", "agent_mode", "acp"];

/// The keys of a model.
pub(in crate::experiment) const MODEL_KEYS: [&str; 5] =
    ["name", "effort", "context_window_size", "thinking", "fast"];

/// The largest number that JSON carries without loss.
const MAX_NUMBER: i64 = (1 << 53) - 1;

/// Agents that Proctor starts without being told how.
const KNOWN_AGENTS: [&str; 3] = ["claude", "codex", "scripted"];

/// Reads one agent or a list of them.
pub(super) fn read_agents(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Agent>> {
    match field.node().kind {
        Kind::Array(_) => axis("agents", agent_key, read_agent)(field, problems),
        Kind::String(_) | Kind::Object(_) => {
            Some(read_agent(field, problems).into_iter().collect())
        }
        _ => {
            problems.push(field.expected("an agent's name, an agent or a list of them"));
            None
        }
    }
}

/// Agents may stand on their axis once a model.
fn agent_key(agent: &Agent) -> String {
    match &agent.model {
        Some(model) => format!("{} with {}", agent.name, model_key(model)),
        None => agent.name.to_string(),
    }
}

/// Models may stand on their axis once an effort.
fn model_key(model: &Model) -> String {
    match &model.effort {
        Some(effort) => format!("{}, effort {effort}", model.name),
        None => model.name.clone(),
    }
}

fn read_agent(field: &Field<'_>, problems: &mut Problems) -> Option<Agent> {
    if matches!(field.node().kind, Kind::String(_)) {
        let name = name(field, problems)?;
        let agent = Agent { name, model: None, mode: None, acp: None };
        note_unknown(&agent, field, problems);
        return Some(agent);
    }
    let object = Object::at(field, "an agent: a name, or an object with `name`", problems)?;
    object.deny_unknown(&AGENT_KEYS, problems);
    let modes = [("plan", AgentMode::Plan), ("build", AgentMode::Build)];
    let name = object.required("name", problems, name);
    let model = object.optional("model", problems, read_model);
    let mode = object.optional("agent_mode", problems, choice(&modes));
    let acp = object.optional("acp", problems, read_acp);
    let agent = Agent { name: name?, model: model?, mode: mode?, acp: acp? };
    note_unknown(&agent, field, problems);
    Some(agent)
}

fn note_unknown(agent: &Agent, field: &Field<'_>, problems: &mut Problems) {
    if agent.acp.is_none() && !KNOWN_AGENTS.contains(&agent.name.as_str()) {
        let message = format!("nothing here knows how to start `{}`", agent.name);
        let hint = "give the command that speaks the Agent Client Protocol: `acp: [command]`";
        problems.push(field.warning(message).rule(Rule::UnknownAgent).hint(hint));
    }
}

fn read_acp(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    let argument = |field: &Field<'_>, problems: &mut Problems| {
        let argument = text(field, problems)?;
        without_nul(field, argument, problems)
    };
    let command = list("strings", argument)(field, problems)?;
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        problems.push(field.error("expected a program and its arguments").rule(Rule::Empty));
        return None;
    }
    let message = "`acp` is known to Proctor only";
    problems.push(field.warning(message).rule(Rule::ProctorOnly));
    Some(command)
}

/// Reads the axis of models.
pub(super) fn read_models(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Model>> {
    axis("models", model_key, read_model)(field, problems)
}

fn read_model(field: &Field<'_>, problems: &mut Problems) -> Option<Model> {
    let bare =
        |name| Model { name, effort: None, context_window_size: None, thinking: None, fast: None };
    if matches!(field.node().kind, Kind::String(_)) {
        return coordinate(field, problems).map(bare);
    }
    let object = Object::at(field, "a model: a name, or an object with `name`", problems)?;
    object.deny_unknown(&MODEL_KEYS, problems);
    let name = object.required("name", problems, coordinate);
    let effort = object.optional("effort", problems, coordinate);
    let window = object.optional("context_window_size", problems, |field, problems| {
        let size = whole_number(1..=MAX_NUMBER)(field, problems)?;
        u64::try_from(size).ok().and_then(NonZeroU64::new)
    });
    let thinking = object.optional("thinking", problems, read_thinking);
    let fast = object.optional("fast", problems, boolean);
    Some(Model {
        effort: effort?,
        context_window_size: window?,
        thinking: thinking?,
        fast: fast?,
        ..bare(name?)
    })
}

fn read_thinking(field: &Field<'_>, problems: &mut Problems) -> Option<Thinking> {
    match field.node().kind {
        Kind::Bool(on) => Some(Thinking::Switch(on)),
        Kind::String(_) => words(field, problems).map(Thinking::Level),
        _ => {
            problems.push(field.expected("`true`, `false` or a level"));
            None
        }
    }
}
