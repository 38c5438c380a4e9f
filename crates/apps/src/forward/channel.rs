//! One connection over an association, as its two tasks at this end have it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use polypath_net::StreamNeeds;

use super::credit::Window;
use super::frame::Frame;
use super::hub::Hub;
use super::inbox::{Inbox, Pieces};
use super::refusal::Refusal;

/// Data of a connection is cut into messages of so many bytes: the streams of an association take
/// turns by messages.
const MESSAGE: usize = 16 << 10;

/// One connection. One task may read while another writes. Dropping it breaks the connection off,
/// unless it was [closed](Self::close).
#[derive(Debug)]
pub struct Channel {
    hub: Arc<Hub>,
    number: u16,
    inbox: Arc<Inbox>,
    /// The peer knows of it.
    began: AtomicBool,
    /// The last frame is said.
    ended: AtomicBool,
}

/// Why a connection was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The other end said so, or there are too many.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The association ended meanwhile.
    #[error("the association to the peer ended")]
    Lost,
}

/// The connection was broken off, or the association ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was broken off")]
pub struct Broken;

impl Channel {
    /// `began`: the peer opened it.
    pub(super) fn new(hub: Arc<Hub>, number: u16, inbox: Arc<Inbox>, began: bool) -> Self {
        Self { hub, number, inbox, began: AtomicBool::new(began), ended: AtomicBool::new(false) }
    }

    /// Says OPEN, and waits for the answer.
    pub(super) async fn open(&self, open: &Frame) -> Result<(), OpenError> {
        self.say(open).await.map_err(|_| OpenError::Lost)?;
        self.began.store(true, Ordering::Relaxed);
        self.await_answer().await
    }

    /// The peer is let send.
    pub(super) fn begin(&self, window: Window) {
        let mut inner = self.inbox.lock();
        (inner.window, inner.open) = (Some(window), true);
    }

    async fn await_answer(&self) -> Result<(), OpenError> {
        loop {
            {
                let inner = self.inbox.lock();
                match inner.answer {
                    // Its last frame was a refusal: ours answers it.
                    Some(answer) => return Ok(answer?),
                    None if inner.broken => return Err(OpenError::Lost),
                    None => {}
                }
            }
            self.inbox.news.notified().await;
        }
    }

    /// Waits for data, and moves all that came into `pieces`, which must be empty. False: no more
    /// comes. What was read is to be [told](Self::consumed).
    ///
    /// # Errors
    /// When the connection was broken off.
    pub async fn read(&self, pieces: &mut Pieces) -> Result<bool, Broken> {
        loop {
            {
                let mut inner = self.inbox.lock();
                if inner.broken {
                    return Err(Broken);
                }
                inner.take_all(pieces);
                if !pieces.is_empty() {
                    return Ok(true);
                }
                if inner.fin {
                    return Ok(false);
                }
            }
            self.inbox.news.notified().await;
        }
    }

    /// `bytes` of what was read are gone from here: the peer may send as many again.
    ///
    /// # Errors
    /// When the association ended.
    pub async fn consumed(&self, bytes: u64) -> Result<(), Broken> {
        let Some(grant) = self.hub.consume(&self.inbox, bytes) else { return Ok(()) };
        if self.inbox.lock().fin {
            return Ok(());
        }
        self.say(&Frame::Credit(grant)).await
    }

    /// Waits until the peer takes something, and how much, up to `most` bytes: they are ours to
    /// [write](Self::write), or to [give back](Self::give_back).
    ///
    /// # Errors
    /// When the connection was broken off.
    pub async fn allowance(&self, most: usize) -> Result<usize, Broken> {
        loop {
            {
                let mut inner = self.inbox.lock();
                if inner.broken {
                    return Err(Broken);
                }
                let taken = inner.allowance.take(most);
                if taken > 0 {
                    return Ok(taken);
                }
            }
            self.inbox.room.notified().await;
        }
    }

    /// Bytes of an [allowance](Self::allowance) that were not needed.
    pub fn give_back(&self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes > 0 {
            // It was a part of the sum before.
            let _ = self.inbox.lock().allowance.add(bytes);
        }
    }

    /// Sends what an [allowance](Self::allowance) covers; waits while the send buffer is full.
    ///
    /// # Errors
    /// When the association ended.
    pub async fn write(&self, mut data: Bytes) -> Result<(), Broken> {
        let pieces = core::iter::from_fn(|| {
            let piece = data.split_to(data.len().min(MESSAGE));
            (!piece.is_empty()).then_some(piece)
        });
        self.hub.send_data(self.number, pieces).await.map_err(|_| Broken)
    }

    /// Says what the stream needs of the paths.
    pub fn set_needs(&self, needs: StreamNeeds) {
        // Where the stream is gone, nothing is needed.
        let _ = self.hub.association.set_stream_needs(self.number, needs);
    }

    /// Nothing more is written.
    ///
    /// # Errors
    /// When the association ended.
    pub async fn finish(&self) -> Result<(), Broken> {
        self.say(&Frame::Fin).await
    }

    /// Both directions are through: we have [finished](Self::finish), and [read](Self::read) to the
    /// end.
    pub async fn close(self) {
        self.end_with(&Frame::End).await;
    }

    /// Says a last frame.
    pub(super) async fn end_with(&self, last: &Frame) {
        // Where this is not awaited to its end nothing was sent: then dropping the connection says
        // it.
        if self.hub.send_last(self.number, last).await.is_ok() {
            self.ended.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until the connection is broken off. One task at a time is told.
    pub async fn broken(&self) {
        while !self.inbox.lock().broken {
            self.inbox.end.notified().await;
        }
    }

    async fn say(&self, frame: &Frame) -> Result<(), Broken> {
        self.hub.send(self.number, frame).await.map_err(|_| Broken)
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.hub.close_window(&self.inbox);
        match (self.began.load(Ordering::Relaxed), self.ended.load(Ordering::Relaxed)) {
            (true, false) => self.hub.abandon(self.number),
            // Who opens a connection may give up while there is no room for saying so.
            (false, _) => self.hub.withdraw(self.number),
            (true, true) => {}
        }
    }
}
