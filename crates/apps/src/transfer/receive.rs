//! The receiving side.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{Association, Bytes};

use super::codec::{Digest, Kind, Message, Offer, Task, Verdict};
use super::finish::{self, MAX_WAITING};
use super::holes::Zeros;
use super::identity::Owner;
use super::incoming::{BlockError, Books, Incoming, Place};
use super::layout::{BLOCK_SHIFTS, Layout, block_shift};
use super::link::{self, Pulse};
use super::part::{self, Stamp};
use super::shelf::Session;
use super::store::{ENTRY_BYTES, Store};
use super::tree::Refusal;
use super::{
    Cause, Failure, MAX_OFFERED, MAX_WORDS, Observer, Report, TransferError, name, target,
};
use crate::shown;

/// Messages taken at a time.
const BATCH: usize = 32;
/// How often the sender is told that something takes long.
const WORKING: Duration = Duration::from_secs(5);

/// How to receive.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveOptions {
    /// Give up when the peer has been silent for so long. Longer than twice the heartbeat interval.
    pub silence: Duration,
    /// Bytes of the association's receive buffer: blocks are a small part of it.
    pub buffer: u64,
}

/// A sender's first words.
#[derive(Clone, Copy, Debug)]
pub struct Greeting {
    files: u64,
    bytes: u64,
    block_shift: u8,
}

/// Waits for the greeting of a sender.
///
/// # Errors
/// When it does not come in time, or is none; then the association is aborted.
pub async fn await_greeting(
    association: &Association,
    limit: Duration,
) -> Result<Greeting, TransferError> {
    let heard = match tokio::time::timeout(limit, association.recv()).await {
        Err(_) => Err(TransferError::NoGreeting(limit)),
        Ok(Err(closed)) => Err(closed.into()),
        Ok(Ok(None)) => Err(TransferError::EndedEarly),
        Ok(Ok(Some(message))) => Message::decode(&message.data).map_err(TransferError::from),
    };
    let greeting = heard.and_then(|message| match message {
        Message::Hello { files, bytes, block_shift } if BLOCK_SHIFTS.contains(&block_shift) => {
            Ok(Greeting { files, bytes, block_shift })
        }
        _ => Err(TransferError::Protocol("it should greet first")),
    });
    if let Err(error) = &greeting {
        association.abort(error.to_string());
    }
    greeting
}

/// Receives files and folders from a peer that [sends](super::send()) and has
/// [greeted](await_greeting), until it shuts the association down. Files that fail do not stop the others: see the report.
///
/// # Errors
/// When the transfer as a whole ends early; then the association is aborted.
pub async fn receive(
    association: &Association,
    greeting: Greeting,
    store: &Arc<Store>,
    options: ReceiveOptions,
    observer: &dyn Observer,
) -> Result<Report, TransferError> {
    link::prefer_control(association);
    let (session, pulse) = (store.new_session(), Pulse::default());
    let mut receiver = Receiver {
        association,
        store,
        session: session.clone(),
        pulse: &pulse,
        observer,
        block_shift: block_shift(options.buffer).min(greeting.block_shift),
        owner: None,
        done: false,
        next_id: 0,
        offered: BTreeMap::new(),
        words: 0,
        complete: Vec::new(),
        open: VecDeque::new(),
        books: Books::default(),
        zeros: Zeros::default(),
        report: Report::default(),
    };
    observer.total(greeting.files, greeting.bytes);
    let outcome = tokio::select! {
        outcome = receiver.receive_all() => outcome,
        error = link::await_silence(association, &pulse, options.silence) => Err(error),
        () = session.superseded.notified() => Err(TransferError::TakenOver),
        () = link::tell_of_paths(association, observer) => Err(TransferError::EndedEarly),
    };
    // Once both said goodbye, all is well however the association ends.
    let outcome = match outcome {
        Err(_) if receiver.done => {
            association.abort("");
            Ok(())
        }
        Err(error) => {
            association.abort(error.to_string());
            Err(error)
        }
        Ok(()) => Ok(()),
    };
    outcome.map(|()| receiver.report)
}

struct Receiver<'a> {
    association: &'a Association,
    store: &'a Arc<Store>,
    session: Arc<Session>,
    pulse: &'a Pulse,
    observer: &'a dyn Observer,
    block_shift: u8,
    owner: Option<Owner>,
    done: bool,
    /// All numbers below were used.
    next_id: u32,
    offered: BTreeMap<u32, State>,
    /// Bytes of their names.
    words: usize,
    /// Files that wait for their names.
    complete: Vec<(u32, Incoming)>,
    /// Files with a descriptor, the longest open first.
    open: VecDeque<u32>,
    books: Books,
    zeros: Zeros,
    report: Report,
}

enum State {
    /// This sender stored a file of this name and size; its hash of it is awaited.
    Comparing {
        offer: Offer,
        layout: Layout,
        known: Digest,
    },
    Receiving(Box<Incoming>),
}

impl State {
    const fn offer(&self) -> &Offer {
        match self {
            Self::Comparing { offer, .. } => offer,
            Self::Receiving(incoming) => incoming.offer(),
        }
    }
}

impl Receiver<'_> {
    async fn receive_all(&mut self) -> Result<(), TransferError> {
        let (block_shift, realm) = (self.block_shift, *self.store.realm());
        self.send_message(&Message::Welcome { block_shift, realm }).await?;
        let mut batch = Vec::new();
        while self.hear_some(&mut batch).await? {
            for message in batch.drain(..) {
                self.pulse.note_word();
                self.handle_message(&message.data).await?;
            }
        }
        if self.done { Ok(()) } else { Err(TransferError::EndedEarly) }
    }

    /// Takes messages; false: there will be none. When there is none at the moment, complete files
    /// get their names.
    async fn hear_some(
        &mut self,
        batch: &mut Vec<polypath_net::Message>,
    ) -> Result<bool, TransferError> {
        if !self.complete.is_empty() {
            while batch.len() < BATCH
                && let Some(message) = self.association.try_recv()
            {
                batch.push(message);
            }
            if !batch.is_empty() {
                return Ok(true);
            }
            self.name_files().await?;
        }
        Ok(self.association.recv_many(batch, BATCH).await? > 0)
    }

    async fn handle_message(&mut self, bytes: &Bytes) -> Result<(), TransferError> {
        let message = Message::decode(bytes)?;
        if self.done || self.owner.is_none() != matches!(message, Message::Identity { .. }) {
            return Err(TransferError::Protocol("it should say who it is, first and once"));
        }
        if !matches!(message, Message::Working) {
            self.pulse.note_progress();
        }
        match message {
            Message::Block { id, index, data } => self.write_block(id, index, &data).await,
            Message::Identity { id } => {
                self.owner = Some(Owner::new(&id));
                Ok(())
            }
            Message::Offer(offer) => self.handle_offer(offer).await,
            Message::Holes { id, runs } => self.note_holes(id, &runs).await,
            Message::End { id, blocks, digest } => self.end_file(id, blocks, digest).await,
            Message::Withdraw { id } if id < self.next_id => {
                if let Some(state) = self.remove_file(id) {
                    let name = shown::escape_bytes(&state.offer().name);
                    let text = "the sender cannot send it any more".to_owned();
                    let failure = Failure { name, cause: Cause::Source, text };
                    self.report.note_failure(failure, self.observer);
                }
                Ok(())
            }
            Message::Done if self.offered.is_empty() && self.complete.is_empty() => {
                self.done = true;
                self.send_message(&Message::Bye).await
            }
            Message::Working => Ok(()),
            _ => Err(TransferError::Protocol("a sender does not say that")),
        }
    }

    async fn handle_offer(&mut self, offer: Offer) -> Result<(), TransferError> {
        let files = self.offered.len() + self.complete.len();
        let wordy = files > 0 && self.words + offer.words() > MAX_WORDS;
        if offer.id != self.next_id || files >= MAX_OFFERED || wordy {
            return Err(TransferError::Protocol("an offer out of turn, or too many"));
        }
        self.next_id = self.next_id.saturating_add(1);
        let (id, kind) = (offer.id, offer.kind);
        let shown = shown::escape_bytes(&offer.name);
        let answer = match kind {
            Kind::Folder => self.make_folder(&offer).map(|()| None),
            Kind::Link => self.make_link(&offer).map(|()| None),
            Kind::File => {
                self.observer.file(&shown, offer.size);
                match self.inspect_offer(offer) {
                    Ok((offer, layout, Some(known))) => {
                        Ok(Some(State::Comparing { offer, layout, known }))
                    }
                    Ok((offer, layout, None)) => self.begin_file(offer, layout).await?.map(Some),
                    Err(refusal) => Err(refusal),
                }
            }
        };
        match answer {
            Ok(Some(state)) => self.ask_sender(id, state).await,
            Ok(None) => {
                let links = kind == Kind::Link;
                let made = if links { &mut self.report.links } else { &mut self.report.folders };
                *made += 1;
                self.send_verdict(id, Verdict::Stored, String::new()).await
            }
            Err(refusal) => self.refuse_file(id, &shown, refusal).await,
        }
    }

    fn make_folder(&self, offer: &Offer) -> Result<(), Refusal> {
        let parts = self.check_name(&offer.name)?;
        self.store.spend_quota(ENTRY_BYTES)?;
        self.store.root.make_below(&parts, Some(offer.mode)).map(drop)
    }

    /// Makes a symbolic link, which nothing here will ever follow.
    fn make_link(&self, offer: &Offer) -> Result<(), Refusal> {
        let (_, place) = self.find_place(offer)?;
        let target = target::check_target(&offer.name, &offer.target, self.store.options.hidden);
        let target = target
            .map_err(|why| Refusal::new(Verdict::BadName, format!("the link is refused: {why}")))?;
        self.store.spend_quota(ENTRY_BYTES)?;
        let folder = self.store.root.make_below(&place.name_parts(), None)?;
        let names = (&place.unfinished[..], &place.file[..]);
        part::make_link(&folder, names, &target, offer.mtime, self.store.options.overwrite)
    }

    fn check_name<'n>(&self, name: &'n [u8]) -> Result<Vec<&'n [u8]>, Refusal> {
        let parts = name::split_name(name, self.store.options.hidden);
        parts.map_err(|why| Refusal::new(Verdict::BadName, format!("the name is refused: {why}")))
    }

    fn find_place(&self, offer: &Offer) -> Result<(Owner, Place), Refusal> {
        let parts = self.check_name(&offer.name)?;
        let owner = self.owner.ok_or_else(too_large)?;
        Ok((owner, Place::new(&parts, &owner).ok_or_else(too_large)?))
    }

    /// How the file is cut, and its hash if this sender stored it before and nobody has changed it
    /// since. What others stored makes no difference.
    fn inspect_offer(&self, offer: Offer) -> Result<(Offer, Layout, Option<Digest>), Refusal> {
        let layout = Layout::new(offer.size, self.block_shift).ok_or_else(too_large)?;
        let (owner, place) = self.find_place(&offer)?;
        let entry = self.store.lock_index().get(owner.file_key(&offer.name));
        let fits = |of: &super::index::Entry| {
            of.stamp.size == offer.size && of.block_shift == self.block_shift
        };
        let Some(entry) = entry.filter(fits) else { return Ok((offer, layout, None)) };
        let there = match place.find_folder(self.store)? {
            Some(folder) => Stamp::of_name(&folder, &name::copy_name(&place.file, entry.copy))?,
            None => None,
        };
        let known = (there == Some(entry.stamp)).then_some(entry.digest);
        Ok((offer, layout, known))
    }

    async fn begin_file(
        &self,
        offer: Offer,
        layout: Layout,
    ) -> Result<Result<State, Refusal>, TransferError> {
        let (owner, place) = match self.find_place(&offer) {
            Ok(found) => found,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (store, session) = (self.store.clone(), self.session.clone());
        let work = move || Incoming::begin_file(store, session, &owner, offer, layout, place);
        Ok(self.run_patiently(work).await?.map(|incoming| State::Receiving(Box::new(incoming))))
    }

    /// Asks the sender for what a file lacks.
    async fn ask_sender(&mut self, id: u32, state: State) -> Result<(), TransferError> {
        let asked = match &state {
            State::Comparing { .. } => Ok((Vec::new(), Task::Compare)),
            State::Receiving(incoming) => {
                incoming.claim_messages().map(|claims| (claims, Task::Send))
            }
        };
        match asked {
            Ok((mut messages, task)) => {
                self.words += state.offer().words();
                self.offered.insert(id, state);
                messages.push(Message::Go { id, task });
                let messages = messages.iter().map(Message::encode).collect();
                link::say_all(self.association, messages).await
            }
            Err(refusal) => {
                let shown = shown::escape_bytes(&state.offer().name);
                self.refuse_file(id, &shown, refusal).await
            }
        }
    }

    async fn write_block(&mut self, id: u32, index: u64, data: &[u8]) -> Result<(), TransferError> {
        let incoming = match self.offered.get_mut(&id) {
            Some(State::Receiving(incoming)) => incoming,
            // Still on its way when the file was given up.
            None if id < self.next_id => return Ok(()),
            _ => return Err(TransferError::Protocol("a block that nobody asked for")),
        };
        let was_open = incoming.is_open();
        let written = incoming.write_block(index, data, &mut self.books, &mut self.zeros);
        if !was_open && incoming.is_open() {
            self.note_opened(id);
        }
        match written {
            Ok(len) => {
                let (travelled, len) = (data.len() as u64, len as u64);
                self.report.travelled += travelled;
                self.report.holes += len - travelled;
                self.observer.progress(len, travelled > 0);
                self.conclude_file(id).await
            }
            Err(error) => self.handle_trouble(id, error).await,
        }
    }

    async fn note_holes(&mut self, id: u32, runs: &[(u32, u32)]) -> Result<(), TransferError> {
        let incoming = match self.offered.get_mut(&id) {
            Some(State::Receiving(incoming)) => incoming,
            None if id < self.next_id => return Ok(()),
            _ => return Err(TransferError::Protocol("holes that nobody asked for")),
        };
        let was_open = incoming.is_open();
        let noted = incoming.note_holes(runs, &mut self.books);
        if !was_open && incoming.is_open() {
            self.note_opened(id);
        }
        match noted {
            Ok(bytes) => {
                self.report.holes += bytes;
                self.observer.progress(bytes, false);
                Ok(())
            }
            Err(error) => self.handle_trouble(id, error).await,
        }
    }

    async fn handle_trouble(&mut self, id: u32, error: BlockError) -> Result<(), TransferError> {
        match error {
            BlockError::Protocol(what) => Err(TransferError::Protocol(what)),
            BlockError::Disk(refusal) => self.give_up(id, refusal).await,
            BlockError::TakenOver => Err(TransferError::TakenOver),
        }
    }

    /// Keeps to the number of descriptors that this session may have.
    fn note_opened(&mut self, id: u32) {
        self.open.push_back(id);
        if self.open.len() <= self.store.options.open_files {
            return;
        }
        let longest = self.open.pop_front().and_then(|id| self.offered.get_mut(&id));
        if let Some(State::Receiving(incoming)) = longest {
            incoming.close_file();
        }
    }

    async fn end_file(
        &mut self,
        id: u32,
        blocks: u64,
        digest: Digest,
    ) -> Result<(), TransferError> {
        match self.offered.get_mut(&id) {
            Some(State::Receiving(incoming)) => {
                incoming.end_blocks(blocks, digest).map_err(TransferError::Protocol)?;
                self.conclude_file(id).await
            }
            Some(State::Comparing { .. }) => self.compare_digest(id, digest).await,
            None if id < self.next_id => Ok(()),
            None => Err(TransferError::Protocol("the end of a file that was not offered")),
        }
    }

    async fn compare_digest(&mut self, id: u32, digest: Digest) -> Result<(), TransferError> {
        let Some(State::Comparing { offer, layout, known }) = self.remove_file(id) else {
            return Ok(());
        };
        let shown = shown::escape_bytes(&offer.name);
        if digest == known {
            self.report.already_there += 1;
            self.observer.progress(offer.size, false);
            self.observer.note(&format!("{shown}: already there"));
            return self.send_verdict(id, Verdict::AlreadyThere, String::new()).await;
        }
        match self.begin_file(offer, layout).await? {
            Ok(state) => self.ask_sender(id, state).await,
            Err(refusal) => self.refuse_file(id, &shown, refusal).await,
        }
    }

    /// Puts a file of which everything has come to those that wait for their names.
    async fn conclude_file(&mut self, id: u32) -> Result<(), TransferError> {
        let complete =
            matches!(self.offered.get(&id), Some(State::Receiving(i)) if i.is_complete());
        if !complete {
            return Ok(());
        }
        let Some(State::Receiving(mut incoming)) = self.remove_file(id) else { return Ok(()) };
        incoming.close_file();
        self.words += incoming.offer().words();
        self.complete.push((id, *incoming));
        if self.complete.len() < MAX_WAITING { Ok(()) } else { self.name_files().await }
    }

    /// Gives complete files their names, and tells the sender.
    async fn name_files(&mut self) -> Result<(), TransferError> {
        let complete = core::mem::take(&mut self.complete);
        let about = |(id, i): &(u32, Incoming)| (*id, (i.offer().name.clone(), i.offer().size));
        let mut about: BTreeMap<u32, (Vec<u8>, u64)> = complete.iter().map(about).collect();
        self.words -= complete.iter().map(|(_, i)| i.offer().words()).sum::<usize>();
        let store = self.store.clone();
        let done = self.run_patiently(move || finish::finish_files(&store, complete)).await?;
        let mut verdicts = Vec::new();
        for (id, result) in done {
            let (name, size) = about.remove(&id).unwrap_or_default();
            let verdict = match result {
                Ok(copy) => {
                    self.note_stored(&name, size, copy);
                    Message::Verdict { id, verdict: Verdict::Stored, text: String::new() }
                }
                Err(refusal) => self.note_refused(id, &shown::escape_bytes(&name), refusal),
            };
            verdicts.push(verdict.encode());
        }
        link::say_all(self.association, verdicts).await
    }

    fn note_stored(&mut self, name: &[u8], size: u64, copy: u32) {
        self.report.stored += 1;
        self.report.bytes += size;
        if copy > 1 {
            let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
            let stored = shown::escape_bytes(&name::copy_name(file, copy));
            let shown = shown::escape_bytes(name);
            self.observer.note(&format!("{shown}: stored as {stored}: its name is taken"));
        }
    }

    fn remove_file(&mut self, id: u32) -> Option<State> {
        let state = self.offered.remove(&id)?;
        self.words -= state.offer().words();
        self.open.retain(|open| *open != id);
        if let State::Receiving(incoming) = &state {
            incoming.strike_off(&mut self.books);
        }
        Some(state)
    }

    /// Does what may take long, and tells the sender that it does.
    async fn run_patiently<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TransferError> {
        let task = tokio::task::spawn_blocking(work);
        tokio::pin!(task);
        loop {
            tokio::select! {
                done = &mut task => {
                    self.pulse.note_progress();
                    return done.map_err(|_| TransferError::Protocol("this side failed"));
                }
                () = tokio::time::sleep(WORKING) => {
                    self.pulse.note_progress();
                    self.send_message(&Message::Working).await?;
                }
            }
        }
    }

    async fn give_up(&mut self, id: u32, refusal: Refusal) -> Result<(), TransferError> {
        let state = self.remove_file(id);
        let shown = state.map(|state| shown::escape_bytes(&state.offer().name)).unwrap_or_default();
        self.refuse_file(id, &shown, refusal).await
    }

    async fn refuse_file(
        &mut self,
        id: u32,
        shown: &str,
        refusal: Refusal,
    ) -> Result<(), TransferError> {
        let verdict = self.note_refused(id, shown, refusal);
        self.send_message(&verdict).await
    }

    /// What to tell the sender.
    fn note_refused(&mut self, id: u32, shown: &str, refusal: Refusal) -> Message {
        let Refusal { verdict, text } = refusal;
        let cause = Cause::Receiver(verdict);
        let failure = Failure { name: shown.to_owned(), cause, text: text.clone() };
        self.report.note_failure(failure, self.observer);
        Message::Verdict { id, verdict, text }
    }

    async fn send_verdict(
        &mut self,
        id: u32,
        verdict: Verdict,
        text: String,
    ) -> Result<(), TransferError> {
        self.send_message(&Message::Verdict { id, verdict, text }).await
    }

    async fn send_message(&self, message: &Message) -> Result<(), TransferError> {
        link::send_message(self.association, message).await
    }
}

fn too_large() -> Refusal {
    Refusal::new(Verdict::Trouble, "the file is too large")
}
