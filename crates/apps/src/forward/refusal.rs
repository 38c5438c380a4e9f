//! Why a connection is not made: what the asker is told, in one byte.

use std::io;

use nix::errno::Errno;

/// Why a connection is not made. It says no more than that: the asker may be anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Refusal {
    /// The other end does not allow it, whether the target exists or not.
    #[error("not permitted")]
    NotPermitted = 1,
    /// No usable address has this name.
    #[error("no such name")]
    NoSuchName = 2,
    /// Nobody listens there.
    #[error("connection refused")]
    Refused = 3,
    /// No answer came in time.
    #[error("timed out")]
    TimedOut = 4,
    /// There is no way there.
    #[error("network or host unreachable")]
    Unreachable = 5,
    /// There are as many as may be.
    #[error("too many connections")]
    TooMany = 6,
    /// Anything else.
    #[error("failed")]
    Failed = 7,
}

impl Refusal {
    const ALL: [Self; 7] = [
        Self::NotPermitted,
        Self::NoSuchName,
        Self::Refused,
        Self::TimedOut,
        Self::Unreachable,
        Self::TooMany,
        Self::Failed,
    ];

    /// As it goes over the network, 1 to 7.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What came over the network; codes of later versions are [`Failed`](Self::Failed).
    pub fn from_code(code: u8) -> Self {
        Self::ALL.into_iter().find(|refusal| refusal.code() == code).unwrap_or(Self::Failed)
    }

    /// What connecting by TCP came to.
    pub fn of_tcp(error: &io::Error) -> Self {
        match errno(error) {
            Some(Errno::ECONNREFUSED) => return Self::Refused,
            Some(Errno::ETIMEDOUT) => return Self::TimedOut,
            // Filters of this host say EACCES or EPERM; without IPv6 it is one of the last two.
            Some(
                Errno::EHOSTUNREACH
                | Errno::ENETUNREACH
                | Errno::ENETDOWN
                | Errno::EHOSTDOWN
                | Errno::EACCES
                | Errno::EPERM
                | Errno::EADDRNOTAVAIL
                | Errno::EAFNOSUPPORT,
            ) => return Self::Unreachable,
            Some(Errno::EMFILE | Errno::ENFILE) => return Self::TooMany,
            _ => {}
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Self::Unreachable,
            _ => Self::Failed,
        }
    }

    /// What connecting to a Unix socket came to. It was permitted by its exact path: that nothing
    /// listens there, be it that there is no such file, no socket, or none for this process, is
    /// what TCP calls refused.
    pub fn of_unix(error: &io::Error) -> Self {
        match errno(error) {
            Some(
                Errno::ENOENT
                | Errno::ENOTDIR
                | Errno::ENOTSOCK
                | Errno::EPROTOTYPE
                | Errno::EACCES
                | Errno::EPERM,
            ) => Self::Refused,
            // unix(7): as many wait for accept(2) as may.
            Some(Errno::EAGAIN) => Self::TooMany,
            _ => Self::of_tcp(error),
        }
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    error.raw_os_error().map(Errno::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back() {
        for (refusal, code) in Refusal::ALL.into_iter().zip(1..) {
            assert_eq!((refusal.code(), Refusal::from_code(code)), (code, refusal));
            assert!(!refusal.to_string().is_empty());
        }
        for unknown in [0, 8, 255] {
            assert_eq!(Refusal::from_code(unknown), Refusal::Failed);
        }
    }

    #[test]
    fn errors_are_told_apart() {
        for (errno, tcp, unix) in [
            (Errno::ECONNREFUSED, Refusal::Refused, Refusal::Refused),
            (Errno::ETIMEDOUT, Refusal::TimedOut, Refusal::TimedOut),
            (Errno::EHOSTUNREACH, Refusal::Unreachable, Refusal::Unreachable),
            (Errno::ENETUNREACH, Refusal::Unreachable, Refusal::Unreachable),
            (Errno::EACCES, Refusal::Unreachable, Refusal::Refused),
            (Errno::EPERM, Refusal::Unreachable, Refusal::Refused),
            (Errno::EAFNOSUPPORT, Refusal::Unreachable, Refusal::Unreachable),
            (Errno::EMFILE, Refusal::TooMany, Refusal::TooMany),
            (Errno::EAGAIN, Refusal::Failed, Refusal::TooMany),
            (Errno::ENOENT, Refusal::Failed, Refusal::Refused),
            (Errno::ENOTSOCK, Refusal::Failed, Refusal::Refused),
            (Errno::EINVAL, Refusal::Failed, Refusal::Failed),
        ] {
            let error = io::Error::from(errno);
            assert_eq!((Refusal::of_tcp(&error), Refusal::of_unix(&error)), (tcp, unix), "{errno}");
        }
        let without_errno = io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(Refusal::of_tcp(&without_errno), Refusal::Refused);
    }
}
