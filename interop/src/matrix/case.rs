//! The conversations.

use super::proof::Proof;
use crate::peer::Role;

/// A conversation that is held twice: with our client, and with our server.
#[derive(Debug)]
pub struct Case {
    /// Its name, unique.
    pub name: &'static str,
    /// What it is part of; a heading of the table.
    pub group: &'static str,
    /// The network between the two.
    pub network: Network,
    /// Options of both ends.
    pub both: &'static str,
    /// Options of the client.
    pub client: &'static str,
    /// Options of the server.
    pub server: &'static str,
    /// Options of our end, whichever it is.
    pub ours: &'static str,
    /// Options of usrsctp's end.
    pub theirs: &'static str,
    /// Options of a second client that follows the first one at the same ports.
    pub again: Option<&'static str>,
    /// How the association ends for the (last) client and for the server.
    pub closed: (&'static str, &'static str),
    /// What else must have happened.
    pub proofs: &'static [Proof],
    /// Our role, where usrsctp cannot play it.
    pub only: Option<Role>,
}

/// A network between client and server.
#[derive(Debug)]
pub struct Network {
    /// Disjoint paths, each with an address at either end.
    pub paths: u8,
    /// But the server has only the first of its addresses, and all paths lead there.
    pub one_server_address: bool,
    /// Which addresses.
    pub family: Family,
    /// Rate of each path, Mbit/s.
    pub rate: u64,
    /// Share of packets lost at random, in each direction.
    pub loss: f64,
    /// Packets of each direction and path that are lost, counted from 0.
    pub drop: &'static [u64],
    /// One-way delay of each path, ms; the last one goes for all further paths.
    pub delays: &'static [u64],
    /// Packets are late by up to so many ms, and overtake each other.
    pub jitter: u64,
    /// The first path is cut silently so many ms after the client's start.
    pub cut: Option<u64>,
}

/// Addresses of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4
    V4,
    /// IPv6
    V6,
    /// IPv4 on the odd paths, IPv6 on the even ones
    Mixed,
}

const ONE: Network = Network {
    paths: 1,
    one_server_address: false,
    family: Family::V4,
    rate: 200,
    loss: 0.0,
    drop: &[],
    delays: &[1],
    jitter: 0,
    cut: None,
};

const TWO: Network = Network { paths: 2, ..ONE };

/// Paths so slow that all of them have something to do.
const SLOW: Network = Network { rate: 20, delays: &[5], ..TWO };

const PLAIN: Case = Case {
    name: "",
    group: "",
    network: ONE,
    both: "",
    client: "",
    server: "",
    ours: "",
    theirs: "",
    again: None,
    closed: ("shutdown", "shutdown"),
    proofs: &[],
    only: None,
};

/// The client sends, the server echoes, both check.
const ECHO: Case = Case {
    client: "--send 200 --expect 200 --end shutdown",
    server: "--expect 200 --echo",
    ..PLAIN
};

/// The same, long enough for all paths to be found.
const LONG_ECHO: Case = Case {
    client: "--send 500 --expect 500 --delay 4 --end shutdown",
    server: "--expect 500 --echo",
    ..PLAIN
};

/// The client sends, the server checks.
const UP: Case = Case { client: "--send 2000 --end shutdown", server: "--expect 2000", ..PLAIN };

/// The server sends, the client checks.
const DOWN: Case = Case { client: "--expect 2000", server: "--send 2000 --end shutdown", ..PLAIN };

const CLIENT: Role = Role::Client;
const SERVER: Role = Role::Server;
const DATA: u8 = 0;
const SACK: u8 = 3;
const NR_SACK: u8 = 16;
const AUTH: u8 = 15;
const I_DATA: u8 = 64;
const ASCONF_ACK: u8 = 128;
const RECONFIG: u8 = 130;
const FORWARD_TSN: u8 = 192;
const ASCONF: u8 = 193;
const I_FORWARD_TSN: u8 = 194;
const U_BIT: u8 = 4;
const I_BIT: u8 = 8;
const DAC_BITS: u8 = 0xc0;

const MESSAGES: &str = "Messages";
const PATHS: &str = "Several paths";
const ENDS: &str = "The end, and a new beginning";
const NETWORKS: &str = "Bad networks";
const EXTENSIONS: &str = "Concurrent multipath transfer";
const STANDARDS: &str = "Other extensions";

/// All of them.
pub const CASES: &[Case] = &[
    Case { name: "client sends", group: MESSAGES, ..UP },
    Case { name: "server sends", group: MESSAGES, ..DOWN },
    Case {
        name: "both send",
        group: MESSAGES,
        client: "--send 2000 --expect 2000 --end shutdown",
        server: "--send 2000 --expect 2000",
        ..PLAIN
    },
    Case {
        name: "1 byte to 1 MiB on 100 streams, ordered",
        group: MESSAGES,
        both: "--sizes 1-1048576 --streams 100",
        ..ECHO
    },
    Case {
        name: "1 byte to 1 MiB on 100 streams, unordered",
        group: MESSAGES,
        both: "--sizes 1-1048576 --streams 100 --unordered",
        proofs: &[
            Proof::Flag { from: CLIENT, chunk: DATA, bits: U_BIT },
            Proof::Flag { from: SERVER, chunk: DATA, bits: U_BIT },
        ],
        ..ECHO
    },
    Case {
        name: "single bytes",
        group: MESSAGES,
        both: "--sizes 1",
        client: "--send 10000 --expect 10000 --end shutdown",
        server: "--expect 10000 --echo",
        ..PLAIN
    },
    Case {
        name: "a thousand streams",
        group: MESSAGES,
        both: "--sizes 1-5000 --streams 1000",
        client: "--send 3000 --expect 3000 --end shutdown",
        server: "--expect 3000 --echo",
        ..PLAIN
    },
    Case {
        name: "sizes around one and two packets",
        group: MESSAGES,
        both: "--sizes 1440,1441,1442,1443,1444,1445,1446,1447,1448,2885,2886,2887,2888,2889,2890,2892,2893",
        ..ECHO
    },
    Case {
        name: "fragments for a path MTU of 700",
        group: MESSAGES,
        both: "--mtu 700 --sizes 1-100000 --streams 5",
        ..ECHO
    },
    Case {
        name: "receive buffers of 64 KiB",
        group: MESSAGES,
        both: "--buffer 65536 --sizes 1-30000 --streams 3",
        ..ECHO
    },
    Case {
        name: "IPv6",
        group: MESSAGES,
        network: Network { family: Family::V6, ..ONE },
        both: "--sizes 1-100000 --streams 5",
        ..ECHO
    },
    Case {
        name: "IPv4 without UDP",
        group: MESSAGES,
        both: "--raw --sizes 1-100000 --streams 5",
        ..ECHO
    },
    Case {
        name: "IPv6 without UDP",
        group: MESSAGES,
        network: Network { family: Family::V6, ..ONE },
        both: "--raw --sizes 1-100000 --streams 5",
        ..ECHO
    },
    Case {
        name: "two paths, one at a time",
        group: PATHS,
        network: TWO,
        both: "--sizes 1-5000 --streams 5 --cmt 0 --rto 100,100,1000 --heartbeat 300",
        proofs: &[Proof::PeerAddresses(2)],
        ..LONG_ECHO
    },
    Case {
        name: "one path of IPv4, one of IPv6",
        group: PATHS,
        network: Network { family: Family::Mixed, ..TWO },
        both: "--sizes 1-5000 --streams 5 --rto 100,100,1000 --heartbeat 300",
        proofs: &[Proof::PeerAddresses(2)],
        ..LONG_ECHO
    },
    Case {
        name: "three uplinks, one address of the server",
        group: PATHS,
        network: Network { paths: 3, one_server_address: true, ..SLOW },
        both: "--cmt 1 --sizes 1444",
        client: "--send 6000 --end shutdown",
        server: "--expect 6000",
        proofs: &[Proof::DataPaths { from: CLIENT, paths: 3 }],
        only: Some(CLIENT),
        ..PLAIN
    },
    Case {
        name: "the first path is cut, the second takes over",
        group: PATHS,
        network: Network { cut: Some(700), ..TWO },
        both: "--cmt 0 --rto 100,100,200 --heartbeat 300",
        client: "--send 300 --expect 300 --delay 5 --end shutdown",
        server: "--expect 300 --echo",
        proofs: &[
            Proof::DataPaths { from: CLIENT, paths: 2 },
            Proof::DataPaths { from: SERVER, paths: 2 },
        ],
        ..PLAIN
    },
    Case {
        name: "graceful, by the server",
        group: ENDS,
        client: "--send 200 --expect 200",
        server: "--send 200 --expect 200 --end shutdown",
        ..PLAIN
    },
    Case {
        name: "graceful, by both at once",
        group: ENDS,
        client: "--send 200 --expect 200 --end shutdown",
        server: "--send 200 --expect 200 --end shutdown",
        ..PLAIN
    },
    Case {
        name: "graceful, with megabytes unsent",
        group: ENDS,
        both: "--sizes 100000",
        client: "--send 100 --end shutdown",
        server: "--expect 100",
        ..PLAIN
    },
    Case {
        name: "abort by the client",
        group: ENDS,
        client: "--send 200 --expect 200 --end abort",
        server: "--expect 200 --echo",
        closed: ("own abort", "abort"),
        ..PLAIN
    },
    Case {
        name: "abort by the server",
        group: ENDS,
        client: "--send 200",
        server: "--expect 200 --end abort",
        closed: ("abort", "own abort"),
        ..PLAIN
    },
    Case {
        name: "abort with data in flight",
        group: ENDS,
        both: "--sizes 100000",
        client: "--send 50 --end abort",
        server: "--expect 50 --partial",
        closed: ("own abort", "abort"),
        ..PLAIN
    },
    Case {
        name: "the server vanishes for good",
        group: ENDS,
        both: "--rto 50,50,100 --heartbeat 100",
        client: "--send 100000 --delay 1 --partial",
        server: "--expect 100 --end vanish",
        closed: ("lost", "vanished"),
        ..PLAIN
    },
    Case {
        name: "the client vanishes for good",
        group: ENDS,
        both: "--rto 50,50,100 --heartbeat 100",
        client: "--send 100 --expect 100 --end vanish",
        server: "--expect 100 --echo",
        closed: ("vanished", "lost"),
        ..PLAIN
    },
    Case {
        name: "restart: the client vanishes and comes back",
        group: ENDS,
        both: "--sizes 1-3000 --streams 4",
        // What is not acknowledged is sent again, to a port that nobody has any more: the answer
        // ends the association (RFC 6951 section 5.5).
        client: "--send 100 --expect 100 --end vanish --linger 500",
        again: Some("--send 100 --expect 100 --end shutdown"),
        server: "--expect 100 --echo",
        proofs: &[Proof::Restarts(1)],
        ..PLAIN
    },
    Case {
        name: "restart on two paths",
        group: ENDS,
        network: TWO,
        both: "--sizes 1-3000 --streams 4 --cmt 1",
        // What is not acknowledged is sent again, to a port that nobody has any more: the answer
        // ends the association (RFC 6951 section 5.5).
        client: "--send 100 --expect 100 --end vanish --linger 500",
        again: Some("--send 100 --expect 100 --end shutdown"),
        server: "--expect 100 --echo",
        proofs: &[Proof::Restarts(1)],
        ..PLAIN
    },
    Case {
        name: "2 % of the packets are lost",
        group: NETWORKS,
        network: Network { loss: 0.02, ..ONE },
        both: "--sizes 1-20000 --streams 5 --rto 100,100,1000 --linger 2500",
        proofs: &[Proof::Retransmitted(CLIENT), Proof::Retransmitted(SERVER)],
        ..ECHO
    },
    Case {
        name: "10 % of the packets are lost",
        group: NETWORKS,
        network: Network { loss: 0.1, ..ONE },
        both: "--sizes 1-5000 --streams 5 --rto 100,100,400 --linger 2500",
        proofs: &[Proof::Retransmitted(CLIENT), Proof::Retransmitted(SERVER)],
        ..ECHO
    },
    Case {
        name: "each chunk of the set-up is lost once",
        group: NETWORKS,
        network: Network { drop: &[0, 2, 4], ..ONE },
        both: "--rto 100,100,400 --linger 2500",
        ..ECHO
    },
    Case {
        name: "packets overtake each other",
        group: NETWORKS,
        network: Network { delays: &[2], jitter: 4, ..ONE },
        both: "--sizes 1-20000 --streams 5",
        ..ECHO
    },
    Case {
        name: "two paths, 2 % of the packets are lost",
        group: NETWORKS,
        network: Network { loss: 0.02, ..TWO },
        both: "--sizes 1-20000 --streams 5 --cmt 1 --rto 100,100,1000 --linger 2500",
        proofs: &[Proof::Retransmitted(CLIENT), Proof::Retransmitted(SERVER)],
        ..ECHO
    },
    Case {
        name: "CMT from the client",
        group: EXTENSIONS,
        network: SLOW,
        both: "--cmt 1 --sizes 1444 --rto 100,100,1000 --heartbeat 300",
        proofs: &[Proof::DataPaths { from: CLIENT, paths: 2 }],
        client: "--send 6000 --end shutdown",
        server: "--expect 6000",
        ..PLAIN
    },
    Case {
        name: "CMT from the server",
        group: EXTENSIONS,
        network: SLOW,
        both: "--cmt 1 --sizes 1444 --rto 100,100,1000 --heartbeat 300",
        proofs: &[Proof::DataPaths { from: SERVER, paths: 2 }],
        client: "--expect 6000",
        server: "--send 6000 --end shutdown",
        ..PLAIN
    },
    Case {
        name: "CMT both ways on four paths",
        group: EXTENSIONS,
        network: Network { paths: 4, ..SLOW },
        both: "--cmt 1 --sizes 1-100000 --streams 10 --rto 100,100,1000 --heartbeat 300",
        proofs: &[
            Proof::PeerAddresses(4),
            Proof::DataPaths { from: CLIENT, paths: 4 },
            Proof::DataPaths { from: SERVER, paths: 4 },
        ],
        client: "--send 1500 --expect 1500 --end shutdown",
        server: "--expect 1500 --echo",
        // An echo is little to do at a time, and `knapsack` leaves a path out that is not needed.
        ours: "--scheduler rr",
        ..PLAIN
    },
    Case {
        name: "CMT on paths of 2 and 30 ms",
        group: EXTENSIONS,
        network: Network { delays: &[2, 30], ..TWO },
        both: "--cmt 1 --sizes 1-50000 --streams 10",
        ..ECHO
    },
    Case {
        name: "CMT, a peer without it",
        group: EXTENSIONS,
        network: TWO,
        both: "--sizes 1-50000 --streams 10",
        ours: "--cmt 1",
        ..ECHO
    },
    Case {
        name: "our CMT, the first path is cut",
        group: EXTENSIONS,
        network: Network { cut: Some(1000), ..SLOW },
        both: "--sizes 1444 --heartbeat 300 --rto 100,100,1000",
        ours: "--cmt 1 --send 6000 --end shutdown",
        theirs: "--expect 6000",
        ..PLAIN
    },
    Case {
        name: "CMT/RPv1",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 2 --sizes 1-50000",
        ..ECHO
    },
    Case {
        name: "CMT/RPv2",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 3 --sizes 1-50000",
        ..ECHO
    },
    Case {
        name: "CMT, coupled as in MPTCP",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 4 --sizes 1-50000",
        ..ECHO
    },
    Case {
        name: "CMT with buffer splitting",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 1 --split --buffer 200000 --sizes 1-50000",
        ..ECHO
    },
    Case {
        name: "CMT as the papers have it",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 1 --nr-sack --dac --sizes 1-50000 --streams 10",
        ours: "--profile paper",
        ..ECHO
    },
    Case {
        name: "NR-SACK",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 1 --nr-sack --sizes 1-50000 --streams 10",
        proofs: &[
            Proof::Chunk { from: CLIENT, chunk: NR_SACK },
            Proof::Chunk { from: SERVER, chunk: NR_SACK },
        ],
        ..ECHO
    },
    Case {
        name: "NR-SACK, a peer without it",
        group: EXTENSIONS,
        both: "--sizes 1-50000",
        ours: "--nr-sack",
        proofs: &[Proof::NoChunk { chunk: NR_SACK }, Proof::Chunk { from: CLIENT, chunk: SACK }],
        ..ECHO
    },
    Case {
        name: "DAC",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 1 --dac --sizes 1-50000 --streams 10",
        proofs: &[
            Proof::Flag { from: CLIENT, chunk: SACK, bits: DAC_BITS },
            Proof::Flag { from: SERVER, chunk: SACK, bits: DAC_BITS },
        ],
        ..ECHO
    },
    Case {
        name: "DAC with losses",
        group: EXTENSIONS,
        network: Network { loss: 0.01, ..TWO },
        both: "--cmt 1 --dac --sizes 1-50000 --streams 10 --rto 100,100,1000 --linger 2500",
        proofs: &[Proof::Retransmitted(CLIENT), Proof::Retransmitted(SERVER)],
        ..ECHO
    },
    Case {
        name: "DAC and NR-SACK",
        group: EXTENSIONS,
        network: TWO,
        both: "--cmt 1 --dac --nr-sack --sizes 1-50000 --streams 10",
        proofs: &[
            Proof::Flag { from: CLIENT, chunk: NR_SACK, bits: DAC_BITS },
            Proof::Flag { from: SERVER, chunk: NR_SACK, bits: DAC_BITS },
        ],
        ..ECHO
    },
    Case {
        name: "I bit",
        group: EXTENSIONS,
        both: "--immediate",
        proofs: &[Proof::Flag { from: CLIENT, chunk: DATA, bits: I_BIT }],
        ..UP
    },
    Case {
        name: "AUTH: every DATA, with the empty key",
        group: STANDARDS,
        both: "--auth-chunks 0 --sizes 1-20000 --streams 5",
        proofs: BOTH_AUTH,
        ..ECHO
    },
    Case {
        name: "AUTH: DATA and SACKs, with a shared key, on two paths",
        group: STANDARDS,
        network: TWO,
        both: "--key sesame --auth-chunks 0,3 --cmt 1 --sizes 1-20000 --streams 5",
        proofs: BOTH_AUTH,
        only: Some(CLIENT),
        ..ECHO
    },
    Case {
        name: "AUTH: COOKIE ECHO, COOKIE ACK and ABORT as well",
        group: STANDARDS,
        both: "--key sesame --auth-chunks 0,3,6,10,11 --sizes 1-5000",
        client: "--send 200 --expect 200 --end abort",
        server: "--expect 200 --echo",
        closed: ("own abort", "abort"),
        proofs: BOTH_AUTH,
        only: Some(CLIENT),
        ..PLAIN
    },
    Case {
        name: "our addresses change in the middle",
        group: STANDARDS,
        network: TWO,
        both: "--sizes 1-5000 --streams 5 --rto 100,100,1000 --heartbeat 300",
        client: "--send 500 --expect 500 --delay 4 --end shutdown --local 10.0.1.1 \
                 --add-address 10.0.2.1@100 --drop-address 10.0.1.1@300",
        server: "--expect 500 --echo",
        proofs: &[
            Proof::Chunk { from: CLIENT, chunk: ASCONF },
            Proof::Chunk { from: SERVER, chunk: ASCONF_ACK },
            Proof::DataPaths { from: CLIENT, paths: 2 },
        ],
        only: Some(CLIENT),
        ..PLAIN
    },
    Case {
        name: "usrsctp gets one more address in the middle",
        group: STANDARDS,
        network: TWO,
        both: "--sizes 1-5000 --streams 5 --rto 100,100,1000 --heartbeat 300",
        client: "--send 500 --expect 500 --delay 4 --end shutdown --local 10.0.1.1 \
                 --add-address 10.0.2.1@100",
        server: "--expect 500 --echo",
        proofs: &[
            Proof::Chunk { from: CLIENT, chunk: ASCONF },
            Proof::Chunk { from: SERVER, chunk: ASCONF_ACK },
        ],
        only: Some(SERVER),
        ..PLAIN
    },
    Case {
        name: "I-DATA",
        group: STANDARDS,
        // What is under way on all streams together must fit the receive buffer.
        both: "--i-data --sizes 1-300000 --streams 10",
        proofs: BOTH_I_DATA,
        ..ECHO
    },
    Case {
        name: "I-DATA, unordered, on two paths, with NR-SACK",
        group: STANDARDS,
        network: TWO,
        both: "--i-data --unordered --cmt 1 --nr-sack --sizes 1-100000 --streams 10",
        proofs: BOTH_I_DATA,
        ..ECHO
    },
    Case {
        name: "I-DATA with 2 % losses",
        group: STANDARDS,
        network: Network { loss: 0.02, ..ONE },
        both: "--i-data --sizes 1-20000 --streams 5 --rto 100,100,1000 --linger 2500",
        proofs: BOTH_I_DATA,
        ..ECHO
    },
    Case {
        name: "I-DATA, a peer without it",
        group: STANDARDS,
        both: "--sizes 1-50000 --streams 5",
        ours: "--i-data",
        proofs: &[Proof::NoChunk { chunk: I_DATA }],
        ..ECHO
    },
    Case {
        name: "no retransmission of anything, 2 % losses",
        group: STANDARDS,
        network: Network { loss: 0.02, ..ONE },
        both: "--rtx 0 --partial --skips --sizes 1-20000 --streams 5 --rto 100,100,1000 --linger 2500",
        proofs: &[Proof::Chunk { from: CLIENT, chunk: FORWARD_TSN }],
        client: "--send 1000 --end shutdown",
        server: "--expect 1000",
        ..PLAIN
    },
    Case {
        name: "messages of 20 ms of life at most, 5 % losses",
        group: STANDARDS,
        network: Network { loss: 0.05, ..ONE },
        both: "--ttl 20 --partial --skips --sizes 1-20000 --streams 5 --rto 100,100,1000 --linger 2500",
        client: "--send 1000 --end shutdown",
        server: "--expect 1000",
        ..PLAIN
    },
    Case {
        name: "no retransmission of anything, I-DATA, unordered, 2 % losses",
        group: STANDARDS,
        network: Network { loss: 0.02, ..ONE },
        both: "--i-data --unordered --rtx 0 --partial --skips --sizes 1-20000 --streams 5 \
               --rto 100,100,1000 --linger 2500",
        proofs: &[Proof::Chunk { from: CLIENT, chunk: I_FORWARD_TSN }],
        client: "--send 1000 --end shutdown",
        server: "--expect 1000",
        ..PLAIN
    },
    Case {
        name: "streams are reset in the middle",
        group: STANDARDS,
        both: "--sizes 1-5000 --streams 5",
        client: "--send 400 --expect 400 --reset-after 200 --end shutdown",
        server: "--expect 400 --echo",
        proofs: BOTH_RECONFIG,
        ..PLAIN
    },
    Case {
        name: "streams are reset in the middle, I-DATA, 2 % losses",
        group: STANDARDS,
        network: Network { loss: 0.02, ..ONE },
        both: "--i-data --sizes 1-5000 --streams 5 --rto 100,100,1000 --linger 2500",
        client: "--send 400 --expect 400 --reset-after 200 --end shutdown",
        server: "--expect 400 --echo",
        proofs: BOTH_RECONFIG,
        only: Some(SERVER),
        ..PLAIN
    },
    Case {
        name: "streams are added in the middle",
        group: STANDARDS,
        both: "--sizes 1-5000 --streams 5",
        client: "--send 400 --expect 400 --add-streams 7@200 --end shutdown",
        server: "--expect 400 --echo",
        proofs: BOTH_RECONFIG,
        only: Some(CLIENT),
        ..PLAIN
    },
    Case {
        // With longer ones usrsctp puts other messages between the fragments of one
        // (interop/README.md).
        name: "streams are added in the middle, messages of one packet",
        group: STANDARDS,
        both: "--sizes 1-1400 --streams 5",
        client: "--send 400 --expect 400 --add-streams 7@200 --end shutdown",
        server: "--expect 400 --echo",
        proofs: BOTH_RECONFIG,
        only: Some(SERVER),
        ..PLAIN
    },
    Case {
        name: "none of our extensions",
        group: STANDARDS,
        both: "--sizes 1-50000 --streams 5",
        ours: "--bare --profile paper",
        proofs: &[Proof::NoChunk { chunk: AUTH }],
        ..ECHO
    },
];

const BOTH_AUTH: &[Proof] =
    &[Proof::Chunk { from: CLIENT, chunk: AUTH }, Proof::Chunk { from: SERVER, chunk: AUTH }];

const BOTH_I_DATA: &[Proof] = &[
    Proof::Chunk { from: CLIENT, chunk: I_DATA },
    Proof::Chunk { from: SERVER, chunk: I_DATA },
    Proof::NoChunk { chunk: DATA },
];

/// A request, and its answer.
const BOTH_RECONFIG: &[Proof] = &[
    Proof::Chunk { from: CLIENT, chunk: RECONFIG },
    Proof::Chunk { from: SERVER, chunk: RECONFIG },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_groups_stay_together() {
        let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        let mut groups: Vec<_> = CASES.iter().map(|case| case.group).collect();
        groups.dedup();
        assert_eq!(groups, [MESSAGES, PATHS, ENDS, NETWORKS, EXTENSIONS, STANDARDS]);
    }
}
