//! Which fixtures run with which harness and which selection. Pure.

use proctor_model::conformance::fixture::Fixture;
use proctor_model::conformance::report::Selection;

/// What the user asked for and what the project and the corpus offer.
#[derive(Debug, Clone)]
pub struct Request {
    /// Whether a corpus was named; otherwise the project's own installation decides.
    pub selections: Selections,
    /// Whether harnesses are run at all.
    pub harness_mode: HarnessMode,
    /// Fixture names; empty means all.
    pub fixtures: Vec<String>,
    /// Harness ids as written; `None` takes the default of the mode.
    pub harnesses: Option<Vec<String>>,
    /// Harness ids that the project configures, or else the corpus offers.
    pub configured: Vec<String>,
    /// What the project selects, or else everything that the corpus offers.
    pub invoking: Selection,
}

/// How a fixture's own selection meets the invoking one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selections {
    /// Normal mode: only what both name.
    Intersect,
    /// Source mode: the fixture's, as declared.
    AsDeclared,
}

/// Whether harnesses are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarnessMode {
    /// Each trial runs its harness; the default ids are those with an adapter.
    Run,
    /// `--install-only`: ids only choose integration files.
    InstallOnly,
}

/// A fixture as found in its root, valid or not.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a str,
    /// The fixture, unless it is invalid.
    pub fixture: Option<&'a Fixture>,
}

/// One planned trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Index of the candidate.
    pub candidate: usize,
    /// What is to be done.
    pub step: Step,
}

/// What is to be done with a fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The fixture is invalid: report its mistakes.
    Invalid,
    /// Skip it, for the reason.
    Skip {
        /// Harness id as requested.
        harness: String,
        /// Why.
        reason: String,
    },
    /// Run it.
    Run {
        /// Harness id as requested.
        harness: String,
        /// What to install.
        selection: Selection,
    },
}

/// Lists the trials in the order of `candidates` and then of the requested harnesses.
///
/// `has_adapter` says whether a harness can be run; it chooses the default ids of
/// [`HarnessMode::Run`].
pub fn plan(
    request: &Request,
    candidates: &[Candidate<'_>],
    has_adapter: impl Fn(&str) -> bool,
) -> Vec<Planned> {
    let wanted =
        |name: &str| request.fixtures.is_empty() || request.fixtures.iter().any(|f| f == name);
    let mut planned = Vec::new();
    for (candidate, found) in candidates.iter().enumerate().filter(|(_, c)| wanted(c.name)) {
        let Some(fixture) = found.fixture else {
            planned.push(Planned { candidate, step: Step::Invalid });
            continue;
        };
        for harness in harnesses(request, fixture, &has_adapter) {
            let step = match selection(request, fixture) {
                Ok(selection) => Step::Run { harness, selection },
                Err(reason) => Step::Skip { harness, reason },
            };
            planned.push(Planned { candidate, step });
        }
    }
    planned
}

/// The harness ids of one fixture, as the user or else the fixture or configuration writes them.
fn harnesses(
    request: &Request,
    fixture: &Fixture,
    has_adapter: &impl Fn(&str) -> bool,
) -> Vec<String> {
    let declared = &fixture.harnesses;
    let allowed = |id: &String| declared.is_empty() || contains(declared, id);
    let ids: Vec<String> = match (&request.harnesses, request.harness_mode) {
        (Some(requested), _) => requested.iter().filter(|id| allowed(id)).cloned().collect(),
        (None, HarnessMode::InstallOnly) if declared.is_empty() => request.configured.clone(),
        (None, HarnessMode::InstallOnly) => declared.clone(),
        (None, HarnessMode::Run) => {
            let supported = |id: &&String| has_adapter(id) && allowed(id);
            request.configured.iter().filter(supported).cloned().collect()
        }
    };
    let mut unique: Vec<String> = Vec::with_capacity(ids.len());
    for id in ids {
        if !contains(&unique, &id) {
            unique.push(id);
        }
    }
    unique
}

fn contains(ids: &[String], id: &str) -> bool {
    ids.iter().any(|other| other.eq_ignore_ascii_case(id))
}

/// The selection of one fixture, or why there is none.
fn selection(request: &Request, fixture: &Fixture) -> Result<Selection, String> {
    let Selection { profiles, languages } = &request.invoking;
    // A project without languages is unconstrained: every declaration overlaps it.
    let languages = if languages.is_empty() { &fixture.languages } else { languages };
    let choose = |dimension: &str, declared: &[String], invoking: &[String]| match (
        declared,
        request.selections,
    ) {
        ([], _) => Ok(invoking.to_vec()),
        (_, Selections::AsDeclared) => Ok(declared.to_vec()),
        (_, Selections::Intersect) => {
            let both = declared.iter().filter(|id| invoking.contains(id));
            match both.cloned().collect::<Vec<String>>() {
                none if none.is_empty() => {
                    Err(format!("no overlap with the configured {dimension}"))
                }
                both => Ok(both),
            }
        }
    };
    Ok(Selection {
        profiles: choose("profiles", &fixture.profiles, profiles)?,
        languages: choose("languages", &fixture.languages, languages)?,
    })
}

#[cfg(test)]
mod tests {
    use proctor_model::conformance::fixture::FixtureBounds;

    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    fn fixture(profiles: &[&str], languages: &[&str], harnesses: &[&str]) -> Fixture {
        Fixture {
            name: "f".into(),
            description: None,
            prompt: "p".into(),
            profiles: strings(profiles),
            languages: strings(languages),
            harnesses: strings(harnesses),
            expected_instruction_paths: vec![],
            checks: vec![],
            bounds: FixtureBounds::default(),
        }
    }

    fn request(selections: Selections, harness_mode: HarnessMode) -> Request {
        Request {
            selections,
            harness_mode,
            fixtures: vec![],
            harnesses: None,
            configured: strings(&["cursor", "claude", "codex"]),
            invoking: Selection { profiles: strings(&["a", "b"]), languages: strings(&["csharp"]) },
        }
    }

    fn run(request: &Request, fixture: &Fixture) -> Vec<Step> {
        let candidates = [Candidate { name: "f", fixture: Some(fixture) }];
        let has_adapter = |id: &str| ["claude", "codex"].contains(&id);
        plan(request, &candidates, has_adapter).into_iter().map(|p| p.step).collect()
    }

    fn ids(steps: &[Step]) -> Vec<&str> {
        let id = |step| match step {
            &Step::Run { ref harness, .. } | &Step::Skip { ref harness, .. } => harness.as_str(),
            &Step::Invalid => "-",
        };
        steps.iter().map(id).collect()
    }

    #[test]
    fn default_harnesses_depend_on_the_mode() {
        let plain = fixture(&[], &[], &[]);
        let listed = fixture(&[], &[], &["pi", "codex"]);
        let harness = request(Selections::AsDeclared, HarnessMode::Run);
        assert_eq!(ids(&run(&harness, &plain)), ["claude", "codex"]);
        assert_eq!(ids(&run(&harness, &listed)), ["codex"]);
        let install = request(Selections::AsDeclared, HarnessMode::InstallOnly);
        assert_eq!(ids(&run(&install, &plain)), ["cursor", "claude", "codex"]);
        assert_eq!(ids(&run(&install, &listed)), ["pi", "codex"]);
    }

    #[test]
    fn requested_ids_narrow_and_are_reported_as_written() {
        let mut install = request(Selections::AsDeclared, HarnessMode::InstallOnly);
        install.harnesses = Some(strings(&["Claude", "pi", "CLAUDE"]));
        assert_eq!(ids(&run(&install, &fixture(&[], &[], &["claude"]))), ["Claude"]);
        assert_eq!(ids(&run(&install, &fixture(&[], &[], &[]))), ["Claude", "pi"]);
        assert!(run(&install, &fixture(&[], &[], &["codex"])).is_empty());
    }

    #[test]
    fn normal_mode_intersects_and_says_what_does_not_overlap() {
        let normal = request(Selections::Intersect, HarnessMode::InstallOnly);
        let selected = |f: &Fixture| run(&normal, f).swap_remove(0);
        let Step::Run { selection, .. } = selected(&fixture(&["b", "z"], &[], &["pi"])) else {
            panic!("must run")
        };
        assert_eq!(selection.profiles, ["b"]);
        assert_eq!(selection.languages, ["csharp"]);
        let skip = |what: &str| Step::Skip {
            harness: "pi".into(),
            reason: format!("no overlap with the configured {what}"),
        };
        assert_eq!(selected(&fixture(&["z"], &[], &["pi"])), skip("profiles"));
        assert_eq!(selected(&fixture(&[], &["kotlin"], &["pi"])), skip("languages"));
    }

    #[test]
    fn source_mode_takes_declarations_as_they_are() {
        let source = request(Selections::AsDeclared, HarnessMode::InstallOnly);
        let Step::Run { selection, .. } =
            run(&source, &fixture(&["z"], &[], &["pi"])).swap_remove(0)
        else {
            panic!("must run")
        };
        assert_eq!(
            (selection.profiles, selection.languages),
            (strings(&["z"]), strings(&["csharp"]))
        );
    }

    #[test]
    fn an_invalid_fixture_is_one_row_and_a_filter_is_by_name() {
        let valid = fixture(&[], &[], &["pi"]);
        let candidates = [
            Candidate { name: "a", fixture: None },
            Candidate { name: "b", fixture: Some(&valid) },
        ];
        let mut request = request(Selections::AsDeclared, HarnessMode::InstallOnly);
        let all = plan(&request, &candidates, |_| true);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0], Planned { candidate: 0, step: Step::Invalid });
        request.fixtures = strings(&["b"]);
        assert_eq!(plan(&request, &candidates, |_| true).len(), 1);
    }
}
