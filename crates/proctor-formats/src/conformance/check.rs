//! One element of `checks`: which keys each `type` needs and refuses.

use proctor_model::conformance::fixture::{Check, CheckKind, Phase, Target};
use proctor_model::conformance::path_rules::{
    NAMED_IN_INSTALL, excluded_target, names_cratis, segments, static_offence,
};

use super::parse::without_nul;
use crate::tree::{Field, Kind, Node, Object, Problems, boolean, choice, list, text, whole_number};

/// The keys of a check, of whatever type.
pub(super) const CHECK_KEYS: [&str; 8] =
    ["type", "phase", "optional", "path", "glob", "pattern", "run", "exit_code"];

const PHASES: [Phase; 2] = [Phase::Install, Phase::Result];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    FileExists,
    FileAbsent,
    FileMatches,
    FileNotMatches,
    Command,
}

impl Type {
    pub(super) const ALL: [Self; 5] = [
        Self::FileExists,
        Self::FileAbsent,
        Self::FileMatches,
        Self::FileNotMatches,
        Self::Command,
    ];

    /// The value of `type`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FileExists => "file_exists",
            Self::FileAbsent => "file_absent",
            Self::FileMatches => "file_matches",
            Self::FileNotMatches => "file_not_matches",
            Self::Command => "command",
        }
    }

    /// The keys that this type has no use for, each with the way out.
    pub(super) fn refused(self) -> &'static [(&'static str, &'static str)] {
        const NO_PATTERN: (&str, &str) =
            ("pattern", "use `file_matches` or `file_not_matches` to look inside files");
        const NO_RUN: (&str, &str) = ("run", "only a `command` check runs something");
        const NO_CODE: (&str, &str) = ("exit_code", "only a `command` check has an exit code");
        const FILES: &str = "a command is judged by its exit code; add a file check beside it";
        match self {
            Self::FileExists | Self::FileAbsent => &[NO_PATTERN, NO_RUN, NO_CODE],
            Self::FileMatches | Self::FileNotMatches => &[NO_RUN, NO_CODE],
            Self::Command => &[("path", FILES), ("glob", FILES), ("pattern", FILES)],
        }
    }
}

/// What could be read of a check; a part is `None` when it is wrong.
pub(super) struct Draft {
    pub(super) phase: Option<Phase>,
    pub(super) optional: Option<bool>,
    pub(super) check: Option<Check>,
}

/// Reads a check and pushes everything that is wrong with it.
pub(super) fn read_check(field: &Field<'_>, problems: &mut Problems) -> Draft {
    let Some(object) = Object::at(field, "a check object", problems) else {
        return Draft { phase: None, optional: None, check: None };
    };
    object.deny_unknown(&CHECK_KEYS, problems);
    let kind =
        object.required("type", problems, choice(&Type::ALL.map(|kind| (kind.name(), kind))));
    let phase = object.or(
        "phase",
        Phase::Result,
        problems,
        choice(&PHASES.map(|phase| (phase.as_str(), phase))),
    );
    let optional = object.or("optional", false, problems, boolean);
    let kind = kind.and_then(|kind| {
        refuse(&object, kind, problems);
        if kind == Type::Command {
            read_command(&object, phase, problems)
        } else {
            read_file_check(&object, kind, phase, problems)
        }
    });
    let check = match (phase, optional, kind) {
        (Some(phase), Some(optional), Some(kind)) => Some(Check { phase, optional, kind }),
        _ => None,
    };
    Draft { phase, optional, check }
}

fn refuse(object: &Object<'_>, kind: Type, problems: &mut Problems) {
    for (key, hint) in kind.refused() {
        if let Some(member) = object.get(key) {
            let message = format!("a `{}` check takes no `{key}`", kind.name());
            problems.push(object.key_error(member, message).hint(*hint));
        }
    }
}

fn read_command(
    object: &Object<'_>,
    phase: Option<Phase>,
    problems: &mut Problems,
) -> Option<CheckKind> {
    if let (Some(Phase::Install), Some(member)) = (phase, object.get("phase")) {
        let message = "a command cannot run in the install phase";
        problems.push(object.field().member(&member.key, &member.value).error(message));
    }
    let run = object.required("run", problems, read_run);
    let code = whole_number(i64::from(i32::MIN)..=i64::from(i32::MAX));
    let exit_code = object.or("exit_code", 0, problems, code);
    Some(CheckKind::Command { run: run?, exit_code: i32::try_from(exit_code?).ok()? })
}

fn read_run(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    const WORDS: &str = "strings: the executable and its arguments";
    if matches!(field.node().kind, Kind::String(_)) {
        let hint = r#"there is no shell; to use one, write ["sh", "-c", "..."]"#;
        problems.push(field.expected(&format!("a list of {WORDS}")).hint(hint));
        return None;
    }
    let words =
        list(WORDS, |field, problems| without_nul(field, text(field, problems)?, problems))(
            field, problems,
        )?;
    if let Kind::Array(items) = &field.node().kind {
        match items.first() {
            None => problems.push(field.expected("the executable and its arguments")),
            Some(first @ Node { kind: Kind::String(name), .. }) if name.trim().is_empty() => {
                problems.push(field.item(0, first).expected("the name of an executable"));
            }
            Some(_) => {}
        }
    }
    Some(words)
}

fn read_pattern(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let pattern = text(field, problems)?;
    if pattern.is_empty() {
        problems.push(field.warning("an empty pattern matches every file"));
    }
    Some(pattern)
}

fn read_file_check(
    object: &Object<'_>,
    kind: Type,
    phase: Option<Phase>,
    problems: &mut Problems,
) -> Option<CheckKind> {
    let target = read_target(object, kind, phase, problems);
    match kind {
        Type::FileExists => Some(CheckKind::FileExists(target?)),
        Type::FileAbsent => Some(CheckKind::FileAbsent(target?)),
        Type::FileMatches => {
            let pattern = object.required("pattern", problems, read_pattern);
            Some(CheckKind::FileMatches(target?, pattern?))
        }
        Type::FileNotMatches => {
            let pattern = object.required("pattern", problems, read_pattern);
            Some(CheckKind::FileNotMatches(target?, pattern?))
        }
        Type::Command => None,
    }
}

fn read_target(
    object: &Object<'_>,
    kind: Type,
    phase: Option<Phase>,
    problems: &mut Problems,
) -> Option<Target> {
    let path = object.optional("path", problems, |field, problems| {
        checked(field, Target::Path(text(field, problems)?), phase, problems)
    });
    let glob = object.optional("glob", problems, |field, problems| {
        checked(field, Target::Glob(text(field, problems)?), phase, problems)
    });
    match (object.get("path"), object.get("glob")) {
        (None, None) => {
            let message = format!("a `{}` check needs a `path` or a `glob`", kind.name());
            problems.push(object.field().error(message));
            None
        }
        (Some(_), Some(second)) => {
            let message = "expected either `path` or `glob`, found both";
            problems.push(object.key_error(second, message).hint("remove one of them"));
            None
        }
        _ => path?.or(glob?),
    }
}

fn checked(
    field: &Field<'_>,
    target: Target,
    phase: Option<Phase>,
    problems: &mut Problems,
) -> Option<Target> {
    let (Target::Path(written) | Target::Glob(written)) = &target;
    if let Some(offence) = static_offence(written) {
        problems.push(field.error(format!("{} {offence}", field.shown())));
        return None;
    }
    if phase == Some(Phase::Result)
        && let Some(directory) = excluded_target(&target)
    {
        let message = format!("the result phase never looks into `{directory}`");
        problems.push(field.error(message).hint("check it in the install phase"));
        return None;
    }
    match &target {
        Target::Path(path) if path.contains('*') => {
            let message = "`*` stands for itself in a `path`";
            problems.push(field.warning(message).hint("use `glob` to select by pattern"));
        }
        Target::Glob(glob) => warn_about_glob(field, glob, phase, problems),
        Target::Path(_) => {}
    }
    Some(target)
}

/// Globs here know less than those of shells; what looks like more is taken literally, and a check
/// that then selects nothing may even pass.
fn warn_about_glob(field: &Field<'_>, glob: &str, phase: Option<Phase>, problems: &mut Problems) {
    if segments(glob).any(|segment| segment != "**" && segment.contains("**")) {
        let message = "`**` crosses directories only as a whole segment";
        problems.push(field.warning(message).hint("write `**/*.txt` rather than `**.txt`"));
    }
    let braces = glob.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    if glob.contains('?') || braces.is_some_and(|(inside, _)| inside.contains(',')) {
        let message = "`?` and `{a,b}` stand for themselves in a glob";
        problems.push(field.warning(message).hint("write one check for each"));
    }
    let cratis = segments(glob).skip(1).any(|segment| segment == NAMED_IN_INSTALL);
    if phase == Some(Phase::Install) && cratis && !names_cratis(glob) {
        let message = "an install-phase glob looks into `.cratis` only when it starts with it";
        problems.push(field.warning(message));
    }
}
