//! What the application asks for.

use super::error::{MAX_WAITING, ReconfigError};
use super::operation::{Operation, Request};
use super::state::Reconfig;
use crate::event::StreamDirection;
use crate::extension::context::Context;
use crate::ids::{ReconfigId, StreamId};

impl Reconfig {
    /// See [`Association::reset_streams`](crate::Association::reset_streams).
    pub(crate) fn reset_streams(
        &mut self,
        ctx: &mut Context<'_>,
        direction: StreamDirection,
        streams: &[StreamId],
    ) -> Result<ReconfigId, ReconfigError> {
        let mut streams = streams.to_vec();
        streams.sort_unstable();
        streams.dedup();
        check_streams(ctx, direction, &streams)?;
        let outgoing = || Operation::ResetOutgoing { streams: streams.clone(), answers: None };
        let incoming = || Operation::ResetIncoming { streams: streams.clone() };
        let operations = match direction {
            StreamDirection::Outgoing => vec![outgoing()],
            StreamDirection::Incoming => vec![incoming()],
            StreamDirection::Both => vec![outgoing(), incoming()],
        };
        self.queue_new(ctx, operations)
    }

    /// See [`Association::reset_association`](crate::Association::reset_association).
    pub(crate) fn reset_association(
        &mut self,
        ctx: &mut Context<'_>,
    ) -> Result<ReconfigId, ReconfigError> {
        if self.was_reset_lately(ctx.now) || self.resets_association() {
            return Err(ReconfigError::TooSoon);
        }
        self.queue_new(ctx, vec![Operation::ResetAssociation])
    }

    /// See [`Association::add_streams`](crate::Association::add_streams).
    pub(crate) fn add_streams(
        &mut self,
        ctx: &mut Context<'_>,
        outgoing: u16,
        incoming: u16,
    ) -> Result<ReconfigId, ReconfigError> {
        let limits = ctx.config.reconfiguration;
        let to_come = self.outgoing_to_come();
        let sides = [
            (
                ctx.agreed.outbound_streams.saturating_add(to_come),
                outgoing,
                limits.max_outbound_streams,
            ),
            (ctx.agreed.inbound_streams, incoming, limits.max_inbound_streams),
        ];
        for (have, more, limit) in sides {
            let streams = u32::from(have) + u32::from(more);
            if more > 0 && streams > u32::from(limit) || outgoing == 0 && incoming == 0 {
                return Err(ReconfigError::TooManyAdded { streams, limit });
            }
        }
        let operations = [
            Operation::AddOutgoing { count: outgoing },
            Operation::AddIncoming { count: incoming },
        ];
        let wanted = |operation: &Operation| {
            !matches!(
                operation,
                Operation::AddOutgoing { count: 0 } | Operation::AddIncoming { count: 0 }
            )
        };
        self.queue_new(ctx, operations.into_iter().filter(wanted).collect())
    }

    /// Queues a request of the application.
    fn queue_new(
        &mut self,
        ctx: &mut Context<'_>,
        operations: Vec<Operation>,
    ) -> Result<ReconfigId, ReconfigError> {
        if self.waiting.len() >= MAX_WAITING || self.is_in_the_way(&operations) {
            return Err(ReconfigError::Busy);
        }
        self.ids += 1;
        let id = ReconfigId(self.ids);
        self.queue_request(ctx, Request::new(Some(id), operations));
        Ok(id)
    }
}

fn check_streams(
    ctx: &Context<'_>,
    direction: StreamDirection,
    streams: &[StreamId],
) -> Result<(), ReconfigError> {
    let mut count = u16::MAX;
    if direction != StreamDirection::Incoming {
        count = count.min(ctx.agreed.outbound_streams);
    }
    if direction != StreamDirection::Outgoing {
        count = count.min(ctx.agreed.inbound_streams);
    }
    if let Some(&stream) = streams.iter().find(|s| s.0 >= count) {
        return Err(ReconfigError::InvalidStream { stream, streams: count });
    }
    let lists = if direction == StreamDirection::Both { 2 } else { 1 };
    let limit = nameable_streams(ctx) / lists;
    if streams.len() > limit {
        return Err(ReconfigError::TooManyStreams { streams: streams.len(), limit });
    }
    Ok(())
}

/// Streams that the requests of one packet can name.
fn nameable_streams(ctx: &Context<'_>) -> usize {
    // Packet, chunk, and two requests with their padding.
    const OVERHEAD: usize = polypath_wire::COMMON_HEADER_LEN + 4 + 2 * 20;
    let limit = ctx.paths.views.iter().map(|v| ctx.paths.packet_limit(v.id)).min();
    limit.unwrap_or(0).saturating_sub(OVERHEAD) / 2
}
