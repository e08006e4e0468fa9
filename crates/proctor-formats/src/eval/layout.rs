//! Which skills a project has, and where their cases lie.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::{Diagnostic, Diagnostics};

use super::{EVALS_NAME, SKILL_FILE, case_file_stem};

/// How skills are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `.ai-rulez/skills/<id>` and `.ai-rulez/domains/<domain>/skills/<id>`.
    AiRulez,
    /// `.claude/skills/<id>`.
    Claude,
    /// `.agents/skills/<id>`.
    Agents,
    /// `skills/<id>`.
    Plain,
    /// A configuration folder that was named: like [`Self::AiRulez`].
    NamedConfiguration,
    /// A skills folder that was named.
    NamedSkills,
}

/// A project and its skills.
#[derive(Debug, Clone, PartialEq)]
pub struct Project {
    /// The project root, absolute as given.
    pub root: Utf8PathBuf,
    /// The configuration folder: `.ai-rulez`, or the folder that contains the skills folder.
    pub configuration: Utf8PathBuf,
    /// Where the skills were found.
    pub layout: Layout,
    /// The skills, by id.
    pub skills: Vec<Skill>,
    /// What looks like a skill or like cases, and is not read.
    pub warnings: Diagnostics,
}

impl Project {
    /// A path as the user knows it: relative to the project root where it lies below it.
    pub fn shown(&self, path: &Utf8Path) -> Utf8PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }

    /// The skill with this id.
    pub fn skill(&self, id: &str) -> Option<&Skill> {
        let at = self.skills.binary_search_by(|skill| skill.id.as_str().cmp(id)).ok()?;
        self.skills.get(at)
    }
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name of its folder.
    pub id: String,
    /// Its domain; `None` for a root skill.
    pub domain: Option<String>,
    /// Its folder.
    pub folder: Utf8PathBuf,
    /// Its eval folders that exist: its own, then that of the configuration folder.
    pub eval_folders: Vec<Utf8PathBuf>,
    /// Eval folders that lead out of the configuration folder and are not read.
    pub escaped: Vec<Utf8PathBuf>,
}

impl Skill {
    /// Its `SKILL.md`.
    pub fn file(&self) -> Utf8PathBuf {
        self.folder.join(SKILL_FILE)
    }
}

/// Why the skills of a project cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// None of the places exists.
    #[error(
        "no skills in {root}: none of .ai-rulez, .claude/skills, .agents/skills and skills is \
         there; name a folder with `--root`"
    )]
    Nothing {
        /// The project root.
        root: Utf8PathBuf,
    },
    /// The named folder is none.
    #[error("{folder} is no folder; name a skills folder or a configuration folder with `--root`")]
    NotAFolder {
        /// What was named.
        folder: Utf8PathBuf,
    },
    /// A folder may not, or cannot, be listed.
    #[error("{folder} cannot be listed; make it readable or name another with `--root`")]
    Unreadable {
        /// The folder.
        folder: Utf8PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Lists the skills of the project at `root`. `named` is the folder to look at instead of the usual
/// places: a skills folder, or a configuration folder that holds one.
pub fn find(root: &Utf8Path, named: Option<&Utf8Path>) -> Result<Project, FindError> {
    let (layout, configuration, skills) = match named {
        Some(folder) => named_place(&root.join(folder))?,
        None => usual_place(root)?,
    };
    let bounds = Bounds::new(root, &configuration)
        .map_err(|source| FindError::Unreadable { folder: configuration.clone(), source })?;
    let project = Project {
        root: root.to_owned(),
        configuration,
        layout,
        skills: Vec::new(),
        warnings: Diagnostics::default(),
    };
    let mut finder = Finder { project, bounds, by_id: BTreeMap::new() };
    finder.skills_folder(&skills, None)?;
    if matches!(layout, Layout::AiRulez | Layout::NamedConfiguration) {
        finder.domains()?;
    }
    finder.strangers();
    finder.project.skills = finder.by_id.into_values().collect();
    finder.project.warnings.sort();
    Ok(finder.project)
}

type PlaceOfSkills = (Layout, Utf8PathBuf, Utf8PathBuf);

fn usual_place(root: &Utf8Path) -> Result<PlaceOfSkills, FindError> {
    let rulez = root.join(".ai-rulez");
    if rulez.is_dir() {
        let skills = rulez.join("skills");
        return Ok((Layout::AiRulez, rulez, skills));
    }
    for (layout, folder) in
        [(Layout::Claude, ".claude"), (Layout::Agents, ".agents"), (Layout::Plain, "")]
    {
        let configuration = if folder.is_empty() { root.to_owned() } else { root.join(folder) };
        let skills = configuration.join("skills");
        if skills.is_dir() {
            return Ok((layout, configuration, skills));
        }
    }
    Err(FindError::Nothing { root: root.to_owned() })
}

/// A folder with a `skills` folder that is no skill is a configuration folder.
fn named_place(folder: &Utf8Path) -> Result<PlaceOfSkills, FindError> {
    if !folder.is_dir() {
        return Err(FindError::NotAFolder { folder: folder.to_owned() });
    }
    let inside = folder.join("skills");
    let is_rulez = folder.file_name() == Some(".ai-rulez");
    if is_rulez || (inside.is_dir() && !inside.join(SKILL_FILE).is_file()) {
        return Ok((Layout::NamedConfiguration, folder.to_owned(), inside));
    }
    let parent = folder.parent().filter(|parent| !parent.as_str().is_empty());
    let parent = parent.map_or_else(|| folder.join(".."), Utf8Path::to_owned);
    Ok((Layout::NamedSkills, parent, folder.to_owned()))
}

/// What links may lead to.
struct Bounds {
    configuration: PathBuf,
    project: PathBuf,
}

impl Bounds {
    fn new(root: &Utf8Path, configuration: &Utf8Path) -> io::Result<Self> {
        let configuration = fs::canonicalize(configuration)?;
        let root = fs::canonicalize(root)?;
        let project = if configuration.starts_with(&root) { root } else { configuration.clone() };
        Ok(Self { configuration, project })
    }
}

struct Finder {
    project: Project,
    bounds: Bounds,
    by_id: BTreeMap<String, Skill>,
}

impl Finder {
    fn warn(&mut self, path: &Utf8Path, message: &str, hint: &str) {
        let shown = self.project.shown(path);
        self.project.warnings.push(Diagnostic::warning(message).in_file(shown).hint(hint));
    }

    fn domains(&mut self) -> Result<(), FindError> {
        let folder = self.project.configuration.join("domains");
        for name in list(&folder)? {
            let path = folder.join(name.to_string_lossy().as_ref());
            // A link to a folder is no domain.
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
            match name.to_str() {
                Some(domain) if is_folder => {
                    self.skills_folder(&path.join("skills"), Some(domain))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn skills_folder(&mut self, folder: &Utf8Path, domain: Option<&str>) -> Result<(), FindError> {
        for name in list(folder)? {
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            let path = folder.join(name.to_string_lossy().as_ref());
            match name.to_str() {
                Some(id) => self.candidate(id, domain, path),
                None if folder.as_std_path().join(&name).join(SKILL_FILE).is_file() => {
                    self.warn(&path, "is not read: its name is not UTF-8", "rename the folder");
                }
                None => {}
            }
        }
        Ok(())
    }

    fn candidate(&mut self, id: &str, domain: Option<&str>, folder: Utf8PathBuf) {
        if !folder.join(SKILL_FILE).is_file() {
            if folder.join(EVALS_NAME).is_dir() {
                let message = "has eval cases and no SKILL.md, so it is no skill";
                self.warn(&folder, message, "add SKILL.md, or move the cases to their skill");
            }
            return;
        }
        let Ok(real) = fs::canonicalize(&folder) else { return };
        if !real.starts_with(&self.bounds.project) {
            let message = "is not read: it leads out of the project through a link";
            return self.warn(&folder, message, "copy the skill into the project");
        }
        if let Some(first) = self.by_id.get(id) {
            let first = self.project.shown(&first.folder);
            let message = format!("is not read: {first} has the same name");
            return self.warn(&folder, &message, "rename one of the two folders");
        }
        let mut skill = Skill {
            id: id.to_owned(),
            domain: domain.map(str::to_owned),
            folder,
            eval_folders: Vec::new(),
            escaped: Vec::new(),
        };
        let own = skill.folder.join(EVALS_NAME);
        let filed = self.project.configuration.join(EVALS_NAME).join(id);
        for candidate in [own, filed] {
            if !candidate.is_dir() {
                continue;
            }
            if self.is_inside(candidate.as_std_path(), &real) {
                skill.eval_folders.push(candidate);
            } else {
                skill.escaped.push(candidate);
            }
        }
        self.by_id.insert(id.to_owned(), skill);
    }

    /// Whether an eval folder stays in the configuration folder, or in the real folder of its skill
    /// when that is a link.
    fn is_inside(&self, eval_folder: &Path, skill: &Path) -> bool {
        fs::canonicalize(eval_folder).is_ok_and(|real| {
            real.starts_with(&self.bounds.configuration) || real.starts_with(skill)
        })
    }

    /// Cases that belong to no skill are never run, and somebody should hear of it.
    fn strangers(&mut self) {
        let folder = self.project.configuration.join(EVALS_NAME);
        let Ok(names) = list(&folder) else { return };
        for name in names {
            let Some(name) = name.to_str() else { continue };
            let path = folder.join(name);
            if path.is_dir() && !name.starts_with('.') && !self.by_id.contains_key(name) {
                if has_case_file(path.as_std_path()) {
                    let message = "is not run: there is no skill of this name";
                    self.warn(&path, message, "give the folder the name of its skill");
                }
            } else if path.is_file() && case_file_stem(name).is_some() {
                let message = "is not run: it lies outside the folder of a skill";
                self.warn(&path, message, "move it into a folder with the name of its skill");
            }
        }
    }
}

fn has_case_file(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            entry.file_name().to_str().is_some_and(|name| case_file_stem(name).is_some())
        })
    })
}

/// The names in a folder, in byte order; none when it does not exist.
fn list(folder: &Utf8Path) -> Result<Vec<OsString>, FindError> {
    let names = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect());
    match names {
        Ok(names) => {
            let mut names: Vec<OsString> = names;
            names.sort_unstable();
            Ok(names)
        }
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        Err(source) => Err(FindError::Unreadable { folder: folder.to_owned(), source }),
    }
}
