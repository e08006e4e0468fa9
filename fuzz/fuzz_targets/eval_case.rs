#![no_main]

use proctor_formats::eval::check_case_file;
use proctor_formats::tree::{Kind, MAX_DEPTH, MAX_LISTED, Node, Problems, yaml_first};
use proctor_model::Diagnostics;

// Whatever the bytes are: a YAML document becomes a tree of bounded depth or a mistake, and every
// mistake of it or of a case file lies in the text and can be printed.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut problems = Problems::new("f".into());
    let node = yaml_first(data, &mut problems);
    assert!(node.is_some() || problems.has_errors());
    if let Some(node) = &node {
        assert!(depth(node) <= MAX_DEPTH + 1);
    }
    check(&problems.finish(), data);
    for file in ["a.eval.yaml", "a.eval.json"] {
        check(&check_case_file(file.into(), data), data);
    }
});

fn depth(node: &Node) -> usize {
    1 + match &node.kind {
        Kind::Array(items) => items.iter().map(depth).max().unwrap_or_default(),
        Kind::Object(members) => members.iter().map(|m| depth(&m.value)).max().unwrap_or_default(),
        _ => 0,
    }
}

fn check(diagnostics: &Diagnostics, data: &[u8]) {
    assert!(diagnostics.0.len() <= MAX_LISTED + 1);
    let lines = data.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
    for diagnostic in &diagnostics.0 {
        let shown = diagnostic.to_string();
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(shown.len() < 4_000, "{shown}");
        if let Some(location) = diagnostic.location {
            assert!(location.line as usize <= lines + 1, "{location:?}");
            assert!(location.column as usize <= data.len() + 2, "{location:?}");
        }
    }
}
