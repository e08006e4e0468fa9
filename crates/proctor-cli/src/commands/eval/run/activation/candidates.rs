//! Other descriptions for the skill under test.

use std::io::Read as _;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{MAX_DESCRIPTION_BYTES, Project, candidate, copy_with_description};
use tempfile::TempDir;

use super::super::args::Args;
use crate::commands::eval::common;
use crate::context::Context;
use crate::error::CommandError;

/// The word that stands for the description that the skill has.
const CURRENT: &str = "current";

/// How much of a file is read: a description, and much space around it.
const MAX_READ: u64 = 4 * MAX_DESCRIPTION_BYTES as u64;

const REPLACED: &str = "measured with another description (`--description-from`): the skill is \
                        unchanged, and nothing is kept";

/// The descriptions that the command line names.
pub(super) struct Candidates {
    pub(super) new: Candidate,
    pub(super) against: Option<Candidate>,
}

/// One of them.
pub(super) struct Candidate {
    /// As it was named.
    pub(super) file: String,
    /// `None` is the one that the skill has.
    description: Option<String>,
}

/// A project in which the skill has the description in question.
pub(super) struct Side {
    pub(super) project: Project,
    /// What a reader should know about it.
    pub(super) warning: Option<String>,
}

impl Candidates {
    /// Reads the files; `None` when there are none.
    pub(super) fn read(args: &Args, context: &Context) -> Result<Option<Self>, CommandError> {
        let Some(file) = &args.description_from else { return Ok(None) };
        let new = Candidate::read(file, context)?;
        let against = match &args.against {
            Some(word) if word == CURRENT => {
                Some(Candidate { file: CURRENT.to_owned(), description: None })
            }
            Some(file) => Some(Candidate::read(file, context)?),
            None => None,
        };
        Ok(Some(Self { new, against }))
    }

    pub(super) fn is_comparison(&self) -> bool {
        self.against.is_some()
    }

    /// The project with each of the descriptions.
    pub(super) fn sides(
        &self,
        project: &Project,
        skills: &[String],
        temporary: &TempDir,
    ) -> Result<Vec<Side>, CommandError> {
        let folder = Utf8Path::from_path(temporary.path())
            .ok_or_else(|| CommandError::usage("the folder for temporary files is no UTF-8"))?;
        let candidates = [("new", Some(&self.new)), ("against", self.against.as_ref())];
        let candidates = candidates.into_iter().filter_map(|(name, side)| Some((name, side?)));
        candidates.map(|(name, side)| side.side(project, skills, &folder.join(name))).collect()
    }
}

impl Candidate {
    fn read(file: &Utf8Path, context: &Context) -> Result<Self, CommandError> {
        let mut bytes = Vec::new();
        let opened = fs_err::File::open(context.cwd.join(file).as_std_path())?;
        if opened.take(MAX_READ + 1).read_to_end(&mut bytes)? as u64 > MAX_READ {
            let message = format!("{file} is longer than {MAX_READ} bytes: it is no description");
            return Err(CommandError::usage(message));
        }
        let description = candidate(&bytes).map_err(|error| {
            CommandError::usage(format!("{file}: {error}"))
                .hint("a description is visible text of 1 to 16384 bytes")
        })?;
        Ok(Self { file: file.to_string(), description: Some(description) })
    }

    fn side(
        &self,
        project: &Project,
        skills: &[String],
        folder: &Utf8Path,
    ) -> Result<Side, CommandError> {
        let mut project = project.clone();
        let Some(description) = &self.description else {
            return Ok(Side { project, warning: None });
        };
        let chosen = common::choose(&project, skills)?;
        let copies: Vec<_> = chosen
            .iter()
            .map(|skill| copy_with_description(skill, description, &folder.join(&skill.id)))
            .collect::<Result<_, _>>()
            .map_err(CommandError::usage)?;
        for copy in copies {
            if let Some(skill) = project.skills.iter_mut().find(|skill| skill.id == copy.id) {
                *skill = copy;
            }
        }
        Ok(Side { project, warning: Some(REPLACED.to_owned()) })
    }
}

/// A folder for copies of skills, which goes with the value.
pub(super) fn scratch(context: &Context) -> Result<TempDir, CommandError> {
    let folder: Utf8PathBuf = context.temporary.clone();
    let made = tempfile::Builder::new().prefix("proctor-description-").tempdir_in(&folder);
    made.map_err(|error| CommandError::usage(format!("{folder} cannot be written to: {error}")))
}
