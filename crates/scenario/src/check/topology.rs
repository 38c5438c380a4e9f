//! Paths, links, routes and what happens to them.

use crate::error::{Problem, ensure, unknown_name};
use crate::flow::Direction;
use crate::scenario::Scenario;
use crate::topology::{LinkSettings, PathSpec};
use crate::units::{Packets, Probability, QueueSize, Rate, Size};

/// Paths per association, at most (the core's bound).
const MAX_PATHS: usize = 16;

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    let paths = scenario.path_names().count();
    ensure(paths > 0, || "path".into(), || "no paths (at least one [path.NAME] is needed)".into())?;
    ensure(paths <= MAX_PATHS, || "path".into(), || format!("{paths} paths (allowed: up to 16)"))?;
    check_names(scenario)?;
    for (name, spec) in &scenario.path {
        check_duplex(&format!("path.{name}"), spec)?;
    }
    for (name, spec) in &scenario.link {
        let place = format!("link.{name}");
        ensure(
            spec.edge.is_none(),
            || format!("{place}.edge"),
            || "only paths have edges (write the edge as a link of its own)".into(),
        )?;
        check_duplex(&place, spec)?;
    }
    check_routes(scenario)
}

/// Names are single words, and paths, routes, links and boxes do not share any: changes refer to
/// all four.
fn check_names(scenario: &Scenario) -> Result<(), Problem> {
    let tables = [
        ("path", scenario.path.keys().collect::<Vec<_>>()),
        ("route", scenario.route.keys().collect()),
        ("link", scenario.link.keys().collect()),
        ("nat", scenario.nat.keys().collect()),
    ];
    let mut seen: Vec<&str> = Vec::new();
    for (table, keys) in tables {
        for key in keys {
            let place = || format!("{table}.{key}");
            let word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            ensure(!key.is_empty() && key.chars().all(word), place, || {
                "not a name (allowed: letters, digits, - and _)".into()
            })?;
            ensure(!seen.contains(&key.as_str()), place, || {
                "the name is taken (paths, routes, links and nats need different names)".into()
            })?;
            seen.push(key);
        }
    }
    Ok(())
}

fn check_routes(scenario: &Scenario) -> Result<(), Problem> {
    for (name, route) in &scenario.route {
        let place = || format!("route.{name}.links");
        ensure(!route.links.is_empty(), place, || "no links (at least one is needed)".into())?;
        for (n, link) in route.links.iter().enumerate() {
            let place = || format!("route.{name}.links[{n}]");
            let known = scenario.link.keys().map(String::as_str);
            ensure(scenario.link.contains_key(link), place, || unknown_name("link", link, known))?;
            let first = route.links.iter().position(|other| other == link) == Some(n);
            ensure(first, place, || "the route passes this link already".into())?;
        }
    }
    Ok(())
}

fn check_duplex(place: &str, spec: &PathSpec) -> Result<(), Problem> {
    check_companions(place, spec)?;
    check_link(place, &spec.common())?;
    let tables = [("forward", &spec.forward), ("reverse", &spec.reverse), ("edge", &spec.edge)];
    tables.into_iter().try_for_each(|(name, table)| {
        table.as_ref().map_or(Ok(()), |table| check_link(&format!("{place}.{name}"), table))
    })
}

/// What needs a rate, a trace or jitter has it, in both directions.
fn check_companions(place: &str, spec: &PathSpec) -> Result<(), Problem> {
    let whole = [Direction::Forward, Direction::Reverse].map(|way| spec.one_way(way));
    for link in whole.iter().chain(&spec.edge) {
        ensure(
            link.jitter_shape.is_none() || link.jitter.is_some(),
            || format!("{place}.jitter-shape"),
            || "there is no jitter (allowed: beside jitter)".into(),
        )?;
        ensure(
            link.trace_start.is_none() || link.trace.is_some(),
            || format!("{place}.trace-start"),
            || "there is no trace (allowed: beside trace)".into(),
        )?;
        ensure(
            !matches!(link.queue, Some(QueueSize::Time(_)))
                || link.rate.is_some()
                || link.trace.is_some(),
            || format!("{place}.queue"),
            || {
                "room for a time needs a rate or a trace (allowed: such as 50packets or 64KiB)"
                    .into()
            },
        )?;
    }
    Ok(())
}

fn check_link(place: &str, link: &LinkSettings) -> Result<(), Problem> {
    check_rate(&format!("{place}.rate"), link.rate)?;
    ensure(
        link.rate.is_none() || link.trace.is_none(),
        || format!("{place}.trace"),
        || "rate is set, too (allowed: one of them)".into(),
    )?;
    let mtu = link.mtu.is_none_or(|Size(bytes)| (576..=65_535).contains(&bytes));
    let range = || "out of range (allowed: 576B to 65535B)".into();
    ensure(mtu, || format!("{place}.mtu"), range)?;
    check_probability(&format!("{place}.loss"), link.loss)?;
    check_probability(&format!("{place}.bit-errors"), link.bit_errors)?;
    if let Some(Packets(packets)) = link.queue.and_then(QueueSize::packets) {
        ensure(packets <= u32::MAX.into(), || format!("{place}.queue"), too_many_packets)?;
    }
    if let Some(bursts) = link.bursts {
        let place = format!("{place}.bursts");
        check_probability(&format!("{place}.to-bad"), Some(bursts.to_bad))?;
        check_probability(&format!("{place}.to-good"), Some(bursts.to_good))?;
        check_probability(&format!("{place}.loss-good"), Some(bursts.loss_good))?;
        check_probability(&format!("{place}.loss-bad"), Some(bursts.loss_bad))?;
    }
    check_red(place, link)
}

fn check_red(place: &str, link: &LinkSettings) -> Result<(), Problem> {
    let Some(red) = link.red else { return Ok(()) };
    let in_packets = !matches!(link.queue, Some(QueueSize::Bytes(_) | QueueSize::Time(_)));
    ensure(
        in_packets,
        || format!("{place}.queue"),
        || "RED counts packets (allowed: such as 50packets, or unlimited)".into(),
    )?;
    let place = format!("{place}.red");
    ensure(
        red.min < red.max,
        || format!("{place}.min"),
        || format!("not below max (allowed: less than {})", red.max),
    )?;
    ensure(red.max.0 <= u32::MAX.into(), || format!("{place}.max"), too_many_packets)?;
    check_probability(&format!("{place}.probability"), Some(red.probability))?;
    check_probability(&format!("{place}.weight"), red.weight)
}

fn too_many_packets() -> String {
    format!("too many (allowed: up to {})", Packets(u32::MAX.into()))
}

pub(super) fn check_rate(place: &str, rate: Option<Rate>) -> Result<(), Problem> {
    ensure(
        rate != Some(Rate(0)),
        || place.into(),
        || "never sends anything (allowed: at least 1bit/s)".into(),
    )
}

pub(super) fn check_probability(
    place: &str,
    probability: Option<Probability>,
) -> Result<(), Problem> {
    ensure(
        probability.is_none_or(|p| p <= Probability::ONE),
        || place.into(),
        || "more than certain (allowed: 0% to 100%)".into(),
    )
}
