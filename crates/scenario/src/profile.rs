//! From profile and settings to the core's configuration.

use std::sync::Arc;

use polypath_policies::profile::Profile;
use polypath_policies::{PolicyError, PolicySpec};
use polypath_proto::config::{
    AssocConfig, ExtensionConfig, InitialCwnd, InitialSsthresh, PathMtuDiscovery, RateReduction,
};
use polypath_proto::policy::PolicyFactory;
use polypath_proto::protection::KeyManagement;
use polypath_proto::time::Duration;
use polypath_secure::StandIn;

use crate::policies::Policies;
use crate::scenario::Scenario;
use crate::stack::{Protection, StackSettings, StackSpec};
use crate::units::{Burst, InitialWindow, Interval, Limit, Mtus, Packets, Size, Threshold};

/// The largest packet that discovery tries: jumbo frames. More would only make searches longer.
const MAX_PROBED: u32 = 9_000;

/// A network and a flow, behind a table `[stack]` that stands alone: what makes a scenario of it.
pub const BEHIND_STACK: &str = "\n[path.A]\nrate = \"1Mbit/s\"\ndelay = \"1ms\"\n\n[[flow]]\n\
    app = \"saturated\"\n\n[time]\nmeasure = \"1s\"\n";

/// The stack of one end.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The core's settings, without the policies.
    pub assoc: AssocConfig,
    /// The policies by name.
    pub policies: PolicySpec,
    /// What these names stand for.
    pub registry: Policies,
}

impl Stack {
    /// The stack of a profile.
    pub fn of_profile(profile: Profile) -> Self {
        let (assoc, policies) = profile.stack();
        Self { assoc, policies, registry: Policies::default() }
    }

    /// The same stack with `settings` on top.
    #[must_use]
    pub fn with_settings(mut self, settings: &StackSettings) -> Self {
        self.set_policies(settings);
        self.set_buffers(settings);
        self.set_limits(settings);
        self.set_timers(settings);
        self.set_cmt(settings);
        self.set_congestion(settings);
        self
    }

    /// A factory for the policies.
    ///
    /// # Errors
    /// The first name or option that is unknown.
    pub fn policy_factory(&self) -> Result<Arc<dyn PolicyFactory>, PolicyError> {
        self.registry.factory(&self.policies)
    }

    fn set_policies(&mut self, settings: &StackSettings) {
        let policies = &mut self.policies;
        set(&mut policies.path_scheduler, settings.path_scheduler.clone());
        set(&mut policies.stream_scheduler, settings.stream_scheduler.clone());
        set(&mut policies.retransmission, settings.retransmission.clone());
        set(&mut policies.buffer, settings.buffer.clone());
        set(&mut policies.congestion, settings.congestion.clone());
    }

    fn set_buffers(&mut self, settings: &StackSettings) {
        let assoc = &mut self.assoc;
        set(&mut assoc.receive_buffer, settings.receive_buffer.map(bytes));
        set(&mut assoc.reproduction.chunk_charge, settings.chunk_charge.map(bytes));
        set(&mut assoc.max_message, settings.max_message.map(bytes));
        set(&mut assoc.path_mtu, settings.mtu.map(bytes));
        self.set_discovery(settings);
        let assoc = &mut self.assoc;
        let send_buffer = settings.send_buffer.map(|limit| match limit {
            Limit::Unlimited => u64::MAX,
            Limit::Bytes(Size(bytes)) => bytes,
        });
        set(&mut assoc.send_buffer, send_buffer);
        set(&mut assoc.receive_buffer_max, settings.receive_buffer_max.map(|s| Some(bytes(s))));
        set(&mut assoc.send_buffer_max, settings.send_buffer_max.map(|Size(bytes)| Some(bytes)));
    }

    fn set_discovery(&mut self, settings: &StackSettings) {
        let found = &mut self.assoc.path_mtu_discovery;
        if let Some(on) = settings.path_mtu_discovery {
            let default = PathMtuDiscovery { max: MAX_PROBED, ..PathMtuDiscovery::default() };
            *found = on.then(|| found.unwrap_or(default));
        }
        if let Some(found) = found {
            set(&mut found.base, settings.path_mtu_base.map(bytes));
            set(&mut found.max, settings.path_mtu_max.map(bytes));
        }
    }

    fn set_limits(&mut self, settings: &StackSettings) {
        let assoc = &mut self.assoc;
        set(&mut assoc.outbound_streams, settings.outbound_streams);
        set(&mut assoc.inbound_streams, settings.inbound_streams);
        set(&mut assoc.path_max_retrans, settings.path_max_retrans);
        set(&mut assoc.assoc_max_retrans, settings.assoc_max_retrans);
        set(&mut assoc.max_init_retrans, settings.max_init_retrans);
        set(&mut assoc.reproduction.fast_retransmit_after, settings.fast_retransmit_after);
        let max_burst = settings.max_burst.map(|burst| match burst {
            Burst::Unlimited => None,
            Burst::Packets(packets) => Some(count(packets)),
        });
        set(&mut assoc.max_burst, max_burst);
        set(&mut assoc.reproduction.max_burst_rule, settings.max_burst_rule);
    }

    fn set_timers(&mut self, settings: &StackSettings) {
        let assoc = &mut self.assoc;
        set(&mut assoc.rto.initial, settings.rto_initial.map(|d| d.duration()));
        set(&mut assoc.rto.min, settings.rto_min.map(|d| d.duration()));
        set(&mut assoc.rto.max, settings.rto_max.map(|d| d.duration()));
        set(&mut assoc.sack.delay, settings.sack_delay.map(|d| d.duration()));
        set(&mut assoc.sack.every, settings.sack_every.map(count));
        set(&mut assoc.sack.window_updates, settings.window_updates);
        set(&mut assoc.sack.sack_when_gap_fills, settings.sack_when_gap_fills);
        set(&mut assoc.sack.dac_count_in_timer_sack, settings.dac_count_in_timer_sack);
        set(&mut assoc.sack.path, settings.sack_path);
        set(&mut assoc.sack.thinning, settings.sack_thinning);
        set(&mut assoc.rate_probes, settings.rate_probes);
        // Windows that count SACKs, and whether each finds them full, would hardly grow by few.
        assoc.congestion.abc_per_acked |= assoc.sack.thinning;
        assoc.congestion.full_for_round_trip |= assoc.sack.thinning;
        set(&mut assoc.sack.max_gap_blocks, settings.max_gap_blocks.map(Some));
        set(&mut assoc.heartbeat_interval, settings.heartbeat.map(interval));
    }

    fn set_cmt(&mut self, settings: &StackSettings) {
        let cmt = &mut self.assoc.cmt;
        set(&mut cmt.sfr, settings.sfr);
        set(&mut cmt.dac, settings.dac);
        set(&mut cmt.rtt_same_path, settings.rtt_same_path);
        set(&mut cmt.cuc, settings.cuc);
        set(&mut cmt.nr_sack, settings.nr_sack);
        set(&mut cmt.t3_marks, settings.t3_marks);
        let listed = settings.extensions.as_deref().map(ExtensionConfig::of);
        set(&mut self.assoc.extensions, listed);
        set(&mut self.assoc.protection, settings.protection.map(key_management));
        let recovery = &mut self.assoc.recovery;
        set(&mut recovery.rack, settings.rack);
        set(&mut recovery.tail_probe, settings.tail_probe);
        set(&mut recovery.f_rto, settings.f_rto);
        let reduction = |on| if on { RateReduction::SlowStart } else { RateReduction::Off };
        set(&mut recovery.rate_reduction, settings.rate_reduction.map(reduction));
        set(&mut recovery.rescheduling, settings.rescheduling);
        set(&mut self.assoc.pacing, settings.pacing);
        let pf = &mut self.assoc.potentially_failed;
        match settings.pf {
            Some(true) => *pf = Some(pf.unwrap_or_default()),
            Some(false) => *pf = None,
            None => {}
        }
        if let Some(pf) = pf {
            set(&mut pf.max_retrans, settings.pf_max_retrans);
            set(&mut pf.return_mtus, settings.pf_return_cwnd.map(mtus));
            set(&mut pf.probe, settings.pf_probe.map(interval));
        }
    }

    fn set_congestion(&mut self, settings: &StackSettings) {
        let congestion = &mut self.assoc.congestion;
        set(&mut congestion.loss_floor_mtus, settings.loss_floor.map(mtus));
        set(&mut congestion.abc_limit, settings.abc_limit.map(mtus));
        set(&mut congestion.unit, settings.cwnd_unit);
        let window = settings.initial_cwnd.map(|window| match window {
            InitialWindow::Rfc9260 => InitialCwnd::Rfc9260,
            InitialWindow::Bytes(Size(bytes)) => InitialCwnd::Bytes(bytes),
            InitialWindow::Mtus(number) => InitialCwnd::Mtus(mtus(number)),
        });
        set(&mut congestion.initial_cwnd, window);
        let threshold = settings.initial_ssthresh.map(|threshold| match threshold {
            Threshold::PeerWindow => InitialSsthresh::PeerWindow,
            Threshold::Bytes(Size(bytes)) => InitialSsthresh::Bytes(bytes),
        });
        set(&mut congestion.initial_ssthresh, threshold);
    }
}

/// The tables that make up the stack of one flow, those that win last.
#[derive(Debug)]
pub struct Layers<'a> {
    tables: [(String, Option<&'a StackSpec>); 2],
    policies: &'a Policies,
}

impl<'a> Layers<'a> {
    /// The tables of flow number `flow`.
    pub fn for_flow(scenario: &'a Scenario, flow: usize) -> Self {
        let own = scenario.flow.get(flow).and_then(|flow| flow.stack.as_ref());
        let shared = ("stack".to_owned(), Some(&scenario.stack));
        let tables = [shared, (format!("flow[{flow}].stack"), own)];
        Self { tables, policies: &scenario.policies }
    }

    /// The stack of the end that sends the flow's data.
    pub fn sender(&self) -> Stack {
        self.stack_of_end(|spec| spec.sender.as_ref())
    }

    /// The stack of the end that receives it.
    pub fn receiver(&self) -> Stack {
        self.stack_of_end(|spec| spec.receiver.as_ref())
    }

    /// The profiles that both ends start from: sender, receiver.
    pub fn profiles(&self) -> [Profile; 2] {
        [
            self.profile_of_end(|spec| spec.sender.as_ref()),
            self.profile_of_end(|spec| spec.receiver.as_ref()),
        ]
    }

    fn stack_of_end(&self, side: fn(&StackSpec) -> Option<&StackSettings>) -> Stack {
        let stack = Stack::of_profile(self.profile_of_end(side));
        Stack { registry: self.policies.clone(), ..stack }
            .with_settings(&self.settings_of_end(side))
    }

    fn profile_of_end(&self, side: fn(&StackSpec) -> Option<&StackSettings>) -> Profile {
        self.settings_of_end(side).profile.unwrap_or(Profile::Paper)
    }

    fn settings_of_end(&self, side: fn(&StackSpec) -> Option<&StackSettings>) -> StackSettings {
        self.specs().fold(StackSettings::default(), |settings, (_, spec)| {
            settings.overlaid(Some(&spec.common())).overlaid(side(spec))
        })
    }

    /// The dotted name of the last table that sets `field`, with the field; `stack` where none
    /// does.
    pub(crate) fn place_of_field(&self, field: &str) -> String {
        let mut place = "stack".to_owned();
        for (name, spec) in self.specs() {
            let sides = [
                (name.to_owned(), Some(spec.common())),
                (format!("{name}.sender"), spec.sender.clone()),
                (format!("{name}.receiver"), spec.receiver.clone()),
            ];
            for (name, settings) in sides {
                let table = settings.and_then(|settings| toml::Table::try_from(settings).ok());
                if table.is_some_and(|table| table.contains_key(field)) {
                    place = name;
                }
            }
        }
        format!("{place}.{field}")
    }

    fn specs(&self) -> impl Iterator<Item = (&str, &'a StackSpec)> {
        self.tables.iter().filter_map(|(name, spec)| Some((name.as_str(), (*spec)?)))
    }
}

impl Scenario {
    /// What the names of path schedulers alone do not tell, a line each: the version of one that no
    /// list has, and what the file holds that one is made of. `None` if one has no version, so that
    /// its runs cannot be told from those of another.
    pub fn scheduler_versions(&self) -> Option<String> {
        let mut known = String::new();
        for flow in 0..self.flow.len() {
            let layers = Layers::for_flow(self, flow);
            for stack in [layers.sender(), layers.receiver()] {
                let name = &stack.policies.path_scheduler;
                // A name that cannot be resolved shows where it is used.
                if let Ok(Some(own)) = self.policies.own_scheduler(name) {
                    known += &format!("\n{name} {}", own.version()?);
                }
                if let Ok(Some(file)) = self.policies.file_of_scheduler(name) {
                    known += &format!("\n{name} {file}");
                }
            }
        }
        Some(known)
    }
}

fn set<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

fn key_management(protection: Protection) -> Option<Arc<dyn KeyManagement>> {
    match protection {
        Protection::None => None,
        Protection::StandIn => Some(Arc::new(StandIn::default())),
    }
}

// The core counts in 32 bits. Checks refuse larger sizes; larger counts mean "no bound" all the
// same.

fn bytes(size: Size) -> u32 {
    u32::try_from(size.0).unwrap_or(u32::MAX)
}

fn count(packets: Packets) -> u32 {
    u32::try_from(packets.0).unwrap_or(u32::MAX)
}

fn mtus(mtus: Mtus) -> u32 {
    u32::try_from(mtus.0).unwrap_or(u32::MAX)
}

fn interval(setting: Interval) -> Option<Duration> {
    match setting {
        Interval::Off => None,
        Interval::Every(delay) => Some(delay.duration()),
    }
}

#[cfg(test)]
mod tests {
    use polypath_proto::config::NrSack;

    use super::*;
    use crate::source::Source;

    #[test]
    fn later_layers_win_and_sides_win_over_both() {
        let text = "
            stack = { rto-min = '500ms', receive-buffer = '64KiB', receive-buffer-max = '1MiB', receiver.sack-delay = '10ms' }
            flow = [{ app = 'file', size = '1MB', stack = {
                rto-min = '300ms', sender.rto-min = '250ms', sender.path-scheduler = 'min-rtt' } }]
            path.A.rate = '1Mbit/s'";
        let scenario = Source::new("test", text).unwrap().parse_scenario().unwrap();
        let layers = Layers::for_flow(&scenario, 0);
        let (sender, receiver) = (layers.sender(), layers.receiver());
        assert_eq!(sender.assoc.rto.min, Duration::from_millis(250));
        assert_eq!(receiver.assoc.rto.min, Duration::from_millis(300));
        assert_eq!(sender.assoc.receive_buffer, 65_536);
        assert_eq!(receiver.assoc.sack.delay, Duration::from_millis(10));
        assert_eq!(sender.policies.path_scheduler, "min-rtt");
        assert_eq!(receiver.policies.path_scheduler, "rr");
        assert_eq!(layers.place_of_field("rto-min"), "flow[0].stack.sender.rto-min");
        assert_eq!(layers.place_of_field("rto-max"), "stack.rto-max");
        assert_eq!(sender.assoc.receive_buffer_max, Some(1 << 20));
    }

    #[test]
    fn settings_reach_the_core() {
        let settings: StackSettings = toml::from_str(
            "send-buffer = 'unlimited'\nmax-burst = 'unlimited'\nheartbeat = 'off'\npf = true\n\
             pf-max-retrans = 1\ninitial-cwnd = '4380B'\nloss-floor = '2mtu'\nnr-sack = 'delivered'\n\
             extensions = ['i-data', 're-config']\nmax-gap-blocks = 16",
        )
        .unwrap();
        let assoc = Stack::of_profile(Profile::Paper).with_settings(&settings).assoc;
        assert_eq!(assoc.send_buffer, u64::MAX);
        assert_eq!(assoc.max_burst, None);
        assert_eq!(assoc.heartbeat_interval, None);
        assert_eq!(
            assoc.potentially_failed.map(|pf| (pf.max_retrans, pf.return_mtus)),
            Some((1, 2))
        );
        assert_eq!(assoc.congestion.initial_cwnd, InitialCwnd::Bytes(4380));
        assert_eq!(assoc.congestion.loss_floor_mtus, 2);
        assert_eq!(assoc.cmt.nr_sack, NrSack::Delivered);
        assert_eq!(assoc.sack.max_gap_blocks, Some(16));
        let offered = ExtensionConfig {
            interleaving: true,
            stream_reconfiguration: true,
            ..ExtensionConfig::NONE
        };
        assert_eq!(assoc.extensions, offered);
    }

    #[test]
    fn packets_are_protected_where_a_file_says_so_and_in_no_profile() {
        for profile in Profile::ALL {
            let plain = Stack::of_profile(profile);
            assert!(plain.assoc.protection.is_none(), "{profile}");
            let with = |word: &str| {
                let text = format!("protection = '{word}'");
                plain.clone().with_settings(&toml::from_str(&text).unwrap()).assoc.protection
            };
            assert!(with("stand-in").is_some());
            assert!(with("none").is_none());
        }
    }

    #[test]
    fn every_profile_names_known_policies() {
        for profile in [Profile::Paper, Profile::Ns2, Profile::Fast] {
            assert!(Stack::of_profile(profile).policy_factory().is_ok());
        }
    }

    /// S1's files spell these out above the paper's profile, and must stay comparable with their
    /// `ns2` grids.
    #[test]
    fn the_ns2_profile_is_the_stack_of_s1_with_the_receiver_and_the_faults_of_ns2() {
        let settings: StackSettings = toml::from_str(
            "send-buffer = 'unlimited'\nchunk-charge = '16B'\nrto-initial = '3s'\ninitial-cwnd = '4380B'\n\
             initial-ssthresh = '65536B'\nloss-floor = '2mtu'\nabc-limit = '1mtu'\n\
             max-burst-rule = 'after-fast-retransmit'\nrtt-same-path = false",
        )
        .unwrap();
        let s1 = Stack::of_profile(Profile::Paper).with_settings(&settings);
        let receiver: StackSettings = toml::from_str(
            "window-updates = false\nsack-when-gap-fills = false\ndac-count-in-timer-sack = false",
        )
        .unwrap();
        let ns2 = Stack::of_profile(Profile::Ns2);
        let mut imitated = s1.with_settings(&receiver);
        assert_ne!(format!("{ns2:?}"), format!("{imitated:?}"));
        // They have no names in scenarios.
        imitated.assoc.reproduction.ns2 = ns2.assoc.reproduction.ns2;
        assert_eq!(format!("{ns2:?}"), format!("{imitated:?}"));
    }
}
