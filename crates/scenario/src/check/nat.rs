//! Boxes that translate addresses, and who is behind them.

use polypath_proto::config::Encapsulation;

use crate::changes::{Action, Change};
use crate::error::{Problem, ensure, unknown_name};
use crate::flow::Direction;
use crate::nat::NatSpec;
use crate::scenario::Scenario;
use crate::topology::Family;
use crate::units::Delay;

/// Addresses that boxes can have without being given one, in one scenario.
const MAX_ADDRESSES: usize = 200;

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    for (name, path) in &scenario.path {
        check_known(scenario, "path", name, path.nat.as_ref())?;
    }
    for (name, route) in &scenario.route {
        check_known(scenario, "route", name, route.nat.as_ref())?;
    }
    for (name, link) in &scenario.link {
        ensure(
            link.nat.is_none(),
            || format!("link.{name}.nat"),
            || "a link is behind nothing (allowed: in [path.*] and [route.*])".into(),
        )?;
    }
    scenario.nat.iter().try_for_each(|(name, nat)| check_box(scenario, name, nat))?;
    let fresh = scenario.at.iter().filter(|at| at.action == Some(Action::Readdress)).count();
    ensure(
        fresh + scenario.nat.len() <= MAX_ADDRESSES,
        || "nat".into(),
        || format!("too many addresses (allowed: up to {MAX_ADDRESSES} boxes and readdress)"),
    )?;
    reverse_flows(scenario)
}

fn check_known(
    scenario: &Scenario,
    table: &str,
    name: &str,
    nat: Option<&String>,
) -> Result<(), Problem> {
    let Some(nat) = nat else { return Ok(()) };
    ensure(
        scenario.nat.contains_key(nat),
        || format!("{table}.{name}.nat"),
        || unknown_name("nat", nat, scenario.nat.keys().map(String::as_str)),
    )
}

fn check_box(scenario: &Scenario, name: &str, nat: &NatSpec) -> Result<(), Problem> {
    let place = |field: &str| format!("nat.{name}{field}");
    ensure(
        scenario.path_names().any(|path| scenario.nat_of(path) == Some(name)),
        || place(""),
        || format!("no path is behind it (allowed: with nat = \"{name}\" in a path or route)"),
    )?;
    ensure(
        scenario.endpoints.encapsulation == Encapsulation::Udp,
        || "endpoints.encapsulation".into(),
        || format!("SCTP directly over IP does not pass nat.{name} (allowed: udp)"),
    )?;
    let family = scenario.endpoints.family;
    ensure(
        nat.external.is_none_or(|address| address.is_ipv4() == (family == Family::Ipv4)),
        || place(".external"),
        || "not of the family of the endpoints (allowed: one of endpoints.family)".into(),
    )?;
    ensure(
        nat.timeout != Some(Delay(0)),
        || place(".timeout"),
        || "no time at all (allowed: at least 1ns)".into(),
    )
}

/// Who sends opens the association, and cannot if the other end is behind a box.
fn reverse_flows(scenario: &Scenario) -> Result<(), Problem> {
    for (n, flow) in scenario.flow.iter().enumerate() {
        let chosen = |path: &&str| {
            flow.paths.as_ref().is_none_or(|paths| paths.iter().any(|name| name == path))
        };
        let mut paths = scenario.path_names().filter(chosen);
        let behind = paths.find_map(|path| Some((path, scenario.nat_of(path)?)));
        ensure(
            behind.is_none() || flow.direction != Some(Direction::Reverse),
            || format!("flow[{n}].direction"),
            || {
                let (path, nat) = behind.unwrap_or_default();
                format!("the server does not reach {path} through nat.{nat} (allowed: forward)")
            },
        )?;
    }
    Ok(())
}

/// A change whose target is a box.
pub(super) fn check_change(n: usize, change: &Change) -> Result<(), Problem> {
    let only_action = change.rate.is_none()
        && change.delay.is_none()
        && change.loss.is_none()
        && change.admin.is_none()
        && change.direction.is_none();
    ensure(
        only_action && change.action.is_some_and(Action::is_of_nat),
        || format!("at[{n}]"),
        || {
            let nat = &change.target;
            format!("{nat} is a nat (allowed: action = \"rebind\", \"readdress\" or \"forget\")")
        },
    )
}

/// Actions of a change or a schedule whose target is a path or a link.
pub(super) fn links_only(
    place: impl FnOnce() -> String,
    actions: &[Action],
) -> Result<(), Problem> {
    ensure(!actions.iter().any(|action| action.is_of_nat()), place, || {
        "that is for a nat of [[at]] (allowed here: cut, restore)".into()
    })
}
