//! Every packet of hostile worlds, hashed: see `polypath_testkit::fingerprint`.
//!
//! What is drawn here is written down here, so that a policy that is added or moved in the registry
//! changes no world. The policies of the profile `fast` have worlds of their own: who improves one
//! of them renews `worlds-fast` alone.

use polypath_policies::{PolicySpec, factory};
use polypath_proto::rng::Rng;
use polypath_testkit::fingerprint::{Digest, Lines, compare_part};
use polypath_testkit::interact::{Policies, PolicyChoice, Script, packet_hash};

/// Worlds that share a line.
const GROUP: u64 = 100;
const THREADS: u64 = 2;

/// Names of policies, by kind.
struct Choice {
    path_schedulers: &'static [&'static str],
    stream_schedulers: &'static [&'static str],
    retransmission: &'static [&'static str],
    buffers: &'static [&'static str],
    congestion: &'static [&'static str],
}

/// All policies that are published, with the defaults of their options.
const PUBLISHED: Choice = Choice {
    path_schedulers: &[
        "rr",
        "primary",
        "fixed",
        "out",
        "min-rtt",
        "blest",
        "ecf",
        "otias",
        "daps",
        "sttf",
        "weighted",
        "cmt-out-split",
        "redundant",
    ],
    stream_schedulers: &["fcfs", "rr", "rr-packet", "priority", "fair", "wfq"],
    retransmission: &["same", "asap", "cwnd", "ssthresh", "lossrate", "rfc9260"],
    buffers: &["shared", "split"],
    congestion: &["cmt", "rp-v1", "rp-v2", "lia", "olia", "balia", "cubic", "fixed"],
};

/// Those of the profile `fast`.
const FAST: Choice = Choice {
    path_schedulers: &["knapsack"],
    stream_schedulers: &["needs"],
    retransmission: &["earliest-delivery"],
    buffers: &["shared"],
    congestion: &["rfc9260?couple=detected&unqueued=true"],
};

impl Choice {
    fn draw(&self, rng: &mut Rng) -> Policies {
        let mut one = |names: &[&str]| names[rng.below(names.len())].to_owned();
        let spec = PolicySpec {
            path_scheduler: one(self.path_schedulers),
            stream_scheduler: one(self.stream_schedulers),
            retransmission: one(self.retransmission),
            buffer: one(self.buffers),
            congestion: one(self.congestion),
        };
        let factory = factory(&spec).unwrap_or_else(|error| panic!("{error}"));
        Policies { name: format!("{spec:?}"), factory }
    }
}

/// The hash of the worlds with the seeds of one group.
fn hash_group(group: u64, choose: &PolicyChoice<'_>) -> (String, String) {
    let (first, last) = (group * GROUP + 1, (group + 1) * GROUP);
    let mut digest = Digest::new();
    for seed in first..=last {
        digest.add_bytes(packet_hash(&Script::random(seed, choose)).as_bytes());
    }
    (format!("seeds-{first:04}-to-{last:04}"), digest.to_hex())
}

/// The hashes of so many groups of worlds.
fn hash_worlds(groups: u64, choice: &Choice) -> Lines {
    let choose = |rng: &mut Rng| choice.draw(rng);
    let play = |thread: u64| -> Vec<_> {
        let own = (thread..groups).step_by(THREADS as usize);
        own.map(|group| hash_group(group, &choose)).collect()
    };
    let (play, mut lines) = (&play, Lines::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || play(t))).collect();
        for thread in threads {
            lines.extend(thread.join().expect("no world panics"));
        }
    });
    lines
}

#[test]
fn a_thousand_hostile_worlds_send_the_packets_that_they_always_sent() {
    compare_part("worlds", &hash_worlds(10, &PUBLISHED));
}

#[test]
fn so_do_worlds_with_the_policies_of_the_profile_fast() {
    compare_part("worlds-fast", &hash_worlds(2, &FAST));
}
