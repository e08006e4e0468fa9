//! Fixtures and other JSON that people published, where they are at hand.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::conformance::discover;
use proctor_formats::tree::{Problems, json};

fn data() -> Option<Utf8PathBuf> {
    let data = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if data.is_dir() {
        return Some(data);
    }
    eprintln!("skipped: no shared data beside the workspace");
    None
}

#[test]
fn the_published_fixtures_are_valid() {
    let Some(data) = data() else { return };
    let found = discover(&data.join("conformance/fixtures")).unwrap();
    assert!(!found.fixtures.is_empty());
    for entry in found.fixtures {
        assert_eq!(entry.parsed.diagnostics.to_string(), "");
        assert!(entry.parsed.fixture.is_some());
    }
}

#[test]
fn every_json_file_at_hand_is_read_like_the_oracle_reads_it() {
    let Some(data) = data() else { return };
    let mut folders = vec![data];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension() == Some("json") {
                let bytes = fs::read(&path).unwrap();
                let mut problems = Problems::new(&path);
                let ours = json(&bytes, &mut problems).is_some();
                let theirs = serde_json::from_slice::<serde_json::Value>(&bytes).is_ok();
                assert_eq!(ours, theirs, "{}", problems.finish());
                files += 1;
            }
        }
    }
    assert!(files > 0);
}
