//! Boxes that translate addresses, in the words of RFC 4787.

use core::net::IpAddr;
use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::units::Delay;

/// A box that translates addresses and UDP ports of the paths that name it, at the server's end of
/// their links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NatSpec {
    /// When packets of one port inside have one port outside (RFC 4787 section 4.1).
    pub mapping: Mapping,
    /// Whose packets get in (RFC 4787 section 5).
    pub filtering: Filtering,
    /// The address outside, of the family of the endpoints. Absent: one of 198.51.100.0/24 or
    /// 2001:db8::/64.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "deserialize_address")]
    pub external: Option<IpAddr>,
    /// What becomes of packets from outside that do not get in.
    pub unmapped: Unmapped,
    /// How long a mapping outlives its last packet from inside. Absent: 5min (RFC 4787 REQ-5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Delay>,
    /// Which ports mappings have outside.
    pub ports: Ports,
    /// Whether those inside reach each other by their addresses outside (RFC 4787 section 6).
    /// Absent: yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hairpin: Option<bool>,
}

/// When packets of one port inside have one port outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Wherever they go.
    #[default]
    EndpointIndependent,
    /// If they go to one address.
    AddressDependent,
    /// If they go to one address and port.
    AddressAndPortDependent,
}

/// Whose packets get in to a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Filtering {
    /// Anybody's.
    EndpointIndependent,
    /// Those of addresses to which something was sent.
    AddressDependent,
    /// Those of addresses and ports to which something was sent.
    #[default]
    AddressAndPortDependent,
}

/// What becomes of packets that do not get in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unmapped {
    /// They vanish without a word.
    #[default]
    Silent,
    /// Their sender hears that the port is unreachable.
    Icmp,
}

/// Which ports mappings have outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ports {
    /// Those inside, where they are free.
    #[default]
    Preserved,
    /// Drawn from the seed.
    Random,
}

fn deserialize_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<IpAddr>, D::Error> {
    let text = Cow::<'_, str>::deserialize(deserializer)?;
    let expected = "expected an address, such as 198.51.100.7 or 2001:db8::7";
    text.parse().map(Some).map_err(|_| D::Error::custom(expected))
}
