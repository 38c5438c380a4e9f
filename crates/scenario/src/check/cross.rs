//! Traffic of others.

use super::topology;
use crate::cross::CrossTraffic;
use crate::error::{Problem, ensure, unknown_name};
use crate::scenario::Scenario;
use crate::units::{Delay, Size};

pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    scenario.cross.iter().enumerate().try_for_each(|(n, cross)| check_source(scenario, n, cross))
}

fn check_source(scenario: &Scenario, n: usize, cross: &CrossTraffic) -> Result<(), Problem> {
    let place = |field: &str| format!("cross[{n}].{field}");
    let names = || scenario.path.keys().chain(scenario.link.keys()).map(String::as_str);
    ensure(
        names().any(|name| name == cross.link),
        || place("link"),
        || unknown_name("path or link", &cross.link, names()),
    )?;
    topology::check_rate(&place("rate"), Some(cross.rate))?;
    let packet = cross.packet.unwrap_or(Size(1_500));
    ensure(
        (Size(1)..=Size(65_535)).contains(&packet),
        || place("packet"),
        || "out of range (allowed: 1B to 65535B)".into(),
    )?;
    for (field, other, given, needed) in
        [("on", "off", cross.on, cross.off), ("off", "on", cross.off, cross.on)]
    {
        ensure(
            given != Some(Delay(0)),
            || place(field),
            || "no time at all (allowed: at least 1ns)".into(),
        )?;
        ensure(
            given.is_some() || needed.is_none(),
            || place(field),
            || format!("missing ({other} needs it)"),
        )?;
    }
    ensure(
        cross.fixed.is_none() || cross.on.is_some(),
        || place("fixed"),
        || "nothing is drawn (allowed: beside on and off)".into(),
    )?;
    ensure(
        cross.until.is_none_or(|until| until > cross.start.unwrap_or_default()),
        || place("until"),
        || "nothing is ever sent (allowed: later than start)".into(),
    )
}
