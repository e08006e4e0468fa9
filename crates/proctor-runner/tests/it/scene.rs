//! A sealed project with skills, and runs in it.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{find, load_skill, skill_digest};
use proctor_grade::eval::Rates;
use proctor_model::eval::{CaseReport, SkillReport, SkillStatus};
use proctor_redact::Redactor;
use proctor_runner::eval::{
    Event, Grader, Job, Machine, Options, Ran, Runner, Settings, SkillRun, Task, Told, run, runner,
};
use proctor_sandbox::{Cancel, Launcher, Rooms};
use proctor_testkit::SealedHome;

use crate::judge::Judge;

/// The secret of the environment, which nothing may show.
pub(crate) const SECRET: &str = "sealed-secret-of-this-test";

/// A sealed project, and what a run in it is told.
pub(crate) struct Scene {
    pub(crate) home: SealedHome,
    pub(crate) project: Utf8PathBuf,
    /// Where rooms are made.
    pub(crate) rooms: Utf8PathBuf,
    pub(crate) options: Options,
    pub(crate) model: Option<String>,
    pub(crate) ablation: bool,
    pub(crate) threshold: f64,
    pub(crate) timeout: Duration,
    pub(crate) allow_exec: bool,
    pub(crate) max_cost_usd: f64,
    /// The built-in grader's model.
    pub(crate) judge: Option<Judge>,
    pub(crate) cancel: Cancel,
    /// What the runner said.
    pub(crate) told: Vec<Told>,
    /// The skills, in the order in which they were finished.
    pub(crate) finished: Vec<String>,
    /// The skill after which the run is to be stopped, or interrupted.
    pub(crate) stop_after: Option<&'static str>,
    pub(crate) cancel_after: Option<&'static str>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::in_home(SealedHome::new())
    }

    pub(crate) fn in_home(mut home: SealedHome) -> Self {
        home.set("A_SECRET", SECRET);
        let project = Utf8Path::from_path(home.root()).unwrap().join("project");
        fs::create_dir(&project).unwrap();
        let rooms = Utf8Path::from_path(home.root()).unwrap().join("rooms");
        Self {
            home,
            project,
            rooms,
            options: Options { harness: "scripted".to_owned(), ..Options::default() },
            model: None,
            ablation: false,
            threshold: 1.0,
            timeout: Duration::from_mins(2),
            allow_exec: false,
            max_cost_usd: 0.0,
            judge: None,
            cancel: Cancel::new().unwrap(),
            told: Vec::new(),
            finished: Vec::new(),
            stop_after: None,
            cancel_after: None,
        }
    }

    /// A scene with one skill `deploy` whose cases are `cases`, a YAML list.
    pub(crate) fn with_cases(cases: &str) -> Self {
        let scene = Self::new();
        scene.skill("deploy", cases);
        scene
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Adds a skill with cases, a YAML list.
    pub(crate) fn skill(&self, id: &str, cases: &str) {
        self.write(
            &format!("skills/{id}/SKILL.md"),
            format!(
                "---\nname: {id}\ndescription: Does the {id} of services, carefully\n---\n\n# {id}\n\n\
                 Ask which cluster is meant before anything of the {id} happens.\n"
            ),
        );
        self.write(&format!("skills/{id}/evals/some.eval.yaml"), format!("cases:\n{cases}"));
    }

    /// A script beside the cases of the skill `deploy`.
    pub(crate) fn script(&self, name: &str, steps: &str) {
        self.write(&format!("skills/deploy/evals/{name}"), format!("steps:\n{steps}"));
    }

    /// The command of the `command` runner: a shell script.
    pub(crate) fn command(&mut self, script: &str) {
        self.write("runner.sh", script);
        self.options.command = Some("sh ./runner.sh".to_owned());
    }

    /// Every skill of the project, to be run.
    pub(crate) fn jobs(&self) -> Vec<Job> {
        let project = find(&self.project, None).unwrap();
        let jobs = project.skills.iter().map(|skill| {
            let loaded = load_skill(&project, skill);
            assert!(loaded.is_valid(), "{:?}", loaded.diagnostics);
            let mut report = SkillReport::new(&skill.id, SkillStatus::DryRun);
            report.digest = Some(skill_digest(&skill.folder).unwrap());
            let task = Task {
                folder: skill.folder.clone(),
                eval_folders: skill.eval_folders.clone(),
                cases: loaded.expanded(),
                skill_tokens: 7,
            };
            Job { report, task: Some(task) }
        });
        jobs.collect()
    }

    pub(crate) fn run(&mut self, name: &str) -> Ran {
        let runner = runner(name, &self.options).unwrap();
        let jobs = self.jobs();
        self.run_jobs(runner.as_ref(), jobs)
    }

    pub(crate) fn run_jobs(&mut self, runner: &dyn Runner, jobs: Vec<Job>) -> Ran {
        let env: BTreeMap<String, String> = self.home.environment().clone();
        let program = Utf8Path::new(env!("CARGO_BIN_EXE_proctor-trial"));
        let settings = Settings {
            runner,
            harness: &self.options.harness,
            model: self.model.as_deref(),
            ablation: self.ablation,
            threshold: self.threshold,
            timeout: self.timeout,
            allow_exec: self.allow_exec,
            grader: self.judge.as_ref().map(|model| Grader { model }),
            max_cost_usd: self.max_cost_usd,
            rates: Rates { input: 1.0, output: 5.0 },
            machine: Machine {
                launcher: &Launcher::new(program.as_std_path()),
                rooms: &Rooms::open(&self.rooms).unwrap(),
                env: &env,
                redactor: &Redactor::from_environment(env.clone()),
                cancel: &self.cancel,
                proctor: program,
                project: &self.project,
                archive: None,
            },
        };
        let (told, finished) = (&mut self.told, &mut self.finished);
        let mut observe = |event: Event<'_>| {
            if let Event::Told { told: what, .. } = event {
                told.push(what);
            }
        };
        let mut each = |run: &SkillRun| {
            finished.push(run.report.id.clone());
            if self.cancel_after == Some(run.report.id.as_str()) {
                self.cancel.cancel();
            }
            match self.stop_after {
                Some(id) if id == run.report.id => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        };
        run(&settings, jobs, &mut observe, &mut each)
    }

    /// The report of the only skill.
    pub(crate) fn report(&mut self, name: &str) -> SkillReport {
        let mut ran = self.run(name);
        assert_eq!(ran.skills.len(), 1);
        ran.skills.remove(0).report
    }

    /// The report of the only case.
    pub(crate) fn case(&mut self, name: &str) -> CaseReport {
        let mut report = self.report(name);
        assert_eq!(report.cases.len(), 1, "{report:#?}");
        report.cases.remove(0)
    }

    /// Everything that the runner wrote to its standard error.
    pub(crate) fn stderr(&self) -> String {
        let lines = self.told.iter().filter_map(|told| match told {
            Told::Stderr(line) => Some(line.as_str()),
            _ => None,
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// A file that a stand-in left in the project.
    pub(crate) fn left(&self, path: &str) -> String {
        fs::read_to_string(self.project.join(path)).unwrap()
    }

    /// Whether nothing is left of the rooms.
    pub(crate) fn is_tidy(&self) -> bool {
        fs::read_dir(&self.rooms).unwrap().flatten().all(|entry| entry.file_name() == "lock")
    }
}
