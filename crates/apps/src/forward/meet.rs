//! A connection from the other end meets the one that was made for it here.

use super::dial::Dialed;
use super::mux::Incoming;
use super::refusal::Refusal;
use super::relay::Local;

/// Joins a connection from the far end to the one that was made for it here, if it was.
pub(super) async fn carry_to(one: Incoming, dialed: Result<Dialed, Refusal>) {
    let local: Local = match dialed {
        Ok(Dialed::Tcp(stream)) => stream.into(),
        Ok(Dialed::Unix(stream)) => stream.into(),
        Err(why) => return one.refuse(why).await,
    };
    match one.accept().await {
        Ok(channel) => {
            let _ended = local.relay(channel).await;
        }
        Err(_) => local.break_off(),
    }
}
