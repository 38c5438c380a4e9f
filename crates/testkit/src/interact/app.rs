//! The applications at both ends: they read, write, and keep the ledger.

use std::collections::{BTreeMap, VecDeque};

use polypath_proto::ids::StreamId;
use polypath_proto::time::Time;
use polypath_proto::{
    AssocHandle, Association, CloseReason, Event, Message, MessageId, RecvFrom, Reliability,
    SendError, SendOptions, State,
};

use super::parts::{Assembly, Unfinished};
use super::script::Script;
use super::setup::LONGEST_IN_PARTS;
use super::trouble::Trouble;
use crate::model::{Breach, Ledger, Side};
use crate::world::{HostId, World};

/// Messages that wait until the send buffer takes them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) left: u32,
    pub(super) bytes: usize,
    pub(super) stream: StreamId,
    pub(super) unordered: bool,
    pub(super) reliability: Reliability,
    /// Bytes that are handed in at a time; 0: all.
    pub(super) part: usize,
}

/// An application.
#[derive(Debug)]
pub(super) struct App {
    pub(super) host: HostId,
    pub(super) reading: bool,
    pub(super) jobs: VecDeque<Job>,
    /// Messages of which parts are still to be handed in.
    unfinished: Vec<Unfinished>,
    /// Messages of which parts were read.
    assembly: Assembly,
    /// Its associations, and under which name the ledger knows each.
    lives: BTreeMap<AssocHandle, Side>,
    /// Every side there ever was.
    pub(super) sides: Vec<Side>,
    /// How associations ended.
    pub(super) endings: Vec<CloseReason>,
    /// What it was told, by kind, and how often.
    pub(super) heard: BTreeMap<&'static str, u64>,
    /// How often its ends of associations that are over had replaced their keys.
    pub(super) rekeys: u64,
    /// When a message was last read.
    read_at: Time,
    /// T5-shutdown-guard ended an association whose peer was still sending: its right (RFC 9260
    /// section 9.2).
    pub(super) guarded: bool,
    /// Associations that ended and were not removed yet: what they had to say last must go out
    /// first.
    over: Vec<AssocHandle>,
    /// The application removes associations as soon as it hears that they ended.
    hasty: bool,
    /// The peer delivers messages in part.
    peer_takes_parts: bool,
}

/// What both applications share.
#[derive(Debug)]
pub(super) struct Books {
    pub(super) ledger: Ledger,
    /// Nobody forges packets.
    promised: bool,
    /// Nobody forges packets that would be believed: no message is lost, doubled or changed.
    keeps_messages: bool,
    /// A NAT gives the client other addresses: its restart comes from one that it never named, and
    /// must be refused (RFC 9260 section 5.2.2).
    renumbered: bool,
    /// Interleaved messages filled a receive buffer together, at an end that takes them whole
    /// alone: nobody broke the protocol, and yet none of them could ever be complete
    /// (docs/explanation/streams.md).
    pub(super) filled: bool,
    sides: u32,
}

impl Books {
    pub(super) fn new(script: &Script) -> Self {
        let promised = !script.is_forged();
        Self {
            ledger: Ledger::new(LONGEST_IN_PARTS),
            promised,
            keeps_messages: promised || script.setup.is_protected(),
            renumbered: script.is_renumbered(),
            filled: false,
            sides: 0,
        }
    }

    /// Whether applications are promised that nothing ends or hinders an association that has no
    /// reason to.
    pub(super) const fn promised(&self) -> bool {
        self.promised
    }

    /// Whether applications are promised messages as they were sent.
    pub(super) const fn keeps_messages(&self) -> bool {
        self.keeps_messages
    }

    fn next_side(&mut self) -> Side {
        self.sides += 1;
        Side(self.sides)
    }

    fn judge_breach(&self, result: Result<(), Breach>) -> Result<(), Trouble> {
        match result {
            Err(breach) if self.keeps_messages() => Err(Trouble::Breach(breach)),
            _ => Ok(()),
        }
    }
}

/// Something happened at one end after which nobody knows what its application would still have
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aftermath {
    Nothing,
    PeerUnknown,
}

impl App {
    pub(super) fn new(host: HostId, hasty: bool, peer_takes_parts: bool) -> Self {
        Self {
            host,
            hasty,
            peer_takes_parts,
            over: Vec::new(),
            read_at: Time::ZERO,
            rekeys: 0,
            guarded: false,
            reading: true,
            jobs: VecDeque::new(),
            unfinished: Vec::new(),
            assembly: Assembly::default(),
            lives: BTreeMap::new(),
            sides: Vec::new(),
            endings: Vec::new(),
            heard: BTreeMap::new(),
        }
    }

    /// Associations that did not end yet.
    pub(super) fn handles(&self) -> Vec<AssocHandle> {
        self.lives.keys().copied().collect()
    }

    pub(super) fn is_alone(&self) -> bool {
        self.lives.is_empty()
    }

    /// The association that is written to: the newest.
    pub(super) fn current(&self) -> Option<AssocHandle> {
        self.lives.iter().max_by_key(|(_, side)| **side).map(|(handle, _)| *handle)
    }

    /// Nothing waits, and everything sent is accounted for.
    pub(super) fn is_settled(&self, ledger: &Ledger) -> bool {
        let jobs = !self.jobs.is_empty() || !self.unfinished.is_empty();
        let waiting = jobs && !self.lives.is_empty();
        !waiting && self.lives.values().all(|side| ledger.open_messages(*side) == 0)
    }

    pub(super) fn add_association(&mut self, handle: AssocHandle, books: &mut Books) -> Side {
        let side = books.next_side();
        self.sides.push(side);
        self.lives.insert(handle, side);
        side
    }

    /// The host lost everything.
    pub(super) fn forget_all(&mut self) {
        self.lives.clear();
        self.over.clear();
        self.jobs.clear();
        self.unfinished.clear();
        self.assembly = Assembly::default();
    }

    /// Takes events, then reads, then writes.
    pub(super) fn pump_once(
        &mut self,
        world: &mut World,
        books: &mut Books,
    ) -> Result<Aftermath, Trouble> {
        let mut aftermath = Aftermath::Nothing;
        let over = self.over.len();
        while let Some((handle, event)) = world.host(self.host).events.pop_front() {
            if self.take_event(world, books, handle, event)? == Aftermath::PeerUnknown {
                aftermath = Aftermath::PeerUnknown;
            }
        }
        for handle in self.over.drain(..over) {
            world.host(self.host).endpoint.remove(handle);
        }
        if self.reading {
            for handle in self.handles() {
                self.read_messages(world, books, handle)?;
            }
        }
        self.write_messages(world, books);
        Ok(aftermath)
    }

    fn take_event(
        &mut self,
        world: &mut World,
        books: &mut Books,
        handle: AssocHandle,
        event: Event,
    ) -> Result<Aftermath, Trouble> {
        if self.over.contains(&handle) {
            return Err(Trouble::AfterClosed(self.host.0, event));
        }
        let side = match self.lives.get(&handle) {
            Some(side) => *side,
            None => self.add_association(handle, books),
        };
        *self.heard.entry(name_event(&event)).or_default() += 1;
        match event {
            Event::SendFailed { message, .. } => {
                let told = books.ledger.note_failed(side, message);
                books.judge_breach(told)?;
            }
            Event::Abandoned { message, .. } => {
                let told = books.ledger.note_abandoned(side, message);
                books.judge_breach(told)?;
            }
            Event::PartialDeliveryAborted { stream, unordered } => {
                self.assembly.abort_message(handle, stream, unordered);
            }
            Event::MessageTooLarge { .. } => {
                let assoc = &world.host(self.host).config.assoc;
                books.filled |= assoc.extensions.interleaving && assoc.partial_delivery.is_none();
            }
            Event::Restarted => {
                // What is there to be read is the new peer's.
                self.end_parts(books, handle)?;
                // What the old peer acknowledged and did not read is gone with it.
                books.ledger.excuse_open(side);
                self.add_association(handle, books);
                return Ok(Aftermath::PeerUnknown);
            }
            Event::Closed(reason) => {
                self.read_messages(world, books, handle)?;
                self.end_parts(books, handle)?;
                return self.take_close(world, books, handle, reason);
            }
            _ => {}
        }
        Ok(Aftermath::Nothing)
    }

    fn take_close(
        &mut self,
        world: &mut World,
        books: &mut Books,
        handle: AssocHandle,
        reason: CloseReason,
    ) -> Result<Aftermath, Trouble> {
        let assoc = world.assoc(self.host, handle);
        if assoc.map(Association::state) != Some(State::Closed) {
            return Err(Trouble::ClosedTwice(self.host.0));
        }
        let keys = assoc.and_then(Association::protection_stats);
        self.rekeys += keys.map_or(0, |(keys, _)| keys.rekeys);
        self.lives.remove(&handle);
        if self.hasty {
            world.host(self.host).endpoint.remove(handle);
        } else {
            self.over.push(handle);
        }
        let refused = reason == CloseReason::PeerAbort { cause: Some(NEW_ADDRESSES) };
        let unfounded = matches!(reason, CloseReason::ProtocolViolation { .. })
            || matches!(reason, CloseReason::PeerAbort { cause: Some(cause) }
                if cause != USER_ABORT);
        let filled = books.filled
            && matches!(
                reason,
                CloseReason::ProtocolViolation { cause: PROTOCOL_VIOLATION }
                    | CloseReason::PeerAbort { cause: Some(PROTOCOL_VIOLATION) }
            );
        if unfounded && books.promised() && !filled && !(refused && books.renumbered) {
            return Err(Trouble::Accused(self.host.0, reason));
        }
        let busy =
            world.clock(self.host) <= self.read_at + world.host(self.host).config.assoc.rto.max;
        self.guarded |= busy && reason == CloseReason::ShutdownTimeout;
        let graceful = reason == CloseReason::Shutdown;
        self.endings.push(reason);
        Ok(if graceful { Aftermath::Nothing } else { Aftermath::PeerUnknown })
    }

    fn read_messages(
        &mut self,
        world: &mut World,
        books: &mut Books,
        handle: AssocHandle,
    ) -> Result<(), Trouble> {
        let now = world.clock(self.host);
        let Some(side) = self.lives.get(&handle).copied() else { return Ok(()) };
        while let Some(message) = receive_from(world, self.host, handle, now) {
            self.read_at = now;
            if !message.part.is_whole() {
                *self.heard.entry("part").or_default() += 1;
            }
            let whole = match self.assembly.take_part(handle, message) {
                Ok(whole) => whole,
                Err(what) if books.keeps_messages() => {
                    return Err(Trouble::Parts(self.host.0, what));
                }
                Err(_) => None,
            };
            if let Some(message) = whole {
                let told = books.ledger.note_delivered(side, &message);
                books.judge_breach(told)?;
            }
        }
        Ok(())
    }

    /// No message of the association goes on.
    fn end_parts(&mut self, books: &Books, handle: AssocHandle) -> Result<(), Trouble> {
        self.unfinished.retain(|message| message.handle != handle);
        match self.assembly.end_association(handle) {
            Err(what) if books.keeps_messages() => Err(Trouble::Parts(self.host.0, what)),
            _ => Ok(()),
        }
    }

    fn write_messages(&mut self, world: &mut World, books: &mut Books) {
        self.unfinished.retain_mut(|message| !hand_in(world, self.host, message));
        let Some(handle) = self.current() else { return };
        while let Some(job) = self.jobs.front().copied() {
            match self.send_message(world, books, handle, job) {
                Ok(()) if job.left > 1 => {
                    if let Some(job) = self.jobs.front_mut() {
                        job.left -= 1;
                    }
                }
                Err(SendError::WouldBlock | SendError::MessageOpen { .. }) => return,
                Err(SendError::ShuttingDown | SendError::Closed) => self.jobs.clear(),
                Ok(()) | Err(_) => {
                    self.jobs.pop_front();
                }
            }
        }
    }

    fn send_message(
        &mut self,
        world: &mut World,
        books: &mut Books,
        handle: AssocHandle,
        job: Job,
    ) -> Result<(), SendError> {
        let now = world.clock(self.host);
        let (ppid, data) = books.ledger.draft_message(job.bytes);
        let (unordered, immediate, reliability) = (job.unordered, ppid % 16 == 0, job.reliability);
        let options = SendOptions { unordered, ppid, immediate, reliability };
        let assoc = world.assoc_mut(self.host, handle).ok_or(SendError::Closed)?;
        // Without interleaving nothing else is sent until an open message is ended; a stream takes
        // nothing else in any case.
        let own = || self.unfinished.iter().filter(|message| message.handle == handle);
        let here = own().any(|message| message.stream == job.stream);
        // How much of a peer's buffer messages of unknown size will take cannot be told: one at a
        // time where it must hold them whole.
        let alone = !assoc.is_interleaving() || !self.peer_takes_parts;
        if here || own().next().is_some() && alone {
            return Err(SendError::MessageOpen { stream: job.stream });
        }
        let id: MessageId = if job.part == 0 {
            assoc.send(now, job.stream, data, options)?
        } else {
            let Job { stream, part, .. } = job;
            let mut message = Unfinished { handle, stream, options, rest: data, part };
            let (first, last) = message.next_part();
            let id = assoc.send_part(now, stream, first, message.options, last)?;
            message.note_taken();
            if !last {
                self.unfinished.push(message);
            }
            id
        };
        if let Some(side) = self.lives.get(&handle) {
            let reliable = job.reliability == Reliability::Full;
            let Job { stream, unordered, bytes, .. } = job;
            books.ledger.accepted_until(*side, id, stream, unordered, bytes, reliable);
        }
        Ok(())
    }
}

/// Hands in as much of a message as is taken. True when there is no more to do.
fn hand_in(world: &mut World, host: HostId, message: &mut Unfinished) -> bool {
    let now = world.clock(host);
    let Some(assoc) = world.assoc_mut(host, message.handle) else { return true };
    loop {
        let (part, last) = message.next_part();
        match assoc.send_part(now, message.stream, part, message.options, last) {
            Ok(_) if last => return true,
            Ok(_) => message.note_taken(),
            Err(SendError::WouldBlock) => return false,
            Err(_) => return true,
        }
    }
}

/// The kind of an event, for counting.
const fn name_event(event: &Event) -> &'static str {
    match event {
        Event::Restarted => "restarted",
        Event::PathAdded(_) => "path added",
        Event::PathRemoved(_) => "path removed",
        Event::LocalAddress { .. } => "local address",
        Event::PathState { .. } => "path state",
        Event::PathSilent { .. } => "path silent",
        Event::PacketsTooBig { .. } => "packets too big",
        Event::PathMtu { .. } => "path MTU",
        Event::Limited(_) => "limited",
        Event::Stalled { .. } => "stalled",
        Event::SendFailed { .. } => "send failed",
        Event::PartialDeliveryAborted { .. } => "partial delivery aborted",
        Event::MessageTooLarge { .. } => "message too large",
        Event::Abandoned { .. } => "abandoned",
        Event::StreamsReset { .. } => "streams reset",
        Event::AssociationReset { .. } => "association reset",
        Event::StreamsAdded { .. } => "streams added",
        Event::PeerError { .. } => "peer error",
        Event::Closed(_) => "closed",
        _ => "others",
    }
}

/// Cause code of an ABORT that refuses a restart with new addresses.
const NEW_ADDRESSES: u16 = 11;
/// The cause with which a message that is too large is refused.
const PROTOCOL_VIOLATION: u16 = 13;
/// Cause code of an ABORT that the application asked for.
const USER_ABORT: u16 = 12;

fn receive_from(
    world: &mut World,
    host: HostId,
    handle: AssocHandle,
    now: polypath_proto::time::Time,
) -> Option<Message> {
    world.assoc_mut(host, handle)?.recv(now, RecvFrom::Any)
}
