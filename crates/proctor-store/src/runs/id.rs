//! Names of runs and trials.

use std::time::{SystemTime, UNIX_EPOCH};

use proctor_model::Digest;

/// The digits of a ULID: Crockford's base 32.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// `<experiment id>-<ULID>` for a run that is made now: later runs sort after earlier ones.
///
/// # Errors
///
/// When the system has no random numbers.
pub fn run_id(experiment_id: &str) -> Result<String, getrandom::Error> {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    // 48 bits of time and 80 of chance, as <https://github.com/ulid/spec> says.
    let value = (elapsed.as_millis() << 80) | (u128::from_be_bytes(random) >> 48);
    Ok(format!("{experiment_id}-{}", ulid(value)))
}

/// `<variant id>::<16 hexadecimal digits>` for a trial that is planned now.
///
/// # Errors
///
/// When the system has no random numbers.
pub fn trial_id(variant_id: &str) -> Result<String, getrandom::Error> {
    Ok(format!("{variant_id}::{:016x}", getrandom::u64()?))
}

/// The folder of a trial, relative to that of its run: a name that two variants never share, and
/// below it the number of the repetition, unless it is the first.
pub fn trial_path(variant_id: &str, repeat_idx: u32) -> String {
    const LONGEST: usize = 120;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let parts = variant_id.replace("::", "__");
    let mut name: String =
        parts.chars().map(|c| if is_plain(c) { c } else { '-' }).take(LONGEST).collect();
    if name != parts {
        let digest = Digest::of(variant_id.as_bytes()).to_string();
        name = format!("{name}~{}", digest.get(..8).unwrap_or_default());
    }
    match repeat_idx {
        0 => format!("variants/{name}"),
        more => format!("variants/{name}/{more}"),
    }
}

fn ulid(value: u128) -> String {
    let digit = |place: u32| {
        let index = usize::try_from((value >> (place * 5)) & 31).unwrap_or(0);
        char::from(*DIGITS.get(index).unwrap_or(&b'0'))
    };
    (0..26).rev().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ulid_has_26_digits_and_keeps_the_order() {
        // The example of the specification.
        let value = 1_469_918_176_385_u128 << 80;
        assert!(ulid(value).starts_with("01ARYZ6S41"));
        assert_eq!(ulid(0).len(), 26);
        assert!(ulid(value) < ulid(value + (1 << 80)));
        assert!(run_id("x").unwrap().strip_prefix("x-").is_some_and(|ulid| ulid.len() == 26));
    }

    #[test]
    fn no_two_variants_share_a_folder() {
        assert_eq!(trial_path("claude::example", 0), "variants/claude__example");
        assert_eq!(trial_path("claude::example", 2), "variants/claude__example/2");
        let [one, other] = ["a::s/c", "a::s:c"].map(|id| trial_path(id, 0));
        assert!(one.starts_with("variants/a__s-c~") && one != other, "{one} {other}");
        assert!(trial_path("../../x", 0).starts_with("variants/..-..-x~"));
        assert!(trial_path(&"x".repeat(500), 0).len() < 160);
    }

    #[test]
    fn trials_of_one_variant_differ() {
        let (one, other) = (trial_id("a::b").unwrap(), trial_id("a::b").unwrap());
        assert_ne!(one, other);
        assert_eq!(one.len(), "a::b::".len() + 16);
    }
}
