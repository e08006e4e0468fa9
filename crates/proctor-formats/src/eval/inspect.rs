//! Everything about the skills of a project that planning, linting and reporting need.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::digest::{DigestError, cases_digest, lock_digest, skill_digest};
use super::front_matter::FrontMatter;
use super::layout::{Project, Skill};
use super::load::{LoadedSkill, load_skill};

/// A skill with everything that was read of it.
#[derive(Debug)]
pub struct Inspected<'a> {
    /// The skill.
    pub skill: &'a Skill,
    /// Its cases.
    pub loaded: LoadedSkill,
    /// Its digest.
    pub digest: Result<String, DigestError>,
    /// The digest of its eval folders.
    pub cases_digest: Result<String, DigestError>,
    /// The digest that the lock file gives it; without one, usage joins by id only.
    pub lock_digest: Result<String, DigestError>,
    /// What its `SKILL.md` says about it.
    pub front_matter: FrontMatter,
}

/// Reads one skill.
pub fn inspect_skill<'a>(project: &Project, skill: &'a Skill) -> Inspected<'a> {
    Inspected {
        skill,
        loaded: load_skill(project, skill),
        digest: skill_digest(&skill.folder),
        cases_digest: cases_digest(&skill.eval_folders),
        lock_digest: lock_digest(&skill.folder),
        front_matter: FrontMatter::load(&skill.file()),
    }
}

/// Reads the given skills of a project on every processor, in their order.
pub fn inspect<'a>(project: &Project, skills: &[&'a Skill]) -> Vec<Inspected<'a>> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(skill) = skills.get(index) else { return done };
            done.push((index, inspect_skill(project, skill)));
        }
    };
    let mut all: Vec<(usize, Inspected<'a>)> = thread::scope(|scope| {
        let workers: Vec<_> =
            (1..processors.min(skills.len())).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for worker in workers {
            match worker.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, inspected)| inspected).collect()
}
