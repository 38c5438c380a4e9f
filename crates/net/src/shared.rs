//! What the reactor thread and the application share: the core behind one lock, and how each wakes
//! the other.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use polypath_proto::config::MAX_PATHS;
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::event::{CloseReason, Event};
use polypath_proto::ids::{ReconfigId, StreamId};
use polypath_proto::stats::PathStats;
use polypath_proto::time::Time;
use polypath_proto::{AssocHandle, Association, Endpoint, FourTuple, ReconfigOutcome, RecvFrom};
use tokio::sync::{Notify, broadcast};

use crate::batch::Flow;
use crate::clock::Clock;
use crate::config::{Config, LocalAddress};
use crate::contact::Contact;
use crate::error::{BindError, Closed};
use crate::observer::Observer;
use crate::refusals::Refusals;
use crate::setup_errors::SetupErrors;
use crate::socket::{Opened, Trouble, open_another};
use crate::trace::Recorder;

/// Shared by all handles of an endpoint and its reactor.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) clock: Clock,
    /// For the reactor: the application did something.
    pub(crate) work: Notify,
    /// For `accept`.
    pub(crate) incoming: Notify,
    /// For `refused`.
    pub(crate) refused: Notify,
    /// For `wait_idle`: an association went away.
    pub(crate) gone: Notify,
    /// What the endpoint was made with.
    pub(crate) config: Config,
}

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) core: Endpoint,
    /// Our addresses, with their UDP ports.
    pub(crate) local: Vec<SocketAddr>,
    /// The devices of addresses that were given with one, also of some that are gone.
    devices: Vec<(IpAddr, String)>,
    /// For the reactor: sockets to take over, addresses whose sockets are to be closed.
    pub(crate) opened: Vec<Opened>,
    pub(crate) slots: BTreeMap<AssocHandle, Slot>,
    /// Opened by us, and not set up when last looked at.
    opening: Vec<AssocHandle>,
    /// Opened by peers, and not accepted by the application yet.
    pub(crate) incoming: VecDeque<AssocHandle>,
    /// Opened by peers with which no keys could be agreed on.
    pub(crate) refusals: Refusals,
    /// Nobody reads from these any more: what arrives is dropped, until they are over.
    orphans: Vec<AssocHandle>,
    /// Over in the core, and nobody was told yet.
    ended: Vec<(AssocHandle, CloseReason)>,
    /// Somebody waits for room in their send buffers.
    pub(crate) waiting: Vec<AssocHandle>,
    /// Writes the trace, if there is to be one.
    recorder: Option<Recorder>,
    /// No handle of the application is left.
    pub(crate) abandoned: bool,
    /// The reactor is gone.
    pub(crate) stopped: bool,
}

/// What is kept of an association beside the core's.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) signals: Arc<Signals>,
    /// What its [`Observer`](crate::Observer) calls it; 0 without one.
    pub(crate) number: u32,
    pub(crate) established: bool,
    pub(crate) closed: Option<Box<CloseReason>>,
    /// The application has a handle, or will get one from `accept`.
    owned: bool,
    /// The application asked for a shutdown.
    pub(crate) leaving: bool,
    /// Bytes of room that the least demanding of the waiting senders needs; `None`: none waits.
    pub(crate) room_wanted: Option<u64>,
    /// Made for the first listener.
    events: Option<broadcast::Sender<Event>>,
    /// Most have none of it, and a server has many associations.
    seldom: Option<Box<SeldomUsed>>,
}

/// What most associations have none of.
#[derive(Debug, Default)]
struct SeldomUsed {
    /// Requests to reconfigure streams that somebody waits for, and the peer's answers.
    reconfigurations: BTreeMap<ReconfigId, Option<ReconfigOutcome>>,
    /// What the system, or somebody else, said of packets during set-up.
    setup_errors: SetupErrors,
    /// Why it refused to send on these paths.
    refusals: Vec<(FourTuple, String)>,
}

/// What the futures of one association wait for.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    pub(crate) readable: Notify,
    pub(crate) writable: Notify,
    /// Established, closed, or trouble.
    pub(crate) changed: Notify,
}

impl Signals {
    fn notify_all(&self) {
        self.readable.notify_waiters();
        self.writable.notify_waiters();
        self.changed.notify_waiters();
    }
}

/// Events that a slow listener may be behind.
const EVENTS_KEPT: usize = 256;

/// Addresses whose devices are remembered.
const DEVICES_KEPT: usize = 64;

/// A sender that waits for room is woken once there is this much, bytes, or an eighth of the buffer
/// if that is less: being woken for every packet would cost more than sending it.
const WORTH_WAKING: u64 = 64 << 10;

impl Slot {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            signals: Arc::default(),
            number: config.observer.as_ref().map_or(0, Observer::next_number),
            established: false,
            closed: None,
            owned: true,
            leaving: false,
            room_wanted: None,
            events: None,
            seldom: None,
        }
    }

    /// During set-up the system, or somebody else, said that packets do not get there.
    fn note_trouble(&mut self, now: Time, tuple: FourTuple, error: &io::Error) {
        if !self.established {
            let seldom = self.seldom.get_or_insert_default();
            seldom.setup_errors.note(now, tuple, error_words(error));
            self.signals.changed.notify_waiters();
        }
    }

    /// What went wrong during set-up, if anything did.
    pub(crate) fn setup_errors(&self) -> Option<&SetupErrors> {
        self.seldom.as_ref().map(|seldom| &seldom.setup_errors).filter(|errors| !errors.is_empty())
    }

    fn refusals(&self) -> &[(FourTuple, String)] {
        self.seldom.as_ref().map_or(&[], |seldom| &seldom.refusals)
    }

    /// Somebody waits for the answer to `request` from now on.
    pub(crate) fn await_reconfiguration(&mut self, request: ReconfigId) {
        self.seldom.get_or_insert_default().reconfigurations.insert(request, None);
    }

    /// The peer's answer to `request`, if it came.
    pub(crate) fn reconfiguration(&self, request: ReconfigId) -> Option<ReconfigOutcome> {
        *self.seldom.as_ref()?.reconfigurations.get(&request)?
    }

    /// Nobody waits for the answer to `request` any more.
    pub(crate) fn forget_reconfiguration(&mut self, request: ReconfigId) {
        if let Some(seldom) = &mut self.seldom {
            seldom.reconfigurations.remove(&request);
        }
    }

    pub(crate) fn subscribe(&mut self) -> broadcast::Receiver<Event> {
        let sender = self.events.get_or_insert_with(|| broadcast::Sender::new(EVENTS_KEPT));
        sender.subscribe()
    }
}

impl Shared {
    pub(crate) fn new(core: Endpoint, local: Vec<SocketAddr>, config: Config) -> Self {
        Self {
            state: Mutex::new(State {
                core,
                local,
                devices: config.local.iter().filter_map(LocalAddress::with_device).collect(),
                opened: Vec::new(),
                slots: BTreeMap::new(),
                opening: Vec::new(),
                incoming: VecDeque::new(),
                refusals: Refusals::default(),
                orphans: Vec::new(),
                ended: Vec::new(),
                waiting: Vec::new(),
                recorder: config.trace.clone().map(Recorder::new),
                abandoned: false,
                stopped: false,
            }),
            clock: Clock::new(),
            work: Notify::new(),
            incoming: Notify::new(),
            refused: Notify::new(),
            gone: Notify::new(),
            config,
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody holds association `h` any more: it says goodbye and goes, or gives up if it was never
    /// set up.
    pub(crate) fn abandon_association(&self, h: AssocHandle) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.write_trace();
        let Some(slot) = state.slots.get_mut(&h) else { return };
        (slot.owned, slot.leaving) = (false, true);
        let established = slot.established;
        if slot.closed.is_some() {
            state.forget_association(h);
            self.gone.notify_waiters();
        } else if let Some(association) = state.core.association_mut(h) {
            if established {
                association.shutdown(now);
            } else {
                association.abort(now, bytes::Bytes::new());
            }
            state.orphans.push(h);
        }
        drop(state);
        self.work.notify_one();
    }

    /// Opens a socket at `local` and offers the address to the peers.
    pub(crate) fn add_address(&self, local: &LocalAddress) -> Result<SocketAddr, BindError> {
        let port = {
            let state = self.lock();
            if state.local.iter().any(|at| at.ip() == local.address) {
                return Err(BindError::Twice(local.address));
            }
            state.local.first().map_or(0, SocketAddr::port)
        };
        let opened = open_another(&self.config, local, port)?;
        let at = opened.addresses().first().copied();
        let at = at.unwrap_or(SocketAddr::new(local.address, port));
        let mut state = self.lock();
        state.local.push(at);
        state.devices.retain(|(address, _)| *address != local.address);
        if state.devices.len() == DEVICES_KEPT {
            state.devices.remove(0);
        }
        state.devices.extend(local.with_device());
        state.opened.push(opened);
        state.core.add_address(self.clock.now(), at);
        drop(state);
        self.work.notify_one();
        Ok(at)
    }

    /// The address with its UDP port, if it is ours.
    pub(crate) fn local_address(&self, address: IpAddr) -> Option<SocketAddr> {
        self.lock().local.iter().copied().find(|at| at.ip() == address)
    }

    /// Takes the address back. Its socket is closed once no association has a path from there.
    /// False: it was not ours, or is the last one.
    pub(crate) fn remove_address(&self, address: IpAddr) -> bool {
        let mut state = self.lock();
        let known = state.local.iter().any(|at| at.ip() == address);
        if !known || state.local.len() == 1 {
            return false;
        }
        state.local.retain(|at| at.ip() != address);
        state.core.remove_address(self.clock.now(), address);
        drop(state);
        self.work.notify_one();
        true
    }

    /// No handle is left at all.
    pub(crate) fn abandon_endpoint(&self) {
        self.lock().abandoned = true;
        self.work.notify_one();
    }

    /// The reactor ends, orderly or not: nobody shall wait for it.
    pub(crate) fn stop_reactor(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for slot in state.slots.values_mut() {
            slot.closed.get_or_insert(Box::new(CloseReason::LocalAbort));
            slot.signals.notify_all();
            slot.events = None;
        }
        drop(state);
        self.incoming.notify_waiters();
        self.refused.notify_waiters();
        self.gone.notify_waiters();
    }

    /// A packet could not be sent: the system itself says that this path does not work now. An
    /// answer to a stranger is lost.
    pub(crate) fn send_failed(&self, flow: Flow, error: &io::Error) {
        let Some(h) = flow.assoc else { return };
        // Out of memory for a moment, or a packet too long: the path is not to blame.
        let transient = [nix::Error::ENOBUFS, nix::Error::EMSGSIZE];
        if transient.iter().any(|e| error.raw_os_error() == Some(*e as i32)) {
            return;
        }
        let now = self.clock.now();
        let mut state = self.lock();
        if let Some(slot) = state.slots.get_mut(&h) {
            slot.note_trouble(now, flow.tuple, error);
        }
        if let Some(association) = state.core.association_mut(h) {
            association.path_failed(now, flow.tuple);
            state.note_refusal(h, flow.tuple, error);
        }
    }

    /// A packet was too large for its interface, which carries IP packets of `carried` bytes, if
    /// that is known.
    pub(crate) fn packet_refused(&self, tuple: FourTuple, packet: &[u8], carried: Option<u32>) {
        let now = self.clock.now();
        self.lock().core.packet_refused(now, tuple, packet, carried);
    }

    /// A router, or the peer's host, says that a packet did not arrive. During set-up it is told to
    /// the user, when no path is left; later the core judges what quotes enough of the packet to
    /// prove that its sender saw it. Anybody may say it, as often as he likes: what it takes does
    /// not grow with the number of associations.
    pub(crate) fn heard_of_trouble(&self, tuple: FourTuple, trouble: &Trouble) {
        let now = self.clock.now();
        let mut state = self.lock();
        if let Some(slot) = state.set_up_along(tuple) {
            if trouble.errno != nix::Error::EMSGSIZE as i32 {
                slot.note_trouble(now, tuple, &io::Error::from_raw_os_error(trouble.errno));
            }
            return;
        }
        // Linux says "protocol unreachable" also when the buffer of the peer's raw socket is full
        // for a moment: no reason to end an association whose silence would tell the truth.
        let true_word = |report: &IcmpReport| *report != IcmpReport::ProtocolUnreachable;
        if let Some(report) = trouble.report.filter(true_word) {
            state.core.handle_icmp(now, tuple, trouble.quoted_packet(), report);
        }
    }

    /// Passes on what the core has to tell.
    pub(crate) fn dispatch_events(&self, state: &mut State, now: Time) {
        while let Some((h, event)) = state.core.poll_event() {
            self.dispatch_one(state, now, h, event);
        }
        state.drain_orphans(now);
        state.wake_senders(now);
    }

    fn dispatch_one(&self, state: &mut State, now: Time, h: AssocHandle, event: Event) {
        let known = state.slots.contains_key(&h);
        // Of an association that a peer opens, its set-up is told first, or else its end alone.
        if let (false, Event::Closed(reason)) = (known, &event) {
            return self.refuse_association(state, h, reason);
        }
        let slot = state.slots.entry(h).or_insert_with(|| Slot::new(&self.config));
        if !known {
            state.incoming.push_back(h);
            self.incoming.notify_waiters();
        }
        match &event {
            Event::Readable => return slot.signals.readable.notify_waiters(),
            Event::Writable(_) => return,
            Event::Established { .. } => {
                slot.established = true;
                slot.signals.changed.notify_waiters();
            }
            Event::Reconfigured { request, outcome } => {
                let waiting = slot.seldom.as_mut().map(|seldom| &mut seldom.reconfigurations);
                if let Some(answer) = waiting.and_then(|waiting| waiting.get_mut(request)) {
                    *answer = Some(*outcome);
                    slot.signals.changed.notify_waiters();
                }
            }
            // The peer's new life knows nothing of it, and nobody would ask again.
            Event::Restarted if slot.leaving => {
                if let Some(association) = state.core.association_mut(h) {
                    association.shutdown(now);
                }
            }
            Event::PeerShutdown => slot.signals.writable.notify_waiters(),
            Event::Closed(reason) => return state.ended.push((h, reason.clone())),
            _ => {}
        }
        if let Some(observer) = &self.config.observer {
            observer.tell(slot.number, &event);
        }
        if let Some(events) = &slot.events {
            let _nobody_listens = events.send(event);
        }
    }

    /// No keys could be agreed on with the peer that opened `h`: nobody accepts it.
    fn refuse_association(&self, state: &mut State, h: AssocHandle, reason: &CloseReason) {
        if let Some(association) = state.core.association(h)
            && let Some(path) = association.stats().paths.first()
        {
            let reason = Closed::from_reason(reason.clone(), &association.abort_reason());
            state.refusals.note(path.remote, reason);
            self.refused.notify_waiters();
        }
        state.remove_from_core(h);
    }

    /// Tells of the ends of associations, once their last packets are out: the process may end on
    /// hearing of it.
    pub(crate) fn tell_ends(&self) {
        let mut state = self.lock();
        for (h, reason) in std::mem::take(&mut state.ended) {
            let Some(slot) = state.slots.get_mut(&h) else { continue };
            slot.closed = Some(Box::new(reason.clone()));
            slot.signals.notify_all();
            if let Some(observer) = &self.config.observer {
                observer.tell(slot.number, &Event::Closed(reason.clone()));
            }
            // Listeners get what was sent before, and then the end.
            if let Some(events) = slot.events.take() {
                let _nobody_listens = events.send(Event::Closed(reason));
            }
            if !slot.owned {
                state.forget_association(h);
            }
            self.gone.notify_waiters();
        }
    }
}

impl State {
    pub(crate) fn association(&mut self, h: AssocHandle) -> Option<&mut Association> {
        self.core.association_mut(h)
    }

    /// We begin to set `h` up.
    pub(crate) fn begin_association(&mut self, h: AssocHandle, slot: Slot) {
        self.forget_opened();
        self.slots.insert(h, slot);
        self.opening.push(h);
    }

    fn forget_opened(&mut self) {
        let Self { slots, opening, .. } = self;
        let under_way = |slot: &Slot| !slot.established && slot.closed.is_none();
        opening.retain(|h| slots.get(h).is_some_and(under_way));
    }

    /// The association with this path that we began to set up, if it is not set up yet.
    fn set_up_along(&mut self, tuple: FourTuple) -> Option<&mut Slot> {
        self.forget_opened();
        let along = |h: &AssocHandle| {
            let paths = self.core.association(*h).map(|a| a.stats().paths).unwrap_or_default();
            paths.iter().any(|p| p.local == tuple.local && p.remote == tuple.remote)
        };
        let h = self.opening.iter().copied().find(along)?;
        self.slots.get_mut(&h)
    }

    /// Why `h` is over, if it is.
    pub(crate) fn close_reason(&self, h: AssocHandle) -> Option<CloseReason> {
        match self.slots.get(&h) {
            Some(slot) => slot.closed.as_deref().cloned(),
            None => Some(CloseReason::LocalAbort),
        }
    }

    /// The error for whoever uses `h` though it is over.
    pub(crate) fn closed_error(&self, h: AssocHandle) -> Option<Closed> {
        let words = self.core.association(h).map(Association::abort_reason);
        let words = words.unwrap_or_default();
        self.close_reason(h).map(|reason| Closed::from_reason(reason, &words))
    }

    /// The error for whoever finds `h` of no use, also when nobody was told of its end yet.
    pub(crate) fn why_closed(&self, h: AssocHandle) -> Closed {
        let early = || {
            let core = self.core.association(h)?;
            Some(Closed::from_reason(core.close_reason()?.clone(), &core.abort_reason()))
        };
        self.closed_error(h).or_else(early).unwrap_or(Closed::LocalAbort)
    }

    /// The system refuses to send on a path of `h`: the latest reason is kept for each.
    fn note_refusal(&mut self, h: AssocHandle, tuple: FourTuple, error: &io::Error) {
        let Some(slot) = self.slots.get_mut(&h) else { return };
        let refusals = &mut slot.seldom.get_or_insert_default().refusals;
        refusals.retain(|(at, _)| *at != tuple);
        if refusals.len() < MAX_PATHS {
            refusals.push((tuple, error_words(error)));
        }
    }

    /// The device of one of our addresses, if it was given with one.
    pub(crate) fn device_of(&self, address: IpAddr) -> Option<String> {
        let known = self.devices.iter().find(|(at, _)| *at == address);
        known.map(|(_, device)| device.clone())
    }

    /// What was heard of a path of `h`.
    pub(crate) fn last_contact(
        &self,
        h: AssocHandle,
        association: &Association,
        path: &PathStats,
        now: Time,
    ) -> Contact {
        let core = association.path_contact(path.path).unwrap_or_default();
        let tuple = FourTuple { local: path.local, remote: path.remote };
        let refusals = self.slots.get(&h).map_or(&[][..], Slot::refusals);
        let refusal = refusals.iter().find(|(at, _)| *at == tuple);
        Contact {
            silent_for: core.last_heard.map(|heard| now.since(heard)),
            unanswered: core.unanswered,
            silent: core.silent,
            refusal: refusal.map(|(_, why)| why.clone()),
        }
    }

    /// Whether associations ended of which nobody was told yet.
    pub(crate) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Associations that are not over.
    pub(crate) fn count_live(&self) -> usize {
        self.slots.values().filter(|slot| slot.closed.is_none()).count()
    }

    /// Writes what associations recorded since the last time.
    pub(crate) fn write_trace(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            self.core.drain_traces(|h, association, records| {
                recorder.record(h, association, records);
            });
        }
    }

    fn remove_from_core(&mut self, h: AssocHandle) {
        if let Some(recorder) = &mut self.recorder {
            if let Some((association, records)) = self.core.take_trace(h) {
                recorder.record(h, association, records);
            }
            recorder.forget(h);
        }
        self.core.remove(h);
    }

    fn forget_association(&mut self, h: AssocHandle) {
        self.remove_from_core(h);
        self.slots.remove(&h);
        self.orphans.retain(|other| *other != h);
        self.incoming.retain(|other| *other != h);
    }

    /// A peer that sends on into a buffer nobody reads could not finish its shutdown.
    fn drain_orphans(&mut self, now: Time) {
        for &h in &self.orphans {
            let readable = self.core.association(h).is_some_and(|a| a.receive_buffer().0 > 0);
            if let Some(association) = self.core.association_mut(h).filter(|_| readable) {
                while association.recv(now, RecvFrom::Any).is_some() {}
            }
        }
    }

    /// Wakes senders that wait, where enough has left the send buffer.
    fn wake_senders(&mut self, now: Time) {
        let Self { core, slots, waiting, .. } = self;
        waiting.retain(|h| {
            let Some(slot) = slots.get_mut(h) else { return false };
            let Some(wanted) = slot.room_wanted else { return false };
            let Some(association) = core.association(*h) else { return false };
            let limit = association.view(now).send_buffer.limit;
            let worth = wanted.max(WORTH_WAKING.min(limit / 8)).min(limit);
            if association.writable() < worth {
                return true;
            }
            slot.room_wanted = None;
            slot.signals.writable.notify_waiters();
            false
        });
    }

    /// A sender of `bytes` bytes on `stream` waits for room.
    pub(crate) fn wait_for_room(&mut self, h: AssocHandle, stream: StreamId, bytes: u64) {
        let Some(association) = self.core.association(h) else { return };
        // Woken for room that is kept for urgent streams, it would only ask again.
        let kept = association.writable().saturating_sub(association.writable_on(stream));
        let bytes = bytes.saturating_add(kept);
        let Some(slot) = self.slots.get_mut(&h) else { return };
        match &mut slot.room_wanted {
            Some(wanted) => *wanted = bytes.min(*wanted),
            none => {
                *none = Some(bytes);
                self.waiting.push(h);
            }
        }
    }
}

/// An error in words, without the system's number.
fn error_words(error: &io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or(&text);
    plain.to_lowercase()
}
