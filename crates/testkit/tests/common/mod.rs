//! Policies by name, for tests that run over all of them.
#![allow(dead_code, reason = "each test uses its part")]

use polypath_policies::{PolicyKind, PolicySpec, all, factory};
use polypath_proto::rng::Rng;
use polypath_testkit::interact::Policies;

/// The names of all policies of a kind.
pub(crate) fn names(kind: PolicyKind) -> Vec<&'static str> {
    all().iter().filter(|entry| entry.kind == kind).map(|entry| entry.name).collect()
}

/// The policies that a specification names.
pub(crate) fn policies(spec: &PolicySpec) -> Policies {
    let PolicySpec { path_scheduler, stream_scheduler, retransmission, buffer, congestion } = spec;
    Policies {
        name: format!("{path_scheduler}/{stream_scheduler}/{retransmission}/{buffer}/{congestion}"),
        factory: factory(spec).expect("registered names"),
    }
}

/// One of every kind, at random.
pub(crate) fn random_policies(rng: &mut Rng) -> Policies {
    let mut one = |kind| {
        let names = names(kind);
        names[rng.below(names.len())].to_owned()
    };
    policies(&PolicySpec {
        path_scheduler: one(PolicyKind::PathScheduler),
        stream_scheduler: one(PolicyKind::StreamScheduler),
        retransmission: one(PolicyKind::Retransmission),
        buffer: one(PolicyKind::Buffer),
        congestion: one(PolicyKind::Congestion),
    })
}
