//! The search against links of every size.

use super::*;
use crate::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A link that carries packets of `link` bytes; `tells`: its router says so.
struct World {
    search: MtuSearch,
    now: Time,
    link: u32,
    tells: bool,
    nonce: u64,
}

impl World {
    fn new(link: u32, max: u32, tells: bool) -> Self {
        let config = PathMtuDiscovery { max, ..PathMtuDiscovery::default() };
        let mut search = MtuSearch::new(config, 1500, true);
        search.start(Time::from_secs(1));
        Self { search, now: Time::from_secs(1), link, tells, nonce: 0 }
    }

    /// Serves timers until `end`, answering each probe that fits. Gives how many were sent.
    fn run(&mut self, span: Duration) -> u32 {
        let end = self.now + span;
        let mut probes = 0;
        while self.search.timer() <= end {
            self.now = self.now.max(self.search.timer());
            let step = self.search.expired(self.now);
            let Some(size) = step.probe else { continue };
            probes += 1;
            self.nonce += 1;
            self.search.sent(self.nonce, self.now, self.now + SECOND);
            if size <= self.link {
                assert!(self.search.answered(self.now, self.nonce));
            } else if self.tells {
                assert!(self.search.too_big(self.now, self.link));
            }
        }
        self.now = end;
        probes
    }
}

#[test]
fn finds_the_size_of_every_link_that_drops_in_silence() {
    for link in (1200..=9216).step_by(4) {
        let mut world = World::new(link, 9216, false);
        let probes = world.run(Duration::from_secs(60));
        let found = world.search.plpmtu();
        assert!(found <= link && link - found <= (link / 128).max(8), "{link}: found {found}");
        assert_eq!(world.search.stats().state, MtuState::Complete, "{link}");
        assert!(probes <= 40, "{link}: {probes} probes");
    }
    for usual in [1280, 1400, 1420, 1492, 1500, 9000] {
        let mut world = World::new(usual, 9216, false);
        world.run(Duration::from_secs(60));
        assert_eq!(world.search.plpmtu(), usual, "usual sizes are found exactly");
    }
}

#[test]
fn a_router_that_tells_saves_the_search() {
    for link in [1200, 1204, 1400, 1454, 1500, 4000, 65_532] {
        let mut world = World::new(link, 65_535, true);
        let probes = world.run(SECOND / 2);
        assert_eq!(world.search.plpmtu(), link & !3);
        assert!(probes <= 6, "{link}: {probes} probes");
    }
}

#[test]
fn a_larger_link_is_found_after_the_raise_timer_and_not_before() {
    let mut world = World::new(1400, 9000, false);
    world.run(Duration::from_secs(60));
    world.link = 9000;
    assert_eq!(world.run(Duration::from_secs(500)), 0, "RFC 8899 section 5.1.1: 600 s");
    world.run(Duration::from_secs(150));
    assert_eq!(world.search.plpmtu(), 9000);
    assert_eq!(world.run(Duration::from_secs(3600)), 0, "nothing larger to find");
}

#[test]
fn an_unchanged_link_costs_three_probes_per_raise_timer() {
    let mut world = World::new(1400, 9000, false);
    world.run(Duration::from_secs(60));
    let probes = world.run(Duration::from_secs(6060));
    assert!((27..=33).contains(&probes), "{probes} probes in 100 minutes");
    assert_eq!(world.search.plpmtu(), 1400);
}

#[test]
fn where_the_base_does_not_pass_the_search_waits_and_asks_again() {
    let mut world = World::new(600, 1500, false);
    world.run(Duration::from_secs(30));
    assert!(world.search.is_in_error());
    assert_eq!(world.search.plpmtu(), 576);
    world.link = 1500;
    world.run(Duration::from_secs(100));
    assert_eq!((world.search.plpmtu(), world.search.stats().state), (1500, MtuState::Complete));
}

#[test]
fn two_lost_probes_in_three_do_not_end_the_search() {
    let mut world = World::new(1500, 1500, false);
    for probe in 1..=9 {
        world.now = world.search.timer();
        assert!(world.search.expired(world.now).probe.is_some());
        world.search.sent(probe, world.now, world.now + SECOND);
        if probe % 3 == 0 {
            assert!(world.search.answered(world.now, probe));
        }
        if world.search.timer() > world.now + SECOND {
            break;
        }
    }
    assert_eq!((world.search.plpmtu(), world.search.stats().state), (1500, MtuState::Complete));
}

#[test]
fn data_loss_lowers_the_size_only_while_small_packets_arrive() {
    let settled = || {
        let mut world = World::new(1500, 1500, false);
        world.run(Duration::from_secs(10));
        assert_eq!(world.search.plpmtu(), 1500);
        world.link = 1300;
        assert!(world.search.doubt(world.now));
        assert!(!world.search.doubt(world.now), "one test at a time");
        world
    };
    let mut dead = settled();
    dead.link = 0;
    dead.run(Duration::from_secs(60));
    assert_eq!((dead.search.plpmtu(), dead.search.stats().black_holes), (1500, 0), "path down");
    let mut shrunk = settled();
    shrunk.search.heartbeat_answered();
    shrunk.run(Duration::from_secs(60));
    let found = shrunk.search.plpmtu();
    assert!((1288..=1300).contains(&found), "{found}");
    assert_eq!(shrunk.search.stats().black_holes, 1);
    let mut lossy = settled();
    lossy.link = 1500;
    lossy.search.heartbeat_answered();
    lossy.run(Duration::from_secs(60));
    assert_eq!((lossy.search.plpmtu(), lossy.search.stats().black_holes), (1500, 0));
}

#[test]
fn reports_are_taken_by_the_rules_of_rfc_8899_section_4_6_2() {
    let settled = || {
        let mut world = World::new(1400, 1500, false);
        world.run(Duration::from_secs(60));
        assert_eq!(world.search.plpmtu(), 1400);
        world
    };
    let mut world = settled();
    for nonsense in [0, 67, 1400, 1404, 9000, u32::MAX] {
        assert!(!world.search.too_big(world.now, nonsense), "{nonsense}");
        assert_eq!(world.search.plpmtu(), 1400, "{nonsense}");
    }
    // Below PLPMTU: back to the base at once, then to what was told.
    world.link = 1320;
    assert!(world.search.too_big(world.now, 1320));
    assert_eq!(world.search.plpmtu(), 1200);
    world.run(SECOND);
    assert_eq!(world.search.plpmtu(), 1320);
    // Below the base: ERROR.
    assert!(world.search.too_big(world.now, 800));
    assert!(world.search.is_in_error());
    assert_eq!(world.search.plpmtu(), 576, "what a router says is never used as it is");
    // Over IPv6 nothing below 1280 makes sense.
    let mut v6 = MtuSearch::new(PathMtuDiscovery::default(), 1500, false);
    v6.start(Time::ZERO);
    assert!(!v6.too_big(Time::ZERO, 1279));
    assert_eq!(v6.plpmtu(), 1280);
}

#[test]
fn what_the_system_refuses_is_never_tried_again() {
    let mut world = World::new(65_535, 65_535, false);
    let mut sizes = Vec::new();
    while world.search.timer() <= world.now + SECOND {
        world.now = world.now.max(world.search.timer());
        let Some(size) = world.search.expired(world.now).probe else { continue };
        sizes.push(size);
        world.nonce += 1;
        world.search.sent(world.nonce, world.now, world.now + SECOND);
        if size > 1500 {
            world.search.refused(world.now, size);
        } else {
            assert!(world.search.answered(world.now, world.nonce));
        }
    }
    assert_eq!(world.search.plpmtu(), 1500);
    assert!(sizes.len() <= 16, "{sizes:?}");
    let mut distinct = sizes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), sizes.len(), "{sizes:?}");
}

#[test]
fn probes_are_a_round_trip_apart_whatever_routers_say() {
    let mut world = World::new(1500, 9000, true);
    let trip = Duration::from_millis(100);
    let mut sent = Vec::new();
    while let Some(at) = Some(world.search.timer()).filter(|at| *at < Time::from_secs(60)) {
        let Some(size) = world.search.expired(at).probe else { continue };
        sent.push(at);
        world.nonce += 1;
        world.search.sent(world.nonce, at + trip, at + SECOND);
        if size > 1500 {
            // The first router on the way answers at once.
            assert!(world.search.too_big(at, 1500));
        } else {
            assert!(world.search.answered(at + trip, world.nonce));
        }
    }
    assert_eq!(world.search.plpmtu(), 1500);
    assert!(sent.windows(2).all(|two| two[1] - two[0] >= trip), "{sent:?}");
}

#[test]
fn an_interface_that_refuses_the_base_is_asked_again_later_and_not_at_once() {
    let mut world = World::new(1000, 9000, false);
    let mut probes = 0;
    while world.search.timer() <= world.now + SECOND {
        world.now = world.now.max(world.search.timer());
        let Some(size) = world.search.expired(world.now).probe else { continue };
        probes += 1;
        assert!(probes < 10, "probe after probe of {size} bytes");
        world.nonce += 1;
        world.search.sent(world.nonce, world.now, world.now + SECOND);
        world.search.refused(world.now, size);
    }
    assert!(world.search.is_in_error() && world.search.plpmtu() == 576);
    // Refused again, it stays so; and once the interface takes more, the search goes on.
    world.now = world.search.timer();
    let size = world.search.expired(world.now).probe.unwrap();
    world.search.sent(99, world.now, world.now + SECOND);
    world.search.refused(world.now, size);
    assert!(world.search.is_in_error() && world.search.timer() > world.now + SECOND);
    world.link = 1500;
    world.run(Duration::from_secs(1300));
    assert_eq!(world.search.plpmtu(), 1500);
}

/// Searched for a minute.
fn settled(link: u32, max: u32) -> World {
    let mut world = World::new(link, max, false);
    world.run(Duration::from_secs(60));
    assert_eq!(world.search.plpmtu(), link);
    world
}

#[test]
fn data_that_shows_a_hole_lowers_the_size_at_once_and_never_below_the_base() {
    let mut world = settled(1500, 1500);
    assert!(world.search.black_hole(world.now));
    assert_eq!((world.search.plpmtu(), world.search.stats().black_holes), (1200, 1));
    assert!(!world.search.black_hole(world.now), "the base is no hole");
    assert_eq!((world.search.plpmtu(), world.search.stats().black_holes), (1200, 1));
}

#[test]
fn a_path_that_failed_is_searched_from_the_base_on_once_it_is_back() {
    let mut world = settled(1500, 9000);
    assert!(world.search.path_failed());
    assert_eq!((world.search.stats().state, world.search.timer()), (MtuState::Disabled, Time::MAX));
    assert_eq!(world.run(Duration::from_secs(3600)), 0, "RFC 8899 section 5.2, DISABLED");
    world.search.start(world.now);
    assert_eq!((world.search.plpmtu(), world.search.stats().state), (1200, MtuState::Base));
    world.run(Duration::from_secs(60));
    assert_eq!(world.search.plpmtu(), 1500);
}

#[test]
fn whether_the_base_passes_is_found_out_before_the_search_rests() {
    let mut world = World::new(600, 1500, false);
    assert!(!world.search.path_failed(), "the path failed, perhaps because of that");
    world.run(Duration::from_secs(30));
    assert!(world.search.is_in_error());
    // It waits before it asks again; what comes does not hurry it.
    let due = world.search.timer();
    world.search.start(world.now);
    assert_eq!(world.search.timer(), due);
    assert!(world.search.path_failed());
    assert_eq!((world.search.is_in_error(), world.search.timer()), (true, Time::MAX));
    // Once the path is back, it asks at once.
    world.search.start(world.now);
    assert_eq!(world.search.timer(), world.now);
}

#[test]
fn stats_count_probes_and_answers() {
    let mut world = World::new(1500, 1500, false);
    let probes = u64::from(world.run(Duration::from_secs(60)));
    assert!(probes >= 2);
    let stats = world.search.stats();
    assert_eq!((stats.mtu, stats.probes_sent, stats.probes_acked), (1500, probes, probes));
}

#[test]
fn a_search_that_found_the_maximum_never_wakes_again() {
    assert_eq!(settled(1500, 1500).search.timer(), Time::MAX);
}

#[test]
fn a_size_that_proves_right_after_a_loss_leaves_the_search_where_it_was() {
    // Complete: nothing is asked before the raise timer.
    let mut world = settled(1400, 9000);
    assert!(world.search.doubt(world.now));
    assert_eq!(world.run(Duration::from_secs(500)), 1, "the test of the size itself");
    assert_eq!(world.search.stats().state, MtuState::Complete);
    // Under way: it goes on.
    let mut world = World::new(1372, 9000, false);
    while world.search.plpmtu() == 1200 {
        world.run(SECOND / 10);
    }
    assert_eq!(world.search.stats().state, MtuState::Searching);
    assert!(world.search.doubt(world.now) && world.search.plpmtu() == 1360);
    world.run(Duration::from_secs(60));
    assert_eq!(world.search.plpmtu(), 1372);
}

#[test]
fn what_fits_stays_when_a_router_refuses_a_larger_probe() {
    let mut world = settled(1400, 9000);
    world.now = world.search.timer();
    assert!(world.search.expired(world.now).probe.is_some_and(|size| size > 1400));
    world.search.sent(7, world.now, world.now + SECOND);
    assert!(world.search.too_big(world.now, 1400));
    let stats = world.search.stats();
    assert_eq!((stats.mtu, stats.state), (1400, MtuState::Complete));
}

#[test]
fn the_smallest_packet_that_ip_carries_is_an_answer() {
    let mut world = settled(1400, 1500);
    assert!(world.search.too_big(world.now, 68), "RFC 791");
    assert!(world.search.is_in_error());
}

#[test]
fn a_size_in_use_that_the_system_refuses_is_left_at_once() {
    let mut world = settled(1500, 1500);
    world.search.refused(world.now, 1500);
    assert_eq!((world.search.plpmtu(), world.search.stats().state), (1200, MtuState::Base));
    world.run(Duration::from_secs(60));
    assert_eq!(world.search.plpmtu(), 1492, "the next smaller");
}

#[test]
fn a_probe_that_is_smaller_than_what_the_system_refuses_may_still_be_answered() {
    let mut world = World::new(1500, 9000, false);
    let first = world.search.expired(world.now).probe.unwrap();
    world.search.sent(7, world.now, world.now + SECOND);
    world.search.refused(world.now, 5000);
    assert!(world.search.answered(world.now, 7) && world.search.plpmtu() == first);
}
