use std::fmt::Write;

use serde_json::json;

use super::*;
use crate::fixture_run::{ActualSource, Document};

fn import(name: &str, file: &Value, answers: Option<&[Value]>) -> Result<Imported, ImportError> {
    let file = file.to_string();
    let lines =
        answers.map(|lines| lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
    let mut answers = lines.as_deref().map(str::as_bytes);
    importer(name).expect("an importer").import(Input {
        file: &mut file.as_bytes(),
        answers: answers.as_mut().map(|bytes| bytes as &mut dyn BufRead),
        category: None,
        kind: None,
    })
}

/// The checks and the answer of every run, and what did not map. Every run keeps the contract.
fn shown(imported: &Imported) -> String {
    let mut text = String::new();
    for run in &imported.runs {
        let line = run.to_string();
        let document = Document::parse(line.as_bytes()).expect("JSON");
        document.run(ActualSource::Envelope).expect("a fixture-run");
        let fixture = &run["fixture"];
        let [id, category, kind] =
            ["id", "category", "kind"].map(|key| fixture[key].as_str().unwrap());
        let actual = run.get("actual").map_or_else(|| "no answer".to_owned(), Value::to_string);
        writeln!(text, "{id} {category}/{kind} {} <- {actual}", fixture["expected"]).unwrap();
    }
    for Unmapped { place, what } in &imported.unmapped {
        writeln!(text, "! {place}: {what}").unwrap();
    }
    text
}

#[test]
fn longmemeval() {
    let question = |id: &str, kind: &str, answer: Value| {
        json!({"question_id": id, "question_type": kind, "question": "?", "answer": answer,
               "haystack_sessions": [[{"role": "user", "content": "x"}]]})
    };
    let questions = json!([
        question("q1", "knowledge-update", json!("the harbour.")),
        question("q2", "temporal-reasoning", json!(4)),
        question("q3", "single-session-user", json!("One two three four five six seven")),
        question("q4", "single-session-preference", json!("Short")),
        question("q5", "multi-session", json!("two")),
        question("q5_abs", "multi-session", json!("You never told me")),
        question("q6_abs", "knowledge-update", json!("You never told me")),
        question("q7", "knowledge-update", json!("unanswered")),
    ]);
    let says = |id: &str, said: Value| json!({"question_id": id, "hypothesis": said});
    let lines = [
        says("q1", json!("At the Harbour, I think")),
        says("q2", json!("4 days")),
        says("q3", json!("x")),
        says("q4", json!("x")),
        says("q5", json!("Two")),
        says("q5_abs", json!("I don’t know that.")),
        says("q5_abs", json!("Two.")),
        says("q6_abs", Value::Null),
        says("q8", json!("?")),
        json!({"hypothesis": "nameless"}),
    ];
    let imported = import("longmemeval", &questions, Some(&lines)).expect("imported");
    insta::assert_snapshot!(shown(&imported), @r#"
    q1 forgetting/positive {"mustContain":["the harbour"]} <- {"answer":"At the Harbour, I think"}
    q2 chronology/positive {"mustContain":[4]} <- {"answer":"4 days"}
    q3 entity-confusion/positive {} <- {"answer":"x"}
    q4 entity-confusion/positive {} <- {"answer":"x"}
    q5 entity-confusion/positive {"mustContain":["two"]} <- {"answer":"Two"}
    q5_abs entity-confusion/missing-data {"mustContain":["i don’t know"],"mustNotContain":["two"]} <- {"answer":"I don’t know that."}
    q5_abs entity-confusion/missing-data {"mustContain":["I don't know"],"mustNotContain":["two"]} <- {"answer":"Two."}
    q6_abs forgetting/missing-data {"mustContain":["I don't know"]} <- {}
    q7 forgetting/positive {"mustContain":["unanswered"]} <- no answer
    ! a hypothesis: it has no `question_id`
    ! question q3: the gold answer is a sentence, which no right answer repeats; list short values under `mustContain`, without a check the run is `unknown`
    ! question q4: its gold answer is a rubric for a judge; without a check the run is `unknown`
    ! hypothesis q8: the question file has no such question
    "#);
    insta::assert_snapshot!(imported.runs[0]["fixture"]["source"], @r#"{"dataset":"LongMemEval","questionType":"knowledge-update","questionDate":null,"goldAnswer":"the harbour.","answerSessionIds":null}"#);
}

#[test]
fn locomo_questions() {
    let file = json!([
        {"sample_id": "c1", "conversation": {"session_1": []}, "qa": [
            {"question": "When?", "answer": "7 May 2023", "evidence": ["D1:3"], "category": 2},
            {"question": "Who?", "adversarial_answer": "a necklace", "category": 5},
            {"question": "Which?", "answer": "red", "adversarial_answer": "Blue", "category": 5},
            {"question": "Both?", "answer": "red", "adversarial_answer": "red", "category": 5},
            {"question": "Year?", "answer": 2022, "category": 4, "m-1_prediction": "in 2022", "m-2_prediction": "2021"}
        ]},
        {"sample_id": "c2", "qa": [
            {"question": "When?", "answer": "May", "category": 2},
            {"question": "Odd?", "answer": "x", "category": 9}
        ]}
    ]);
    let lines = [
        json!({"question": "When?", "sample_id": "c1", "answer": "On 7 May 2023"}),
        json!({"question": "When?", "answer": "ambiguous"}),
        json!({"question": "Who?", "answer": "I don't know"}),
        json!({"question": "Never asked", "answer": "x"}),
    ];
    let imported = import("locomo", &file, Some(&lines)).expect("imported");
    insta::assert_snapshot!(shown(&imported), @r#"
    c1-q1 chronology/positive {"mustContain":["7 May 2023"]} <- {"answer":"On 7 May 2023"}
    c1-q2 entity-confusion/adversarial {"mustNotContain":["a necklace"]} <- {"answer":"I don't know"}
    c1-q3 entity-confusion/adversarial {"mustNotContain":["Blue"],"mustContain":["red"]} <- no answer
    c1-q4 entity-confusion/adversarial {} <- no answer
    c1-q5 entity-confusion/positive {"mustContain":[2022]} <- {"answer":"in 2022"}
    c1-q5 entity-confusion/positive {"mustContain":[2022]} <- {"answer":"2021"}
    c2-q1 chronology/positive {"mustContain":["May"]} <- no answer
    c2-q2 entity-confusion/positive {"mustContain":["x"]} <- no answer
    ! the answer to "When?": several conversations have this question; name one with `sample_id`
    ! the answer to "Never asked": the question file has no such question
    ! c1-q4: the gold answer is the adversarial answer too; without a check the run is `unknown`
    ! c2-q2: its category is 9, and not a number from 1 to 5; taken as entity-confusion
    "#);
    insta::assert_snapshot!(imported.runs[0]["fixture"]["source"], @r#"{"dataset":"LoCoMo","sampleId":"c1","category":2,"categoryNameAsReported":"temporal","goldAnswer":"7 May 2023","evidence":["D1:3"],"system":null}"#);
}

#[test]
fn locomo_answered_questions() {
    let row = json!({"question": "Year?", "answer": "It was 2022", "golden_answer": 2022, "category": 2, "grade": true});
    let bare = import("locomo", &json!([row]), None).expect("imported");
    insta::assert_snapshot!(shown(&bare), @r#"locomo-q1 chronology/positive {"mustContain":[2022]} <- {"answer":"It was 2022"}"#);
    let named =
        import("locomo", &json!({"user_0": [row], "user_1": [row]}), None).expect("imported");
    insta::assert_snapshot!(shown(&named), @r#"
    user_0-q1 chronology/positive {"mustContain":[2022]} <- {"answer":"It was 2022"}
    user_1-q1 chronology/positive {"mustContain":[2022]} <- {"answer":"It was 2022"}
    "#);
}

#[test]
fn promptfoo() {
    let row = |asserts: Value, output: Value, metadata: Value| {
        json!({"promptIdx": 0, "testIdx": 3, "provider": {"id": "echo"}, "vars": {"q": "where?"},
               "testCase": {"assert": asserts, "metadata": metadata},
               "response": {"output": output}})
    };
    let is = |kind: &str, value: Value| json!({"type": kind, "value": value});
    let forgetting = json!({"category": "forgetting", "kind": "negative", "id": "city"});
    let file = json!({"results": {"version": 3, "results": [
        row(json!([is("icontains", json!("Oslo")), is("icontains-all", json!(["a", 2])), is("not-icontains", json!("Rome")),
                   is("not-contains-any", json!("b, c")), is("equals", json!("Oslo"))]), json!("Oslo"), forgetting.clone()),
        row(json!([is("icontains-any", json!(["a", "b"])), is("icontains-any", json!(["a"])), is("llm-rubric", json!("nice")),
                   is("icontains", json!("{{city}}")), {"type": "icontains", "value": "x", "transform": "output.y"},
                   is("not-icontains-all", json!(["x", "y"])), {"type": "icontains", "value": "x", "weight": 0},
                   {"type": "assert-set", "assert": []}, is("icontains-all", json!("\"a, b\", c"))]),
            json!({"deep": 1}), forgetting.clone()),
        row(Value::Null, Value::Null, forgetting.clone()),
        row(json!([]), json!("x"), json!({"category": "astronomy"})),
        {"response": {"output": "x"}},
    ]}});
    let imported = import("promptfoo", &file, None).expect("imported");
    insta::assert_snapshot!(shown(&imported), @r#"
    city forgetting/negative {"answerEquals":"Oslo","mustContain":["Oslo","a",2],"mustNotContain":["Rome","b","c"]} <- {"answer":"Oslo"}
    city forgetting/negative {"mustContain":["a"]} <- {}
    city forgetting/negative {} <- no answer
    ! result 0, assertion 3 (`not-contains-any`): mapped, but case no longer counts
    ! result 0, assertion 4 (`equals`): mapped, but case no longer counts
    ! result 1, assertion 0 (`icontains-any`): contract version 1 has no such check; left out
    ! result 1, assertion 2 (`llm-rubric`): contract version 1 has no such check; left out
    ! result 1, assertion 3 (`icontains`): its value is missing, blank, a template, a file or no scalar; left out
    ! result 1, assertion 4 (`icontains`): `transform` has no counterpart; left out
    ! result 1, assertion 5 (`not-icontains-all`): contract version 1 has no such check; left out
    ! result 1, assertion 6 (`icontains`): its weight is 0, so it decides nothing; left out
    ! result 1, assertion 7 (`assert-set`): `assert` has no counterpart; left out
    ! result 1, assertion 8 (`icontains-all`): its value is a list in quotes, give a list; left out
    ! result 1: its output is no scalar, so the run is `unknown`
    ! result 2: it has no output (no output was recorded), so the run is `unknown`
    ! result 3: its test has no category of a fixture-run in `metadata.category`, and none was given for all; left out
    ! result 4: its test has no category of a fixture-run in `metadata.category`, and none was given for all; left out
    "#);
}

#[test]
fn a_category_for_all() {
    let file = json!({"results": {"results": [{"testCase": {}, "response": {"output": "x", "finishReason": "length"}}]}});
    let imported = importer("promptfoo")
        .expect("an importer")
        .import(Input {
            file: &mut file.to_string().as_bytes(),
            answers: None,
            category: Some(Category::Chronology),
            kind: Some(Kind::Adversarial),
        })
        .expect("imported");
    insta::assert_snapshot!(shown(&imported), @r#"test-0 chronology/adversarial {} <- {"answer":"x","truncated":true}"#);
}

#[test]
fn what_is_no_such_file_is_said_with_its_place() {
    for (name, file) in
        [("longmemeval", json!({"x": 1})), ("locomo", json!(3)), ("promptfoo", json!([]))]
    {
        let error = import(name, &file, None).expect_err("foreign").to_string();
        assert!(error.starts_with("this is not a") && error.contains("line 1"), "{error}");
    }
    let error =
        import("longmemeval", &json!([]), Some(&[json!({}), json!(3)])).expect_err("foreign");
    insta::assert_snapshot!(error, @"line 2 of the answers is not a LongMemEval hypothesis file, a line `{question_id, hypothesis}` each: invalid type: integer `3`, expected a map at line 1 column 1");
    let error = import("promptfoo", &json!([]), Some(&[])).expect_err("a second file");
    insta::assert_snapshot!(error, @"importer `promptfoo` reads the answers from its one file; leave the second out");
}
