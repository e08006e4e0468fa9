//! Detached signatures over a results file, which anybody can check with a public key and without a
//! network.
//!
//! The signature of a record is worth something to its user alone; this one travels. It is an
//! in-toto statement in a DSSE envelope (<https://github.com/secure-systems-lab/dsse>, version 1),
//! which names the file by its digest.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Digest;
use proctor_model::json::go;
use serde::{Deserialize, Serialize};

use super::file::read;
use super::pair::{PrivateKey, PublicKey};
use super::results::{Results, ResultsError};
use crate::whole::replace;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "urn:proctor:eval-results:v1";

/// Signatures of one envelope that are looked at.
const MAX_SIGNATURES: usize = 64;

#[derive(Serialize, Deserialize)]
struct Envelope {
    #[serde(rename = "payloadType")]
    payload_type: String,
    payload: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Serialize, Deserialize)]
struct EnvelopeSignature {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyid: Option<String>,
    sig: String,
}

#[derive(Serialize, Deserialize)]
struct Statement {
    #[serde(rename = "_type")]
    schema: String,
    subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Predicate,
}

#[derive(Serialize, Deserialize)]
struct Subject {
    name: String,
    digest: SubjectDigest,
}

#[derive(Serialize, Deserialize)]
struct SubjectDigest {
    sha256: String,
}

/// What the signer says beside the digest.
#[derive(Serialize, Deserialize)]
struct Predicate {
    program: String,
    version: String,
}

/// Why a detached signature does not count.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttestationError {
    /// The text is no signature of results.
    #[error("it is no signature of eval results: {0}")]
    Malformed(String),
    /// Nobody who is trusted signed it.
    #[error("none of its signatures is by a key that is trusted here")]
    Untrusted,
    /// It is sound, and over another file.
    #[error(
        "it is over other results: the file changed after it was signed; sign it again with \
         `proctor eval run --sign ed25519`"
    )]
    OtherResults,
}

/// Where the detached signature of a results file lies: beside it.
pub fn attestation_path(results: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{results}.dsse.json"))
}

/// Signs the results file as it lies there and writes the signature beside it. `version` is that of
/// the program. The same file and key give the same signature.
pub fn write_attestation(
    results: &Utf8Path,
    key: &PrivateKey,
    version: &str,
) -> Result<Utf8PathBuf, ResultsError> {
    let failed = |file: &Utf8Path| {
        let file = file.to_string();
        |source| ResultsError::Read { file, source }
    };
    let text = fs::read(results).map_err(failed(results))?;
    let path = attestation_path(results);
    let failed = |source| ResultsError::Write { file: path.to_string(), source };
    let name = results.file_name().unwrap_or_default();
    let envelope = attest(name, &Digest::of(&text), key, version).map_err(|e| failed(e.into()))?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_str().is_empty() => parent.as_std_path(),
        _ => Path::new("."),
    };
    replace(folder, path.as_std_path(), envelope.as_bytes()).map_err(failed)?;
    Ok(path)
}

/// The bytes of the detached signature of a results file; `None` when there is none.
pub fn read_attestation(results: &Utf8Path) -> Result<Option<Vec<u8>>, ResultsError> {
    let path = attestation_path(results);
    read(path.as_std_path()).map_err(|source| ResultsError::Read { file: path.to_string(), source })
}

impl Results {
    /// Believes every record when one of `trusted` signed the very text that these results were
    /// read from; gives the id of the key.
    pub fn verify_attestation(
        &mut self,
        envelope: &[u8],
        trusted: &[PublicKey],
    ) -> Result<String, AttestationError> {
        let digest = self.digest().ok_or(AttestationError::OtherResults)?.to_string();
        let key = verify(envelope, &digest, trusted)?;
        self.attest();
        Ok(key)
    }
}

/// The envelope of a file of this name and digest.
fn attest(
    name: &str,
    digest: &Digest,
    key: &PrivateKey,
    version: &str,
) -> Result<String, serde_json::Error> {
    let statement = Statement {
        schema: STATEMENT_TYPE.to_owned(),
        subject: vec![Subject {
            name: name.to_owned(),
            digest: SubjectDigest { sha256: digest.to_string() },
        }],
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: Predicate { program: "proctor".to_owned(), version: version.to_owned() },
    };
    let payload = go::compact(&statement)?;
    let signature = key.sign(&encoding(PAYLOAD_TYPE, payload.as_bytes()));
    go::pretty(&Envelope {
        payload_type: PAYLOAD_TYPE.to_owned(),
        payload: STANDARD.encode(payload),
        signatures: vec![EnvelopeSignature {
            keyid: Some(key.public().id()),
            sig: STANDARD.encode(signature),
        }],
    })
}

fn verify(
    envelope: &[u8],
    digest: &str,
    trusted: &[PublicKey],
) -> Result<String, AttestationError> {
    let malformed = |reason: &str| AttestationError::Malformed(reason.to_owned());
    let envelope: Envelope = serde_json::from_slice(envelope)
        .map_err(|error| AttestationError::Malformed(error.to_string()))?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(malformed("its payload is of another type"));
    }
    if envelope.signatures.len() > MAX_SIGNATURES {
        return Err(malformed("it has too many signatures"));
    }
    let payload = decode(&envelope.payload).ok_or_else(|| malformed("its payload is no base64"))?;
    let message = encoding(&envelope.payload_type, &payload);
    // The id of a key in the envelope is only a hint: each key is tried on each signature.
    let signatures: Vec<Vec<u8>> =
        envelope.signatures.iter().filter_map(|signature| decode(&signature.sig)).collect();
    let signed = |key: &&PublicKey| signatures.iter().any(|sig| key.verifies(&message, sig));
    let key = trusted.iter().find(signed).ok_or(AttestationError::Untrusted)?;

    let statement: Statement = serde_json::from_slice(&payload)
        .map_err(|error| AttestationError::Malformed(error.to_string()))?;
    let is_ours = statement.schema == STATEMENT_TYPE && statement.predicate_type == PREDICATE_TYPE;
    if !is_ours {
        return Err(malformed("its statement is about something else"));
    }
    let names = |subject: &Subject| subject.digest.sha256 == digest;
    if statement.subject.iter().any(names) {
        Ok(key.id())
    } else {
        Err(AttestationError::OtherResults)
    }
}

/// Both alphabets of base64 are allowed in an envelope.
fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// What is really signed: DSSE's pre-authentication encoding.
fn encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::SkillRecord;
    use serde_json::Value;

    use super::super::file::{load, update};
    use super::super::results::Trust;
    use super::*;

    fn private() -> PrivateKey {
        // RFC 8410, section 10.3.
        PrivateKey::from_pem(
            "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----",
        )
        .unwrap()
    }

    #[test]
    fn the_encoding_is_that_of_the_standard() {
        assert_eq!(
            encoding("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }

    #[test]
    fn the_envelope_says_what_is_signed() {
        let envelope = attest("r.json", &Digest::of(b"abc"), &private(), "1.2.3").unwrap();
        let parsed: Value = serde_json::from_str(&envelope).unwrap();
        let payload = decode(parsed["payload"].as_str().unwrap()).unwrap();
        insta::assert_snapshot!(String::from_utf8(payload).unwrap(), @r#"{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"r.json","digest":{"sha256":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}}],"predicateType":"urn:proctor:eval-results:v1","predicate":{"program":"proctor","version":"1.2.3"}}"#);
        assert_eq!(parsed["signatures"][0]["keyid"], private().public().id());
        assert_eq!(attest("r.json", &Digest::of(b"abc"), &private(), "1.2.3").unwrap(), envelope);
    }

    /// A results file of somebody else, signed.
    fn signed() -> (tempfile::TempDir, Utf8PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(temp.path()).unwrap().join("eval-results.json");
        let record = SkillRecord { id: "a".to_owned(), ..SkillRecord::default() };
        update(&path, None, |results| results.put(record, None)).unwrap();
        let written = write_attestation(&path, &private(), "1").unwrap();
        assert_eq!(written, attestation_path(&path));
        (temp, path)
    }

    #[test]
    fn records_are_believed_on_the_word_of_a_trusted_signer() {
        let (_temp, path) = signed();
        let envelope = read_attestation(&path).unwrap().unwrap();
        let mut results = load(&path, None).unwrap();
        let stranger = PrivateKey::generate().unwrap().public();
        let refused = results.verify_attestation(&envelope, std::slice::from_ref(&stranger));
        assert_eq!(refused, Err(AttestationError::Untrusted));
        assert_eq!(results.verify_attestation(&envelope, &[]), Err(AttestationError::Untrusted));
        assert!(!results.get("a").unwrap().is_believed());
        let key = results.verify_attestation(&envelope, &[stranger, private().public()]);
        assert_eq!(key, Ok(private().public().id()));
        assert_eq!(results.get("a").unwrap().trust(), Trust::Attested);
    }

    #[test]
    fn a_changed_file_is_not_believed() {
        let (_temp, path) = signed();
        let envelope = read_attestation(&path).unwrap().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"passing\": false", "\"passing\": true")).unwrap();
        let mut results = load(&path, None).unwrap();
        let trusted = [private().public()];
        let refused = results.verify_attestation(&envelope, &trusted);
        assert_eq!(refused, Err(AttestationError::OtherResults));
        assert!(!results.get("a").unwrap().is_believed());
        let mut nothing = Results::default();
        assert_eq!(
            nothing.verify_attestation(&envelope, &trusted),
            Err(AttestationError::OtherResults)
        );
    }

    #[test]
    fn a_changed_envelope_is_not_believed() {
        let (_temp, path) = signed();
        let envelope = String::from_utf8(read_attestation(&path).unwrap().unwrap()).unwrap();
        let verify = |text: &str| {
            let mut results = load(&path, None).unwrap();
            results
                .verify_attestation(text.as_bytes(), &[private().public()])
                .unwrap_err()
                .to_string()
        };
        let parsed: Value = serde_json::from_str(&envelope).unwrap();
        let with = |name: &str, value: Value| {
            let mut changed = parsed.clone();
            changed[name] = value;
            changed.to_string()
        };
        let payload = parsed["payload"].as_str().unwrap().to_owned();
        let untrusted = "none of its signatures is by a key that is trusted here";
        let mut other = decode(&payload).unwrap();
        other[10] ^= 1;
        assert_eq!(verify(&with("payload", STANDARD.encode(other).into())), untrusted);
        assert_eq!(verify(&with("signatures", Value::Array(Vec::new()))), untrusted);
        for (text, reason) in [
            ("{".to_owned(), "EOF"),
            (with("payloadType", "text/plain".into()), "its payload is of another type"),
            (with("payload", "%".into()), "its payload is no base64"),
            (
                with("signatures", vec![parsed["signatures"][0].clone(); 65].into()),
                "it has too many signatures",
            ),
        ] {
            let message = verify(&text);
            assert!(message.starts_with("it is no signature of eval results: "), "{message}");
            assert!(message.contains(reason), "{message}");
        }
    }

    #[test]
    fn a_statement_about_something_else_does_not_count() {
        let sign = |payload: &str| {
            let signature = private().sign(&encoding(PAYLOAD_TYPE, payload.as_bytes()));
            let envelope = Envelope {
                payload_type: PAYLOAD_TYPE.to_owned(),
                payload: URL_SAFE.encode(payload),
                signatures: vec![EnvelopeSignature {
                    keyid: None,
                    sig: URL_SAFE.encode(signature),
                }],
            };
            serde_json::to_vec(&envelope).unwrap()
        };
        let of = |kind: &str, digest: &str| {
            sign(&format!(
                r#"{{"_type":"{STATEMENT_TYPE}","subject":[{{"name":"x","digest":{{"sha256":"{digest}"}}}}],"predicateType":"{kind}","predicate":{{"program":"x","version":"1"}}}}"#
            ))
        };
        let trusted = [private().public()];
        assert!(verify(&of(PREDICATE_TYPE, "00"), "00", &trusted).is_ok());
        assert_eq!(
            verify(&of(PREDICATE_TYPE, "00"), "01", &trusted),
            Err(AttestationError::OtherResults)
        );
        let other = verify(&of("urn:other", "00"), "00", &trusted).unwrap_err();
        assert!(other.to_string().ends_with("its statement is about something else"), "{other}");
        assert!(matches!(verify(&sign("{}"), "00", &trusted), Err(AttestationError::Malformed(_))));
    }

    #[test]
    fn without_a_signature_there_is_none() {
        let temp = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(temp.path()).unwrap().join("r.json");
        assert_eq!(read_attestation(&path).unwrap(), None);
        assert!(write_attestation(&path, &private(), "1").is_err());
    }
}
