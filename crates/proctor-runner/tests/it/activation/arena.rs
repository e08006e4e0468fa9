//! A sealed project whose skills compete, and measurements in it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::ControlFlow;

use camino::Utf8Path;
use proctor_formats::eval::{find, load_skill, skill_digest};
use proctor_grade::eval::Rates;
use proctor_model::eval::{ActivationStatus, PromptActivation, SkillActivation};
use proctor_redact::Redactor;
use proctor_runner::eval::activation::{
    Competitor, Job, Ran, Runs, Settings, SkillRun, Task, activator, run,
};
use proctor_runner::eval::{Event, Machine, Told};
use proctor_sandbox::{Launcher, Rooms};

use crate::scene::Scene;

/// A scene, and how often each prompt is run.
pub(super) struct Arena {
    pub(super) scene: Scene,
    pub(super) runs: Runs,
}

impl Arena {
    pub(super) fn new(harness: &str) -> Self {
        Self::of(Scene::new(), harness)
    }

    pub(super) fn of(mut scene: Scene, harness: &str) -> Self {
        harness.clone_into(&mut scene.options.harness);
        Self { scene, runs: fixed(1) }
    }

    /// Every skill of the project against all of them; those without cases are not measured.
    fn jobs(&self) -> Vec<Job> {
        let project = find(&self.scene.project, None).unwrap();
        let competitors: Vec<Competitor> = project
            .skills
            .iter()
            .map(|skill| Competitor {
                id: skill.id.clone(),
                folder: skill.folder.clone(),
                digest: skill_digest(&skill.folder).unwrap(),
            })
            .collect();
        let jobs = project.skills.iter().map(|skill| {
            let loaded = load_skill(&project, skill);
            assert!(loaded.is_valid(), "{:?}", loaded.diagnostics);
            let cases = loaded.expanded();
            let report = SkillActivation::new(&skill.id, ActivationStatus::NoCases);
            let task = (!cases.is_empty()).then(|| Task { cases, skills: competitors.clone() });
            Job { report, task }
        });
        jobs.collect()
    }

    pub(super) fn run(&mut self, name: &str) -> Ran {
        let jobs = self.jobs();
        let scene = &mut self.scene;
        let activator = activator(name, &scene.options).unwrap();
        let env: BTreeMap<String, String> = scene.home.environment().clone();
        let program = Utf8Path::new(env!("CARGO_BIN_EXE_proctor-trial"));
        let base = Utf8Path::from_path(scene.home.root()).unwrap().join("rooms");
        let settings = Settings {
            activator: activator.as_ref(),
            harness: &scene.options.harness,
            model: scene.model.as_deref(),
            runs: self.runs,
            threshold: scene.threshold,
            timeout: scene.timeout,
            max_cost_usd: scene.max_cost_usd,
            rates: Rates { input: 1.0, output: 5.0 },
            machine: Machine {
                launcher: &Launcher::new(program.as_std_path()),
                rooms: &Rooms::open(&base).unwrap(),
                env: &env,
                redactor: &Redactor::from_environment(env.clone()),
                cancel: &scene.cancel,
                proctor: program,
                project: &scene.project,
                archive: None,
            },
        };
        let (told, finished) = (&mut scene.told, &mut scene.finished);
        let mut observe = |event: Event<'_>| {
            if let Event::Told { told: what, .. } = event {
                told.push(what);
            }
        };
        let mut each = |run: &SkillRun| {
            finished.push(run.report.id.clone());
            if scene.cancel_after == Some(run.report.id.as_str()) {
                scene.cancel.cancel();
            }
            match scene.stop_after {
                Some(id) if id == run.report.id => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        run(&settings, jobs, &mut observe, &mut each)
    }

    /// How often the runs of this case were begun.
    pub(super) fn begun(&self, id: &str) -> usize {
        let begun = |told: &&Told| matches!(told, Told::Session { case, .. } if case == id);
        self.scene.told.iter().filter(begun).count()
    }
}

pub(super) fn fixed(runs: u32) -> Runs {
    Runs::Fixed(NonZeroU32::new(runs).unwrap())
}

pub(super) fn auto(ceiling: u32) -> Runs {
    Runs::Auto { ceiling: NonZeroU32::new(ceiling).unwrap() }
}

/// The report of a skill.
pub(super) fn report<'a>(ran: &'a Ran, id: &str) -> &'a SkillActivation {
    let found = ran.skills.iter().find(|run| run.report.id == id);
    &found.unwrap_or_else(|| panic!("no skill {id}: {ran:#?}")).report
}

/// What a prompt came to.
pub(super) fn prompt<'a>(report: &'a SkillActivation, case: &str) -> &'a PromptActivation {
    let found = report.prompts.iter().find(|prompt| prompt.case == case);
    found.unwrap_or_else(|| panic!("no prompt {case}: {report:#?}"))
}

/// In how many runs of a prompt each skill fired, as `deploy 4, none 1`.
pub(super) fn counts(report: &SkillActivation, case: &str) -> String {
    let counts = prompt(report, case).fired_counts.iter().flatten();
    counts.map(|(id, count)| format!("{id} {count}")).collect::<Vec<_>>().join(", ")
}
