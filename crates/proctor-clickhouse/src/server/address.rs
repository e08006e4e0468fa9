//! Where a server is: `clickhouse://user@host:port/database`.

use std::fmt;

/// The address of a database on a server. The password is no part of it: addresses stand in
/// command lines, which everybody on the machine may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The user; `default` where none is named.
    pub user: String,
    /// The host, with the brackets of an IPv6 address.
    pub host: String,
    /// The port of the HTTP interface; 8123, or 8443 with TLS, where none is named.
    pub port: u16,
    /// The database; `default` where none is named.
    pub database: String,
    /// Whether to use TLS.
    pub is_secure: bool,
}

/// What is wrong with an address. No message holds a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It does not begin as one.
    #[error("expected clickhouse://user@host:port/database")]
    Scheme,
    /// It holds a password.
    #[error(
        "the password must not stand in the address, which others on this machine can read: set {} \
         instead",
        super::PASSWORD_VARIABLE
    )]
    Password,
    /// The host is missing or is none.
    #[error("the host is missing, or holds characters that no host has")]
    Host,
    /// The port is none.
    #[error("the port must be a number from 1 to 65535")]
    Port,
    /// The user is none.
    #[error("the user may hold letters, digits, `_`, `-` and `.`")]
    User,
    /// The database is none.
    #[error("the database may hold letters, digits and `_`")]
    Database,
    /// There is an option that is not known.
    #[error("the only option is `?secure`, which uses TLS")]
    Option,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    ///
    /// [`AddressError`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let rest = text.strip_prefix("clickhouse://").ok_or(AddressError::Scheme)?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let is_secure = match options {
            "" | "secure=0" | "secure=false" => false,
            "secure" | "secure=1" | "secure=true" => true,
            _ => return Err(AddressError::Option),
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(AddressError::Password),
            Some((user, host)) => (user, host),
            None => ("default", authority),
        };
        if user.is_empty() || !user.chars().all(|c| is_word(c) || matches!(c, '-' | '.')) {
            return Err(AddressError::User);
        }
        let (host, port) = split_port(host)?;
        let database = database.strip_suffix('/').unwrap_or(database);
        if !database.chars().all(is_word) {
            return Err(AddressError::Database);
        }
        Ok(Self {
            user: user.to_owned(),
            host: host.to_owned(),
            port: port.unwrap_or(if is_secure { 8443 } else { 8123 }),
            database: if database.is_empty() { "default" } else { database }.to_owned(),
            is_secure,
        })
    }

    /// Whether the server is on this machine.
    pub fn is_local(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
    }

    /// The URL of the HTTP interface.
    pub(super) fn url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}:{}/", self.host, self.port)
    }
}

fn split_port(host: &str) -> Result<(&str, Option<u16>), AddressError> {
    let (host, port) = match host.strip_prefix('[').and_then(|rest| rest.find(']')) {
        // The bracket that was taken off and the one that was found.
        Some(end) => host.split_at(end + 2),
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(ip) => ip.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        }
    };
    if !is_host {
        return Err(AddressError::Host);
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok((host, None)),
        None => Err(AddressError::Host),
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => Ok((host, Some(port))),
            _ => Err(AddressError::Port),
        },
    }
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, host, port, database, is_secure } = self;
        let secure = if *is_secure { "?secure" } else { "" };
        write!(formatter, "clickhouse://{user}@{host}:{port}/{database}{secure}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Result<String, AddressError> {
        Address::parse(text).map(|address| address.to_string())
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        for (text, whole) in [
            ("clickhouse://h", "clickhouse://default@h:8123/default"),
            ("clickhouse://me@h.example:9000/px", "clickhouse://me@h.example:9000/px"),
            ("clickhouse://h/px?secure", "clickhouse://default@h:8443/px?secure"),
            ("clickhouse://[::1]:1/", "clickhouse://default@[::1]:1/default"),
            ("clickhouse://h:1/px?secure=false", "clickhouse://default@h:1/px"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(whole), "{text}");
            assert_eq!(shown(whole).as_deref(), Ok(whole), "{whole}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_no_password_is_shown() {
        for (text, error) in [
            ("http://h", AddressError::Scheme),
            ("clickhouse://me:secret@h/px", AddressError::Password),
            ("clickhouse://me:se@cret@h/px", AddressError::Password),
            ("clickhouse://", AddressError::Host),
            ("clickhouse://h x", AddressError::Host),
            ("clickhouse://[::1", AddressError::Host),
            ("clickhouse://[::1]x", AddressError::Host),
            ("clickhouse://h:0", AddressError::Port),
            ("clickhouse://h:x", AddressError::Port),
            ("clickhouse://@h", AddressError::User),
            ("clickhouse://h/a-b", AddressError::Database),
            ("clickhouse://h/a/b", AddressError::Database),
            ("clickhouse://h?compress", AddressError::Option),
        ] {
            assert_eq!(shown(text), Err(error), "{text}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn this_machine_is_told_apart() {
        let is_local = |text| Address::parse(text).unwrap().is_local();
        assert!(is_local("clickhouse://localhost") && is_local("clickhouse://127.0.0.2"));
        assert!(is_local("clickhouse://[::1]"));
        assert!(!is_local("clickhouse://localhost.example") && !is_local("clickhouse://10.0.0.1"));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "(clickhouse://)?[a-z0-9@:/?\\[\\].=é-]{0,24}") {
            if let Ok(address) = Address::parse(&text) {
                prop_assert_eq!(Address::parse(&address.to_string()), Ok(address));
            }
        }
    }
}
