//! `codex-native`: Codex with every competing skill in the folder that it works in.

use std::collections::{BTreeMap, BTreeSet};

use fs_err as fs;
use proctor_formats::eval::SKILL_FILE;
use proctor_model::{Action, Event, EventKind, OutcomeClass};
use proctor_sandbox::Room;
use serde_json::Value;

use super::contest::Activator;
use super::harness::{Harness, Listing};
use super::native::Native;
use super::skills::Installed;
use super::watch::Watch;
use crate::eval::install::{InstallError, install};
use crate::eval::registry::Options;

/// The name of this activator.
pub(super) const NAME: &str = "codex-native";

/// The folder of a project in which the program finds skills.
const SKILLS_FOLDER: &str = ".agents/skills";

/// Commands after which a run is ended: who has not loaded a skill by then is at work on the task.
const MAX_COMMANDS: u32 = 3;

/// Nothing is written, and nothing of the user's settings is read.
const BASE_ARGS: &[&str] = &[
    "exec",
    "--json",
    "--skip-git-repo-check",
    "--ephemeral",
    "--ignore-user-config",
    "--ignore-rules",
    "-s",
    "read-only",
];

/// Keeps the program from talking to anything but its model, and the credentials from what the agent
/// starts.
const QUIET_ARGS: &[&str] = &[
    "--disable",
    "plugins",
    "--disable",
    "unbounded_connection_retries",
    "-c",
    "analytics.enabled=false",
    "-c",
    "check_for_update_on_startup=false",
    "-c",
    "shell_environment_policy.inherit=core",
];

/// Prints what the model would be told. No model is asked, and the address under which the program
/// would look for news of models is one where nobody is.
const LISTING_ARGS: &[&str] = &[
    "debug",
    "prompt-input",
    "--disable",
    "plugins",
    "-c",
    "analytics.enabled=false",
    "-c",
    "check_for_update_on_startup=false",
    "-c",
    r#"openai_base_url="http://127.0.0.1:9/v1""#,
];

/// The harness.
struct Codex;

pub(super) fn build(options: &Options) -> Result<Box<dyn Activator>, String> {
    Native::build(&Codex, options.codex_bin.as_deref(), options)
}

impl Harness for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn harness(&self) -> &'static str {
        "codex"
    }

    fn usual_jobs(&self) -> usize {
        2
    }

    /// It reports tokens at the end of a turn only, which a run is not to reach.
    fn reports_cost(&self) -> bool {
        false
    }

    fn shown_description(&self) -> usize {
        1024
    }

    fn install(&self, room: &Room, skills: &[Installed]) -> Result<(), InstallError> {
        let folder = room.workspace().join(SKILLS_FOLDER);
        for skill in skills {
            let to = folder.join(&skill.id);
            if let Some(from) = &skill.folder {
                install(from, &to)?;
            } else {
                fs::create_dir_all(&to)?;
                fs::write(to.join(SKILL_FILE), &skill.reduced)?;
            }
        }
        Ok(())
    }

    /// Its own folder stays, for the login, and the home directory is an empty one.
    fn environment(
        &self,
        env: &mut BTreeMap<String, String>,
        room: &Room,
        installed: &BTreeSet<String>,
    ) -> Result<Vec<String>, String> {
        let mut warnings = Vec::new();
        let adapter = proctor_harness::find(self.harness());
        if let Some(folder) = adapter.and_then(proctor_harness::Adapter::own_folder) {
            let own = folder.locate(&|name| env.get(name).cloned());
            // Without one there is no login to lose, and the program does not start.
            let own = own
                .filter(|own| own.is_dir())
                .unwrap_or_else(|| room.root().join("own").into_std_path_buf());
            fs::create_dir_all(&own).map_err(|error| error.to_string())?;
            let own_skills = skills_in(&own.join("skills"));
            if let Some(copy) = own_skills.intersection(installed).next() {
                return Err(format!(
                    "a copy of `{copy}` in {} would answer for it; move it away",
                    own.join("skills").display()
                ));
            }
            if !own_skills.is_empty() {
                let names: Vec<&str> = own_skills.iter().map(String::as_str).collect();
                warnings.push(format!(
                    "skills of your own compete, too: codex finds {} in {}",
                    names.join(", "),
                    own.join("skills").display()
                ));
            }
            env.insert(folder.variable.to_owned(), own.to_string_lossy().into_owned());
        }
        let home = room.root().join("home");
        fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        env.insert("HOME".to_owned(), home.into_string());
        Ok(warnings)
    }

    fn arguments(&self, room: &Room, model: Option<&str>, extra: &[String]) -> Vec<String> {
        let mut args: Vec<String> = BASE_ARGS.iter().map(ToString::to_string).collect();
        args.extend(["-C".to_owned(), room.workspace().to_string()]);
        args.extend(QUIET_ARGS.iter().map(ToString::to_string));
        if let Some(model) = model {
            args.extend(["-m".to_owned(), model.to_owned()]);
        }
        args.extend_from_slice(extra);
        args.push("-".to_owned());
        args
    }

    fn listing(&self) -> Option<Listing> {
        Some(Listing { args: LISTING_ARGS, read: listed })
    }

    fn look(&self, event: &Event, watch: &mut Watch<'_>) {
        match &event.kind {
            EventKind::ToolCall { action: Action::Shell { command }, .. } => {
                watch.commands += 1;
                let read = watch.installed.iter().filter(|id| reads(command, id));
                watch.fired.extend(read.cloned().collect::<Vec<_>>());
                watch.is_over = !watch.fired.is_empty() || watch.commands >= MAX_COMMANDS;
            }
            EventKind::Result { .. } => watch.is_over = true,
            _ => {}
        }
    }

    /// A run that was ended after a sign, or after enough commands without one, has said all it can.
    fn counts(&self, watch: &Watch<'_>, class: OutcomeClass) -> bool {
        let seen = !watch.fired.is_empty() || watch.commands >= MAX_COMMANDS;
        seen || class == OutcomeClass::Completed
    }
}

/// Whether a command reads the file of a skill: by its path, or after going into its folder.
fn reads(command: &str, skill: &str) -> bool {
    let folder = format!("skills/{skill}");
    command.match_indices(&folder).any(|(at, found)| {
        let rest = command.get(at + found.len()..).unwrap_or_default();
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let Some(after) = rest.strip_prefix(SKILL_FILE) else {
            let part_of_name = |c: char| c.is_alphanumeric() || "-_./".contains(c);
            let goes_in = !rest.starts_with(part_of_name);
            return goes_in
                && rest.split(|c: char| !part_of_name(c)).any(|word| word == SKILL_FILE);
        };
        !after.starts_with(char::is_alphanumeric)
    })
}

/// The skills that lie in a folder.
fn skills_in(folder: &std::path::Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let skills = entries.filter(|entry| entry.path().join(SKILL_FILE).is_file());
    skills.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The skills that the messages for the model offer: each with the path of its file, in parentheses.
fn listed(printed: &[u8]) -> Option<BTreeSet<String>> {
    let messages: Vec<Value> = serde_json::from_slice(printed).ok()?;
    let contents = messages.iter().filter_map(|message| message.get("content")?.as_array());
    let texts = contents.flatten().filter_map(|content| content.get("text")?.as_str());
    let end = format!("/{SKILL_FILE})");
    let ids = texts.flat_map(|text| {
        text.match_indices(&end).filter_map(|(at, _)| text.get(..at)?.rsplit('/').next())
    });
    Some(ids.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_read_by_its_path_or_in_its_folder() {
        for (command, expected) in [
            ("cat .agents/skills/greet/SKILL.md", true),
            ("sed -n '1,200p' /w/.agents/skills/greet/SKILL.md", true),
            ("cat 'skills/greet/SKILL.md' && ls", true),
            ("cd .agents/skills/greet && cat SKILL.md", true),
            ("cat skills/greet-2/SKILL.md", false),
            ("cat skills/greet/SKILL.mdx", false),
            ("cat greet/SKILL.md", false),
            ("ls .agents/skills/greet", false),
            ("ls .agents/skills", false),
            ("cd skills/greet-2 && cat SKILL.md", false),
        ] {
            assert_eq!(reads(command, "greet"), expected, "{command}");
        }
    }

    #[test]
    fn a_list_is_read_and_anything_else_is_none() {
        let printed = serde_json::json!([
            {"type": "message", "role": "developer", "content": [
                {"type": "input_text", "text": "- r1 = `/w/.agents/skills`\n\
                  - Fancy: Does it (file: r1/deploy/SKILL.md)\n"}]},
            {"type": "other"},
        ]);
        let offers = listed(printed.to_string().as_bytes()).unwrap();
        assert!(offers.iter().eq(["deploy"]), "{offers:?}");
        assert_eq!(listed(b"[]"), Some(BTreeSet::new()));
        assert!(listed(b"").is_none() && listed(b"{\"type\":\"thread.started\"}\n").is_none());
    }
}
