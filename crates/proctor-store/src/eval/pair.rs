//! Ed25519 key pairs for detached signatures, in the PEM files that `openssl` and `cosign` write.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use proctor_model::Digest;

use super::key::write_new;

/// The encoding of every such private key before its 32 bytes: RFC 8410, section 7.
const PRIVATE_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The same for public keys: RFC 8410, section 4.
const PUBLIC_PREFIX: [u8; 12] =
    [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

const PRIVATE_LABEL: &str = "PRIVATE KEY";
const PUBLIC_LABEL: &str = "PUBLIC KEY";

/// The key that signs.
#[derive(Clone)]
pub struct PrivateKey(SigningKey);

/// The key that others check with.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// Why there is no key pair.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// The text is no such key.
    #[error("it is no Ed25519 {label} in PEM; `proctor eval keygen` makes a pair")]
    NoKey {
        /// What it should have been, in lower case.
        label: &'static str,
    },
    /// Something is there already, and a key is never replaced.
    #[error("`{}` is there already and stays as it is; name another file", file.display())]
    Taken {
        /// The file.
        file: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("`{}`: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The system has no random numbers to give.
    #[error("no random numbers for a new key: {0}")]
    Random(getrandom::Error),
}

impl PrivateKey {
    /// A new key.
    pub fn generate() -> Result<Self, PairError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(PairError::Random)?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    /// Reads PKCS#8 in PEM.
    pub fn from_pem(text: &str) -> Result<Self, PairError> {
        let seed = bytes_of(text, PRIVATE_LABEL, &PRIVATE_PREFIX);
        let seed = seed.ok_or(PairError::NoKey { label: "private key" })?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    /// PKCS#8 in PEM.
    pub fn to_pem(&self) -> String {
        pem(PRIVATE_LABEL, &[&PRIVATE_PREFIX[..], self.0.as_bytes()].concat())
    }

    /// The other half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Writes both halves: the private one to `file` with mode 0600, the public one beside it with
    /// `.pub` appended. Neither may be there yet.
    pub fn write(&self, file: &Path) -> Result<PathBuf, PairError> {
        let mut public = file.as_os_str().to_owned();
        public.push(".pub");
        let public = PathBuf::from(public);
        let folder = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let failed = |file: &Path| {
            let file = file.to_owned();
            |source: io::Error| match source.kind() {
                io::ErrorKind::AlreadyExists => PairError::Taken { file },
                _ => PairError::Io { file, source },
            }
        };
        // The public one first: without its private half it does no harm.
        write_new(folder, &public, self.public().to_pem().as_bytes()).map_err(failed(&public))?;
        let written = write_new(folder, file, self.to_pem().as_bytes());
        if let Err(source) = written {
            fs::remove_file(&public).map_err(failed(&public))?;
            return Err(failed(file)(source));
        }
        let everybody = Permissions::from_mode(0o644);
        fs::set_permissions(&public, everybody).map_err(failed(&public))?;
        Ok(public)
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl PublicKey {
    /// Reads the PEM of a public key.
    pub fn from_pem(text: &str) -> Result<Self, PairError> {
        let no_key = || PairError::NoKey { label: "public key" };
        let bytes = bytes_of(text, PUBLIC_LABEL, &PUBLIC_PREFIX).ok_or_else(no_key)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| no_key())?;
        // For a weak key anybody can make signatures.
        if key.is_weak() { Err(no_key()) } else { Ok(Self(key)) }
    }

    /// The PEM of the key.
    pub fn to_pem(&self) -> String {
        pem(PUBLIC_LABEL, &self.der())
    }

    /// The name of the key: the SHA-256 of its DER form, as hexadecimal.
    pub fn id(&self) -> String {
        Digest::of(&self.der()).to_string()
    }

    fn der(&self) -> Vec<u8> {
        [&PUBLIC_PREFIX[..], self.0.as_bytes()].concat()
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let signature = Signature::from_slice(signature);
        signature.is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

/// Shows nothing of the key.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(..)")
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id())
    }
}

/// PEM with one line: these keys fit.
fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

/// The key in a PEM text of this label, whose DER begins with `prefix`.
fn bytes_of(text: &str, label: &str, prefix: &[u8]) -> Option<[u8; 32]> {
    let (_, after) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (body, _) = after.split_once(&format!("-----END {label}-----"))?;
    let body: String = body.split_whitespace().collect();
    let der = STANDARD.decode(body).ok()?;
    der.strip_prefix(prefix)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8410, section 10.3.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";

    /// RFC 8410, section 10.1.
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PUBLIC KEY-----\n";

    #[test]
    fn the_keys_of_the_standard() {
        let private = PrivateKey::from_pem(PRIVATE).unwrap();
        assert_eq!(private.to_pem(), PRIVATE);
        assert_eq!(private.public().to_pem(), PUBLIC);
        let public = PublicKey::from_pem(&format!("a comment\r\n{}", PUBLIC.replace('\n', "\r\n")));
        assert_eq!(public.unwrap(), private.public());
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", PUBLIC, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            assert!(PrivateKey::from_pem(text).is_err(), "{text}");
        }
        let message = PublicKey::from_pem(PRIVATE).unwrap_err().to_string();
        assert_eq!(
            message,
            "it is no Ed25519 public key in PEM; `proctor eval keygen` makes a pair"
        );
        // A point of small order: every message has a signature.
        let weak = pem(PUBLIC_LABEL, &[&PUBLIC_PREFIX[..], &[1], &[0; 31]].concat());
        assert!(PublicKey::from_pem(&weak).is_err());
    }

    #[test]
    fn a_pair_signs_and_verifies() {
        let (one, two) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
        let signature = one.sign(b"m");
        assert!(one.public().verifies(b"m", &signature));
        assert!(!one.public().verifies(b"n", &signature));
        assert!(!two.public().verifies(b"m", &signature));
        assert!(!one.public().verifies(b"m", &signature[..63]));
        assert_eq!(one.public().id().len(), 64);
        assert_eq!(format!("{one:?}"), "PrivateKey(..)");
    }

    #[test]
    fn a_pair_is_written_once() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("keys/ci.pem");
        let key = PrivateKey::generate().unwrap();
        let public = key.write(&file).unwrap();
        assert_eq!(public, temp.path().join("keys/ci.pem.pub"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&public)), (0o600, 0o644));
        assert_eq!(
            PrivateKey::from_pem(&fs::read_to_string(&file).unwrap()).unwrap().public(),
            key.public()
        );
        assert_eq!(
            PublicKey::from_pem(&fs::read_to_string(&public).unwrap()).unwrap(),
            key.public()
        );
        let other = PrivateKey::generate().unwrap();
        assert!(other.write(&file).unwrap_err().to_string().contains("ci.pem.pub"));
        fs::remove_file(&public).unwrap();
        assert!(other.write(&file).is_err());
        assert!(!public.exists() && file.exists());
    }
}
