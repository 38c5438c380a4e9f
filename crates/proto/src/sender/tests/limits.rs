//! How much may be in flight, whatever the windows say.

use super::*;

#[test]
fn tsns_in_flight_stay_within_what_a_sack_reports() {
    let config = AssocConfig { send_buffer: u64::MAX, ..AssocConfig::default() };
    let mut rig = Rig::with(1, Tsn(u32::MAX - 5), config);
    rig.send(&vec![0; crate::sender::sending_half::MAX_TSNS - 1]);
    assert!(rig.tx.has_tsn_room());
    rig.send(&[0]);
    assert!(!rig.tx.has_tsn_room());
    // Nor can there be as many messages, or fragments of one, as their numbers allow (RFC 8260 section 2.1).
    const { assert!(crate::sender::sending_half::MAX_TSNS <= 65_535) };
}
