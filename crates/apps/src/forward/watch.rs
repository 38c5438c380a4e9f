//! When a peer counts as gone for good: the association itself waits much longer than others do,
//! so that nothing is lost while all paths are away.

use std::sync::Arc;
use std::time::Duration;

use polypath_net::{AssocConfig, Association};

/// How often is looked.
const TICK: Duration = Duration::from_secs(1);

/// Lets an association outlive any outage: [`await_silence`] says when it ends.
pub fn let_outlive_outages(assoc: &mut AssocConfig) {
    assoc.assoc_max_retrans = u32::MAX / 2;
}

/// Waits until nothing was heard on any path for `limit`.
pub async fn await_silence(association: &Arc<Association>, limit: Duration) {
    loop {
        tokio::time::sleep(TICK).await;
        let paths = association.paths();
        let silent = |path: &polypath_net::PathInfo| {
            path.contact.silent_for.is_none_or(|silence| silence >= limit)
        };
        if !paths.is_empty() && paths.iter().all(silent) {
            return;
        }
    }
}
