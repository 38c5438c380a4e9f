//! `cmt`: every path by itself.

use polypath_proto::policy::{ClassicCc, Rfc9260Rule};

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("cmt", |_| {
    Ok(Box::new(|cc, _| Box::new(ClassicCc::new(Rfc9260Rule, cc.clone()))))
})
.summary("RFC 9260 on each path by itself")
.source("RFC 9260 section 7.2, S1 section II");
