//! promptfoo: the result file of an evaluation (`--output results.json`).
//!
//! | assertion | check |
//! |---|---|
//! | `icontains`, `icontains-all` | `mustContain` |
//! | `not-icontains`, `not-icontains-any` | `mustNotContain` |
//! | `contains`, `contains-all`, `not-contains`, `not-contains-any` | the same; case no longer counts, which is listed |
//! | `icontains-any`, `contains-any` with one value | `mustContain` |
//! | `equals` with a scalar | `answerEquals`; case and white space no longer count, which is listed |
//!
//! Everything else is listed: other types, values that are templates, files or code, assertions
//! that change the output first or count for nothing, and a second `equals`. Category and kind are
//! those in the `metadata` of the test, or what the caller says.

use proctor_model::recorded::run::{Category, Kind};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Draft, ImportError, Imported, Importer, Input, answered};

const RESULTS: &str = "a promptfoo result file, `{results: {results: [{testCase, response}]}}`";

pub(super) const IMPORTER: Importer =
    Importer { name: "promptfoo", reads: RESULTS, answers: None, run };

#[derive(Debug, Deserialize)]
struct File {
    results: Results,
}

#[derive(Debug, Deserialize)]
struct Results {
    results: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    #[serde(default)]
    prompt_idx: Option<u64>,
    #[serde(default)]
    test_idx: Option<u64>,
    #[serde(default)]
    test_case: Option<TestCase>,
    #[serde(default)]
    vars: Value,
    #[serde(default)]
    provider: Value,
    #[serde(default)]
    response: Option<Response>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct TestCase {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    assert: Option<Vec<Map<String, Value>>>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    output: Value,
    #[serde(default)]
    finish_reason: Option<String>,
}

/// Members of an assertion that leave its meaning as it is.
const HARMLESS: [&str; 4] = ["type", "value", "metric", "weight"];

fn run(input: Input<'_>) -> Result<Imported, ImportError> {
    if input.answers.is_some() {
        return Err(ImportError::NoAnswersFile { importer: IMPORTER.name });
    }
    let file: File = serde_json::from_reader(input.file)
        .map_err(|source| ImportError::File { expected: RESULTS, source })?;
    let mut imported = Imported::default();
    for (index, row) in file.results.results.iter().enumerate() {
        of_row(index, row, (input.category, input.kind), &mut imported);
    }
    Ok(imported)
}

fn of_row(
    index: usize,
    row: &Row,
    (category, kind): (Option<Category>, Option<Kind>),
    imported: &mut Imported,
) {
    let place = format!("result {index}");
    let test_case = row.test_case.as_ref();
    let metadata = |key: &str| test_case?.metadata.as_ref()?.get(key);
    let category = metadata("category")
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .or(category);
    let kind =
        metadata("kind").and_then(|value| serde_json::from_value(value.clone()).ok()).or(kind);
    let Some(category) = category else {
        imported.unmapped(
            place,
            "its test has no category of a fixture-run in `metadata.category`, and none was given \
             for all; left out",
        );
        return;
    };
    if row.test_case.is_none() {
        imported.unmapped(&place, "it has no `testCase`, so the run has no check and is `unknown`");
    }
    let test = row.test_idx.map_or_else(|| index.to_string(), |test| test.to_string());
    let id = metadata("id").and_then(Value::as_str).map(str::to_owned);
    let id = id.or_else(|| test_case?.description.clone()).filter(|id| !id.trim().is_empty());
    let expected = expected(&place, row, imported);
    let actual = actual(&place, row, imported);
    imported.runs.push(
        Draft {
            id: &id.unwrap_or_else(|| format!("test-{test}")),
            category,
            kind: kind.unwrap_or(Kind::Positive),
            query: row.vars.clone(),
            source: json!({
                "dataset": "promptfoo",
                "testIdx": row.test_idx,
                "promptIdx": row.prompt_idx,
                "provider": row.provider.get("id").unwrap_or(&Value::Null),
            }),
            expected,
            actual,
        }
        .finish(),
    );
}

fn actual(place: &str, row: &Row, imported: &mut Imported) -> Option<Map<String, Value>> {
    let output = row.response.as_ref().map(|response| &response.output);
    let response = match output {
        None | Some(Value::Null) => {
            let why = row.error.as_deref().unwrap_or("no output was recorded");
            imported.unmapped(place, format!("it has no output ({why}), so the run is `unknown`"));
            return None;
        }
        Some(Value::Array(_) | Value::Object(_)) => {
            imported.unmapped(place, "its output is no scalar, so the run is `unknown`");
            return Some(Map::new());
        }
        Some(scalar) => scalar,
    };
    let mut actual = answered(Some(response));
    if row.response.as_ref().and_then(|r| r.finish_reason.as_deref()) == Some("length") {
        actual.insert("truncated".to_owned(), Value::Bool(true));
    }
    Some(actual)
}

fn expected(place: &str, row: &Row, imported: &mut Imported) -> Map<String, Value> {
    let (mut contain, mut not_contain, mut equals) = (Vec::new(), Vec::new(), None);
    let assertions = row.test_case.iter().filter_map(|test| test.assert.as_ref()).flatten();
    for (number, assertion) in assertions.enumerate() {
        let kind = assertion.get("type").and_then(Value::as_str).unwrap_or("without a type");
        let place = format!("{place}, assertion {number} (`{kind}`)");
        let (insensitive, bare) = match kind.split_once("icontains") {
            Some((before, after)) => (true, format!("{before}contains{after}")),
            None => (false, kind.to_owned()),
        };
        let values = match values(assertion) {
            Ok(values) => values,
            Err(why) => {
                imported.unmapped(place, why);
                continue;
            }
        };
        match (bare.as_str(), &values[..]) {
            ("contains" | "contains-any", [_]) | ("contains-all", _) => {
                contain.extend(values);
            }
            ("not-contains", [_]) | ("not-contains-any", _) => not_contain.extend(values),
            ("equals", [value]) if equals.is_none() => equals = Some(value.clone()),
            _ => {
                imported.unmapped(place, "contract version 1 has no such check; left out");
                continue;
            }
        }
        if !insensitive {
            imported.unmapped(place, "mapped, but case no longer counts");
        }
    }
    let mut expected = Map::new();
    if let Some(value) = equals {
        expected.insert("answerEquals".to_owned(), value);
    }
    for (name, values) in [("mustContain", contain), ("mustNotContain", not_contain)] {
        if !values.is_empty() {
            expected.insert(name.to_owned(), Value::Array(values));
        }
    }
    expected
}

/// The values of an assertion: one, or a list. promptfoo also reads a text with commas as a list in
/// the `-all` and `-any` types.
fn values(assertion: &Map<String, Value>) -> Result<Vec<Value>, String> {
    if let Some(key) = assertion.keys().find(|key| !HARMLESS.contains(&key.as_str())) {
        return Err(format!("`{key}` has no counterpart; left out"));
    }
    if assertion.get("weight").and_then(Value::as_f64) == Some(0.0) {
        return Err("its weight is 0, so it decides nothing; left out".to_owned());
    }
    let kind = assertion.get("type").and_then(Value::as_str).unwrap_or_default();
    let values = match assertion.get("value") {
        Some(Value::Array(values)) => values.clone(),
        Some(Value::String(text)) if kind.ends_with("-all") || kind.ends_with("-any") => {
            if text.contains('"') {
                return Err("its value is a list in quotes, give a list; left out".to_owned());
            }
            text.split(',').map(|value| Value::from(value.trim())).collect()
        }
        Some(value) => vec![value.clone()],
        None => Vec::new(),
    };
    let plain = |value: &Value| match value {
        Value::String(text) => {
            !text.trim().is_empty()
                && !text.contains("{{")
                && !["file://", "package:"].iter().any(|scheme| text.starts_with(scheme))
        }
        Value::Number(_) | Value::Bool(_) => true,
        _ => false,
    };
    if values.is_empty() || !values.iter().all(plain) {
        return Err("its value is missing, blank, a template, a file or no scalar; left out".into());
    }
    Ok(values)
}
