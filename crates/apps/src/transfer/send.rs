//! The sending side.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use polypath_net::{Association, Bytes};

use super::codec::{
    BLOCK_HEADER, Digest, Kind, MAX_NAME, Message, Offer, Realm, Task, Verdict, put_block_header,
};
use super::identity::Identity;
use super::layout::{BLOCK_SHIFTS, Hasher, Layout, block_shift, hash_block, hash_chunk};
use super::link::{self, Pulse};
use super::tree::error_words;
use super::walk::{Found, Opened, Source, Sources, Walk};
use super::{Cause, Failure, MAX_OFFERED, Observer, Report, TransferError};
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
    let mut sender = Sender {
        association,
        observer,
        pulse: &pulse,
        identity: options.identity,
        walk: sources.walk(),
        block_shift: block_shift(options.buffer),
        next_id: 0,
        offered: BTreeMap::new(),
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
    block_shift: u8,
    next_id: u32,
    /// Without a verdict.
    offered: BTreeMap<u32, Outgoing>,
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
    shown: String,
    /// `None`: a folder.
    file: Option<(Arc<Opened>, Layout)>,
    claims: BTreeMap<u32, Digest>,
    /// Tasks that the receiver had about it.
    rounds: u8,
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
            match self.walk.next() {
                None => break,
                Some(Found::Source(source)) => self.offer_file(&source).await?,
                Some(Found::Other(path)) => {
                    self.report.left_out += 1;
                    self.observer.note(&format!(
                        "{}: left out, not a file or folder",
                        shown::escape_text(&path)
                    ));
                }
                Some(Found::Trouble(path, error)) => self.fail_source(&path, error_words(&error)),
            }
        }
        Ok(())
    }

    async fn offer_file(&mut self, source: &Source) -> Result<(), TransferError> {
        match self.prepare_offer(source) {
            Ok((offer, outgoing)) => {
                self.next_id += 1;
                self.offered.insert(offer.id, outgoing);
                self.send_message(&Message::Offer(offer)).await
            }
            Err(text) => {
                self.fail_source(&source.shown_name(), text);
                Ok(())
            }
        }
    }

    /// What is said of a file and what is kept of it, or why it cannot be offered.
    fn prepare_offer(&self, source: &Source) -> Result<(Offer, Outgoing), String> {
        if source.name.len() > MAX_NAME {
            return Err("its name is too long".to_owned());
        }
        if self.next_id == u32::MAX {
            return Err("too many files for one transfer".to_owned());
        }
        let (id, kind, name) = (self.next_id, source.kind, source.name.clone());
        let mut offer = Offer { id, kind, mode: source.mode, mtime: (0, 0), size: 0, name };
        let mut outgoing =
            Outgoing { shown: source.shown_name(), file: None, claims: BTreeMap::new(), rounds: 0 };
        if kind == Kind::File {
            let opened = source.open().map_err(|error| error_words(&error))?;
            let layout = Layout::new(opened.size, self.block_shift);
            let layout = layout.ok_or_else(|| "it is too large".to_owned())?;
            (offer.mode, offer.mtime, offer.size) = (opened.mode, opened.mtime, opened.size);
            outgoing.file = Some((Arc::new(opened), layout));
        }
        Ok((offer, outgoing))
    }

    /// Does what the receiver asked for.
    async fn perform_task(&mut self, id: u32, task: Task) -> Result<(), TransferError> {
        let Some(outgoing) = self.offered.get_mut(&id) else { return Ok(()) };
        let Some((opened, layout)) = outgoing.file.clone() else {
            return Err(TransferError::Protocol("it asks for the content of a folder"));
        };
        let claims = core::mem::take(&mut outgoing.claims);
        let shown = outgoing.shown.clone();
        self.observer.file(&shown, layout.size());
        let done = match task {
            Task::Send => self.send_file(id, &opened, layout, &claims).await,
            Task::Compare => self.compare_file(id, &opened, layout).await,
        };
        self.claims -= claims.len();
        let done = match done {
            Ok(_) if opened.has_changed() => Err(Trouble::File(CHANGED.to_owned())),
            other => other,
        };
        match done {
            Ok(Some((blocks, digest))) => {
                self.send_message(&Message::End { id, blocks, digest }).await
            }
            // The receiver has spoken already.
            Ok(None) => Ok(()),
            Err(Trouble::Transfer(error)) => Err(error),
            Err(Trouble::File(text)) => {
                if self.offered.remove(&id).is_some() {
                    self.fail_source(&shown, text);
                    self.send_message(&Message::Withdraw { id }).await?;
                }
                Ok(())
            }
        }
    }

    /// Sends the chunks that the receiver does not have. Gives the number of blocks and the file's
    /// hash; `None`: the receiver gave the file up.
    async fn send_file(
        &mut self,
        id: u32,
        opened: &Opened,
        layout: Layout,
        claims: &BTreeMap<u32, Digest>,
    ) -> Result<Option<(u64, Digest)>, Trouble> {
        let mut hasher = layout.file_hasher();
        let (mut sent, mut hashed) = (0, 0);
        for chunk in 0..layout.chunks() {
            if let Some(claim) = claims.get(&chunk)
                && hash_chunk(&opened.file, layout, chunk)? == *claim
            {
                hasher.add_digest(claim);
                self.observer.progress(layout.chunk_len(chunk), false);
                self.tell_of_work(&mut hashed).await?;
            } else {
                let (digest, blocks) = self.send_chunk(id, &opened.file, layout, chunk).await?;
                hasher.add_digest(&digest);
                sent += blocks;
            }
            self.hear_all()?;
            if !self.offered.contains_key(&id) {
                return Ok(None);
            }
        }
        Ok(Some((sent, hasher.digest())))
    }

    /// The hash of the whole file; nothing is sent of it.
    async fn compare_file(
        &mut self,
        id: u32,
        opened: &Opened,
        layout: Layout,
    ) -> Result<Option<(u64, Digest)>, Trouble> {
        let mut hasher = layout.file_hasher();
        let mut hashed = 0;
        for chunk in 0..layout.chunks() {
            hasher.add_digest(&hash_chunk(&opened.file, layout, chunk)?);
            self.tell_of_work(&mut hashed).await?;
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

    async fn send_chunk(
        &mut self,
        id: u32,
        file: &std::fs::File,
        layout: Layout,
        chunk: u32,
    ) -> Result<(Digest, u64), Trouble> {
        let mut hasher = Hasher::of_chunk();
        let mut batch = Vec::new();
        let (mut bytes, mut sent) = (0, 0);
        for block in layout.blocks_of(chunk) {
            let len = layout.block_len(block).unwrap_or(0);
            let mut message = BytesMut::with_capacity(BLOCK_HEADER + len);
            put_block_header(&mut message, id, block);
            message.resize(BLOCK_HEADER + len, 0);
            let (_, data) = message.split_at_mut(BLOCK_HEADER);
            file.read_exact_at(data, layout.offset(block))?;
            hasher.add_digest(&hash_block(data));
            batch.push(message.freeze());
            sent += 1;
            bytes += len;
            if bytes >= BATCH {
                self.push_blocks(core::mem::take(&mut batch), core::mem::take(&mut bytes)).await?;
            }
        }
        self.push_blocks(batch, bytes).await?;
        Ok((hasher.digest(), sent))
    }

    async fn push_blocks(&mut self, blocks: Vec<Bytes>, bytes: usize) -> Result<(), TransferError> {
        self.listen_while(link::push_blocks(self.association, blocks)).await?;
        self.report.travelled += bytes as u64;
        self.observer.progress(bytes as u64, true);
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
        let Some(outgoing) = self.offered.remove(&id) else { return };
        self.pulse.note_progress();
        self.claims -= outgoing.claims.len();
        let bytes = outgoing.file.as_ref().map_or(0, |(_, layout)| layout.size());
        match verdict {
            Verdict::Stored if outgoing.file.is_none() => self.report.folders += 1,
            Verdict::Stored => {
                self.report.stored += 1;
                self.report.bytes += bytes;
            }
            Verdict::AlreadyThere => {
                self.report.already_there += 1;
                self.observer.progress(bytes, false);
                self.observer.note(&format!("{}: already there", outgoing.shown));
            }
            refused => {
                let cause = Cause::Receiver(refused);
                let text = shown::escape_remark(text);
                let failure = Failure { name: outgoing.shown, cause, text };
                self.report.note_failure(failure, self.observer);
            }
        }
    }

    fn fail_source(&mut self, name: &str, text: String) {
        let failure = Failure { name: shown::escape_text(name), cause: Cause::Source, text };
        self.report.note_failure(failure, self.observer);
    }
}
