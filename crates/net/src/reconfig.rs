//! Streams that are reset or added while the association lives (RFC 6525).

use polypath_proto::event::StreamDirection;
use polypath_proto::ids::{ReconfigId, StreamId};
use polypath_proto::{ReconfigOutcome, time::Time};

use crate::Association;
use crate::error::{ReconfigError, ReconfigRefusal};

impl Association {
    /// Lets streams start at number 0 again, `streams` or, if there are none, all; waits for the
    /// peer's answer. What was sent on outgoing streams before belongs to the time before; what is
    /// sent meanwhile goes out afterwards. Incoming streams are reset by the peer, which
    /// [`Event::StreamsReset`](crate::Event::StreamsReset) tells. A dropped future does not take
    /// the request back.
    ///
    /// # Errors
    /// When the peer does not want to, does not know how, or the association is over.
    pub async fn reset_streams(
        &self,
        direction: StreamDirection,
        streams: &[u16],
    ) -> Result<(), ReconfigError> {
        let streams: Vec<_> = streams.iter().map(|stream| StreamId(*stream)).collect();
        self.await_reconfiguration(|core, now| core.reset_streams(now, direction, &streams)).await
    }

    /// Lets TSNs and the numbers of all streams start anew, once all that was sent is acknowledged;
    /// waits for the peer's answer.
    ///
    /// # Errors
    /// As [`reset_streams`](Self::reset_streams); not within 30 s of the last time.
    pub async fn reset_association(&self) -> Result<(), ReconfigError> {
        self.await_reconfiguration(|core, now| core.reset_association(now)).await
    }

    /// Adds streams behind those that there are; waits for the peer's answer. Outgoing ones can be
    /// used then, incoming ones once [`Event::StreamsAdded`](crate::Event::StreamsAdded) says so.
    ///
    /// # Errors
    /// As [`reset_streams`](Self::reset_streams); beyond the limits of either side.
    pub async fn add_streams(&self, outgoing: u16, incoming: u16) -> Result<(), ReconfigError> {
        self.await_reconfiguration(|core, now| core.add_streams(now, outgoing, incoming)).await
    }

    async fn await_reconfiguration(
        &self,
        ask: impl FnOnce(&mut polypath_proto::Association, Time) -> Result<ReconfigId, ReconfigRefusal>,
    ) -> Result<(), ReconfigError> {
        let request = Waiting { association: self, request: self.request_reconfiguration(ask)? };
        loop {
            let changed = self.signals().changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(answer) = request.final_answer() {
                return answer;
            }
            changed.await;
        }
    }

    fn request_reconfiguration(
        &self,
        ask: impl FnOnce(&mut polypath_proto::Association, Time) -> Result<ReconfigId, ReconfigRefusal>,
    ) -> Result<ReconfigId, ReconfigError> {
        let now = self.shared().clock.now();
        let mut state = self.shared().lock();
        let closed = state.why_closed(self.handle());
        let core = state.association(self.handle()).ok_or(closed)?;
        let request = ask(core, now)?;
        if let Some(slot) = state.slots.get_mut(&self.handle()) {
            slot.await_reconfiguration(request);
        }
        drop(state);
        self.shared().work.notify_one();
        Ok(request)
    }
}

/// Somebody waits for the answer to a request.
struct Waiting<'a> {
    association: &'a Association,
    request: ReconfigId,
}

impl Waiting<'_> {
    fn final_answer(&self) -> Option<Result<(), ReconfigError>> {
        let h = self.association.handle();
        let state = self.association.shared().lock();
        let answer = state.slots.get(&h).and_then(|slot| slot.reconfiguration(self.request));
        match answer {
            Some(ReconfigOutcome::Performed) => Some(Ok(())),
            Some(ReconfigOutcome::Denied) => Some(Err(ReconfigError::Denied)),
            Some(ReconfigOutcome::Failed { result }) => Some(Err(ReconfigError::Failed(result))),
            None => state.closed_error(h).map(|closed| Err(closed.into())),
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.association.shared().lock();
        if let Some(slot) = state.slots.get_mut(&self.association.handle()) {
            slot.forget_reconfiguration(self.request);
        }
    }
}
