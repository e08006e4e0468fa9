use super::*;

/// Imports one list with the skills that it may name.
fn list(
    name: &str,
    text: &str,
    skill: Option<&str>,
    skills: &[&str],
) -> Result<Imported, ImportError> {
    let memory = Memory::new(&[(name, text)]);
    let skills: BTreeSet<String> = skills.iter().map(|&skill| skill.to_owned()).collect();
    let input = Input {
        origin: name,
        files: &memory,
        named: name,
        folder_name: "folder",
        skill,
        skills: Some(&skills).filter(|skills| !skills.is_empty()),
    };
    import(importer("queries").unwrap(), &[input], Options::default())
}

/// `file: id yes|no prompt` for each case.
fn cases(imported: &Imported) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &imported.files {
        let text = String::from_utf8_lossy(&file.content);
        for case in text.split("\n  - id: ").skip(1) {
            let value = |key: &str| case.split_once(key).unwrap().1.lines().next().unwrap();
            let id = case.lines().next().unwrap();
            let fires = if value("expect_trigger: ") == "true" { "yes" } else { "no" };
            lines.push(format!("{}: {id} {fires} {}", file.path, value("prompt: ")));
        }
    }
    lines
}

fn mistakes(name: &str, text: &str, skill: Option<&str>, skills: &[&str]) -> String {
    list(name, text, skill, skills).unwrap_err().to_string()
}

#[test]
fn labels_become_cases_of_the_skills_that_they_name() {
    let text = r#"
owner: us
trigger_evals:
  - id: "t-1"
    query: "Roll it out"
    expected_skill: deploy
    tags: [should-trigger, "Smoke Test"]
    difficulty: easy
  - id: "t-n1"
    query: "What changed?"
    expected_skill: notes
    expected_not_skills: [deploy, plans]
    difficulty: hard
  - query: "Sing a song"
    expected_skill:
"#;
    let imported = list("Trigger set.yaml", text, None, &["deploy", "notes", "plans"]).unwrap();
    insta::assert_snapshot!(shown(&imported));
    let ids: Vec<_> = imported.ids.iter().map(|(file, ids)| (file.as_str(), ids.len())).collect();
    assert_eq!(
        ids,
        [
            ("deploy/trigger-set.eval.yaml", 2),
            ("notes/trigger-set.eval.yaml", 1),
            ("plans/trigger-set.eval.yaml", 1)
        ]
    );
}

#[test]
fn all_four_ways_of_writing_say_the_same() {
    let yaml =
        "- {id: 1, query: 'a, b', should_trigger: true}\n- {prompt: c, should_trigger: false}\n";
    let json = r#"{"queries": [{"id": "1", "query": "a, b", "should_trigger": true},
                               {"input": "c", "expect_trigger": false}]}"#;
    let lines = "{\"id\": 1, \"query\": \"a, b\", \"should_trigger\": true}\n\n\
                 {\"text\": \"c\", \"should_trigger\": false}\n";
    let table = "\u{feff}id,query,should_trigger\r\n1,\"a, b\",Yes\r\n,c,0\r\n\r\n";
    for (name, text) in [("q.yaml", yaml), ("q.json", json), ("q.jsonl", lines), ("q.csv", table)] {
        let imported = list(name, text, Some("deploy"), &[]).unwrap();
        let expected = ["q.eval.yaml: \"1\" yes a, b", "q.eval.yaml: query-2e7d2c03a950 no c"];
        assert_eq!(cases(&imported), expected, "{name}");
    }
}

#[test]
fn a_table_may_name_several_skills_in_a_cell() {
    let table = "query,expected_skill,forbidden,tags,note\n\
                 \"say \"\"hi\"\",\nplease\",greet,\"a; b\",x;y,\n\
                 none,,,,why\n";
    let imported = list("q.csv", table, None, &[]).unwrap();
    insta::assert_snapshot!(shown(&imported));
}

#[test]
fn labels_of_other_skills_are_left_out_when_one_is_named() {
    let text = "- {query: a, expected_skill: x}\n- {query: b, expected_skill: y, forbidden: [x]}\n\
                - {query: c, should_trigger: false}\n";
    let imported = list("q.yaml", text, Some("x"), &[]).unwrap();
    let lines = cases(&imported);
    assert_eq!(lines.len(), 3);
    assert!(imported.report.text().contains("1 label(s) of other skills are left out"));
    let error = mistakes("q.yaml", "- {query: a, expected_skill: y}\n", Some("x"), &[]);
    assert_eq!(error, "q.yaml: none of its queries is about skill `x`");
}

#[test]
fn an_id_stays_the_same_when_the_list_grows() {
    let before = list("q.yaml", "- {query: b, expected_skill: x}\n", None, &[]).unwrap();
    let text = "- {query: a, expected_skill: x}\n- {query: b, expected_skill: x}\n\
                - {query: b, expected_skill: y}\n";
    let after = list("q.yaml", text, None, &[]).unwrap();
    let id = |imported: &Imported, line: usize| {
        cases(imported)[line].split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(id(&before, 0), id(&after, 1));
    assert_eq!(id(&before, 0), id(&after, 2));
}

#[test]
fn every_mistake_has_its_place() {
    let text = r#"queries:
  - {query: " ", expected_skill: deploy}
  - {expected_skill: deploy}
  - {query: a, expected_skil: deploy}
  - {query: b, expected_skill: depoy, forbidden: [notes, 3]}
  - {query: c, expected_skill: [deploy, notes]}
  - {query: d, should_trigger: "yes", id: 7}
  - {query: e, should_trigger: false, expected_skill: deploy, id: 7}
  - {query: f, should_trigger: true}
  - just text
  - {query: g, expected_skill: deploy, id: x}
  - {query: g, forbidden: deploy, id: x}
"#;
    insta::assert_snapshot!(mistakes("q.yaml", text, None, &["deploy", "notes"]));
}

#[test]
fn a_ragged_row_is_a_mistake_with_its_line() {
    let table = "query,expected_skill\na,x\nb\n\"c\nd\",x,y\n\"e\"f,x\ng,\"x\n";
    insta::assert_snapshot!(mistakes("q.csv", table, None, &[]), @r"
    nothing is imported
      q.csv:3:1: the row has 1 cell(s), and the first row has 2 (hint: a text with a comma or a line break needs quotation marks around it)
      q.csv:4:1: the row has 3 cell(s), and the first row has 2 (hint: a text with a comma or a line break needs quotation marks around it)
      q.csv:6:4: text stands behind the closing quotation mark (hint: write two quotation marks for one inside a cell)
      q.csv:7:3: the quotation mark is never closed
    ");
    insta::assert_snapshot!(mistakes("q.csv", "query,,query\na,b,c\n", None, &[]), @r"
    nothing is imported
      q.csv:1:7: the column has no name
      q.csv:1:8: the column is there twice
    ");
    insta::assert_snapshot!(mistakes("q.csv", "query\n\u{0}\n", None, &[]), @r"
    nothing is imported
      q.csv:2:1: [0]: nothing says which skill it should fire, or must not (hint: add `expected_skill`, `forbidden` or `should_trigger`)
    ");
}

#[test]
fn lines_of_json_have_their_own_places() {
    let text = "{\"query\": \"a\", \"expected_skill\": \"x\"}\n{\"query\": 1}\n{\"query\"}\n";
    insta::assert_snapshot!(mistakes("q.jsonl", text, None, &[]), @r"
    nothing is imported
      q.jsonl:2:11: [1].query: expected a string, found 1
      q.jsonl:3:9: expected `:` after the key, found `}`
    ");
}

#[test]
fn what_is_no_list_is_refused() {
    for (name, text, expected) in [
        ("q.yaml", "a: [{query: a}]\nb: [{query: b}]\n", "and found 2"),
        ("q.yaml", "a: {query: a}\n", "and found 0"),
        ("q.yaml", "just text\n", "and found 0"),
        ("q.yaml", "[]\n", "expected 1 to 10000 queries"),
        ("q.csv", "", "holds nothing"),
        ("q.csv", "query,expected_skill\n", "expected 1 to 10000 queries"),
        ("q.jsonl", "\n\n", "expected 1 to 10000 queries"),
        ("q.yaml", "- query: a\n  expected_skill:\n", "none of its queries is about a skill"),
        ("q.yaml", "- {query: a, expected_skill: ../x}\n", "the name of a skill's folder"),
        ("q.txt", "query", "holds nothing for importer `queries`"),
    ] {
        let error = mistakes(name, text, None, &[]);
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn one_query_that_names_very_many_skills_is_refused_in_time() {
    let skills: Vec<String> = (0..15_000).map(|number| format!("s{number}")).collect();
    let text = format!("- {{query: a, forbidden: [{}]}}\n", skills.join(","));
    assert!(mistakes("q.yaml", &text, None, &[]).contains("the limit is 500"));
    let text = format!("query,forbidden\na,\"{}\"\n", skills.join(","));
    assert!(mistakes("q.csv", &text, None, &[]).contains("the limit is 500"));
    let long = "- {query: a, expected_skill: b}\n".repeat(10_001);
    assert!(mistakes("q.yaml", &long, None, &[]).contains("expected 1 to 10000 queries"));
}

#[test]
fn a_hidden_character_refuses_a_list() {
    let text = "- {query: \"de\u{200b}ploy\", expected_skill: x}\n";
    assert!(mistakes("q.yaml", text, None, &[]).contains("AR002"));
}
