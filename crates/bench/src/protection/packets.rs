//! Two ends of the core in memory, plain or protected, and what each takes for a packet.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Result, ensure};
use bytes::Bytes;
use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::protection::KeyManagement;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{AssocHandle, Endpoint, Event, FourTuple, RecvFrom, SendOptions};
use polypath_secure::{StandIn, Suite};

use crate::cpu;

/// Bytes of chunks in a packet: one DATA chunk.
pub(crate) const CHUNKS: usize = 1400;

/// Bytes of its message.
const MESSAGE: usize = CHUNKS - 16;

/// Packets that one end makes before the other takes them: all of them stay in the cache.
pub(crate) const BATCH: usize = 32;

/// Nanoseconds of a thread's CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// To make a packet.
    pub(crate) send: f64,
    /// To take it.
    pub(crate) receive: f64,
    /// Everything at both ends, with acknowledgements.
    pub(crate) all: f64,
}

impl Times {
    /// What one of `parts` of them is below, each part by itself: the median of two.
    pub(crate) fn quantile(all: &[Self], parts: usize) -> Self {
        let of = |part: fn(&Self) -> f64| {
            let mut all: Vec<f64> = all.iter().map(part).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / parts).copied().unwrap_or(f64::NAN)
        };
        Self { send: of(|t| t.send), receive: of(|t| t.receive), all: of(|t| t.all) }
    }
}

/// Nanoseconds at either end, and the packets of data that took them.
#[derive(Default)]
struct Sum {
    times: [f64; 2],
    packets: usize,
}

impl Sum {
    fn add(&mut self, times: [f64; 2], packets: usize) {
        self.times = [self.times[0] + times[0], self.times[1] + times[1]];
        self.packets += packets;
    }
}

/// Both ends of an association, over one path.
pub(crate) struct Ends {
    client: Endpoint,
    server: Endpoint,
    handle: AssocHandle,
    now: Time,
    message: Bytes,
    batch: Vec<(FourTuple, Vec<u8>)>,
    /// What reading the clock takes.
    clock: f64,
}

impl Ends {
    /// Protected with this cipher, or plain.
    pub(crate) fn new(suite: Option<Suite>) -> Result<Self> {
        let keys = suite
            .map(|suite| Arc::new(StandIn::default().with_cipher(suite)) as Arc<dyn KeyManagement>);
        let assoc = Arc::new(AssocConfig {
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            protection: keys,
            ..AssocConfig::default()
        });
        let addresses = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 0)));
        let [mut client, server] = [0, 1].map(|n| {
            let (port, addresses) = (5001 + n as u16, vec![addresses[n].ip()]);
            let assoc = Arc::clone(&assoc);
            let config = EndpointConfig { port, addresses, assoc, ..EndpointConfig::default() };
            Endpoint::new(config, Rng::from_u64(n as u64 + 1))
        });
        let path = [FourTuple { local: addresses[0], remote: addresses[1] }];
        let handle = client.connect(Time::ZERO, &path, 5002, assoc)?;
        let message = Bytes::from(vec![0xa5; MESSAGE]);
        let batch = (0..BATCH).map(|_| (path[0], Vec::with_capacity(2048))).collect();
        let (now, clock) = (Time::ZERO, cpu::clock_cost()?);
        let mut ends = Self { client, server, handle, now, message, batch, clock };
        // Until windows are open.
        ends.carry(1000)?;
        let is_protected = ends.client.association(handle).is_some_and(|a| a.is_protected());
        ensure!(is_protected == suite.is_some(), "not protected as it should be");
        Ok(ends)
    }

    /// Carries so many messages, each in a packet of its own, and gives the time for each.
    pub(crate) fn carry(&mut self, packets: usize) -> Result<Times> {
        let (mut alone, mut all, mut turns) = (Sum::default(), Sum::default(), 0);
        while all.packets < packets {
            self.turn(&mut alone, &mut all)?;
            turns += 1;
            ensure!(turns < 100_000, "nothing arrives");
        }
        let [send, receive] = alone.times.map(|time| time / alone.packets as f64);
        let all = (all.times[0] + all.times[1]) / all.packets as f64;
        Ok(Times { send, receive, all })
    }

    /// The client fills its buffer, all that it may send arrives, and is acknowledged. Batches of
    /// data alone are summed up apart.
    fn turn(&mut self, alone: &mut Sum, all: &mut Sum) -> Result<()> {
        self.now += Duration::from_micros(500);
        let now = self.now;
        for end in [&mut self.client, &mut self.server] {
            if end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now);
            }
        }
        self.write_messages();
        loop {
            let batch = &mut self.batch;
            let (count, time) = cpu::measure_thread(|| make(&mut self.client, now, batch))?;
            if count == 0 {
                break;
            }
            let batch = self.batch.get_mut(..count).unwrap_or_default();
            let ((), other) = cpu::measure_thread(|| take(&mut self.server, now, batch))?;
            let times = [time - self.clock, other - self.clock];
            let data = batch.iter().filter(|(_, packet)| packet.len() >= CHUNKS).count();
            if data == count {
                alone.add(times, data);
            }
            all.add(times, data);
            // As soon as it came, as applications do.
            let ((), time) = cpu::measure_thread(|| read(&mut self.server, now))?;
            all.add([0.0, time - self.clock], 0);
        }
        let ((), time) = cpu::measure_thread(|| self.acknowledge(now))?;
        all.add([time - self.clock, 0.0], 0);
        Ok(())
    }

    fn write_messages(&mut self) {
        let Some(assoc) = self.client.association_mut(self.handle) else { return };
        let message = &self.message;
        while assoc.send(self.now, StreamId(0), message.clone(), SendOptions::default()).is_ok() {}
    }

    /// What the server has to say arrives.
    fn acknowledge(&mut self, now: Time) {
        loop {
            let count = make(&mut self.server, now, &mut self.batch);
            if count == 0 {
                break;
            }
            take(&mut self.client, now, self.batch.get_mut(..count).unwrap_or_default());
        }
        while self.client.poll_event().is_some() {}
    }
}

/// The application reads all messages.
fn read(end: &mut Endpoint, now: Time) {
    while let Some((h, event)) = end.poll_event() {
        if event == Event::Readable
            && let Some(assoc) = end.association_mut(h)
        {
            while assoc.recv(now, RecvFrom::Any).is_some() {}
        }
    }
}

/// Fills the batch with packets, and gives their number.
fn make(end: &mut Endpoint, now: Time, batch: &mut [(FourTuple, Vec<u8>)]) -> usize {
    for (n, (tuple, packet)) in batch.iter_mut().enumerate() {
        packet.clear();
        let Some(sent) = end.poll_transmit(now, packet) else { return n };
        *tuple = FourTuple { local: sent.tuple.remote, remote: sent.tuple.local };
    }
    batch.len()
}

fn take(end: &mut Endpoint, now: Time, batch: &mut [(FourTuple, Vec<u8>)]) {
    for (tuple, packet) in batch {
        end.handle_datagram_in_place(now, *tuple, packet);
    }
}
