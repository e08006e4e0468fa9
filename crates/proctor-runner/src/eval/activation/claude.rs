//! `claude-native`: Claude Code with every competing skill in one throwaway plugin.

use std::collections::{BTreeMap, BTreeSet};

use fs_err as fs;
use proctor_formats::eval::SKILL_FILE;
use proctor_harness::CLAUDE_ENVIRONMENT;
use proctor_model::{Action, Event, EventKind, OutcomeClass};
use proctor_sandbox::Room;
use serde_json::json;

use super::contest::Activator;
use super::harness::{Harness, Listing};
use super::native::Native;
use super::skills::Installed;
use super::watch::Watch;
use crate::eval::install::InstallError;
use crate::eval::registry::Options;

/// The name of this activator.
pub(super) const NAME: &str = "claude-native";

/// The name of the plugin, which the program puts before those of its skills.
const PLUGIN: &str = "ai-rulez-activation";

/// Where it lies in the room.
const PLUGIN_FOLDER: &str = "plugin";

/// One turn, no tool but the one that loads skills, and nothing of the user's settings.
const BASE_ARGS: &[&str] = &[
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--max-turns",
    "1",
    "--no-session-persistence",
    "--setting-sources",
    "",
    "--permission-mode",
    "dontAsk",
];

/// The harness.
struct Claude;

pub(super) fn build(options: &Options) -> Result<Box<dyn Activator>, String> {
    Native::build(&Claude, options.claude_bin.as_deref(), options)
}

impl Harness for Claude {
    fn name(&self) -> &'static str {
        NAME
    }

    fn harness(&self) -> &'static str {
        "claude"
    }

    fn usual_jobs(&self) -> usize {
        4
    }

    fn reports_cost(&self) -> bool {
        true
    }

    fn shown_description(&self) -> usize {
        1536
    }

    /// Hooks, tools, scripts and references of the skills are not installed: nothing runs.
    fn install(&self, room: &Room, skills: &[Installed]) -> Result<(), InstallError> {
        let plugin = room.root().join(PLUGIN_FOLDER);
        let metadata = plugin.join(".claude-plugin");
        fs::create_dir_all(&metadata)?;
        let manifest = json!({"name": PLUGIN, "version": "0.0.0"});
        fs::write(metadata.join("plugin.json"), format!("{manifest}\n"))?;
        for skill in skills {
            let folder = plugin.join("skills").join(&skill.id);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(SKILL_FILE), &skill.reduced)?;
        }
        Ok(())
    }

    /// The user's home stays, for a login; no settings in it are read.
    fn environment(
        &self,
        env: &mut BTreeMap<String, String>,
        _room: &Room,
        _installed: &BTreeSet<String>,
    ) -> Result<Vec<String>, String> {
        for (name, value) in CLAUDE_ENVIRONMENT {
            env.insert((*name).to_owned(), (*value).to_owned());
        }
        Ok(Vec::new())
    }

    fn arguments(&self, room: &Room, model: Option<&str>, extra: &[String]) -> Vec<String> {
        let mut args: Vec<String> = BASE_ARGS.iter().map(ToString::to_string).collect();
        args.extend(["--plugin-dir".to_owned(), room.root().join(PLUGIN_FOLDER).into_string()]);
        args.extend(["--tools", "Skill", "--allowedTools", "Skill"].map(str::to_owned));
        if let Some(model) = model {
            args.extend(["--model".to_owned(), model.to_owned()]);
        }
        args.extend_from_slice(extra);
        args
    }

    /// Its stream says so, before the model is asked.
    fn listing(&self) -> Option<Listing> {
        None
    }

    fn look(&self, event: &Event, watch: &mut Watch<'_>) {
        match &event.kind {
            EventKind::Session { tools, .. } if cannot_load(tools) => {
                watch.offered(&BTreeSet::new());
            }
            // Without any skill the line says nothing of them: the program has some of its own.
            EventKind::Session { skills, .. } if !skills.is_empty() => {
                watch.offered(&skills.iter().map(|name| plain(name)).collect());
                let prefixed = |id: &str| format!("{PLUGIN}:{id}");
                let doubles = watch
                    .installed
                    .iter()
                    .filter(|id| skills.contains(id) && skills.contains(&prefixed(id)));
                let warnings = doubles.map(|id| {
                    format!(
                        "claude has a skill of its own that is named `{id}`: when the model calls \
                         that, it counts as yours"
                    )
                });
                watch.warnings.extend(warnings.collect::<Vec<_>>());
            }
            // Every call of the run counts: which came first says nothing of the others.
            EventKind::ToolCall { action: Action::Skill { name }, .. } => {
                let fired =
                    [name, plain(name)].into_iter().find(|id| watch.installed.contains(*id));
                watch.fired.extend(fired.map(str::to_owned));
            }
            _ => {}
        }
    }

    /// The turn limit is how a run ends that loaded a skill. A refusal and an answer that was cut are
    /// answers.
    fn counts(&self, _watch: &Watch<'_>, class: OutcomeClass) -> bool {
        matches!(
            class,
            OutcomeClass::Completed
                | OutcomeClass::MaxTurns
                | OutcomeClass::Refused
                | OutcomeClass::MaxOutput
        )
    }
}

/// Whether the tool that loads skills is not among those that the model has.
fn cannot_load(tools: &[String]) -> bool {
    !tools.is_empty() && !tools.iter().any(|tool| tool == "Skill")
}

/// The name of a skill without that of its plugin.
fn plain(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}
