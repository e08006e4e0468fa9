//! Files that people wrote, where they are at hand.

use std::fs;
use std::path::PathBuf;

use camino::Utf8Path;
use proctor_formats::experiment::{Purpose, migrate, preflight, resolve};
use proctor_model::experiment::document::Contents;

use super::ids;

fn data() -> Option<PathBuf> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/experiments");
    if data.is_dir() {
        return Some(data);
    }
    eprintln!("skipped: {} is not there", data.display());
    None
}

#[test]
fn real_files_have_the_variants_that_their_authors_state() {
    let Some(data) = data() else { return };
    let freeq = "chad-freeq/experiments/ax";
    for (file, count) in [
        (format!("{freeq}/agent-onboarding@1df3444.yaml"), 16),
        (format!("{freeq}/agent-onboarding@355c395.yaml"), 16),
        (format!("{freeq}/agent-discovery.yaml"), 6),
        (format!("{freeq}/auth-handshake.yaml"), 2),
        (format!("{freeq}/signing-doc.yaml"), 3),
        ("LucioFranco-axp-demo/.axp/experiment.yaml".to_owned(), 1),
    ] {
        let text = fs::read_to_string(data.join(&file)).unwrap();
        let ids = ids(&text);
        assert_eq!(ids.len(), count, "{file}: {ids:#?}");
        if file.contains("1df3444") {
            let known = "claude::anthropic-claude-sonnet-4-6::medium::cold::docs-only";
            assert!(ids.iter().any(|id| id == known), "{ids:#?}");
        }
    }
}

#[test]
fn version_1_is_refused_with_the_way_out() {
    let Some(data) = data() else { return };
    let file = data.join("514-labs-agent-skills/skills/axp/build-loop/eval/experiment.yaml");
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(
        super::findings(&text),
        "17:17: error version: schema_version: version 1 of the format is not run any more \
         (hint: `proctor experiment migrate` converts it)"
    );
}

#[test]
fn real_files_pass_the_preflight_once_their_sources_are_there() {
    let Some(data) = data() else { return };
    let ax = data.join("chad-freeq/experiments/ax");
    for entry in fs::read_dir(&ax).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = fs::read_to_string(ax.join(&name)).unwrap();
        let experiment = super::experiment(&text);
        let root = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(root.path()).unwrap().join("experiments/ax");
        fs::create_dir_all(&folder).unwrap();
        for variant in resolve(&experiment, &Contents::default()) {
            for path in variant.staged_files().filter_map(|file| file.source_path()) {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, format!("dummy for {path}")).unwrap();
            }
            for skill in variant.skills() {
                fs::create_dir_all(folder.join(&skill.source)).unwrap();
                fs::write(folder.join(&skill.source).join("SKILL.md"), "dummy").unwrap();
            }
        }
        let purpose = Purpose::Validate { repeat: None };
        let looked = preflight(&experiment, "x.yaml".into(), &folder, purpose);
        assert_eq!(super::lines(&looked.findings), "", "{name}");
        assert!(looked.variants.iter().all(|variant| variant.fingerprint.starts_with("sha256:")));
    }
}

#[test]
fn the_real_file_of_version_1_is_migrated_and_finds_its_sources() {
    let Some(data) = data() else { return };
    let folder = data.join("514-labs-agent-skills/skills/axp/build-loop/eval");
    let bytes = fs::read(folder.join("experiment.yaml")).unwrap();
    let migration = migrate("experiment.yaml".into(), &bytes).unwrap();
    assert!(migration.notes.iter().any(|note| note.contains("`skill-recall` reads the trace")));
    let experiment = super::experiment(&migration.text);
    let purpose = Purpose::Validate { repeat: None };
    let folder = Utf8Path::from_path(&folder).unwrap();
    let looked = preflight(&experiment, "x.yaml".into(), folder, purpose);
    assert_eq!(super::lines(&looked.findings), "");
    let ids: Vec<&str> = looked.variants.iter().map(|variant| variant.id.as_str()).collect();
    let expected = ["explicit-invoke", "trigger-phrase", "paraphrase", "negative-control"]
        .map(|id| format!("claude::anthropic-claude-sonnet-4-6::task::sandbox::{id}"));
    assert_eq!(ids, expected);
}
