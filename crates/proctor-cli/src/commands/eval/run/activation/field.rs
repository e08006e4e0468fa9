//! The skills of a project as competitors.

use std::collections::{BTreeMap, BTreeSet};

use proctor_formats::eval::{Project, Skill, set_digest, skill_digest};
use proctor_grade::eval::listing_tokens;
use proctor_model::eval::activation::{NO_WINNER, Scope};
use proctor_retrieval::{Document, Index};
use proctor_runner::eval::Searchable;
use proctor_runner::eval::activation::Competitor;

/// Who competes with whom.
pub(super) struct Field {
    scope: Scope,
    /// By domain; `None` for root skills, and for all when every skill competes.
    competitions: BTreeMap<Option<String>, Competition>,
    /// Why a skill cannot compete.
    unfit: BTreeMap<String, String>,
    /// What could not be read as it stands.
    pub(super) warnings: Vec<String>,
}

/// Skills that compete for the same prompts.
pub(super) struct Competition {
    /// By id.
    pub(super) skills: Vec<Competitor>,
    /// Ranks them.
    pub(super) index: Index,
    /// The digest of the set.
    pub(super) set_digest: String,
    /// Tokens of all names and descriptions, as a harness lists them.
    pub(super) listing_tokens: u64,
    /// What is said of each of its skills: who was left out.
    pub(super) warnings: Vec<String>,
}

/// A skill that can compete.
struct Fit<'a> {
    skill: &'a Skill,
    document: &'a Document,
    digest: String,
}

impl Field {
    /// Reads every skill of the project.
    pub(super) fn new(project: &Project, scope: Scope) -> Self {
        let Searchable { documents, unreadable, warnings } =
            Searchable::read(project, &project.skills);
        let documents: BTreeMap<&str, &Document> =
            documents.iter().map(|document| (document.id.as_str(), document)).collect();
        let mut unfit: BTreeMap<String, String> =
            unreadable.iter().map(|(id, problem)| (id.clone(), problem.to_string())).collect();
        let mut fit = Vec::with_capacity(project.skills.len());
        for skill in &project.skills {
            let Some(document) = documents.get(skill.id.as_str()) else { continue };
            if skill.id == NO_WINNER {
                let why = "its name stands for no skill in every report; rename its folder";
                unfit.insert(skill.id.clone(), why.to_owned());
                continue;
            }
            match skill_digest(&skill.folder) {
                Ok(digest) => fit.push(Fit { skill, document, digest }),
                Err(error) => {
                    unfit.insert(skill.id.clone(), error.to_string());
                }
            }
        }
        let domains: BTreeSet<Option<&str>> =
            project.skills.iter().map(|skill| domain(skill, scope)).collect();
        let competitions = domains.into_iter().map(|domain| {
            let competition = Competition::of(project, scope, domain, &fit, &unfit);
            (domain.map(str::to_owned), competition)
        });
        let competitions: BTreeMap<_, _> = competitions.collect();
        let warnings = warnings.0.iter().map(ToString::to_string).collect();
        Self { scope, competitions, unfit, warnings }
    }

    /// The competition of a skill that takes part in it, or why it cannot.
    pub(super) fn competition(&self, skill: &Skill) -> Result<&Competition, String> {
        if let Some(why) = self.unfit.get(&skill.id) {
            return Err(why.clone());
        }
        let domain = domain(skill, self.scope).map(str::to_owned);
        let competition = self.competitions.get(&domain);
        competition.ok_or_else(|| "it is not among the skills of the project".to_owned())
    }
}

/// What tells competitions apart.
fn domain(skill: &Skill, scope: Scope) -> Option<&str> {
    match scope {
        Scope::All => None,
        Scope::Domain => skill.domain.as_deref(),
    }
}

impl Competition {
    fn of(
        project: &Project,
        scope: Scope,
        domain: Option<&str>,
        fit: &[Fit<'_>],
        unfit: &BTreeMap<String, String>,
    ) -> Self {
        let takes_part = |skill: &Skill| {
            scope == Scope::All || skill.domain.is_none() || skill.domain.as_deref() == domain
        };
        let fit: Vec<&Fit<'_>> = fit.iter().filter(|fit| takes_part(fit.skill)).collect();
        let left_out = project.skills.iter().filter(|skill| takes_part(skill));
        let warnings = left_out.filter_map(|skill| {
            let why = unfit.get(&skill.id)?;
            Some(format!("skill `{}` does not compete: {why}", skill.id))
        });
        let mut warnings: Vec<String> = warnings.collect();
        if fit.len() < 2 {
            warnings.push(
                "no other skill competes for these prompts, so it cannot be seen whether one would \
                 win them"
                    .to_owned(),
            );
        }
        let pairs = fit.iter().map(|fit| (fit.skill.id.as_str(), fit.digest.as_str()));
        let listed = |fit: &&Fit<'_>| listing_tokens(&fit.skill.id, &fit.document.description);
        Self {
            set_digest: set_digest(pairs),
            listing_tokens: fit.iter().map(listed).sum(),
            index: Index::new(fit.iter().map(|fit| fit.document.clone())),
            skills: fit.iter().map(|fit| fit.competitor()).collect(),
            warnings,
        }
    }
}

impl Fit<'_> {
    fn competitor(&self) -> Competitor {
        Competitor {
            id: self.skill.id.clone(),
            folder: self.skill.folder.clone(),
            digest: self.digest.clone(),
        }
    }
}
