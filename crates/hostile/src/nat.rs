//! Two clients behind one address translator, and the victim outside.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};

use polypath_emu::for_tests::or_skip;
use polypath_emu::{Error, Namespace};

use crate::kind::Kind;
use crate::wires::{self, End};

/// How the translator chooses ports, as nft says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NatKind {
    /// A port is kept where it is free: `masquerade`.
    Plain,
    /// Any port for each new destination: `masquerade fully-random`.
    Random,
    /// Ports of a range: `masquerade to :20000-20999`.
    Range,
}

impl NatKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Random, Self::Range];

    const fn statement(self) -> &'static str {
        match self {
            Self::Plain => "masquerade",
            Self::Random => "masquerade fully-random",
            Self::Range => "meta l4proto udp masquerade to :20000-20999",
        }
    }
}

/// A translator with two clients inside and the victim outside, IPv4 and UDP.
#[derive(Debug)]
pub struct Nat {
    /// The clients' namespaces.
    pub clients: [Namespace; 2],
    /// The victim's.
    pub victim: Namespace,
    translator: Namespace,
}

const OUTSIDE: [&str; 2] = ["out", "in"];

impl Nat {
    /// Makes the namespaces. `None`: it takes root, or a program that is missing, and may be
    /// skipped.
    ///
    /// # Panics
    /// When POLYPATH_REQUIRE_ROOT=1 says that it must not be skipped, or the kernel refuses.
    pub fn build(kind: NatKind) -> Option<Self> {
        or_skip(Self::try_build(kind))
    }

    fn try_build(kind: NatKind) -> Result<Self, Error> {
        let nat = Self {
            clients: [Namespace::new()?, Namespace::new()?],
            victim: Namespace::new()?,
            translator: Namespace::new()?,
        };
        let Self { clients, victim, translator } = &nat;
        clients.iter().chain([victim, translator]).try_for_each(wires::set_up)?;
        for (n, client) in (0..).zip(clients) {
            let (device, [inside, gateway]) =
                (format!("lan{n}"), [Self::client(n), lan_address(n, 1)]);
            let here = End { host: client, device: &device, addresses: &[inside] };
            wires::connect_hosts(
                &here,
                &End { host: translator, device: &device, addresses: &[gateway] },
            )?;
            wires::default_route(client, &[gateway])?;
        }
        let [out, inside] = OUTSIDE;
        let outside =
            End { host: translator, device: out, addresses: &[Kind::COMMON.client().ip()] };
        let addresses = [Kind::COMMON.victim().ip()];
        wires::connect_hosts(
            &outside,
            &End { host: victim, device: inside, addresses: &addresses },
        )?;
        wires::set_sysctl(translator, "ipv4/ip_forward", "1")?;
        nat.translate_as(kind)?;
        Ok(nat)
    }

    /// The address of client `n`, inside.
    pub fn client(n: u8) -> IpAddr {
        lan_address(n, 2)
    }

    /// Translates so from now on what is new to it; mappings that live stay as they are.
    ///
    /// # Errors
    /// When `nft` is missing or refuses.
    pub fn translate_as(&self, kind: NatKind) -> Result<(), Error> {
        let (out, statement) = (OUTSIDE[0], kind.statement());
        run_nft(
            &self.translator,
            &format!(
                "table ip nat\ndelete table ip nat\ntable ip nat {{ chain post {{ \
                 type nat hook postrouting priority 100; oifname {out} {statement}; }}; }}\n"
            ),
        )
    }
}

fn lan_address(net: u8, host: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 168, net, host))
}

/// Runs `nft` in a namespace.
///
/// # Errors
/// [`Error::Missing`] without that program, [`Error::System`] when it refuses the script.
pub fn run_nft(host: &Namespace, script: &str) -> Result<(), Error> {
    let mut command = Command::new("nft");
    command.args(["-f", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let system =
        |error: std::io::Error| Error::System { what: "nft".into(), cause: error.to_string() };
    let mut child = host.spawn(&mut command).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::Missing { command: "nft", package: "nftables" },
        _ => system(error),
    })?;
    // A broken pipe shows in the exit status.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(script.as_bytes()));
    let output = child.wait_with_output().map_err(system)?;
    if output.status.success() {
        return Ok(());
    }
    let cause = String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ");
    Err(Error::System { what: "nft".into(), cause })
}
