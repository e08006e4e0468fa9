//! The signature of a record: HMAC-SHA256 over its compact text without the signature.

use hmac::{Hmac, KeyInit, Mac};
use proctor_model::eval::SkillRecord;
use proctor_model::json::go;
use sha2::Sha256;

use super::key::Key;

const PREFIX: &str = "hmac-sha256:";

/// The signature of a record by the owner of `key`; what stands in its `mac` does not count.
pub(super) fn sign(record: &SkillRecord, key: &Key) -> String {
    let tag = begin(record, key).map(|mac| mac.finalize().into_bytes());
    tag.map(|tag| format!("{PREFIX}{}", hex(&tag))).unwrap_or_default()
}

/// Whether the record's own signature is that of the owner of `key`. Takes as long for a wrong
/// signature as for the right one.
pub(super) fn is_signed(record: &SkillRecord, key: &Key) -> bool {
    let tag = record.mac.strip_prefix(PREFIX).and_then(unhex);
    tag.zip(begin(record, key)).is_some_and(|(tag, mac)| mac.verify_slice(&tag).is_ok())
}

/// `None` only where a record or a key of 32 bytes could not be taken, which does not happen;
/// nothing is then signed and nothing believed.
fn begin(record: &SkillRecord, key: &Key) -> Option<Hmac<Sha256>> {
    let bare = SkillRecord { mac: String::new(), ..record.clone() };
    let text = go::compact(&bare).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(key.bytes()).ok()?;
    mac.update(text.as_bytes());
    Some(mac)
}

/// Lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of lower-case hexadecimal: one text for one value.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let nibble = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?));
    rest.is_empty().then(|| bytes.collect::<Option<Vec<u8>>>())?
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::{PassMark, Score};
    use proptest::prelude::*;

    use super::*;

    fn key() -> Key {
        Key::of(std::array::from_fn(|index| u8::try_from(index).unwrap()))
    }

    /// The worked vector of the format: key, record and signature.
    fn example() -> SkillRecord {
        SkillRecord {
            id: "deploy-staging".to_owned(),
            digest: "sha256:aa".to_owned(),
            cases_digest: "sha256:bb".to_owned(),
            lock_digest: "sha256:cc".to_owned(),
            cache_key: "sha256:dd".to_owned(),
            runner: "command".to_owned(),
            harness: "claude".to_owned(),
            model: "haiku".to_owned(),
            date: "2026-10-05".to_owned(),
            passing: true,
            score: Score {
                cases: 3,
                scored: 3,
                passed: 3,
                pass_rate: 1.0,
                trigger_precision: Some(1.0),
                trigger_recall: Some(1.0),
                near_miss_cases: 1,
                skill_tokens: 120,
                run_tokens: 900,
                run_input_tokens: 700,
                run_output_tokens: 200,
                cost_usd: 0.0125,
                ..Score::default()
            },
            last_pass: Some(PassMark {
                digest: "sha256:aa".to_owned(),
                date: "2026-10-05".to_owned(),
            }),
            mac: "hmac-sha256:1e131f818b6d00fb877bf37262cec04b23438b78e536812e1b34882cd61e4d8c"
                .to_owned(),
            ..SkillRecord::default()
        }
    }

    #[test]
    fn the_worked_vector() {
        let record = example();
        assert_eq!(sign(&record, &key()), record.mac);
        assert!(is_signed(&record, &key()));
        assert!(!is_signed(&record, &Key::of([0; 32])));
    }

    #[test]
    fn one_text_for_one_signature() {
        let right = example();
        let hex = right.mac.strip_prefix(PREFIX).unwrap();
        for mac in [
            String::new(),
            PREFIX.to_owned(),
            hex.to_owned(),
            format!("{PREFIX}{}", hex.to_uppercase()),
            format!("{PREFIX}{hex}0"),
            format!("{PREFIX}{hex}00"),
            format!("{PREFIX}{}", &hex[..62]),
            format!("{PREFIX} {hex}"),
            format!("HMAC-SHA256:{hex}"),
        ] {
            assert!(
                !is_signed(&SkillRecord { mac: mac.clone(), ..right.clone() }, &key()),
                "{mac}"
            );
        }
    }

    #[test]
    fn every_field_is_signed() {
        let right = example();
        let text = go::compact(&right).unwrap();
        for (from, to) in [
            ("deploy-staging", "deploy-production"),
            ("sha256:aa", "sha256:ab"),
            ("sha256:bb", "sha256:ba"),
            ("sha256:cc", "sha256:ca"),
            ("sha256:dd", "sha256:da"),
            ("\"passing\":true", "\"passing\":false"),
            ("\"pass_rate\":1", "\"pass_rate\":0.5"),
            ("\"ablation_delta\":null", "\"ablation_delta\":0.5"),
            ("2026-10-05\"},", "2026-10-06\"},"),
        ] {
            let forged = text.replacen(from, to, 1);
            assert_ne!(forged, text);
            assert!(!is_signed(&serde_json::from_str(&forged).unwrap(), &key()), "{from}");
        }
    }

    proptest! {
        #[test]
        fn hexadecimal_goes_both_ways(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_for_a_signature_is_refused(mac in ".{0,90}") {
            let right = example();
            prop_assume!(mac != right.mac);
            let forged = SkillRecord { mac, ..right };
            prop_assert!(!is_signed(&forged, &key()));
        }
    }
}
