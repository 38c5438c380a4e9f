//! Key exchanges with what no honest end sends: never a panic, never keys, never without end.

mod pipe;

use pipe::{Ends, finish, pass, run};
use polypath_proto::protection::{MAX_KEY_MESSAGE, ProtectionFailure};
use polypath_secure::{BareExchange, Identity, Tls, Trust};
use proptest::prelude::*;

fn end() -> Tls {
    Tls::new(&Identity::generate().unwrap(), Trust::anyone())
}

/// An exchange up to its flight number `flight`, and that flight on its way.
fn flight(tls: &Tls, number: usize) -> (Ends, Vec<u8>) {
    let mut ends = Ends::new(tls, tls);
    for turn in 0..number {
        let (from, to) = direction(&mut ends, turn);
        pass(from, to).unwrap().unwrap();
    }
    let message = direction(&mut ends, number).0.poll().unwrap();
    (ends, message)
}

fn direction(ends: &mut Ends, flight: usize) -> (&mut BareExchange, &mut BareExchange) {
    if flight.is_multiple_of(2) {
        (&mut ends.client, &mut ends.server)
    } else {
        (&mut ends.server, &mut ends.client)
    }
}

const FLIGHTS: usize = 3;

#[test]
fn a_flight_that_is_cut_anywhere_is_an_error() {
    let tls = end();
    for number in 0..FLIGHTS {
        let whole = flight(&tls, number).1.len();
        for len in 0..whole {
            let (mut ends, message) = flight(&tls, number);
            // Where a record ends, what is there may be taken, and then waits for the rest.
            let (_, to) = direction(&mut ends, number);
            let taken = to.handle(&message[..len.min(message.len())]);
            assert!(taken.is_err() || ends_a_record(&message, len), "{number}: {len}");
            assert_eq!(to.keys(), None, "{number}: {len} of {whole}");
        }
    }
}

fn ends_a_record(message: &[u8], len: usize) -> bool {
    let mut at = 0;
    while at < len {
        at += 5 + usize::from(u16::from_be_bytes([message[at + 3], message[at + 4]]));
    }
    at == len && len > 0
}

#[test]
fn a_flight_with_any_byte_changed_gives_no_common_keys() {
    let tls = end();
    for number in 0..FLIGHTS {
        let whole = flight(&tls, number).1.len();
        for at in 0..whole {
            let (mut ends, mut message) = flight(&tls, number);
            let at = at.min(message.len() - 1);
            message[at] ^= 1 << (at % 8);
            let (_, to) = direction(&mut ends, number);
            let _ = to.handle(&message);
            run(&mut ends);
            let both = ends.client.keys().zip(ends.server.keys());
            // The version in a record's header, and the record that only middleboxes read, say
            // nothing. A length may also be taken for that of a message of which more comes.
            assert!(both.is_none() || is_idle(&message, at), "flight {number}, byte {at}");
        }
    }
}

fn is_idle(message: &[u8], byte: usize) -> bool {
    let mut at = 0;
    loop {
        let len = 5 + usize::from(u16::from_be_bytes([message[at + 3], message[at + 4]]));
        if byte < at + len {
            return matches!(byte - at, 1 | 2) || message[at] == 20;
        }
        at += len;
    }
}

#[test]
fn oversized_flights_are_refused() {
    let tls = end();
    // A handshake message that never ends, in records of the largest size.
    let mut record = vec![22, 3, 3, 0x40, 0];
    record.extend([1, 0xff, 0xff, 0xff]);
    record.resize(5 + 0x4000, 0);
    let (mut ends, _) = flight(&tls, 0);
    let error = (0..5).find_map(|_| ends.server.handle(&record).err());
    assert!(error.is_some());
    // Harmless records without end are at an end when no exchange needs so much.
    let (mut ends, _) = flight(&tls, 0);
    let change_cipher_spec = [20, 3, 3, 0, 1, 1];
    let error = (0..MAX_KEY_MESSAGE).find_map(|_| ends.server.handle(&change_cipher_spec).err());
    assert!(matches!(error, Some(ProtectionFailure::Exchange(_))), "{error:?}");
    let (mut ends, _) = flight(&tls, 0);
    let error = ends.server.handle(&vec![20; MAX_KEY_MESSAGE + 1]).unwrap_err();
    assert!(error.to_string().contains("more than is needed"), "{error}");
}

#[test]
fn an_alert_in_plain_is_told_in_words() {
    let tls = end();
    let (mut ends, _) = flight(&tls, 0);
    let error = ends.client.handle(&[21, 3, 3, 0, 2, 2, 42]).unwrap_err();
    assert_eq!(error, ProtectionFailure::Refused("bad certificate".into()));
    // It stays so.
    assert_eq!(ends.client.handle(&[22, 3, 3, 0, 0]), Err(error));
    assert_eq!(ends.client.keys(), None);
}

#[test]
fn a_failed_exchange_says_so_to_the_peer() {
    let tls = end();
    let (mut ends, mut message) = flight(&tls, 1);
    let last = message.len() - 1;
    message[last] ^= 1;
    assert!(ends.client.handle(&message).is_err());
    let alert = ends.client.poll().expect("an alert");
    let told = ends.server.handle(&alert).unwrap_err();
    assert!(matches!(told, ProtectionFailure::Refused(_)), "{told:?}");
}

#[test]
fn tls_1_2_is_not_spoken() {
    let tls = end();
    let (mut ends, mut hello) = flight(&tls, 0);
    // The extension supported_versions (43), with 1.3 alone in it.
    let at = hello.windows(7).position(|w| w == [0, 43, 0, 3, 2, 3, 4]).unwrap();
    hello[at + 6] = 3;
    assert!(ends.server.handle(&hello).is_err());
}

#[test]
fn a_replayed_flight_is_an_error() {
    let tls = end();
    for number in 0..FLIGHTS {
        let (mut ends, message) = flight(&tls, number);
        let (_, to) = direction(&mut ends, number);
        to.handle(&message).unwrap();
        assert!(to.handle(&message).is_err(), "flight {number}");
    }
    // One of another exchange, too.
    let (_, old) = flight(&tls, 2);
    let (mut ends, _) = flight(&tls, 2);
    assert!(ends.server.handle(&old).is_err());
}

#[test]
fn an_end_that_talks_to_itself_gets_nowhere() {
    let tls = end();
    let (mut ends, hello) = flight(&tls, 0);
    assert!(ends.client.handle(&hello).is_err());
    let (mut ends, last) = flight(&tls, 2);
    assert!(ends.client.handle(&last).is_err());
    let mut honest = Ends::new(&tls, &tls);
    assert_eq!(run(&mut honest), [None, None]);
    finish(&mut honest);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_panic(number in 0..FLIGHTS, records: Vec<u8>, kind in 20_u8..25) {
        let tls = end();
        let (mut ends, _) = flight(&tls, number);
        let (_, to) = direction(&mut ends, number);
        let mut framed = vec![kind, 3, 3];
        framed.extend((records.len() as u16).to_be_bytes());
        framed.extend(&records);
        let _ = to.handle(&framed);
        let _ = to.handle(&records);
        let _ = to.poll();
        prop_assert_eq!(to.keys(), None);
    }
}
