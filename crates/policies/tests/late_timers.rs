//! Where SACKs are thinned, data is paced, and hosts keep time to a millisecond or two.

use polypath_policies::profile;
use polypath_proto::config::AssocConfig;
use polypath_proto::time::Duration;
use polypath_testkit::pair::Pair;

/// 256 KiB in 20 ms of round trip are 105 Mbit/s, or 18 packets in 2 ms.
const BUFFER: u32 = 256 << 10;

/// Bytes that arrive in a second, from half a second on.
fn carried(tick: Duration) -> usize {
    let stack = || {
        let mut fast = profile::fast_config().expect("built in").as_ref().clone();
        (fast.sack.thinning, fast.congestion.abc_per_acked) = (true, true);
        AssocConfig { send_buffer: BUFFER.into(), receive_buffer: BUFFER, ..fast }
    };
    let mut pair = Pair::connecting(stack(), stack());
    pair.tick = tick;
    pair.run_for(Duration::from_millis(200));
    pair.client.saturates = Some(1444);
    let (now, association) = (pair.now, pair.client.handle());
    pair.client.fill_send_buffer(now, association);
    pair.run_for(Duration::from_millis(500));
    let before = pair.server.received.len();
    pair.run_for(Duration::from_secs(1));
    1444 * (pair.server.received.len() - before)
}

#[test]
fn late_timers_do_not_slow_a_paced_path() {
    let exact = carried(Duration::ZERO);
    assert!(exact > 10_000_000, "{exact}");
    for millis in [1, 2, 3] {
        let late = carried(Duration::from_millis(millis));
        assert!(late * 10 >= exact * 9, "{late} bytes in steps of {millis} ms, {exact} in none");
    }
}
