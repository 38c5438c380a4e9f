//! Paced paths, on hosts that keep time to a millisecond or two and with SACKs that answer many
//! packets.

use polypath_policies::profile;
use polypath_proto::config::AssocConfig;
use polypath_proto::time::Duration;
use polypath_testkit::pair::Pair;

/// 256 KiB in 20 ms of round trip are 105 Mbit/s, or 18 packets in 2 ms.
const BUFFER: u32 = 256 << 10;

/// Profile `fast`, paced; a SACK for so many packets.
fn stack(sack_every: u32) -> AssocConfig {
    let mut fast = profile::fast_config().expect("built in").as_ref().clone();
    fast.sack.every = sack_every;
    AssocConfig { pacing: true, send_buffer: BUFFER.into(), receive_buffer: BUFFER, ..fast }
}

/// Bytes that arrive in a second, from half a second on, in messages of `size`.
fn carried(tick: Duration, sack_every: u32, size: usize) -> usize {
    let mut pair = Pair::connecting(stack(sack_every), stack(sack_every));
    pair.tick = tick;
    pair.run_for(Duration::from_millis(200));
    pair.client.saturates = Some(size);
    let (now, association) = (pair.now, pair.client.handle());
    pair.client.fill_send_buffer(now, association);
    pair.run_for(Duration::from_millis(500));
    let before = pair.server.received.len();
    pair.run_for(Duration::from_secs(1));
    size * (pair.server.received.len() - before)
}

#[test]
fn late_timers_do_not_slow_a_paced_path() {
    let exact = carried(Duration::ZERO, 2, 1444);
    assert!(exact > 10_000_000, "{exact}");
    for millis in [1, 2, 3] {
        let late = carried(Duration::from_millis(millis), 2, 1444);
        assert!(late * 10 >= exact * 9, "{late} bytes in steps of {millis} ms, {exact} in none");
    }
}

#[test]
fn sacks_for_as_many_packets_as_max_burst_do_not_hold_a_window() {
    // Each message is a full packet and one of some bytes: a SACK for four packets acknowledges two
    // packets' worth, and Max.Burst of four for those would let no window fill, nor grow.
    let few = carried(Duration::ZERO, 4, 1484);
    assert!(few > 8_000_000, "{few}");
}
