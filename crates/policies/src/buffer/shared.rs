//! `shared`: buffers are not divided.

use polypath_proto::policy::SharedBuffer;

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::buffer("shared", |_| Ok(Box::new(|_, _| Box::new(SharedBuffer))))
        .summary("all paths share the buffers, first come, first served")
        .source("RFC 9260 section 6.1");
