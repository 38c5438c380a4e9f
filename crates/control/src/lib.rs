//! A way into a running program: what its associations do, told to whoever may ask.
//!
//! A program that makes its endpoints with an [`Observer`](polypath_net::Observer) opens a
//! [`Control`]: a Unix socket of its user alone. Others of the same user [connect](Client) and ask
//! ([`Request`](message::Request)): lines of JSON either way, of bounded length. The [`exporter`]
//! gives the same to Prometheus.
//!
//! ```
//! use polypath_control::message::Sections;
//! use polypath_control::{Client, Control};
//! use polypath_net::{Config, Endpoint, Observer};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("mine.sock");
//! let observer = Observer::new();
//! let config = Config::insecure_client(["127.0.0.1".parse()?]).observer(observer.clone());
//! let endpoint = Endpoint::bind(config)?;
//! let control = Control::open(&path, observer, "my program")?;
//!
//! // In this process, or in another one.
//! let status = Client::connect(&path)?.look(Sections::Status, None)?;
//! assert_eq!((status.process.command.as_str(), status.associations.len()), ("my program", 0));
//! # drop((endpoint, control));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! - `schema` (off by default): JSON schemas of requests and answers by `schemars`.

#![forbid(unsafe_code)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what is told has the time of this host, and those who ask wait"
)]

pub mod client;
mod describe;
pub mod exporter;
pub mod folder;
pub mod message;
mod server;
mod session;
pub mod words;

pub use client::Client;
pub use server::Control;
