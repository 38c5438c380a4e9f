//! What makes a network less than ideal.

use core::fmt;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dice::Cup;

/// A property that a draw may have.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// The way back has a fraction of the rate.
    ThinWayBack,
    /// Delays vary from packet to packet, in order.
    Jitter,
    /// Delays vary, and packets overtake each other.
    Overtaking,
    /// Packets are lost independently.
    RandomLoss,
    /// Packets are lost in bursts.
    BurstLoss,
    /// The rate falls for a while.
    Dips,
    /// The rate changes once, for good.
    Steps,
    /// Paths are cut and come back.
    Flaps,
    /// Traffic of others comes and goes.
    CrossTraffic,
    /// Paths have a link in common.
    SharedBottleneck,
    /// Queues drop at random before they are full.
    Red,
    /// Rates follow a trace of cellular kind.
    CellularTrace,
    /// The receiver is as Linux is.
    LinuxReceiver,
    /// The receiver is as usrsctp is.
    UsrsctpReceiver,
    /// The receiver is as a WebRTC stack is.
    WebrtcReceiver,
    /// Messages of two sizes.
    UnequalMessages,
}

/// How likely each feature is, of draws that are not plain. Of all draws, one in ten is the least
/// that a table by feature can be read with.
const SHARE: f64 = 0.15;
/// Files and requests, three in ten, cannot have unequal messages.
const SHARE_OF_UNEQUAL: f64 = SHARE / 0.7;

/// Features of which a draw has at most one.
const KINDS: [&[Feature]; 2] = [
    &[Feature::Jitter, Feature::Overtaking],
    &[Feature::LinuxReceiver, Feature::UsrsctpReceiver, Feature::WebrtcReceiver],
];

impl Feature {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 16] = [
        Self::ThinWayBack,
        Self::Jitter,
        Self::Overtaking,
        Self::RandomLoss,
        Self::BurstLoss,
        Self::Dips,
        Self::Steps,
        Self::Flaps,
        Self::CrossTraffic,
        Self::SharedBottleneck,
        Self::Red,
        Self::CellularTrace,
        Self::LinuxReceiver,
        Self::UsrsctpReceiver,
        Self::WebrtcReceiver,
        Self::UnequalMessages,
    ];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ThinWayBack => "thin way back",
            Self::Jitter => "jitter, in order",
            Self::Overtaking => "jitter, overtaking",
            Self::RandomLoss => "random loss",
            Self::BurstLoss => "burst loss",
            Self::Dips => "dips",
            Self::Steps => "steps",
            Self::Flaps => "flaps",
            Self::CrossTraffic => "cross traffic",
            Self::SharedBottleneck => "shared bottleneck",
            Self::Red => "RED",
            Self::CellularTrace => "cellular trace",
            Self::LinuxReceiver => "receiver as Linux",
            Self::UsrsctpReceiver => "receiver as usrsctp",
            Self::WebrtcReceiver => "receiver as WebRTC",
            Self::UnequalMessages => "unequal messages",
        }
    }

    /// How likely it is of draws that are not plain, before those that cannot have it lose it.
    pub fn share(self) -> f64 {
        if self == Self::UnequalMessages { SHARE_OF_UNEQUAL } else { SHARE }
    }

    /// Whether packets are lost though no queue is full.
    pub const fn loses_packets(self) -> bool {
        matches!(self, Self::RandomLoss | Self::BurstLoss)
    }

    /// Whether what the network admits is not the same all the time.
    pub const fn changes_network(self) -> bool {
        matches!(
            self,
            Self::Dips | Self::Steps | Self::Flaps | Self::CrossTraffic | Self::CellularTrace
        )
    }

    /// Whether delays vary by themselves.
    pub const fn varies_delays(self) -> bool {
        matches!(self, Self::Jitter | Self::Overtaking)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// The features that a draw is to have. Whether one is there does not depend on the others, but for
/// those of one kind, which exclude each other.
pub(crate) fn draw_features(cup: Cup) -> BTreeSet<Feature> {
    let of_kind = |feature: &Feature| KINDS.iter().any(|kind| kind.contains(feature));
    let single = Feature::ALL.into_iter().filter(|feature| !of_kind(feature));
    let mut drawn: BTreeSet<Feature> = single
        .filter(|feature| cup.dice_for(feature.words()).decide_with(feature.share()))
        .collect();
    for kind in KINDS {
        let subject = kind.first().map_or("", |feature| feature.words());
        let share = cup.dice_for(subject).draw_share();
        drawn.extend(kind.get((share / SHARE) as usize));
    }
    drawn
}
