//! The sending side.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::num::NonZeroU64;
use std::time::Duration;

use polypath_net::{Association, Bytes};
use tokio::time::Instant;

use super::codec::{Digest, Kind, MAX_NAME, MAX_RUNS, Message, Offer, Realm, Task, Verdict};
use super::identity::Identity;
use super::layout::{BLOCK_SHIFTS, Hasher, Layout, block_shift};
use super::link::{self, Pulse};
use super::reading::{Blocks, Piece, Reading};
use super::throttle::Throttle;
use super::tree::error_words;
use super::walk::{Facts, Found, Source, Sources, Walk};
use super::{Cause, Failure, MAX_OFFERED, MAX_WORDS, Observer, Report, TransferError};
use crate::shown;

/// Hashes of chunks that the receiver claims to have, kept at the same time. What is beyond is sent
/// again.
const MAX_CLAIMS: usize = 1 << 18;
/// Tasks that the receiver may have about one file: to compare it, and to send it.
const ROUNDS: u8 = 2;
/// Chunks that are hashed before the receiver is told that this takes long.
const WORKING: u32 = 32;
/// Blocks handed over at a time, bytes.
const BATCH: usize = 1 << 20;

/// How to send.
#[derive(Clone, Copy, Debug)]
pub struct SendFilesOptions {
    /// Give up when the peer has been silent for so long. Longer than twice the heartbeat interval.
    pub silence: Duration,
    /// Bytes of the association's send buffer: blocks are a small part of it.
    pub buffer: u64,
    /// Who sends: files of the same sender are gone on with.
    pub identity: Identity,
    /// Bits per second of content, at most.
    pub limit: Option<NonZeroU64>,
}

/// Sends files and folders to a peer that [receives](super::receive), and shuts the association
/// down. Files that fail do not stop the others: see the report.
///
/// # Errors
/// When the transfer as a whole ends early; then the association is aborted.
pub async fn send(
    association: &Association,
    sources: &Sources,
    options: SendFilesOptions,
    observer: &dyn Observer,
) -> Result<Report, TransferError> {
    link::prefer_control(association);
    let pulse = Pulse::default();
    let throttle = Throttle::new(options.limit);
    let mut sender = Sender {
        association,
        observer,
        pulse: &pulse,
        identity: options.identity,
        walk: sources.walk(),
        waiting: None,
        block_shift: block_shift(options.buffer)
            .min(throttle.largest_block().max(1).ilog2() as u8)
            .max(*BLOCK_SHIFTS.start()),
        throttle,
        next_id: 0,
        offered: BTreeMap::new(),
        words: 0,
        todo: VecDeque::new(),
        claims: 0,
        welcome: None,
        bye: false,
        report: Report::default(),
    };
    observer.total(sources.files, sources.bytes);
    let outcome = tokio::select! {
        outcome = sender.send_all(sources) => outcome,
        error = link::await_silence(association, &pulse, options.silence) => Err(error),
        () = link::tell_of_paths(association, observer) => Err(TransferError::EndedEarly),
    };
    if let Err(error) = &outcome {
        association.abort(error.to_string());
    }
    outcome.map(|()| sender.report)
}

struct Sender<'a> {
    association: &'a Association,
    observer: &'a dyn Observer,
    pulse: &'a Pulse,
    identity: Identity,
    walk: Walk,
    /// What there was no room for yet.
    waiting: Option<Source>,
    block_shift: u8,
    throttle: Throttle,
    next_id: u32,
    /// Without a verdict.
    offered: BTreeMap<u32, Outgoing>,
    /// Bytes of their names.
    words: usize,
    /// What the receiver asked for.
    todo: VecDeque<(u32, Task)>,
    /// Hashes kept in `offered`.
    claims: usize,
    /// What the receiver calls itself, once it has greeted.
    welcome: Option<Realm>,
    bye: bool,
    report: Report,
}

struct Outgoing {
    source: Source,
    /// Bytes of its names.
    words: usize,
    /// `None`: a folder or a link.
    file: Option<(Facts, Layout)>,
    claims: BTreeMap<u32, Digest>,
    /// Tasks that the receiver had about it.
    rounds: u8,
}

/// Blocks that are handed over together.
#[derive(Default)]
struct Batch {
    messages: Vec<Bytes>,
    travels: usize,
    /// Bytes of holes.
    holes: usize,
}

impl Batch {
    fn add(&mut self, piece: Piece) {
        self.travels += piece.travels;
        self.holes += piece.len - piece.travels;
        self.messages.push(piece.message);
    }
}

/// A file that cannot be sent as it was offered.
enum Trouble {
    File(String),
    Transfer(TransferError),
}

impl From<TransferError> for Trouble {
    fn from(error: TransferError) -> Self {
        Self::Transfer(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::File(CHANGED.to_owned()),
            _ => Self::File(error_words(&error)),
        }
    }
}

const CHANGED: &str = "it changed while it was sent: send it again";

impl Sender<'_> {
    async fn send_all(&mut self, sources: &Sources) -> Result<(), TransferError> {
        let Sources { files, bytes, .. } = *sources;
        let hello = Message::Hello { files, bytes, block_shift: self.block_shift };
        link::send_message(self.association, &hello).await?;
        let realm = loop {
            match self.welcome {
                Some(realm) => break realm,
                None => self.hear_next().await?,
            }
        };
        link::send_message(
            self.association,
            &Message::Identity { id: self.identity.digest_for(&realm) },
        )
        .await?;
        loop {
            self.offer_more().await?;
            match self.todo.pop_front() {
                Some((id, task)) => self.perform_task(id, task).await?,
                None if self.offered.is_empty() => break,
                None => self.hear_next().await?,
            }
        }
        link::send_message(self.association, &Message::Done).await?;
        while !self.bye {
            self.hear_next().await?;
        }
        Ok(self.association.shutdown().await?)
    }

    async fn offer_more(&mut self) -> Result<(), TransferError> {
        while self.offered.len() < MAX_OFFERED {
            let next = self.waiting.take().map(Found::Source);
            match next.or_else(|| self.walk.next()) {
                None => break,
                Some(Found::Source(source)) => {
                    let words = source.name.len() + source.target.len();
                    if !self.offered.is_empty() && self.words + words > MAX_WORDS {
                        self.waiting = Some(source);
                        break;
                    }
                    self.offer_source(source, words).await?;
                }
                Some(Found::Other(path, why)) => {
                    self.report.left_out += 1;
                    let path = shown::escape_text(&path);
                    self.observer.note(&format!("{path}: left out: {why}"));
                }
                Some(Found::Excluded) => self.report.excluded += 1,
                Some(Found::Trouble(path, error)) => self.fail_source(&path, error_words(&error)),
            }
        }
        Ok(())
    }

    async fn offer_source(&mut self, source: Source, words: usize) -> Result<(), TransferError> {
        let shown = source.shown_name();
        match self.prepare_offer(source, words) {
            Ok((offer, outgoing)) => {
                self.next_id += 1;
                self.words += words;
                self.offered.insert(offer.id, outgoing);
                self.send_message(&Message::Offer(offer)).await
            }
            Err(text) => {
                self.fail_source(&shown, text);
                Ok(())
            }
        }
    }

    /// Nothing more is said about it.
    fn remove_offered(&mut self, id: u32) -> Option<Outgoing> {
        let outgoing = self.offered.remove(&id)?;
        self.words -= outgoing.words;
        self.claims -= outgoing.claims.len();
        Some(outgoing)
    }

    /// What is said of a file and what is kept of it, or why it cannot be offered.
    fn prepare_offer(&self, source: Source, words: usize) -> Result<(Offer, Outgoing), String> {
        if source.name.len() > MAX_NAME {
            return Err("its name is too long".to_owned());
        }
        if self.next_id == u32::MAX {
            return Err("too many files for one transfer".to_owned());
        }
        let Source { kind, mode, mtime, .. } = source;
        let (name, target) = (source.name.clone(), source.target.clone());
        let mut offer =
            Offer { id: self.next_id, kind, mode, mtime, size: 0, data: 0, name, target };
        let mut file = None;
        if kind == Kind::File {
            // It is opened again when its turn comes: there are more on offer than a process may
            // have open.
            let facts = source.open().map_err(|error| error_words(&error))?.facts;
            let layout = Layout::new(facts.size, self.block_shift);
            file = Some((facts, layout.ok_or_else(|| "it is too large".to_owned())?));
            (offer.mode, offer.mtime) = (facts.mode, facts.mtime);
            (offer.size, offer.data) = (facts.size, facts.data);
        }
        Ok((offer, Outgoing { source, words, file, claims: BTreeMap::new(), rounds: 0 }))
    }

    /// Does what the receiver asked for.
    async fn perform_task(&mut self, id: u32, task: Task) -> Result<(), TransferError> {
        let Some(outgoing) = self.offered.get_mut(&id) else { return Ok(()) };
        let Some((facts, layout)) = outgoing.file else {
            return Err(TransferError::Protocol("it asks for the content of a folder or link"));
        };
        let claims = core::mem::take(&mut outgoing.claims);
        let source = outgoing.source.clone();
        let shown = source.shown_name();
        self.observer.file(&shown, layout.size());
        let done = self.answer_task(id, task, (&source, facts, layout), &claims).await;
        self.claims -= claims.len();
        match done {
            Ok(Some((blocks, digest))) => {
                self.send_message(&Message::End { id, blocks, digest }).await
            }
            // The receiver has spoken already.
            Ok(None) => Ok(()),
            Err(Trouble::Transfer(error)) => Err(error),
            Err(Trouble::File(text)) => {
                if self.remove_offered(id).is_some() {
                    self.fail_source(&shown, text);
                    self.send_message(&Message::Withdraw { id }).await?;
                }
                Ok(())
            }
        }
    }

    /// Sends a file or compares it. Gives the number of blocks and the file's hash; `None`: the
    /// receiver gave the file up.
    async fn answer_task(
        &mut self,
        id: u32,
        task: Task,
        (source, facts, layout): (&Source, Facts, Layout),
        claims: &BTreeMap<u32, Digest>,
    ) -> Result<Option<(u64, Digest)>, Trouble> {
        let opened = source.open()?;
        if !opened.facts.is_same(&facts) {
            return Err(Trouble::File(CHANGED.to_owned()));
        }
        let reading = Reading::new(&opened.file, layout);
        let done = match task {
            Task::Send => self.send_file(id, reading, layout, claims).await?,
            Task::Compare => self.compare_file(id, reading, layout).await?,
        };
        if opened.has_changed() { Err(Trouble::File(CHANGED.to_owned())) } else { Ok(done) }
    }

    /// Sends the chunks that the receiver does not have.
    async fn send_file(
        &mut self,
        id: u32,
        mut reading: Reading<'_>,
        layout: Layout,
        claims: &BTreeMap<u32, Digest>,
    ) -> Result<Option<(u64, Digest)>, Trouble> {
        let mut hasher = layout.file_hasher();
        let (mut sent, mut hashed, mut runs) = (0, 0, Vec::new());
        for chunk in 0..layout.chunks() {
            let (claim, hole) = (claims.get(&chunk), reading.as_hole(chunk));
            let len = layout.chunk_len(chunk);
            if let Some(digest) = hole {
                hasher.add_digest(&digest);
                self.observer.progress(len, false);
                if claim != Some(&digest) {
                    self.report.holes += len;
                    self.add_hole(id, chunk, &mut runs).await?;
                }
            } else if let Some(claim) = claim
                && reading.hash_chunk(chunk)? == *claim
            {
                hasher.add_digest(claim);
                self.observer.progress(len, false);
                self.tell_of_work(&mut hashed).await?;
            } else {
                let (digest, blocks) = self.send_chunk(reading.blocks(id, chunk)).await?;
                hasher.add_digest(&digest);
                sent += blocks;
            }
            self.hear_all()?;
            if !self.offered.contains_key(&id) {
                return Ok(None);
            }
        }
        if !runs.is_empty() {
            self.send_message(&Message::Holes { id, runs }).await?;
        }
        Ok(Some((sent, hasher.digest())))
    }

    /// Notes that a chunk is a hole, and says so when there are many.
    async fn add_hole(
        &mut self,
        id: u32,
        chunk: u32,
        runs: &mut Vec<(u32, u32)>,
    ) -> Result<(), TransferError> {
        if let Some((first, count)) = runs.last_mut()
            && *first + *count == chunk
        {
            *count += 1;
            return Ok(());
        }
        if runs.len() == MAX_RUNS {
            let runs = core::mem::take(runs);
            self.send_message(&Message::Holes { id, runs }).await?;
        }
        runs.push((chunk, 1));
        Ok(())
    }

    /// The hash of the whole file; nothing is sent of it.
    async fn compare_file(
        &mut self,
        id: u32,
        mut reading: Reading<'_>,
        layout: Layout,
    ) -> Result<Option<(u64, Digest)>, Trouble> {
        let mut hasher = layout.file_hasher();
        let mut hashed = 0;
        for chunk in 0..layout.chunks() {
            if let Some(digest) = reading.as_hole(chunk) {
                hasher.add_digest(&digest);
            } else {
                hasher.add_digest(&reading.hash_chunk(chunk)?);
                self.tell_of_work(&mut hashed).await?;
            }
            self.hear_all()?;
            if !self.offered.contains_key(&id) {
                return Ok(None);
            }
        }
        Ok(Some((0, hasher.digest())))
    }

    /// Says now and then that files are being hashed, so that silence is not taken for death.
    async fn tell_of_work(&mut self, hashed: &mut u32) -> Result<(), TransferError> {
        *hashed += 1;
        if hashed.is_multiple_of(WORKING) {
            self.send_message(&Message::Working).await
        } else {
            Ok(())
        }
    }

    async fn send_chunk(&mut self, blocks: Blocks<'_>) -> Result<(Digest, u64), Trouble> {
        let mut hasher = Hasher::of_chunk();
        let limit = self.throttle.batch(BATCH);
        let (mut batch, mut sent) = (Batch::default(), 0);
        for piece in blocks {
            let piece = piece?;
            hasher.add_digest(&piece.digest);
            sent += 1;
            batch.add(piece);
            if batch.travels >= limit {
                self.push_blocks(core::mem::take(&mut batch)).await?;
            }
        }
        self.push_blocks(batch).await?;
        Ok((hasher.digest(), sent))
    }

    async fn push_blocks(&mut self, batch: Batch) -> Result<(), TransferError> {
        let now = Instant::now();
        let at = self.throttle.take(batch.travels, now);
        if at > now {
            let wait = async {
                tokio::time::sleep_until(at).await;
                Ok(())
            };
            self.listen_while(wait).await?;
        }
        self.listen_while(link::push_blocks(self.association, batch.messages)).await?;
        let (travelled, holes) = (batch.travels as u64, batch.holes as u64);
        self.report.travelled += travelled;
        self.report.holes += holes;
        self.observer.progress(travelled, true);
        if holes > 0 {
            self.observer.progress(holes, false);
        }
        Ok(())
    }

    async fn send_message(&mut self, message: &Message) -> Result<(), TransferError> {
        self.listen_while(link::send_message(self.association, message)).await
    }

    /// Waits for `sending` and listens meanwhile: if both sides only spoke, both would wait for
    /// ever.
    async fn listen_while(
        &mut self,
        sending: impl Future<Output = Result<(), TransferError>>,
    ) -> Result<(), TransferError> {
        tokio::pin!(sending);
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => return sent,
                heard = self.association.recv() => self.handle_message(heard?)?,
            }
        }
    }

    async fn hear_next(&mut self) -> Result<(), TransferError> {
        let heard = self.association.recv().await?;
        self.handle_message(heard)?;
        self.hear_all()
    }

    fn hear_all(&mut self) -> Result<(), TransferError> {
        while let Some(message) = self.association.try_recv() {
            self.handle_message(Some(message))?;
        }
        Ok(())
    }

    fn handle_message(
        &mut self,
        message: Option<polypath_net::Message>,
    ) -> Result<(), TransferError> {
        let message = message.ok_or(TransferError::EndedEarly)?;
        let message = Message::decode(&message.data)?;
        if self.welcome.is_none() != matches!(message, Message::Welcome { .. }) {
            return Err(TransferError::Protocol("it should greet first, and once"));
        }
        self.pulse.note_word();
        match message {
            Message::Welcome { block_shift, realm } if self.may_cut(block_shift) => {
                self.block_shift = block_shift;
                self.welcome = Some(realm);
            }
            Message::Have { id, first, hashes } => self.note_claims(id, first, hashes),
            Message::Go { id, task } if id < self.next_id => self.queue_task(id, task)?,
            Message::Verdict { id, verdict, text } if id < self.next_id => {
                self.conclude_file(id, verdict, &text);
            }
            Message::Bye => self.bye = true,
            Message::Working => {}
            _ => return Err(TransferError::Protocol("a receiver does not say that")),
        }
        Ok(())
    }

    /// Whether blocks of this size are ones that we asked for, or smaller.
    fn may_cut(&self, block_shift: u8) -> bool {
        BLOCK_SHIFTS.contains(&block_shift) && block_shift <= self.block_shift
    }

    fn queue_task(&mut self, id: u32, task: Task) -> Result<(), TransferError> {
        let Some(outgoing) = self.offered.get_mut(&id) else { return Ok(()) };
        outgoing.rounds += 1;
        if outgoing.rounds > ROUNDS {
            return Err(TransferError::Protocol("it asks for one file again and again"));
        }
        self.pulse.note_progress();
        self.todo.push_back((id, task));
        Ok(())
    }

    fn note_claims(&mut self, id: u32, first: u32, hashes: Vec<Digest>) {
        let Some(outgoing) = self.offered.get_mut(&id) else { return };
        for (chunk, hash) in (first..=u32::MAX).zip(hashes) {
            if self.claims < MAX_CLAIMS && outgoing.claims.insert(chunk, hash).is_none() {
                self.claims += 1;
            }
        }
    }

    fn conclude_file(&mut self, id: u32, verdict: Verdict, text: &str) {
        let Some(outgoing) = self.remove_offered(id) else { return };
        self.pulse.note_progress();
        let bytes = outgoing.file.as_ref().map_or(0, |(_, layout)| layout.size());
        let shown = outgoing.source.shown_name();
        match verdict {
            Verdict::Stored if outgoing.source.kind == Kind::Folder => self.report.folders += 1,
            Verdict::Stored if outgoing.source.kind == Kind::Link => self.report.links += 1,
            Verdict::Stored => {
                self.report.stored += 1;
                self.report.bytes += bytes;
            }
            Verdict::AlreadyThere => {
                self.report.already_there += 1;
                self.observer.progress(bytes, false);
                self.observer.note(&format!("{shown}: already there"));
            }
            refused => {
                let cause = Cause::Receiver(refused);
                let text = shown::escape_remark(text);
                let failure = Failure { name: shown, cause, text };
                self.report.note_failure(failure, self.observer);
            }
        }
    }

    fn fail_source(&mut self, name: &str, text: String) {
        let failure = Failure { name: shown::escape_text(name), cause: Cause::Source, text };
        self.report.note_failure(failure, self.observer);
    }
}
