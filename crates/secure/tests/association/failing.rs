//! Keys that fail while the application has much to send.

use core::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::AssocConfig;
use polypath_proto::protection::{
    Agreed, KeyManagement, OpenError, Protection, ProtectionEvent, ProtectionFailure,
    ProtectionStats,
};
use polypath_proto::time::{Duration, Time};
use polypath_proto::{CloseReason, PathId};
use polypath_secure::StandIn;
use polypath_testkit::pair::{Pair, Way};
use polypath_wire::chunk::kind;

use crate::common::*;

/// The stand-in's keys, until so many packets were sealed: then they are used up, or it is known
/// that the peer is another.
#[derive(Clone, Debug)]
struct Failing {
    after: u64,
    failure: ProtectionFailure,
}

impl KeyManagement for Failing {
    fn methods(&self) -> &[u8] {
        &[254]
    }

    fn protect(&self, now: Time, agreed: &Agreed) -> Box<dyn Protection> {
        let keys = StandIn::default().protect(now, agreed);
        Box::new(FailingKeys { keys, fails: self.clone(), told: false })
    }
}

#[derive(Debug)]
struct FailingKeys {
    keys: Box<dyn Protection>,
    fails: Failing,
    told: bool,
}

impl FailingKeys {
    fn have_failed(&self) -> bool {
        self.keys.stats().sealed >= self.fails.after
    }
}

impl Protection for FailingKeys {
    fn association_is_up(&mut self, now: Time) {
        self.keys.association_is_up(now);
    }

    fn handle_message(&mut self, now: Time, rto: Duration, message: &[u8], protected: bool) {
        self.keys.handle_message(now, rto, message, protected);
    }

    fn poll_message(&mut self) -> Option<Bytes> {
        self.keys.poll_message()
    }

    fn poll_event(&mut self) -> Option<ProtectionEvent> {
        if self.have_failed() && !self.told {
            self.told = true;
            return Some(ProtectionEvent::Failed(self.fails.failure.clone()));
        }
        self.keys.poll_event()
    }

    fn next_timeout(&self) -> Time {
        // Another packet need not come for it to be noticed.
        if self.have_failed() && !self.told { Time::ZERO } else { self.keys.next_timeout() }
    }

    fn handle_timeout(&mut self, now: Time, rto: Duration) {
        self.keys.handle_timeout(now, rto);
    }

    fn seals(&self) -> bool {
        self.keys.seals()
    }

    fn is_enforced(&self) -> bool {
        self.keys.is_enforced()
    }

    fn seal(&mut self, now: Time, packet: &mut Vec<u8>, at: usize) -> bool {
        let used_up = self.have_failed() && self.fails.failure == ProtectionFailure::Exhausted;
        !used_up && self.keys.seal(now, packet, at)
    }

    fn open(
        &mut self,
        now: Time,
        path: Option<PathId>,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        self.keys.open(now, path, chunk)
    }

    fn open_own(&self, chunk: &[u8], out: &mut Vec<u8>) -> bool {
        self.keys.open_own(chunk, out)
    }

    fn forget_path(&mut self, path: PathId) {
        self.keys.forget_path(path);
    }

    fn peer(&self) -> Option<&[u8]> {
        self.keys.peer()
    }

    fn stats(&self) -> ProtectionStats {
        self.keys.stats()
    }
}

/// A transfer that never runs out of data, whose sender's keys fail after 200 packets.
fn transfer(failure: ProtectionFailure) -> Pair {
    let keys = Failing { after: 200, failure };
    let config = AssocConfig { protection: Some(Arc::new(keys)), ..AssocConfig::default() };
    let mut pair = Pair::connecting(config, protected());
    pair.run_for(SECOND);
    assert_protected(&pair);
    let (now, h) = (pair.now, pair.client.handle());
    pair.client.saturates = Some(5_000);
    pair.client.fill_send_buffer(now, h);
    pair.run_for(SECOND.saturating_mul(5));
    pair
}

fn sealed_by_client(pair: &Pair) -> usize {
    pair.sent(Way::ToServer, kind::DTLS)
}

#[test]
fn keys_that_are_used_up_end_a_transfer_at_once() {
    let pair = transfer(ProtectionFailure::Exhausted);
    let expected = CloseReason::Unprotected(Box::new(ProtectionFailure::Exhausted));
    assert_eq!(pair.client.closed(), Some(expected));
    assert_eq!(sealed_by_client(&pair), 200);
    no_plain_data(&pair);
}

#[test]
fn a_peer_that_is_another_than_before_gets_no_more_of_a_transfer() {
    let pair = transfer(ProtectionFailure::PeerChanged);
    let expected = CloseReason::Unprotected(Box::new(ProtectionFailure::PeerChanged));
    assert_eq!(pair.client.closed(), Some(expected));
    // What leaves until it is noticed, at the next packet of the peer, and the ABORT.
    assert!((200..=205).contains(&sealed_by_client(&pair)), "{}", sealed_by_client(&pair));
    assert!(matches!(pair.server.closed(), Some(CloseReason::PeerAbort { .. })), "and is told");
    no_plain_data(&pair);
}
