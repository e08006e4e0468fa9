#![no_main]

use proctor_model::eval::SkillRecord;
use proctor_store::eval::{Key, Results};

// Whatever the bytes are: what is read is written and read back as the same, nothing is believed
// that the key did not sign, and a record that is put in does not change what others hold.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let key = Key::of([7; 32]);
    let Ok(results) = Results::parse("r.json", data, Some(&key)) else { return };
    assert!(results.records().all(|stored| !stored.is_believed()));
    assert!(results.records().is_sorted_by(|a, b| a.record().id <= b.record().id));

    let text = results.to_text().expect("what was read can be written");
    let again = Results::parse("r.json", text.as_bytes(), Some(&key)).expect("what was written");
    assert_eq!(again.to_text().expect("again"), text);
    let records =
        |results: &Results| results.records().map(|r| r.record().clone()).collect::<Vec<_>>();
    assert_eq!(records(&again), records(&results));

    let mut changed = again.clone();
    let record = SkillRecord { id: "fuzz".to_owned(), ..SkillRecord::default() };
    changed.put(record, Some(&key));
    let text = changed.to_text().expect("a record more");
    let read = Results::parse("r.json", text.as_bytes(), Some(&key)).expect("a record more");
    for stored in read.records() {
        assert_eq!(stored.is_believed(), stored.record().id == "fuzz");
    }
    let others = |results: &Results| {
        let kept = results.records().filter(|stored| stored.record().id != "fuzz");
        kept.map(|stored| stored.record().clone()).collect::<Vec<_>>()
    };
    assert_eq!(others(&read), others(&again));
});
