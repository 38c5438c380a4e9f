//! SCTP over every path that two hosts share, all at once: Concurrent Multipath Transfer (CMT-SCTP)
//! in userspace.
//!
//! An [`Endpoint`] is one SCTP port, [bound](Endpoint::bind) to sockets of its own: one UDP socket
//! per local address (RFC 6951), or raw IP sockets. A thread of its own moves packets; the futures
//! of this crate need no particular runtime. An [`Association`] carries messages on streams, over
//! all of its paths at the same time.
//!
//! ```no_run
//! use polypath::{Config, Endpoint, Identity, Tls, Trust};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! // Who we are, and the fingerprint of the peer that we want.
//! let identity = Identity::from_pkcs8_pem(&std::fs::read_to_string("identity.pem")?)?;
//! let peer = "pp:3q6d7wzfhvmbn2nahx5f6m3w4d7c2b5r4p6e7s2t3u4v5w6x7y2q".parse()?;
//! let keys = Tls::new(&identity, Trust::pinned([peer]));
//! // Two uplinks here, one address there: two paths.
//! let uplinks = ["192.0.2.1".parse()?, "198.51.100.1".parse()?];
//! let endpoint = Endpoint::bind(Config::client(uplinks, keys))?;
//! let association = endpoint.connect(&["203.0.113.5:9899".parse()?], 7).await?;
//! association.send(0, "hello").await?;
//! while let Some(message) = association.recv().await? {
//!     println!("stream {}: {} bytes", message.stream.0, message.data.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The other end:
//!
//! ```no_run
//! use polypath::{Config, Endpoint, Identity, Tls, Trust};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let identity = Identity::generate()?;
//! println!("we are {}", identity.public().fingerprint());
//! // Those who may come, and nobody else.
//! let allowed = ["pp:b5r4p6e7s2t3u4v5w6x7y2z3q6d7wzfhvmbn2nahx5f6m3w4d7ca".parse()?];
//! let keys = Tls::new(&identity, Trust::pinned(allowed));
//! let endpoint = Endpoint::bind(Config::server(["203.0.113.5".parse()?], 7, keys))?;
//! while let Some(association) = endpoint.accept().await {
//!     while let Some(message) = association.recv().await? {
//!         association.send(message.stream.0, message.data).await?;
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Settings
//! [`AssocBuilder`] makes the settings of associations from a [`Profile`]; [`Config`] holds those
//! of an endpoint. Which path carries what is decided by policies, chosen by name, or written by
//! whoever embeds this: see [`policy`].
//!
//! ```
//! use polypath::{AssocBuilder, Config, Profile};
//!
//! let settings = AssocBuilder::new(Profile::Fast)
//!     .path_scheduler("min-rtt")
//!     .congestion("cubic")
//!     .dynamic_addresses()
//!     .build()?;
//! let config = Config::insecure_client(["127.0.0.1".parse()?]).assoc(settings);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What may change
//! Structures that this crate hands out, and those that users fill in, may get more fields, and
//! enumerations more variants, without a new major version: they are marked `#[non_exhaustive]`, or
//! are made with `..Default::default()`. An enumeration without the mark gets another variant with
//! a new major version only.
//!
//! # Security Packets are encrypted (draft-ietf-tsvwg-sctp-dtls-chunk), with keys that the ends
//! agree on by TLS 1.3. Each proves to have the private key of its [`Identity`], and lets in whom
//! its [`Trust`] does; who that was, [`Association::peer_identity`] tells. Who wants to be sure at
//! first contact compares [fingerprints](Fingerprint), as with ssh. [`Config::insecure_client`]
//! says what is given up without.
//!
//! # Features
//! One of these is needed:
//! - `ring` (default): ciphers and TLS 1.3 by ring and rustls;
//! - `aws-lc-rs` (off by default): the same by aws-lc-rs and rustls; it is taken where both are on.

#![forbid(unsafe_code)]

#[doc(inline)]
pub use polypath_net::*;

pub mod policy {
    //! The questions that policies answer, what they see, and the registry of their names.
    //!
    //! A path scheduler written by a user of this crate:
    //!
    //! ```
    //! use polypath::AssocBuilder;
    //! use polypath::policy::{
    //!     AssocView, ChunkMeta, PathPick, PathScheduler, Policy, PolicyEntry, Registry,
    //! };
    //!
    //! /// The path with the most room in its congestion window.
    //! #[derive(Debug)]
    //! struct MostRoom;
    //!
    //! impl Policy for MostRoom {
    //!     fn name(&self) -> &'static str {
    //!         "most-room"
    //!     }
    //! }
    //!
    //! impl PathScheduler for MostRoom {
    //!     fn pick_path(&mut self, view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
    //!         let roomiest = view.sendable().max_by_key(|path| path.room());
    //!         roomiest.map_or(PathPick::Wait, |path| PathPick::Use(path.id))
    //!     }
    //! }
    //!
    //! let mut registry = Registry::builtin();
    //! registry.add(PolicyEntry::path_scheduler("most-room", |_options| {
    //!     Ok(Box::new(|_settings, _rng| Box::new(MostRoom)))
    //! }))?;
    //! let settings = AssocBuilder::default().path_scheduler("most-room").build_from(&registry)?;
    //! # drop(settings);
    //! # Ok::<(), polypath::PolicyError>(())
    //! ```

    #[doc(inline)]
    pub use polypath_policies::{
        Configure, OptionEntry, Options, PolicyEntry, PolicyError, PolicyKind, PolicySpec, Recipe,
        Registry, all, factory,
    };
    #[doc(inline)]
    pub use polypath_proto::policy::*;
    #[doc(inline)]
    pub use polypath_proto::rng::Rng;
    #[doc(inline)]
    pub use polypath_proto::view::*;
}
