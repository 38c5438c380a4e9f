//! The addresses that a mirror has answered, and what it owes none of them.

use std::net::SocketAddr;

use super::words::{Cookie, SOCKETS};

/// Addresses of one mirror, at most.
pub(super) const ADDRESSES: usize = 64;
/// Answers to one address, at most.
const ANSWERS: u8 = 32;

/// Who has been answered.
#[derive(Debug, Default)]
pub(super) struct Proven(Vec<Seen>);

#[derive(Debug)]
struct Seen {
    at: SocketAddr,
    cookie: Cookie,
    answers: u8,
    /// From which sockets a packet was sent on request.
    pushed: [bool; SOCKETS],
}

impl Proven {
    /// The cookie for an answer to `at`, which is `fresh` where it is new; `None`: it gets none.
    pub(super) fn answer(&mut self, at: SocketAddr, fresh: Cookie) -> Option<Cookie> {
        let known = self.0.iter().position(|seen| seen.at == at);
        if known.is_none() && self.0.len() < ADDRESSES {
            self.0.push(Seen { at, cookie: fresh, answers: 0, pushed: [false; SOCKETS] });
        }
        let seen = match known {
            Some(number) => self.0.get_mut(number)?,
            None => self.0.last_mut().filter(|seen| seen.at == at)?,
        };
        seen.answers = seen.answers.checked_add(1).filter(|count| *count <= ANSWERS)?;
        Some(seen.cookie)
    }

    /// Where a packet from a socket may go: to the address of the cookie, once.
    pub(super) fn push(&mut self, socket: usize, cookie: Cookie) -> Option<SocketAddr> {
        let seen = self.0.iter_mut().find(|seen| seen.cookie == cookie)?;
        let pushed = seen.pushed.get_mut(socket)?;
        (!core::mem::replace(pushed, true)).then_some(seen.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        ([192, 0, 2, 1], port).into()
    }

    #[test]
    fn packets_go_to_those_who_have_had_an_answer_and_once() {
        let mut proven = Proven::default();
        assert_eq!(proven.push(0, [0; 16]), None);
        assert_eq!(proven.answer(at(1), [1; 16]), Some([1; 16]));
        assert_eq!(proven.answer(at(1), [2; 16]), Some([1; 16]), "one cookie for each address");
        assert_eq!(proven.push(0, [2; 16]), None);
        for socket in 0..SOCKETS {
            assert_eq!(proven.push(socket, [1; 16]), Some(at(1)));
            assert_eq!(proven.push(socket, [1; 16]), None);
        }
        assert_eq!(proven.push(SOCKETS, [1; 16]), None);
    }

    #[test]
    fn who_has_the_token_gets_no_end_of_answers() {
        let mut proven = Proven::default();
        let answered = (0..1000).filter(|_| proven.answer(at(1), [1; 16]).is_some()).count();
        assert_eq!(answered, usize::from(ANSWERS));
        let answered = (2..1000).filter(|n| proven.answer(at(*n), [9; 16]).is_some()).count();
        assert_eq!((answered, proven.0.len()), (ADDRESSES - 1, ADDRESSES));
    }
}
