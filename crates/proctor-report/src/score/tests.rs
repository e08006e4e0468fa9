use std::borrow::Cow;

use proctor_model::Digest;
use proctor_model::json::Json;
use proctor_model::recorded::EVALUATOR_VERSION;
use proctor_model::recorded::report::{
    Agreement, Cell, CheckName, CheckReport, Counts, Echo, Estimate, FixtureEcho, InputDigest,
    Item, LabelRow, Reason, SelfTest, Subject, Verdict, note,
};
use proctor_model::recorded::run::{Category, ContractVersion, Kind, Violation};
use serde_json::{Value, json};

use super::*;

fn run<'a>(id: &'a str, verdict: Verdict, path: Option<&'a str>) -> RunReport<'a> {
    RunReport {
        path: path.map(Cow::Borrowed),
        contract_version: ContractVersion::V1,
        evaluator_version: EVALUATOR_VERSION,
        fixture: Some(FixtureEcho {
            id: Some(id),
            category: Some(Category::Forgetting),
            kind: Some(Kind::Negative),
            query: None,
            memory: None,
        }),
        input_digest: Some(InputDigest(Digest::of(b"abc"))),
        adapter: None,
        subject: Some(Subject::Answer),
        verdict,
        reason: None,
        intended: None,
        checks: Vec::new(),
        violations: Vec::new(),
        notes: Vec::new(),
    }
}

fn item<'a>(value: &'a Json<'a>, found: bool, excerpt: Option<&str>) -> Item<'a> {
    Item {
        index: None,
        value: Echo::Value(value),
        found,
        boundary: found.then_some(true),
        excerpt: excerpt.map(str::to_owned),
    }
}

fn check<'a>(
    name: CheckName,
    verdict: Verdict,
    reason: Reason,
    expected: &'a [Json<'a>],
    items: Vec<Item<'a>>,
) -> CheckReport<'a> {
    CheckReport {
        check: name,
        verdict,
        reads: name.reads(),
        expected: Echo::List(expected),
        items,
        reason: Some(reason),
    }
}

/// A run that fails in what it lacks and in what it has.
fn failing<'a>(values: &'a [Json<'a>], path: Option<&'a str>) -> RunReport<'a> {
    let [lisbon, berlin] = values else { panic!("two values") };
    let mut report = run("moved", Verdict::Fail, path);
    report.checks = vec![
        check(
            CheckName::MustContain,
            Verdict::Fail,
            Reason::ValueMissing,
            std::slice::from_ref(lisbon),
            vec![item(lisbon, false, None)],
        ),
        check(
            CheckName::MustNotContain,
            Verdict::Fail,
            Reason::StaleValuePresent,
            std::slice::from_ref(berlin),
            vec![item(berlin, true, Some("She  lives in\nBerlin \u{1b}[2J<b>`&`</b> @team"))],
        ),
    ];
    report.notes = vec![note::ONLY_INSIDE_WORD.into(), "stop_reason:other".into()];
    report
}

fn broken(path: Option<&str>) -> RunReport<'_> {
    let mut report = run("broken", Verdict::Error, path);
    report.fixture = None;
    report.input_digest = None;
    report.subject = None;
    report.reason = Some(Reason::ContractViolation);
    report.violations =
        vec![Violation::new("/fixture/id", "is missing"), Violation::new("/x", "unknown key")];
    report
}

fn unknown(path: Option<&str>) -> RunReport<'_> {
    let mut report = run("bare", Verdict::Unknown, path);
    report.reason = Some(Reason::NoChecksDeclared);
    report
}

fn values() -> Vec<Json<'static>> {
    [json!("Lisbon"), json!("Berlin")].iter().map(Json::from).collect()
}

fn summary() -> Summary {
    let counts = Counts { error: 1, fail: 1, unknown: 1, pass: 1 };
    let placed = Counts { error: 0, ..counts };
    Summary {
        verdict: Verdict::Error,
        counts,
        skipped: 2,
        notes: Vec::new(),
        matrix: vec![
            Cell {
                category: Some(Category::Forgetting),
                kind: Some(Kind::Negative),
                verdict: Verdict::Fail,
                counts: placed,
            },
            Cell {
                category: None,
                kind: None,
                verdict: Verdict::Error,
                counts: Counts { error: 1, ..Counts::default() },
            },
        ],
        self_test: None,
        agreement: None,
    }
}

fn empty() -> Summary {
    Summary {
        verdict: Verdict::Unknown,
        counts: Counts::default(),
        skipped: 0,
        notes: vec![note::NO_RUNS.into()],
        matrix: Vec::new(),
        self_test: None,
        agreement: None,
    }
}

fn labelled() -> Summary {
    let row =
        |verdict, labelled_pass, labelled_fail| LabelRow { verdict, labelled_pass, labelled_fail };
    let half = Estimate { value: Some(0.5), low: Some(0.0945), high: Some(0.9055) };
    Summary {
        self_test: Some(SelfTest { as_intended: 3, otherwise: 1, undecided: 0 }),
        agreement: Some(Agreement {
            table: vec![
                row(Verdict::Pass, 1, 0),
                row(Verdict::Unknown, 1, 0),
                row(Verdict::Fail, 0, 1),
                row(Verdict::Error, 0, 0),
            ],
            unlabelled: 1,
            unused: 2,
            kappa: Estimate::default(),
            agree: half,
            pass_is_right: half,
            fail_is_right: half,
        }),
        ..summary()
    }
}

/// The whole report of a set, as it is put together for a reader.
fn set(format: Format, summary: &Summary, runs: &[RunReport<'_>]) -> String {
    let renderer = Renderer { format, single: false, styles: Styles::plain() };
    let mut body = Vec::new();
    for run in runs {
        renderer.run(run, &mut body);
    }
    let body = body.get(usize::try_from(renderer.separator()).unwrap()..).unwrap_or_default();
    let body = std::str::from_utf8(body).unwrap();
    format!("{}{body}{}", renderer.head(summary), renderer.foot(summary))
}

fn alone(format: Format, report: &RunReport<'_>) -> String {
    let renderer = Renderer { format, single: true, styles: Styles::plain() };
    let mut body = Vec::new();
    renderer.run(report, &mut body);
    let summary = summary();
    format!(
        "{}{}{}",
        renderer.head(&summary),
        String::from_utf8(body).unwrap(),
        renderer.foot(&summary)
    )
}

#[test]
fn text_of_a_set_shows_what_is_not_as_it_should_be() {
    let values = values();
    let runs = [
        failing(&values, Some("a\u{202e}.json")),
        broken(Some("b.json")),
        unknown(Some("c.json")),
        run("fine", Verdict::Pass, Some("d.json")),
    ];
    insta::assert_snapshot!(set(Format::Text, &summary(), &runs), @r#"
    fail moved (forgetting, negative, answer) in a\u{202e}.json
      fail mustContain (value_missing)
        "Lisbon" is not in the answer
        next: if the answer says it in other words, list a shorter anchor
      fail mustNotContain (stale_value_present)
        "Berlin" is in the answer:
          > She lives in Berlin \u{1b}[2J<b>`&`</b> @team
        next: history counts too: ask for the current value only in the query, if that is meant
      note: only_inside_word: the verdict rests on a value inside a longer word; `--boundary word` ignores those
      note: stop_reason:other
    error b.json
      /fixture/id: is missing
      /x: unknown key
    unknown bare (forgetting, negative, answer) in c.json
      the fixture declares no check

    category          kind          verdict     pass     fail  unknown    error
    forgetting        negative      fail           1        1        1        0
    not readable      not readable  error          0        0        0        1

    4 runs: 1 pass, 1 fail, 1 unknown, 1 error; 2 left out
    verdict: error
    "#);
}

/// What an input says cannot pass for a line of the report.
#[test]
fn names_stay_on_their_line() {
    let mut report = run("x\nverdict: pass\t", Verdict::Fail, Some("a\nb.json"));
    report.violations = vec![Violation::new("/a\n/b", "unknown key\n")];
    report.notes = vec!["stop\nverdict: pass".into()];
    let text = set(Format::Text, &summary(), &[report.clone()]);
    assert!(text.starts_with(
        "fail x\\nverdict: pass\\t (forgetting, negative, answer) in a\\nb.json\n  /a\\n/b: unknown \
         key\\n\n  note: stop\\nverdict: pass\n\n"
    ));
    assert!(
        set(Format::Markdown, &summary(), &[report]).contains("`x verdict: pass` in `a b.json`")
    );
    let long = "y".repeat(10_000);
    let text = set(Format::Text, &summary(), &[run(&long, Verdict::Fail, None)]);
    assert!(text.lines().all(|line| line.len() < 600));
}

#[test]
fn text_of_one_run_shows_every_check() {
    let values = values();
    let mut report = run("fine", Verdict::Pass, None);
    report.checks = vec![CheckReport {
        check: CheckName::AnswerEquals,
        verdict: Verdict::Pass,
        reads: CheckName::AnswerEquals.reads(),
        expected: Echo::Value(&values[0]),
        items: vec![item(&values[0], true, Some("lisbon"))],
        reason: None,
    }];
    insta::assert_snapshot!(alone(Format::Text, &report), @r#"
    pass fine (forgetting, negative, answer)
      pass answerEquals
        is "Lisbon" as expected
    "#);
}

#[test]
fn labels_and_self_test_are_part_of_the_text() {
    let mut report = run("other", Verdict::Pass, Some("a.json"));
    report.intended = Some(Some(Verdict::Fail));
    let mut silent = run("silent", Verdict::Pass, Some("b.json"));
    silent.intended = Some(None);
    let mut fine = run("fine", Verdict::Error, Some("c.json"));
    fine.intended = Some(Some(Verdict::Error));
    insta::assert_snapshot!(set(Format::Text, &labelled(), &[report, silent, fine]), @r#"
    pass other (forgetting, negative, answer) in a.json
      intended: fail
    pass silent (forgetting, negative, answer) in b.json
      intended: nothing that can be read

    category          kind          verdict     pass     fail  unknown    error
    forgetting        negative      fail           1        1        1        0
    not readable      not readable  error          0        0        0        1

    verdict   labelled pass   labelled fail
    pass                  1               0
    unknown               1               0
    fail                  0               1
    error                 0               0
    agreement: 0.500 (95 % interval 0.095 to 0.905)
    Cohen's kappa: nothing to compare
    a pass is right: 0.500 (95 % interval 0.095 to 0.905)
    a fail is right: 0.500 (95 % interval 0.095 to 0.905)
    1 run without a label
    labels without a run: 2

    self-test: 3 as intended, 1 otherwise, 0 without an intention that can be read
    4 runs: 1 pass, 1 fail, 1 unknown, 1 error; 2 left out
    verdict: error
    "#);
}

#[test]
fn junit_knows_failures_and_errors() {
    let values = values();
    let runs = [
        failing(&values, Some("a.json")),
        broken(Some("b\u{ffff}\".json")),
        unknown(Some("c.json")),
        run("fine", Verdict::Pass, Some("d.json")),
    ];
    insta::assert_snapshot!(set(Format::Junit, &summary(), &runs), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="proctor score" tests="4" failures="1" errors="2">
      <testsuite name="recorded runs" tests="4" failures="1" errors="2" skipped="0">
        <testcase classname="forgetting.negative" name="a.json: moved">
          <failure type="fail" message="mustContain: value_missing, mustNotContain: stale_value_present">mustContain: &quot;Lisbon&quot; is not in the answer
    mustNotContain: &quot;Berlin&quot; is in the answer:
    mustNotContain:   &gt; She lives in Berlin \u{1b}[2J&lt;b&gt;`&amp;`&lt;/b&gt; @team
    note: only_inside_word: the verdict rests on a value inside a longer word; `--boundary word` ignores those
    note: stop_reason:other</failure>
        </testcase>
        <testcase classname="unreadable.unreadable" name="b�&quot;.json">
          <error type="contract_violation" message="contract_violation">/fixture/id: is missing
    /x: unknown key</error>
        </testcase>
        <testcase classname="forgetting.negative" name="c.json: bare">
          <error type="unknown" message="no_checks_declared">the fixture declares no check</error>
        </testcase>
        <testcase classname="forgetting.negative" name="d.json: fine"/>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn markdown_has_tables_and_harmless_runs() {
    let values = values();
    let runs = [
        failing(&values, Some("a`|b.json")),
        broken(Some("b.json")),
        unknown(Some("c.json")),
        run("fine", Verdict::Pass, Some("d.json")),
    ];
    insta::assert_snapshot!(set(Format::Markdown, &labelled(), &runs), @r#"
    ## Recorded runs: error

    4 runs: 1 pass, 1 fail, 1 unknown, 1 error; 2 left out.

    self-test: 3 as intended, 1 otherwise, 0 without an intention that can be read

    | category | kind | verdict | pass | fail | unknown | error |
    |---|---|---|---:|---:|---:|---:|
    | forgetting | negative | fail | 1 | 1 | 1 | 0 |
    | not readable | not readable | error | 0 | 0 | 0 | 1 |

    | verdict | labelled pass | labelled fail |
    |---|---:|---:|
    | pass | 1 | 0 |
    | unknown | 1 | 0 |
    | fail | 0 | 1 |
    | error | 0 | 0 |

    - agreement: 0.500 (95 % interval 0.095 to 0.905)
    - Cohen's kappa: nothing to compare
    - a pass is right: 0.500 (95 % interval 0.095 to 0.905)
    - a fail is right: 0.500 (95 % interval 0.095 to 0.905)
    - 1 run without a label
    - labels without a run: 2

    - **fail** `moved` in ``a`|b.json``
      - fail mustContain (value_missing)
        - `"Lisbon" is not in the answer`
      - fail mustNotContain (stale_value_present)
        - `"Berlin" is in the answer:`
        - ``> She lives in Berlin \u{1b}[2J<b>`&`</b> @team``
      - note: ``only_inside_word: the verdict rests on a value inside a longer word; `--boundary word` ignores those``
      - note: `stop_reason:other`
    - **error** `b.json`
      - `/fixture/id: is missing`
      - `/x: unknown key`
    - **unknown** `bare` in `c.json`
      - the fixture declares no check
    "#);
}

#[test]
fn json_of_a_set_is_one_document() {
    let values = values();
    let runs = [failing(&values, Some("a.json")), broken(Some("b.json"))];
    let text = set(Format::Json, &summary(), &runs);
    let whole = serde_json::to_value(&proctor_model::recorded::report::SetReport {
        summary: summary(),
        runs: runs.to_vec(),
    });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole.unwrap());
    // Byte for byte what a pretty printer makes of it.
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text, serde_json::to_string_pretty(&value).unwrap() + "\n");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn json_of_nothing_is_whole() {
    insta::assert_snapshot!(set(Format::Json, &empty(), &[]), @r#"
    {
      "verdict": "unknown",
      "counts": {
        "error": 0,
        "fail": 0,
        "unknown": 0,
        "pass": 0
      },
      "skipped": 0,
      "notes": [
        "no fixture-runs found"
      ],
      "matrix": [],
      "runs": []
    }
    "#);
    assert!(
        set(Format::Text, &empty(), &[])
            .ends_with("0 runs: 0 pass, 0 fail, 0 unknown, 0 error\nverdict: unknown\n")
    );
}

#[test]
fn json_of_one_run_has_its_keys_in_order() {
    let values = values();
    insta::assert_snapshot!(alone(Format::Json, &failing(&values, None)), @r#"
    {
      "contractVersion": "1",
      "evaluatorVersion": "1.0.0",
      "fixture": {
        "id": "moved",
        "category": "forgetting",
        "kind": "negative"
      },
      "inputDigest": "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      "adapter": null,
      "subject": "answer",
      "verdict": "fail",
      "checks": [
        {
          "check": "mustContain",
          "verdict": "fail",
          "reads": "actual.answer",
          "expected": [
            "Lisbon"
          ],
          "items": [
            {
              "value": "Lisbon",
              "found": false,
              "boundary": null,
              "excerpt": null
            }
          ],
          "reason": "value_missing"
        },
        {
          "check": "mustNotContain",
          "verdict": "fail",
          "reads": "actual.answer",
          "expected": [
            "Berlin"
          ],
          "items": [
            {
              "value": "Berlin",
              "found": true,
              "boundary": true,
              "excerpt": "She  lives in\nBerlin \u001b[2J<b>`&`</b> @team"
            }
          ],
          "reason": "stale_value_present"
        }
      ],
      "notes": [
        "only_inside_word",
        "stop_reason:other"
      ]
    }
    "#);
    insta::assert_snapshot!(alone(Format::Json, &broken(None)), @r#"
    {
      "contractVersion": "1",
      "evaluatorVersion": "1.0.0",
      "fixture": null,
      "inputDigest": null,
      "adapter": null,
      "subject": null,
      "verdict": "error",
      "reason": "contract_violation",
      "checks": [],
      "violations": [
        {
          "pointer": "/fixture/id",
          "message": "is missing"
        },
        {
          "pointer": "/x",
          "message": "unknown key"
        }
      ],
      "notes": []
    }
    "#);
}

#[test]
fn the_schema_accepts_what_is_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/score-report.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("PROCTOR_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text);
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let values = values();
    let runs = [failing(&values, Some("a.json")), broken(Some("b.json")), unknown(Some("c.json"))];
    for text in [
        set(Format::Json, &labelled(), &runs),
        set(Format::Json, &empty(), &[]),
        alone(Format::Json, &runs[0]),
        alone(Format::Json, &runs[1]),
    ] {
        let value: Value = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}\n{text}");
    }
    assert!(!validator.is_valid(&json!({"verdict": "pass"})));
}
