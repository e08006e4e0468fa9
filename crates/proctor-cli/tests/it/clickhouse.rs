//! ClickHouse, on this machine and as a server, end to end. The server is ClickHouse itself as a
//! library behind an HTTP interface with faults. Tests with the library are skipped where it is not
//! installed; `cargo xtask test` installs it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use insta::assert_snapshot;
use proctor_clickhouse::local::{Engine, Places, Start};
use proctor_clickhouse::{Column, Error, Rows, Table};
use proctor_testkit::clickhouse::{Asked, ClickHouse, Fault, Said, require_libchdb};
use proctor_testkit::{Run, TestContext};

const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");

/// Two trials that spend nothing.
const EXPERIMENT: &str = "schema_version: 2
id: greetings
name: Greetings
agents: [scripted]
prompts:
  - {id: a, prompt: Say it's fine.}
  - {id: b, prompt: Say hello.}
tests: [{name: good, script: 'ax-run-query \"$AX_RUN_ID\" sql \"SELECT kind FROM events\" | grep -q message'}]
limits: {max_time_seconds: 600}
";

fn context() -> TestContext {
    let mut context = TestContext::new(PROCTOR);
    context.write("greetings.yaml", EXPERIMENT);
    context.add_filter(r"greetings-[0-9A-Z]{26}", "[RUN]");
    context.add_filter(r"::[0-9a-f]{16}\b", "::[TRIAL]");
    context.add_filter(r"\.installing-\w+", ".installing-[NAME]");
    context.add_filter(r"127\.0\.0\.1:\d+", "[ADDRESS]");
    context
}

/// Runs the experiment; further arguments follow.
fn play(context: &TestContext, more: &[&str]) -> Run {
    let args =
        ["experiment", "run", "greetings.yaml", "--mock", "--sandbox", "none", "--jobs", "1"];
    context.run(args.iter().chain(more))
}

/// A context that finds the library; `None` with a note when it is not there.
fn with_library() -> Option<TestContext> {
    let library = require_libchdb()?;
    let mut context = context();
    context.home().set("PROCTOR_LIBCHDB", library.to_str().unwrap());
    context.add_filter(&regex_of(&library), "[LIBRARY]");
    Some(context)
}

fn regex_of(path: &Path) -> String {
    path.to_str().unwrap().replace('.', "\\.")
}

/// ClickHouse as a server with the database `px`.
fn server() -> Option<ClickHouse> {
    let library = require_libchdb()?;
    let places = Places { named: Some(library), installed: None, system: Vec::new() };
    let start =
        Start { proctor: Path::new(PROCTOR), places: &places, temporary: &std::env::temp_dir() };
    let mut engine = Engine::start(&start).unwrap();
    engine.run(b"CREATE DATABASE px", "TSV", &[], None).unwrap();
    Some(ClickHouse::start(move |asked: &Asked| {
        let Asked { statement, format, settings, database, .. } = asked;
        match engine.run(statement, format, settings, database.as_deref()) {
            Ok(body) => Said::Answer(body),
            Err(error) => Said::Error(error.to_string()),
        }
    }))
}

#[test]
fn without_the_library_the_list_says_how_to_get_it() {
    let mut context = context();
    context.home().set("PROCTOR_LIBCHDB", "/nonexistent/libchdb.so");
    context.add_filter(r"sqlite      [0-9.]+ +", "sqlite      [SQLITE] ");
    assert_snapshot!(context.run(["engine", "list"]));
}

#[test]
fn what_npm_fetches_is_checked() {
    let context = context();
    let home = context.project().parent().unwrap().join("home");
    let npm = "#!/bin/sh\necho not-an-archive > \"$4/lib.tgz\"\n";
    let mut context = context;
    context.home().add_script("npm", npm);
    assert_snapshot!(context.run(["engine", "install", "clickhouse"]));
    // Only the folder is left, with nothing in it.
    let folder = home.join(".local/share/proctor/engines/clickhouse-26.7.3-stable.1");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    context.home().add_script("npm", "#!/bin/sh\necho 'npm error code E404' >&2\nexit 1\n");
    assert_snapshot!(context.run(["engine", "install", "clickhouse", "--to", "engines"]));
    context.write("lib.tgz", "neither");
    let args = ["engine", "install", "clickhouse", "--from", "lib.tgz"];
    assert_snapshot!(context.run(args).stderr);
}

#[test]
fn the_library_that_is_there_is_listed_with_its_version() {
    let Some(context) = with_library() else { return };
    let run = context.run(["engine", "list", "--format", "json"]);
    assert_eq!(run.code, 0, "{run}");
    let rows: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(rows[1]["name"], "clickhouse");
    assert!(rows[1]["version"].as_str().is_some_and(|version| version.contains('.')), "{run}");
    assert!(rows[1]["size"].as_u64().is_some_and(|size| size > 100_000_000), "{run}");
    assert_eq!(rows[1]["problem"], serde_json::Value::Null);
}

/// The engine, with a file that no statement may see.
fn engine(context: &TestContext) -> Engine {
    let places = Places { named: Some(context_library()), installed: None, system: Vec::new() };
    let temporary = context.project().to_owned();
    Engine::start(&Start { proctor: Path::new(PROCTOR), places: &places, temporary: &temporary })
        .unwrap()
}

fn context_library() -> std::path::PathBuf {
    require_libchdb().expect("looked for before")
}

fn query(sql: &str) -> proctor_clickhouse::Query<'_> {
    proctor_clickhouse::Query { sql, format: "TSV", limit: 5 }
}

#[test]
fn statements_reach_nothing_of_this_machine() {
    let Some(context) = with_library() else { return };
    let mut engine = engine(&context);
    let secret = context.project().join("secret.txt");
    fs::write(&secret, "very-secret").unwrap();
    let secret = secret.display();
    let parent = std::process::id();
    // The control: the same function reads what the engine's process may read.
    let control = engine.query(&query("SELECT file('/proc/self/stat') LIKE '%proctor%'"));
    assert_eq!(control.unwrap().body, b"1\n");
    for sql in [
        format!("SELECT file('{secret}')"),
        "SELECT file('/etc/passwd')".to_owned(),
        format!("SELECT file('/proc/{parent}/environ')"),
        format!("SELECT * FROM file('{secret}', 'LineAsString')"),
        format!("SELECT 1 INTO OUTFILE '{secret}.out'"),
        format!("SELECT $$'$$ INTO OUTFILE '{secret}.out'"),
        format!("SELECT $$'$$ INTO OUTFILE '{secret}' TRUNCATE"),
        "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')".to_owned(),
        "CREATE TABLE x (a Int8) ENGINE = Memory".to_owned(),
        "SET readonly = 0".to_owned(),
        "SELECT 1 SETTINGS max_memory_usage = 0".to_owned(),
        "SELECT 1; CREATE TABLE x (a Int8) ENGINE = Memory".to_owned(),
    ] {
        let answer = engine.query(&query(&sql));
        assert!(answer.is_err(), "{sql}: {answer:?}");
        let said = answer.unwrap_err().to_string();
        assert!(!said.contains("very-secret") && !said.contains("root:"), "{sql}: {said}");
    }
    assert_eq!(context.read("secret.txt"), "very-secret");
    assert!(!context.project().join("secret.txt.out").exists());
    // It goes on after all that.
    assert_eq!(engine.query(&query("SELECT 1")).unwrap().body, b"1\n");
}

#[test]
fn answers_keep_to_limits_in_every_format() {
    let Some(context) = with_library() else { return };
    let mut engine = engine(&context);
    let whole = engine.query(&query("SELECT number FROM numbers(5)")).unwrap();
    assert_eq!((whole.body.as_slice(), whole.is_truncated), (&b"0\n1\n2\n3\n4\n"[..], false));
    let cut = engine.query(&query("SELECT number FROM numbers(6)")).unwrap();
    assert_eq!((cut.body, cut.is_truncated), (whole.body, true));
    let json = engine.query(&query("SELECT toUInt64(7) AS a FORMAT JSONEachRow")).unwrap();
    assert_eq!(json.body, b"{\"a\":7}\n");
    let parquet = engine.query(&query("SELECT 1 FORMAT Parquet")).unwrap();
    assert!(parquet.body.starts_with(b"PAR1"));
    let limits = "SELECT name, value FROM system.settings WHERE name IN ('max_memory_usage', \
                  'max_execution_time', 'readonly') ORDER BY name";
    let limits = engine.query(&query(limits)).unwrap().body;
    assert_eq!(limits, b"max_execution_time\t60\nmax_memory_usage\t4294967296\nreadonly\t1\n");
}

/// So many rows, which take several batches.
struct Many(u64);

impl Rows for Many {
    fn each(
        &mut self,
        _: &Table,
        row: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let text = "x".repeat(200);
        (0..self.0).try_for_each(|n| row(&format!("{{\"run_id\":\"{text}\",\"n\":{n}}}")))
    }
}

fn numbers() -> Table {
    let column = |(name, type_name): (&str, &str)| Column {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        doc: String::new(),
    };
    let columns = [("run_id", "String"), ("n", "UInt64")].map(column).to_vec();
    Table { name: "numbers".to_owned(), columns, key: vec!["run_id".to_owned()] }
}

#[test]
fn many_rows_arrive_whole_and_wrong_ones_are_refused() {
    let Some(context) = with_library() else { return };
    let mut engine = engine(&context);
    assert_eq!(engine.load(&numbers(), &mut Many(120_000)).unwrap(), 120_000);
    let sum = engine.query(&query("SELECT count(), uniqExact(n), max(n) FROM numbers")).unwrap();
    assert_eq!(sum.body, b"120000\t120000\t119999\n");
    let mut narrow = numbers();
    narrow.name = "narrow".to_owned();
    narrow.columns.pop();
    let said = engine.load(&narrow, &mut Many(1)).unwrap_err().to_string();
    assert!(said.contains("Unknown field"), "{said}");
}

#[test]
fn an_engine_that_is_killed_is_told_and_leaves_nothing() {
    let Some(context) = with_library() else { return };
    let folder = context.project().to_owned();
    let folders = || fs::read_dir(&folder).unwrap().flatten();
    let is_ours = |name: &str| name.starts_with("proctor-clickhouse-");
    let count = || folders().filter(|one| is_ours(&one.file_name().to_string_lossy())).count();
    let mut engine = engine(&context);
    assert_eq!(count(), 1);
    let id = i32::try_from(engine.process_id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::SIGKILL).unwrap();
    let said = engine.query(&query("SELECT 1")).unwrap_err().to_string();
    assert_eq!(said, "ClickHouse ended in the middle of a statement (signal 9)");
    assert!(engine.query(&query("SELECT 1")).is_err());
    drop(engine);
    assert_eq!(count(), 0);
}

/// How many rows of what the server has, by the statement of a user who asks it.
fn ask(context: &TestContext, store: &str, sql: &str) -> String {
    let run = context.run(["query", sql, "--store", store]);
    assert_eq!(run.code, 0, "{run}");
    run.stdout
}

#[test]
fn a_run_lands_on_the_server_once_whatever_breaks() {
    let Some(server) = server() else { return };
    let mut context = context();
    context.home().set("PROCTOR_CLICKHOUSE_PASSWORD", "very-secret");
    let store = server.store("px");
    for (text, fault) in [
        ("INSERT INTO `events`", Fault::DoneThen500),
        ("INSERT INTO `events`", Fault::Reset),
        ("INSERT INTO `checks`", Fault::DoneThenReset),
        ("INSERT INTO `measurements`", Fault::Status(503)),
        ("INSERT INTO `verdicts`", Fault::HalfThenReset),
    ] {
        server.fail(text, fault);
    }
    let run = play(&context, &["--store", &store]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stderr.contains("2 trials are on clickhouse://tester@[ADDRESS]/px"), "{run}");
    assert_eq!(server.faults_left(), 0);
    assert!(server.asked().iter().all(|asked| asked.password.as_deref() == Some("very-secret")));
    let again = context.run(["run", "push", "latest", "--store", &store]);
    assert_snapshot!("push_again", again);
    // What the server has is what is here.
    for sql in [
        "SELECT count() AS n, uniqExact(run_id) AS trials FROM events",
        "SELECT prompt_id, kind, count() AS n FROM events GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT check_name, status FROM checks ORDER BY run_id",
        "SELECT prompt_id, status FROM verdicts ORDER BY prompt_id",
    ] {
        let here = context.run(["query", sql]);
        assert_eq!(here.code, 0, "{here}");
        assert_eq!(ask(&context, &store, sql), here.stdout, "{sql}");
    }
}

#[test]
fn a_server_that_is_away_costs_no_run_anything() {
    let context = context();
    let run = play(&context, &["--store", "clickhouse://127.0.0.1:1/px"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stderr.contains("2 of 2 trials did not reach"), "{run}");
    assert!(run.stderr.contains("`proctor run push [RUN] --store"), "{run}");
    let push = context.run(["run", "push", "latest", "--store", "clickhouse://127.0.0.1:1/px"]);
    assert_eq!(push.code, 2, "{push}");
    assert!(push.stderr.contains("the server cannot be reached"), "{push}");
}

#[test]
fn a_password_in_the_address_is_refused_and_not_shown() {
    let context = context();
    let run = context.run(["run", "push", "latest", "--store", "clickhouse://me:hush@h/px"]);
    assert_eq!(run.code, 2, "{run}");
    assert!(!run.to_string().contains("hush"), "{run}");
    assert_eq!(play(&context, &[]).code, 0);
    let run = context.run(["run", "push", "latest", "--store", "clickhouse://me:hush@h/px"]);
    assert_snapshot!(run);
}

#[test]
fn the_password_may_be_one_of_the_users_secrets() {
    let server = ClickHouse::start(|_| Said::Error("Code: 516. DB::Exception: no".to_owned()));
    let context = context();
    let folder = context.project().parent().unwrap().join("home/.config/proctor");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("secrets.toml");
    fs::write(&file, "[secrets]\nproctor-clickhouse-password = \"very-secret\"\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let run = context.run(["query", "SELECT 1", "--store", &server.store("px")]);
    assert_eq!(server.asked()[0].password.as_deref(), Some("very-secret"));
    assert_eq!(run.code, 2, "{run}");
    assert!(!run.to_string().contains("very-secret"), "{run}");
}

#[test]
fn each_command_asks_the_server_about_its_own_rows() {
    let Some(server) = server() else { return };
    let context = context();
    let store = server.store("px");
    for _ in 0..2 {
        let run = play(&context, &["--store", &store]);
        assert!(run.stderr.contains("2 trials are on "), "{run}");
    }
    let count = "SELECT count() AS n FROM verdicts";
    assert_eq!(ask(&context, &store, count), "{\"n\":4}\n");
    let ask = |args: &[&str]| {
        let run = context.run(args.iter().chain(&["--store", &store]));
        assert_eq!(run.code, 0, "{run}");
        run.stdout
    };
    assert_eq!(ask(&["run", "query", "latest", count]), "{\"n\":2}\n");
    let calls = "SELECT uniqExact(run_id) AS n FROM agent_timeline_entries";
    assert_eq!(ask(&["run", "query", "latest", calls]), "{\"n\":2}\n");
    assert_eq!(ask(&["experiment", "query", "greetings", "sql", count]), "{\"n\":4}\n");
    // Nothing is changed by a question.
    let run = context.run(["query", "DROP TABLE verdicts", "--store", &store]);
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stderr.contains("READONLY"), "{run}");
    server.fail(count, Fault::Endless);
    let run = context.run(["query", count, "--store", &store]);
    assert!(run.stderr.contains("the answer is larger than 256 MiB"), "{run}");
}

#[test]
fn the_whole_of_clickhouses_sql_is_there_on_request() {
    let Some(context) = with_library() else { return };
    assert_eq!(play(&context, &[]).code, 0);
    // No lambda can be translated for SQLite.
    let sql = "SELECT arrayMap(x -> x * 2, groupArray(repeat_idx)) AS doubled FROM verdicts";
    let run = context.run(["query", sql, "--engine", "clickhouse"]);
    assert_eq!(run.to_string(), "exit 0\n--- stdout\n{\"doubled\":[0,0]}\n--- stderr\n");
    let run = context.run(["query", "SELECT nonsense FROM events", "--engine", "clickhouse"]);
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stderr.contains("nonsense"), "{run}");
}

/// Against a server that whoever runs the tests names, such as one of another version; see
/// `CONTRIBUTING.md`.
#[test]
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
fn a_server_that_is_named_works() {
    let Ok(store) = std::env::var("PROCTOR_TEST_STORE") else {
        eprintln!("skipped: PROCTOR_TEST_STORE names no ClickHouse server");
        return;
    };
    let context = context();
    let numbers = "SELECT number FROM system.numbers LIMIT 3";
    let whole = "{\"number\":0}\n{\"number\":1}\n{\"number\":2}\n";
    assert_eq!(ask(&context, &store, numbers), whole);
    let refused = |sql: &str| {
        let run = context.run(["query", sql, "--store", &store]);
        assert_eq!(run.code, 2, "{run}");
        run.stderr
    };
    assert!(refused("CREATE DATABASE of_a_question").contains("Code: 164"));
    assert!(refused("SELECT x FROM nowhere").contains("Code: 60"));
    let run = play(&context, &["--store", &store]);
    assert_eq!(run.code, 0, "{run}");
    if run.stderr.contains("evidence needs 22.2 or later") {
        return;
    }
    assert!(run.stderr.contains("2 trials are on "), "{run}");
    let count = "SELECT count() AS n FROM verdicts";
    let run = context.run(["run", "query", "latest", count, "--store", &store]);
    assert_eq!(run.stdout, "{\"n\":2}\n", "{run}");
}
