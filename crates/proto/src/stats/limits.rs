//! What limits a transfer.

use serde::Serialize;

use crate::ids::PathId;
use crate::time::Duration;

/// What keeps an association from sending more at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// The application has handed in nothing more.
    #[default]
    Application,
    /// The send buffer is full of what is not acknowledged; the application would have more.
    SendBuffer,
    /// The peer's receive window: its buffer is small, or its application reads slowly.
    PeerWindow,
    /// The congestion windows; the path is the fastest of those that are full.
    Congestion(PathId),
    /// Max.Burst or the share of the buffers that a path may take: a congestion window is open.
    Rules,
    /// The path scheduler waits although a path is open; this one is the fastest that is not.
    Scheduler(PathId),
    /// A packet waits for its time at the rate of a rate-based control (BBR).
    Pacing,
    /// No path works.
    NoPath,
}

/// How long which limit held, since the association was set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LimitStats {
    /// The limit at present.
    pub current: Limit,
    /// For how long it has been so.
    pub current_for: Duration,
    /// [`Limit::Application`].
    pub application: Duration,
    /// [`Limit::SendBuffer`].
    pub send_buffer: Duration,
    /// [`Limit::PeerWindow`].
    pub peer_window: Duration,
    /// [`Limit::Congestion`], by path.
    pub congestion: Vec<Duration>,
    /// [`Limit::Rules`].
    pub rules: Duration,
    /// [`Limit::Scheduler`], by path.
    pub scheduler: Vec<Duration>,
    /// [`Limit::Pacing`].
    pub pacing: Duration,
    /// [`Limit::NoPath`].
    pub no_path: Duration,
}

impl LimitStats {
    /// Every limit that ever held, with its time, the longest first.
    pub fn ranking(&self) -> Vec<(Limit, Duration)> {
        let by_path = |times: &[Duration], limit: fn(PathId) -> Limit| {
            let paths = (0..=u8::MAX).map(PathId).map(limit);
            paths.zip(times.iter().copied()).collect::<Vec<_>>()
        };
        let mut all = vec![
            (Limit::Application, self.application),
            (Limit::SendBuffer, self.send_buffer),
            (Limit::PeerWindow, self.peer_window),
            (Limit::Rules, self.rules),
            (Limit::Pacing, self.pacing),
            (Limit::NoPath, self.no_path),
        ];
        all.extend(by_path(&self.congestion, Limit::Congestion));
        all.extend(by_path(&self.scheduler, Limit::Scheduler));
        all.retain(|(_, time)| !time.is_zero());
        all.sort_by_key(|(_, time)| core::cmp::Reverse(*time));
        all
    }

    /// What held since an earlier look, the longest first.
    pub fn since(&self, before: &Self) -> Vec<(Limit, Duration)> {
        let mut before = before.clone();
        let spent = self.ranking().into_iter();
        let mut since: Vec<_> = spent
            .map(|(limit, time)| (limit, time.saturating_sub(*before.slot(limit))))
            .filter(|(_, time)| !time.is_zero())
            .collect();
        since.sort_by_key(|(_, time)| core::cmp::Reverse(*time));
        since
    }

    pub(crate) fn slot(&mut self, limit: Limit) -> &mut Duration {
        match limit {
            Limit::Application => &mut self.application,
            Limit::SendBuffer => &mut self.send_buffer,
            Limit::PeerWindow => &mut self.peer_window,
            Limit::Rules => &mut self.rules,
            Limit::Pacing => &mut self.pacing,
            Limit::NoPath => &mut self.no_path,
            Limit::Congestion(path) => slot_of_path(&mut self.congestion, path),
            Limit::Scheduler(path) => slot_of_path(&mut self.scheduler, path),
        }
    }
}

fn slot_of_path(times: &mut Vec<Duration>, path: PathId) -> &mut Duration {
    let at = path.index();
    if times.len() <= at {
        times.resize(at + 1, Duration::ZERO);
    }
    &mut times[at]
}

impl core::fmt::Display for Limit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Application => f.write_str("application"),
            Self::SendBuffer => f.write_str("send buffer"),
            Self::PeerWindow => f.write_str("peer's window"),
            Self::Congestion(path) => write!(f, "paths full ({path} is the fastest)"),
            Self::Rules => f.write_str("Max.Burst or buffer shares"),
            Self::Scheduler(path) => write!(f, "waits for {path}"),
            Self::Pacing => f.write_str("pacing"),
            Self::NoPath => f.write_str("no path"),
        }
    }
}

/// Why data makes no progress although the peer is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stall {
    /// The peer acknowledges, and leaves no window: its application does not read.
    PeerReader,
    /// Heartbeats on this path are answered, its data is not: something on the way drops data,
    /// perhaps because of its size.
    BlackHole(PathId),
    /// Heartbeats are answered, and nothing that must be authenticated is acknowledged: perhaps the
    /// ends have different shared keys.
    SharedKey,
}

impl core::fmt::Display for Stall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::PeerReader => f.write_str("the peer's program does not read"),
            Self::BlackHole(path) => {
                write!(f, "heartbeats are answered on {path}, data is not acknowledged")
            }
            Self::SharedKey => f.write_str(
                "the peer answers heartbeats and acknowledges nothing: has it the same shared key?",
            ),
        }
    }
}
