//! Looking for the skills that a query points at.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;
use proctor_formats::eval::Project;
use proctor_model::eval::search::SEARCH_SCHEMA_VERSION;
use proctor_model::eval::{Search, SearchHit, SearchMatch};
use proctor_model::{Diagnostic, Diagnostics, Severity};
use proctor_retrieval::{Hit, Index, Match};

use super::searchable::Searchable;

/// The skills of a project, ready for many queries.
#[derive(Debug)]
pub struct Searcher {
    index: Index,
    skills: u64,
    unreadable: Vec<String>,
    /// The folder of each skill as the user knows it.
    paths: BTreeMap<String, Utf8PathBuf>,
}

impl Searcher {
    /// Reads all skills of a project. Those that cannot be read are left out, with a warning.
    pub fn new(project: &Project) -> (Self, Diagnostics) {
        let Searchable { documents, unreadable, mut warnings } =
            Searchable::read(project, &project.skills);
        let searcher = Self {
            skills: documents.len() as u64,
            index: Index::new(documents),
            unreadable: unreadable.keys().cloned().collect(),
            paths: project
                .skills
                .iter()
                .map(|skill| (skill.id.clone(), project.shown(&skill.folder)))
                .collect(),
        };
        warnings.0.extend(unreadable.into_values().map(|fault| {
            let message = format!("the skill is not ranked: {}", fault.message);
            Diagnostic { severity: Severity::Warning, message, ..fault }
        }));
        warnings.sort();
        (searcher, warnings)
    }

    /// The `limit` best skills for a query.
    pub fn search(&self, query: &str, limit: usize) -> Search {
        let top = self.index.top(query, limit);
        let matches = self.index.matches(query, &top.hits);
        let ranked = (1..).zip(top.hits.iter().zip(matches));
        Search {
            schema_version: SEARCH_SCHEMA_VERSION,
            query: query.to_owned(),
            skills: self.skills,
            unreadable: self.unreadable.clone(),
            found: top.found as u64,
            hits: ranked.map(|(rank, (hit, matches))| self.hit(rank, hit, matches)).collect(),
        }
    }

    fn hit(&self, rank: u64, hit: &Hit<'_>, matches: Vec<Match>) -> SearchHit {
        let document = hit.document;
        SearchHit {
            rank,
            id: document.id.clone(),
            name: document.name.clone(),
            path: self.paths.get(&document.id).cloned().unwrap_or_default().into_string(),
            score: hit.score,
            matches: matches
                .into_iter()
                .map(|found| SearchMatch {
                    word: found.word,
                    term: found.term,
                    score: (found.score * 1e6).round() / 1e6,
                })
                .collect(),
        }
    }
}
