//! What S4 leaves open, as options.

use super::pqu::Pqu;
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(super) const OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "initial",
        default: "1",
        values: "1|0.5|0",
        summary: "PQU of a path that never sent",
    },
    OptionEntry {
        name: "sample",
        default: "after",
        values: "after|before",
        summary: "outstanding data is sampled after, or before, the burst that it is compared with",
    },
    OptionEntry {
        name: "granularity",
        default: "burst",
        values: "burst|rerank|packet",
        summary: "a burst per path in the order of the round's ranking; ranked anew after each burst; or per packet",
    },
    OptionEntry {
        name: "burst",
        default: "4",
        values: "<1..65535>",
        summary: "packets per path and round, besides the engine's own Max.Burst",
    },
    OptionEntry {
        name: "repeat",
        default: "no",
        values: "no|yes",
        summary: "whether one send attempt may have several rounds",
    },
    OptionEntry {
        name: "high",
        default: "list",
        values: "list|oldest",
        summary: "order within PQU_H: list order, or longest since data was sent",
    },
    OptionEntry {
        name: "ties",
        default: "high-first",
        values: "high-first|list",
        summary: "equal DSV: PQU_H before PQU_L, or list order",
    },
    OptionEntry {
        name: "all-equal",
        default: "low",
        values: "low|high",
        summary: "when all PQU are equal, all paths are in PQU_L (literal) or in PQU_H",
    },
    OptionEntry {
        name: "equality",
        default: "exact",
        values: "exact|relative",
        summary: "PQUs are equal as fractions, or within 1e-9",
    },
    OptionEntry {
        name: "idle",
        default: "keep",
        values: "keep|reset",
        summary: "a path idle for more than its RTO keeps its PQU, or starts anew",
    },
];

pub(super) fn read_config(options: &Options<'_>) -> Result<CmtOutConfig, PolicyError> {
    Ok(CmtOutConfig {
        initial: options
            .choice("initial", &[("1", Pqu::ONE), ("0.5", Pqu::HALF), ("0", Pqu::ZERO)])?,
        sample: options
            .choice("sample", &[("after", SampleTime::After), ("before", SampleTime::Before)])?,
        granularity: options.choice(
            "granularity",
            &[
                ("burst", Granularity::Burst),
                ("rerank", Granularity::Rerank),
                ("packet", Granularity::Packet),
            ],
        )?,
        burst: options.number("burst", 1..=65_535)?,
        repeat: options.choice("repeat", &[("no", false), ("yes", true)])?,
        high: options
            .choice("high", &[("list", HighOrder::List), ("oldest", HighOrder::Oldest)])?,
        ties: options
            .choice("ties", &[("high-first", TieOrder::HighFirst), ("list", TieOrder::List)])?,
        all_equal: options
            .choice("all-equal", &[("low", AllEqual::Low), ("high", AllEqual::High)])?,
        equality: options
            .choice("equality", &[("exact", Equality::Exact), ("relative", Equality::Relative)])?,
        idle: options.choice("idle", &[("keep", IdlePaths::Keep), ("reset", IdlePaths::Reset)])?,
    })
}

/// The readings of CMT-OUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmtOutConfig {
    /// PQU of a path that never sent.
    pub initial: Pqu,
    /// When outstanding data is sampled.
    pub sample: SampleTime,
    /// For how long a path keeps the head of the ranking.
    pub granularity: Granularity,
    /// Packets per path and round.
    pub burst: u32,
    /// Whether one send attempt may have several rounds.
    pub repeat: bool,
    /// Order within PQU_H.
    pub high: HighOrder,
    /// Order of equal DSVs.
    pub ties: TieOrder,
    /// The class of all paths when their PQUs are equal.
    pub all_equal: AllEqual,
    /// When two PQUs are equal.
    pub equality: Equality,
    /// What idle paths remember.
    pub idle: IdlePaths,
}

impl Default for CmtOutConfig {
    fn default() -> Self {
        Self {
            initial: Pqu::ONE,
            sample: SampleTime::After,
            granularity: Granularity::Burst,
            burst: 4,
            repeat: false,
            high: HighOrder::List,
            ties: TieOrder::HighFirst,
            all_equal: AllEqual::Low,
            equality: Equality::Exact,
            idle: IdlePaths::Keep,
        }
    }
}

/// When outstanding data is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleTime {
    /// After sending, so that it includes the burst: 1/2 <= PQU < 1.
    After,
    /// Before sending: the first burst of a path gives 0.
    Before,
}

/// For how long a path keeps the head of the ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// A burst; the ranking holds for the round.
    Burst,
    /// A burst; then the paths that still wait for their turn are ranked anew.
    Rerank,
    /// A packet; then all are ranked anew.
    Packet,
}

/// Order within PQU_H.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HighOrder {
    /// The order in which the paths were added.
    List,
    /// Longest since data was sent.
    Oldest,
}

/// Order of equal DSVs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieOrder {
    /// PQU_H, then the members of PQU_L that have nothing outstanding.
    HighFirst,
    /// The order in which the paths were added.
    List,
}

/// The class of all paths when their PQUs are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllEqual {
    /// PQU_L, as all have the minimum: ranked by outstanding data.
    Low,
    /// PQU_H, as none is worse than another.
    High,
}

/// When two PQUs are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// As fractions of whole numbers.
    Exact,
    /// Within 1e-9 of the larger.
    Relative,
}

impl Equality {
    pub(super) fn are_equal(self, a: Pqu, b: Pqu) -> bool {
        match self {
            Self::Exact => a.cmp_exact(&b).is_eq(),
            Self::Relative => {
                let (a, b) = (a.value(), b.value());
                (a - b).abs() <= 1e-9 * a.max(b)
            }
        }
    }
}

/// What a path remembers that has nothing in flight and sent nothing for more than its RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdlePaths {
    /// Its PQU.
    Keep,
    /// Nothing: it is as new.
    Reset,
}
