//! Published facts about real corpora: hashes from installation records of real repositories, and
//! closures, skills, markers and links that were derived from real files. The data is not part of
//! the repository; without it these tests are skipped.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_corpus::{Compat, Corpus, Selection, Slice, project_config};
use serde_json::Value;

/// The directory of the data, when there is one.
fn data() -> Option<Utf8PathBuf> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/conformance");
    let path = Utf8PathBuf::from(path);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("skipped: no published data at hand");
    None
}

fn json(path: &Utf8Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn write(path: &Utf8Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

struct Checkout {
    temp: tempfile::TempDir,
}

impl Checkout {
    fn new(manifest: &str, catalog: &str) -> Self {
        let checkout = Self { temp: tempfile::tempdir().unwrap() };
        checkout.add("manifest.json", manifest);
        checkout.add("profile-catalog.json", catalog);
        checkout
    }

    /// With the real manifest and catalog.
    fn real(data: &Utf8Path) -> Self {
        let read = |name| std::fs::read_to_string(data.join(name)).unwrap();
        Self::new(&read("manifest.json"), &read("profile-catalog.json"))
    }

    fn root(&self) -> &Utf8Path {
        Utf8Path::from_path(self.temp.path()).unwrap()
    }

    fn add(&self, path: &str, text: &str) {
        write(&self.root().join(".cratis/ai").join(path), text);
    }

    /// Adds the real corpus content, which has the same categories in an older place.
    fn add_content(&self, data: &Utf8Path) {
        let from = data.join("corpus-ai-2026-08-22/.ai");
        let mut pending = vec![String::new()];
        while let Some(directory) = pending.pop() {
            for entry in from.join(&directory).read_dir_utf8().unwrap() {
                let entry = entry.unwrap();
                let path = format!("{directory}{}", entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    pending.push(format!("{path}/"));
                } else {
                    let to = self.root().join(".cratis/ai").join(&path);
                    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                    std::fs::copy(entry.path(), to).unwrap();
                }
            }
        }
    }

    fn slice(&self, harnesses: &[&str], profiles: &[&str], languages: &[&str]) -> Slice {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let selection = Selection {
            harnesses: owned(harnesses),
            profiles: owned(profiles),
            languages: owned(languages),
        };
        Corpus::open(self.root()).unwrap().slice(&selection, Compat::Reference).unwrap()
    }
}

#[test]
fn installed_files_have_the_hashes_of_real_repositories() {
    let Some(data) = data() else { return };
    let checkout = Checkout::real(&data);
    checkout.add_content(&data);
    let profiles = ["cratis/full", "cratis/documentation", "cratis/engineering"];
    let slice = checkout.slice(&[], &profiles, &["csharp", "typescript"]);
    let found: BTreeMap<_, _> =
        slice.files().iter().map(|file| (file.destination(), file.digest().upper_hex())).collect();
    let published = json(&data.join("real-manifest-hashes.json"));
    let published = published.as_array().unwrap();
    assert_eq!(published.len(), 13);
    for entry in published {
        let source = entry["source"].as_str().unwrap();
        assert_eq!(found[source], entry["installed_sha256"].as_str().unwrap(), "{source}");
    }
}

#[test]
fn closures_and_skills_follow_the_real_catalog() {
    let Some(data) = data() else { return };
    let checkout = Checkout::real(&data);
    let catalog = json(&data.join("profile-catalog.json"));
    for list in ["publicProfiles", "engineeringProfiles"] {
        for profile in catalog[list].as_array().unwrap() {
            for skill in profile.get("availableTargets").map(strings).unwrap_or_default() {
                checkout.add(&format!("skills/{skill}/SKILL.md"), "x\n");
            }
        }
    }
    let corpus = Corpus::open(checkout.root()).unwrap();
    let vectors = json(&data.join("selection-vectors.json"));
    let vectors = vectors.as_array().unwrap();
    assert_eq!(vectors.len(), 12);
    for vector in vectors {
        let selection = Selection {
            harnesses: Vec::new(),
            profiles: strings(&vector["profiles"]),
            languages: strings(&vector["languages"]),
        };
        let closure = corpus.closure(&selection.profiles, &selection.languages).unwrap();
        let expected: BTreeSet<_> = strings(&vector["closure"]).into_iter().collect();
        assert_eq!(closure, expected, "{selection:?}");
        let slice = corpus.slice(&selection, Compat::Proctor).unwrap();
        let skills: BTreeSet<_> = slice
            .files()
            .iter()
            .filter_map(|file| file.destination().strip_prefix("skills/")?.split('/').next())
            .map(str::to_owned)
            .collect();
        let expected: BTreeSet<_> = strings(&vector["skills"]).into_iter().collect();
        assert_eq!(skills, expected, "{selection:?}");
    }
}

#[test]
fn a_profile_that_only_the_real_manifest_names_is_unknown() {
    let Some(data) = data() else { return };
    let checkout = Checkout::real(&data);
    let corpus = Corpus::open(checkout.root()).unwrap();
    let unknown: Vec<_> = corpus
        .manifest()
        .profiles
        .iter()
        .filter(|profile| corpus.closure(&[(*profile).clone()], &[]).is_err())
        .collect();
    assert_eq!(unknown.len(), 2, "{unknown:?}");
}

#[test]
fn markers_are_those_of_the_format() {
    let Some(data) = data() else { return };
    let checkout = Checkout::new(
        r#"{"harnesses": ["cursor", "pi"], "profiles": ["p"]}"#,
        r#"{"publicProfiles": [{"id": "p", "availableTargets": ["x"]}]}"#,
    );
    let vectors = json(&data.join("marker-hash-vectors.json"));
    let vectors = vectors.as_array().unwrap();
    assert_eq!(vectors.len(), 17);
    for vector in vectors {
        checkout.add(vector["source"].as_str().unwrap(), vector["content"].as_str().unwrap());
    }
    let slice = checkout.slice(&["cursor", "pi"], &["p"], &[]);
    let found: BTreeMap<_, _> =
        slice.files().iter().map(|file| (file.destination(), file)).collect();
    for vector in vectors {
        let source = vector["source"].as_str().unwrap();
        let text = std::str::from_utf8(found[source].bytes()).unwrap();
        assert_eq!(text, vector["installed"].as_str().unwrap(), "{source}");
        assert_eq!(found[source].digest().upper_hex(), vector["sha256"].as_str().unwrap());
    }
}

#[test]
fn rules_are_filtered_as_their_front_matter_says() {
    let Some(data) = data() else { return };
    let checkout = Checkout::real(&data);
    checkout.add_content(&data);
    let rules = json(&data.join("rule-frontmatter-2026-08-22.json"));
    for (languages, csharp, typescript) in [
        (&["csharp"][..], true, false),
        (&["typescript"], false, true),
        (&["kotlin"], false, false),
    ] {
        for (profiles, documentation) in
            [(&["cratis/application"][..], false), (&["cratis/documentation"], true)]
        {
            let slice = checkout.slice(&[], profiles, languages);
            let installed: BTreeSet<_> =
                slice.files().iter().map(|file| file.destination().to_owned()).collect();
            for rule in rules.as_array().unwrap() {
                let needs = |name: &str| rule[name].as_bool().unwrap();
                let any =
                    needs("needsCSharp") || needs("needsTypeScript") || needs("needsDocumentation");
                let met = (needs("needsCSharp") && csharp)
                    || (needs("needsTypeScript") && typescript)
                    || (needs("needsDocumentation") && documentation);
                let audience = match rule["profile"].as_str() {
                    Some("application") => profiles[0].starts_with("cratis/application"),
                    Some("framework") => false,
                    _ => true,
                };
                let name = rule["rule"].as_str().unwrap();
                let expected = audience && (!any || met);
                let found = installed.contains(&format!("rules/{name}"));
                assert_eq!(found, expected, "{name} with {profiles:?} {languages:?}");
            }
        }
    }
}

#[test]
fn links_a_file_each_are_those_of_the_real_repository() {
    let Some(data) = data() else { return };
    let checkout = Checkout::real(&data);
    checkout.add_content(&data);
    let slice = checkout.slice(&["claude", "copilot", "pi"], &["cratis/full"], &[]);
    let links = slice.integrations();
    let table = std::fs::read_to_string(data.join("harness-links-2026-08-22.tsv")).unwrap();
    let mut compared = 0;
    for line in table.lines() {
        let (path, target) = line.split_once('\t').unwrap();
        let same = [".claude/commands/", ".github/agents/", ".pi/prompts/"];
        let agents = checkout.root().join(".cratis/ai").join(target.replace("../../.ai/", ""));
        if same.iter().any(|prefix| path.starts_with(prefix)) && agents.exists() {
            assert_eq!(links[path].target, target.replace("/.ai/", "/.cratis/ai/"), "{path}");
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn real_choices_are_read() {
    let Some(data) = data() else { return };
    let project = tempfile::tempdir().unwrap();
    let project = Utf8Path::from_path(project.path()).unwrap();
    for entry in data.join("ai-json").read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        write(&project.join(".cratis/ai.json"), &std::fs::read_to_string(&path).unwrap());
        let config = project_config(project).unwrap().unwrap();
        assert_eq!(config.selection.profiles, strings(&json(&path)["profiles"]));
        assert_eq!(config.selection.harnesses, strings(&json(&path)["harnesses"]));
        assert_eq!(config.warnings, [""; 0]);
    }
}
