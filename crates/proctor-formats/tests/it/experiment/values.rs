//! Values of variables.

use std::collections::BTreeMap;

use proctor_formats::experiment::{Places, ValueSource, env_flag, value_sources, values};
use proctor_model::experiment::SecretText;

use super::{AXES, variants, with};

fn secrets(pairs: &[(&str, &str)]) -> BTreeMap<String, SecretText> {
    let pairs = pairs.iter();
    pairs.map(|(name, value)| ((*name).to_owned(), SecretText::new(*value))).collect()
}

fn sources() -> Vec<ValueSource> {
    vec![
        ValueSource::of_variables("--env", secrets(&[("A", "flag-a")])),
        ValueSource::of_variables(
            "--env-file ci.env",
            secrets(&[("A", "file-a"), ("key-b", "file-b")]),
        ),
        ValueSource::of_variables("the environment", secrets(&[("B", "env-b"), ("C", "")])),
        ValueSource::of_secrets(
            "secrets.toml",
            secrets(&[("key-c", "c"), ("key-d", "d"), ("E", "no")]),
        ),
    ]
}

const VARIABLES: &str = "environment_variables:
  - {name: A, value: axp://secrets/key-a}
  - {name: B, value: axp://secrets/key-b}
  - {name: C, value: axp://secrets/key-c}
  - {name: D, value: axp://secrets/key-d}
  - {name: L, value: literal}
";

#[test]
fn the_first_place_that_has_it_wins() {
    let text = with(&format!("{AXES}{VARIABLES}"));
    let variant = variants(&text).remove(0);
    let found = values(&variant, &sources()).unwrap();
    let shown: Vec<String> =
        found.variables.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect();
    // An empty value is a value; `key-b` of the env file comes before B of the environment.
    assert_eq!(shown, ["A=flag-a", "B=file-b", "C=", "D=d", "L=literal"]);
    let secret: Vec<&str> = found.secrets.iter().map(SecretText::expose).collect();
    assert_eq!(secret, ["flag-a", "file-b", "", "d"]);
    let debug = format!("{found:?} {:?}", sources());
    for value in ["flag-a", "file-b", "literal", "env-b"] {
        assert!(!debug.contains(value), "{debug}");
    }
}

#[test]
fn what_is_missing_names_every_place() {
    let text = with(&format!(
        "{AXES}secrets: [E]
products:
  - name: p
    setup:
      mcp_servers:
        - {{name: m, type: http, url: 'https://x', headers: [{{name: A, value: axp://secrets/header}}]}}
environment_variables: [{{name: Z, value: axp://secrets/zed}}]"
    ));
    let variant = variants(&text).remove(0);
    let missing = values(&variant, &sources()[..3]).unwrap_err();
    let lines: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let places = "looked in --env, --env-file ci.env, the environment";
    assert_eq!(
        lines,
        [
            format!(
                "the secret `E` of the variable `E` is nowhere: {places}; pass `--env E`, or put it there"
            ),
            format!(
                "the secret `zed` of the variable `Z` is nowhere: {places}; pass `--env Z`, or put it there"
            ),
            format!(
                "the secret `header` of an MCP server's header is nowhere: {places}; pass `--env header`, or put it there"
            ),
        ]
    );
}

#[test]
fn flags() {
    let environment = [("HOME".to_owned(), "/root".to_owned())].into();
    let read =
        |flag| env_flag(flag, &environment).map(|(name, value)| (name, value.expose().to_owned()));
    assert_eq!(read("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
    assert_eq!(read("A="), Ok(("A".to_owned(), String::new())));
    assert_eq!(read("HOME"), Ok(("HOME".to_owned(), "/root".to_owned())));
    assert_eq!(
        read("NONE").unwrap_err().to_string(),
        "`NONE` is not set in the environment; pass `NONE=VALUE`"
    );
    assert_eq!(read("=secret").unwrap_err().to_string(), "expected NAME=VALUE or NAME");
}

#[test]
fn a_secrets_file_that_others_may_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = camino::Utf8PathBuf::from_path_buf(folder.path().join("secrets.toml")).unwrap();
    let read = || proctor_formats::experiment::read_secrets_file(&path);
    assert_eq!(read(), Ok(None));
    std::fs::write(&path, "[secrets]\na = \"x\"\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    let error = read().unwrap_err().to_string();
    assert!(error.contains("others may read") && error.contains("chmod 600"), "{error}");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(read().unwrap().unwrap().len(), 1);
}

#[test]
fn places_are_asked_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| camino::Utf8PathBuf::from_path_buf(folder.path().join(name)).unwrap();
    std::fs::write(path("one.env"), "A=one\nB=one\n").unwrap();
    std::fs::write(path("two.env"), "A=two\n").unwrap();
    std::fs::write(path("bad.env"), "A\n").unwrap();
    let files = |names: &[&str]| -> Vec<_> {
        names.iter().map(|name| (camino::Utf8PathBuf::from(*name), path(name))).collect()
    };
    let environment = [("C".to_owned(), "env".to_owned())].into();
    let secrets = path("secrets.toml");
    let flags = ["C".to_owned(), "D=flag".to_owned()];
    let env_files = files(&["one.env", "two.env"]);
    let places = Places {
        flags: &flags,
        env_files: &env_files,
        environment: &environment,
        secrets_file: Some(&secrets),
    };
    let sources = value_sources(places).unwrap();
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(
        names,
        ["--env", "--env-file two.env", "--env-file one.env", "the environment", secrets.as_str()]
    );
    let wrong = files(&["bad.env"]);
    let error = value_sources(Places { env_files: &wrong, ..places }).unwrap_err();
    assert_eq!(error.to_string(), "bad.env:1:1: expected NAME=value");
    let wrong = ["NONE".to_owned()];
    let error = value_sources(Places { flags: &wrong, ..places }).unwrap_err();
    assert_eq!(error.to_string(), "--env: `NONE` is not set in the environment; pass `NONE=VALUE`");
}
