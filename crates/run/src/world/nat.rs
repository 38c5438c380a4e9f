//! Boxes that translate addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use polypath_link as link;
use polypath_scenario::{Action, Family, Filtering, Mapping, NatSpec, Ports, Scenario, Unmapped};
use polypath_sim::spec;

use super::places::path_addresses;

/// The boxes with their addresses. Those that are given none, and those that come later, have the
/// next of a net for documentation.
pub(super) fn build_nat_specs(scenario: &Scenario) -> Vec<spec::NatSpec> {
    let mut free = (1..=u8::MAX)
        .map(|host| choose_address(scenario.endpoints.family, host))
        .filter(|address| scenario.nat.values().all(|nat| nat.external != Some(*address)));
    // Checked scenarios have fewer boxes and changes than the net has addresses.
    let mut next = || free.next().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let mut boxes: Vec<_> = scenario
        .nat
        .iter()
        .map(|(name, nat)| spec::NatSpec {
            name: name.clone(),
            inside: inside_addresses(scenario, name),
            config: build_nat_config(nat, nat.external.unwrap_or_else(&mut next)),
        })
        .collect();
    for change in &scenario.at {
        let Some(own) = boxes.iter_mut().find(|own| own.name == change.target) else { continue };
        let action = match change.action {
            Some(Action::Rebind) => link::NatChange::Rebind,
            Some(Action::Readdress) => link::NatChange::Readdress(next()),
            Some(Action::Forget) => link::NatChange::Forget,
            Some(Action::Cut | Action::Restore) | None => continue,
        };
        own.config.schedule.push((change.time.0, action));
    }
    boxes.iter_mut().for_each(|own| own.config.schedule.sort_by_key(|(time, _)| *time));
    boxes
}

fn choose_address(family: Family, host: u8) -> IpAddr {
    match family {
        Family::Ipv4 => Ipv4Addr::new(198, 51, 100, host).into(),
        Family::Ipv6 => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into()).into(),
    }
}

fn inside_addresses(scenario: &Scenario, nat: &str) -> Vec<IpAddr> {
    let behind = scenario.path_names().enumerate();
    let behind = behind.filter(|(_, path)| scenario.nat_of(path) == Some(nat));
    behind.map(|(path, _)| path_addresses(scenario, path).0).collect()
}

fn build_nat_config(nat: &NatSpec, external: IpAddr) -> link::NatConfig {
    use link::NatDependence::{AddressAndPortDependent, AddressDependent, EndpointIndependent};
    let default = link::NatConfig::new(external);
    link::NatConfig {
        mapping: match nat.mapping {
            Mapping::EndpointIndependent => EndpointIndependent,
            Mapping::AddressDependent => AddressDependent,
            Mapping::AddressAndPortDependent => AddressAndPortDependent,
        },
        filtering: match nat.filtering {
            Filtering::EndpointIndependent => EndpointIndependent,
            Filtering::AddressDependent => AddressDependent,
            Filtering::AddressAndPortDependent => AddressAndPortDependent,
        },
        preserve_ports: nat.ports == Ports::Preserved,
        hairpin: nat.hairpin.unwrap_or(default.hairpin),
        timeout: nat.timeout.map_or(default.timeout, |timeout| timeout.0),
        answers: nat.unmapped == Unmapped::Icmp,
        ..default
    }
}
