//! New experiments.

use proctor_model::experiment::Slug;

use crate::eval::import::yaml_text::scalar;

/// What a new experiment begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Template {
    /// One agent, two prompts, two tests: enough to see a run.
    Starter,
    /// Whether an agent can install a command-line tool from its documentation.
    CliInstall(CliInstall),
}

/// What the template for installations needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliInstall {
    /// The command's name.
    pub cli: String,
    /// What it is, for the prompt.
    pub target_description: String,
    /// Where its installation is documented: an address or a path.
    pub install_docs: String,
    /// The documented command.
    pub install_command: String,
    /// A command that works once it is installed.
    pub smoke_command: String,
}

/// The text of a new experiment.
pub fn scaffold(id: &Slug, template: &Template) -> String {
    match template {
        Template::Starter => STARTER.replace("@ID@", id.as_str()),
        Template::CliInstall(given) => {
            let prompt = |lead: &str| {
                let text = format!(
                    "{lead}\n\nInstall it, show that it works by running `{}`, and write \
                     what you ran, one command a line, to /workspace/commands.txt.\n",
                    given.smoke_command
                );
                scalar(&text, 6)
            };
            let cold = prompt(&format!(
                "This machine needs `{}`: {}.",
                given.cli,
                given.target_description.trim_end_matches('.')
            ));
            let pointed = prompt(&format!(
                "This machine needs `{}`: {}. Its installation is documented at {}.",
                given.cli,
                given.target_description.trim_end_matches('.'),
                given.install_docs
            ));
            let smoke = scalar(&format!("set -euo pipefail\n{}\n", given.smoke_command), 6);
            let documented = scalar(
                &format!(
                    "set -euo pipefail\nax-run-query \"$AX_RUN_ID\" sql \"\n  SELECT count(*) AS \
                     hits FROM events\n  WHERE kind = 'tool_call'\n    AND \
                     positionCaseInsensitive(payload, {}) > 0\n\" --format json | jq -e \
                     '(.hits | tonumber) > 0'\n",
                    shell_sql_literal(&in_json(&given.install_command))
                ),
                6,
            );
            let name = scalar(&format!("Can an agent install {}?", given.cli), 2);
            CLI_INSTALL
                .replace("@ID@", id.as_str())
                .replace("@NAME@", &name)
                .replace("@COLD@", &cold)
                .replace("@POINTED@", &pointed)
                .replace("@SMOKE@", &smoke)
                .replace("@DOCUMENTED@", &documented)
        }
    }
}

/// The text as it stands inside a JSON string, which payloads are made of.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

/// A text literal of SQL for a place between the double quotation marks of a shell.
fn shell_sql_literal(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            // A backslash is one for SQL once it is two, and two for the shell once it is four.
            '\\' => literal.push_str("\\\\\\\\"),
            '\'' => literal.push_str("''"),
            '"' | '$' | '`' => {
                literal.push('\\');
                literal.push(c);
            }
            _ => literal.push(c),
        }
    }
    literal.push('\'');
    literal
}

const STARTER: &str = "\
# An experiment: every agent gets every prompt, and every test looks at what came of it.
#
#   proctor experiment validate @ID@.yaml
#   proctor experiment run @ID@.yaml --mock      # costs nothing, needs no agent
#   proctor experiment run @ID@.yaml --repeat 5
#
# Editors complete this file with the schema that `proctor experiment schema` prints.
schema_version: 2
id: @ID@
name: \"@ID@\"
description: |
  Research question: what do you want to know?
  Measure: which tests, sliced by what?
  Bet: what do you expect, before you look?

agents: [claude]

prompts:
  - id: plain
    prompt: |
      Write a short greeting to a text file in /workspace, then say what you wrote.
  - id: detailed
    prompt: |
      Write a greeting of one line, without a title, to a text file in /workspace.
      Then say what you wrote, word for word.

tests:
  - name: wrote-a-file
    description: There is a text file in the workspace, and it is not empty.
    script: |
      set -euo pipefail
      find /workspace -type f -name '*.txt' -size +0 | grep .

  - name: said-something
    description: The agent said something in the end.
    script: |
      set -euo pipefail
      ax-run-query \"$AX_RUN_ID\" sql \"
        SELECT count(*) AS messages
        FROM events
        WHERE source IN ('stdout', 'transcript') AND kind = 'message'
      \" --format json | jq -e '(.messages | tonumber) > 0'

limits:
  max_time_seconds: 300
";

const CLI_INSTALL: &str = "\
# Can an agent install a command-line tool, from nothing and from its documentation?
#
#   proctor experiment validate @ID@.yaml
#   proctor experiment run @ID@.yaml --mock      # shows the way; its tests fail
#   proctor experiment run @ID@.yaml --repeat 5
#
# Editors complete this file with the schema that `proctor experiment schema` prints.
schema_version: 2
id: @ID@
name: @NAME@
description: |
  Research question: does an agent get the tool installed and working, and does it matter whether
  the prompt says where the documentation is?
  Measure: pass rate of `works`, by prompt. `documented-way` tells luck from reading.

agents: [claude, codex]

prompts:
  - id: cold
    tags: [\"docs:unsaid\"]
    prompt: @COLD@
  - id: pointed
    tags: [\"docs:linked\"]
    prompt: @POINTED@

environments:
  - name: blank
    description: An empty workspace; the tool is not installed.
    setup: \"true\"

tests:
  - name: wrote-commands
    description: The agent left the list of what it ran.
    script: test -s /workspace/commands.txt
  - name: works
    description: The tool runs. What the agent put outside the workspace is gone by now, which is why this test runs live.
    when: live
    script: @SMOKE@
  - name: documented-way
    description: The agent ran the documented command.
    script: @DOCUMENTED@

limits:
  max_time_seconds: 600
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::read;

    #[test]
    fn new_experiments_are_right() {
        let id: Slug = "new-one".parse().unwrap();
        let given = CliInstall {
            cli: "greet".to_owned(),
            target_description: "a tool: it \"greets\" #1.".to_owned(),
            install_docs: "https://example.com/a#b".to_owned(),
            install_command: "sh -c 'a \"$b\" `c` \\\\'".to_owned(),
            smoke_command: "greet --version | grep -q 1".to_owned(),
        };
        for template in [Template::Starter, Template::CliInstall(given)] {
            let text = scaffold(&id, &template);
            let reading = read("new-one.yaml".into(), text.as_bytes());
            assert!(reading.experiment.is_some(), "{:#?}\n{text}", reading.findings);
            let codes: Vec<&str> = reading.findings.iter().map(|one| one.code.code()).collect();
            let live_only =
                if template == Template::Starter { vec![] } else { vec!["proctor-only"] };
            assert_eq!(codes, live_only, "{text}");
        }
    }

    #[test]
    fn a_command_survives_json_sql_and_shell() {
        let literal = shell_sql_literal(&in_json("a 'b' \"c\" $d \\"));
        assert_eq!(literal, r#"'a ''b'' \\\\\"c\\\\\" \$d \\\\\\\\'"#);
    }
}
