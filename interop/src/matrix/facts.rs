//! What a capture shows, as tshark reads it.

use std::collections::BTreeMap;

use crate::peer::Role;

/// What a capture shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Packets of SCTP in it.
    pub packets: u64,
    /// Those that are malformed or have a wrong checksum, in words.
    pub bad: Vec<String>,
    /// By source address: packets with DATA.
    data: BTreeMap<(bool, String), u64>,
    /// By sender (true: the client) and chunk type: how many, and all their flags together.
    chunks: BTreeMap<(bool, u8), (u64, u8)>,
}

/// What tshark is asked for, in this order; tabs between.
pub(super) const FIELDS: [&str; 9] = [
    "frame.number",
    "ip.src",
    "ipv6.src",
    "sctp.chunk_type",
    "sctp.chunk_flags",
    "sctp.checksum.status",
    "udp.checksum.status",
    "ip.checksum.status",
    "_ws.malformed",
];

/// tshark's words for a checksum that is wrong, and one that is right; others mean that it did not
/// look.
const BAD: &str = "0";
const GOOD: &str = "1";

impl Facts {
    /// Reads tshark's lines of [`FIELDS`]. The client's addresses end in `.1` or `::1`.
    pub(super) fn from_tshark(output: &str) -> Self {
        let mut facts = Self::default();
        for line in output.lines() {
            facts.enter_line(&line.split('\t').collect::<Vec<_>>());
        }
        facts
    }

    fn enter_line(&mut self, fields: &[&str]) {
        let [frame, ipv4, ipv6, types, flags, sctp, udp, ip, malformed] = fields[..] else {
            return;
        };
        self.packets += 1;
        let source = if ipv4.is_empty() { ipv6 } else { ipv4 };
        let checksums = [("SCTP", sctp), ("UDP", udp), ("IP", ip)];
        let wrong = |(name, status): &(&str, &str)| {
            status.split(',').any(|s| s == BAD).then(|| (*name).to_owned())
        };
        let mut faults: Vec<_> = checksums.iter().filter_map(wrong).collect();
        if sctp != GOOD && faults.is_empty() {
            faults.push("SCTP".to_owned());
        }
        faults.iter_mut().for_each(|name| name.push_str(" checksum"));
        if !malformed.is_empty() {
            faults.push("malformed".to_owned());
        }
        if !faults.is_empty() {
            self.bad.push(format!("frame {frame} of {source}: {}", faults.join(", ")));
        }
        let client = source.ends_with(".1") || source.ends_with("::1");
        self.enter_chunks(client, source, types, flags);
    }

    fn enter_chunks(&mut self, client: bool, source: &str, types: &str, flags: &str) {
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(hex) => u8::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        };
        let types: Vec<u8> = types.split(',').filter_map(number).collect();
        for (kind, flags) in types.iter().zip(flags.split(',').filter_map(number)) {
            let (count, all) = self.chunks.entry((client, *kind)).or_default();
            *count += 1;
            *all |= flags;
        }
        if types.contains(&0) {
            *self.data.entry((client, source.to_owned())).or_default() += 1;
        }
    }

    /// Addresses from which the host sent at least a twentieth of its packets with DATA.
    pub(super) fn data_paths(&self, from: Role) -> usize {
        let client = from == Role::Client;
        let counts: Vec<u64> =
            self.data.iter().filter(|((c, _), _)| *c == client).map(|(_, n)| *n).collect();
        let all: u64 = counts.iter().sum();
        counts.into_iter().filter(|count| count * 20 >= all).count()
    }

    /// Chunks of this type that the host sent.
    pub(super) fn chunks(&self, from: Role, kind: u8) -> u64 {
        self.chunks.get(&(from == Role::Client, kind)).map_or(0, |(count, _)| *count)
    }

    /// All flags that chunks of this type of the host had.
    pub(super) fn flags(&self, from: Role, kind: u8) -> u8 {
        self.chunks.get(&(from == Role::Client, kind)).map_or(0, |(_, flags)| *flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_flags_and_paths_are_counted_by_sender() {
        let facts = Facts::from_tshark(
            "1\t10.0.1.1\t\t0,0\t0x03,0x0b\t1\t1\t1\t\n\
             2\t10.0.2.1\t\t0\t0x03\t1\t1\t1\t\n\
             3\t\tfd00:1::2\t3\t0x80\t1\t1\t\t\n",
        );
        assert_eq!((facts.packets, facts.bad.len()), (3, 0));
        assert_eq!((facts.data_paths(Role::Client), facts.data_paths(Role::Server)), (2, 0));
        assert_eq!((facts.chunks(Role::Client, 0), facts.flags(Role::Client, 0)), (3, 0x0b));
        assert_eq!((facts.chunks(Role::Server, 3), facts.flags(Role::Server, 3)), (1, 0x80));
    }

    #[test]
    fn a_path_with_a_few_packets_does_not_count() {
        let line = |path: u8| format!("1\t10.0.{path}.2\t\t0\t0x03\t1\t1\t1\t\n");
        let facts = Facts::from_tshark(&(line(1).repeat(100) + &line(2)));
        assert_eq!(facts.data_paths(Role::Server), 1);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let facts = Facts::from_tshark(
            "7\t10.0.1.1\t\t0\t0x03\t0\t1\t1\t\n\
             8\t10.0.1.1\t\t0\t0x03\t1\t0\t1\t\n\
             9\t10.0.1.1\t\t0\t0x03\t2\t1\t1\t\n\
             10\t10.0.1.1\t\t\t\t1\t1\t1\t[Malformed Packet: SCTP]\n",
        );
        let bad = [
            "frame 7 of 10.0.1.1: SCTP checksum",
            "frame 8 of 10.0.1.1: UDP checksum",
            "frame 9 of 10.0.1.1: SCTP checksum",
            "frame 10 of 10.0.1.1: malformed",
        ];
        assert_eq!(facts.bad, bad);
    }
}
