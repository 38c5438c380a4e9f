//! `primary`: one path at a time.

use polypath_proto::policy::PrimaryPath;

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::path_scheduler("primary", |_| Ok(Box::new(|_, _| Box::new(PrimaryPath))))
        .summary("the primary path; another one only when it fails")
        .source("RFC 9260 section 6.4");
