//! What an association with dynamic addresses must remember.

use core::net::IpAddr;
use std::collections::VecDeque;

use super::local_address::{LocalAddress, Standing};
use super::request::{Outstanding, REQUEST, Request, Wanted};
use crate::ids::{PathId, Tsn};
use crate::time::Time;

/// What an association with dynamic addresses must remember.
#[derive(Debug)]
pub(crate) struct Asconf {
    /// Our addresses.
    pub(crate) locals: Vec<LocalAddress>,
    /// What the peer is to be told.
    pub(crate) queue: VecDeque<Request>,
    /// The ASCONF that waits for its answer: one at a time (section 5.1.1, C1).
    pub(crate) outstanding: Option<Outstanding>,
    /// Serial number of our next ASCONF.
    pub(crate) next_serial: u32,
    /// The number of our next request.
    pub(crate) next_correlation: u32,
    /// T4: `Time::MAX` while no ASCONF is outstanding.
    pub(crate) t4: Time,
    /// The peer knows no ASCONF after all, or no such requests.
    pub(crate) refused: bool,
    pub(crate) primary_refused: bool,
    /// Our last address is to go as soon as there is another.
    pub(crate) orphan: Option<IpAddr>,
    /// A HEARTBEAT was answered on a path that may not speak yet: the answer waits.
    pub(crate) held_answer: Option<(PathId, Vec<u8>)>,
    /// Serial number of the peer's latest ASCONF.
    pub(crate) peer_serial: u32,
    /// Answers that the peer may ask for again.
    pub(crate) answers: VecDeque<(u32, Vec<u8>)>,
    /// The address that the peer asked us to make primary, while no path there is confirmed.
    pub(crate) wanted_primary: Option<IpAddr>,
}

impl Asconf {
    /// Serial numbers begin at the initial TSNs (section 5.1, A2).
    pub(crate) fn new(ours: Tsn, peers: Tsn, locals: Vec<LocalAddress>) -> Self {
        Self {
            locals,
            queue: VecDeque::new(),
            outstanding: None,
            next_serial: ours.0,
            next_correlation: 1,
            t4: Time::MAX,
            refused: false,
            primary_refused: false,
            orphan: None,
            held_answer: None,
            peer_serial: peers.0.wrapping_sub(1),
            answers: VecDeque::new(),
            wanted_primary: None,
        }
    }

    pub(crate) fn local(&mut self, ip: IpAddr) -> Option<&mut LocalAddress> {
        self.locals.iter_mut().find(|l| l.ip == ip)
    }

    pub(crate) fn standing(&self, ip: IpAddr) -> Option<Standing> {
        self.locals.iter().find(|l| l.ip == ip).map(|l| l.standing)
    }

    pub(crate) fn is_valid(&self, ip: IpAddr) -> bool {
        self.standing(ip) == Some(Standing::Valid)
    }

    /// Takes a request back that was not sent yet.
    pub(crate) fn take_queued(&mut self, ip: IpAddr, wanted: Wanted) -> bool {
        let before = self.queue.len();
        self.queue.retain(|r| r.ip != ip || r.wanted != wanted);
        self.queue.len() != before
    }

    /// The requests of the next chunk: additions first, deletions last, so that there is an address at any time (section 5.3,
    /// F5) and the preferred one exists when it is named (section 5.4). What is asked twice about one address goes one by one.
    pub(crate) fn next_requests(&mut self, room: usize) -> Vec<Request> {
        let mut taken: Vec<Request> = Vec::new();
        while let Some(next) = self.queue.front().copied() {
            let again = taken.iter().any(|r| r.ip == next.ip && r.wanted >= next.wanted);
            if again || taken.len() * REQUEST + REQUEST > room {
                break;
            }
            taken.push(next);
            self.queue.pop_front();
        }
        taken.sort_by_key(|r| r.wanted);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::{REQUEST, Wanted};
    use super::*;

    fn request(wanted: Wanted, last: u8, correlation: u32) -> Request {
        Request { wanted, ip: IpAddr::from([10, 0, 0, last]), correlation }
    }

    #[test]
    fn additions_come_first_and_what_contradicts_them_waits() {
        let mut asconf = Asconf::new(crate::ids::Tsn(0), crate::ids::Tsn(0), Vec::new());
        let asked = [
            request(Wanted::Delete, 1, 0),
            request(Wanted::Add, 2, 1),
            request(Wanted::Primary, 2, 2),
            request(Wanted::Add, 1, 3),
        ];
        asconf.queue.extend(asked);
        let [delete, add, primary, again] = asked;
        assert_eq!(asconf.next_requests(1000), [add, primary, delete]);
        assert_eq!(asconf.next_requests(1000), [again]);
        asconf.queue.extend(asked);
        assert_eq!(asconf.next_requests(2 * REQUEST).len(), 2);
    }
}
