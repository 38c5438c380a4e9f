//! Traffic of others.

use polypath_scenario::units::{Delay, Rate, Size};
use polypath_scenario::{CrossTraffic, Direction, Scenario, Spacing};
use polypath_sim::spec;

use super::places::directed_name;

pub(super) fn build_cross_specs(scenario: &Scenario) -> Vec<spec::CrossSpec> {
    let mut sources: Vec<spec::CrossSpec> = Vec::new();
    for cross in &scenario.cross {
        let link = directed_name(&cross.link, cross.direction.unwrap_or(Direction::Forward));
        let earlier = sources.iter().filter(|other| other.link == link).count();
        let name = if earlier == 0 { link.clone() } else { format!("{link}-{}", earlier + 1) };
        sources.push(build_cross_spec(cross, name, link));
    }
    sources
}

fn build_cross_spec(cross: &CrossTraffic, name: String, link: String) -> spec::CrossSpec {
    let Rate(rate) = cross.rate;
    let Size(bytes) = cross.packet.unwrap_or(Size(1_500));
    let period = |Delay(ns)| match cross.fixed {
        Some(true) => spec::Period::Fixed(ns),
        _ => spec::Period::Exponential(ns),
    };
    spec::CrossSpec {
        name,
        link,
        rate,
        // Checked scenarios have packets of at most 64 KiB.
        packet_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        spacing: match cross.spacing.unwrap_or_default() {
            Spacing::Poisson => spec::Spacing::Poisson,
            Spacing::Even => spec::Spacing::Even,
        },
        on_off: cross.on.zip(cross.off).map(|(on, off)| (period(on), period(off))),
        start: cross.start.unwrap_or_default().0,
        until: cross.until.map(|Delay(ns)| ns),
    }
}
