//! The emulated network measures itself: does a packet take the time, and a stream of them the
//! rate, that the links promise?
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "measures real time")]

use std::io::IoSliceMut;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use polypath_link::{LinkConfig, Nanos};

use crate::emulation::Emulation;
use crate::error::Error;
use crate::model;
use crate::port::to_nanos;
use crate::spec::{Host, RouteSpec};

/// By how much an emulated network may differ from its specification.
///
/// The defaults, 3 % and 1 ms + 5 %, are about what differs between two runs of one experiment
/// anyway; two cores that are shared with sender and receiver keep them with room to spare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Of the rate, as a share of it.
    pub rate: f64,
    /// Of the delay, in ns, and beside it:
    pub delay: Nanos,
    /// a share of the delay.
    pub delay_share: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { rate: 0.03, delay: 1_000_000, delay_share: 0.05 }
    }
}

/// What the links promise, and what was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// What the links promise.
    pub expected: f64,
    /// What was found.
    pub measured: f64,
}

/// What was found on one route.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The path's name.
    pub path: String,
    /// Source.
    pub from: IpAddr,
    /// Destination.
    pub to: IpAddr,
    /// Median delay of single packets, in s.
    pub delay: Compared,
    /// Rate of a stream that fills the route in bit/s, as links count; `None` where no link has a
    /// rate.
    pub rate: Option<Compared>,
}

impl Measurement {
    /// What is off by more than the bounds, in one line.
    #[must_use]
    pub fn describe_fault(&self, bounds: &Bounds) -> Option<String> {
        let what = self.delay_fault(bounds).or_else(|| self.rate_fault(bounds.rate))?;
        Some(format!("path {}, {} to {}: {what}", self.path, self.from, self.to))
    }

    fn delay_fault(&self, bounds: &Bounds) -> Option<String> {
        let Compared { expected, measured } = self.delay;
        let allowed = bounds.delay as f64 * 1e-9 + bounds.delay_share * expected;
        let [found, right, allowed_ms] =
            [measured, expected, allowed].map(|seconds| format!("{:.2} ms", seconds * 1e3));
        let beyond = (measured - expected).abs() > allowed;
        beyond.then(|| format!("delay {found}, not {right} (allowed: +-{allowed_ms})"))
    }

    fn rate_fault(&self, bound: f64) -> Option<String> {
        let Compared { expected, measured } = self.rate?;
        let beyond = (measured - expected).abs() > bound * expected;
        let mbit = |rate: f64| format!("{:.3} Mbit/s", rate * 1e-6);
        let (found, right, allowed) = (mbit(measured), mbit(expected), bound * 100.0);
        beyond.then(|| format!("rate {found}, not {right} (allowed: +-{allowed} %)"))
    }
}

/// Single packets, so far apart.
const PROBES: usize = 9;
const PROBE_GAP: Duration = Duration::from_millis(6);
const PROBE_BYTES: u32 = 100;
/// What all streams together may take, one after another.
const STREAMS_TIME: f64 = 2.0;
const STREAM_TIME: (f64, f64) = (0.05, 0.25);
/// The stream is so much faster than the route, and so many packets ahead: enough to keep it busy.
const PUSH: f64 = 1.05;
const HEAD_START: f64 = 4.0;
/// What comes later than this after it is due is lost.
const GRACE: Duration = Duration::from_millis(300);
const RECEIVE_BUFFER: usize = 64 << 20;
/// A machine that was busy with something else deserves another chance.
const ATTEMPTS: usize = 3;

impl Emulation {
    /// Measures delay and rate of each route while nothing else uses the network, before
    /// [`Self::start`]. A route that is beyond `bounds` is measured up to three times, and the last
    /// result counts. Takes some seconds.
    ///
    /// # Errors
    /// [`Error::System`] when packets cannot be sent, [`Error::Stopped`].
    pub fn measure_routes(&self, bounds: &Bounds) -> Result<Vec<Measurement>, Error> {
        self.plan().routes().iter().map(|route| self.measure_until(route, bounds)).collect()
    }

    fn measure_until(&self, route: &RouteSpec, bounds: &Bounds) -> Result<Measurement, Error> {
        let mut last = self.measure_route(route)?;
        for _ in 1..ATTEMPTS {
            if last.describe_fault(bounds).is_none() {
                break;
            }
            last = self.measure_route(route)?;
        }
        Ok(last)
    }

    fn measure_route(&self, route: &RouteSpec) -> Result<Measurement, Error> {
        let links = self.plan().steady_links(route);
        let mut trial = Trial::new(self, route)?;
        (0..PROBES).try_for_each(|_| {
            std::thread::sleep(PROBE_GAP);
            trial.send_packet(PROBE_BYTES.max(trial.least_size()))
        })?;
        let delay = trial.collect_outcome(&links)?.compare_delay();
        let rate = match bottleneck_rate(&links) {
            None => None,
            Some(rate) => {
                let routes = self.plan().routes().len().max(1) as f64;
                let time = (STREAMS_TIME / routes).clamp(STREAM_TIME.0, STREAM_TIME.1);
                let mut trial = Trial::new(self, route)?;
                trial.send_stream(rate as f64, time)?;
                Some(trial.collect_outcome(&links)?.compare_rate())
            }
        };
        let RouteSpec { path, from, to, .. } = route.clone();
        Ok(Measurement { path, from, to, delay, rate })
    }
}

/// The lowest rate in bit/s of a chain of links, if any has one.
fn bottleneck_rate(links: &[LinkConfig]) -> Option<u64> {
    let rate = |link: &LinkConfig| link.trace.as_ref().map(|t| t.mean_rate()).or(link.rate);
    links.iter().filter_map(rate).min()
}

/// Packets of one route, as sent.
struct Trial {
    sender: UdpSocket,
    receiver: UdpSocket,
    /// Bytes below UDP's payload.
    headers: u32,
    mtu: u32,
    overhead: u32,
    /// When the links' clock began, in ns since 1970.
    epoch: Nanos,
    sent: Vec<(Nanos, u32)>,
}

/// (bytes, sent, expected, arrived) of each packet that was expected and arrived.
struct Outcome(Vec<(u32, Nanos, Nanos, Nanos)>);

impl Trial {
    fn new(emulation: &Emulation, route: &RouteSpec) -> Result<Self, Error> {
        let host = |address| {
            let client = emulation.addresses(Host::Client).contains(&address);
            emulation.namespace(if client { Host::Client } else { Host::Server })
        };
        let bind = |address: IpAddr| -> Result<UdpSocket, Error> {
            let socket = host(address).run(|| UdpSocket::bind((address, 0)));
            let socket = socket.and_then(|socket| socket);
            socket.map_err(Error::system_error(format!("UDP socket on {address}")))
        };
        let (sender, receiver) = (bind(route.from)?, bind(route.to)?);
        prepare_sockets(&sender, &receiver).map_err(Error::system_error("UDP socket"))?;
        let plan = emulation.plan();
        Ok(Self {
            sender,
            receiver,
            headers: if route.to.is_ipv4() { 28 } else { 48 },
            mtu: plan.mtu.min(route.vanish_above.unwrap_or(u32::MAX)),
            overhead: plan.overhead,
            epoch: emulation.clock_epoch()?,
            sent: Vec::new(),
        })
    }

    /// The least size of a packet that carries a number.
    fn least_size(&self) -> u32 {
        self.headers + 4
    }

    /// Sends a packet of `bytes` bytes, headers included, that carries its number.
    fn send_packet(&mut self, bytes: u32) -> Result<(), Error> {
        let number = self.sent.len() as u32;
        let mut payload = vec![0; bytes.saturating_sub(self.headers) as usize];
        if let Some(place) = payload.first_chunk_mut() {
            *place = number.to_be_bytes();
        }
        self.sent.push((since_1970().saturating_sub(self.epoch), bytes + self.overhead));
        self.sender.send(&payload).map_err(Error::system_error("send"))?;
        Ok(())
    }

    /// Sends a little more than `rate` bit/s for `time` s, and at least twenty packets.
    fn send_stream(&mut self, rate: f64, time: f64) -> Result<(), Error> {
        // On slow routes packets of 10 ms each.
        let bytes = ((rate * 0.01 / 8.0) as u32).clamp(200.min(self.mtu), self.mtu);
        let gap = f64::from(bytes + self.overhead) * 8.0 / rate / PUSH;
        let packets = ((time / gap) as usize).max(20);
        let begin = since_1970();
        while self.sent.len() < packets {
            let passed = since_1970().saturating_sub(begin) as f64 * 1e-9;
            let due = (self.sent.len() as f64 - HEAD_START) * gap;
            if due > passed {
                std::thread::sleep(Duration::from_secs_f64(due - passed));
            } else {
                self.send_packet(bytes)?;
            }
        }
        Ok(())
    }

    /// Waits until all is there that should be.
    fn collect_outcome(self, links: &[LinkConfig]) -> Result<Outcome, Error> {
        let expected = model::predict_arrivals(links, &self.sent);
        let last = expected.iter().flatten().max().copied().unwrap_or(0);
        let rest = last.saturating_sub(since_1970().saturating_sub(self.epoch));
        std::thread::sleep(Duration::from_nanos(rest));
        let mut arrived = vec![None; self.sent.len()];
        let mut missing = expected.iter().flatten().count();
        while missing > 0 {
            let Some((number, stamp)) = self.receive_packet() else { break };
            if let Some(place) = arrived.get_mut(number).filter(|place| place.is_none()) {
                *place = Some(stamp.saturating_sub(self.epoch));
                missing -= 1;
            }
        }
        let all = self.sent.iter().zip(expected).zip(arrived);
        let both = all.filter_map(|(((at, bytes), expected), arrived)| {
            Some((*bytes, *at, expected?, arrived?))
        });
        let both: Vec<_> = both.collect();
        if both.len() < 2 {
            let what = format!("{:?}", self.receiver.local_addr().map(|a| a.ip()));
            return Err(Error::System { what, cause: "no packet arrived".into() });
        }
        Ok(Outcome(both))
    }

    /// The number of the next packet, and when the kernel had it.
    fn receive_packet(&self) -> Option<(usize, Nanos)> {
        let mut buffer = [0; 4];
        let mut slices = [IoSliceMut::new(&mut buffer)];
        let mut space = nix::cmsg_space!(TimeSpec);
        let fd = self.receiver.as_raw_fd();
        let message = recvmsg::<()>(fd, &mut slices, Some(&mut space), MsgFlags::MSG_TRUNC).ok()?;
        let stamp = message.cmsgs().ok()?.find_map(|cmsg| match cmsg {
            ControlMessageOwned::ScmTimestampns(time) => to_nanos(time),
            _ => None,
        });
        let stamp = stamp.unwrap_or_else(since_1970);
        Some((u32::from_be_bytes(buffer) as usize, stamp))
    }
}

impl Outcome {
    fn compare_delay(&self) -> Compared {
        let median = |time: fn(&(u32, Nanos, Nanos, Nanos)) -> Nanos| {
            let delay = |packet| time(packet).saturating_sub(packet.1);
            let mut delays: Vec<_> = self.0.iter().map(delay).collect();
            delays.sort_unstable();
            delays.get(delays.len() / 2).map_or(0.0, |&ns| ns as f64 * 1e-9)
        };
        Compared { expected: median(|p| p.2), measured: median(|p| p.3) }
    }

    fn compare_rate(&self) -> Compared {
        let rate = |time: fn(&(u32, Nanos, Nanos, Nanos)) -> Nanos| {
            let times = || self.0.iter().map(time);
            let took = times().max().unwrap_or(0) - times().min().unwrap_or(0);
            let bytes: u64 = self.0.iter().skip(1).map(|packet| u64::from(packet.0)).sum();
            bytes as f64 * 8e9 / (took.max(1) as f64)
        };
        Compared { expected: rate(|p| p.2), measured: rate(|p| p.3) }
    }
}

fn prepare_sockets(sender: &UdpSocket, receiver: &UdpSocket) -> std::io::Result<()> {
    sender.connect(receiver.local_addr()?)?;
    receiver.set_read_timeout(Some(GRACE))?;
    setsockopt(receiver, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(receiver, sockopt::RcvBufForce, &RECEIVE_BUFFER)?;
    Ok(())
}

/// By the clock that stamps packets.
fn since_1970() -> Nanos {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(delay: (f64, f64), rate: Option<(f64, f64)>) -> Option<String> {
        let compared = |(expected, measured)| Compared { expected, measured };
        let measurement = Measurement {
            path: "a".into(),
            from: "10.0.1.1".parse().unwrap(),
            to: "10.0.1.2".parse().unwrap(),
            delay: compared(delay),
            rate: rate.map(compared),
        };
        measurement.describe_fault(&Bounds::default())
    }

    #[test]
    fn what_lies_within_the_bounds_is_no_fault() {
        assert_eq!(found((0.010, 0.0114), None), None);
        assert_eq!(found((0.010, 0.010), Some((10e6, 9.71e6))), None);
    }

    #[test]
    fn what_lies_beyond_is_told() {
        let text = found((0.010, 0.0116), None).unwrap();
        let expected =
            "path a, 10.0.1.1 to 10.0.1.2: delay 11.60 ms, not 10.00 ms (allowed: +-1.50 ms)";
        assert_eq!(text, expected);
        let text = found((0.010, 0.010), Some((10e6, 9.69e6))).unwrap();
        assert!(text.ends_with("rate 9.690 Mbit/s, not 10.000 Mbit/s (allowed: +-3 %)"), "{text}");
    }
}
