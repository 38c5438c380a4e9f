//! Dealing with answers that only look like answers ([`implied`](super::implied)).

use super::implied::Unproven;
use super::operation::{Operation, Request};
use super::outstanding::Outstanding;
use super::state::Reconfig;
use crate::extension::context::Context;
use crate::time::Time;

impl Reconfig {
    /// The peer adds `count` streams: if we want as many, that may be all it says to it.
    pub(super) fn note_possible_answer(&mut self, ctx: &mut Context<'_>, count: u16) {
        let wanted = Operation::AddIncoming { count };
        let Some(outstanding) = self.outstanding.as_mut() else { return };
        if outstanding.is_known_to_have_arrived() {
            self.take_as_answered(ctx, |_, operation| *operation == wanted);
        } else {
            outstanding.seems_answered(&wanted);
        }
    }

    /// The peer was asked again, and says no more than that it adds streams.
    pub(crate) fn accept_implied_answer(&mut self, ctx: &mut Context<'_>) {
        let alone = self.outstanding.as_ref().and_then(Outstanding::sole_part);
        if let Some((request, &Operation::AddIncoming { count })) = alone {
            self.implied.push(request, count);
        }
        self.take_as_answered(ctx, |_, operation| {
            matches!(operation, Operation::AddIncoming { .. })
        });
    }

    /// The peer calls sequence number `request` bad. If it is outstanding, and one before it perhaps never arrived, all of them are
    /// made again in order, with their numbers. Gives whether it is so.
    pub(super) fn restart_from_implied(&mut self, ctx: &mut Context<'_>, request: u32) -> bool {
        if !self.requeue_implied(request) {
            return false;
        }
        self.timer = Time::MAX;
        ctx.tx.forward.clear_reset_point(None);
        ctx.rx.doubt_numbers(false);
        self.send_next_request(ctx);
        true
    }

    /// Puts what is outstanding and all that is only believed to have arrived back into the queue.
    fn requeue_implied(&mut self, request: u32) -> bool {
        let Some(first) = self.implied.first() else { return false };
        let Some(outstanding) = self.outstanding.take_if(|o| o.awaits(request)) else {
            return false;
        };
        self.waiting.push_front(outstanding.into_request());
        // The application was told of these already.
        for Unproven { count, .. } in self.implied.drain_newest_first() {
            let operation = Operation::AddIncoming { count };
            self.waiting.push_front(Request::new(None, vec![operation]));
        }
        self.next = first;
        true
    }
}
