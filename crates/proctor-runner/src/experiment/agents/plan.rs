//! Which program plays an agent, with what.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::Values;
use proctor_harness::{
    Adapter, Credentials, HomeFile, Login, RoomRequest, SessionRequest, Unavailable,
};
use proctor_model::ResolvedServer;
use proctor_model::experiment::{
    Agent, AgentMode, Dest, Limits, Model, SecretText, Skill, Variant,
};
use proctor_sandbox::Cancel;
use proctor_sandbox::isolation::{Bind, Sandbox, Wanted};

use super::super::cap::Bound;
use super::programs::Needs;
use super::{furnish, servers};

/// The script of the built-in agent, beside the experiment's file and in the home of its room.
const SCRIPT: &str = "agent.yaml";
const SCRIPT_IN_HOME: &str = ".proctor/agent.yaml";

/// A script or a login that is larger is refused.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Strings of a login that are at least so long are secrets.
const SECRET_LENGTH: usize = 16;

/// Tells an agent how long it may work.
const TIME_VARIABLE: &str = "PROCTOR_MAX_TIME_SECONDS";

/// What the agents of a run start from.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The environment of the user.
    pub env: &'a BTreeMap<String, String>,
    /// This program, which contains agents and the client of the Agent Client Protocol.
    pub proctor: &'a Utf8Path,
    /// The folder of the experiment's file.
    pub folder: &'a Utf8Path,
    /// The means by which rooms are kept apart.
    pub wanted: &'a Wanted,
    /// Who plays.
    pub play: Play,
}

/// Who plays the agents of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Play {
    /// The programs that it names.
    Real,
    /// A driver that spends nothing and needs nothing.
    Mock,
}

/// Why there is no agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// Nothing is known of such an agent.
    #[error(
        "there is no agent `{name}`: known are claude, codex and scripted; every other one needs \
         `acp: [COMMAND, ...]`, a command that speaks the Agent Client Protocol"
    )]
    Unknown {
        /// As the experiment names it.
        name: String,
    },
    /// The program is not there, and nothing is that could bring it.
    #[error("the agent `{name}`: `{program}` is not on PATH, and no setup script could install it")]
    NotInstalled {
        /// As the experiment names it.
        name: String,
        /// Its program.
        program: String,
    },
    /// It would find no credentials.
    #[error("the agent `{name}` has no credentials: looked for {}", tried.join(", "))]
    NoCredentials {
        /// As the experiment names it.
        name: String,
        /// Names of variables and files.
        tried: Vec<String>,
    },
    /// It cannot do what the experiment asks of it.
    #[error("the agent `{name}`: {why}")]
    Unable {
        /// As the experiment names it.
        name: String,
        /// What it cannot do.
        why: Unavailable,
    },
    /// A server lacks a value.
    #[error("the MCP server `{server}`: {what}")]
    Server {
        /// Its name.
        server: String,
        /// What is missing.
        what: String,
    },
    /// A file that it needs cannot be read.
    #[error("`{path}` cannot be read: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A skill has no place in the workspace.
    #[error("the skill `{name}` has no place in the workspace")]
    Skill {
        /// Its name.
        name: String,
    },
    /// Its files cannot be put into its home.
    #[error("the files of the agent cannot be put into its home: {said}")]
    Home {
        /// What was said about it.
        said: String,
    },
}

/// Everything that stands in the way of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct AgentErrors(pub Vec<AgentError>);

impl From<AgentError> for AgentErrors {
    fn from(error: AgentError) -> Self {
        Self(vec![error])
    }
}

impl AgentError {
    /// Whether it stands whatever values the experiment's variables have.
    pub fn is_certain(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::NotInstalled { .. })
    }
}

/// Where a room has its folders, seen from inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    workspace: Utf8PathBuf,
    home: Utf8PathBuf,
    script: Utf8PathBuf,
}

impl Place {
    pub(super) fn new(workspace: Utf8PathBuf, home: Utf8PathBuf) -> Self {
        let script = home.join(SCRIPT_IN_HOME);
        Self { workspace, home, script }
    }

    /// Of this sandbox.
    pub fn in_sandbox(sandbox: &Sandbox<'_>) -> Self {
        // Both are paths of ours.
        let utf8 = |path: &Path| Utf8PathBuf::from(path.to_string_lossy().into_owned());
        Self::new(utf8(sandbox.workspace()), utf8(sandbox.home()))
    }
}

/// How the agent of one variant is driven. `Debug` shows no credentials.
pub struct AgentPlan {
    adapter: &'static dyn Adapter,
    /// The program, as it is called inside.
    program: Option<String>,
    acp: Vec<String>,
    model: Option<Model>,
    mode: AgentMode,
    servers: Vec<ResolvedServer>,
    limits: Limits,
    binds: Vec<Bind>,
    search: Vec<PathBuf>,
    credentials: BTreeMap<String, String>,
    /// What is in its home beside what the adapter puts there.
    files: Vec<HomeFile>,
    secrets: Vec<SecretText>,
    proctor: Utf8PathBuf,
    play: Play,
}

/// What an agent needs on this machine. Nothing is started; that a model exists and that
/// credentials are accepted, only a session tells.
///
/// # Errors
///
/// Everything that is known to stand in the way.
pub fn prepare(
    variant: &Variant,
    values: &Values,
    ground: &Ground<'_>,
) -> Result<AgentPlan, AgentErrors> {
    let agent = &variant.agent;
    let adapter = adapter_of(agent, ground.play)?;
    let mut plan = AgentPlan {
        adapter,
        program: None,
        acp: Vec::new(),
        model: agent.model.clone(),
        mode: agent.mode.unwrap_or(AgentMode::Build),
        servers: Vec::new(),
        limits: variant.limits,
        binds: Vec::new(),
        search: Vec::new(),
        credentials: BTreeMap::new(),
        files: Vec::new(),
        secrets: Vec::new(),
        proctor: ground.proctor.to_owned(),
        play: ground.play,
    };
    let has_tree = match ground.wanted {
        Wanted::Bubblewrap | Wanted::Container { .. } => true,
        Wanted::Landlock | Wanted::None => false,
    };
    let mut errors = Vec::new();
    match servers::resolve(variant, values) {
        Ok(servers) => plan.servers = servers,
        Err(error) => errors.push(error),
    }
    let mut needs = Needs::new(has_tree);
    match ground.play {
        Play::Mock => plan.show_proctor(&mut needs),
        Play::Real => errors.extend(plan.cast(variant, values, ground, &mut needs)),
    }
    plan.binds = needs.binds();
    plan.search = needs.search;
    // What the program cannot do is known before anything is run.
    let place = Place::new("/workspace".into(), "/home/agent".into());
    let unable = |why| AgentError::Unable { name: agent.name.to_string(), why };
    errors.extend(plan.adapter.command(&plan.request(&place, "")).map_err(unable).err());
    if errors.is_empty() { Ok(plan) } else { Err(AgentErrors(errors)) }
}

fn adapter_of(agent: &Agent, play: Play) -> Result<&'static dyn Adapter, AgentError> {
    match (play, &agent.acp) {
        (Play::Mock, _) => Ok(proctor_harness::mock()),
        (Play::Real, Some(_)) => Ok(proctor_harness::acp()),
        (Play::Real, None) => {
            named(agent).ok_or_else(|| AgentError::Unknown { name: agent.name.to_string() })
        }
    }
}

/// The adapter that has the name of the agent, whoever plays it.
fn named(agent: &Agent) -> Option<&'static dyn Adapter> {
    proctor_harness::find(agent.name.as_str())
}

impl AgentPlan {
    /// Finds what the real program needs; returns what is not to be found.
    fn cast(
        &mut self,
        variant: &Variant,
        values: &Values,
        ground: &Ground<'_>,
        needs: &mut Needs,
    ) -> Vec<AgentError> {
        let mut errors = Vec::new();
        let agent = &variant.agent;
        let name = || agent.name.to_string();
        if let Some(command) = &agent.acp {
            self.show_proctor(needs);
            self.acp = find_command(command, ground, needs);
        } else if self.adapter.id() == "scripted" {
            self.show_proctor(needs);
            match read(ground.folder.join(SCRIPT).as_std_path()) {
                Ok(script) => {
                    let content = SecretText::new(script);
                    self.files.push(HomeFile { path: SCRIPT_IN_HOME.into(), content });
                }
                Err(error) => errors.push(error),
            }
        } else {
            let program = self.adapter.id();
            self.program = find(program, ground, needs);
            let brings = variant.setups().any(|setup| !setup.script.trim().is_empty());
            if self.program.is_none() && !brings && !is_image(ground.wanted) {
                let program = program.to_owned();
                errors.push(AgentError::NotInstalled { name: name(), program });
            }
        }
        // An agent behind the protocol that has the name of a known one gets what that one gets.
        if let Some(adapter) = named(agent) {
            errors.extend(self.take_credentials(adapter, values, ground).err());
        }
        errors
    }

    /// This program itself is started inside.
    fn show_proctor(&mut self, needs: &mut Needs) {
        let inside = needs.file(self.proctor.as_std_path());
        self.proctor = Utf8PathBuf::from_path_buf(inside).unwrap_or_else(|_| self.proctor.clone());
    }

    /// Takes the variables that are the program's own; without any, the file of a login.
    fn take_credentials(
        &mut self,
        adapter: &dyn Adapter,
        values: &Values,
        ground: &Ground<'_>,
    ) -> Result<(), AgentError> {
        let own_folder = adapter.own_folder().map(|folder| folder.variable);
        for (name, value) in ground.env {
            // The folder is that of this machine.
            let is_own = adapter.variables().iter().any(|own| matches(own, name));
            if is_own && Some(name.as_str()) != own_folder && !value.is_empty() {
                self.credentials.insert(name.clone(), value.clone());
                self.secrets.push(SecretText::new(value.clone()));
            }
        }
        let declared = |name: &str| {
            let mut variables = values.variables.iter();
            let found = variables.find(|(variable, _)| variable.as_str() == name);
            found.map(|(_, value)| value.expose().to_owned())
        };
        let inside = |name: &str| declared(name).or_else(|| self.credentials.get(name).cloned());
        if adapter.credentials(&inside, &|_| false) == Credentials::Present {
            return Ok(());
        }
        let outside = |name: &str| ground.env.get(name).cloned();
        let login = adapter.login().and_then(|Login { folder, name }| {
            Some((folder.locate(&outside)?.join(name), Utf8Path::new(folder.default).join(name)))
        });
        if let Some((file, path)) = login.filter(|(file, _)| file.is_file()) {
            let content = read(&file)?;
            self.secrets.extend(secrets_in(&content));
            self.files.push(HomeFile { path, content: SecretText::new(content) });
            return Ok(());
        }
        match adapter.credentials(&outside, &|_| false) {
            Credentials::Absent { tried } if self.acp.is_empty() => {
                let name = adapter.id().to_owned();
                Err(AgentError::NoCredentials { name, tried })
            }
            _ => Ok(()),
        }
    }

    /// What reads its output.
    pub fn adapter(&self) -> &'static dyn Adapter {
        self.adapter
    }

    /// What a room must show of the machine.
    pub fn binds(&self) -> &[Bind] {
        &self.binds
    }

    /// Values that must be redacted everywhere: those of its credentials.
    pub fn secrets(&self) -> &[SecretText] {
        &self.secrets
    }

    /// What is in its home beside what its adapter puts there.
    #[cfg(test)]
    pub(super) fn files(&self) -> &[HomeFile] {
        &self.files
    }

    /// Names of the variables of the user that it gets.
    pub fn credentials(&self) -> impl Iterator<Item = &str> {
        self.credentials.keys().map(String::as_str)
    }

    /// Limits of the experiment that nothing keeps: the program has no such limit of its own.
    pub fn unkept_limits(&self) -> Vec<&'static str> {
        let enforces = self.adapter.enforces();
        let turns = (self.limits.max_turns.is_some() && !enforces.turns).then_some("max_turns");
        let has_budget = self.limits.max_cost_usd.is_some();
        let budget = (has_budget && !enforces.budget).then_some("max_cost_usd");
        turns.into_iter().chain(budget).collect()
    }

    /// What one of its trials may cost, as far as is known before it works.
    pub fn bound(&self) -> Bound {
        match (self.play, self.limits.max_cost_usd) {
            (Play::Mock, _) => Bound::Nothing,
            (Play::Real, Some(usd)) if self.adapter.enforces().budget => Bound::Kept(usd),
            (Play::Real, usd) => Bound::Hoped(usd),
        }
    }

    /// What it is asked, in a room.
    pub fn request<'a>(&'a self, place: &'a Place, prompt: &'a str) -> SessionRequest<'a> {
        let room = RoomRequest {
            home: &place.home,
            mode: self.mode,
            model: self.model.as_ref(),
            servers: &self.servers,
            acp: &self.acp,
        };
        let has_script = self.files.iter().any(|file| file.path == SCRIPT_IN_HOME);
        SessionRequest {
            max_turns: self.limits.max_turns.map(u32::from),
            max_budget_usd: self.limits.max_cost_usd,
            script: has_script.then_some(&*place.script),
            program: self.program.as_deref(),
            room: Some(room),
            ..SessionRequest::new(prompt, &place.workspace, &self.proctor)
        }
    }

    /// Puts its files into the home of a room, before the agent comes.
    pub fn furnish(&self, sandbox: &Sandbox<'_>, cancel: &Cancel) -> Result<(), AgentError> {
        let name = self.adapter.id().to_owned();
        let command = self.adapter.command(&self.request(&Place::in_sandbox(sandbox), ""));
        let mut files = command.map_err(|why| AgentError::Unable { name, why })?.files;
        files.extend(self.files.iter().cloned());
        furnish::furnish(sandbox, &files, cancel)
    }

    /// Adds what is its own to an environment that has the home, the `PATH` and the variables of
    /// the experiment. Those go before what comes from the user.
    pub fn complete(&self, env: &mut BTreeMap<String, String>) {
        for (name, value) in &self.credentials {
            env.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let seconds = self.limits.max_time_seconds.to_string();
        env.entry(TIME_VARIABLE.to_owned()).or_insert(seconds);
        let path = env.entry("PATH".to_owned()).or_default();
        for folder in &self.search {
            path.push(':');
            path.push_str(&folder.to_string_lossy());
        }
    }
}

impl fmt::Debug for AgentPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { adapter, program, acp, binds, .. } = self;
        f.debug_struct("AgentPlan")
            .field("adapter", &adapter.id())
            .field("program", program)
            .field("acp", acp)
            .field("binds", binds)
            .finish_non_exhaustive()
    }
}

/// The skills of a variant, and the folders of the workspace in which its agent looks for them.
pub fn skills(variant: &Variant) -> Result<Vec<(&Skill, Dest)>, AgentError> {
    let agent = &variant.agent;
    let folder = match agent.name.as_str() {
        "cursor" => ".cursor/skills",
        _ => named(agent).unwrap_or_else(proctor_harness::acp).skills_folder(),
    };
    let place = |skill| {
        let Skill { name, .. }: &Skill = skill;
        let lost = || AgentError::Skill { name: name.to_string() };
        // One plain segment.
        let dest = format!("{folder}/{name}").parse::<Dest>().map_err(|_| lost())?;
        if name.as_str().contains('/') || !dest.as_str().ends_with(name.as_str()) {
            return Err(lost());
        }
        Ok((skill, dest))
    };
    variant.skills().map(place).collect()
}

fn is_image(wanted: &Wanted) -> bool {
    matches!(wanted, Wanted::Container { .. })
}

/// The program as it is called inside. An image has programs of its own: what is made for this
/// machine may not run there.
fn find(program: &str, ground: &Ground<'_>, needs: &mut Needs) -> Option<String> {
    if is_image(ground.wanted) {
        return None;
    }
    let path = ground.env.get("PATH").map(OsStr::new);
    let found = needs.program(program.as_ref(), path, ground.folder.as_std_path())?;
    found.into_os_string().into_string().ok()
}

/// A command with the places of its files inside. What is not on this machine is looked for inside:
/// a setup may bring it.
fn find_command(command: &[String], ground: &Ground<'_>, needs: &mut Needs) -> Vec<String> {
    let mut found = command.to_vec();
    let Some((program, args)) = found.split_first_mut() else { return found };
    if let Some(inside) = find(program, ground, needs) {
        *program = inside;
    }
    for arg in args {
        let is_path = ["/", "./", "../"].iter().any(|start| arg.starts_with(start));
        if let Ok(file) = fs::canonicalize(ground.folder.join(&*arg))
            && is_path
            && file.is_file()
            && !is_image(ground.wanted)
            && let Ok(inside) = needs.file(&file).into_os_string().into_string()
        {
            *arg = inside;
        }
    }
    found
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

fn read(path: &Path) -> Result<String, AgentError> {
    let failed = |why: String| AgentError::File { path: path.to_owned(), why };
    let size = fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if size > MAX_FILE_BYTES {
        return Err(failed("it is larger than 16 MiB".to_owned()));
    }
    fs::read_to_string(path).map_err(|error| failed(error.to_string()))
}

/// The strings of a login that are long enough to be keys.
fn secrets_in(login: &str) -> Vec<SecretText> {
    fn walk(value: &serde_json::Value, found: &mut Vec<SecretText>) {
        match value {
            serde_json::Value::String(text) if text.len() >= SECRET_LENGTH => {
                found.push(SecretText::new(text.as_str()));
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            serde_json::Value::Object(members) => {
                members.values().for_each(|member| walk(member, found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_str(login) {
        walk(&value, &mut found);
    }
    found
}
