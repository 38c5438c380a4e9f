//! Flows: names, paths, and that each application has what it needs and nothing that it ignores.

use super::topology;
use crate::error::{Problem, ensure, unknown_name};
use crate::flow::{App, FlowSpec};
use crate::profile::Layers;
use crate::scenario::Scenario;
use crate::units::{Delay, Size};

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    ensure(
        !scenario.flow.is_empty(),
        || "flow".into(),
        || "no flows (at least one [[flow]] is needed)".into(),
    )?;
    for (n, flow) in scenario.flow.iter().enumerate() {
        unique_name(scenario, n, flow)?;
        check_paths(scenario, n, flow)?;
        check_application(n, flow)?;
        check_amounts(n, flow)?;
        check_beside(n, flow)?;
        check_reliability(scenario, n, flow)?;
    }
    Ok(())
}

fn unique_name(scenario: &Scenario, n: usize, flow: &FlowSpec) -> Result<(), Problem> {
    let Some(name) = &flow.name else { return Ok(()) };
    let place = || format!("flow[{n}].name");
    ensure(!name.trim().is_empty(), place, || "empty (allowed: any text)".into())?;
    let first = scenario.flow.iter().position(|other| other.name.as_ref() == Some(name));
    ensure(first == Some(n), place, || "another flow has this name".into())
}

fn check_paths(scenario: &Scenario, n: usize, flow: &FlowSpec) -> Result<(), Problem> {
    let Some(paths) = &flow.paths else { return Ok(()) };
    ensure(
        !paths.is_empty(),
        || format!("flow[{n}].paths"),
        || "no paths (leave the field out to use all)".into(),
    )?;
    for (k, path) in paths.iter().enumerate() {
        let place = || format!("flow[{n}].paths[{k}]");
        let known = || scenario.path_names();
        ensure(known().any(|name| name == path), place, || unknown_name("path", path, known()))?;
        let first = paths.iter().position(|other| other == path) == Some(k);
        ensure(first, place, || "the flow has this path already".into())?;
    }
    Ok(())
}

/// Fields that belong to some applications only: name, whether given, whether needed by which.
fn check_application(n: usize, flow: &FlowSpec) -> Result<(), Problem> {
    use App::{Cbr, File, Onoff, Request, Saturated};
    type Row = (&'static str, bool, &'static [App], &'static [App]);
    let rows: [Row; 15] = [
        ("size", flow.size.is_some(), &[File], &[File]),
        ("rate", flow.rate.is_some(), &[Cbr], &[Cbr, Onoff]),
        ("on", flow.on.is_some(), &[Onoff], &[Onoff]),
        ("off", flow.off.is_some(), &[Onoff], &[Onoff]),
        ("fixed", flow.fixed.is_some(), &[], &[Onoff]),
        ("response", flow.response.is_some(), &[Request], &[Request]),
        ("think", flow.think.is_some(), &[], &[Request]),
        ("count", flow.count.is_some(), &[], &[Request]),
        ("per-stream-backlog", flow.per_stream_backlog.is_some(), &[], &[Saturated]),
        ("per-stream-share", flow.per_stream_share.is_some(), &[], &[Saturated]),
        ("message-most", flow.message_most.is_some(), &[], &[Saturated, Cbr, Onoff]),
        ("needs", flow.needs.is_some(), &[], &[Saturated, Cbr, Onoff]),
        ("beside", !flow.beside.is_empty(), &[], &[Saturated, Cbr, Onoff]),
        ("reliability", flow.reliability.is_some(), &[], &[Saturated, File, Cbr, Onoff]),
        ("streams", flow.streams.is_some(), &[], &[Saturated, File, Cbr, Onoff]),
    ];
    for (field, given, needed, allowed) in rows {
        let place = || format!("flow[{n}].{field}");
        ensure(given || !needed.contains(&flow.app), place, || {
            format!("missing (app = {:?} needs it)", flow.app.name())
        })?;
        ensure(!given || allowed.contains(&flow.app), place, || {
            let names: Vec<_> = allowed.iter().map(|app| app.name()).collect();
            format!("app = {:?} has no such field (allowed: {})", flow.app.name(), names.join(", "))
        })?;
    }
    Ok(())
}

fn check_beside(n: usize, flow: &FlowSpec) -> Result<(), Problem> {
    for (k, beside) in flow.beside.iter().enumerate() {
        let place = |field: &str| format!("flow[{n}].beside[{k}].{field}");
        let size = (1..=1 << 16).contains(&beside.message.0);
        ensure(size, || place("message"), || "not a size for it (allowed: 1B to 64KiB)".into())?;
        let none = || "no time at all (allowed: at least 1ns)".into();
        ensure(beside.every != Delay(0), || place("every"), none)?;
    }
    let streams = usize::from(flow.streams.unwrap_or(1)) + flow.beside.len();
    let place = || format!("flow[{n}].beside");
    let many = || format!("{streams} streams with the application's (allowed: up to 65535)");
    ensure(streams <= usize::from(u16::MAX), place, many)
}

/// Exactly one rule, and an end that may give messages up.
fn check_reliability(scenario: &Scenario, n: usize, flow: &FlowSpec) -> Result<(), Problem> {
    let own = flow.reliability.map(|given| (format!("flow[{n}].reliability"), given));
    let beside = flow.beside.iter().enumerate().filter_map(|(k, beside)| {
        Some((format!("flow[{n}].beside[{k}].reliability"), beside.reliability?))
    });
    let extensions = Layers::for_flow(scenario, n).sender().assoc.extensions;
    for (place, given) in own.into_iter().chain(beside) {
        let count = given.count_given();
        ensure(
            count == 1,
            || place.clone(),
            || format!("{count} rules (allowed: one of lifetime, retransmissions, priority)"),
        )?;
        ensure(
            extensions.partial_reliability,
            || place.clone(),
            || {
                "the sender may not give messages up (allowed: with stack.extensions = [\"pr-sctp\"])".into()
            },
        )?;
        let none = given.lifetime == Some(Delay(0));
        let late = || "no time at all (allowed: at least 1ns)".into();
        ensure(!none, || format!("{place}.lifetime"), late)?;
    }
    Ok(())
}

fn check_amounts(n: usize, flow: &FlowSpec) -> Result<(), Problem> {
    let place = |field: &str| format!("flow[{n}].{field}");
    let size = |field: &str, size: Option<Size>| {
        ensure(size != Some(Size(0)), || place(field), || "empty (allowed: at least 1B)".into())?;
        let fits = size.is_none_or(|Size(bytes)| bytes <= u32::MAX.into());
        ensure(fits, || place(field), || "too large (allowed: less than 4GiB)".into())
    };
    size("message", flow.message)?;
    size("response", flow.response)?;
    if let Some(most) = flow.message_most {
        let least = flow.message_or_default();
        let allowed =
            || format!("not above message or too large (allowed: above {least}, to 64KiB)");
        ensure(most > least && most.0 <= 1 << 16, || place("message-most"), allowed)?;
    }
    ensure(flow.size != Some(Size(0)), || place("size"), || "empty (allowed: at least 1B)".into())?;
    let positive = |field: &str, time: Option<Delay>| {
        ensure(
            time != Some(Delay(0)),
            || place(field),
            || "no time at all (allowed: at least 1ns)".into(),
        )
    };
    positive("on", flow.on)?;
    positive("off", flow.off)?;
    topology::check_rate(&place("rate"), flow.rate)?;
    topology::check_rate(&place("read-rate"), flow.read_rate)?;
    ensure(
        flow.streams != Some(0),
        || place("streams"),
        || "no streams (allowed: 1 to 65535)".into(),
    )?;
    ensure(flow.count != Some(0), || place("count"), || "no requests (allowed: at least 1)".into())
}
