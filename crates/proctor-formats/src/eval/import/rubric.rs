//! Checklists of other tools as rubrics.

use std::fmt::Write as _;

use proctor_model::eval::{Criteria, Rubric, RubricItem};

use super::draft::NewCase;
use super::{Options, RubricMode};

/// One criterion of a checklist.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Criterion {
    /// Its name; empty when it has none.
    pub(super) name: String,
    /// What is asked, trimmed and not empty.
    pub(super) text: String,
    /// Its share of the score, above 0.
    pub(super) weight: f64,
}

impl Criterion {
    /// Its name in reports.
    pub(super) fn label(&self) -> &str {
        if self.name.is_empty() { &self.text } else { &self.name }
    }
}

/// Gives the case a rubric of these criteria, of which there is at least one, and says how in
/// words.
pub(super) fn set_rubric(
    case: &mut NewCase,
    criteria: Vec<Criterion>,
    min_score: Option<f64>,
    options: Options,
) -> &'static str {
    let (rubric, words) = match options.rubric_mode {
        RubricMode::Single => {
            (Criteria::Text(checklist(&criteria)), "rubric (weights kept as text)")
        }
        RubricMode::Items => {
            let item = |criterion: &Criterion| RubricItem {
                text: criterion.text.clone(),
                weight: Some(criterion.weight),
            };
            let items = criteria.iter().map(item).collect();
            (Criteria::Items(items), "rubric_items (weights kept)")
        }
    };
    case.rubric = Some(Rubric { criteria: rubric, min_score });
    case.criteria = criteria;
    words
}

/// The line that gives the total weight, then one line a criterion. The wording is that of the
/// files that ai-rulez writes.
fn checklist(criteria: &[Criterion]) -> String {
    let total: f64 = criteria.iter().map(|criterion| criterion.weight).sum();
    let mut text =
        format!("Score the answer against this weighted checklist (total weight {total}):");
    for (index, Criterion { text: criterion, weight, .. }) in criteria.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}. (weight {weight}) {criterion}", index + 1);
    }
    text
}
