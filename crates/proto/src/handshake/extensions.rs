//! Extensions that both ends must know before either uses them, as INIT and INIT ACK tell them.

use polypath_wire::chunk::kind;

use crate::config::{AssocConfig, NrSack};

/// A set of extensions: what one end announces, or what both agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    /// NR-SACK: chunk type 16 among the Supported Extensions.
    pub(crate) nr_sack: bool,
    /// DAC: [`DELAYED_ACK_CMT`](polypath_wire::param::kind::DELAYED_ACK_CMT).
    pub(crate) dac: bool,
    /// AUTH (RFC 4895).
    pub(crate) authentication: bool,
    /// ASCONF and ASCONF-ACK (RFC 5061).
    pub(crate) dynamic_addresses: bool,
    /// I-DATA (RFC 8260).
    pub(crate) interleaving: bool,
    /// FORWARD-TSN (RFC 3758): listed, or told by its own parameter.
    pub(crate) partial_reliability: bool,
    /// I-FORWARD-TSN (RFC 8260 section 2.3.1): goes with I-DATA.
    pub(crate) i_forward_tsn: bool,
    /// RE-CONFIG (RFC 6525).
    pub(crate) stream_reconfiguration: bool,
    /// Packets without checksum, by the method of DTLS (RFC 9653): Zero Checksum Acceptable.
    pub(crate) zero_checksum: bool,
    /// Fewer and shorter SACKs will do:
    /// [`SACK_THINNING`](polypath_wire::param::kind::SACK_THINNING).
    pub(crate) sack_thinning: bool,
}

impl Extensions {
    /// None.
    pub(crate) const NONE: Self = Self::from_bits(0);

    /// Those that `config` switches on.
    pub(crate) fn of(config: &AssocConfig) -> Self {
        let on = config.extensions;
        Self {
            nr_sack: config.cmt.nr_sack != NrSack::Off && !config.minimal_init,
            dac: config.cmt.dac && !config.minimal_init,
            // The DTLS chunk does what it would do (draft-ietf-tsvwg-sctp-dtls-chunk section 3.2).
            authentication: on.authentication && config.protection.is_none(),
            // RFC 5061 section 4.2.7: who lists ASCONF without AUTH gets no association.
            dynamic_addresses: on.dynamic_addresses
                && (on.authentication || config.protection.is_some()),
            interleaving: on.interleaving,
            partial_reliability: on.partial_reliability,
            i_forward_tsn: on.partial_reliability && on.interleaving,
            stream_reconfiguration: on.stream_reconfiguration,
            zero_checksum: config.zero_checksum.is_some(),
            // What another SACK leaves out would be withdrawn (RFC 9260 section 6.2.1 D).
            sack_thinning: config.sack.thinning
                && config.cmt.nr_sack == NrSack::Received
                && !config.minimal_init,
        }
    }

    /// Those that are used with a peer that announced `peer`.
    pub(crate) fn agreed(config: &AssocConfig, peer: Self) -> Self {
        let own = Self::of(config);
        let peer_counts = peer.dac || config.cmt.dac_unannounced;
        let both = Self::from_bits(own.bits() & peer.bits());
        let sack_thinning = both.sack_thinning && both.nr_sack;
        Self { dac: own.dac && peer_counts, sack_thinning, ..both }
    }

    /// The chunk types that tell of them (Supported Extensions, RFC 5061 section 4.2.7).
    pub(crate) fn chunk_types(self) -> Vec<u8> {
        let listed = [
            (self.nr_sack, kind::NR_SACK),
            (self.authentication, kind::AUTH),
            (self.dynamic_addresses, kind::ASCONF),
            (self.dynamic_addresses, kind::ASCONF_ACK),
            (self.stream_reconfiguration, kind::RECONFIG),
            (self.interleaving, kind::I_DATA),
            (self.partial_reliability, kind::FORWARD_TSN),
            (self.i_forward_tsn, kind::I_FORWARD_TSN),
        ];
        listed.into_iter().filter(|(on, _)| *on).map(|(_, chunk)| chunk).collect()
    }

    /// Takes up what a peer's list of chunk types tells.
    pub(crate) fn announce(&mut self, types: &[u8]) {
        let has = |kind| types.contains(&kind);
        self.nr_sack |= has(kind::NR_SACK);
        self.authentication |= has(kind::AUTH);
        self.dynamic_addresses |= has(kind::ASCONF) && has(kind::ASCONF_ACK);
        self.stream_reconfiguration |= has(kind::RECONFIG);
        self.interleaving |= has(kind::I_DATA);
        self.partial_reliability |= has(kind::FORWARD_TSN);
        self.i_forward_tsn |= has(kind::I_FORWARD_TSN);
    }

    /// As a number, for the cookie.
    pub(crate) const fn bits(self) -> u16 {
        let flags = [
            self.nr_sack,
            self.dac,
            self.authentication,
            self.dynamic_addresses,
            self.interleaving,
            self.partial_reliability,
            self.i_forward_tsn,
            self.stream_reconfiguration,
            self.zero_checksum,
            self.sack_thinning,
        ];
        let (mut bits, mut at) = (0, 0);
        while at < flags.len() {
            bits |= (flags[at] as u16) << at;
            at += 1;
        }
        bits
    }

    /// The set with that number; bits without a meaning are ignored.
    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self {
            nr_sack: bits & 1 != 0,
            dac: bits & 1 << 1 != 0,
            authentication: bits & 1 << 2 != 0,
            dynamic_addresses: bits & 1 << 3 != 0,
            interleaving: bits & 1 << 4 != 0,
            partial_reliability: bits & 1 << 5 != 0,
            i_forward_tsn: bits & 1 << 6 != 0,
            stream_reconfiguration: bits & 1 << 7 != 0,
            zero_checksum: bits & 1 << 8 != 0,
            sack_thinning: bits & 1 << 9 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ExtensionConfig;

    #[test]
    fn every_set_survives_its_number_and_its_list() {
        for bits in 0..1024 {
            let set = Extensions::from_bits(bits);
            assert_eq!(set.bits(), bits);
            let Extensions { dac, zero_checksum, sack_thinning, .. } = set;
            let mut read = Extensions { dac, zero_checksum, sack_thinning, ..Extensions::NONE };
            read.announce(&set.chunk_types());
            assert_eq!(read, set);
        }
    }

    #[test]
    fn only_what_both_ends_have_is_agreed_and_addresses_need_authentication() {
        let mut config = AssocConfig { extensions: ExtensionConfig::ALL, ..AssocConfig::default() };
        let all = Extensions::of(&config);
        assert!(all.dynamic_addresses && all.i_forward_tsn);
        assert_eq!(Extensions::agreed(&config, all), all);
        assert_eq!(Extensions::agreed(&config, Extensions::NONE), Extensions::NONE);
        config.extensions.authentication = false;
        assert!(!Extensions::of(&config).dynamic_addresses);
    }
}
