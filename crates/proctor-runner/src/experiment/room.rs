//! What setups and tests find in their sandbox beside the workspace: variables, the run context, the
//! program with which they ask for evidence, and what keeps their tools from obeying the workspace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use camino::Utf8PathBuf;
use proctor_formats::experiment::Values;
use proctor_query::{Dimensions, Evidence};
use proctor_sandbox::isolation::{Bind, LAUNCHER, Sandbox, Wanted};
use proctor_sandbox::{Room, find_program};
use serde_json::json;

use super::desk::Desk;
use super::trial::{Stop, Trial, broken};
use super::{GIT_PROGRAM, KEY_VARIABLE, QUERY_PROGRAM, SOCKET_VARIABLE, WORKSPACE_VARIABLE};

/// Where programs are found.
const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Where the things of tests are, seen from inside a sandbox with a file tree of its own.
const INSIDE: &str = "/run/proctor/tests";

/// What Python reads before a script (`site` of its library).
const PYTHON_START: &str = include_str!("sitecustomize.py");

/// The names of variables: as they are, and as they were.
const PREFIXES: [&str; 2] = ["AX", "AXP"];

/// What tests need of the run, in a room of its own.
pub(super) struct TestRoom {
    /// Holds `shown`, which tests see whole.
    room: Room,
    desk: Desk,
    token: String,
    /// This program, outside.
    proctor: Utf8PathBuf,
    /// The agent's stream, for tests of the time when there was a trace: those in two buckets.
    trace: Option<Utf8PathBuf>,
}

impl TestRoom {
    /// Opens the desk of a trial of which nothing has happened yet.
    pub(super) fn open(trial: &Trial<'_>) -> Result<Self, Stop> {
        let room = trial.room("desk")?;
        let token = token().map_err(broken)?;
        let row = trial.variant.row();
        let run = Dimensions {
            run_id: trial.planned.id.clone(),
            run_request_id: trial.settings.run_id.to_owned(),
            agent: row.agent.clone(),
            model: row.model.clone(),
            prompt_id: row.prompt.clone(),
            extension_id: row.extension.clone(),
            repeat_idx: trial.planned.repeat_idx,
            run_kind: "experiment".to_owned(),
            experiment_id: trial.settings.experiment_id.to_owned(),
            variant_id: trial.planned.variant_id.clone(),
            effort: row.effort.clone(),
            environment: row.environment.clone(),
            product: row.product.clone(),
        };
        let evidence = Evidence::new(&run).map_err(broken)?;
        let shown = room.root().join(SHOWN);
        for folder in ["bin", "python"] {
            fs_err::create_dir_all(shown.join(folder)).map_err(broken)?;
        }
        let socket = shown.join("evidence.sock");
        let desk =
            Desk::open(socket.as_std_path(), &run.run_id, &token, evidence).map_err(broken)?;
        let context = json!({
            "run_id": run.run_id,
            "agent": row.agent,
            "prompt_id": row.prompt,
            "variant_id": trial.planned.variant_id,
            "experiment_id": trial.settings.experiment_id,
            "model": row.model,
            "effort": row.effort,
            "environment": row.environment,
            "product": row.product,
            "extension_id": row.extension,
            "repeat_idx": run.repeat_idx,
        });
        let is_early = trial.variant.tests.iter().any(|test| test.bucket.is_some());
        let trace = is_early.then(|| trial.folder.join(TRACE));
        let proctor = trial.settings.proctor.to_owned();
        let tests = Self { room, desk, token, proctor, trace };
        tests.furnish(&trial.settings.spec.wanted).map_err(broken)?;
        let text = serde_json::to_vec_pretty(&context).map_err(broken)?;
        fs_err::write(tests.outside("run-context.json"), text).map_err(broken)?;
        Ok(tests)
    }

    /// Lays out the programs of tests. All are this one, under other names.
    fn furnish(&self, wanted: &Wanted) -> std::io::Result<()> {
        let program = if has_own_tree(wanted) { LAUNCHER } else { self.proctor.as_str() };
        let link = |name: &str| {
            let link = self.outside("bin").join(name);
            fs_err::os::unix::fs::symlink(program, link)
        };
        link(QUERY_PROGRAM)?;
        // Where there is none, a test must be able to see that.
        if find_program(GIT_PROGRAM.as_ref(), Some(SEARCH.as_ref()), Path::new("/")).is_ok() {
            link(GIT_PROGRAM)?;
        }
        fs_err::write(self.outside("python").join("sitecustomize.py"), PYTHON_START)?;
        match &self.trace {
            Some(_) if has_own_tree(wanted) => fs_err::write(self.outside(TRACE), ""),
            Some(trace) => fs_err::os::unix::fs::symlink(trace, self.outside(TRACE)),
            None => Ok(()),
        }
    }

    pub(super) fn desk(&self) -> &Desk {
        &self.desk
    }

    fn outside(&self, name: &str) -> Utf8PathBuf {
        self.room.root().join(SHOWN).join(name)
    }

    /// What a sandbox must show for tests to run in it.
    pub(super) fn binds(&self, wanted: &Wanted) -> Vec<Bind> {
        let bind = |from: PathBuf, to: PathBuf| Bind { from, to };
        let shown: PathBuf = self.room.root().join(SHOWN).into();
        if !has_own_tree(wanted) {
            // What is to be read where everything else is shut.
            return vec![Bind::same(shown), Bind::same(&self.proctor)];
        }
        let mut binds = vec![bind(shown, INSIDE.into())];
        if matches!(wanted, Wanted::Container { .. }) {
            binds.push(bind(self.proctor.clone().into(), LAUNCHER.into()));
        }
        binds.extend(self.trace.iter().map(|trace| bind(trace.into(), trace_inside())));
        binds
    }

    /// The folder of the things of tests, seen from inside.
    fn inside(&self, wanted: &Wanted) -> String {
        if has_own_tree(wanted) {
            INSIDE.to_owned()
        } else {
            self.room.root().join(SHOWN).to_string()
        }
    }
}

fn trace_inside() -> PathBuf {
    Path::new(INSIDE).join(TRACE)
}

fn has_own_tree(wanted: &Wanted) -> bool {
    match wanted {
        Wanted::Bubblewrap | Wanted::Container { .. } => true,
        Wanted::Landlock | Wanted::None => false,
    }
}

/// 128 bits by chance, in hexadecimal.
fn token() -> Result<String, getrandom::Error> {
    Ok(format!("{:016x}{:016x}", getrandom::u64()?, getrandom::u64()?))
}

/// The environment of setups and checks.
pub(super) fn script_environment(
    sandbox: &Sandbox<'_>,
    values: &Values,
) -> BTreeMap<String, String> {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let home =
        if sandbox.isolation().users.holds() { "/root".to_owned() } else { path(sandbox.home()) };
    let mut env: BTreeMap<String, String> = [
        ("PATH", SEARCH.to_owned()),
        ("HOME", home),
        ("TMPDIR", path(sandbox.tmp())),
        ("LANG", "C.UTF-8".to_owned()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    let declared = values.variables.iter();
    env.extend(declared.map(|(name, value)| (name.to_string(), value.expose().to_owned())));
    env
}

/// The environment of tests: that of scripts, and what the agent never had.
pub(super) fn test_environment(
    trial: &Trial<'_>,
    sandbox: &Sandbox<'_>,
    tests: &TestRoom,
) -> BTreeMap<String, String> {
    let mut env = script_environment(sandbox, trial.values);
    let inside = tests.inside(&trial.settings.spec.wanted);
    let search = env.get("PATH").cloned().unwrap_or_default();
    env.insert("PATH".to_owned(), format!("{inside}/bin:{search}"));
    let python = format!("{inside}/python");
    let python = match env.get(PYTHON_PATH).filter(|path| !path.is_empty()) {
        Some(declared) => format!("{python}:{declared}"),
        None => python,
    };
    env.insert(PYTHON_PATH.to_owned(), python);
    let workspace = sandbox.workspace().to_string_lossy().into_owned();
    env.insert(WORKSPACE_VARIABLE.to_owned(), workspace);
    for prefix in PREFIXES {
        for (name, value) in [
            ("RUN_ID", trial.planned.id.clone()),
            ("VARIANT_ID", trial.planned.variant_id.clone()),
            ("RUN_CONTEXT_PATH", format!("{inside}/run-context.json")),
            // Nothing is there, but for early experiments.
            ("TRACE_PATH", format!("{inside}/{TRACE}")),
        ] {
            env.insert(format!("{prefix}_{name}"), value);
        }
    }
    env.insert(KEY_VARIABLE.to_owned(), tests.token.clone());
    env.insert(SOCKET_VARIABLE.to_owned(), format!("{inside}/evidence.sock"));
    env
}

/// Where Python looks for modules, for the folder with [`PYTHON_START`].
const PYTHON_PATH: &str = "PYTHONPATH";
/// The folder in a room that tests see.
const SHOWN: &str = "shown";
/// The name of the trace that the tests of early experiments read.
const TRACE: &str = "agent-events.jsonl";
