//! Settings of the stack, as they come out with the profile beneath them.

use polypath_policies::{PolicySpec, Registry};
use polypath_proto::config::{AssocConfig, Extension};

use crate::error::{Problem, ensure};
use crate::profile::Layers;
use crate::scenario::Scenario;
use crate::stack::{StackSettings, StackSpec};
use crate::topology::Family;
use crate::units::{Delay, Limit, Mtus, Packets, Size};

/// RFC 9260 section 6.2: SACK.Delay MUST NOT exceed 500 ms.
const MAX_SACK_DELAY: Delay = Delay(500_000_000);
/// RFC 9260 section 3.3.2: an a_rwnd below this aborts the set-up.
const MIN_WINDOW: Size = Size(1_500);

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    let policies = &scenario.policies;
    check_spec("stack", &scenario.stack, policies)?;
    for (n, flow) in scenario.flow.iter().enumerate() {
        if let Some(stack) = &flow.stack {
            check_spec(&format!("flow[{n}].stack"), stack, policies)?;
        }
    }
    for n in 0..scenario.flow.len() {
        check_combined(scenario, n)?;
    }
    Ok(())
}

/// Each table alone, so that a problem is reported where it stands.
fn check_spec(place: &str, spec: &StackSpec, policies: &Registry) -> Result<(), Problem> {
    check_table(place, &spec.common(), policies)?;
    for (name, table) in [("sender", &spec.sender), ("receiver", &spec.receiver)] {
        if let Some(table) = table {
            check_table(&format!("{place}.{name}"), table, policies)?;
        }
    }
    Ok(())
}

fn check_table(place: &str, stack: &StackSettings, policies: &Registry) -> Result<(), Problem> {
    check_sizes(place, stack)?;
    check_counts(place, stack)?;
    ensure(
        stack.sack_delay.is_none_or(|delay| delay <= MAX_SACK_DELAY),
        || format!("{place}.sack-delay"),
        || "too long (allowed: up to 500ms, RFC 9260)".into(),
    )?;
    let listed = |extension| stack.extensions.as_ref().is_some_and(|l| l.contains(&extension));
    ensure(
        !listed(Extension::Asconf) || listed(Extension::Auth),
        || format!("{place}.extensions"),
        || "asconf without auth (allowed: both, RFC 5061 section 4.2.7)".into(),
    )?;
    check_policies(place, stack, policies)
}

fn check_sizes(place: &str, stack: &StackSettings) -> Result<(), Problem> {
    let four_gib = Size(u32::MAX.into());
    let within = |field: &str, size: Option<Size>, least: Size, most: Size| {
        ensure(
            size.is_none_or(|size| (least..=most).contains(&size)),
            || format!("{place}.{field}"),
            || format!("out of range (allowed: {least} to {most})"),
        )
    };
    within("receive-buffer", stack.receive_buffer, MIN_WINDOW, four_gib)?;
    within("receive-buffer-max", stack.receive_buffer_max, MIN_WINDOW, four_gib)?;
    within("send-buffer-max", stack.send_buffer_max, MIN_WINDOW, Size(u64::MAX))?;
    within("chunk-charge", stack.chunk_charge, Size(0), Size(65_535))?;
    within("max-message", stack.max_message, Size(1), four_gib)?;
    within("mtu", stack.mtu, Size(576), Size(65_535))?;
    within("path-mtu-base", stack.path_mtu_base, Size(576), Size(65_535))?;
    within("path-mtu-max", stack.path_mtu_max, Size(576), Size(65_535))?;
    let send_buffer = match stack.send_buffer {
        Some(Limit::Bytes(size)) => Some(size),
        _ => None,
    };
    within("send-buffer", send_buffer, MIN_WINDOW, Size(u64::MAX))
}

fn check_counts(place: &str, stack: &StackSettings) -> Result<(), Problem> {
    let positive = |field: &str, bad: bool, least: &str| {
        ensure(
            !bad,
            || format!("{place}.{field}"),
            || format!("too small (allowed: at least {least})"),
        )
    };
    positive("sack-every", stack.sack_every == Some(Packets(0)), "1packets")?;
    positive("fast-retransmit-after", stack.fast_retransmit_after == Some(0), "1")?;
    positive("outbound-streams", stack.outbound_streams == Some(0), "1")?;
    positive("inbound-streams", stack.inbound_streams == Some(0), "1")?;
    positive("loss-floor", stack.loss_floor == Some(Mtus(0)), "1mtu")?;
    positive("abc-limit", stack.abc_limit == Some(Mtus(0)), "1mtu")?;
    positive("pf-return-cwnd", stack.pf_return_cwnd == Some(Mtus(0)), "1mtu")?;
    positive("rto-min", stack.rto_min == Some(Delay(0)), "1ns")
}

/// Each name alone over defaults, so that an error belongs to its field.
fn check_policies(place: &str, stack: &StackSettings, policies: &Registry) -> Result<(), Problem> {
    type Slot = fn(&mut PolicySpec) -> &mut String;
    let fields: [(&str, &Option<String>, Slot); 5] = [
        ("path-scheduler", &stack.path_scheduler, |spec| &mut spec.path_scheduler),
        ("stream-scheduler", &stack.stream_scheduler, |spec| &mut spec.stream_scheduler),
        ("retransmission", &stack.retransmission, |spec| &mut spec.retransmission),
        ("buffer", &stack.buffer, |spec| &mut spec.buffer),
        ("congestion", &stack.congestion, |spec| &mut spec.congestion),
    ];
    for (field, given, slot) in fields {
        let Some(text) = given else { continue };
        let mut spec = PolicySpec::default();
        slot(&mut spec).clone_from(text);
        policies
            .factory(&spec)
            .map_err(|error| Problem::new(format!("{place}.{field}"), error.to_string()))?;
    }
    Ok(())
}

/// Buffers grow from what they are.
fn check_growth(layers: &Layers<'_>, assoc: &AssocConfig) -> Result<(), Problem> {
    let receive = (u64::from(assoc.receive_buffer), assoc.receive_buffer_max.map(u64::from));
    let send = (assoc.send_buffer, assoc.send_buffer_max);
    for (buffer, (least, most)) in [("receive-buffer", receive), ("send-buffer", send)] {
        ensure(
            most.is_none_or(|most| most >= least),
            || layers.place_of_field(&format!("{buffer}-max")),
            || format!("below {buffer} (allowed: from {})", Size(least)),
        )?;
    }
    Ok(())
}

/// Discovery begins with a size that the paths must carry, and looks for larger ones.
fn check_discovery(
    scenario: &Scenario,
    layers: &Layers<'_>,
    assoc: &AssocConfig,
) -> Result<(), Problem> {
    let Some(found) = assoc.path_mtu_discovery else { return Ok(()) };
    let least = if scenario.endpoints.family == Family::Ipv6 { 1280 } else { 576 };
    ensure(
        found.base >= least,
        || layers.place_of_field("path-mtu-base"),
        || format!("too small for IPv6 (allowed: from {})", Size(least.into())),
    )?;
    ensure(
        found.max >= found.base,
        || layers.place_of_field("path-mtu-max"),
        || format!("below path-mtu-base (allowed: from {})", Size(found.base.into())),
    )
}

/// What only shows once all tables lie on top of each other.
fn check_combined(scenario: &Scenario, n: usize) -> Result<(), Problem> {
    let layers = Layers::for_flow(scenario, n);
    for stack in [layers.sender(), layers.receiver()] {
        check_growth(&layers, &stack.assoc)?;
        check_discovery(scenario, &layers, &stack.assoc)?;
        let rto = stack.assoc.rto;
        ensure(
            rto.min <= rto.max,
            || layers.place_of_field("rto-min"),
            || format!("above rto-max (allowed: up to {:?})", rto.max),
        )?;
        ensure(
            (rto.min..=rto.max).contains(&rto.initial),
            || layers.place_of_field("rto-initial"),
            || format!("out of range (allowed: rto-min {:?} to rto-max {:?})", rto.min, rto.max),
        )?;
    }
    let ends = [layers.sender(), layers.receiver()];
    let [sends, receives] = ends.map(|end| end.assoc.protection.is_some());
    ensure(
        sends == receives,
        || layers.place_of_field("protection"),
        || "at one end only (allowed: the same at both)".into(),
    )?;
    let Some(flow) = scenario.flow.get(n) else { return Ok(()) };
    let most = layers.sender().assoc.max_message.min(layers.receiver().assoc.max_message);
    let message = flow.message_or_default();
    ensure(
        message.0 <= most.into(),
        || format!("flow[{n}].message"),
        || format!("larger than stack.max-message (allowed: up to {})", Size(most.into())),
    )
}
