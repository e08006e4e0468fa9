//! Which run or trial somebody means.

use proctor_model::nearest;
use proctor_model::run::PlannedTrial;

use super::read::StoredRun;
use super::{RunError, Runs};

/// What an id means.
#[derive(Debug, Clone)]
pub struct Found {
    /// The run.
    pub run: StoredRun,
    /// The trial, when the id is that of a trial.
    pub trial: Option<PlannedTrial>,
}

/// Why an id means nothing.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// No run and no trial begins so.
    #[error("no run or trial is named `{id}`{}", .nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// As written.
        id: String,
        /// One that is called alike.
        nearest: Option<String>,
    },
    /// Several do.
    #[error("`{id}` could be {}", list(.candidates))]
    Ambiguous {
        /// As written.
        id: String,
        /// What begins so.
        candidates: Vec<String>,
    },
    /// The runs cannot be read.
    #[error(transparent)]
    Runs(#[from] RunError),
}

fn list(candidates: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = candidates.iter().take(SHOWN).map(|id| format!("`{id}`")).collect::<Vec<_>>();
    let rest = candidates.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" or {rest} others") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

impl Runs {
    /// The run or trial with this id, or whose id alone begins so. Of a run also the part after the
    /// experiment's id counts, of a trial the digits at its end; `latest` is the latest run.
    pub fn find(&self, id: &str) -> Result<Found, NotFound> {
        let runs: Vec<StoredRun> =
            self.list()?.into_iter().filter_map(|listed| listed.run.ok()).collect();
        if id == "latest"
            && let Some(run) = runs.first()
        {
            return Ok(Found { run: run.clone(), trial: None });
        }
        let mut found: Vec<(String, bool, Found)> = Vec::new();
        for run in &runs {
            let name = &run.plan.run_id;
            let ulid = name.get(name.len().saturating_sub(26)..).unwrap_or(name);
            if !id.is_empty() && (name.starts_with(id) || ulid.starts_with(id)) {
                let is_exact = name == id || ulid == id;
                found.push((name.clone(), is_exact, Found { run: run.clone(), trial: None }));
            }
            for trial in &run.plan.trials {
                let digits = trial.id.rsplit("::").next().unwrap_or(&trial.id);
                if !id.is_empty() && (trial.id.starts_with(id) || digits.starts_with(id)) {
                    let is_exact = trial.id == id || digits == id;
                    let one = Found { run: run.clone(), trial: Some(trial.clone()) };
                    found.push((trial.id.clone(), is_exact, one));
                }
            }
        }
        if found.iter().any(|(_, is_exact, _)| *is_exact) {
            found.retain(|(_, is_exact, _)| *is_exact);
        }
        match found.len() {
            1 => Ok(found.swap_remove(0).2),
            0 => {
                let names = runs.iter().map(|run| run.plan.run_id.as_str());
                let nearest = nearest(id, names).map(str::to_owned);
                Err(NotFound::Unknown { id: id.to_owned(), nearest })
            }
            _ => {
                let candidates = found.into_iter().map(|(name, ..)| name).collect();
                Err(NotFound::Ambiguous { id: id.to_owned(), candidates })
            }
        }
    }
}
