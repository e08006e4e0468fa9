//! The links by which each harness finds the installed guidance.

use std::collections::BTreeMap;

use crate::{MANAGED_DIRECTORY, PROJECT_INSTRUCTIONS};

/// A link into the installed guidance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integration {
    /// Where the link stands, relative to the project.
    pub path: String,
    /// Its target as it is written, relative to the link's directory.
    pub target: String,
    /// Whether the target is a directory.
    pub is_directory: bool,
    /// Whether something of the user's at the path is left as it is, and not claimed.
    pub preserve_existing: bool,
}

/// A harness whose links are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harness {
    Claude,
    Codex,
    Copilot,
    Cursor,
    Opencode,
    Pi,
}

impl Harness {
    pub(crate) fn from_id(id: &str) -> Option<Self> {
        Some(match id.to_ascii_lowercase().as_str() {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "copilot" => Self::Copilot,
            "cursor" => Self::Cursor,
            "opencode" => Self::Opencode,
            "pi" => Self::Pi,
            _ => return None,
        })
    }
}

/// Where the root instruction links lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instructions {
    /// The corpus's `rules/general.md`.
    General,
    /// The project's own `rules/project.md`.
    Project,
}

impl Instructions {
    fn file(self) -> &'static str {
        match self {
            Self::General => "rules/general.md",
            Self::Project => PROJECT_INSTRUCTIONS,
        }
    }
}

/// The links for `harnesses` over the installed `files` (relative to the managed directory, in byte
/// order), by path.
pub(crate) fn plan(
    harnesses: &[Harness],
    files: &[&str],
    instructions: Instructions,
) -> BTreeMap<String, Integration> {
    let mut plan = Plan { links: BTreeMap::new(), instructions };
    for harness in harnesses {
        plan.add(*harness, files);
    }
    plan.links
}

struct Plan {
    links: BTreeMap<String, Integration>,
    instructions: Instructions,
}

impl Plan {
    fn add(&mut self, harness: Harness, files: &[&str]) {
        match harness {
            Harness::Claude => {
                self.instructions_at("CLAUDE.md");
                self.instructions_at(".claude/CLAUDE.md");
                for name in ["agents", "hooks", "prompts", "rules", "skills"] {
                    self.directory(&format!(".claude/{name}"), name);
                }
                self.file(".claude/settings.json", "hooks/settings.template.json");
                self.commands(".claude/commands", files);
            }
            Harness::Codex => {
                self.instructions_at("AGENTS.md");
                self.directory(".agents/skills", "skills");
            }
            Harness::Copilot => {
                self.instructions_at(".github/copilot-instructions.md");
                self.directory(".github/instructions", "rules");
                self.directory(".github/prompts", "prompts");
                self.directory(".github/skills", "skills");
                for agent in files.iter().filter(|file| file.starts_with("agents/")) {
                    if let Some(name) = file_name(agent).strip_suffix(".md") {
                        self.file(&format!(".github/agents/{name}.agent.md"), agent);
                    }
                }
            }
            Harness::Cursor => {
                self.directory(".cursor/agents", "agents");
                self.directory(".cursor/rules", "harnesses/cursor/rules");
                self.directory(".cursor/skills", "skills");
                self.commands(".cursor/commands", files);
            }
            Harness::Opencode => {
                self.instructions_at("AGENTS.md");
                let own = "harnesses/opencode/agents";
                let prefix = "harnesses/opencode/agents/";
                let has_own = files.iter().any(|file| file.starts_with(prefix));
                self.directory(".opencode/agents", if has_own { own } else { "agents" });
                self.directory(".opencode/skills", "skills");
                self.commands(".opencode/commands", files);
            }
            Harness::Pi => {
                self.instructions_at("AGENTS.md");
                self.directory(".pi/agents", "agents");
                self.directory(".pi/extensions", "harnesses/pi/extensions");
                self.directory(".pi/skills", "skills");
                self.commands(".pi/prompts", files);
            }
        }
    }

    fn instructions_at(&mut self, path: &str) {
        self.link(path, self.instructions.file(), false, true);
    }

    fn directory(&mut self, path: &str, managed: &str) {
        self.link(path, managed, true, false);
    }

    fn file(&mut self, path: &str, managed: &str) {
        self.link(path, managed, false, false);
    }

    fn commands(&mut self, directory: &str, files: &[&str]) {
        for prompt in files.iter().filter(|file| file.starts_with("prompts/")) {
            if let Some(name) = file_name(prompt).strip_suffix(".prompt.md") {
                self.file(&format!("{directory}/{name}.md"), prompt);
            }
        }
    }

    /// Two harnesses may share a path; both then mean the same target.
    fn link(&mut self, path: &str, managed: &str, is_directory: bool, preserve_existing: bool) {
        self.links.entry(path.to_owned()).or_insert_with(|| {
            let up = "../".repeat(path.matches('/').count());
            Integration {
                path: path.to_owned(),
                target: format!("{up}{MANAGED_DIRECTORY}/{managed}"),
                is_directory,
                preserve_existing,
            }
        });
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [&str; 6] = [
        "agents/deep/taster.md",
        "agents/icon.png",
        "harnesses/opencode/agents/taster.md",
        "prompts/brew.prompt.md",
        "prompts/notes.md",
        "rules/general.md",
    ];

    fn show(ids: &[&str], files: &[&str], instructions: Instructions) -> String {
        let harnesses: Vec<_> = ids.iter().filter_map(|id| Harness::from_id(id)).collect();
        let lines = plan(&harnesses, files, instructions).into_values().map(|link| {
            let mark = if link.preserve_existing { " *" } else { "" };
            let slash = if link.is_directory { "/" } else { "" };
            format!("{} -> {}{slash}{mark}", link.path, link.target)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_harness_has_its_links() {
        insta::assert_snapshot!(show(&["Claude"], &FILES, Instructions::General), @r"
        .claude/CLAUDE.md -> ../.cratis/ai/rules/general.md *
        .claude/agents -> ../.cratis/ai/agents/
        .claude/commands/brew.md -> ../../.cratis/ai/prompts/brew.prompt.md
        .claude/hooks -> ../.cratis/ai/hooks/
        .claude/prompts -> ../.cratis/ai/prompts/
        .claude/rules -> ../.cratis/ai/rules/
        .claude/settings.json -> ../.cratis/ai/hooks/settings.template.json
        .claude/skills -> ../.cratis/ai/skills/
        CLAUDE.md -> .cratis/ai/rules/general.md *
        ");
        insta::assert_snapshot!(show(&["codex"], &FILES, Instructions::Project), @r"
        .agents/skills -> ../.cratis/ai/skills/
        AGENTS.md -> .cratis/ai/rules/project.md *
        ");
        insta::assert_snapshot!(show(&["copilot"], &FILES, Instructions::Project), @r"
        .github/agents/taster.agent.md -> ../../.cratis/ai/agents/deep/taster.md
        .github/copilot-instructions.md -> ../.cratis/ai/rules/project.md *
        .github/instructions -> ../.cratis/ai/rules/
        .github/prompts -> ../.cratis/ai/prompts/
        .github/skills -> ../.cratis/ai/skills/
        ");
        insta::assert_snapshot!(show(&["cursor"], &FILES, Instructions::General), @r"
        .cursor/agents -> ../.cratis/ai/agents/
        .cursor/commands/brew.md -> ../../.cratis/ai/prompts/brew.prompt.md
        .cursor/rules -> ../.cratis/ai/harnesses/cursor/rules/
        .cursor/skills -> ../.cratis/ai/skills/
        ");
        insta::assert_snapshot!(show(&["opencode"], &FILES, Instructions::General), @r"
        .opencode/agents -> ../.cratis/ai/harnesses/opencode/agents/
        .opencode/commands/brew.md -> ../../.cratis/ai/prompts/brew.prompt.md
        .opencode/skills -> ../.cratis/ai/skills/
        AGENTS.md -> .cratis/ai/rules/general.md *
        ");
        insta::assert_snapshot!(show(&["pi"], &FILES, Instructions::General), @r"
        .pi/agents -> ../.cratis/ai/agents/
        .pi/extensions -> ../.cratis/ai/harnesses/pi/extensions/
        .pi/prompts/brew.md -> ../../.cratis/ai/prompts/brew.prompt.md
        .pi/skills -> ../.cratis/ai/skills/
        AGENTS.md -> .cratis/ai/rules/general.md *
        ");
    }

    #[test]
    fn an_older_corpus_gives_opencode_the_common_agents() {
        let links = show(&["opencode"], &["agents/a.md"], Instructions::General);
        assert!(links.starts_with(".opencode/agents -> ../.cratis/ai/agents/\n"), "{links}");
    }

    #[test]
    fn shared_links_are_planned_once() {
        let together = show(&["codex", "pi", "opencode"], &FILES, Instructions::General);
        assert_eq!(together.matches("AGENTS.md ->").count(), 1);
        assert_eq!(show(&[], &FILES, Instructions::General), "");
    }
}
