//! `rfc9260`: the same path after a fast retransmit, another one after a timeout.

use polypath_proto::policy::Rfc9260Retransmission;

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::retransmission("rfc9260", |_| {
    Ok(Box::new(|_, _| Box::new(Rfc9260Retransmission)))
})
.summary("fast retransmissions on the same path, those after a timeout on the next")
.source("RFC 9260 section 6.4");
