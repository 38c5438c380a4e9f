//! `fcfs`: first come, first served.

use polypath_proto::policy::FirstCome;

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::stream_scheduler("fcfs", |_| Ok(Box::new(|_, _| Box::new(FirstCome))))
        .summary("messages in the order in which they were handed in")
        .source("RFC 8260 section 3.1");
