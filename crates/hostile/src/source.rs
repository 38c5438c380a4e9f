//! A source of packets outside every association: whole IP packets with any source, through a raw
//! socket.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use polypath_emu::Namespace;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

/// "The packet begins with its IP header" (raw(7)).
const IPPROTO_RAW: i32 = 255;

/// How often a flood looks at the clock.
const TICK: Duration = Duration::from_millis(1);

/// Sends whole IP packets to one destination.
#[derive(Debug)]
pub struct Source {
    socket: Socket,
    to: SockAddr,
}

/// A flood that goes on by itself until it is over.
#[derive(Debug)]
pub struct Flood(thread::JoinHandle<u32>);

impl Source {
    pub(crate) fn open(from: &Namespace, mut to: SocketAddr) -> Self {
        to.set_port(0);
        let domain = Domain::for_address(to);
        let open = || Socket::new(domain, Type::RAW, Some(Protocol::from(IPPROTO_RAW)));
        let socket = from.run(open).and_then(|opened| opened).expect("raw sockets for root");
        Self { socket, to: to.into() }
    }

    /// Sends one packet. A full queue drops it, as any network may.
    pub fn send(&mut self, packet: &[u8]) {
        let _ = self.socket.send_to(packet, &self.to);
    }

    /// Sends `rate` packets per second for `time`: number 0, 1, 2 ... as `packet` makes them. Gives
    /// how many it came to: what it is late with it makes up for, as long as the time is not over.
    #[expect(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        reason = "it sends in real time"
    )]
    pub fn flood_victim(
        &mut self,
        rate: u32,
        time: Duration,
        packet: impl Fn(u32) -> Vec<u8>,
    ) -> u32 {
        let start = Instant::now();
        let mut sent = 0;
        while start.elapsed() < time {
            let due = start.elapsed().as_secs_f64() * f64::from(rate);
            while f64::from(sent) < due && start.elapsed() < time {
                self.send(&packet(sent));
                sent += 1;
            }
            thread::sleep(TICK);
        }
        sent
    }

    /// The same on a thread of its own.
    #[expect(clippy::disallowed_methods, reason = "it sends beside the others")]
    pub fn flood_on(
        mut self,
        rate: u32,
        time: Duration,
        packet: impl Fn(u32) -> Vec<u8> + Send + 'static,
    ) -> Flood {
        Flood(thread::spawn(move || self.flood_victim(rate, time, packet)))
    }
}

impl Flood {
    /// Waits for its end; the packets that were sent.
    ///
    /// # Panics
    /// When it did.
    pub fn wait(self) -> u32 {
        self.0.join().expect("the flood ends")
    }
}
