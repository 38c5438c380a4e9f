//! `polypath send` and `polypath receive`.

mod args;
mod display;
mod listing;
mod outcome;
mod receive;
mod send;
mod serve;

use std::sync::Arc;
use std::time::Duration;

use polypath_net::{AssocConfig, Association};

use self::args::CommonArgs;
pub(crate) use self::args::{ReceiveArgs, SendArgs};
pub(crate) use self::listing::Listing as TransferListing;
pub(crate) use self::outcome::Json as TransferJson;
pub(crate) use self::receive::receive;
pub(crate) use self::send::send;
use crate::failure::Failure;

/// The receiver does not take the file.
const REFUSED: u8 = 4;
/// A file, a folder, a port or a right of this host.
const LOCAL: u8 = crate::keys::LOCAL;

/// How long an abort may take to get out.
const GOODBYE: Duration = Duration::from_secs(1);

fn stack_config(args: &CommonArgs) -> Result<Arc<AssocConfig>, Failure> {
    args.stack.resolve(0).map(|stack| Arc::new(stack.assoc))
}

/// Ends the association at once and sees to it that the peer is told.
async fn give_up(association: &Association) {
    association.abort("interrupted");
    let _ = tokio::time::timeout(GOODBYE, association.closed()).await;
}
