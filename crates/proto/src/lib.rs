//! SCTP (RFC 9260) over all paths that two hosts share, at the same time (Concurrent Multipath
//! Transfer), without I/O: packets, the time and random numbers are handed in.
//!
//! An [`Endpoint`] is one SCTP port with all its [`Association`]s. What drives it does the same
//! over and over:
//!
//! 1. Hand in **all** datagrams that have arrived ([`Endpoint::handle_datagram`]), and the time if
//!    a timer has expired ([`Endpoint::handle_timeout`]).
//! 2. Take events until there are none ([`Endpoint::poll_event`]); receive and send messages.
//! 3. Take packets until there are none ([`Endpoint::poll_transmit`]).
//! 4. Sleep until the next datagram, or until [`Endpoint::poll_timeout`].
//!
//! The order matters for speed. One SACK answers a whole batch of datagrams, and the packets that
//! it allows leave in one batch. [`Transmit::path`] tells which of them take the same way, so that
//! one system call can carry many. Buffers are reused: nothing is allocated for each packet.
//!
//! # A complete program
//!
//! A client and a server exchange a message over UDP (RFC 6951). A real driver of several paths has
//! one socket for each local address; `polypath-net` is one.
//!
//! ```
//! use std::io::{self, ErrorKind};
//! use std::net::{SocketAddr, UdpSocket};
//! use std::sync::Arc;
//! use std::time::Instant;
//!
//! use bytes::Bytes;
//! use polypath_proto::config::{AssocConfig, Encapsulation, EndpointConfig};
//! use polypath_proto::ids::StreamId;
//! use polypath_proto::rng::Rng;
//! use polypath_proto::time::{Duration, Time};
//! use polypath_proto::{AssocHandle, Endpoint, Event, FourTuple, RecvFrom, SendOptions};
//!
//! const SCTP_PORT: u16 = 7;
//!
//! /// No datagram is there.
//! fn is_empty(error: &io::Error) -> bool {
//!     matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
//! }
//!
//! struct Driver {
//!     endpoint: Endpoint,
//!     socket: UdpSocket,
//!     local: SocketAddr,
//!     started: Instant,
//!     datagram: Vec<u8>,
//!     packet: Vec<u8>,
//! }
//!
//! impl Driver {
//!     fn new(seed: [u8; 32]) -> io::Result<Self> {
//!         let socket = UdpSocket::bind("127.0.0.1:0")?;
//!         let config = EndpointConfig {
//!             port: SCTP_PORT,
//!             encapsulation: Encapsulation::Udp,
//!             ..EndpointConfig::default()
//!         };
//!         Ok(Self {
//!             // In earnest the seed comes from the system's random numbers.
//!             endpoint: Endpoint::new(config, Rng::from_seed(seed)),
//!             local: socket.local_addr()?,
//!             socket,
//!             started: Instant::now(),
//!             datagram: vec![0; 65_536],
//!             packet: Vec::new(),
//!         })
//!     }
//!
//!     fn now(&self) -> Time {
//!         Time::ZERO + self.started.elapsed()
//!     }
//!
//!     /// Drives the endpoint until `on_event` says that it is done.
//!     fn run(
//!         &mut self,
//!         mut on_event: impl FnMut(&mut Endpoint, Time, AssocHandle, Event) -> bool,
//!     ) -> io::Result<()> {
//!         let mut done = false;
//!         while !done {
//!             let now = self.now();
//!             while let Some((association, event)) = self.endpoint.poll_event() {
//!                 done |= on_event(&mut self.endpoint, now, association, event);
//!             }
//!             self.packet.clear();
//!             while let Some(sent) = self.endpoint.poll_transmit(now, &mut self.packet) {
//!                 self.socket.send_to(&self.packet, sent.tuple.remote)?;
//!                 self.packet.clear();
//!             }
//!             if !done {
//!                 self.receive(now)?;
//!             }
//!         }
//!         Ok(())
//!     }
//!
//!     /// Sleeps until a datagram comes or a timer expires, then takes all that are there.
//!     fn receive(&mut self, now: Time) -> io::Result<()> {
//!         let sleep = self.endpoint.poll_timeout().map(|at| at.since(now));
//!         let shortest = Duration::from_micros(1);
//!         self.socket.set_nonblocking(false)?;
//!         self.socket.set_read_timeout(sleep.map(|sleep| sleep.max(shortest)))?;
//!         loop {
//!             match self.socket.recv_from(&mut self.datagram) {
//!                 Ok((len, remote)) => {
//!                     let tuple = FourTuple { local: self.local, remote };
//!                     let now = self.now();
//!                     self.endpoint.handle_datagram(now, tuple, &self.datagram[..len]);
//!                 }
//!                 Err(e) if is_empty(&e) => break,
//!                 Err(e) => return Err(e),
//!             }
//!             self.socket.set_nonblocking(true)?;
//!         }
//!         let now = self.now();
//!         if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
//!             self.endpoint.handle_timeout(now);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut server = Driver::new([1; 32])?;
//! let remote = server.local;
//! let server = std::thread::spawn(move || {
//!     server.run(|endpoint, now, h, event| {
//!         let Some(association) = endpoint.association_mut(h) else { return false };
//!         while let Some(message) = association.recv(now, RecvFrom::Any) {
//!             let options = SendOptions::default();
//!             // `SendError::WouldBlock`: full; `Event::Writable` comes once there is room.
//!             association.send(now, message.stream, message.data, options).expect("room");
//!         }
//!         matches!(event, Event::Closed(_))
//!     })
//! });
//!
//! let mut client = Driver::new([2; 32])?;
//! let path = FourTuple { local: client.local, remote };
//! let now = client.now();
//! let config = Arc::new(AssocConfig::default());
//! let h = client.endpoint.connect(now, &[path], SCTP_PORT, config)?;
//! // Messages may be handed in at once: they go out when the association is set up.
//! let association = client.endpoint.association_mut(h).expect("just opened");
//! association.send(now, StreamId(0), Bytes::from("hello"), SendOptions::default())?;
//!
//! let mut answer = None;
//! client.run(|endpoint, now, h, event| {
//!     let Some(association) = endpoint.association_mut(h) else { return false };
//!     if let Some(message) = association.recv(now, RecvFrom::Any) {
//!         answer = Some(message.data);
//!         association.shutdown(now);
//!     }
//!     matches!(event, Event::Closed(_))
//! })?;
//! assert_eq!(answer.as_deref(), Some(&b"hello"[..]));
//! server.join().expect("the server ends, too")?;
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! [`config`] holds every setting, [`policy`] the traits of schedulers, retransmission, buffers and
//! congestion control (their implementations are in `polypath-policies`, where named profiles are,
//! too), [`view`] what policies see, [`event`] what an application is told, [`stats`] counters and
//! [`trace`] typed records of what happened. `ARCHITECTURE.md` is the map of the inside.
//!
//! # Features
//! - `schema` (off by default): JSON schemas of the settings by `schemars`, for tools that read
//!   settings from files.

#![forbid(unsafe_code)]

mod association;
mod auth;
pub mod config;
mod control;
pub mod endpoint;
pub mod event;
mod extension;
mod handshake;
pub mod ids;
mod needs;
mod path;
pub mod policy;
pub mod protection;
mod receiver;
pub mod rng;
mod sender;
mod state;
pub mod stats;
pub mod time;
pub mod trace;
mod tsn_map;
pub mod view;

pub use association::{AddressError, Association, ReconfigError, State};
pub use auth::AuthKeyError;
pub use config::{AgreedExtensions, AssocSettings, PathSettings, SettingsError};
pub use endpoint::{ConnectError, Endpoint, Transmit};
pub use event::{CloseReason, Event, Message, ReconfigOutcome, StreamDirection};
pub use ids::{AssocHandle, FourTuple, MessageId, PathId, ReconfigId};
pub use needs::{Service, StreamNeeds};
pub use receiver::RecvFrom;
pub use sender::{Reliability, SendError, SendOptions};
