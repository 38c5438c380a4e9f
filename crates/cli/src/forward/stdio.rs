//! `polypath forward --stdio`: one connection, over stdin and stdout.

use polypath_apps::forward::channel::{Channel, OpenError};
use polypath_apps::forward::client::Client;
use polypath_apps::forward::frame::Destination;
use polypath_apps::forward::join::guest;
use polypath_apps::forward::join::lobby::Lobby;
use polypath_apps::forward::relay::{Ended, relay};
use polypath_apps::forward::target::Target;

use tokio::net::UnixStream;

use super::desk::Desk;
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::reach::UNREACHABLE;

/// The place was not reached.
const REFUSED: u8 = 4;

/// Carries stdin and stdout to `target`, and ends with the connection: by the association that
/// another process has, or else by one of our own.
pub(super) async fn carry_stdio(desk: &Desk<'_>, target: &Target) -> Result<(), Failure> {
    if let Some(lobby) = desk.lobby_path()?
        && Lobby::is_open(&lobby)
        && let Ok(opened) = guest::open(&lobby, target).await
    {
        let stream = opened.map_err(|error| open_failure(target, error, ""))?;
        return carry_joined(stream).await;
    }
    let client = desk.new_client()?;
    tokio::select! {
        failure = desk.keep_connected(&client) => Err(failure),
        done = open_and_carry(desk, &client, target) => done,
        () = interrupt::wait_for_interrupt() => Err(Failure::from_status(INTERRUPTED)),
    }
}

async fn carry_joined(mut stream: UnixStream) -> Result<(), Failure> {
    let mut stdio = tokio::io::join(tokio::io::stdin(), tokio::io::stdout());
    // How it ended is for who speaks over it.
    let _ended = tokio::io::copy_bidirectional(&mut stdio, &mut stream).await;
    Ok(())
}

async fn open_and_carry(desk: &Desk<'_>, client: &Client, target: &Target) -> Result<(), Failure> {
    let channel = client.open(&Destination::Place(target.clone())).await;
    let channel = channel.map_err(|error| open_failure(target, error, &desk.trouble()))?;
    match carry(channel).await {
        Ended::InOrder | Ended::Here => {
            client.leave().await;
            Ok(())
        }
        Ended::There => {
            Err(Failure::run_failed(format!("the connection to {target} was broken off")))
        }
    }
}

/// Why a place was not reached; `trouble`: what happened last on the way to the server.
fn open_failure(target: &Target, error: OpenError, trouble: &str) -> Failure {
    match error {
        OpenError::Refused(why) => Failure::with_code(REFUSED, format!("{target}: {why}")),
        OpenError::Lost => {
            let why = if trouble.is_empty() { String::new() } else { format!(": {trouble}") };
            let text = format!("{target}: the server was not reached in time{why}");
            Failure::with_code(UNREACHABLE, text)
        }
    }
}

async fn carry(channel: Channel) -> Ended {
    relay(channel, &mut tokio::io::stdin(), &mut tokio::io::stdout()).await
}
