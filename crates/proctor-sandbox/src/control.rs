//! The words that Proctor and a launcher exchange, one a packet.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, Shutdown, SockFlag, SockType, UnixCredentials,
    recvmsg, send, setsockopt, shutdown, socketpair, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike as _};
use nix::unistd::read;

use crate::tree::Survivor;

/// What Proctor tells a launcher. A closed socket means [`Order::Sweep`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ask every process of the tree to end.
    Terminate,
    /// Kill every process of the tree, say which, and go.
    Sweep,
}

/// What a launcher tells Proctor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// Nothing was started: the launcher's own preparations failed.
    NotPrepared {
        /// `errno(3)`.
        errno: i32,
    },
    /// Nothing was started: the program would not start.
    NotStarted {
        /// `errno(3)` of `execve(2)`.
        errno: i32,
    },
    /// Nothing was started: there is no such program in the sandbox.
    NotFound,
    /// Nothing was started: the folder to run in cannot be entered.
    NoFolder {
        /// `errno(3)`.
        errno: i32,
    },
    /// The program ended by itself.
    Exited(i32),
    /// A signal ended the program.
    Signaled(i32),
    /// A process that the sweep found alive.
    Survivor(Survivor),
    /// The sweep is over.
    Swept,
}

/// The longest packet: a survivor's name has at most 15 bytes, 45 once made valid UTF-8.
const PACKET: usize = 128;

impl Order {
    fn word(self) -> &'static str {
        match self {
            Self::Terminate => "terminate",
            Self::Sweep => "sweep",
        }
    }
}

impl Report {
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::NotPrepared { errno } => format!("not-prepared {errno}"),
            Self::NotStarted { errno } => format!("not-started {errno}"),
            Self::NotFound => "not-found".to_owned(),
            Self::NoFolder { errno } => format!("no-folder {errno}"),
            Self::Exited(code) => format!("exited {code}"),
            Self::Signaled(signal) => format!("signaled {signal}"),
            Self::Survivor(Survivor { pid, killed: true, name }) => format!("killed {pid} {name}"),
            Self::Survivor(Survivor { pid, killed: false, name }) => format!("left {pid} {name}"),
            Self::Swept => "swept".to_owned(),
        }
    }

    pub(crate) fn decode(packet: &str) -> Option<Self> {
        let (word, rest) = packet.split_once(' ').unwrap_or((packet, ""));
        let survivor = |killed| {
            let (pid, name) = rest.split_once(' ')?;
            Some(Self::Survivor(Survivor { pid: pid.parse().ok()?, killed, name: name.to_owned() }))
        };
        match word {
            "not-prepared" => Some(Self::NotPrepared { errno: rest.parse().ok()? }),
            "not-started" => Some(Self::NotStarted { errno: rest.parse().ok()? }),
            "not-found" => Some(Self::NotFound),
            "no-folder" => Some(Self::NoFolder { errno: rest.parse().ok()? }),
            "exited" => Some(Self::Exited(rest.parse().ok()?)),
            "signaled" => Some(Self::Signaled(rest.parse().ok()?)),
            "killed" => survivor(true),
            "left" => survivor(false),
            "swept" => Some(Self::Swept),
            _ => None,
        }
    }
}

/// One end of the control socket.
#[derive(Debug)]
pub(crate) struct Control(OwnedFd);

impl Control {
    /// Both ends; neither is inherited by a program that is started meanwhile.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (ours, theirs) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Self(ours), Self(theirs)))
    }

    pub(crate) fn from_fd(fd: OwnedFd) -> Self {
        Self(fd)
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.0
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Gives an order. A launcher that is gone is noticed when its reports end.
    pub(crate) fn order(&self, order: Order) {
        self.send(order.word());
    }

    /// Makes a report. When Proctor is gone there is nobody to tell.
    pub(crate) fn report(&self, report: &Report) {
        self.send(&report.encode());
    }

    /// Says something else than an order or a report.
    pub(crate) fn say(&self, words: &str) {
        self.send(words);
    }

    /// Hears something else than an order or a report; `None` when there is nothing more to come.
    pub(crate) fn hear(&self) -> Option<String> {
        let mut packet = [0; PACKET];
        self.receive(&mut packet).map(str::to_owned)
    }

    /// Makes what comes say from whom, and waiting for it end after a time.
    pub(crate) fn be_careful(&self, patience: Duration) -> nix::Result<()> {
        setsockopt(&self.0, sockopt::PassCred, &true)?;
        let patience = TimeVal::milliseconds(i64::try_from(patience.as_millis()).unwrap_or(60_000));
        setsockopt(&self.0, sockopt::ReceiveTimeout, &patience)
    }

    /// Hears something, and which process, by our numbers, has said it. Needs
    /// [`be_careful`](Self::be_careful).
    pub(crate) fn hear_whom(&self) -> Option<(String, i32)> {
        let mut packet = [0; PACKET];
        let mut from = nix::cmsg_space!(UnixCredentials);
        let (length, pid) = loop {
            let mut parts = [IoSliceMut::new(&mut packet)];
            let flags = MsgFlags::MSG_CMSG_CLOEXEC;
            match recvmsg::<()>(self.0.as_raw_fd(), &mut parts, Some(&mut from), flags) {
                Err(Errno::EINTR | Errno::ECONNRESET) => {}
                Err(_) => return None,
                Ok(message) if message.bytes == 0 => return None,
                Ok(message) => {
                    let pid = message.cmsgs().ok()?.find_map(|part| match part {
                        ControlMessageOwned::ScmCredentials(who) => Some(who.pid()),
                        _ => None,
                    });
                    break (message.bytes, pid?);
                }
            }
        };
        Some((std::str::from_utf8(packet.get(..length)?).ok()?.to_owned(), pid))
    }

    /// Closes the connection, whoever else still has this end.
    pub(crate) fn hang_up(&self) {
        let _ = shutdown(self.0.as_raw_fd(), Shutdown::Both);
    }

    fn send(&self, words: &str) {
        loop {
            match send(self.0.as_raw_fd(), words.as_bytes(), MsgFlags::MSG_NOSIGNAL) {
                Err(Errno::EINTR) => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// The next order; a closed socket is an order to sweep. Waits for it.
    pub(crate) fn next_order(&self) -> Order {
        let mut packet = [0; PACKET];
        match self.receive(&mut packet) {
            Some(word) if word == Order::Terminate.word() => Order::Terminate,
            _ => Order::Sweep,
        }
    }

    /// The next report; `None` when the launcher is gone or talks nonsense. Waits for it.
    pub(crate) fn next_report(&self) -> Option<Report> {
        let mut packet = [0; PACKET];
        Report::decode(self.receive(&mut packet)?)
    }

    fn receive<'p>(&self, packet: &'p mut [u8; PACKET]) -> Option<&'p str> {
        let length = loop {
            match read(&self.0, packet) {
                // A peer that went without reading our last packet resets the connection once;
                // its own last packets are still there.
                Err(Errno::EINTR | Errno::ECONNRESET) => {}
                Ok(0) | Err(_) => return None,
                Ok(length) => break length,
            }
        };
        std::str::from_utf8(packet.get(..length)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_closed_socket_orders_a_sweep_and_ends_the_reports() {
        let (ours, theirs) = Control::pair().unwrap();
        ours.order(Order::Terminate);
        drop(ours);
        assert_eq!(theirs.next_order(), Order::Terminate);
        assert_eq!(theirs.next_order(), Order::Sweep);

        let (ours, theirs) = Control::pair().unwrap();
        theirs.report(&Report::Swept);
        ours.order(Order::Sweep);
        drop(theirs);
        assert_eq!(ours.next_report(), Some(Report::Swept));
        assert_eq!(ours.next_report(), None);
        ours.order(Order::Sweep);
    }

    fn report() -> impl Strategy<Value = Report> {
        prop_oneof![
            any::<i32>().prop_map(|errno| Report::NotPrepared { errno }),
            any::<i32>().prop_map(|errno| Report::NotStarted { errno }),
            Just(Report::NotFound),
            any::<i32>().prop_map(|errno| Report::NoFolder { errno }),
            any::<i32>().prop_map(Report::Exited),
            any::<i32>().prop_map(Report::Signaled),
            (any::<i32>(), any::<bool>(), "\\PC{0,15}")
                .prop_map(|(pid, killed, name)| Report::Survivor(Survivor { pid, name, killed })),
            Just(Report::Swept),
        ]
    }

    proptest! {
        #[test]
        fn what_is_reported_is_what_arrives(report in report()) {
            let (ours, theirs) = Control::pair().unwrap();
            theirs.report(&report);
            prop_assert_eq!(ours.next_report(), Some(report));
        }

        #[test]
        fn no_packet_is_too_odd(packet in "\\PC{0,30}") {
            let _ = Report::decode(&packet);
        }
    }
}
