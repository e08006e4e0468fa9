#![no_main]

use std::num::NonZeroUsize;

use proctor_formats::fixture_run::{Document, adapters::ADAPTERS};
use proctor_formats::tree::{Problems, json};
use proctor_grade::text::Boundary;
use proctor_model::recorded::report::{RunReport, Verdict};
use proctor_report::Styles;
use proctor_report::score::{Format, Renderer};
use proctor_runner::score::{Inputs, Options, score};

// The first byte chooses adapter and boundary, the rest is a run. Whatever the bytes are: both
// readers of JSON take them or refuse them, the canonical form is its own canonical form, verdicts
// follow from checks and checks from the contract, and every format can be printed.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else { return };
    let document = Document::parse(text);
    assert_eq!(json(text, &mut Problems::new("f".into())).is_some(), document.is_ok());
    let mut room = Vec::new();
    let digest = document.as_ref().ok().and_then(|document| document.digest(&mut room));
    if let Some(digest) = digest {
        let again = Document::parse(&room).expect("a canonical form is JSON");
        assert_eq!(again.digest(&mut Vec::new()), Some(digest));
    }

    let boundary = if choice & 1 == 0 { Boundary::Substring } else { Boundary::Word };
    let report = |format| {
        let options = Options {
            boundary,
            adapter: ADAPTERS.get(usize::from(choice >> 2)),
            order_by: (choice & 2 != 0).then(|| "created_at".to_owned()),
            self_test: format == Format::Junit,
            labels: None,
            workers: NonZeroUsize::MIN,
            temporary: std::env::temp_dir(),
        };
        let inputs = Inputs::gather(&["-".into()], ".".as_ref(), &[]).expect("standard input");
        let renderer = Renderer { format, single: format == Format::Json, styles: Styles::plain() };
        let render = |run: &RunReport<'_>, out: &mut Vec<u8>| {
            hold(run);
            renderer.run(run, out);
        };
        let scored = score(inputs, &mut &*text, &options, &render).expect("a small report");
        assert_eq!(scored.summary.counts.total(), 1);
        let mut out = renderer.head(&scored.summary).into_bytes();
        scored.runs.copy_to(0, &mut out).expect("a vector takes all");
        out.extend_from_slice(renderer.foot(&scored.summary).as_bytes());
        String::from_utf8(out).expect("text")
    };
    serde_json::from_str::<serde_json::Value>(&report(Format::Json)).expect("JSON");
    for format in [Format::Text, Format::Junit, Format::Markdown] {
        let text = report(format);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
});

fn hold(run: &RunReport<'_>) {
    match run.verdict {
        Verdict::Error => assert!(run.checks.is_empty() && !run.violations.is_empty()),
        verdict => {
            assert!(run.violations.is_empty());
            assert_eq!(verdict, Verdict::worst(run.checks.iter().map(|check| check.verdict)));
        }
    }
    assert!(run.violations.is_sorted());
    for violation in &run.violations {
        assert!(!violation.message.contains("a bug in proctor"));
    }
    for check in &run.checks {
        assert_eq!(check.reason.is_none(), check.verdict == Verdict::Pass);
        for item in &check.items {
            assert!(item.boundary.is_none() || item.excerpt.is_some());
        }
    }
}
