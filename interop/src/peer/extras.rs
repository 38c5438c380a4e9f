//! Extensions that a conversation uses, and what is done in the middle of it; the same as in
//! `extras.c`.

use std::cell::Cell;
use std::net::IpAddr;
use std::str::FromStr;

use clap::Args;
use polypath_net::{Association, Endpoint, Reliability, StreamDirection};
use polypath_proto::config::{AssocConfig, AuthKey, ExtensionConfig};
use polypath_proto::time::Duration;

/// The number of the shared key.
const KEY: u16 = 1;

/// Options.
#[derive(Args, Clone, Debug)]
pub struct Extras {
    /// RFC 9260 alone: offer no extension
    #[arg(long)]
    pub bare: bool,
    /// Shared key 1 of AUTH, in use; otherwise the empty key 0
    #[arg(long, value_name = "TEXT")]
    pub key: Option<String>,
    /// Chunk types that the peer has to authenticate beside ASCONF
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    pub auth_chunks: Vec<u8>,
    /// I-DATA
    #[arg(long)]
    pub i_data: bool,
    /// Messages are given up after so long, ms
    #[arg(long, value_name = "MS")]
    pub ttl: Option<u64>,
    /// Messages are given up after so many retransmissions
    #[arg(long, value_name = "N")]
    pub rtx: Option<u32>,
    /// Messages are given up for those of a lower number
    #[arg(long, value_name = "N")]
    pub priority: Option<u32>,
    /// Outgoing streams are reset after so many messages
    #[arg(long, value_name = "N")]
    pub reset_after: Option<u64>,
    /// N more outgoing streams after K messages
    #[arg(long, value_name = "N@K")]
    pub add_streams: Option<After<u16>>,
    /// One more address of ours after K messages
    #[arg(long, value_name = "A@K")]
    pub add_address: Option<After<IpAddr>>,
    /// One address less after K messages
    #[arg(long, value_name = "A@K")]
    pub drop_address: Option<After<IpAddr>>,
}

/// Something to be done after so many messages: `WHAT@K`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After<T> {
    /// What.
    pub what: T,
    /// After how many.
    pub sent: u64,
}

impl<T: FromStr> FromStr for After<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('@').and_then(|(what, sent)| {
            Some(Self { what: what.parse().ok()?, sent: sent.parse().ok()? })
        });
        parsed.ok_or_else(|| "WHAT@K is expected, such as 5@100".to_owned())
    }
}

/// What events told.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) resets_in: Cell<u32>,
    pub(super) resets_out: Cell<u32>,
    pub(super) refused: Cell<u32>,
    pub(super) streams_added: Cell<u32>,
    pub(super) abandoned: Cell<u32>,
}

impl Extras {
    /// Switches on what is wanted.
    pub fn apply_to(&self, assoc: &mut AssocConfig) {
        let all = ExtensionConfig { interleaving: self.i_data, ..ExtensionConfig::ALL };
        assoc.extensions = if self.bare { ExtensionConfig::NONE } else { all };
        if let Some(secret) = &self.key {
            assoc.auth.keys = vec![AuthKey { id: KEY, secret: secret.clone().into_bytes() }];
            assoc.auth.active = KEY;
        }
        assoc.auth.chunks.clone_from(&self.auth_chunks);
    }

    /// How much messages matter.
    pub fn reliability(&self) -> Reliability {
        match (self.ttl, self.rtx, self.priority) {
            (Some(ms), ..) => Reliability::Timed(Duration::from_millis(ms)),
            (_, Some(times), _) => Reliability::Limited(times),
            (_, _, Some(number)) => Reliability::Priority(number),
            _ => Reliability::Full,
        }
    }

    /// Does what is due between two messages, `sent` of which have been sent.
    pub(super) async fn act_between(
        &self,
        endpoint: &Endpoint,
        association: &Association,
        sent: u64,
    ) -> anyhow::Result<()> {
        if let Some(After { what, .. }) = self.add_address.filter(|after| after.sent == sent) {
            endpoint.add_address(what)?;
        }
        if let Some(After { what, .. }) = self.drop_address.filter(|after| after.sent == sent) {
            anyhow::ensure!(endpoint.remove_address(what), "{what} cannot be given up");
        }
        if self.reset_after == Some(sent) {
            association.reset_streams(StreamDirection::Outgoing, &[]).await?;
        }
        if let Some(After { what, .. }) = self.add_streams.filter(|after| after.sent == sent) {
            association.add_streams(what, 0).await?;
        }
        Ok(())
    }
}
