//! Tests of the server against a double that holds rows as ClickHouse would.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use proctor_testkit::clickhouse::{Asked, ClickHouse, Fault, Said};
use proptest::prelude::*;

use super::migrate::Step;
use super::*;
use crate::batch::tests::Held;
use crate::schema::tests::table;

/// What a double of ClickHouse holds.
#[derive(Debug, Default)]
struct Double {
    tables: BTreeMap<String, Vec<String>>,
    tokens: BTreeSet<String>,
    /// Whether it forgets tokens at once, as a server does after many insertions.
    is_forgetful: bool,
    version: &'static str,
    readonly: u8,
    /// Statements that change a table.
    altered: Vec<String>,
}

type Shared = Arc<Mutex<Double>>;

impl Double {
    fn answer(&mut self, asked: &Asked) -> Said {
        let text = String::from_utf8_lossy(&asked.statement).into_owned();
        let quoted = |at: usize| text.split('\'').nth(at).unwrap_or_default().to_owned();
        let answer = if text.starts_with("SELECT version()") {
            format!("{}\t{}\n", self.version, self.readonly)
        } else if text.contains("system.tables") {
            let known = self.tables.contains_key(&quoted(3));
            format!("{}\n", u8::from(known))
        } else if let Some(rest) = text.strip_prefix("CREATE TABLE IF NOT EXISTS ") {
            self.tables.entry(name(rest)).or_default();
            String::new()
        } else if text.contains("max(version)") {
            let versions = self.tables["proctor_schema"].iter();
            let versions = versions.map(|row| row.parse::<u32>().unwrap());
            format!("{}\n", versions.max().unwrap_or(0))
        } else if let Some(rest) = text.strip_prefix("INSERT INTO proctor_schema ") {
            let version: String = rest.chars().filter(char::is_ascii_digit).collect();
            self.tables.get_mut("proctor_schema").unwrap().push(version);
            String::new()
        } else if text.starts_with("INSERT INTO proctor_pushes ") {
            let generation = text.split(", ").nth(5).unwrap_or_default();
            let row = format!("{}\t{generation}\t{}\t{}", quoted(1), quoted(3), quoted(5));
            self.tables.get_mut("proctor_pushes").unwrap().push(row);
            String::new()
        } else if text.contains("FROM proctor_pushes") {
            let id = quoted(1) + "\t";
            let rows = self.tables["proctor_pushes"].iter();
            let rows = rows.filter_map(|row| row.strip_prefix(&id)).map(str::to_owned);
            rows.max_by_key(|row| {
                let mut words = row.split('\t');
                let generation: u32 = words.next().unwrap().parse().unwrap();
                (generation, words.nth(1).unwrap().to_owned())
            })
            .map(|row| row + "\n")
            .unwrap_or_default()
        } else if let Some(rest) = text.strip_prefix("INSERT INTO ") {
            return self.insert(&name(rest), &text, asked);
        } else if let Some(rest) = text.strip_prefix("ALTER TABLE ") {
            self.altered.push(text.clone());
            if text.contains(" DELETE ") {
                let id = format!("\"run_id\":\"{}\"", quoted(1));
                let rows = self.tables.get_mut(&name(rest)).unwrap();
                rows.retain(|row| !row.contains(&id));
            }
            String::new()
        } else if text.contains("AS found FROM") {
            let id = format!("\"run_id\":\"{}\"", quoted(3));
            self.counts(&text, &id)
        } else {
            return Said::Error(format!("Code: 62. DB::Exception: no {text}"));
        };
        Said::Answer(answer.into_bytes())
    }

    fn insert(&mut self, table: &str, text: &str, asked: &Asked) -> Said {
        let token = asked.settings.iter().find(|(name, _)| name == "insert_deduplication_token");
        let is_new = match token {
            Some((_, token)) if !self.is_forgetful => self.tokens.insert(token.clone()),
            _ => true,
        };
        let Some(rows) = self.tables.get_mut(table) else {
            return Said::Error("Code: 60. DB::Exception: no such table".to_owned());
        };
        if is_new {
            rows.extend(text.lines().skip(1).map(str::to_owned));
        }
        Said::Answer(Vec::new())
    }

    fn counts(&self, text: &str, id: &str) -> String {
        let mut lines = String::new();
        for select in text.split(" UNION ALL ") {
            let name = select.split('\'').nth(1).unwrap();
            let count = self.tables[name].iter().filter(|row| row.contains(id)).count();
            lines.extend([name, "\t", &count.to_string(), "\n"]);
        }
        lines
    }
}

/// The name at the start of a statement's rest.
fn name(rest: &str) -> String {
    rest.split([' ', '(']).next().unwrap_or_default().trim_matches('`').to_owned()
}

fn start(double: Double) -> (Shared, ClickHouse) {
    let shared = Arc::new(Mutex::new(double));
    let for_server = Arc::clone(&shared);
    let server = ClickHouse::start(move |asked| for_server.lock().unwrap().answer(asked));
    (shared, server)
}

fn double() -> Double {
    Double { version: "26.7.2.1", ..Double::default() }
}

/// Few tries, no pauses: nothing here is waited for but answers.
fn client(server: &ClickHouse) -> Server {
    let address = Address::parse(&server.store("px")).unwrap();
    let patience =
        Patience { request: Duration::from_secs(10), tries: 3, first_pause: Duration::ZERO };
    Server::new(address, Some(SecretText::new("very-secret")), patience)
}

fn tables() -> Vec<Table> {
    ["events", "verdicts"].map(|name| table(name, &["run_id"])).to_vec()
}

fn rows(id: &str, count: usize) -> Held {
    let row = |at: usize| format!("{{\"run_id\":\"{id}\",\"n\":{at}}}");
    Held(
        [
            ("events".to_owned(), (0..count).map(row).collect()),
            ("verdicts".to_owned(), vec![row(0)]),
        ]
        .into(),
    )
}

fn push(server: &Server, rows: &Held) -> Result<Pushed, Error> {
    push_unless(server, "a::1", rows, &|| false)
}

fn push_unless(
    server: &Server,
    run_id: &str,
    rows: &Held,
    cancel: &dyn Fn() -> bool,
) -> Result<Pushed, Error> {
    server.push(&tables(), &mut Trial { run_id, rows: &mut rows.clone() }, cancel)
}

/// The rows of the table `events`.
fn events(shared: &Shared) -> usize {
    shared.lock().unwrap().tables["events"].len()
}

#[test]
fn a_trial_arrives_once_however_often_it_is_sent() {
    let (shared, server) = start(double());
    let client = client(&server);
    assert_eq!(client.prepare(&tables()).unwrap(), SCHEMA_VERSION);
    assert_eq!(client.prepare(&tables()).unwrap(), SCHEMA_VERSION);
    let held = rows("a::1", 5);
    assert_eq!(push(&client, &held).unwrap(), Pushed::Written(6));
    assert_eq!(push(&client, &held).unwrap(), Pushed::WasThere);
    assert_eq!(events(&shared), 5);
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.database.as_deref() == Some("px")));
    assert!(asked.iter().all(|asked| asked.user.as_deref() == Some("tester")));
    assert!(asked.iter().all(|asked| asked.password.as_deref() == Some("very-secret")));
}

#[test]
fn evidence_that_has_changed_takes_the_place_of_the_old() {
    let (shared, server) = start(double());
    let client = client(&server);
    client.prepare(&tables()).unwrap();
    push(&client, &rows("a::1", 5)).unwrap();
    let other = rows("b::1", 2);
    push_unless(&client, "b::1", &other, &|| false).unwrap();
    assert_eq!(push(&client, &rows("a::1", 3)).unwrap(), Pushed::Written(4));
    assert_eq!(events(&shared), 5);
    assert_eq!(push(&client, &rows("a::1", 5)).unwrap(), Pushed::Written(6));
    assert_eq!(events(&shared), 7);
}

#[test]
fn a_request_of_which_the_answer_is_lost_counts_once() {
    for fault in [
        Fault::Reset,
        Fault::DoneThenReset,
        Fault::DoneThen500,
        Fault::HalfThenReset,
        Fault::Status(502),
    ] {
        let (shared, server) = start(double());
        let client = client(&server);
        client.prepare(&tables()).unwrap();
        server.fail("INSERT INTO `events`", fault);
        assert_eq!(push(&client, &rows("a::1", 5)).unwrap(), Pushed::Written(6), "{fault:?}");
        assert_eq!(server.faults_left(), 0, "{fault:?}");
        assert_eq!(events(&shared), 5, "{fault:?}");
    }
}

#[test]
fn a_server_that_forgets_is_put_right() {
    let (shared, server) = start(Double { is_forgetful: true, ..double() });
    let client = client(&server);
    client.prepare(&tables()).unwrap();
    server.fail("INSERT INTO `events`", Fault::DoneThenReset);
    assert_eq!(push(&client, &rows("a::1", 5)).unwrap(), Pushed::Written(6));
    assert_eq!(events(&shared), 5);
}

#[test]
fn a_server_that_is_too_old_keeps_nothing() {
    let (shared, server) = start(Double { version: "18.16.1", ..double() });
    let error = client(&server).prepare(&tables()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server is ClickHouse 18.16, and evidence needs 22.2 or later"
    );
    assert!(shared.lock().unwrap().tables.is_empty());
}

#[test]
fn a_push_that_died_in_the_middle_is_taken_up() {
    let (shared, server) = start(double());
    let client = client(&server);
    client.prepare(&tables()).unwrap();
    for _ in 0..3 {
        server.fail("INSERT INTO `verdicts`", Fault::Status(503));
    }
    let error = push(&client, &rows("a::1", 5)).unwrap_err();
    assert_eq!(error.to_string(), "the server answered with status 503: <html>not here</html>");
    assert_eq!(events(&shared), 5);
    assert_eq!(push(&client, &rows("a::1", 5)).unwrap(), Pushed::Written(6));
    assert_eq!(events(&shared), 5);
}

#[test]
fn two_that_send_the_same_at_once_send_it_once() {
    let (shared, server) = start(double());
    let held = rows("a::1", 5);
    client(&server).prepare(&tables()).unwrap();
    std::thread::scope(|scope| {
        let pushes = [(); 3].map(|()| scope.spawn(|| push(&client(&server), &held)));
        for pushed in pushes {
            pushed.join().unwrap().unwrap();
        }
    });
    assert_eq!(events(&shared), 5);
}

#[test]
fn a_push_that_is_called_off_can_be_made_later() {
    let (_, server) = start(double());
    let client = client(&server);
    client.prepare(&tables()).unwrap();
    let held = rows("a::1", 5);
    let error = push_unless(&client, "a::1", &held, &|| true);
    assert!(matches!(error, Err(Error::Server(ServerError::Cancelled))));
    assert_eq!(push(&client, &held).unwrap(), Pushed::Written(6));
}

#[test]
fn a_server_that_is_away_is_an_error_with_a_reason() {
    let (_, server) = start(double());
    let client = client(&server);
    drop(server);
    let error = client.prepare(&tables()).unwrap_err().to_string();
    assert!(error.starts_with("the server cannot be reached: "), "{error}");
    assert!(!error.contains("very-secret"), "{error}");
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
    let (_, server) = start(double());
    let address = Address::parse(&server.store("px")).unwrap();
    let patience =
        Patience { request: Duration::from_millis(50), tries: 1, first_pause: Duration::ZERO };
    let client = Server::new(address, None, patience);
    server.fail("SELECT", Fault::Silence);
    let error = client.prepare(&tables()).unwrap_err();
    assert!(matches!(error, Error::Server(ServerError::TimedOut)), "{error}");
}

#[test]
fn an_answer_without_an_end_is_cut_off() {
    let (_, server) = start(double());
    let client = client(&server);
    server.fail("SELECT", Fault::Endless);
    let error = client.prepare(&tables()).unwrap_err();
    assert!(matches!(error, Error::Server(ServerError::TooLarge)), "{error}");
}

#[test]
fn what_is_no_clickhouse_is_told() {
    let (_, server) = start(double());
    let client = client(&server);
    for text in ["system.tables", "SELECT version()", "INSERT INTO `events`"] {
        server.fail(text, Fault::Garbage);
        let query = Query { sql: "x", format: "CSV", limit: 1 };
        let error = match text {
            "SELECT version()" => client.query(&query, &Scope::All, &[]).map(|_| ()),
            "system.tables" => client.prepare(&tables()).map(|_| ()),
            _ => {
                client.prepare(&tables()).unwrap();
                push(&client, &rows("a::1", 1)).map(|_| ())
            }
        };
        assert!(
            matches!(&error, Err(Error::Server(ServerError::NotClickHouse(said))) if said.contains("<html>")),
            "{text}: {error:?}"
        );
    }
}

#[test]
fn refusals_are_final_and_in_the_servers_words() {
    let (_, server) = start(double());
    let client = client(&server);
    let query = Query { sql: "SELEC 1", format: "CSV", limit: 1 };
    let error = client.query(&query, &Scope::All, &[]).unwrap_err();
    assert_eq!(error.to_string(), "Code: 62. DB::Exception: no SELEC 1");
    let asked = server.asked();
    assert_eq!(asked.iter().filter(|asked| asked.statement == b"SELEC 1").count(), 1);
    let settings = &asked.last().unwrap().settings;
    assert_eq!(settings.last(), Some(&("readonly".to_owned(), "1".to_owned())));
}

#[test]
fn who_may_only_read_is_not_asked_to_change_that() {
    let (shared, server) = start(Double { readonly: 2, ..double() });
    let client = client(&server);
    let query = Query { sql: "SELEC 1", format: "CSV", limit: 1 };
    client.query(&query, &Scope::Run("r".to_owned()), &tables()).unwrap_err();
    let settings = server.asked().last().unwrap().settings.clone();
    assert!(settings.iter().all(|(name, _)| name != "readonly"));
    assert!(settings.iter().any(|(name, _)| name == "additional_table_filters"));
    shared.lock().unwrap().readonly = 1;
    let error = client.query(&query, &Scope::All, &[]).unwrap_err();
    assert!(matches!(error, Error::Server(ServerError::Fixed(_))), "{error}");
}

const STEPS: &[Step] = &[
    Step { version: 2, statements: &["ALTER TABLE events ADD COLUMN IF NOT EXISTS x String"] },
    Step { version: 3, statements: &["ALTER TABLE events ADD COLUMN IF NOT EXISTS y String"] },
];

#[test]
fn tables_go_up_step_by_step_and_never_down() {
    let (shared, server) = start(double());
    let client = client(&server);
    assert_eq!(client.migrate(&tables(), &[]).unwrap(), 1);
    assert_eq!(client.migrate(&tables(), &STEPS[..1]).unwrap(), 2);
    assert_eq!(client.migrate(&tables(), STEPS).unwrap(), 3);
    assert_eq!(shared.lock().unwrap().altered.len(), 2);
    let error = client.migrate(&tables(), &STEPS[..1]).unwrap_err();
    assert_eq!(error, ServerError::Newer { found: 3, known: 2 });
    assert_eq!(shared.lock().unwrap().altered.len(), 2);
}

#[test]
fn a_new_database_begins_with_the_latest_tables() {
    let (shared, server) = start(double());
    assert_eq!(client(&server).migrate(&tables(), STEPS).unwrap(), 3);
    assert!(shared.lock().unwrap().altered.is_empty());
}

#[test]
fn the_tables_of_others_are_left_alone() {
    let mut foreign = double();
    foreign.tables.insert("events".to_owned(), vec!["theirs".to_owned()]);
    let (shared, server) = start(foreign);
    let error = client(&server).prepare(&tables()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the database `px` has a table `events` that is not Proctor's: name a database of its own"
    );
    assert_eq!(shared.lock().unwrap().tables.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever breaks and whenever, a trial that is said to have arrived is there once.
    #[test]
    fn nothing_is_lost_or_doubled(
        faults in prop::collection::vec((0_usize..5, 0_usize..4), 0..8),
        is_forgetful in any::<bool>(),
        pushes in prop::collection::vec(1_usize..4, 1..4),
    ) {
        let texts = ["INSERT INTO `events`", "INSERT INTO `verdicts`", "proctor_pushes", "DELETE"];
        let kinds = [
            Fault::Reset, Fault::DoneThenReset, Fault::DoneThen500, Fault::HalfThenReset,
            Fault::Status(502),
        ];
        let (shared, server) = start(Double { is_forgetful, ..double() });
        let client = client(&server);
        client.prepare(&tables()).unwrap();
        for (kind, text) in faults {
            // Half of a statement is for rows only.
            let is_half = kinds[kind] == Fault::HalfThenReset && text > 1;
            server.fail(texts[text], if is_half { Fault::Reset } else { kinds[kind] });
        }
        for count in pushes {
            if push(&client, &rows("a::1", count)).is_ok() {
                prop_assert_eq!(events(&shared), count);
            }
        }
    }
}
