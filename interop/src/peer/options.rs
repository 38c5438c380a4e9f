//! The options of a conversation; those of the C peer, and a few of our own.

use std::net::IpAddr;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use polypath_policies::{PolicyError, factory, profile};
use polypath_proto::config::{AssocConfig, NrSack};
use polypath_proto::time::Duration;

use super::extras::Extras;
use crate::message::{Plan, Sizes};

/// What to do in a conversation.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Who begins
    #[arg(value_enum)]
    pub role: Role,
    /// Our addresses
    #[arg(
        long,
        value_name = "ADDR,...",
        value_delimiter = ',',
        required = true,
        overrides_with = "local"
    )]
    pub local: Vec<IpAddr>,
    /// The network devices that packets from these addresses must take
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub device: Vec<String>,
    /// The peer's addresses
    #[arg(long, value_name = "ADDR,...", value_delimiter = ',')]
    pub remote: Vec<IpAddr>,
    /// Our SCTP port
    #[arg(long, value_name = "N", default_value_t = 5001)]
    pub port: u16,
    /// The peer's SCTP port
    #[arg(long, value_name = "N", default_value_t = 5001)]
    pub remote_port: u16,
    /// Our UDP port
    #[arg(long, value_name = "N", default_value_t = 9899)]
    pub udp: u16,
    /// The peer's UDP port
    #[arg(long, value_name = "N", default_value_t = 9899)]
    pub remote_udp: u16,
    /// No UDP: SCTP over IP itself
    #[arg(long)]
    pub raw: bool,
    /// Messages to send
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub send: u64,
    /// Messages to receive and check; 0: receive any, check none
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub expect: u64,
    /// Fewer than that are no fault
    #[arg(long)]
    pub partial: bool,
    /// Nor is a message left out, as long as order is kept
    #[arg(long)]
    pub skips: bool,
    /// Send back what comes
    #[arg(long)]
    pub echo: bool,
    /// Message sizes, in turn (A,B,...) or drawn from a range (A-B)
    #[arg(long, value_name = "BYTES", default_value = "100")]
    pub sizes: Sizes,
    /// Streams that take turns
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub streams: u16,
    /// What lengths and contents are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Set the U bit
    #[arg(long)]
    pub unordered: bool,
    /// Set the I bit
    #[arg(long)]
    pub immediate: bool,
    /// Pause between messages, ms
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub delay: u64,
    /// What to do once all is sent and received
    #[arg(long, value_enum, default_value_t = Ending::Wait)]
    pub end: Ending,
    /// Stay after the end, for a peer that missed it, or before vanishing, ms
    #[arg(long, value_name = "MS", default_value_t = 0)]
    pub linger: u64,
    /// Give up after so many seconds
    #[arg(long, value_name = "S", default_value_t = 60)]
    pub timeout: u64,
    /// Send and receive buffer, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    pub buffer: u32,
    /// Path MTU, bytes
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<u32>,
    /// Paths at the same time: 0 not, 1 CMT, 2 CMT/RPv1, 3 CMT/RPv2, 4 LIA; left out: as the
    /// profile has it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=4))]
    pub cmt: Option<u8>,
    /// Path scheduler in place of the profile's
    #[arg(long, value_name = "NAME")]
    pub scheduler: Option<String>,
    /// DAC, also with a peer that does not say that it has it
    #[arg(long)]
    pub dac: bool,
    /// NR-SACK
    #[arg(long)]
    pub nr_sack: bool,
    /// Buffer splitting
    #[arg(long)]
    pub split: bool,
    /// HB.interval, ms
    #[arg(long, value_name = "MS")]
    pub heartbeat: Option<u64>,
    /// RTO.Min, RTO.Initial and RTO.Max, ms
    #[arg(long, value_name = "MIN,INITIAL,MAX", value_delimiter = ',')]
    pub rto: Vec<u64>,
    /// SACK.Delay, ms
    #[arg(long, value_name = "MS")]
    pub sack_delay: Option<u64>,
    /// The stack to begin with
    #[arg(long, value_enum, default_value_t = Profile::Fast)]
    pub profile: Profile,
    /// Extensions
    #[command(flatten)]
    pub extras: Extras,
}

/// Who begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Opens the association
    Client,
    /// Waits for it
    Server,
}

/// How an association ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ending {
    /// Wait for the peer to end it
    Wait,
    /// Gracefully
    Shutdown,
    /// With an ABORT
    Abort,
    /// Without a word
    Vanish,
}

/// A stack that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// What one would deploy
    Fast,
    /// RFC 9260 with CMT
    Paper,
}

impl Role {
    /// `client` or `server`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl Options {
    /// The messages.
    pub fn plan(&self) -> Plan {
        Plan { seed: self.seed, streams: self.streams, sizes: self.sizes.clone() }
    }

    /// The stack.
    ///
    /// # Errors
    /// When there is no such path scheduler.
    pub fn assoc(&self) -> Result<Arc<AssocConfig>, PolicyError> {
        let (mut assoc, mut policies) = match self.profile {
            Profile::Fast => profile::fast(),
            Profile::Paper => profile::paper(),
        };
        match self.cmt {
            Some(0) => "primary".clone_into(&mut policies.path_scheduler),
            Some(2) => "rp-v1".clone_into(&mut policies.congestion),
            Some(3) => "rp-v2".clone_into(&mut policies.congestion),
            Some(4) => "lia".clone_into(&mut policies.congestion),
            _ => {}
        }
        if let Some(name) = &self.scheduler {
            name.clone_into(&mut policies.path_scheduler);
        }
        if self.split {
            "split".clone_into(&mut policies.buffer);
        }
        assoc.policies = factory(&policies)?;
        self.set_sizes(&mut assoc);
        self.set_timers(&mut assoc);
        self.set_extensions(&mut assoc);
        Ok(Arc::new(assoc))
    }

    fn set_sizes(&self, assoc: &mut AssocConfig) {
        assoc.outbound_streams = self.streams;
        assoc.inbound_streams = u16::MAX;
        assoc.receive_buffer = self.buffer;
        assoc.send_buffer = self.buffer.into();
        assoc.path_mtu = self.mtu.unwrap_or(assoc.path_mtu);
    }

    fn set_timers(&self, assoc: &mut AssocConfig) {
        let ms = |ms: u64| Duration::from_millis(ms);
        if let Some(interval) = self.heartbeat {
            assoc.heartbeat_interval = Some(ms(interval));
        }
        if let Some(delay) = self.sack_delay {
            assoc.sack.delay = ms(delay);
        }
        if let [min, initial, max] = self.rto[..] {
            assoc.rto.min = ms(min);
            assoc.rto.initial = ms(initial);
            assoc.rto.max = ms(max);
        }
    }

    fn set_extensions(&self, assoc: &mut AssocConfig) {
        if self.dac {
            assoc.cmt.dac = true;
            assoc.cmt.dac_unannounced = true;
        }
        if self.nr_sack {
            assoc.cmt.nr_sack = NrSack::Received;
        }
        self.extras.apply_to(assoc);
    }
}
