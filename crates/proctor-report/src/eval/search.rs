//! What a query finds, as text and as JSON.

use std::fmt::Write as _;

use proctor_model::eval::{Search, SearchHit};
use serde_json::Value;

use super::table::Table;
use super::words;
use crate::Styles;

/// What was found as a table.
pub fn search_text(search: &Search, styles: &Styles) -> String {
    let mut table = Table::new(["RANK", "SKILL", "MATCHED", "SCORE"], 3);
    for hit in &search.hits {
        let cells = [
            hit.rank.to_string(),
            words::line(&hit.id),
            words::line(&matched(hit)),
            format!("{:.6}", hit.score),
        ];
        table.row(cells, styles.subject);
    }
    let mut text = String::new();
    if table.is_empty() {
        // Writing to a string cannot fail, here and below.
        let _ = match search.skills {
            0 => writeln!(text, "there are no skills"),
            1 => writeln!(text, "the one skill has no word of the query"),
            skills => writeln!(text, "none of {skills} skills has a word of the query"),
        };
        return text;
    }
    table.write(styles.quiet, &mut text);
    let shown = search.hits.len() as u64;
    if shown < search.found {
        let more = search.found - shown;
        let _ = writeln!(text, "{}{more} more{:#}", styles.quiet, styles.quiet);
    }
    text
}

/// What one of several queries finds, under the query.
pub fn search_block(search: &Search, styles: &Styles) -> String {
    let style = styles.subject;
    let query = words::line(&search.query);
    format!("{style}{query}{style:#}\n{}\n", search_text(search, styles))
}

/// What was found as JSON.
pub fn search_json(search: &Search) -> String {
    super::json(search)
}

/// What was found as JSON on one line.
pub fn search_json_line(search: &Search) -> String {
    super::json_line(search)
}

/// JSON Schema (draft 2020-12) of [`search_json`].
pub fn search_schema() -> Value {
    super::schema::<Search>("Report of proctor search")
}

fn matched(hit: &SearchHit) -> String {
    let words: Vec<&str> = hit.matches.iter().map(|found| found.word.as_str()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::SearchMatch;
    use proctor_model::eval::search::SEARCH_SCHEMA_VERSION;

    use super::*;

    fn search(found: u64, hits: Vec<SearchHit>) -> Search {
        let (schema_version, query) = (SEARCH_SCHEMA_VERSION, "ship \x1b[2J it".to_owned());
        Search { schema_version, query, skills: 3, unreadable: Vec::new(), found, hits }
    }

    fn hit(rank: u64, id: &str, score: f64, words: &[&str]) -> SearchHit {
        let matches = words.iter().map(|word| SearchMatch {
            word: (*word).to_owned(),
            term: (*word).to_owned(),
            score,
        });
        SearchHit {
            rank,
            id: id.to_owned(),
            name: id.to_owned(),
            path: format!("skills/{id}"),
            score,
            matches: matches.collect(),
        }
    }

    #[test]
    fn ranks_and_words_stand_in_a_table() {
        let hits = vec![hit(1, "deploy", 12.5, &["ship", "release"]), hit(2, "x\n::", 0.25, &[])];
        insta::assert_snapshot!(search_text(&search(3, hits), &Styles::plain()), @r"
        RANK  SKILL   MATCHED           SCORE
        1     deploy  ship release  12.500000
        2     x\n::                  0.250000
        1 more
        ");
        insta::assert_snapshot!(search_block(&search(0, Vec::new()), &Styles::plain()), @r"
        ship \u{1b}[2J it
        none of 3 skills has a word of the query
        ");
    }

    #[test]
    fn a_line_of_json_is_one_line() {
        let line = search_json_line(&search(1, vec![hit(1, "a", 0.5, &["ship"])]));
        insta::assert_snapshot!(line, @r#"{"schema_version":1,"query":"ship \u001b[2J it","skills":3,"found":1,"hits":[{"rank":1,"id":"a","name":"a","path":"skills/a","score":0.5,"matches":[{"word":"ship","term":"ship","score":0.5}]}]}"#);
    }
}
