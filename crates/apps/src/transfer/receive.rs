//! The receiving side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use polypath_net::{Association, Bytes};

use super::codec::{Digest, Kind, Message, Offer, Task, Verdict};
use super::incoming::{BlockError, Incoming};
use super::layout::Layout;
use super::send::{block_shift, compare};
use super::tree::{Folder, Part, Refusal, words};
use super::{Cause, Failure, Observer, Report, TransferError, link, name};
use crate::shown;

/// Files on offer at the same time, at most.
const MAX_OFFERED: usize = 64;
/// Messages taken at a time.
const BATCH: usize = 32;

/// How to receive.
#[derive(Clone, Debug)]
pub struct ReceiveOptions {
    /// Where everything goes; made if it is missing.
    pub folder: PathBuf,
    /// Replace files of the same name and other content.
    pub overwrite: bool,
    /// Give up when the peer has been silent for so long. Longer than twice the heartbeat interval.
    pub silence: Duration,
    /// Bytes of the association's receive buffer: blocks are a small part of it.
    pub buffer: u64,
}

/// Receives files and folders from a peer that [sends](super::send()), until it shuts the association down. Files that fail do not stop the others: see
/// the report.
///
/// # Errors
/// When the transfer as a whole ends early; then the association is aborted.
pub async fn receive(
    association: &Association,
    options: &ReceiveOptions,
    observer: &dyn Observer,
) -> Result<Report, TransferError> {
    link::prefer_control(association);
    let mut receiver = match Receiver::new(association, options, observer) {
        Ok(receiver) => receiver,
        Err(error) => {
            association.abort("no folder to receive to");
            return Err(error);
        }
    };
    let outcome = tokio::select! {
        outcome = receiver.run() => outcome,
        () = link::silence(association, options.silence) => {
            Err(TransferError::Silent(options.silence))
        }
        () = link::tell_of_paths(association, observer) => Err(TransferError::EndedEarly),
    };
    if let Err(error) = &outcome {
        association.abort(error.to_string());
    }
    outcome.map(|()| receiver.report)
}

/// Makes sure that files can go into a folder; it is made if it is missing.
///
/// # Errors
/// When it cannot be.
pub fn prepare_folder(folder: &Path) -> Result<(), TransferError> {
    open_folder(folder).map(drop)
}

fn open_folder(folder: &Path) -> Result<Folder, TransferError> {
    Folder::root(folder).map_err(|error| TransferError::Folder {
        folder: folder.display().to_string(),
        why: words(&error),
    })
}

struct Receiver<'a> {
    association: &'a Association,
    options: &'a ReceiveOptions,
    observer: &'a dyn Observer,
    root: Folder,
    block_shift: u8,
    greeted: bool,
    done: bool,
    /// All numbers below were used.
    next_id: u32,
    offered: BTreeMap<u32, State>,
    report: Report,
}

enum State {
    /// A file of this name and size is there; the sender's hash of it is awaited.
    Comparing {
        offer: Offer,
        layout: Layout,
        found: Digest,
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

impl<'a> Receiver<'a> {
    fn new(
        association: &'a Association,
        options: &'a ReceiveOptions,
        observer: &'a dyn Observer,
    ) -> Result<Self, TransferError> {
        let root = open_folder(&options.folder)?;
        Ok(Self {
            association,
            options,
            observer,
            root,
            block_shift: block_shift(options.buffer),
            greeted: false,
            done: false,
            next_id: 0,
            offered: BTreeMap::new(),
            report: Report::default(),
        })
    }

    async fn run(&mut self) -> Result<(), TransferError> {
        let mut batch = Vec::new();
        while self.association.recv_many(&mut batch, BATCH).await? > 0 {
            for message in batch.drain(..) {
                self.hear(&message.data).await?;
            }
        }
        if self.done { Ok(()) } else { Err(TransferError::EndedEarly) }
    }

    async fn hear(&mut self, bytes: &Bytes) -> Result<(), TransferError> {
        let message = Message::decode(bytes)?;
        if self.done || self.greeted == matches!(message, Message::Hello { .. }) {
            return Err(TransferError::Protocol("it should greet first, and once"));
        }
        match message {
            Message::Block { id, index, data } => self.block(id, index, &data).await,
            Message::Hello { files, bytes } => {
                self.greeted = true;
                self.observer.total(files, bytes);
                self.say(&Message::Welcome { block_shift: self.block_shift }).await
            }
            Message::Offer(offer) => self.offer(offer).await,
            Message::End { id, blocks, digest } => self.end(id, blocks, digest).await,
            Message::Withdraw { id } if id < self.next_id => {
                if let Some(state) = self.offered.remove(&id) {
                    let name = shown::bytes(&state.offer().name);
                    let text = "the sender cannot send it any more".to_owned();
                    let failure = Failure { name, cause: Cause::Source, text };
                    self.report.fail(failure, self.observer);
                }
                Ok(())
            }
            Message::Done if self.offered.is_empty() => {
                self.done = true;
                self.say(&Message::Bye).await
            }
            _ => Err(TransferError::Protocol("a sender does not say that")),
        }
    }

    async fn offer(&mut self, offer: Offer) -> Result<(), TransferError> {
        if offer.id != self.next_id || self.offered.len() >= MAX_OFFERED {
            return Err(TransferError::Protocol("an offer out of turn, or too many"));
        }
        self.next_id = self.next_id.saturating_add(1);
        let (id, shown) = (offer.id, shown::bytes(&offer.name));
        let answer = match offer.kind {
            Kind::Folder => self.make_folder(&offer).map(|()| None),
            Kind::File => {
                self.observer.file(&shown, offer.size);
                self.answer(offer).map(Some)
            }
        };
        match answer {
            Ok(Some((state, messages))) => {
                self.offered.insert(id, state);
                let messages = messages.iter().map(Message::encode).collect();
                link::say_all(self.association, messages).await
            }
            Ok(None) => {
                self.report.folders += 1;
                self.verdict(id, Verdict::Stored, String::new()).await
            }
            Err(refusal) => self.refuse(id, &shown, refusal).await,
        }
    }

    fn make_folder(&self, offer: &Offer) -> Result<(), Refusal> {
        let parts = checked(&offer.name)?;
        self.root.below(&parts, Some(offer.mode)).map(drop)
    }

    /// What there is of a file decides what is asked for.
    fn answer(&self, offer: Offer) -> Result<(State, Vec<Message>), Refusal> {
        let too_large = || Refusal::new(Verdict::Trouble, "the file is too large");
        let layout = Layout::new(offer.size, self.block_shift).ok_or_else(too_large)?;
        let parts = checked(&offer.name)?;
        let (file, folders) = parts.split_last().ok_or_else(too_large)?;
        let folder = self.root.below(folders, None)?;
        match folder.existing(file)? {
            Some(size) if size == offer.size => {
                let found = compare(&folder.open(file)?, layout).map_err(|e: std::io::Error| e)?;
                let go = Message::Go { id: offer.id, task: Task::Compare };
                Ok((State::Comparing { offer, layout, found }, vec![go]))
            }
            Some(_) if !self.options.overwrite => Err(exists()),
            _ => Self::ask(folder, file, offer.clone(), layout, self.options.overwrite),
        }
    }

    fn ask(
        folder: Folder,
        file: &[u8],
        offer: Offer,
        layout: Layout,
        overwrite: bool,
    ) -> Result<(State, Vec<Message>), Refusal> {
        let id = offer.id;
        let part = Part::open(folder, file)?;
        let (incoming, mut messages) = Incoming::new(offer, layout, part, overwrite)?;
        messages.push(Message::Go { id, task: Task::Send });
        Ok((State::Receiving(Box::new(incoming)), messages))
    }

    async fn block(&mut self, id: u32, index: u64, data: &[u8]) -> Result<(), TransferError> {
        let incoming = match self.offered.get_mut(&id) {
            Some(State::Receiving(incoming)) => incoming,
            // Still on its way when the file was given up.
            None if id < self.next_id => return Ok(()),
            _ => return Err(TransferError::Protocol("a block that nobody asked for")),
        };
        match incoming.block(index, data) {
            Ok(()) => {
                self.report.travelled += data.len() as u64;
                self.observer.progress(data.len() as u64, true);
                self.conclude(id).await
            }
            Err(BlockError::Protocol(what)) => Err(TransferError::Protocol(what)),
            Err(BlockError::Disk(refusal)) => self.give_up(id, refusal).await,
        }
    }

    async fn end(&mut self, id: u32, blocks: u64, digest: Digest) -> Result<(), TransferError> {
        match self.offered.get_mut(&id) {
            Some(State::Receiving(incoming)) => {
                incoming.end(blocks, digest).map_err(TransferError::Protocol)?;
                self.conclude(id).await
            }
            Some(State::Comparing { .. }) => self.compared(id, digest).await,
            None if id < self.next_id => Ok(()),
            None => Err(TransferError::Protocol("the end of a file that was not offered")),
        }
    }

    async fn compared(&mut self, id: u32, digest: Digest) -> Result<(), TransferError> {
        let Some(State::Comparing { offer, layout, found }) = self.offered.remove(&id) else {
            return Ok(());
        };
        let shown = shown::bytes(&offer.name);
        if digest == found {
            self.report.already_there += 1;
            self.observer.progress(offer.size, false);
            self.observer.note(&format!("{shown}: already there"));
            return self.verdict(id, Verdict::AlreadyThere, String::new()).await;
        }
        if !self.options.overwrite {
            return self.refuse(id, &shown, exists()).await;
        }
        match self.replace(offer, layout) {
            Ok((state, messages)) => {
                self.offered.insert(id, state);
                let messages = messages.iter().map(Message::encode).collect();
                link::say_all(self.association, messages).await
            }
            Err(refusal) => self.refuse(id, &shown, refusal).await,
        }
    }

    fn replace(&self, offer: Offer, layout: Layout) -> Result<(State, Vec<Message>), Refusal> {
        let name = offer.name.clone();
        let parts = checked(&name)?;
        let (file, folders) = parts.split_last().ok_or_else(exists)?;
        Self::ask(self.root.below(folders, None)?, file, offer, layout, true)
    }

    /// Finishes a file of which everything has come.
    async fn conclude(&mut self, id: u32) -> Result<(), TransferError> {
        let complete =
            matches!(self.offered.get(&id), Some(State::Receiving(i)) if i.is_complete());
        if !complete {
            return Ok(());
        }
        let Some(State::Receiving(incoming)) = self.offered.remove(&id) else { return Ok(()) };
        let (shown, size) = (shown::bytes(&incoming.offer().name), incoming.offer().size);
        match incoming.finish() {
            Ok(()) => {
                self.report.stored += 1;
                self.report.bytes += size;
                self.verdict(id, Verdict::Stored, String::new()).await
            }
            Err(refusal) => self.refuse(id, &shown, refusal).await,
        }
    }

    async fn give_up(&mut self, id: u32, refusal: Refusal) -> Result<(), TransferError> {
        let state = self.offered.remove(&id);
        let shown = state.map(|state| shown::bytes(&state.offer().name)).unwrap_or_default();
        self.refuse(id, &shown, refusal).await
    }

    async fn refuse(
        &mut self,
        id: u32,
        shown: &str,
        refusal: Refusal,
    ) -> Result<(), TransferError> {
        let Refusal { verdict, text } = refusal;
        let cause = Cause::Receiver(verdict);
        let failure = Failure { name: shown.to_owned(), cause, text: text.clone() };
        self.report.fail(failure, self.observer);
        self.verdict(id, verdict, text).await
    }

    async fn verdict(
        &mut self,
        id: u32,
        verdict: Verdict,
        text: String,
    ) -> Result<(), TransferError> {
        self.say(&Message::Verdict { id, verdict, text }).await
    }

    async fn say(&self, message: &Message) -> Result<(), TransferError> {
        link::say(self.association, message).await
    }
}

fn checked(name: &[u8]) -> Result<Vec<&[u8]>, Refusal> {
    name::parts(name)
        .map_err(|why| Refusal::new(Verdict::BadName, format!("the name is refused: {why}")))
}

fn exists() -> Refusal {
    let text = "another file of this name is there (the receiver may allow --overwrite)";
    Refusal::new(Verdict::Exists, text)
}
