//! Views as plain records, for functions that are compiled and know no objects.
//!
//! Every field takes eight bytes: a whole number (yes is 1), or a float, NaN where there is none.

use polypath_proto::policy::{PathChange, Trigger};
use polypath_proto::view::{AssocView, ChunkMeta, LossKind, PathView};

/// A record and the list of its fields, which Python makes its own type of.
macro_rules! record {
    ($(#[$about:meta])* $name:ident from $source:ty as $view:ident { $($field:ident: $kind:ident = $value:expr,)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct $name { $(pub(crate) $field: $kind,)* }

        impl $name {
            /// Names and numpy's codes of the fields, in their order.
            pub(crate) const FIELDS: &[(&str, &str)] =
                &[$((stringify!($field), record!(@code $kind)),)*];

            #[inline]
            pub(crate) fn new($view: $source) -> Self {
                Self { $($field: $value,)* }
            }

            /// The fields as numpy reads them.
            pub(crate) fn append_to(&self, bytes: &mut Vec<u8>) {
                $(bytes.extend_from_slice(&self.$field.to_ne_bytes());)*
            }
        }
    };
    (@code i64) => { "i8" };
    (@code f64) => { "f8" };
}

record! {
    /// A path.
    PathRecord from &PathView as path {
        id: i64 = path.id.0.into(),
        usable: i64 = path.usable.into(),
        sendable: i64 = path.sendable.into(),
        silent: i64 = path.silent.into(),
        in_recovery: i64 = path.in_recovery.into(),
        rate_based: i64 = path.rate_based.into(),
        admin: i64 = path.admin as i64,
        state: i64 = path.state as i64,
        mtu: i64 = path.mtu.into(),
        pmdcs: i64 = path.pmdcs.into(),
        cwnd: i64 = whole(path.cwnd),
        ssthresh: i64 = whole(path.ssthresh),
        outstanding: i64 = whole(path.outstanding),
        outstanding_payload: i64 = whole(path.outstanding_payload),
        duplicate_bytes_in_flight: i64 = whole(path.duplicate_bytes_in_flight),
        queued: i64 = whole(path.queued),
        room: i64 = whole(path.room()),
        errors: i64 = path.errors.into(),
        data_packets: i64 = whole(path.data_packets),
        data_chunks: i64 = whole(path.data_chunks),
        lost_chunks: i64 = whole(path.lost_chunks),
        delivered: i64 = whole(path.delivered),
        lost: i64 = whole(path.lost),
        group: i64 = path.group.0.into(),
        srtt: f64 = path.srtt.map_or(f64::NAN, |time| time.as_secs_f64()),
        rttvar: f64 = path.rttvar.as_secs_f64(),
        min_rtt: f64 = path.min_rtt.map_or(f64::NAN, |time| time.as_secs_f64()),
        last_rtt: f64 = path.last_rtt.map_or(f64::NAN, |time| time.as_secs_f64()),
        rto: f64 = path.rto.as_secs_f64(),
        last_data: f64 = path.last_data.as_secs_f64(),
        bandwidth: f64 = path.bandwidth.map_or(f64::NAN, |rate| rate.get() as f64),
    }
}

record! {
    /// An association.
    ViewRecord from &AssocView<'_> as view {
        now: f64 = view.now.as_secs_f64(),
        rto_initial: f64 = view.rto_initial.as_secs_f64(),
        primary: i64 = view.primary.0.into(),
        peer_rwnd: i64 = whole(view.peer_rwnd),
        peer_rwnd_max: i64 = whole(view.peer_rwnd_max),
        outstanding: i64 = whole(view.outstanding),
        send_buffer: i64 = whole(view.send_buffer.limit),
        send_buffer_used: i64 = whole(view.send_buffer.used),
        unsent: i64 = whole(view.send_buffer.unsent),
        unsent_messages: i64 = whole(view.send_buffer.unsent_messages),
        nr_sacks: i64 = view.nr_sacks.into(),
        most_gap_blocks: i64 = view.most_gap_blocks.into(),
    }
}

record! {
    /// The chunk that is next to go.
    ChunkRecord from &ChunkMeta as chunk {
        stream: i64 = chunk.stream.0.into(),
        bytes: i64 = chunk.bytes.into(),
        message_remaining: i64 = whole(chunk.message_remaining),
        first: i64 = chunk.first.into(),
        last: i64 = chunk.last.into(),
        ordered: i64 = chunk.ordered.into(),
        priority: i64 = chunk.needs.priority.into(),
        enqueued: f64 = chunk.enqueued.as_secs_f64(),
        deadline: f64 = chunk.needs.deadline.map_or(f64::NAN, |time| time.as_secs_f64()),
    }
}

/// Unlimited sizes are the largest number.
fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Positions in `polypath.compilation.TRIGGERS`.
pub(super) const fn trigger_code(why: Trigger) -> i64 {
    match why {
        Trigger::Sack => 0,
        Trigger::Write => 1,
        Trigger::Timer => 2,
        Trigger::Path => 3,
    }
}

/// Positions in `polypath.compilation.LOSSES`.
pub(super) const fn loss_code(kind: LossKind) -> i64 {
    match kind {
        LossKind::FastRetransmit => 0,
        LossKind::Timeout => 1,
    }
}

/// Positions in `polypath.compilation.CHANGES`.
pub(super) const fn change_code(change: PathChange) -> i64 {
    match change {
        PathChange::Added => 0,
        PathChange::State(_) => 1,
        PathChange::Removed => 2,
    }
}
