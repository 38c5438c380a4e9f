//! `fcfs`: first come, first served.

use polypath_proto::policy::FirstCome;

use crate::entry::PolicyEntry;

pub(crate) const ENTRY: PolicyEntry =
    PolicyEntry::stream_scheduler("fcfs", |_| Ok(Box::new(|_, _| Box::new(FirstCome))))
        .summary("messages in the order in which they were handed in")
        .source("RFC 8260 section 3.1");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::model::Model;

    #[test]
    fn messages_go_as_they_came_interleaved_or_not() {
        for interleaved in [false, true] {
            let mut model = Model::new(&[(1, 2), (0, 3), (1, 1), (2, 1)]);
            assert_eq!(model.drain(&mut FirstCome, interleaved), [1, 1, 0, 0, 0, 1, 2]);
        }
    }
}
