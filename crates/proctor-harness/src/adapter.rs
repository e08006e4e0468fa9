//! What every agent program has in common.

use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::experiment::{AgentMode, Model, SecretText};
use proctor_model::{Event, Outcome, OutcomeClass, ResolvedServer, Usage};

/// A prompt longer than this many bytes goes to standard input: Linux refuses a single argument
/// of 128 KiB and more (`MAX_ARG_STRLEN`).
pub const MAX_ARGUMENT_BYTES: usize = 100_000;

/// How one agent program is started and understood.
pub trait Adapter: Sync {
    /// The id that people write, for example `claude`.
    fn id(&self) -> &'static str;

    /// The harness whose integration files the corpus installer lays out for this program, or
    /// `None` when it reads none.
    fn corpus_harness(&self) -> Option<&'static str>;

    /// The folder of a project in which the program finds skills, one folder each.
    fn skills_folder(&self) -> &'static str;

    /// Whether `prompt` itself loads the skill: the program then puts its text in, and its stream
    /// shows nothing of that.
    fn prompt_loads(&self, prompt: &str, skill: &str) -> bool;

    /// Names of the variables that carry the program's credentials and settings; one that ends in
    /// `*` means all that begin so.
    fn variables(&self) -> &'static [&'static str];

    /// The folder of the program's own files: the variable that names it, and where it lies below
    /// the home directory when that is not set. `None` when the program keeps nothing.
    fn own_folder(&self) -> Option<OwnFolder>;

    /// The file in which the program keeps the credentials of somebody who logged in.
    fn login(&self) -> Option<Login> {
        None
    }

    /// Which limits the program itself keeps.
    fn enforces(&self) -> Enforces;

    /// The command line for one session.
    ///
    /// # Errors
    ///
    /// [`Unavailable`] when the request lacks what this program cannot do without.
    fn command(&self, request: &SessionRequest<'_>) -> Result<SessionCommand, Unavailable>;

    /// A reader for the standard output of one session.
    fn parser(&self) -> Box<dyn StreamParser + Send>;

    /// Whether the program will find credentials, as far as names of variables and places of
    /// files tell. `env` looks up a variable; values are never kept.
    fn credentials(
        &self,
        env: &dyn Fn(&str) -> Option<String>,
        file_exists: &dyn Fn(&Path) -> bool,
    ) -> Credentials;
}

/// The folder of an agent program's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnFolder {
    /// The variable that names it.
    pub variable: &'static str,
    /// Where it lies below the home directory otherwise.
    pub default: &'static str,
    /// Whether it is all that a login needs, so that the home directory may be another. Its folder
    /// `skills` is then one more place in which the program finds skills.
    pub is_enough: bool,
}

impl OwnFolder {
    /// Where it lies in this environment; `None` when that names neither it nor a home directory.
    /// An empty variable counts as none.
    pub fn locate(&self, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
        let set = |name: &str| env(name).filter(|value| !value.is_empty());
        let below_home = || Some(Path::new(&set("HOME")?).join(self.default));
        set(self.variable).map(PathBuf::from).or_else(below_home)
    }
}

/// Limits that an agent program keeps by itself when asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enforces {
    /// It stops at an amount of money.
    pub budget: bool,
    /// It stops at a number of turns.
    pub turns: bool,
}

/// What a session should do.
#[derive(Debug, Clone, Copy)]
pub struct SessionRequest<'a> {
    /// The task.
    pub prompt: &'a str,
    /// The directory in which the agent works; the caller starts the program there.
    pub workspace: &'a Utf8Path,
    /// Limit on turns, as the program counts them.
    pub max_turns: Option<u32>,
    /// Limit in US dollars.
    pub max_budget_usd: Option<f64>,
    /// Model name for the program; `None` leaves its default.
    pub model: Option<&'a str>,
    /// The script of the built-in agent.
    pub script: Option<&'a Utf8Path>,
    /// This program itself, which contains the built-in agent.
    pub proctor: &'a Utf8Path,
    /// The program, as a name or a path; `None` is its usual name.
    pub program: Option<&'a str>,
    /// More arguments for the program, before the prompt.
    pub args: &'a [String],
    /// What it gets in a room of its own; `None` on the machine of its user, where it is kept from
    /// writing outside its workspace, and asks for leave in vain.
    pub room: Option<RoomRequest<'a>>,
}

/// What a session gets in a room of its own. The room is what keeps it in, so it asks nobody for
/// leave, and has all tools of its program.
#[derive(Debug, Clone, Copy)]
pub struct RoomRequest<'a> {
    /// Its home, seen from inside: empty but for [`SessionCommand::files`].
    pub home: &'a Utf8Path,
    /// Whether it may write.
    pub mode: AgentMode,
    /// The model and how it is to think; `None` leaves all of it to the program.
    pub model: Option<&'a Model>,
    /// The only servers of the Model Context Protocol that it knows.
    pub servers: &'a [ResolvedServer],
    /// The command that speaks the Agent Client Protocol, for the program that needs one.
    pub acp: &'a [String],
}

impl<'a> SessionRequest<'a> {
    /// A request without limits and wishes.
    pub fn new(prompt: &'a str, workspace: &'a Utf8Path, proctor: &'a Utf8Path) -> Self {
        Self {
            prompt,
            workspace,
            max_turns: None,
            max_budget_usd: None,
            model: None,
            script: None,
            proctor,
            program: None,
            args: &[],
            room: None,
        }
    }
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCommand {
    /// Name to look up on `PATH`, or a path.
    pub program: String,
    /// Arguments, without the program's own name.
    pub args: Vec<String>,
    /// Variables to set unless the user has set them.
    pub env: Vec<(String, String)>,
    /// Bytes to write to standard input before closing it; `None` means closed from the start.
    pub stdin: Option<Vec<u8>>,
    /// Files that must be in its home before it starts; only in a room of its own.
    pub files: Vec<HomeFile>,
}

/// A file that an agent program reads in its home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeFile {
    /// Its place below the home.
    pub path: Utf8PathBuf,
    /// What it holds: for its owner alone.
    pub content: SecretText,
}

/// Why a program cannot be used for a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    /// What is missing and what to do.
    pub reason: String,
}

/// Whether credentials are at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// At least one kind is there. Nobody has tried whether it is accepted.
    Present,
    /// None is there.
    Absent {
        /// Names of the variables and files that were looked for.
        tried: Vec<String>,
    },
}

/// Reads the standard output of one session.
pub trait StreamParser {
    /// Takes the next bytes. Where the stream is split makes no difference to the events.
    fn push(&mut self, bytes: &[u8], emit: &mut dyn FnMut(Event));

    /// Ends the stream. A last line without a line feed counts as a line.
    fn finish(self: Box<Self>, end: &SessionEnd<'_>, emit: &mut dyn FnMut(Event))
    -> SessionSummary;
}

/// How the process of a session ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionEnd<'a> {
    /// Its exit; `None` when nobody knows, as for a recording.
    pub exit: Option<ExitKind>,
    /// Its standard error, already capped by the caller.
    pub stderr: &'a str,
    /// Set when the caller ended the session: `Timeout`, `Stalled` or `Interrupted`. It goes
    /// before all that the stream says.
    pub ended_by: Option<OutcomeClass>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// What is known of a session once its stream has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// How it ended.
    pub outcome: Outcome,
    /// What it used, as far as the program says.
    pub usage: Option<Usage>,
    /// The agent's last answer. `None` when the session failed: the words of an error are in the
    /// outcome, and are never an answer.
    pub final_text: Option<String>,
    /// What a person should know although it did not decide the outcome.
    pub warnings: Vec<String>,
}

/// Puts the prompt where it fits: after `--`, or on standard input when it is too long for an
/// argument or holds a NUL, which no argument can.
pub(crate) fn place_prompt(
    prompt: &str,
    args: &mut Vec<String>,
    stdin_args: &[&str],
) -> Option<Vec<u8>> {
    if prompt.len() > MAX_ARGUMENT_BYTES || prompt.contains('\0') {
        args.extend(stdin_args.iter().map(ToString::to_string));
        return Some(prompt.as_bytes().to_vec());
    }
    args.push("--".to_owned());
    args.push(prompt.to_owned());
    None
}

/// The file in which a program keeps the credentials of somebody who logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Login {
    /// The program's folder.
    pub folder: OwnFolder,
    /// The file in it.
    pub name: &'static str,
}

/// Looks for variables that are set and not empty, then for the file.
pub(crate) fn look_for(
    variables: &[&str],
    file: &Login,
    env: &dyn Fn(&str) -> Option<String>,
    file_exists: &dyn Fn(&Path) -> bool,
) -> Credentials {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let Login { folder: own @ OwnFolder { variable, default, .. }, name } = file;
    let shown =
        if set(variable).is_some() { format!("${variable}") } else { format!("~/{default}") };
    let folder = own.locate(env);
    let found = folder.is_some_and(|folder| file_exists(&folder.join(name)));
    if found || variables.iter().any(|name| set(name).is_some()) {
        return Credentials::Present;
    }
    let mut tried: Vec<String> = variables.iter().map(ToString::to_string).collect();
    tried.push(format!("{shown}/{name}"));
    Credentials::Absent { tried }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Login = Login {
        folder: OwnFolder { variable: "AGENT_HOME", default: ".agent", is_enough: true },
        name: "auth.json",
    };

    #[test]
    fn short_prompts_are_arguments_after_a_double_dash() {
        let mut args = vec!["-p".to_owned()];
        assert_eq!(place_prompt("--help", &mut args, &["-"]), None);
        assert_eq!(args, ["-p", "--", "--help"]);
    }

    #[test]
    fn long_prompts_and_nul_go_to_standard_input() {
        for prompt in ["x".repeat(MAX_ARGUMENT_BYTES + 1), "a\0b".to_owned()] {
            let mut args = Vec::new();
            let stdin = place_prompt(&prompt, &mut args, &["-"]);
            assert_eq!(stdin.as_deref(), Some(prompt.as_bytes()));
            assert_eq!(args, ["-"]);
        }
        let mut args = Vec::new();
        assert_eq!(place_prompt(&"x".repeat(MAX_ARGUMENT_BYTES), &mut args, &["-"]), None);
    }

    #[test]
    fn an_empty_variable_is_no_credential() {
        let env = |name: &str| (name == "EMPTY").then(String::new);
        let absent = look_for(&["EMPTY", "OTHER"], &FILE, &env, &|_| false);
        let tried = ["EMPTY", "OTHER", "~/.agent/auth.json"].map(str::to_owned).to_vec();
        assert_eq!(absent, Credentials::Absent { tried });
    }

    #[test]
    fn the_file_is_looked_for_where_the_program_keeps_it() {
        let at = |variable: &'static str, value: &'static str, file: &'static str| {
            let env = move |name: &str| (name == variable).then(|| value.to_owned());
            look_for(&[], &FILE, &env, &move |path| path == Path::new(file))
        };
        assert_eq!(at("HOME", "/home/u", "/home/u/.agent/auth.json"), Credentials::Present);
        assert_eq!(at("AGENT_HOME", "/a", "/a/auth.json"), Credentials::Present);
        let tried = vec!["$AGENT_HOME/auth.json".to_owned()];
        assert_eq!(at("AGENT_HOME", "/a", "/b/auth.json"), Credentials::Absent { tried });
    }
}
