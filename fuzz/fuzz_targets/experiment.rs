#![no_main]

use proctor_formats::experiment::{env_file, migrate, read, resolve, secrets_file};
use proctor_formats::tree::MAX_LISTED;
use proctor_model::experiment::document::{Contents, document};
use proctor_model::experiment::{Finding, Level, directory_names};

// Whatever the bytes are: an experiment or errors, every one in the text and printable; the variants
// of an experiment have ids, fingerprints and directories of their own; what is migrated is YAML.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let file = "f.yaml";
    let reading = read(file.into(), data);
    let failed = reading.findings.iter().any(|finding| finding.severity == Level::Error);
    assert_eq!(reading.experiment.is_none(), failed);
    check(&reading.findings, data);
    if let Some(experiment) = &reading.experiment {
        let variants = resolve(experiment, &Contents::default());
        assert!(!variants.is_empty());
        let names = directory_names(variants.iter().map(|variant| &variant.id));
        for (variant, name) in variants.iter().zip(&names) {
            assert!(!name.starts_with('.') && !name.contains('/') && name.len() < 255, "{name}");
            assert_eq!(variant.fingerprint.len(), "sha256:".len() + 64);
        }
        let mut unlike = names.clone();
        unlike.sort();
        unlike.dedup();
        assert_eq!(unlike.len(), names.len());
        if let Some(first) = variants.first() {
            let _ = document(experiment, first, &Contents::default());
        }
    }
    match migrate(file.into(), data) {
        Ok(migration) => {
            let again = read(file.into(), migration.text.as_bytes());
            let is_yaml = again.findings.iter().all(|finding| finding.code.code() != "yaml");
            assert!(is_yaml, "{:#?}\n{}", again.findings, migration.text);
        }
        Err(findings) => check(&findings, data),
    }
    // Values must not be in messages; that they are not is a matter of tests, that nothing panics is
    // one of this.
    let _ = env_file(file.into(), data);
    let _ = secrets_file(file.into(), data);
});

fn check(findings: &[Finding], data: &[u8]) {
    assert!(findings.len() <= MAX_LISTED + 1);
    let lines = data.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
    for finding in findings {
        let shown = finding.to_string();
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(finding.line as usize <= lines + 1, "{shown}");
        assert!(finding.column as usize <= data.len() + 2, "{shown}");
    }
}
