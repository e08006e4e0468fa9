//! Which rows of a server a question is about. It is kept by filters that the server adds to every
//! table, whatever the statement is; nothing is made on the server for it.

use proctor_query::Scope;

use crate::schema::{Table, quoted_text};

/// The table with a row for each trial that names its run.
const TRIALS: &str = "verdicts";
/// The table with a row for each trial that names its experiment.
const EXPERIMENTS: &str = "measurements";

/// The value of ClickHouse's setting `additional_table_filters`; `None` when there is nothing to
/// filter.
pub(super) fn filters(scope: &Scope, tables: &[Table]) -> Option<String> {
    let (column, value, trials) = match scope {
        Scope::All => return None,
        Scope::Trial(id) => ("run_id", id, TRIALS),
        Scope::Run(id) => ("run_request_id", id, TRIALS),
        Scope::Experiment(id) => ("experiment_id", id, EXPERIMENTS),
    };
    let is = format!("{column} = {}", quoted_text(value));
    let elsewhere = format!("run_id IN (SELECT run_id FROM {trials} WHERE {is})");
    let filter =
        |table: &Table| if table.has(column) { quoted_text(&is) } else { quoted_text(&elsewhere) };
    let filters: Vec<String> = tables
        .iter()
        .map(|table| format!("{}:{}", quoted_text(&table.name), filter(table)))
        .collect();
    Some(format!("{{{}}}", filters.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::tests::table;

    #[test]
    fn every_table_is_filtered_by_what_it_has() {
        let tables =
            [table("events", &["run_id", "run_request_id"]), table("tool_calls", &["run_id"])];
        assert_eq!(filters(&Scope::All, &tables), None);
        assert_eq!(
            filters(&Scope::Trial("a'b".to_owned()), &tables).unwrap(),
            r"{'events':'run_id = \'a\\\'b\'','tool_calls':'run_id = \'a\\\'b\''}"
        );
        assert_eq!(
            filters(&Scope::Run("r".to_owned()), &tables).unwrap(),
            r"{'events':'run_request_id = \'r\'','tool_calls':'run_id IN (SELECT run_id FROM verdicts WHERE run_request_id = \'r\')'}"
        );
        let filters = filters(&Scope::Experiment("e".to_owned()), &tables).unwrap();
        assert!(filters.contains(
            r"'events':'run_id IN (SELECT run_id FROM measurements WHERE experiment_id = \'e\')'"
        ));
    }
}
