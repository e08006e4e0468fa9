//! Texts that are compared: normalising twice changes nothing, words are found only where
//! substrings are, and what an excerpt shows holds what was found.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proctor_grade::text::{Boundary, EXCERPT_CONTEXT, EXCERPT_HIT, Prepared, normalise};

fuzz_target!(|texts: (&str, &str)| {
    let (text, needle) = (Prepared::new(texts.0), Prepared::new(texts.1));
    assert_eq!(normalise(text.normal()), text.normal());

    let substring = text.find(&needle, Boundary::Substring);
    let word = text.find(&needle, Boundary::Word);
    assert!(substring.found || !word.found);
    assert_eq!(substring.found, text.normal().contains(needle.normal()));
    assert_eq!((substring.boundary, &substring.at), (word.boundary, &word.at));
    assert!(!text.equals(&needle) || substring.found);

    let Some(at) = substring.at else { return };
    let excerpt = text.excerpt(&at);
    assert!(excerpt.chars().count() <= EXCERPT_HIT + 2 * EXCERPT_CONTEXT);
    if excerpt.chars().count() < EXCERPT_HIT {
        assert!(normalise(excerpt).contains(needle.normal()));
    }
});
