//! What of this machine an attack aims at: a folder with an experiment, and somebody who listens.

use std::io::{self, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::file::{Attack, Test};

/// What only a test may know.
const KEY: &str = "the answer is k4ttegat\n";
/// The files of the experiment.
pub(super) const EXPERIMENT: &str = "attack.yaml";
const SCRIPT: &str = "agent.yaml";
const KEY_FILE: &str = "key.txt";
/// How long the agent of an attack may take.
const SECONDS: u32 = 120;
/// How much of what was said is listened to, and for how long.
const MOST_HEARD: u64 = 1 << 10;
const PATIENCE: Duration = Duration::from_secs(1);

/// A folder with the experiment of an attack, and the listeners of this machine that it may call.
pub(super) struct Field {
    folder: TempDir,
    files: Vec<(&'static str, String)>,
    tcp: Vec<TcpListener>,
    udp: UdpSocket,
    local: UnixListener,
}

impl Field {
    pub(super) fn lay_out(attack: &Attack, temporary: &Utf8Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("proctor-attack-").tempdir_in(temporary)?;
        let tcp = TcpListener::bind(("127.0.0.1", 0))?;
        let port = tcp.local_addr()?.port();
        let udp =
            UdpSocket::bind(("127.0.0.1", port)).or_else(|_| UdpSocket::bind("127.0.0.1:0"))?;
        let name = format!("{}-{port}", folder.path().display());
        let local = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        local.set_nonblocking(true)?;
        let mut listeners = vec![tcp];
        // Not every machine has one.
        if let Ok(six) = TcpListener::bind(("::1", port)) {
            six.set_nonblocking(true)?;
            listeners.push(six);
        }
        let variables = [
            ("ATTACK_PLACE", folder.path().to_string_lossy().into_owned()),
            ("ATTACK_PORT", port.to_string()),
            ("ATTACK_SOCKET", name),
            ("ATTACK_PID", std::process::id().to_string()),
        ];
        let files = vec![
            (EXPERIMENT, experiment(attack, &variables).to_string()),
            (SCRIPT, agent(attack).to_string()),
            (KEY_FILE, KEY.to_owned()),
        ];
        let field = Self { folder, files, tcp: listeners, udp, local };
        for (name, text) in &field.files {
            fs_err::write(field.folder.path().join(name), text)?;
        }
        Ok(field)
    }

    /// The folder.
    pub(super) fn place(&self) -> io::Result<Utf8PathBuf> {
        let path = self.folder.path().to_owned();
        Utf8PathBuf::from_path_buf(path).map_err(|path| {
            io::Error::other(format!("the temporary folder {} is not UTF-8", path.display()))
        })
    }

    /// Whether nobody has changed the experiment.
    pub(super) fn is_untouched(&self) -> bool {
        self.files.iter().all(|(name, text)| {
            fs_err::read_to_string(self.folder.path().join(name)).is_ok_and(|now| now == *text)
        })
    }

    /// Everything that was said to this machine so far.
    pub(super) fn heard(&self) -> String {
        let mut heard = String::new();
        for listener in &self.tcp {
            while let Ok((stream, _)) = listener.accept() {
                let _ = stream.set_nonblocking(false);
                let _ = stream.set_read_timeout(Some(PATIENCE));
                listen(stream, &mut heard);
            }
        }
        while let Ok((stream, _)) = self.local.accept() {
            let _ = stream.set_nonblocking(false);
            let _ = stream.set_read_timeout(Some(PATIENCE));
            listen(stream, &mut heard);
        }
        let mut packet = [0; 64];
        while let Ok(length) = self.udp.recv(&mut packet) {
            heard.push_str(&String::from_utf8_lossy(packet.get(..length).unwrap_or_default()));
        }
        heard
    }
}

/// A connection that says nothing counts too.
fn listen(stream: impl Read, heard: &mut String) {
    let mut said = Vec::new();
    let _ = stream.take(MOST_HEARD).read_to_end(&mut said);
    heard.push_str(&String::from_utf8_lossy(&said));
    heard.push_str(" connected\n");
}

fn agent(attack: &Attack) -> Value {
    json!({"steps": [{"run": ["bash", "-c", attack.agent]}, {"say": "Done."}]})
}

fn experiment(attack: &Attack, variables: &[(&str, String)]) -> Value {
    let variables: Vec<Value> =
        variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let agent = if attack.is_acp {
        json!({"name": "forger", "acp": ["bash", "-c", attack.agent]})
    } else {
        json!("scripted")
    };
    json!({
        "schema_version": 2,
        "id": "attack",
        "name": attack.name,
        "agents": [agent],
        "prompts": [{"id": "p", "prompt": "Do it."}],
        "environment_variables": variables,
        "tests": attack.tests.iter().map(test).collect::<Vec<_>>(),
        "limits": {"max_time_seconds": SECONDS},
    })
}

fn test(test: &Test) -> Value {
    let mut value = json!({"name": test.name, "script": test.script});
    if let Some(dest) = &test.key {
        value["files"] = json!([{"name": "key", "source": KEY_FILE, "dest": dest}]);
    }
    if test.is_live {
        value["when"] = "live".into();
    }
    value
}
