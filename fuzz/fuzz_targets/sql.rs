#![no_main]

use std::cell::RefCell;
use std::time::Duration;

use proctor_query::{Evidence, Format, Limits, Statement};

thread_local! {
    static EVIDENCE: RefCell<Evidence> = RefCell::new(Evidence::in_memory().unwrap());
}

// Whatever the statement is: it is refused, or SQLite takes what it becomes, and every value is of
// the type that the translation said.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(statement) = Statement::parse(text) else { return };
    let limits = Limits { rows: 100, time: Duration::from_secs(1) };
    let mut out = Vec::new();
    let mut sink = Format::JsonCompact.sink(&mut out);
    EVIDENCE.with_borrow_mut(|evidence| {
        if let Err(error) = evidence.answer(&statement, &limits, &mut *sink) {
            let error = error.to_string();
            for wrong in ["syntax error", "no such column", "no such function", "misuse", "a value of"] {
                assert!(!error.contains(wrong), "{error}");
            }
        }
    });
});
