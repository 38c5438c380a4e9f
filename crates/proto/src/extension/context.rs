//! What an extension works on.

use std::collections::VecDeque;

use crate::config::AssocConfig;
use crate::control::ControlQueue;
use crate::event::Event;
use crate::handshake::Capabilities;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::policy::StreamScheduler;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::state::State;
use crate::time::{Duration, Time};

/// The parts of an association that an extension may use, borrowed for one call.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) state: State,
    pub(crate) config: &'a AssocConfig,
    pub(crate) agreed: &'a mut Capabilities,
    pub(crate) paths: &'a PathSet,
    pub(crate) tx: &'a mut Sender,
    pub(crate) rx: &'a mut Receiver,
    pub(crate) scheduler: &'a mut dyn StreamScheduler,
    pub(crate) control: &'a mut ControlQueue,
    pub(crate) events: &'a mut VecDeque<Event>,
    /// The association's error counter (RFC 9260 section 8.1).
    pub(crate) errors: &'a mut u32,
    /// An answer to the association: data may be sent that could not be sent before.
    pub(crate) may_send: bool,
}

impl Context<'_> {
    /// The retransmission timeout of `path`.
    pub(crate) fn rto(&self, path: PathId) -> Duration {
        self.paths.view(path).map_or(self.config.rto.initial, |view| view.rto)
    }
}
