//! What set-up and shutdown must remember.

use polypath_wire::ParamsBuf;

use crate::extension::asconf::AddressChangeRequest;
use crate::ids::PathId;
use crate::time::Time;

/// What set-up and shutdown must remember.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// We opened: the paths present at that time are our user's choice.
    pub(in crate::association) opened: bool,
    /// The path of the latest INIT, COOKIE ECHO, SHUTDOWN or SHUTDOWN ACK.
    pub(in crate::association) path: PathId,
    /// The encoded INIT or COOKIE ECHO, to be sent again unchanged.
    pub(in crate::association) chunk: Vec<u8>,
    /// How often it was sent again.
    pub(in crate::association) retransmissions: u32,
    /// When the COOKIE ECHO was first sent.
    pub(in crate::association) echoed: Time,
    /// A stale cookie was answered with a new INIT once.
    pub(in crate::association) stale_before: bool,
    /// Parameters of the INIT ACK to be reported that had no room behind the COOKIE ECHO.
    pub(in crate::association) unreported: Option<Box<ParamsBuf>>,
    /// Changes of our addresses that the application asked for before set-up was done.
    pub(in crate::association) address_changes: Option<Box<AddressChangeRequests>>,
    /// The application asked for a shutdown before set-up was done.
    pub(in crate::association) shutdown_wanted: bool,
}

/// Seldom there, and kept for as long as an association lives.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressChangeRequests(pub(in crate::association) Vec<AddressChangeRequest>);

impl Setup {
    /// A change of our addresses waits for the end of set-up.
    pub(in crate::association) fn defer_address_change(&mut self, change: AddressChangeRequest) {
        self.address_changes.get_or_insert_default().0.push(change);
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            opened: false,
            path: PathId(0),
            chunk: Vec::new(),
            retransmissions: 0,
            echoed: Time::ZERO,
            stale_before: false,
            unreported: None,
            address_changes: None,
            shutdown_wanted: false,
        }
    }
}
