//! What was found.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

/// One line: what is so, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// How bad it is.
    pub mark: Mark,
    /// What it is about.
    pub about: About,
    /// The path; `None`: of this host, or of all paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is so.
    pub what: String,
    /// What to do; `None`: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// As it should be.
    Ok,
    /// It works, but less well than it could, or something could not be found out.
    Warn,
    /// The path carries nothing.
    Fail,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// Addresses, and whether there is a way between them.
    Route,
    /// Whether UDP gets an answer.
    Udp,
    /// Whether IP protocol 132 does.
    Ip,
    /// Who the two hosts are.
    Identity,
    /// How large packets may be.
    Mtu,
    /// Address translators and firewalls.
    Nat,
    /// The ECN field of IP.
    Ecn,
    /// Buffers of sockets.
    Buffers,
    /// What the system does for many packets at once.
    Offloads,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathReport {
    /// What it is called.
    pub path: String,
    /// What became of an association over this path alone.
    pub state: State,
    /// Why it carries nothing, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What to do about it, where the reason tells.
    #[serde(skip)]
    pub remedy: Option<String>,
    /// Round trip, milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// The key that the server proved to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// How large packets may be; `None`: it was not found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Mtu>,
    /// Translation and filtering; `None`: it was not found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nat: Option<Nat>,
    /// ECN; `None`: it was not found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ecn>,
    /// Why the server's mirror said nothing, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_mirror: Option<String>,
    /// Where UDP had no answer: what came of IP protocol 132; `None`: it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directly: Option<Directly>,
}

/// What became of an association over one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It came about.
    Carries,
    /// What the user named makes no path: another address family, no counterpart, no such device.
    NoPath,
    /// This host has no way there.
    NoRoute,
    /// Nobody answered.
    NoAnswer,
    /// The way there, or the host, refused.
    Refused,
    /// An SCTP endpoint answered, and takes no such association.
    NotServed,
    /// An answer came, and keys were the trouble.
    Keys,
    /// This host could not open what it takes.
    Local,
    /// The user named an address or a device that this host does not have.
    NotOurs,
}

/// How large IP packets may be, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mtu {
    /// The largest that is known to pass (RFC 8899); `None`: no probe was answered.
    pub passes: Option<u32>,
    /// What the network device at this end sends; `None`: it does not tell.
    pub device: Option<u32>,
    /// Whether larger ones are known not to pass: the search was over in time.
    pub complete: bool,
}

/// What of the address outside a translator or firewall looks at (RFC 4787 sections 4.1 and 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Dependence {
    /// Nothing.
    EndpointIndependent,
    /// The address.
    AddressDependent,
    /// Address and port.
    AddressAndPortDependent,
    /// Not the port; whether the address could not be found out, for the server has one.
    NotPortDependent,
}

/// Translators and firewalls on a path.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nat {
    /// Where the server sees the association come from.
    pub seen: SocketAddr,
    /// Whether that is another address or port than this host's.
    pub translated: bool,
    /// Whether that has this host's port. Translators that preserve ports (RFC 4787 section 4.2.1)
    /// map in another way where two sockets behind them have one port.
    pub port_kept: bool,
    /// Which ports outside stand for one inside; `None`: the mirror's sockets did not answer.
    pub mapping: Option<Dependence>,
    /// Whose packets come in; likewise.
    pub filtering: Option<Dependence>,
    /// Whether the mirror had a socket at a second address of the server.
    pub second_address: bool,
    /// Another address outside than the association's, which a socket of this host was given: the
    /// translator's pooling is arbitrary (RFC 4787 section 4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_address: Option<IpAddr>,
    /// With --long: how long a way in stays open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
}

/// How long a translator or firewall lets answers in after the last packet out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lifetime {
    /// After so many seconds it still did; `None`: it never did.
    pub open_s: Option<f64>,
    /// After so many seconds it did not; `None`: it always did.
    pub closed_s: Option<f64>,
}

/// What becomes of the ECN field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ecn {
    /// From here to the server.
    pub there: Marks,
    /// From the server to here.
    pub back: Marks,
}

/// Each of two values of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Marks {
    /// ECT(0).
    pub ect0: Passage,
    /// CE.
    pub ce: Passage,
}

/// What becomes of a packet with such a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Passage {
    /// It arrives as it was.
    Kept,
    /// It arrives as if ECN were not known.
    Cleared,
    /// ECT(0) arrives as CE: a router says that it is congested (RFC 3168).
    Marked,
    /// It arrives with another value.
    Changed,
    /// It does not arrive, while others do.
    Lost,
}

/// What came of SCTP directly over IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Directly {
    /// Somebody speaks it there.
    Answered,
    /// It reaches a host that says that nobody speaks it there.
    Reached,
    /// No answer.
    NoAnswer,
}

impl PathReport {
    /// Of a path of which no more is known than this.
    pub fn new(path: String, state: State, why: Option<String>) -> Self {
        Self {
            path,
            state,
            why,
            remedy: None,
            rtt_ms: None,
            peer: None,
            mtu: None,
            nat: None,
            ecn: None,
            no_mirror: None,
            directly: None,
        }
    }

    /// Whether it carries.
    pub fn carries(&self) -> bool {
        self.state == State::Carries
    }
}
