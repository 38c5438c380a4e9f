//! Set-up and rekeying that fail, and with which cause.

use std::sync::atomic::{AtomicU8, Ordering};

use polypath_proto::protection::ProtectionFailure as Failure;

use super::*;
use crate::exchange::{Exchange, ExchangedKeys};

fn yearly() -> RekeyPolicy {
    let year = Duration::from_secs(365 * 86_400);
    RekeyPolicy { packets: u64::MAX, bytes: u64::MAX, age: year }
}

fn each_second() -> RekeyPolicy {
    RekeyPolicy { age: Duration::from_secs(1), ..yearly() }
}

fn failure(session: &mut Session) -> Option<Failure> {
    events(session).into_iter().find_map(|event| match event {
        ProtectionEvent::Failed(failure) => Some(failure),
        _ => None,
    })
}

#[test]
fn a_message_of_set_up_changed_in_any_byte_is_no_set_up() {
    let sizes = [248, 388, 210, 2];
    for (which, size) in sizes.into_iter().enumerate() {
        for at in 0..size {
            for bit in [0, 3, 7] {
                let mut ends = [Role::Client, Role::Server].map(|role| session(role, 1, yearly()));
                talk(Time::ZERO, &mut ends, |count, message| {
                    if count == which {
                        message[at] ^= 1 << bit;
                    }
                });
                let all = ends.each_mut().map(events);
                let both = all.iter().all(|of| of.contains(&ProtectionEvent::Established));
                assert!(!both, "{which} {at} {bit}");
                ends.iter_mut().for_each(|end| end.handle_timeout(Time::from_secs(20), RTO));
                let failed = all.iter().flatten().any(|e| matches!(e, ProtectionEvent::Failed(_)))
                    || ends.iter_mut().any(|end| failure(end).is_some());
                assert!(failed, "{which} {at} {bit}: {all:?}");
            }
        }
    }
}

#[test]
fn a_message_of_rekeying_changed_in_any_byte_leaves_the_old_keys() {
    for (which, size) in [248, 388, 210].into_iter().enumerate() {
        for at in 1..size {
            let mut ends = established(each_second());
            let now = Time::from_secs(1);
            ends[0].handle_timeout(now, RTO);
            talk(now, &mut ends, |count, message| {
                if count == which {
                    message[at] ^= 4;
                }
            });
            for end in &mut ends {
                assert_eq!(events(end), [], "{which} {at}");
                assert_eq!(end.stats().epoch, FIRST_EPOCH);
            }
            let [client, server] = &mut ends;
            let there = seal(client, now, b"there").unwrap();
            assert_eq!(open(server, now, &there), Ok(b"there".to_vec()));
            let back = seal(server, now, b"back").unwrap();
            assert_eq!(open(client, now, &back), Ok(b"back".to_vec()));
            // It is tried again, after 1 s or when it has taken 30 s, and works then.
            for _ in 0..3 {
                for end in [0, 1] {
                    let now = ends[end].next_timeout();
                    if now < Time::from_secs(60) {
                        ends[end].handle_timeout(now, RTO);
                        talk(now, &mut ends, |_, _| {});
                    }
                }
            }
            assert_eq!(ends.each_ref().map(|end| end.stats().epoch), [4, 4], "{which} {at}");
        }
    }
}

#[test]
fn messages_without_sense_end_set_up() {
    let long = [&[3], &[23, 3, 3, 0x40, 0][..], &[1; 0x4000]].concat();
    for (bad, at_client) in [
        (&[][..], true),
        (&[], false),
        (&[3], true),
        (&[3, 22, 3, 3, 0, 9], true),
        (&[3, 22, 3, 3, 0, 1, 1], false),
        (&[0x83, 1], true),
        (&[0x83, 1], false),
        (&[0x83, 2], true),
        (&[0x84, 1], true),
        (&[60, 22, 3, 3, 0, 1, 1], false),
        (&long, true),
    ] {
        let role = if at_client { Role::Client } else { Role::Server };
        let mut end = session(role, 1, yearly());
        end.handle_message(Time::ZERO, RTO, bad, false);
        assert!(matches!(failure(&mut end), Some(Failure::Exchange(_))), "{bad:?}");
        assert_eq!(end.next_timeout(), Time::MAX);
        // It is told once, and nothing brings it back.
        end.handle_message(Time::ZERO, RTO, bad, false);
        end.handle_timeout(Time::from_secs(99), RTO);
        assert!(events(&mut end).is_empty());
    }
    // Copies of messages that came before the first epoch cannot be, but do no harm.
    let mut end = session(Role::Server, 1, yearly());
    end.handle_message(Time::ZERO, RTO, &[2, 22, 3, 3, 0, 1, 1], false);
    assert!(events(&mut end).is_empty());
}

#[test]
fn set_up_takes_twenty_seconds_at_most() {
    for role in [Role::Client, Role::Server] {
        let mut end = session(role, 1, yearly());
        assert_eq!(end.next_timeout(), Time::from_secs(20));
        end.handle_timeout(Time::from_millis(19_999), RTO);
        assert!(events(&mut end).is_empty());
        end.handle_timeout(Time::from_secs(20), RTO);
        assert_eq!(failure(&mut end), Some(Failure::TimedOut));
    }
}

#[test]
fn rekeying_is_given_up_after_thirty_seconds_and_tried_again_ever_later() {
    let mut ends = established(each_second());
    let client = &mut ends[0];
    let mut now = Time::from_secs(1);
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 256] {
        assert_eq!(client.next_timeout(), now);
        client.handle_timeout(now, RTO);
        assert!(client.poll_message().is_some());
        now += Duration::from_secs(30);
        assert_eq!(client.next_timeout(), now);
        client.handle_timeout(now, RTO);
        assert!(client.poll_message().is_none() && events(client).is_empty());
        now += Duration::from_secs(wait);
    }
    // The hellos that were lost had no consequences.
    client.handle_timeout(now, RTO);
    talk(now, &mut ends, |_, _| {});
    assert_eq!(ends.each_ref().map(|end| end.stats().epoch), [4, 4]);
}

#[test]
fn a_peer_that_begins_anew_is_followed() {
    let mut ends = established(each_second());
    let mut now = Time::from_secs(1);
    ends[0].handle_timeout(now, RTO);
    let hello = ends[0].poll_message().unwrap();
    // The server's flight is lost for good, the client begins anew before the server gives up.
    ends[1].handle_message(Time::from_secs(20), RTO, &hello, true);
    assert!(ends[1].poll_message().is_some());
    now += Duration::from_secs(30);
    ends[0].handle_timeout(now, RTO);
    now += Duration::from_secs(1);
    ends[0].handle_timeout(now, RTO);
    talk(now, &mut ends, |_, _| {});
    assert_eq!(ends.each_ref().map(|end| end.stats().epoch), [4, 4]);
}

#[test]
fn a_peer_that_begins_exchanges_without_end_is_not_served() {
    let mut ends = established(yearly());
    let mut hellos = 0;
    for n in 0..1000 {
        let now = Time::from_millis(n);
        // A message that begins as a ClientHello does, and is none.
        let hello = [4, 22, 3, 1, 0, 2, 1, n as u8];
        ends[1].handle_message(now, RTO, &hello, true);
        assert!(events(&mut ends[1]).is_empty());
        // Each is answered, by an alert alone.
        while let Some(message) = ends[1].poll_message() {
            assert!(message.len() <= 8, "{message:?}");
            hellos += 1;
        }
    }
    assert_eq!(hellos, 1000);
    assert!(!ends[1].allowance.take(Time::from_millis(999)), "used up");
    // Once it is quiet, keys are replaced as ever.
    let mut now = Time::from_secs(60);
    ends[1].handle_timeout(now, RTO);
    ends[0].keys.set_sealed(u64::MAX / 2);
    ends[0].begin(now, Role::Client);
    now += Duration::from_secs(1);
    ends[0].flush();
    talk(now, &mut ends, |_, _| {});
    assert_eq!(ends.each_ref().map(|end| end.stats().epoch), [4, 4]);
}

#[test]
fn keys_that_are_used_up_end_the_association() {
    let [mut client, mut server] = established(yearly());
    client.keys.set_sealed(Suite::StandIn.max_sealed());
    assert_eq!(seal(&mut client, Time::ZERO, b"x"), None);
    assert_eq!(seal(&mut client, Time::ZERO, b"x"), None);
    assert_eq!(events(&mut client), [ProtectionEvent::Failed(Failure::Exhausted)]);
    let packet = seal(&mut server, Time::ZERO, b"x").unwrap();
    client.keys.set_failed(1 << 36);
    assert_eq!(open(&mut client, Time::ZERO, &packet), Err(OpenError::NoKey));
    assert!(events(&mut client).is_empty());
}

#[test]
fn half_of_the_failures_that_a_key_bears_replace_it() {
    let mut ends = established(yearly());
    ends[1].keys.set_failed(1 << 35);
    let mut packet = seal(&mut ends[0], Time::ZERO, b"x").unwrap();
    assert!(ends[1].next_timeout() > Time::from_secs(1000));
    packet[10] ^= 1;
    let now = Time::from_secs(1000);
    assert_eq!(open(&mut ends[1], now, &packet), Err(OpenError::Forged));
    assert_eq!(ends[1].next_timeout(), now);
    ends[1].handle_timeout(now, RTO);
    talk(now, &mut ends, |_, _| {});
    assert_eq!(ends.each_ref().map(|end| end.stats().epoch), [4, 4]);
    ends[1].keys.set_failed((1 << 36) - 1);
    let mut packet = seal(&mut ends[0], now, b"x").unwrap();
    packet[10] ^= 1;
    assert!(open(&mut ends[1], now, &packet).is_err());
    assert_eq!(failure(&mut ends[1]), Some(Failure::Exhausted));
}

/// Exchanges with a peer that has a name, the same or another one each time.
#[derive(Debug)]
struct Named {
    exchanges: StandInExchanges,
    name: AtomicU8,
}

#[derive(Debug)]
struct NamedExchange(Box<dyn Exchange>, [u8; 1]);

impl Exchange for NamedExchange {
    fn handle(&mut self, records: &[u8]) -> Result<(), Failure> {
        self.0.handle(records)
    }

    fn poll(&mut self) -> Option<Vec<u8>> {
        self.0.poll()
    }

    fn keys(&mut self) -> Option<ExchangedKeys> {
        self.0.keys()
    }

    fn peer(&self) -> Option<&[u8]> {
        Some(&self.1)
    }
}

impl Exchanges for Named {
    fn client(&self, context: &[u8], known: Option<&[u8]>) -> Box<dyn Exchange> {
        let name = [self.name.load(Ordering::Relaxed)];
        Box::new(NamedExchange(self.exchanges.client(context, known), name))
    }

    fn server(&self, context: &[u8], known: Option<&[u8]>) -> Box<dyn Exchange> {
        let name = [self.name.load(Ordering::Relaxed)];
        Box::new(NamedExchange(self.exchanges.server(context, known), name))
    }
}

#[test]
fn somebody_else_cannot_replace_keys() {
    for end in [0, 1] {
        let named = [1, 2].map(|seed| {
            let exchanges = StandInExchanges::new(Suite::StandIn, &[seed]);
            Arc::new(Named { exchanges, name: AtomicU8::new(seed) })
        });
        let mut ends = [Role::Client, Role::Server].map(|role| {
            let exchanges = Arc::clone(&named[usize::from(role == Role::Server)]);
            Session::new(Time::ZERO, &agreed(role, 1), exchanges, each_second())
        });
        talk(Time::ZERO, &mut ends, |_, _| {});
        assert_eq!(ends.each_ref().map(|end| end.peer().unwrap().to_vec()), [[1], [2]]);
        named[end].name.store(9, Ordering::Relaxed);
        let now = Time::from_secs(1);
        ends[0].handle_timeout(now, RTO);
        talk(now, &mut ends, |_, _| {});
        assert_eq!(failure(&mut ends[end]), Some(Failure::PeerChanged), "{end}");
        assert_eq!(ends[end].peer().unwrap(), [1 + end as u8]);
        // The ABORT that follows is protected.
        assert!(seal(&mut ends[end], now, b"abort").is_some());
    }
}

#[test]
fn a_peer_that_gave_up_after_we_had_keys_is_followed() {
    let mut ends = established(each_second());
    let now = Time::from_secs(1);
    ends[0].handle_timeout(now, RTO);
    let hello = ends[0].poll_message().unwrap();
    ends[1].handle_message(now, RTO, &hello, true);
    let flight = ends[1].poll_message().unwrap();
    // The client's last flight is long under way. The server gives up, waits, and begins itself.
    let now = Time::from_secs(31);
    ends[1].handle_timeout(now, RTO);
    ends[0].handle_message(now, RTO, &flight, true);
    assert!(ends[0].keys.has_old());
    let _finished = ends[0].poll_message().unwrap();
    let now = Time::from_secs(32);
    ends[1].handle_timeout(now, RTO);
    talk(now, &mut ends, |_, _| {});
    assert_eq!(ends.each_ref().map(|end| end.stats().epoch), [4, 4]);
    let back = seal(&mut ends[1], now, b"back").unwrap();
    assert_eq!(open(&mut ends[0], now, &back), Ok(b"back".to_vec()));
}

#[test]
fn alerts_have_no_answer() {
    let mut ends = established(each_second());
    let alert = [4, 21, 3, 3, 0, 2, 2, 50];
    ends[1].handle_message(Time::ZERO, RTO, &alert, true);
    assert_eq!(ends[1].poll_message(), None);
    ends[0].handle_timeout(Time::from_secs(1), RTO);
    assert!(ends[0].poll_message().is_some());
    ends[0].handle_message(Time::from_secs(1), RTO, &alert, true);
    assert_eq!(ends[0].poll_message(), None);
    assert!(events(&mut ends[0]).is_empty());
    assert_eq!(ends[0].next_timeout(), Time::from_secs(2));
}

/// An exchange that is content with all that comes, and never ends.
#[derive(Debug)]
struct Patient;

impl Exchange for Patient {
    fn handle(&mut self, _: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    fn poll(&mut self) -> Option<Vec<u8>> {
        None
    }

    fn keys(&mut self) -> Option<ExchangedKeys> {
        None
    }

    fn peer(&self) -> Option<&[u8]> {
        None
    }
}

impl Exchanges for Patient {
    fn client(&self, _: &[u8], _: Option<&[u8]>) -> Box<dyn Exchange> {
        Box::new(Self)
    }

    fn server(&self, _: &[u8], _: Option<&[u8]>) -> Box<dyn Exchange> {
        Box::new(Self)
    }
}

#[test]
fn an_exchange_has_64_kib_of_messages_at_most() {
    let record = [&[22, 3, 3, 0x0f, 0xfb][..], &[7; 0x0ffb]].concat();
    let message = [&[3][..], &record].concat();
    for role in [Role::Client, Role::Server] {
        let mut end = Session::new(Time::ZERO, &agreed(role, 1), Arc::new(Patient), yearly());
        for _ in 0..16 {
            end.handle_message(Time::ZERO, RTO, &message, false);
            assert!(events(&mut end).is_empty());
        }
        end.handle_message(Time::ZERO, RTO, &message, false);
        assert!(matches!(failure(&mut end), Some(Failure::Exchange(_))));
        // The peer hears of it.
        assert_eq!(end.poll_message().as_deref(), Some(&[3, 21, 3, 3, 0, 2, 2, 50][..]));
    }
}
