//! One HTTP request to a server, bounded in time and size. Redirects are not followed: the password
//! is for the host that the user named. A request through TLS goes through the proxy of the
//! environment, one without TLS never goes through a proxy.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use proctor_model::experiment::SecretText;
use rustls::crypto::ring;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy, Timeout};

use super::{Address, ServerError};

/// How long finding the host and reaching it may take, each.
const CONNECT: Duration = Duration::from_secs(10);

/// Where requests go, and what they always carry.
#[derive(Debug)]
pub(super) struct Wire {
    url: String,
    user: String,
    password: Option<SecretText>,
    tls: Option<TlsConfig>,
    proxy: Option<Proxy>,
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'a> {
    /// Names and values that stand in the URL.
    pub(super) parameters: &'a [(&'a str, &'a str)],
    /// What is sent.
    pub(super) body: &'a [u8],
    /// How long it may take altogether.
    pub(super) time: Duration,
    /// The largest answer, in bytes.
    pub(super) at_most: u64,
}

impl Wire {
    pub(super) fn new(address: &Address, password: Option<SecretText>) -> Self {
        let tls = address.is_secure.then(trusting_the_system);
        let proxy = if address.is_secure { Proxy::try_from_env() } else { None };
        Self { url: address.url(), user: address.user.clone(), password, tls, proxy }
    }

    /// Sends a request and reads the whole answer.
    pub(super) fn send(&self, request: &Request<'_>) -> Result<Vec<u8>, ServerError> {
        let mut url = self.url.clone();
        for (at, (name, value)) in request.parameters.iter().enumerate() {
            url.push(if at == 0 { '?' } else { '&' });
            encode(name, &mut url);
            url.push('=');
            encode(value, &mut url);
        }
        let mut post = self.agent(request.time).post(&url).header("x-clickhouse-user", &self.user);
        if let Some(password) = &self.password {
            post = post.header("x-clickhouse-key", password.expose());
        }
        let response = post.send(request.body).map_err(|error| lost(&error))?;
        let status = response.status().as_u16();
        let code = response.headers().get("x-clickhouse-exception-code");
        let code = code.and_then(|code| code.to_str().ok()?.trim().parse().ok());
        let body = response.into_body().into_with_config().limit(request.at_most).read_to_vec();
        let body = body.map_err(|error| lost(&error))?;
        if status == 200 && code.is_none() {
            return Ok(body);
        }
        Err(refused(status, code, &String::from_utf8_lossy(&body)))
    }

    fn agent(&self, time: Duration) -> Agent {
        Agent::config_builder()
            .tls_config(self.tls.clone().unwrap_or_default())
            .https_only(self.tls.is_some())
            .proxy(self.proxy.clone())
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("proctor/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(time))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .max_idle_connections(0)
            .build()
            .new_agent()
    }
}

/// Whoever the system trusts is believed (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others).
fn trusting_the_system() -> TlsConfig {
    // What cannot be read among them is left out: nobody is trusted for it.
    let trusted = rustls_native_certs::load_native_certs().certs;
    let trusted: Vec<_> = trusted.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&trusted))
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .build()
}

fn encode(text: &str, url: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') {
            url.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
}

/// The most of a message that is passed on, in characters.
const MAX_SAID: usize = 4000;

/// What an answer means that is no success.
fn refused(status: u16, code: Option<u32>, said: &str) -> ServerError {
    let written = said.trim_start().strip_prefix("Code: ").map(|rest| {
        let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..end).and_then(|digits| digits.parse().ok())
    });
    let start = |text: &str, count| text.trim().chars().take(count).collect();
    if let Some(code) = code.or(written.flatten()) {
        return ServerError::Refused { code, message: start(said, MAX_SAID) };
    }
    ServerError::Status { status, said: start(said.trim().lines().next().unwrap_or_default(), 200) }
}

fn lost(error: &ureq::Error) -> ServerError {
    use ureq::Error;
    let why = error.to_string();
    match error {
        Error::BodyExceedsLimit(_) => ServerError::TooLarge,
        Error::Timeout(Timeout::Resolve | Timeout::Connect)
        | Error::HostNotFound
        | Error::ConnectionFailed
        | Error::ConnectProxyFailed(_)
        | Error::Tls(_)
        | Error::Rustls(_) => ServerError::Away(why),
        Error::Timeout(_) => ServerError::TimedOut,
        Error::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            ServerError::Away(why)
        }
        Error::Io(io) if is_distrust(io) => ServerError::Away(why),
        _ => ServerError::Broken(why),
    }
}

/// Whether the other side is not who it should be, so that nothing was sent.
fn is_distrust(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_not_shown() {
        let address = Address::parse("clickhouse://me@h/px").unwrap();
        let wire = Wire::new(&address, Some(SecretText::new("very-secret")));
        assert!(!format!("{wire:?}").contains("very-secret"));
        assert!(wire.proxy.is_none());
    }

    #[test]
    fn what_was_not_sent_is_told_from_what_broke() {
        use std::io;
        let distrust = rustls::CertificateError::UnknownIssuer;
        let distrust = io::Error::other(rustls::Error::InvalidCertificate(distrust));
        assert!(matches!(lost(&ureq::Error::Io(distrust)), ServerError::Away(_)));
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert!(matches!(lost(&ureq::Error::Io(refused)), ServerError::Away(_)));
        let broke = io::Error::from(io::ErrorKind::ConnectionReset);
        assert!(matches!(lost(&ureq::Error::Io(broke)), ServerError::Broken(_)));
        let torn = io::Error::other(rustls::Error::DecryptError);
        assert!(matches!(lost(&ureq::Error::Io(torn)), ServerError::Broken(_)));
    }

    #[test]
    fn everything_is_encoded() {
        let mut url = String::new();
        encode("a b&'é_", &mut url);
        assert_eq!(url, "a%20b%26%27%C3%A9_");
    }

    #[test]
    fn errors_of_clickhouse_are_told_from_others() {
        let refused_with = |status, code, said: &str| refused(status, code, said);
        let said = "Code: 60. DB::Exception: no";
        assert!(matches!(
            refused_with(404, None, said),
            ServerError::Refused { code: 60, message } if message == said
        ));
        assert!(matches!(
            refused_with(500, Some(202), "x"),
            ServerError::Refused { code: 202, .. }
        ));
        let error = refused_with(502, None, "<html>\n<title>Bad Gateway");
        assert_eq!(error.to_string(), "the server answered with status 502: <html>");
    }
}
