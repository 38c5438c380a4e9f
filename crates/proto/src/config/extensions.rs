//! Which extensions of RFC 9260 an association offers. One is used when both ends offer it.

/// An extension of RFC 9260, as settings name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Extension {
    /// Authenticated chunks (RFC 4895).
    Auth,
    /// Addresses that come and go (RFC 5061); needs auth.
    Asconf,
    /// I-DATA: messages of different streams are interleaved (RFC 8260).
    IData,
    /// Messages that may be given up (RFC 3758).
    PrSctp,
    /// Streams that are reset and added (RFC 6525).
    ReConfig,
}

/// Extensions, each with its switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtensionConfig {
    /// Authenticated chunks (RFC 4895).
    pub authentication: bool,
    /// Addresses that come and go during the association (RFC 5061). Offered only with
    /// `authentication`, which it needs.
    pub dynamic_addresses: bool,
    /// I-DATA in place of DATA: large messages of one stream do not hold up other streams (RFC
    /// 8260).
    pub interleaving: bool,
    /// Messages that may be given up (RFC 3758, RFC 7496).
    pub partial_reliability: bool,
    /// Resetting and adding streams (RFC 6525).
    pub stream_reconfiguration: bool,
}

impl ExtensionConfig {
    /// Those that are listed, and no others.
    pub fn of(listed: &[Extension]) -> Self {
        let offers = |extension| listed.contains(&extension);
        Self {
            authentication: offers(Extension::Auth),
            dynamic_addresses: offers(Extension::Asconf),
            interleaving: offers(Extension::IData),
            partial_reliability: offers(Extension::PrSctp),
            stream_reconfiguration: offers(Extension::ReConfig),
        }
    }

    /// RFC 9260 alone.
    pub const NONE: Self = Self {
        authentication: false,
        dynamic_addresses: false,
        interleaving: false,
        partial_reliability: false,
        stream_reconfiguration: false,
    };

    /// All of them.
    pub const ALL: Self = Self {
        authentication: true,
        dynamic_addresses: true,
        interleaving: true,
        partial_reliability: true,
        stream_reconfiguration: true,
    };
}

/// The extensions that both ends of an association agreed on at set-up: only these are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgreedExtensions {
    /// Authenticated chunks (RFC 4895).
    pub authentication: bool,
    /// Addresses that come and go (RFC 5061).
    pub dynamic_addresses: bool,
    /// I-DATA in place of DATA (RFC 8260).
    pub interleaving: bool,
    /// Messages that may be given up (RFC 3758).
    pub partial_reliability: bool,
    /// Streams that are reset and added (RFC 6525).
    pub stream_reconfiguration: bool,
    /// Non-renegable acknowledgements (draft-natarajan-tsvwg-sctp-nrsack).
    pub nr_sack: bool,
    /// Delayed acknowledgement for CMT.
    pub dac: bool,
    /// Packets without a checksum (RFC 9653).
    pub zero_checksum: bool,
    /// SACKs that are fewer and shorter than RFC 9260 has them.
    pub sack_thinning: bool,
}
