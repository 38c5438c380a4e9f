//! Where the association calls stream reconfiguration (RFC 6525).

use polypath_wire::ReconfigChunk;

use super::{Association, State};
use crate::event::StreamDirection;
use crate::extension::Context;
use crate::extension::reconfig::{Reconfig, ReconfigError, Timeout};
use crate::ids::{PathId, ReconfigId, StreamId};
use crate::policy::Trigger;
use crate::time::Time;

impl Association {
    /// Lets streams start at number 0 again, `streams` or, if there are none, all. Messages already
    /// handed in to outgoing streams are sent before, with their old numbers; those that follow
    /// wait for the peer's answer. Incoming streams are reset by the peer, if it wants to.
    /// [`Reconfigured`] tells the outcome, [`StreamsReset`] what was reset.
    ///
    /// [`Reconfigured`]: crate::Event::Reconfigured
    /// [`StreamsReset`]: crate::Event::StreamsReset
    ///
    /// # Errors
    /// See [`ReconfigError`].
    pub fn reset_streams(
        &mut self,
        now: Time,
        direction: StreamDirection,
        streams: &[StreamId],
    ) -> Result<ReconfigId, ReconfigError> {
        self.check_reconfigurable()?;
        self.reconfigure(now, |reconfig, ctx| reconfig.reset_streams(ctx, direction, streams))
    }

    /// Lets TSNs and all streams' numbers start anew, once all that was handed in is acknowledged.
    /// What follows waits for the peer's answer.
    ///
    /// # Errors
    /// See [`ReconfigError`].
    pub fn reset_association(&mut self, now: Time) -> Result<ReconfigId, ReconfigError> {
        self.check_reconfigurable()?;
        self.reconfigure(now, Reconfig::reset_association)
    }

    /// Adds streams behind those that there are. They can be used once [`StreamsAdded`] says
    /// so.
    ///
    /// [`StreamsAdded`]: crate::Event::StreamsAdded
    ///
    /// # Errors
    /// See [`ReconfigError`].
    pub fn add_streams(
        &mut self,
        now: Time,
        outgoing: u16,
        incoming: u16,
    ) -> Result<ReconfigId, ReconfigError> {
        self.check_reconfigurable()?;
        self.reconfigure(now, |reconfig, ctx| reconfig.add_streams(ctx, outgoing, incoming))
    }

    fn check_reconfigurable(&self) -> Result<(), ReconfigError> {
        if !matches!(self.state, State::Established) || self.is_exchanging_keys() {
            return Err(ReconfigError::NotEstablished);
        }
        if !self.caps.agreed.stream_reconfiguration {
            return Err(ReconfigError::Unsupported);
        }
        Ok(())
    }

    /// RE-CONFIG came. In SHUTDOWN-SENT, too, it is answered: the peer holds back what it has still
    /// to send until it knows whether its streams start anew.
    pub(super) fn on_reconfig(
        &mut self,
        now: Time,
        path: PathId,
        chunk: &ReconfigChunk<'_>,
        answered: &mut bool,
    ) {
        if !matches!(
            self.state,
            State::Established
                | State::ShutdownPending
                | State::ShutdownReceived
                | State::ShutdownSent
        ) {
            return;
        }
        let read = self.reconfigure(now, |r, ctx| r.on_chunk(ctx, path, chunk, answered));
        self.trace_receiver(now);
        self.stats.malformed_chunks += u64::from(read.is_err());
    }

    /// Sends the next request once nothing stands in its way. To be called whenever something was
    /// sent or acknowledged; costs nothing while there is none.
    #[inline]
    pub(super) fn advance_requests(&mut self, now: Time) {
        if self.reconfig.is_some() {
            self.reconfigure(now, Reconfig::send_next_request);
        }
    }

    /// The re-configuration timer expired.
    pub(super) fn on_reconfig_timer(&mut self, now: Time) {
        match self.reconfig.as_ref().map_or(Timeout::Nothing, |r| r.judge_timeout()) {
            Timeout::Nothing => {}
            Timeout::Answered => self.reconfigure(now, Reconfig::accept_implied_answer),
            Timeout::Repeat { path, counts } => {
                self.count_failure(now, path, counts, true);
                self.reconfigure(now, Reconfig::repeat_after_timeout);
            }
        }
    }

    /// Data that the peer sent before it reset streams has arrived (RFC 6525 section 5.2.2, E3 to
    /// E6).
    pub(super) fn finish_deferred_reset(&mut self, now: Time, path: PathId) {
        match self.rx.take_finished_reset(now) {
            None => {}
            Some(Ok((request, streams))) => self.reconfigure(now, |reconfig, ctx| {
                reconfig.complete_deferred_reset(ctx, path, request, streams);
            }),
            Some(Err(why)) => self.protocol_violation(now, 13, why),
        }
    }

    /// Lends reconfiguration the parts of the association that it works on.
    fn reconfigure<R>(
        &mut self,
        now: Time,
        work: impl FnOnce(&mut Reconfig, &mut Context<'_>) -> R,
    ) -> R {
        let (own, peer) = (self.local.initial_tsn, self.peer.initial_tsn);
        let reconfig = self.reconfig.get_or_insert_with(|| Box::new(Reconfig::new(own, peer)));
        let mut context = Context {
            now,
            state: self.state,
            config: &self.config,
            agreed: &mut self.caps,
            paths: &self.paths,
            tx: &mut self.tx,
            rx: &mut self.rx,
            scheduler: &mut *self.policies.stream_scheduler,
            control: &mut self.control,
            events: &mut self.events,
            errors: &mut self.errors,
            may_send: false,
        };
        let result = work(reconfig, &mut context);
        if context.may_send {
            self.trigger(Trigger::Write);
        }
        result
    }
}
