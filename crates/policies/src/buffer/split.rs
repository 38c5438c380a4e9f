//! `split`: an equal part of the buffers for each path.

use polypath_proto::PathId;
use polypath_proto::policy::{BufferPolicy, Policy};
use polypath_proto::view::{AssocView, PathView};

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::buffer("split", read_options)
    .summary("buffer splitting: each of n paths may take 1/n of the send and receive buffer")
    .source("S0 section 4.2 (the defaults), S4 section II")
    .options(&[
        OptionEntry {
            name: "side",
            default: "both",
            values: "sender|receiver|both",
            summary: "which buffer is split",
        },
        OptionEntry {
            name: "by",
            default: "queued",
            values: "queued|outstanding",
            summary: "what counts: bytes sent and still held in the send buffer, or bytes in flight",
        },
        OptionEntry {
            name: "window",
            default: "current",
            values: "current|size",
            summary: "the receive buffer: the window last announced, or the size announced at set-up",
        },
        OptionEntry {
            name: "slack",
            default: "strict",
            values: "strict|receiver|packet",
            summary: "whether a path may overshoot by less than a packet: never, at the receiver, on both sides",
        },
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn BufferPolicy>, PolicyError> {
    let split = SplitBuffer {
        side: options.choice(
            "side",
            &[("sender", Side::Sender), ("receiver", Side::Receiver), ("both", Side::Both)],
        )?,
        by: options
            .choice("by", &[("queued", Measure::Queued), ("outstanding", Measure::Outstanding)])?,
        window: options
            .choice("window", &[("current", Window::Current), ("size", Window::Size)])?,
        slack: options.choice(
            "slack",
            &[("strict", Slack::Strict), ("receiver", Slack::Receiver), ("packet", Slack::Packet)],
        )?,
    };
    Ok(Box::new(move |_, _| Box::new(split)))
}

/// Buffer splitting. A share is never below one MTU: where B/n is less, a path may have one packet
/// at a time.
///
/// S0: both, queued, current, strict. FreeBSD: both, outstanding, current, packet. S4's text:
/// receiver, outstanding, size, strict. INET since 2011: both, slack at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitBuffer {
    /// Which buffer is split.
    pub side: Side,
    /// What counts against a share.
    pub by: Measure,
    /// What the receive buffer is.
    pub window: Window,
    /// Whether a path may overshoot.
    pub slack: Slack,
}

/// Which buffer is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The send buffer.
    Sender,
    /// The peer's receive buffer.
    Receiver,
    /// Both.
    Both,
}

/// What counts against a share, in payload bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes sent and still held: neither cum-acked nor NR-acked.
    Queued,
    /// Bytes in flight.
    Outstanding,
}

/// What the receive buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// The window last announced: the peer's rwnd and what is in flight.
    Current,
    /// What the peer announced at set-up.
    Size,
}

/// Whether a path may overshoot its share by less than a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slack {
    /// Never: the next MTU must fit.
    Strict,
    /// Of the receive buffer only.
    Receiver,
    /// Of both.
    Packet,
}

impl SplitBuffer {
    /// B/n of the send buffer.
    fn sender_share(&self, view: &AssocView<'_>) -> Option<u64> {
        let limit = view.send_buffer.limit;
        let split = self.side != Side::Receiver && limit != u64::MAX;
        split.then(|| limit / view.split_count())
    }

    /// B/n of the receive buffer.
    fn receiver_share(&self, view: &AssocView<'_>) -> Option<u64> {
        let window = match self.window {
            Window::Current => view.peer_rwnd.saturating_add(view.outstanding),
            Window::Size => view.peer_rwnd_max,
        };
        (self.side != Side::Sender).then(|| window / view.split_count())
    }

    fn bytes_taken(&self, path: &PathView) -> u64 {
        match self.by {
            Measure::Queued => path.queued,
            Measure::Outstanding => path.outstanding_payload,
        }
    }
}

/// Whether a path that has `taken` may send another packet.
fn packet_fits(taken: u64, mtu: u64, share: u64, overshoot: bool) -> bool {
    if share < mtu {
        taken == 0
    } else if overshoot {
        taken <= share
    } else {
        taken.saturating_add(mtu) <= share
    }
}

impl Policy for SplitBuffer {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl BufferPolicy for SplitBuffer {
    fn may_take(&self, view: &AssocView<'_>, path: PathId, _bytes: u32) -> bool {
        let Some(path) = view.path(path) else { return false };
        let (taken, mtu) = (self.bytes_taken(path), u64::from(path.mtu));
        let sender = self.sender_share(view);
        let receiver = self.receiver_share(view);
        sender.is_none_or(|share| packet_fits(taken, mtu, share, self.slack == Slack::Packet))
            && receiver
                .is_none_or(|share| packet_fits(taken, mtu, share, self.slack != Slack::Strict))
    }

    fn share_of(&self, view: &AssocView<'_>, path: PathId) -> u64 {
        let mtu = view.path(path).map_or(0, |p| u64::from(p.mtu));
        let shares = self.sender_share(view).into_iter().chain(self.receiver_share(view));
        shares.min().unwrap_or(u64::MAX).max(mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::paths;
    use polypath_proto::time::Time;
    use polypath_proto::view::{PathState, SendBufferView};

    const S0: SplitBuffer = SplitBuffer {
        side: Side::Both,
        by: Measure::Queued,
        window: Window::Current,
        slack: Slack::Strict,
    };

    /// Two paths; path 0 has `queued` and `flying` bytes; send buffer 40,000, last announced window
    /// 30,000 of 36,000.
    fn admits(split: SplitBuffer, queued: u64, flying: u64) -> bool {
        let mut p = paths(2);
        (p[0].queued, p[0].outstanding_payload) = (queued, flying);
        let mut view = AssocView::new(Time::ZERO, &p);
        view.outstanding = flying;
        view.peer_rwnd = 30_000 - flying;
        view.peer_rwnd_max = 36_000;
        view.send_buffer = SendBufferView::new(40_000, queued, 0, 0);
        split.may_take(&view, PathId(0), 1452)
    }

    /// The largest amount that still admits.
    fn border(split: SplitBuffer, amount: impl Fn(u64) -> (u64, u64)) -> u64 {
        let admit = |x| admits(split, amount(x).0, amount(x).1);
        let border = (0..30_000).take_while(|&x| admit(x)).last().expect("the empty path sends");
        assert!((border + 1..30_000).all(|x| !admit(x)), "one border");
        border
    }

    #[test]
    fn thresholds_at_their_borders() {
        let queued = |split| border(split, |x| (x, 0));
        assert_eq!(queued(S0), 15_000 - 1500);
        assert_eq!(queued(SplitBuffer { side: Side::Sender, ..S0 }), 20_000 - 1500);
        assert_eq!(queued(SplitBuffer { window: Window::Size, ..S0 }), 18_000 - 1500);
        assert_eq!(queued(SplitBuffer { slack: Slack::Receiver, ..S0 }), 15_000);
        assert_eq!(queued(SplitBuffer { slack: Slack::Packet, ..S0 }), 15_000);
        let sender = SplitBuffer { side: Side::Sender, ..S0 };
        assert_eq!(queued(SplitBuffer { slack: Slack::Receiver, ..sender }), 20_000 - 1500);
        assert_eq!(queued(SplitBuffer { slack: Slack::Packet, ..sender }), 20_000);
    }

    #[test]
    fn outstanding_counts_what_is_in_flight() {
        let flying = |split| border(split, |x| (29_999, x));
        let outstanding = SplitBuffer { by: Measure::Outstanding, ..S0 };
        assert_eq!(flying(outstanding), 15_000 - 1500);
        let s4 = SplitBuffer { side: Side::Receiver, window: Window::Size, ..outstanding };
        assert_eq!(flying(s4), 18_000 - 1500);
        let freebsd = SplitBuffer { slack: Slack::Packet, ..outstanding };
        assert_eq!(flying(freebsd), 15_000);
    }

    #[test]
    fn a_share_below_one_mtu_is_one_packet() {
        let mut p = paths(4);
        for slack in [Slack::Strict, Slack::Receiver, Slack::Packet] {
            let split = SplitBuffer { slack, ..S0 };
            p[0].queued = 0;
            let admit = |p: &[PathView], rwnd| {
                let mut view = AssocView::new(Time::ZERO, p);
                view.peer_rwnd = rwnd;
                assert_eq!(split.share_of(&view, PathId(0)), (rwnd / 4).max(1500));
                split.may_take(&view, PathId(0), 1452)
            };
            assert!(admit(&p, 5999) && admit(&p, 0) && admit(&p, 6000));
            p[0].queued = 1;
            assert!(!admit(&p, 5999) && !admit(&p, 0));
            assert_eq!(admit(&p, 6000), slack != Slack::Strict);
        }
    }

    #[test]
    fn n_counts_the_paths_that_live() {
        let mut p = paths(3);
        let share = |p: &[PathView]| {
            let mut view = AssocView::new(Time::ZERO, p);
            view.peer_rwnd = 60_000;
            S0.share_of(&view, PathId(0))
        };
        assert_eq!(share(&p), 20_000);
        p[2].state = PathState::Inactive;
        assert_eq!(share(&p), 30_000);
    }

    #[test]
    fn an_unlimited_send_buffer_is_not_split() {
        let mut p = paths(2);
        p[0].queued = 1 << 40;
        let view = AssocView::new(Time::ZERO, &p);
        let sender = SplitBuffer { side: Side::Sender, ..S0 };
        assert!(sender.may_take(&view, PathId(0), 1452));
        assert_eq!(sender.share_of(&view, PathId(0)), u64::MAX);
        assert!(!S0.may_take(&view, PathId(9), 1452), "no such path");
    }
}
