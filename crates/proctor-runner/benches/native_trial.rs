//! What a trial of the runner `native` costs beyond the agent that it starts.
//!
//! `cargo bench -p proctor-runner --bench native_trial` prints the CPU time of one case with both arms
//! beside that of plain fork and exec of the same trivial agent, twice. CPU time is that of the
//! whole process tree, since other work on the machine changes wall time.
//!
//! A case makes and removes some fifty files and folders. Ext4 makes new ones dear while thousands
//! have just been removed, which no run with a real agent comes near: `TMPDIR=/dev/shm` shows the
//! cost without that.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use nix::sys::resource::{UsageWho, getrusage};
use proctor_grade::eval::Rates;
use proctor_model::Location;
use proctor_model::eval::{ExpandedCase, Place, SkillReport, SkillStatus};
use proctor_redact::Redactor;
use proctor_runner::eval::{Job, Machine, Options, Settings, Task, run, runner};
use proctor_sandbox::{Cancel, Launcher, Rooms};
use serde_json::json;

/// Cases a measurement.
const CASES: usize = 128;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    write_project(root);
    let base = fork_and_exec(root);
    println!("trivial agent, {CASES} cases with both arms");
    println!("  fork and exec, twice     {:7.3} ms CPU", millis(base.cpu));
    for width in [1, 4, 16, 64] {
        let cost = native(root, width);
        println!(
            "  native, {width:2} side by side  {:7.3} ms CPU, overhead {:7.3} ms CPU, {:7.3} ms wall",
            millis(cost.cpu),
            millis(cost.cpu) - millis(base.cpu),
            millis(cost.wall),
        );
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A cost for each case.
struct Cost {
    wall: Duration,
    cpu: Duration,
}

fn measure(work: impl FnOnce()) -> Cost {
    let (start, before) = (Instant::now(), cpu());
    work();
    let per_case = |total: Duration| total / u32::try_from(CASES).unwrap();
    Cost { wall: per_case(start.elapsed()), cpu: per_case(cpu().saturating_sub(before)) }
}

/// CPU time of this process and of all descendants that were waited for.
fn cpu() -> Duration {
    let of = |who| {
        let usage = getrusage(who).unwrap();
        [usage.user_time(), usage.system_time()]
            .map(|time| {
                Duration::from_secs(u64::try_from(time.tv_sec()).unwrap())
                    + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap())
            })
            .into_iter()
            .sum::<Duration>()
    };
    of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)
}

fn fork_and_exec(root: &Utf8Path) -> Cost {
    let agent = root.join("bin/claude");
    measure(|| {
        for _ in 0..2 * CASES {
            let mut command = Command::new(&agent);
            command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::null());
            assert!(command.status().unwrap().success());
        }
    })
}

fn native(root: &Utf8Path, width: usize) -> Cost {
    let env = BTreeMap::from([
        ("PATH".to_owned(), format!("{root}/bin:/usr/bin:/bin")),
        ("ANTHROPIC_API_KEY".to_owned(), "made-up".to_owned()),
    ]);
    let program = Utf8Path::new(env!("CARGO_BIN_EXE_proctor-trial"));
    let options = Options {
        harness: "claude".to_owned(),
        jobs: NonZeroUsize::new(width),
        ..Options::default()
    };
    let runner = runner("native", &options).unwrap();
    let settings = Settings {
        runner: runner.as_ref(),
        harness: "claude",
        model: None,
        ablation: true,
        threshold: 1.0,
        timeout: Duration::from_mins(10),
        allow_exec: false,
        grader: None,
        max_cost_usd: 0.0,
        rates: Rates::default(),
        machine: Machine {
            launcher: &Launcher::new(program.as_std_path()),
            rooms: &Rooms::open(&root.join("rooms")).unwrap(),
            env: &env,
            redactor: &Redactor::from_environment(env.clone()),
            cancel: &Cancel::new().unwrap(),
            proctor: program,
            project: &root.join("project"),
            archive: None,
        },
    };
    let task = Task {
        folder: root.join("project/skills/deploy"),
        eval_folders: vec![root.join("project/skills/deploy/evals")],
        cases: (0..CASES).map(case).collect(),
        skill_tokens: 0,
    };
    let report = SkillReport::new("deploy", SkillStatus::DryRun);
    let jobs = vec![Job { report, task: Some(task) }];
    measure(|| {
        let mut each = |_: &_| ControlFlow::Continue(());
        let ran = run(&settings, jobs, &mut |_| {}, &mut each);
        let score = ran.skills[0].kept.unwrap();
        assert_eq!(score.passed, CASES as u64, "{:#?}", ran.skills[0].report.cases[0]);
    })
}

fn case(number: usize) -> ExpandedCase {
    ExpandedCase {
        id: format!("case-{number}"),
        description: None,
        prompt: "Explain it".to_owned(),
        expect_trigger: false,
        files: Vec::new(),
        assertions: Vec::new(),
        rubric: None,
        model: None,
        tags: Vec::new(),
        near_miss_of: None,
        place: Place {
            file: "skills/deploy/evals/a.eval.yaml".into(),
            location: Location { line: 1, column: 1 },
        },
    }
}

/// A skill of an ordinary size, and an agent that says at once that it is done.
fn write_project(root: &Utf8Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let body = "Ask which cluster is meant before anything happens to it.\n".repeat(100);
    write(
        "project/skills/deploy/SKILL.md",
        &format!("---\nname: deploy\ndescription: d\n---\n{body}"),
    );
    for number in 0..5 {
        write(&format!("project/skills/deploy/references/{number}.md"), &body);
    }
    write("project/skills/deploy/evals/a.eval.yaml", "cases: []\n");
    let line = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
                      "terminal_reason": "completed", "result": "done"});
    write("bin/claude", &format!("#!/bin/sh\necho '{line}'\n"));
    let agent = root.join("bin/claude");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
}
