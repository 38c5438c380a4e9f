//! Which addresses are the Internet's: those that are reached alike from everywhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is globally reachable, as the IANA IPv4 and IPv6 Special-Purpose Address
/// Registries have it (RFC 6890, RFC 8190; as of 2025), and a host's: multicast is not. Those that
/// carry an IPv4 address to which a translator or relay sends on are judged by that. Where the
/// registries say neither yes nor no, it is no.
///
/// `std`'s own is not stable (`ip`, rust-lang/rust#27709).
pub fn is_global(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => is_global_v4(ip),
        IpAddr::V6(ip) => is_global_v6(ip),
    }
}

fn is_global_v4(ip: Ipv4Addr) -> bool {
    match ip.octets() {
        // Anycast of port control (RFC 7723) and TURN (RFC 8155), in what is not global else.
        [192, 0, 0, 9 | 10] => true,
        // "This network" (RFC 791), which Linux takes for this host; private use (RFC 1918);
        // shared by carriers (RFC 6598); loopback (RFC 1122); link-local (RFC 3927).
        [0 | 10 | 127, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [100, 64..=127, ..]
        | [169, 254, ..] => false,
        // Protocol assignments (RFC 6890); documentation (RFC 5737); benchmarks (RFC 2544); what
        // was 6to4's relays (RFC 7526).
        [192, 0, 0 | 2, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [198, 18 | 19, ..]
        | [192, 88, 99, _] => false,
        // Multicast (RFC 5771), reserved (RFC 1112) and broadcast (RFC 919).
        [224..=255, ..] => false,
        _ => true,
    }
}

fn is_global_v6(ip: Ipv6Addr) -> bool {
    match ip.segments() {
        // NAT64 (RFC 6052); its local-use prefix 64:ff9b:1::/48 (RFC 8215) is not global.
        [0x64, 0xff9b, 0, 0, 0, 0, a, b] => is_global_v4(join(a, b)),
        // 6to4 (RFC 3056).
        [0x2002, a, b, ..] => is_global_v4(join(a, b)),
        // Teredo: its server, and the client with all bits turned (RFC 4380, section 4).
        [0x2001, 0, a, b, _, _, c, d] => is_global_v4(join(a, b)) && is_global_v4(join(!c, !d)),
        // In 2001::/23: anycast of port control, TURN and service registration (RFC 7723, 8155,
        // 9665); AMT (RFC 7450); AS112 (RFC 7535); ORCHIDv2 and drones (RFC 7343, 9374).
        [0x2001, 1, 0, 0, 0, 0, 0, 1..=3]
        | [0x2001, 3, ..]
        | [0x2001, 4, 0x112, ..]
        | [0x2001, 0x20..=0x3f, ..] => true,
        // The rest of it (RFC 2928); documentation (RFC 3849, 9637).
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // All that is given out (RFC 4291, section 2.4). So what is not: loopback, unspecified,
        // discard-only, segments of routes (RFC 9602), unique local, link-local, multicast.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

fn join(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn global(text: &str) -> bool {
        is_global(text.parse().unwrap())
    }

    /// First and last of each block that is not global, beside neighbours that are.
    #[test]
    fn blocks_of_ipv4_end_where_the_registry_says() {
        for inside in "0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 \
            127.0.0.1 127.255.255.255 169.254.0.0 169.254.169.254 169.254.255.255 172.16.0.0 \
            172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.11 192.0.0.170 192.0.0.255 192.0.2.0 \
            192.0.2.255 192.88.99.2 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 \
            198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 224.0.0.0 239.255.255.255 \
            240.0.0.0 255.255.255.255"
            .split_whitespace()
        {
            assert!(!global(inside), "{inside}");
        }
        for outside in "1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 \
            128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 \
            192.0.0.9 192.0.0.10 192.0.1.0 192.0.3.0 192.31.196.1 192.52.193.1 192.88.98.255 \
            192.88.100.0 192.167.255.255 192.169.0.0 192.175.48.1 198.17.255.255 198.20.0.0 \
            198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 8.8.8.8"
            .split_whitespace()
        {
            assert!(global(outside), "{outside}");
        }
    }

    #[test]
    fn blocks_of_ipv6_end_where_the_registry_says() {
        for inside in ":: ::1 ::2 ::8.8.8.8 64:ff9b:1:: 64:ff9b:1:ffff::8.8.8.8 64:ff9a::1 100::1 \
            100:0:0:1::1 1fff:ffff:: 2001:1:: 2001:1::4 2001:2::1 2001:4:111::1 2001:4:113::1 \
            2001:5::1 2001:10::1 2001:1f:ffff:: 2001:40::1 2001:1ff:ffff:: 2001:db8:: \
            2001:db8:ffff:: 3fff:: 3fff:fff:ffff:: 4000:: 5f00::1 fc00:: fd00::1 fe80::1 fec0::1 \
            ff02::1 ff0e::1"
            .split_whitespace()
        {
            assert!(!global(inside), "{inside}");
        }
        for outside in "2000:: 2001:1::1 2001:1::2 2001:1::3 2001:3::1 2001:4:112::1 2001:20::1 \
            2001:3f:ffff:: 2001:200:: 2001:db7:: 2001:db9:: 2001:4860:4860::8888 2003:: \
            2620:4f:8000::1 3ffe:: 3fff:1000::"
            .split_whitespace()
        {
            assert!(global(outside), "{outside}");
        }
    }

    #[test]
    fn teredo_is_judged_by_server_and_client() {
        // Of RFC 4380 and others: 65.54.227.120 serves 192.0.2.45, which is documentation.
        assert!(!global("2001:0:4136:e378:8000:63bf:3fff:fdd2"));
        assert!(global("2001:0:4136:e378:8000:63bf:f7f7:f7f7"));
        assert!(!global("2001:0:7f00:1:8000:63bf:f7f7:f7f7"));
        assert!(!global("2001:0:4136:e378:8000:63bf:80ff:fffe"));
    }

    proptest! {
        #[test]
        fn what_carries_ipv4_is_judged_by_that(
            bits in prop_oneof![any::<u32>(), 0x7e00_0000..=0x8000_0000_u32],
        ) {
            let wanted = is_global(Ipv4Addr::from_bits(bits).into());
            let bits = u128::from(bits);
            let mapped = 0xffff << 32 | bits;
            let nat64 = 0x64_ff9b << 96 | bits;
            let six_to_four = 0x2002 << 112 | bits << 80 | 1;
            let teredo = 0x2001_0000 << 96 | 0x0808_0808 << 64 | (bits ^ 0xffff_ffff);
            for carrier in [mapped, nat64, six_to_four, teredo] {
                let ip = Ipv6Addr::from_bits(carrier);
                prop_assert_eq!(is_global(ip.into()), wanted, "{}", ip);
            }
        }
    }
}
