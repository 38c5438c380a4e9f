//! Random worlds that found a fault, played again: what each of them was, and what is done about it
//! now. "The model" is what a run is judged by.
//! A change of the generator makes other worlds of them; then they are worlds like any others.

mod common;

use common::random_policies;
use polypath_testkit::interact::examine_seed;

#[test]
fn worlds_that_once_broke_a_promise_do_not() {
    let seeds = [
        // A link carries less than the base of path MTU discovery and drops the rest silently; the
        // path failed before that was found, and the association ended. Now: the base is tested to
        // the end, on a failed path, too.
        13_032_566,
        // T5-shutdown-guard ends an association whose peer still sends into a closed window, as RFC
        // 9260 section 9.2 wants it (the model knew it); the application was told "unreachable".
        // Now: it is told `ShutdownTimeout`.
        13_095_672,
        // Crossing handshakes, one with a bare INIT: a heartbeat from an address that the peer was
        // not told of drew an ABORT, which ended one side alone. Now: such an ABORT is not believed
        // while another path is alive and nothing was ever answered there.
        18_032_022,
        // Five INITs in a row are lost, and the other side's attempt times out first (RFC 9260
        // section 5.2.4). The model excuses it from four losses on.
        18_079_623,
        // Two interleaved messages fill a receive buffer of a kilobyte; the association ends. The
        // model allows it where `MessageTooLarge` was told.
        21_071_158,
        // A NAT hides that a bare INIT is the connected peer's: two associations with one peer, and
        // a SHUTDOWN that acknowledges what nobody sent. Now: the later attempt is given up
        // (`AlreadyConnected`).
        24_072_350,
        // A forged INIT ACK took NR-SACK out of the agreement: nothing was acknowledged, heartbeats
        // were, and a shutdown waited for ever. Now: T5-shutdown-guard runs from the beginning of a
        // shutdown, anew with each SACK.
        27_065_757,
        // Crossing handshakes, one with a bare INIT, and a stale cookie: the second attempt is
        // refused with cause 11 (RFC 9260 section 5.2.1). Now: the model allows it.
        30_033_358, 34_096_109,
        // A path becomes 4 % shorter than its smallest RTT: F-RTO undoes each timeout, one chunk an
        // RTO. Now: a timeout after one that was undone is not watched, unless a first transmission
        // was acknowledged in between.
        30_055_242,
        // Messages expire before they are sent because a clock jumps. It was the test's own fault.
        30_073_183,
        // A peer with a closed window is heard on other paths, so timeouts of the dead path did not
        // count, and the chunk that all waited for was sent there for hours. Now: after two such
        // timeouts a HEARTBEAT asks; without an answer they count.
        30_075_197,
        // The path of SACKs is dead and only repeated FORWARD-TSNs come. Now: their answer goes
        // where they came from, as with duplicates of DATA.
        34_054_391,
        // Window probes that were lost now and then added up to the end of the association. Now: an
        // answer forgives; only probes lost in a row count.
        42_102_463, 42_293_363,
        // SACKs went to a primary path that had failed (`sack.path = "primary"`). Now: they go
        // where the DATA came from (RFC 9260 section 8.2).
        62_035_437, 62_053_122,
        // Two timers at one instant: the second reported a path after `Closed`. Now: nothing is
        // reported after `Closed`.
        62_037_802, 62_049_119, 62_104_543,
    ];
    for seed in seeds {
        if let Some(failure) = examine_seed(seed, &random_policies) {
            panic!("{failure}");
        }
    }
}
