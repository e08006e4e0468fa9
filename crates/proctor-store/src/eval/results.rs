//! The results file as a value: which records it holds, and which of them may be believed.

use std::io;

use proctor_model::Digest;
use proctor_model::eval::record::STORE_SCHEMA_VERSION;
use proctor_model::eval::{ActivationRecord, SkillRecord};
use proctor_model::json::go;
use serde_json::{Map, Value};

use super::key::Key;
use super::mac;
use super::runs::after_activation;

/// The results file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    records: Vec<Stored>,
    /// Members of the file beside version and records, which other programs put there.
    others: Map<String, Value>,
    /// The digest of the text that it was read from; `None` when there was none, and once it was
    /// changed.
    digest: Option<Digest>,
}

/// A record, and whether it may be believed.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    record: SkillRecord,
    trust: Trust,
    /// As it was read; `None` once it was changed.
    original: Option<Map<String, Value>>,
}

/// Why a record is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It is not: made elsewhere, edited by hand, or forged.
    Unverified,
    /// The user's own key signed it.
    Signed,
    /// The file has a detached signature of somebody whom the user trusts.
    Attested,
}

/// Why there are no results to work with.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The file cannot be read.
    #[error("results file {file} cannot be read: {source}")]
    Read {
        /// The file.
        file: String,
        /// The cause.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("results file {file} cannot be written: {source}")]
    Write {
        /// The file.
        file: String,
        /// The cause.
        source: io::Error,
    },
    /// The text is not what a results file holds.
    #[error("results file {file} is damaged: {reason}; restore it, or remove it and run again")]
    Damaged {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is of a version that we cannot read.
    #[error(
        "results file {file} has schema_version {found}, and this program reads \
         {STORE_SCHEMA_VERSION}"
    )]
    Version {
        /// The file.
        file: String,
        /// The version, as it stands there.
        found: String,
    },
}

impl Stored {
    /// The record.
    pub fn record(&self) -> &SkillRecord {
        &self.record
    }

    /// Why it is believed.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Whether it counts as evidence.
    pub fn is_believed(&self) -> bool {
        self.trust != Trust::Unverified
    }
}

impl Results {
    /// Reads the text of a results file. Of records, only those that `key` signed are believed.
    /// Fields that we do not know are kept. `file` is its name in errors.
    pub fn parse(file: &str, text: &[u8], key: Option<&Key>) -> Result<Self, ResultsError> {
        let damaged = |reason: String| ResultsError::Damaged { file: file.to_owned(), reason };
        let root: Value =
            serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
        let Value::Object(mut others) = root else {
            return Err(damaged("it is no JSON object".to_owned()));
        };
        // `shift_remove` keeps the order of what stays.
        let version = others.shift_remove("schema_version").unwrap_or(Value::Null);
        if version != STORE_SCHEMA_VERSION {
            return Err(ResultsError::Version {
                file: file.to_owned(),
                found: version.to_string(),
            });
        }
        let skills = match others.shift_remove("skills") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(skills)) => skills,
            Some(_) => return Err(damaged("`skills` is no list".to_owned())),
        };
        let mut records = Vec::with_capacity(skills.len());
        for (index, skill) in skills.into_iter().enumerate() {
            let stored = Stored::read(skill, key);
            records.push(stored.map_err(|reason| damaged(format!("skills[{index}]: {reason}")))?);
        }
        // Stable: of records with one id, the first stays the first.
        records.sort_by(|left, right| left.record.id.cmp(&right.record.id));
        Ok(Self { records, others, digest: Some(Digest::of(text)) })
    }

    /// The records, by id.
    pub fn records(&self) -> impl Iterator<Item = &Stored> {
        self.records.iter()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The record of a skill.
    pub fn get(&self, id: &str) -> Option<&Stored> {
        self.records.get(self.first(id)).filter(|stored| stored.record.id == id)
    }

    /// The digest of the text that these results were read from or written to; `None` when there is
    /// no such text, or they were changed since.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Says that they are what this text holds.
    pub(super) fn written_as(&mut self, text: &str) {
        self.digest = Some(Digest::of(text.as_bytes()));
    }

    /// Puts a new record in the place of that of its skill, signed with `key`. Without a key it is
    /// not signed, and will not be believed.
    pub fn put(&mut self, record: SkillRecord, key: Option<&Key>) {
        self.insert(Stored::made(record, key));
    }

    /// Puts a record in the place of all that have its id.
    fn insert(&mut self, stored: Stored) {
        let at = self.first(&stored.record.id);
        self.digest = None;
        self.records.retain(|other| other.record.id != stored.record.id);
        self.records.insert(at, stored);
    }

    /// Changes a record in place and signs it again, keeping fields that we do not know. One that
    /// this key has not signed stays as it is, and so does the text of it: says whether it changed.
    pub fn amend(&mut self, record: SkillRecord, key: &Key) -> bool {
        let at = self.first(&record.id);
        let Some(stored) = self.records.get_mut(at) else { return false };
        if stored.record.id != record.id || !mac::is_signed(&stored.record, key) {
            return false;
        }
        *stored = Stored::made(record, Some(key)).with(stored.unknown());
        self.digest = None;
        true
    }

    /// Puts a measurement of activation into the record of its skill, which keeps everything else,
    /// and says whether that is believed.
    ///
    /// A run of cases that is not believed stays in the file as it is: to sign it would make it true,
    /// to drop it would lose what somebody else measured. The measurement then stands beside it
    /// unsigned.
    pub fn put_activation(
        &mut self,
        id: &str,
        measured: ActivationRecord,
        key: Option<&Key>,
    ) -> Trust {
        let old = self.get(id);
        if let Some(old) = old.filter(|old| !old.is_believed() && old.record.has_run()) {
            let record = SkillRecord { activation: Some(measured), ..old.record.clone() };
            let stored = Stored { record, trust: Trust::Unverified, original: None };
            let stored = stored.with(old.unknown());
            self.insert(stored);
            return Trust::Unverified;
        }
        let record = after_activation(old, id, measured);
        let amended = key.is_some_and(|key| self.amend(record.clone(), key));
        if !amended {
            self.put(record, key);
        }
        if key.is_some() { Trust::Signed } else { Trust::Unverified }
    }

    /// Believes every record, on the word of a detached signature over the text it was read from.
    pub(super) fn attest(&mut self) {
        for stored in &mut self.records {
            if stored.trust == Trust::Unverified {
                stored.trust = Trust::Attested;
            }
        }
    }

    /// The text of the file.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut root = Map::new();
        root.insert("schema_version".to_owned(), STORE_SCHEMA_VERSION.into());
        let skills = self.records.iter().map(|stored| Value::Object(stored.to_map()));
        root.insert("skills".to_owned(), skills.collect());
        root.extend(self.others.clone());
        go::pretty(&root)
    }

    /// Where the first record with this id is, or would be.
    fn first(&self, id: &str) -> usize {
        self.records.partition_point(|stored| stored.record.id.as_str() < id)
    }
}

impl Stored {
    fn read(value: Value, key: Option<&Key>) -> Result<Self, String> {
        let record: SkillRecord =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        let Value::Object(original) = value else { return Err("it is no object".to_owned()) };
        let is_signed = key.is_some_and(|key| mac::is_signed(&record, key));
        let trust = if is_signed { Trust::Signed } else { Trust::Unverified };
        Ok(Self { record, trust, original: Some(original) })
    }

    fn made(record: SkillRecord, key: Option<&Key>) -> Self {
        let mac = key.map(|key| mac::sign(&record, key)).unwrap_or_default();
        let trust = if mac.is_empty() { Trust::Unverified } else { Trust::Signed };
        Self { record: SkillRecord { mac, ..record }, trust, original: None }
    }

    /// The record with members that we do not know.
    fn with(mut self, unknown: Map<String, Value>) -> Self {
        if !unknown.is_empty() {
            let mut original = self.to_map();
            original.extend(unknown);
            self.original = Some(original);
        }
        self
    }

    /// The members of the record in its file.
    fn to_map(&self) -> Map<String, Value> {
        if let Some(original) = &self.original {
            return original.clone();
        }
        // A record always becomes an object.
        match serde_json::to_value(&self.record) {
            Ok(Value::Object(members)) => members,
            _ => Map::new(),
        }
    }

    /// The members that we do not know.
    fn unknown(&self) -> Map<String, Value> {
        const KNOWN: [&str; 16] = [
            "id",
            "digest",
            "cases_digest",
            "lock_digest",
            "cache_key",
            "runner",
            "harness",
            "model",
            "ablation",
            "date",
            "passing",
            "score",
            "estimate",
            "activation",
            "last_pass",
            "mac",
        ];
        let mut members = self.original.clone().unwrap_or_default();
        members.retain(|name, _| !KNOWN.contains(&name.as_str()));
        members
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> Key {
        Key::of([7; 32])
    }

    fn record(id: &str, date: &str) -> SkillRecord {
        SkillRecord { id: id.to_owned(), date: date.to_owned(), ..SkillRecord::default() }
    }

    fn parse(text: &str, key: Option<&Key>) -> Result<Results, ResultsError> {
        Results::parse("r.json", text.as_bytes(), key)
    }

    fn text_of(records: &[SkillRecord], key: Option<&Key>) -> String {
        let mut results = Results::default();
        for record in records {
            results.put(record.clone(), key);
        }
        results.to_text().unwrap()
    }

    #[test]
    fn records_are_sorted_by_id_and_replaced() {
        let text = text_of(&[record("b", "1"), record("a", "1"), record("b", "2")], Some(&key()));
        let results = parse(&text, Some(&key())).unwrap();
        let shown: Vec<(&str, &str)> =
            results.records().map(|r| (r.record().id.as_str(), r.record().date.as_str())).collect();
        assert_eq!(shown, [("a", "1"), ("b", "2")]);
        assert_eq!(results.to_text().unwrap(), text);
        assert_eq!(results.get("b").unwrap().record().date, "2");
        assert!(results.get("c").is_none() && results.get("").is_none());
    }

    #[test]
    fn only_the_own_signature_is_believed() {
        let text = text_of(&[record("a", "")], Some(&key()));
        let trust =
            |text: &str, key: Option<&Key>| parse(text, key).unwrap().get("a").unwrap().trust();
        assert_eq!(trust(&text, Some(&key())), Trust::Signed);
        assert_eq!(trust(&text, None), Trust::Unverified);
        assert_eq!(trust(&text, Some(&Key::of([8; 32]))), Trust::Unverified);
        let forged = text.replace("\"passing\": false", "\"passing\": true");
        assert_ne!(forged, text);
        assert_eq!(trust(&forged, Some(&key())), Trust::Unverified);
        // White space and fields that the signature does not cover make no difference.
        let compact: Value = serde_json::from_str(&text).unwrap();
        let compact = compact.to_string().replace("{\"id\"", "{\"new\":[1],\"id\"");
        assert_eq!(trust(&compact, Some(&key())), Trust::Signed);
    }

    fn activation(recall: f64) -> ActivationRecord {
        ActivationRecord {
            surface: "retrieval".to_owned(),
            digest: "sha256:d".to_owned(),
            recall: Some(recall),
            ..ActivationRecord::default()
        }
    }

    fn run(id: &str) -> SkillRecord {
        SkillRecord { runner: "command".to_owned(), ..record(id, "1") }
    }

    #[test]
    fn a_measurement_keeps_the_run_and_what_others_wrote() {
        let text = text_of(&[run("a")], Some(&key())).replace("\"id\"", "\"note\": 1, \"id\"");
        let mut results = parse(&text, Some(&key())).unwrap();
        assert_eq!(results.put_activation("a", activation(0.5), Some(&key())), Trust::Signed);
        let results = parse(&results.to_text().unwrap(), Some(&key())).unwrap();
        let stored = results.get("a").unwrap();
        assert!(stored.is_believed() && stored.unknown().contains_key("note"));
        let expected = SkillRecord { activation: Some(activation(0.5)), ..run("a") };
        assert_eq!(SkillRecord { mac: String::new(), ..stored.record().clone() }, expected);
    }

    #[test]
    fn a_measurement_alone_makes_a_record() {
        for signs in [Some(key()), None] {
            let mut results = Results::default();
            results.put_activation("a", activation(0.5), signs.as_ref());
            // What was measured before, believed or not, gives way.
            let trust = results.put_activation("a", activation(0.6), signs.as_ref());
            let stored = results.get("a").unwrap();
            assert_eq!((stored.trust(), trust == Trust::Signed), (trust, signs.is_some()));
            assert!(!stored.record().has_run());
            assert_eq!(stored.record().activation, Some(activation(0.6)));
            assert_eq!(stored.record().digest, "sha256:d");
        }
    }

    #[test]
    fn a_measurement_makes_no_forged_run_true_and_loses_none() {
        let mine = text_of(&[run("a")], Some(&key()));
        let forged = mine.replace("\"passing\": false", "\"passing\": true");
        let mut results = parse(&forged, Some(&key())).unwrap();
        assert_eq!(results.put_activation("a", activation(0.5), Some(&key())), Trust::Unverified);
        let results = parse(&results.to_text().unwrap(), Some(&key())).unwrap();
        let stored = results.get("a").unwrap();
        assert!(!stored.is_believed() && stored.record().passing);
        assert_eq!(stored.record().activation, Some(activation(0.5)));
        assert_eq!(stored.record().mac, parse(&mine, None).unwrap().get("a").unwrap().record().mac);
    }

    #[test]
    fn without_a_key_nothing_is_signed() {
        let text = text_of(&[record("a", "")], None);
        assert!(!text.contains("mac"));
        assert!(!parse(&text, Some(&key())).unwrap().get("a").unwrap().is_believed());
    }

    #[test]
    fn an_unverified_record_is_written_back_as_it_was() {
        let foreign = concat!(
            "{\n  \"schema_version\": 1,\n  \"skills\": [\n    {\n      \"id\": \"a\",\n      ",
            "\"later\": {\n        \"x\": \"\\u003c\"\n      },\n      \"passing\": true,\n      ",
            "\"mac\": \"hmac-sha256:00\"\n    }\n  ],\n  \"note\": [\n    1.5,\n    2\n  ]\n}\n"
        );
        let mut results = parse(foreign, Some(&key())).unwrap();
        assert_eq!(results.to_text().unwrap(), foreign);
        results.put(record("b", ""), Some(&key()));
        let text = results.to_text().unwrap();
        assert!(text.contains("\"later\"") && text.contains("\"hmac-sha256:00\""));
        assert!(text.contains("\"note\""));
        let again = parse(&text, Some(&key())).unwrap();
        assert!(!again.get("a").unwrap().is_believed() && again.get("b").unwrap().is_believed());
    }

    #[test]
    fn only_what_this_key_signed_is_amended() {
        let text = text_of(&[record("a", "1")], Some(&key()));
        let with_more = text.replace("\"id\": \"a\",", "\"id\": \"a\", \"later\": 1,");
        let amended = SkillRecord { lock_digest: "sha256:l".to_owned(), ..record("a", "1") };

        let mut results = parse(&with_more, Some(&key())).unwrap();
        assert!(results.amend(amended.clone(), &key()));
        let again = parse(&results.to_text().unwrap(), Some(&key())).unwrap();
        assert_eq!(again.get("a").unwrap().record().lock_digest, "sha256:l");
        assert_eq!(again.get("a").unwrap().trust(), Trust::Signed);
        assert!(results.to_text().unwrap().contains("\"later\": 1"));

        let mut foreign = parse(&with_more, Some(&Key::of([1; 32]))).unwrap();
        let before = foreign.to_text().unwrap();
        assert!(!foreign.amend(amended.clone(), &Key::of([1; 32])));
        foreign.attest();
        assert_eq!(foreign.get("a").unwrap().trust(), Trust::Attested);
        assert!(!foreign.amend(amended, &Key::of([1; 32])));
        assert!(!foreign.amend(record("gone", ""), &key()));
        assert_eq!(foreign.to_text().unwrap(), before);
    }

    #[test]
    fn of_repeated_ids_the_first_counts_until_it_is_replaced() {
        let text = r#"{"schema_version":1,"skills":[
            {"id":"a","date":"first"},{"id":"0"},{"id":"a","date":"second"}]}"#;
        let mut results = parse(text, None).unwrap();
        assert_eq!(results.get("a").unwrap().record().date, "first");
        assert_eq!(results.records().count(), 3);
        results.put(record("a", "new"), None);
        assert_eq!(results.get("a").unwrap().record().date, "new");
        assert_eq!(results.records().count(), 2);
    }

    #[test]
    fn what_is_no_results_file_is_refused() {
        let error = |text: &str| parse(text, None).unwrap_err().to_string();
        assert_eq!(
            error("{\"schema_version\": 2, \"skills\": []}"),
            "results file r.json has schema_version 2, and this program reads 1"
        );
        assert!(error("{}").contains("has schema_version null"));
        assert!(error("{\"schema_version\": \"1\"}").contains("has schema_version \"1\""));
        for (text, reason) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("[]", "it is no JSON object"),
            ("{\"schema_version\":1,\"skills\":{}}", "`skills` is no list"),
            ("{\"schema_version\":1,\"skills\":[3]}", "skills[0]: invalid type"),
            ("{\"schema_version\":1,\"skills\":[{},{\"score\":{\"cases\":-1}}]}", "skills[1]: "),
            (
                "{\"schema_version\":1,\"skills\":[{\"score\":{\"pass_rate\":1e999}}]}",
                "number out of range",
            ),
            ("{\"schema_version\":1} x", "trailing characters"),
        ] {
            let message = error(text);
            assert!(message.starts_with("results file r.json is damaged: "), "{message}");
            assert!(message.contains(reason), "{message}");
        }
        assert!(parse("{\"schema_version\":1,\"skills\":null}", None).is_ok());
    }

    fn any_record() -> impl Strategy<Value = SkillRecord> {
        ("[a-c]{0,2}", ".{0,8}", any::<bool>(), 0.0f64..=1.0, proptest::option::of(-1.0f64..1.0))
            .prop_map(|(id, model, passing, pass_rate, ablation_delta)| {
                let mut record = record(&id, "");
                (record.model, record.passing) = (model, passing);
                (record.score.pass_rate, record.score.ablation_delta) = (pass_rate, ablation_delta);
                record
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(records in proptest::collection::vec(any_record(), 0..6)) {
            let text = text_of(&records, Some(&key()));
            let read = parse(&text, Some(&key())).unwrap();
            prop_assert!(read.records().all(Stored::is_believed));
            prop_assert_eq!(read.to_text().unwrap(), text);
            for record in &records {
                let last = records.iter().rfind(|other| other.id == record.id).unwrap();
                let stored = SkillRecord { mac: String::new(), ..read.get(&record.id).unwrap().record().clone() };
                prop_assert_eq!(&stored, last);
            }
        }
    }
}
