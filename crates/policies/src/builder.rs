//! Settings of associations, made step by step.

use std::sync::Arc;

use polypath_proto::config::{
    AssocConfig, AuthConfig, Edmid, PathMtuDiscovery, RtoConfig, StallDetectionConfig,
};
use polypath_proto::policy::PolicyFactory;
use polypath_proto::time::Duration;

use crate::error::PolicyError;
use crate::profile::Profile;
use crate::registry::{PolicySpec, Registry};

/// Makes the settings of associations from a [`Profile`] and what differs from it.
///
/// ```
/// use polypath_policies::{AssocBuilder, Profile};
///
/// let settings = AssocBuilder::new(Profile::Fast)
///     .buffers(8 << 20)
///     .streams(4, 4)
///     .path_scheduler("min-rtt")
///     .dynamic_addresses()
///     .build()?;
/// assert_eq!(settings.receive_buffer, 8 << 20);
/// # Ok::<(), polypath_policies::PolicyError>(())
/// ```
///
/// Policies are named `name` or `name?key=value&key=value`; [`build`](Self::build) refuses what it
/// does not know. What has no method of its own is a field of [`AssocConfig`]: see
/// [`adjust`](Self::adjust).
#[derive(Clone, Debug)]
#[must_use]
pub struct AssocBuilder {
    assoc: AssocConfig,
    policies: PolicySpec,
    factory: Option<Arc<dyn PolicyFactory>>,
}

impl Default for AssocBuilder {
    fn default() -> Self {
        Self::new(Profile::default())
    }
}

impl From<Profile> for AssocBuilder {
    fn from(profile: Profile) -> Self {
        Self::new(profile)
    }
}

impl AssocBuilder {
    /// The settings of `profile`, to be changed.
    pub fn new(profile: Profile) -> Self {
        let (assoc, policies) = profile.stack();
        Self { assoc, policies, factory: None }
    }

    /// Which path carries the next new data.
    pub fn path_scheduler(mut self, policy: impl Into<String>) -> Self {
        self.policies.path_scheduler = policy.into();
        self
    }

    /// Which stream's message is next.
    pub fn stream_scheduler(mut self, policy: impl Into<String>) -> Self {
        self.policies.stream_scheduler = policy.into();
        self
    }

    /// Which path carries a retransmission.
    pub fn retransmission(mut self, policy: impl Into<String>) -> Self {
        self.policies.retransmission = policy.into();
        self
    }

    /// Whether a path may take more of the buffers.
    pub fn buffer_policy(mut self, policy: impl Into<String>) -> Self {
        self.policies.buffer = policy.into();
        self
    }

    /// How congestion windows change.
    pub fn congestion(mut self, policy: impl Into<String>) -> Self {
        self.policies.congestion = policy.into();
        self
    }

    /// All five policies, from a factory of one's own: names count no more.
    pub fn policies(mut self, factory: Arc<dyn PolicyFactory>) -> Self {
        self.factory = Some(factory);
        self
    }

    /// Sizes of the receive and the send buffer, bytes.
    pub fn buffers(mut self, bytes: u32) -> Self {
        self.assoc.receive_buffer = bytes;
        self.assoc.send_buffer = bytes.into();
        self
    }

    /// Lets both buffers grow up to so many bytes with what the paths carry.
    pub fn growing_buffers(mut self, most: u32) -> Self {
        self.assoc.receive_buffer_max = Some(most);
        self.assoc.send_buffer_max = Some(most.into());
        self
    }

    /// Outbound streams that are asked for, and inbound ones that are allowed.
    pub fn streams(mut self, outbound: u16, inbound: u16) -> Self {
        self.assoc.outbound_streams = outbound;
        self.assoc.inbound_streams = inbound;
        self
    }

    /// The largest message that is sent or received, bytes.
    pub fn max_message(mut self, bytes: u32) -> Self {
        self.assoc.max_message = bytes;
        self
    }

    /// Delivers large messages in parts, once so many bytes are here (RFC 6458 section 8.1.21).
    pub fn partial_delivery(mut self, bytes: u32) -> Self {
        self.assoc.partial_delivery = Some(bytes);
        self
    }

    /// The largest IP packet that every path carries, bytes; it is not looked for.
    pub fn path_mtu(mut self, bytes: u32) -> Self {
        self.assoc.path_mtu = bytes;
        self.assoc.path_mtu_discovery = None;
        self
    }

    /// Finds out how large packets may be, path by path (RFC 8899).
    pub fn discover_path_mtu(mut self, how: PathMtuDiscovery) -> Self {
        self.assoc.path_mtu_discovery = Some(how);
        self
    }

    /// Retransmission timeouts.
    pub fn rto(mut self, rto: RtoConfig) -> Self {
        self.assoc.rto = rto;
        self
    }

    /// HB.interval; `None`: no heartbeats but those that verify addresses.
    pub fn heartbeat_interval(mut self, interval: impl Into<Option<Duration>>) -> Self {
        self.assoc.heartbeat_interval = interval.into();
        self
    }

    /// Offers authenticated chunks (RFC 4895) with these keys and demands.
    pub fn authentication(mut self, auth: AuthConfig) -> Self {
        self.assoc.extensions.authentication = true;
        self.assoc.auth = auth;
        self
    }

    /// Lets addresses come and go while the association lives (RFC 5061), with the authentication
    /// that this needs (RFC 4895). Without [`authentication`](Self::authentication) the shared key
    /// is empty: it protects from all who did not see the handshake.
    pub fn dynamic_addresses(mut self) -> Self {
        self.assoc.extensions.authentication = true;
        self.assoc.extensions.dynamic_addresses = true;
        self
    }

    /// Offers I-DATA: a large message of one stream does not hold up others (RFC 8260).
    pub fn interleaving(mut self) -> Self {
        self.assoc.extensions.interleaving = true;
        self
    }

    /// Offers messages that may be given up (RFC 3758, RFC 7496).
    pub fn partial_reliability(mut self) -> Self {
        self.assoc.extensions.partial_reliability = true;
        self
    }

    /// Offers to reset and to add streams (RFC 6525).
    pub fn stream_reconfiguration(mut self) -> Self {
        self.assoc.extensions.stream_reconfiguration = true;
        self
    }

    /// Small messages wait for more while data is in flight (Nagle's rule, RFC 9260 section 6.1).
    pub fn nagle(mut self) -> Self {
        self.assoc.nagle = true;
        self
    }

    /// Spreads packets with data over the round trip.
    pub fn pacing(mut self) -> Self {
        self.assoc.pacing = true;
        self
    }

    /// Spares the checksum where the peer agrees and the layer below detects errors this way (RFC
    /// 9653).
    pub fn zero_checksum(mut self, method: Edmid) -> Self {
        self.assoc.zero_checksum = Some(method);
        self
    }

    /// Tells by events what limits a transfer, and that it has stopped.
    pub fn watch(mut self, watch: StallDetectionConfig) -> Self {
        self.assoc.stall_detection = Some(watch);
        self
    }

    /// Changes whatever else the core can be told. Policies are not read from there: name them
    /// here.
    pub fn adjust(mut self, change: impl FnOnce(&mut AssocConfig)) -> Self {
        change(&mut self.assoc);
        self
    }

    /// The settings.
    ///
    /// # Errors
    /// The first policy or option that is unknown, with those that there are.
    pub fn build(self) -> Result<Arc<AssocConfig>, PolicyError> {
        self.build_from(&Registry::builtin())
    }

    /// The settings, with policies that `registry` knows.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn build_from(self, registry: &Registry) -> Result<Arc<AssocConfig>, PolicyError> {
        let policies = match self.factory {
            Some(factory) => factory,
            None => registry.factory(&self.policies)?,
        };
        Ok(Arc::new(AssocConfig { policies, ..self.assoc }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_is_the_profile_s() {
        let paper = AssocBuilder::from(Profile::Paper).build().unwrap();
        assert_eq!(paper.rto, Profile::Paper.stack().0.rto);
        let changed = AssocBuilder::new(Profile::Paper).nagle().adjust(|c| c.max_burst = None);
        let changed = changed.build().unwrap();
        assert!(changed.nagle && changed.max_burst.is_none() && !paper.nagle);
    }

    #[test]
    fn dynamic_addresses_are_one_switch() {
        let on = AssocBuilder::default().dynamic_addresses().build().unwrap().extensions;
        assert!(on.authentication && on.dynamic_addresses && !on.interleaving);
    }

    #[test]
    fn unknown_policies_are_refused_with_those_that_there_are() {
        let error = AssocBuilder::default().path_scheduler("best").build().unwrap_err();
        let error = error.to_string();
        assert!(error.contains("\"best\" is unknown") && error.contains("min-rtt"), "{error}");
    }
}
