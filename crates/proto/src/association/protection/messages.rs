//! Key management's messages: user messages with PPID 4242 on stream 0, which the application never
//! sees (draft-porfiri-tsvwg-sctp-dtls-handshake section 5).

use std::collections::VecDeque;

use polypath_wire::{
    DataChunk, DataFlags, EncodeChunk as _, HeartbeatChunk, IDataChunk, PacketWriter, Ssn,
};

use crate::association::Association;
use crate::control::{Bundling, Encoded};
use crate::ids::{PathId, StreamId};
use crate::policy::Trigger;
use crate::protection::{KEY_MANAGEMENT_PPID, ProtectionEvent};
use crate::sender::NewChunk;
use crate::time::Time;

/// Messages that wait for their turn, at most. More come only of exchanges that are begun again and
/// again while nothing can be sent: the latest of them fails for it, and one is begun later.
const MAX_WAITING: usize = 8;

/// The stream of key management.
const STREAM: StreamId = StreamId(0);

impl Association {
    /// Passes on what key management has to say, to the peer and to us: to be called after whatever
    /// may have made it speak, which a packet that was sealed or opened does not.
    pub(in crate::association) fn drive_keys(&mut self, now: Time) {
        if self.protection.is_some() && !self.state.is_setup() {
            self.pass_on_key_messages(now);
            self.take_key_events(now);
        }
    }

    /// A message of key management waits for the end of one of the application's.
    #[inline]
    pub(in crate::association) fn retry_key_messages(&mut self, now: Time) {
        if self.protection.as_ref().is_some_and(|state| !state.waiting.is_empty()) {
            self.drive_keys(now);
        }
    }

    fn pass_on_key_messages(&mut self, now: Time) {
        let Some(state) = self.protection.as_mut() else { return };
        if let Some(keys) = &mut state.keys {
            while let Some(message) = keys.poll_message() {
                if state.waiting.len() < MAX_WAITING {
                    state.waiting.push_back(message);
                }
            }
        }
        while !state.waiting.is_empty()
            && self.tx.queue.takes_key_message()
            && let Some(message) = state.waiting.pop_front()
        {
            let scheduler = &mut *self.policies.stream_scheduler;
            self.tx.enqueue_key_message(now, message, scheduler);
            state.may_shrink = true;
            self.attempt.request(Trigger::Write);
        }
    }

    fn take_key_events(&mut self, now: Time) {
        while let Some(event) = self
            .protection
            .as_mut()
            .and_then(|state| state.keys.as_mut())
            .and_then(|keys| keys.poll_event())
        {
            match event {
                ProtectionEvent::Established => self.protection_established(now),
                ProtectionEvent::Rekeyed { .. } => {}
                ProtectionEvent::Failed(failure) => self.protection_failed(failure),
            }
        }
    }

    /// A protected HEARTBEAT came by a faster path than the message that would let us protect its
    /// answer. In plain the peer would drop it, and ask again after an RTO at the earliest.
    pub(in crate::association) fn answer_once_sealed(
        &mut self,
        now: Time,
        path: PathId,
        heartbeat: &HeartbeatChunk<'_>,
    ) {
        let waiting = self.control.len();
        self.answer_heartbeat(now, path, heartbeat);
        let answer = if self.control.len() > waiting { self.control.pop_back() } else { None };
        if let Some((state, answer)) = self.protection.as_mut().zip(answer) {
            state.answers.retain(|(of, _)| *of != path);
            state.answers.push((path, answer.bytes));
        }
    }

    /// There are keys to answer with.
    pub(super) fn send_held_answers(&mut self) {
        let Some(state) = &mut self.protection else { return };
        for (path, answer) in core::mem::take(&mut state.answers) {
            self.send_control(path, &Encoded(&answer), Bundling::Free);
        }
    }

    /// All was acknowledged: what a key exchange needed is given back, once.
    #[inline]
    pub(in crate::association) fn shrink_after_exchange(&mut self) {
        if let Some(state) = &mut self.protection
            && state.may_shrink
            && state.established
            && self.tx.is_drained()
        {
            state.may_shrink = false;
            state.waiting = VecDeque::new();
            self.tx.shrink();
        }
    }

    /// A message of key management has begun to come.
    pub(in crate::association) const fn note_key_message(&mut self) {
        if let Some(state) = &mut self.protection {
            state.coming = state.coming.saturating_add(1);
        }
    }

    /// Hands key management what came for it. `protected`: the packet did.
    pub(in crate::association) fn take_key_messages(&mut self, now: Time, protected: bool) {
        // What the application has not read yet is not searched for each packet.
        if self.protection.as_ref().is_none_or(|state| state.coming == 0) {
            return;
        }
        let rto = self.longest_rto();
        while let Some(message) = self.rx.take_key_message(STREAM, KEY_MANAGEMENT_PPID) {
            if let Some(state) = &mut self.protection {
                state.coming = state.coming.saturating_sub(1);
            }
            self.trace_taken(now, &message);
            let whole = message.part.first && message.part.last;
            let data = if whole { &message.data[..] } else { &[] };
            if let Some(keys) = self.protection.as_mut().and_then(|state| state.keys.as_mut()) {
                keys.handle_message(now, rto, data, protected);
            }
            self.drive_keys(now);
        }
    }

    /// The client's first message goes with the COOKIE ECHO, which saves a round trip (RFC 9260
    /// section 5.1 C allows DATA there; the draft waits for the COOKIE ACK). It counts as sent
    /// [later](Self::note_first_message): before the COOKIE ACK there is no association whose
    /// timers could send it again, but the COOKIE ECHO is, and it with it.
    pub(in crate::association) fn prepare_first_message(&mut self) {
        let tsn = self.local.initial_tsn;
        let Some(state) = self.protection.as_mut() else { return };
        // After a stale cookie those before were of another exchange (RFC 9260 section 5.2.6).
        state.first.clear();
        state.first_message = state.keys.as_mut().and_then(|keys| keys.poll_message());
        let Some(message) = &state.first_message else { return };
        let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
        let (stream, ppid, payload) = (STREAM, KEY_MANAGEMENT_PPID, &**message);
        if self.caps.agreed.interleaving {
            let mid = self.config.reproduction.first_mid;
            let chunk = IDataChunk { tsn, stream, mid, ppid_or_fsn: ppid, flags, payload };
            chunk.encode(&mut state.first);
        } else {
            let chunk = DataChunk { tsn, stream, ssn: Ssn(0), ppid, flags, payload };
            chunk.encode(&mut state.first);
        }
    }

    /// The DATA chunk that goes with the COOKIE ECHO; empty if there is none.
    pub(in crate::association) fn first_message_chunk(&self) -> &[u8] {
        self.protection.as_ref().map_or(&[], |state| &state.first)
    }

    /// The COOKIE ECHO was too large for the first message to go with it.
    pub(in crate::association) fn postpone_first_message(&mut self) {
        if let Some(state) = &mut self.protection {
            state.first.clear();
        }
    }

    /// The COOKIE ACK came: what went with the COOKIE ECHO was sent then.
    pub(in crate::association) fn note_first_message(&mut self, now: Time) {
        let Some(state) = &mut self.protection else { return };
        let Some(message) = state.first_message.take() else { return };
        if state.first.is_empty() {
            state.waiting.push_front(message);
            return;
        }
        state.first = Vec::new();
        let bytes = message.len() as u32;
        let scheduler = &mut *self.policies.stream_scheduler;
        self.tx.enqueue_key_message(now, message, scheduler);
        state.may_shrink = true;
        let path = self.setup.path;
        let new = NewChunk { path, stream: STREAM, bytes, immediate: false };
        let mut sent = Vec::new();
        let mut writer = PacketWriter::new(&mut sent, usize::from(u16::MAX), 0, 0, 0);
        let echoed = self.setup.echoed;
        self.tx.send_new(echoed, new, &mut writer, &mut self.paths, scheduler);
        writer.abandon();
        self.restart_clocks(now, path);
    }

    /// T3-rtx runs from now on; and if the COOKIE ECHO went out more than once, nothing tells the
    /// round trip (Karn's rule, RFC 9260 section 6.3.1 C5).
    fn restart_clocks(&mut self, now: Time, path: PathId) {
        let again = self.setup.retransmissions > 0;
        if let Some((view, path)) = self.paths.both_mut(path) {
            path.t3 = now + view.rto;
            if again {
                path.rtt_probe = None;
            }
        }
    }
}
