//! The skills of a project, as text and as JSON.

use std::fmt::Write as _;

use anstyle::Style;
use proctor_model::eval::{Listing, ResultState};
use serde_json::Value;

use super::table::Table;
use super::words;
use crate::Styles;

/// The listing as a table.
pub fn listing_text(listing: &Listing, styles: &Styles) -> String {
    let headings = ["SKILL", "RESULT", "FOLDER", "PASS", "CASES", "NEAR MISSES", "MISTAKES"];
    let mut table = Table::new(headings, 3);
    for skill in &listing.skills {
        let (result, style) = match skill.result {
            None => ("-".to_owned(), styles.quiet),
            Some(result) => (result.state.to_string(), style(result.state, styles)),
        };
        let cells = [
            words::line(&skill.id),
            result,
            words::line(&skill.path),
            skill.result.map_or("-".to_owned(), |result| words::percent(Some(result.pass_rate))),
            skill.cases.to_string(),
            skill.near_misses.to_string(),
            skill.problems.to_string(),
        ];
        table.row(cells, style);
    }
    let mut text = String::new();
    if table.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "no skills");
    } else {
        table.write(styles.quiet, &mut text);
    }
    text
}

/// The listing as JSON.
pub fn listing_json(listing: &Listing) -> String {
    super::json(listing)
}

/// JSON Schema (draft 2020-12) of [`listing_json`].
pub fn listing_schema() -> Value {
    super::schema::<Listing>("Report of proctor eval list")
}

fn style(state: ResultState, styles: &Styles) -> Style {
    match state {
        ResultState::Passing => styles.passed,
        ResultState::Failing => styles.failed,
        ResultState::Stale => styles.skipped,
        ResultState::Unverified => styles.warning,
    }
}
