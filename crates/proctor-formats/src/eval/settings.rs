//! What a project settles about its evals: `[lint]` and `[plugin]` of its configuration files.
//!
//! Tables of other tools stand in the same files and are left alone; within `[lint.evals]` an
//! unknown key is a mistake, because a misspelt threshold would be no threshold.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Diagnostics;
use proctor_model::eval::{EstimateParams, LintSeverity, Rule};

use super::layout::{Layout, Project};
use super::paths::read_bounded;
use crate::tree::{
    self, Field, Kind, Node, Object, Problems, boolean, choice, list, non_blank, text,
};

/// The settings file of Proctor in the project root.
const PROCTOR_FILE: &str = "proctor.toml";

/// The configuration file of ai-rulez without its ending.
const CONFIGURATION: &str = "config";

/// The endings of a configuration file; the first that exists counts.
const ENDINGS: [&str; 4] = ["toml", "yaml", "yml", "json"];

/// What is settled about evals.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalSettings {
    /// Whether every skill needs cases.
    pub require: bool,
    /// Skill names, with `*` and `?`, that need none.
    pub allow: Vec<String>,
    /// How bad a skill is that changed after its last passing run; `None` when it is not.
    pub require_fresh: Option<LintSeverity>,
    /// The pass rate, above 0, that a recorded run must reach; also the threshold of runs.
    pub min_pass_rate: Option<f64>,
    /// The recall, above 0, that a recorded measurement must reach.
    pub min_activation_recall: Option<f64>,
    /// The precision, above 0, that a recorded measurement must reach.
    pub min_activation_precision: Option<f64>,
    /// The share of its prompts, above 0, that a skill may not lose to another.
    pub confusion_threshold: Option<f64>,
    /// What estimates assume.
    pub estimate: EstimateSettings,
    /// Severities that were set by hand; `None` turns a rule off.
    pub severities: BTreeMap<Rule, Option<LintSeverity>>,
    /// The severity from which findings make a check fail.
    pub fail_on: LintSeverity,
    /// What a plugin bundle is called and carries.
    pub plugin: PluginSettings,
}

impl Default for EvalSettings {
    fn default() -> Self {
        Self {
            require: false,
            allow: Vec::new(),
            require_fresh: None,
            min_pass_rate: None,
            min_activation_recall: None,
            min_activation_precision: None,
            confusion_threshold: None,
            estimate: EstimateSettings::default(),
            severities: BTreeMap::new(),
            fail_on: LintSeverity::Error,
            plugin: PluginSettings::default(),
        }
    }
}

/// `[lint.evals.estimate]`: what differs from the built-in assumptions. All values are above 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EstimateSettings {
    /// Tokens in that the harness itself sends.
    pub overhead_tokens: Option<f64>,
    /// Tokens out of a case run.
    pub assumed_output_tokens: Option<f64>,
    /// Tokens out of an activation run.
    pub activation_output_tokens: Option<f64>,
    /// How many more times everything beyond the overhead is read, in the high figure.
    pub tool_loop_factor: Option<f64>,
    /// US dollars a million tokens in.
    pub price_in_per_mtok: Option<f64>,
    /// US dollars a million tokens out.
    pub price_out_per_mtok: Option<f64>,
}

impl EstimateSettings {
    /// The assumptions of an estimate.
    pub fn params(&self) -> EstimateParams {
        let built_in = EstimateParams::default();
        EstimateParams {
            overhead_tokens: self.overhead_tokens.unwrap_or(built_in.overhead_tokens),
            assumed_output_tokens: self
                .assumed_output_tokens
                .unwrap_or(built_in.assumed_output_tokens),
            tool_loop_factor: self.tool_loop_factor.unwrap_or(built_in.tool_loop_factor),
            activation_output_tokens: self
                .activation_output_tokens
                .unwrap_or(built_in.activation_output_tokens),
        }
    }
}

/// `[plugin]`, as far as evals and bundles need it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginSettings {
    /// The name of the plugin.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// One line for people.
    pub description: Option<String>,
    /// Whether bundles carry the cases.
    pub include_evals: bool,
    /// The folder, relative to the project root, whose `evals` bundles carry instead of that of the
    /// configuration folder.
    pub content_root: Option<String>,
}

impl EvalSettings {
    /// The severity of a rule; `None` when it is off. What was set by hand wins.
    pub fn severity(&self, rule: Rule) -> Option<LintSeverity> {
        if let Some(by_hand) = self.severities.get(&rule) {
            return *by_hand;
        }
        let activation = self
            .min_activation_recall
            .or(self.min_activation_precision)
            .map(|_| LintSeverity::Error);
        match rule {
            Rule::EvalsMissing if self.require => Some(LintSeverity::Warning),
            Rule::EvalStale => self.require_fresh,
            Rule::EvalScoreLow => self.min_pass_rate.map(|_| LintSeverity::Error),
            Rule::ActivationLow => activation,
            Rule::SkillConfusable => self.confusion_threshold.map(|_| LintSeverity::Warning),
            _ => rule.default_severity(),
        }
    }

    /// Whether a skill needs no cases.
    pub fn allows(&self, skill: &str) -> bool {
        self.allow.iter().any(|pattern| matches_name(pattern, skill))
    }

    /// Reads the settings of a project: the configuration file of ai-rulez, then its local overlay,
    /// then `proctor.toml`; what a later file says wins. An error in the diagnostics means that the
    /// settings must not be used.
    pub fn load(project: &Project) -> (Self, Diagnostics) {
        let mut settings = Self::default();
        let mut diagnostics = Diagnostics::default();
        for file in project_files(project) {
            if fs::symlink_metadata(&file).is_err() {
                continue;
            }
            let mut problems = Problems::new(&project.shown(&file));
            match read_bounded(file.as_std_path()) {
                Ok(bytes) => settings.read(&file, &bytes, &mut problems),
                Err(diagnostic) => problems.push(diagnostic),
            }
            diagnostics.0.extend(problems.finish().0);
        }
        (settings, diagnostics)
    }

    /// Takes over what a settings file says; the ending of its name decides its format.
    pub fn read(&mut self, file: &Utf8Path, bytes: &[u8], problems: &mut Problems) {
        let Some(root) = syntax_tree(file, bytes, problems) else { return };
        let field = Field::root(&root);
        let Some(object) = table(&field, problems) else { return };
        object.optional("lint", problems, |field, problems| self.read_lint(field, problems));
        object.optional("plugin", problems, |field, problems| {
            self.plugin.read(&table(field, problems)?, problems);
            Some(())
        });
    }

    fn read_lint(&mut self, field: &Field<'_>, problems: &mut Problems) -> Option<()> {
        let object = table(field, problems)?;
        set(&mut self.fail_on, object.optional("fail_on", problems, fail_on).flatten());
        object.optional("severity", problems, |field, problems| {
            self.read_severities(field, problems)
        });
        object.optional("evals", problems, |field, problems| self.read_evals(field, problems));
        Some(())
    }

    /// Rules of other parts of ai-rulez stand in the same table and are passed over.
    fn read_severities(&mut self, field: &Field<'_>, problems: &mut Problems) -> Option<()> {
        let Kind::Object(members) = &field.node().kind else {
            problems.push(field.expected("a table"));
            return None;
        };
        for member in members {
            let Some(rule) = Rule::named(&member.key) else { continue };
            let field = field.member(&member.key, &member.value);
            if let Some(severity) = choice(&SEVERITIES)(&field, problems) {
                self.severities.insert(rule, severity);
            }
        }
        Some(())
    }

    fn read_evals(&mut self, field: &Field<'_>, problems: &mut Problems) -> Option<()> {
        let object = table(field, problems)?;
        object.deny_unknown(&EVALS_KEYS, problems);
        set(&mut self.require, object.optional("require", problems, boolean).flatten());
        set(
            &mut self.allow,
            object.optional("allow", problems, list("names", non_blank)).flatten(),
        );
        set(&mut self.require_fresh, object.optional("require_fresh", problems, fresh).flatten());
        for (key, place) in [
            ("min_pass_rate", &mut self.min_pass_rate),
            ("min_activation_recall", &mut self.min_activation_recall),
            ("min_activation_precision", &mut self.min_activation_precision),
            ("confusion_threshold", &mut self.confusion_threshold),
        ] {
            set(place, object.optional(key, problems, share).flatten());
        }
        object.optional("estimate", problems, |field, problems| {
            self.estimate.read(&table(field, problems)?, problems);
            Some(())
        });
        Some(())
    }
}

impl EstimateSettings {
    fn read(&mut self, object: &Object<'_>, problems: &mut Problems) {
        object.deny_unknown(&ESTIMATE_KEYS, problems);
        let places = [
            &mut self.overhead_tokens,
            &mut self.assumed_output_tokens,
            &mut self.activation_output_tokens,
            &mut self.tool_loop_factor,
            &mut self.price_in_per_mtok,
            &mut self.price_out_per_mtok,
        ];
        for (key, place) in ESTIMATE_KEYS.into_iter().zip(places) {
            set(place, object.optional(key, problems, amount).flatten());
        }
    }
}

impl PluginSettings {
    fn read(&mut self, object: &Object<'_>, problems: &mut Problems) {
        for (key, place) in [
            ("name", &mut self.name),
            ("version", &mut self.version),
            ("description", &mut self.description),
            ("content_root", &mut self.content_root),
        ] {
            set(place, object.optional(key, problems, text).flatten().map(Some));
        }
        set(&mut self.include_evals, object.optional("include_evals", problems, boolean).flatten());
    }
}

const EVALS_KEYS: [&str; 8] = [
    "require",
    "allow",
    "require_fresh",
    "min_pass_rate",
    "min_activation_recall",
    "min_activation_precision",
    "confusion_threshold",
    "estimate",
];

const ESTIMATE_KEYS: [&str; 6] = [
    "overhead_tokens",
    "assumed_output_tokens",
    "activation_output_tokens",
    "tool_loop_factor",
    "price_in_per_mtok",
    "price_out_per_mtok",
];

const SEVERITIES: [(&str, Option<LintSeverity>); 5] = [
    ("error", Some(LintSeverity::Error)),
    ("warning", Some(LintSeverity::Warning)),
    ("warn", Some(LintSeverity::Warning)),
    ("info", Some(LintSeverity::Info)),
    ("off", None),
];

fn fail_on(field: &Field<'_>, problems: &mut Problems) -> Option<LintSeverity> {
    let severities = [
        ("error", LintSeverity::Error),
        ("warning", LintSeverity::Warning),
        ("warn", LintSeverity::Warning),
        ("info", LintSeverity::Info),
    ];
    choice(&severities)(field, problems)
}

#[expect(clippy::option_option, reason = "off is a value")]
fn fresh(field: &Field<'_>, problems: &mut Problems) -> Option<Option<LintSeverity>> {
    let values = [
        ("warn", Some(LintSeverity::Warning)),
        ("error", Some(LintSeverity::Error)),
        ("off", None),
    ];
    choice(&values)(field, problems)
}

/// Reads a number from 0 to 1; 0 leaves the setting as if it were not there.
#[expect(clippy::option_option, reason = "0 is a value that means none")]
fn share(field: &Field<'_>, problems: &mut Problems) -> Option<Option<f64>> {
    number(field, 1.0, "a number from 0 to 1", problems)
}

/// Reads a number that is not below 0; 0 leaves the setting as if it were not there.
#[expect(clippy::option_option, reason = "0 is a value that means none")]
pub(super) fn amount(field: &Field<'_>, problems: &mut Problems) -> Option<Option<f64>> {
    number(field, f64::MAX, "a number not below 0", problems)
}

#[expect(clippy::option_option, reason = "0 is a value that means none")]
fn number(
    field: &Field<'_>,
    most: f64,
    expected: &str,
    problems: &mut Problems,
) -> Option<Option<f64>> {
    let value = match &field.node().kind {
        Kind::Number(written) => written.parse::<f64>().ok(),
        _ => None,
    };
    match value {
        Some(value) if (0.0..=most).contains(&value) => Some((value > 0.0).then_some(value)),
        _ => {
            problems.push(field.expected(expected));
            None
        }
    }
}

fn set<T>(place: &mut T, read: Option<T>) {
    if let Some(value) = read {
        *place = value;
    }
}

pub(super) fn table<'a>(field: &'a Field<'a>, problems: &mut Problems) -> Option<Object<'a>> {
    // An empty YAML document settles nothing.
    if let Node { kind: Kind::Null, .. } = field.node() {
        return None;
    }
    Object::at(field, "a table", problems)
}

/// Parses a settings file; the ending of its name decides its format.
pub(super) fn syntax_tree(file: &Utf8Path, bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    match file.extension() {
        Some("json") => tree::json(bytes, problems),
        Some("yaml" | "yml") => tree::yaml_first(bytes, problems),
        _ => tree::toml(bytes, problems),
    }
}

/// The settings files of a project, whether they exist or not: the configuration file of ai-rulez,
/// its local overlay, `proctor.toml`. What a later one says wins.
pub(super) fn project_files(project: &Project) -> Vec<Utf8PathBuf> {
    let mut files = Vec::new();
    if matches!(project.layout, Layout::AiRulez | Layout::NamedConfiguration) {
        files.extend(configuration_files(&project.configuration));
    }
    files.push(project.root.join(PROCTOR_FILE));
    files
}

/// The configuration file and its local overlay, whether they exist or not.
fn configuration_files(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let name = |ending: &str| folder.join(format!("{CONFIGURATION}.{ending}"));
    let ending = ENDINGS.into_iter().find(|ending| fs::symlink_metadata(name(ending)).is_ok());
    ending.map_or_else(Vec::new, |ending| {
        vec![name(ending), folder.join(format!("{CONFIGURATION}.local.{ending}"))]
    })
}

/// Whether a name fits a pattern in which `*` stands for any text and `?` for one character.
fn matches_name(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut from) = (0, 0);
    // Where the last star stands, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || Some(wanted) == name.get(from) => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some((position, taken)) => {
                    star = Some((position, taken + 1));
                    at = position + 1;
                    from = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, text: &str) -> (EvalSettings, String) {
        let mut settings = EvalSettings::default();
        let mut problems = Problems::new(file.into());
        settings.read(file.into(), text.as_bytes(), &mut problems);
        (settings, problems.finish().to_string())
    }

    const WHOLE: &str = r#"
version = "5"
[lint]
fail_on = "warning"
profile = "strict"

[lint.evals]
require = true
allow = ["internal-*", "scratch"]
require_fresh = "error"
min_pass_rate = 0.8
min_activation_recall = 0
confusion_threshold = 1

[lint.evals.estimate]
overhead_tokens = 25000
price_in_per_mtok = 0.32

[lint.severity]
evals-missing = "error"
AR9A4 = "info"
AR9A3 = "off"
AR001 = "whatever"

[plugin]
name = "billing"
include_evals = true
category = "x"
"#;

    #[test]
    fn a_whole_file_is_read_and_foreign_keys_are_left_alone() {
        let (settings, messages) = read("config.toml", WHOLE);
        assert_eq!(messages, "");
        assert_eq!(settings.severity(Rule::EvalsMissing), Some(LintSeverity::Error));
        assert_eq!(settings.severity(Rule::EvalStale), Some(LintSeverity::Error));
        assert_eq!(settings.severity(Rule::EvalScoreLow), Some(LintSeverity::Error));
        assert_eq!(settings.severity(Rule::ActivationLow), None);
        assert_eq!(settings.severity(Rule::SkillConfusable), Some(LintSeverity::Warning));
        assert_eq!(settings.severity(Rule::ActivationPolicyConflict), None);
        assert_eq!(settings.severity(Rule::ActivationPromptNamesSkill), Some(LintSeverity::Info));
        assert_eq!(settings.fail_on, LintSeverity::Warning);
        assert!(settings.allows("internal-x") && settings.allows("scratch"));
        assert!(!settings.allows("deploy"));
        let params = settings.estimate.params();
        assert!((params.overhead_tokens - 25000.0).abs() < 1e-9);
        assert!((params.assumed_output_tokens - 600.0).abs() < 1e-9);
        assert_eq!(settings.plugin.name.as_deref(), Some("billing"));
        assert!(settings.plugin.include_evals);
    }

    #[test]
    fn the_three_formats_say_the_same() {
        let toml = "[lint.evals]\nmin_pass_rate = 0.9\nallow = [\"a\"]\n";
        let yaml = "lint:\n  evals:\n    min_pass_rate: 0.9\n    allow: [a]\n";
        let json = r#"{"lint": {"evals": {"min_pass_rate": 0.9, "allow": ["a"]}}}"#;
        let expected = read("config.toml", toml);
        assert_eq!(read("config.yaml", yaml), expected);
        assert_eq!(read("config.json", json), expected);
        assert_eq!(read("config.yaml", "---\n").1, "");
    }

    #[test]
    fn every_slip_is_named() {
        let text = r#"
plugin = 5
[lint]
fail_on = "never"
[lint.evals]
requires = true
require_fresh = "always"
min_pass_rate = 80
min_activation_recall = nan
confusion_threshold = "0.2"
[lint.evals.estimate]
overhead_tokens = -1
price_out = 3
tool_loop_factor = inf
[lint.severity]
AR997 = "fatal"
"#;
        insta::assert_snapshot!(read("config.toml", text).1);
    }

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c*e", "abcde", true),
            ("a*c*f", "abcde", false),
            ("?b?", "abc", true),
            ("?", "", false),
            ("*a*", "bbb", false),
            ("**", "x", true),
        ] {
            assert_eq!(matches_name(pattern, name), expected, "{pattern} {name}");
        }
        let hard = "a*".repeat(50);
        assert!(!matches_name(&hard, &"a".repeat(49)));
    }
}
