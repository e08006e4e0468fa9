//! One HTTP request, bounded in time and size, that can be called off at any moment.
//!
//! Each request has a connection of its own: on a kept one that the other side has closed
//! meanwhile a request may be lost, and a lost request is charged for. Redirects are not followed:
//! the key is for the host that the user named. The other side is believed when the system trusts
//! its certificate (`SSL_CERT_FILE` and `SSL_CERT_DIR` name others). A request through TLS goes through the proxy of the
//! environment, which sees the host's name and nothing else; one without TLS never goes through a
//! proxy.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy, Timeout};

use crate::pace::retry_after;
use crate::target::Secret;

/// The largest reply that is read; answers have a few KiB.
const MAX_REPLY: u64 = 4 * 1024 * 1024;

/// How long finding the host and reaching it may take, each: neither can be called off.
const CONNECT: Duration = Duration::from_secs(10);

/// How often a waiting request looks whether it is called off.
const LOOK: Duration = Duration::from_millis(20);

/// Names and values.
pub(crate) type Headers = Vec<(&'static str, Secret)>;

/// Where requests go, and what they always carry.
#[derive(Debug)]
pub(crate) struct Wire {
    url: String,
    headers: Headers,
    /// Whom to trust, where there is TLS.
    tls: Option<TlsConfig>,
    proxy: Option<Proxy>,
}

/// What came back, whatever its status.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// How long the provider asks to be left alone.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// Why nothing came back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The question never left.
    Unsent(String),
    /// It may have been answered.
    Broken(String),
    /// The reply is too large to be one.
    TooLarge,
    /// The time is over.
    TimedOut,
    /// It was called off.
    Interrupted,
}

impl Wire {
    /// For a URL that begins with `https`; `None` when this system trusts nobody.
    pub(crate) fn through_tls(url: String, headers: Headers) -> Option<Self> {
        // What cannot be read among them is left out: nobody is trusted for it.
        let trusted = rustls_native_certs::load_native_certs().certs;
        let tls = (!trusted.is_empty()).then(|| trusting(&trusted))?;
        Some(Self { url, headers, tls: Some(tls), proxy: Proxy::try_from_env() })
    }

    /// For a URL that begins with `http`.
    pub(crate) fn plain(url: String, headers: Headers) -> Self {
        Self { url, headers, tls: None, proxy: None }
    }

    /// Sends `body` and waits for the reply, for `time` at most.
    pub(crate) fn post(
        &self,
        body: String,
        time: Duration,
        cancel: &dyn Fn() -> bool,
    ) -> Result<Reply, Lost> {
        let agent = self.agent(time);
        let mut request = agent.post(&self.url).content_type("application/json");
        for (name, value) in &self.headers {
            request = request.header(*name, &value.0);
        }
        let (tell, told) = mpsc::channel();
        // Left alone when it is called off: shutting the agent down ends it.
        thread::spawn(move || {
            let reply = request.send(body).and_then(read);
            // Nobody listens any more to a request that was called off.
            let _ = tell.send(reply);
        });
        loop {
            match told.recv_timeout(LOOK) {
                Ok(reply) => return reply.map_err(|error| lost(&error)),
                Err(RecvTimeoutError::Timeout) if cancel() => {
                    agent.shutdown();
                    return Err(Lost::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Lost::Broken("the request ended in a bug".to_owned()));
                }
            }
        }
    }

    fn agent(&self, time: Duration) -> Agent {
        Agent::config_builder()
            .tls_config(self.tls.clone().unwrap_or_default())
            .https_only(self.tls.is_some())
            .proxy(self.proxy.clone())
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("proctor/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .timeout_global(Some(time))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .max_idle_connections(0)
            .build()
            .new_agent()
    }
}

fn trusting(certificates: &[CertificateDer<'static>]) -> TlsConfig {
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let certificates: Vec<_> =
        certificates.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&certificates))
        .unversioned_rustls_crypto_provider(provider)
        .build()
}

fn read(response: ureq::http::Response<ureq::Body>) -> Result<Reply, ureq::Error> {
    let status = response.status().as_u16();
    let asked = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let retry_after = asked.and_then(retry_after);
    let body = response.into_body().into_with_config().limit(MAX_REPLY).read_to_vec()?;
    Ok(Reply { status, retry_after, body })
}

fn lost(error: &ureq::Error) -> Lost {
    use ureq::Error;
    let why = error.to_string();
    match error {
        Error::BodyExceedsLimit(_) => Lost::TooLarge,
        Error::Timeout(Timeout::Resolve | Timeout::Connect)
        | Error::HostNotFound
        | Error::ConnectionFailed
        | Error::ConnectProxyFailed(_)
        | Error::Tls(_)
        | Error::Rustls(_) => Lost::Unsent(why),
        Error::Timeout(_) => Lost::TimedOut,
        Error::Io(io) if io.kind() == io::ErrorKind::ConnectionRefused => Lost::Unsent(why),
        Error::Io(io) if is_distrust(io) => Lost::Unsent(why),
        _ => Lost::Broken(why),
    }
}

/// Whether the other side is not who it should be.
fn is_distrust(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{ServerConfig, ServerConnection};

    use proctor_testkit::{FakeModel, Turn};

    use super::*;

    #[test]
    fn without_tls_there_is_no_proxy() {
        let wire = Wire::plain("http://127.0.0.1:1/".to_owned(), Vec::new());
        assert!(wire.proxy.is_none());
        assert!(wire.agent(CONNECT).config().proxy().is_none());
    }

    #[test]
    fn the_key_is_not_shown() {
        let headers = vec![("x-api-key", Secret("very-secret".to_owned()))];
        let wire = Wire::plain("http://127.0.0.1:1/".to_owned(), headers);
        assert!(!format!("{wire:?}").contains("very-secret"));
    }

    /// An authority that nobody else trusts, and a server on 127.0.0.1 that it vouches for until
    /// the year 2120.
    const AUTHORITY: &[u8] = include_bytes!("testdata/ca.der");
    const CERTIFICATE: &[u8] = include_bytes!("testdata/leaf.der");
    const PRIVATE_KEY: &[u8] = include_bytes!("testdata/leaf.key.der");

    /// Serves one connection through TLS; what it was sent, empty when there was no agreement.
    fn serve(listener: &TcpListener) -> Vec<u8> {
        let key = PrivatePkcs8KeyDer::from(PRIVATE_KEY).into();
        let settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
            .unwrap();
        let mut connection = ServerConnection::new(Arc::new(settings)).unwrap();
        let (mut socket, _) = listener.accept().unwrap();
        let mut stream = rustls::Stream::new(&mut connection, &mut socket);
        let mut request = Vec::new();
        while !request.ends_with(b"{}") {
            let mut some = [0; 1024];
            match stream.read(&mut some) {
                Ok(0) | Err(_) => return request,
                Ok(count) => request.extend_from_slice(&some[..count]),
            }
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
        request
    }

    /// What a client that trusts `certificates` gets from such a server, and what that one got.
    fn talk(certificates: &[&'static [u8]]) -> (Result<Reply, Lost>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/v1", listener.local_addr().unwrap());
        let server = thread::spawn(move || serve(&listener));
        let trusted: Vec<_> = certificates.iter().map(|one| CertificateDer::from(*one)).collect();
        let headers = vec![("x-api-key", Secret("very-secret".to_owned()))];
        let wire = Wire { url, headers, tls: Some(trusting(&trusted)), proxy: None };
        let reply = wire.post("{}".to_owned(), CONNECT, &|| false);
        (reply, String::from_utf8(server.join().unwrap()).unwrap())
    }

    #[test]
    fn who_is_vouched_for_gets_the_key_through_tls() {
        let (reply, request) = talk(&[AUTHORITY]);
        assert_eq!(reply, Ok(Reply { status: 200, retry_after: None, body: b"ok".to_vec() }));
        assert!(request.starts_with("POST /v1 HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("x-api-key: very-secret\r\n"), "{request}");
    }

    #[test]
    fn who_is_not_vouched_for_hears_nothing() {
        let (reply, request) = talk(&[]);
        assert!(matches!(reply, Err(Lost::Unsent(_))), "{reply:?}");
        assert_eq!(request, "");
    }

    #[test]
    fn who_cannot_speak_tls_hears_nothing() {
        let model = FakeModel::start(Turn::text("x"));
        let url = format!("https://127.0.0.1:{}/v1/messages", model.port());
        let headers = vec![("x-api-key", Secret("very-secret".to_owned()))];
        let wire = Wire { url, headers, tls: Some(trusting(&[])), proxy: None };
        let lost = wire.post("{}".to_owned(), CONNECT, &|| false).unwrap_err();
        assert!(!matches!(lost, Lost::TimedOut | Lost::Interrupted), "{lost:?}");
        assert!(model.model_requests().is_empty());
    }

    #[test]
    fn what_never_left_is_told_apart() {
        let refused = ureq::Error::Io(io::ErrorKind::ConnectionRefused.into());
        assert!(matches!(lost(&refused), Lost::Unsent(_)));
        assert!(matches!(lost(&ureq::Error::HostNotFound), Lost::Unsent(_)));
        let reset = ureq::Error::Io(io::ErrorKind::ConnectionReset.into());
        assert!(matches!(lost(&reset), Lost::Broken(_)));
        assert_eq!(lost(&ureq::Error::Timeout(Timeout::Global)), Lost::TimedOut);
        assert_eq!(lost(&ureq::Error::BodyExceedsLimit(1)), Lost::TooLarge);
    }
}
