//! Messages at a fixed interval on a stream of their own, beside what the application sends.

use polypath_link::Nanos;
use polypath_proto::Reliability;

use super::io::AppIo;
use crate::spec::BesideSpec;

/// One such stream.
#[derive(Debug)]
pub(crate) struct SideStream {
    spec: BesideSpec,
    stream: u16,
    next: Option<Nanos>,
}

impl SideStream {
    pub(crate) fn new(spec: BesideSpec, stream: u16) -> Self {
        Self { spec, stream, next: None }
    }

    /// How long it is tried to deliver its messages.
    pub(crate) const fn reliability(&self) -> Reliability {
        self.spec.reliability
    }

    /// Sends what is due. The first call marks the start; what finds no room stays due, and is
    /// late.
    pub(crate) fn run(&mut self, io: &mut AppIo<'_>) {
        let BesideSpec { bytes, every, unordered, reliability, needs } = self.spec;
        io.reliability = reliability;
        if self.next.is_none() {
            io.declare_needs(self.stream, needs);
        }
        let mut next = self.next.unwrap_or(io.now);
        while next <= io.now && io.send_sized(self.stream, unordered, bytes) {
            next = next.saturating_add(every);
        }
        self.next = Some(next);
    }

    /// Whether a message is due at this very time.
    pub(crate) fn is_due_at(&self, now: Nanos) -> bool {
        self.next == Some(now)
    }

    /// When the next message is due.
    pub(crate) fn next_wakeup(&self, now: Nanos) -> Option<Nanos> {
        self.next.filter(|&at| at > now)
    }
}
