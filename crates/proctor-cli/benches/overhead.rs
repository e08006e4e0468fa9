//! What a conformance trial costs beyond the work that it stands for.
//!
//! `cargo bench -p proctor-cli --bench overhead` prints two tables: an install-only trial beside a
//! plain copy of the files that it leaves, and a trial of a trivial agent beside plain fork and
//! exec of the same agent, from 1 to 256 side by side. The second installs a corpus of one rule and
//! counts what an install-only trial of the same fixture costs as the copy of its files. CPU time is
//! that of the whole process tree; other work on the machine changes wall time.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use nix::sys::resource::{UsageWho, getrusage};
use proctor_corpus::Compat;
use proctor_redact::Redactor;
use proctor_runner::conformance::plan::HarnessMode;
use proctor_runner::conformance::{CorpusChoice, Machine, Options, examine};
use proctor_sandbox::Cancel;
use serde_json::json;

/// Trials a measurement.
const TRIALS: usize = 256;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(folder.path()).unwrap();
    write_corpus(&root.join("corpus"), 40, 10);
    write_agent(&root.join("bin"));

    println!("install-only trial of 51 files, {TRIALS} in a row");
    let plain = copy(root);
    let trial = run(root, HarnessMode::InstallOnly, 1);
    println!(
        "  copy of the same files  {:7.3} ms wall, {:6.3} ms CPU",
        millis(plain.wall),
        millis(plain.cpu)
    );
    println!(
        "  trial                   {:7.3} ms wall, {:6.3} ms CPU",
        millis(trial.wall),
        millis(trial.cpu)
    );
    println!("  overhead                {:7.3} ms CPU\n", millis(trial.cpu) - millis(plain.cpu));

    std::fs::remove_dir_all(root.join("corpus")).unwrap();
    write_corpus(&root.join("corpus"), 0, 0);
    println!("trial of a trivial agent, {TRIALS} at each width");
    let base = fork_and_exec(root);
    let install = run(root, HarnessMode::InstallOnly, 1).cpu;
    println!("  fork and exec alone     {:7.3} ms CPU", millis(base));
    println!("  its files               {:7.3} ms CPU", millis(install));
    for width in [1, 4, 16, 64, 256] {
        let measured = run(root, HarnessMode::Run, width);
        println!(
            "  {width:3} side by side        {:7.3} ms CPU, overhead {:6.3} ms CPU, {:7.3} ms wall",
            millis(measured.cpu),
            millis(measured.cpu) - millis(base) - millis(install),
            millis(measured.wall),
        );
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// A cost for each trial.
struct Cost {
    wall: Duration,
    cpu: Duration,
}

fn measure(work: impl FnOnce()) -> Cost {
    let (start, before) = (Instant::now(), cpu());
    work();
    let per_trial = |total: Duration| total / u32::try_from(TRIALS).unwrap();
    Cost { wall: per_trial(start.elapsed()), cpu: per_trial(cpu().saturating_sub(before)) }
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

fn run(root: &Utf8Path, harness_mode: HarnessMode, width: usize) -> Cost {
    let options = Options {
        project: root.to_owned(),
        corpus: CorpusChoice::Named(root.join("corpus")),
        fixtures_root: None,
        harnesses: Some(vec!["claude".to_owned()]),
        fixtures: Vec::new(),
        harness_mode,
        compat: Compat::Proctor,
        timeout: None,
        max_budget_usd: None,
        first_output: Duration::from_mins(1),
        between_output: Duration::from_mins(1),
        slots: NonZeroUsize::new(width).unwrap(),
        keep_transcripts: false,
    };
    let env = BTreeMap::from([("PATH".to_owned(), format!("{root}/bin:/usr/bin:/bin"))]);
    let machine = Machine {
        env: &env,
        redactor: &Redactor::from_environment(env.clone()),
        cancel: &Cancel::new().unwrap(),
        temporary: root,
        archive: None,
        proctor: &Utf8PathBuf::from(env!("CARGO_BIN_EXE_proctor")),
    };
    measure(|| {
        let examined = examine(&options, &machine, &mut |_| {}).unwrap();
        let summary = examined.report.summary;
        assert_eq!(summary.passed, TRIALS as u64, "{:#?}", examined.report.results[0]);
    })
}

/// Copies what one trial leaves, once a trial, and removes it again.
fn copy(root: &Utf8Path) -> Cost {
    let sample = root.join("sample");
    std::fs::create_dir(&sample).unwrap();
    let corpus = proctor_corpus::Corpus::open(&root.join("corpus")).unwrap();
    let selection = proctor_corpus::Selection {
        harnesses: vec!["claude".to_owned()],
        profiles: vec!["p/one".to_owned()],
        languages: vec![],
    };
    let slice = corpus.slice(&selection, Compat::Proctor).unwrap();
    slice.install_fresh(&sample).unwrap();
    let target = root.join("copy");
    measure(|| {
        for _ in 0..TRIALS {
            copy_tree(sample.as_std_path(), target.as_std_path());
            std::fs::remove_dir_all(&target).unwrap();
        }
    })
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_tree(&path, &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(std::fs::read_link(&path).unwrap(), target).unwrap();
        } else {
            std::fs::copy(&path, target).unwrap();
        }
    }
}

fn fork_and_exec(root: &Utf8Path) -> Duration {
    let agent = root.join("bin/claude");
    measure(|| {
        for _ in 0..TRIALS {
            let mut command = Command::new(&agent);
            command.current_dir(root).stdin(Stdio::null()).stdout(Stdio::null());
            assert!(command.status().unwrap().success());
        }
    })
    .cpu
}

/// An agent that says at once that it is done.
fn write_agent(bin: &Utf8Path) {
    std::fs::create_dir(bin).unwrap();
    let line = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
                      "terminal_reason": "completed", "result": "done"});
    let agent = bin.join("claude");
    std::fs::write(&agent, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A corpus of some rules and skills, and one fixture a trial.
fn write_corpus(corpus: &Utf8Path, rules: usize, skills: usize) {
    let write = |path: &str, text: &str| {
        let path = corpus.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let skills: Vec<String> = (0..skills).map(|n| format!("skill-{n}")).collect();
    let manifest = json!({"schemaVersion": "1.0", "harnesses": ["claude"], "profiles": ["p/one"],
                          "languages": [], "profileCatalog": "profile-catalog.json"});
    let catalog = json!({"schemaVersion": "1.0", "engineeringProfiles": [],
                         "publicProfiles": [{"id": "p/one", "availableTargets": skills}]});
    write(".cratis/ai/manifest.json", &manifest.to_string());
    write(".cratis/ai/profile-catalog.json", &catalog.to_string());
    write(".cratis/ai/hooks/settings.template.json", "{}\n");
    for n in 0..rules {
        write(&format!(".cratis/ai/rules/rule-{n}.md"), &"Be exact.\n".repeat(200));
    }
    write(".cratis/ai/rules/general.md", "# General\n");
    for skill in &skills {
        write(&format!(".cratis/ai/skills/{skill}/SKILL.md"), &"# Skill\n".repeat(200));
    }
    for n in 0..TRIALS {
        let name = format!("fixture-{n:03}");
        let fixture = json!({
            "name": name, "prompt": "Do nothing.",
            "checks": [
                {"type": "file_exists", "path": ".cratis/ai/rules/general.md", "phase": "install"},
                {"type": "file_absent", "path": "out.txt"}
            ]
        });
        write(&format!("Evaluations/conformance/{name}/fixture.json"), &fixture.to_string());
    }
}
