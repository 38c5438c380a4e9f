//! Key management messages (draft-porfiri-tsvwg-sctp-dtls-handshake, "TLS Message Transport").

use bytes::Bytes;

/// The first byte's bit that tells control messages.
const CONTROL: u8 = 0x80;

/// The control message "Protection Established".
const ESTABLISHED: u8 = 1;

/// Bytes of a TLS record's header.
const HEADER: usize = 5;

/// The most that a TLS record may hold (RFC 8446 section 5.2).
const MAX_RECORD: usize = (1 << 14) + 256;

/// Content types of TLS records: change_cipher_spec to application_data (RFC 8446 section 5.1).
const CONTENT_TYPES: core::ops::RangeInclusive<u8> = 20..=23;

/// The content type of alerts, and the whole record of a fatal one: decode_error.
const ALERT: u8 = 21;
const DECODE_ERROR: [u8; 7] = [ALERT, 3, 3, 0, 2, 2, 50];

/// The content type of what is said before there are keys, and what a ClientHello begins with.
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// A message of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Message<'a> {
    /// The lowest 7 bits of the epoch that it is about.
    pub(super) epoch: u8,
    pub(super) payload: Payload<'a>,
}

/// What a message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload<'a> {
    /// Whole TLS records.
    Records(&'a [u8]),
    /// The server has the keys and lets nothing through without.
    Established,
}

impl<'a> Message<'a> {
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, &'static str> {
        let (first, payload) = message.split_first().ok_or("an empty message")?;
        let payload = match (first & CONTROL != 0, payload) {
            (true, [ESTABLISHED]) => Payload::Established,
            (true, _) => return Err("an unknown control message"),
            (false, _) if are_whole(payload) => Payload::Records(payload),
            (false, _) => return Err("not whole TLS records"),
        };
        Ok(Self { epoch: first & !CONTROL, payload })
    }
}

/// Whether these are TLS records, one at least, with nothing behind them.
fn are_whole(mut records: &[u8]) -> bool {
    let mut some = false;
    while let Some((header, rest)) = records.split_first_chunk::<HEADER>() {
        let [kind, major, _, high, low] = *header;
        let len = usize::from(u16::from_be_bytes([high, low]));
        let fits = CONTENT_TYPES.contains(&kind) && major == 3 && (1..=MAX_RECORD).contains(&len);
        let Some(rest) = rest.get(len..).filter(|_| fits) else { return false };
        records = rest;
        some = true;
    }
    some && records.is_empty()
}

/// Whether these records begin with a ClientHello.
pub(super) fn is_client_hello(records: &[u8]) -> bool {
    matches!(records, [HANDSHAKE, _, _, _, _, CLIENT_HELLO, ..])
}

/// Whether these records begin with an alert that is not encrypted.
pub(super) fn is_alert(records: &[u8]) -> bool {
    records.first() == Some(&ALERT)
}

/// A message that ends an exchange of which the peer sent something that TLS never saw.
pub(super) fn decode_error(epoch: u64) -> Bytes {
    records(epoch, &DECODE_ERROR)
}

/// A message of TLS records.
pub(super) fn records(epoch: u64, records: &[u8]) -> Bytes {
    [&[epoch as u8 & !CONTROL], records].concat().into()
}

/// The message "Protection Established".
pub(super) fn established(epoch: u64) -> Bytes {
    vec![epoch as u8 | CONTROL, ESTABLISHED].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let two = [22, 3, 3, 0, 1, 9, 20, 3, 3, 0, 2, 1, 1];
        let message = records(131, &two);
        let read = Message { epoch: 3, payload: Payload::Records(&two) };
        assert_eq!(Message::parse(&message), Ok(read));
        let read = Message { epoch: 127, payload: Payload::Established };
        assert_eq!(Message::parse(&established(127)), Ok(read));
        assert_eq!(established(128)[..], [128, 1]);
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let hello = [3, 22, 3, 3, 0, 2, 1, 9];
        assert!(Message::parse(&hello).is_ok());
        for end in 0..hello.len() {
            assert!(Message::parse(&hello[..end]).is_err(), "{end}");
        }
        for bad in [
            &[3, 22, 3, 3, 0, 2, 1, 9, 0][..],
            &[3, 19, 3, 3, 0, 1, 1],
            &[3, 24, 3, 3, 0, 1, 1],
            &[3, 22, 2, 3, 0, 1, 1],
            &[3, 22, 3, 3, 0, 0],
            &[131],
            &[131, 2],
            &[131, 1, 0],
        ] {
            assert!(Message::parse(bad).is_err(), "{bad:?}");
        }
        let len = MAX_RECORD as u16 + 1;
        let [high, low] = len.to_be_bytes();
        let mut long = vec![3, 23, 3, 3, high, low];
        long.resize(6 + usize::from(len), 0);
        assert!(Message::parse(&long).is_err());
    }

    #[test]
    fn a_client_hello_is_told_from_others() {
        assert!(is_client_hello(&[22, 3, 1, 0, 1, 1]));
        assert!(!is_client_hello(&[22, 3, 3, 0, 1, 2]));
        assert!(!is_client_hello(&[23, 3, 3, 0, 1, 1]));
        assert!(!is_client_hello(&[22, 3, 3, 0, 1]));
    }
}
