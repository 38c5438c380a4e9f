//! What `polypath emulate` says, on stderr.

use std::fmt::Write as _;

use polypath_emu::{Emulation, Host, Measurement};
use polypath_testbed::{EmulationReport, LatenessReport};

/// Packets later than this, in s, are later than the delay may be off.
const LATE: f64 = 1e-3;

pub(crate) fn describe_hosts(emulation: &Emulation) -> String {
    let host = |host: Host| {
        let list: Vec<_> = emulation.addresses(host).iter().map(ToString::to_string).collect();
        format!("{}: {}\n", host.name(), list.join(", "))
    };
    [Host::Client, Host::Server].into_iter().map(host).collect()
}

pub(crate) fn describe_measurements(all: &[Measurement]) -> String {
    let mut text = String::new();
    for route in all {
        let ms = |seconds: f64| seconds * 1e3;
        let (delay, mbit) = (route.delay, |rate: f64| rate * 1e-6);
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{} {} -> {}: delay {:.2} ms of {:.2} ms",
            route.path,
            route.from,
            route.to,
            ms(delay.measured),
            ms(delay.expected)
        );
        if let Some(rate) = route.rate {
            let (measured, expected) = (mbit(rate.measured), mbit(rate.expected));
            let _ = write!(text, ", rate {measured:.2} of {expected:.2} Mbit/s");
        }
        text.push('\n');
    }
    text
}

pub(crate) fn how_to_enter(emulation: &Emulation) -> String {
    let line = |host: Host| {
        let path = emulation.namespace(host).path();
        format!("{}: nsenter --net={} bash\n", host.name(), path.display())
    };
    let lines: String = [Host::Client, Host::Server].into_iter().map(line).collect();
    format!("{lines}Ctrl-C ends it.\n")
}

pub(crate) fn describe_end(report: &EmulationReport) -> String {
    let mut text = String::new();
    for link in report.links.iter().filter(|link| link.offered > 0) {
        let _ = writeln!(
            text,
            "{}: {} packets, {:.2} MB; {} lost, {} found no room, {} cut off",
            link.link,
            link.delivered,
            link.delivered_bytes as f64 * 1e-6,
            link.lost,
            link.overflowed,
            link.cut
        );
    }
    for nat in &report.nats {
        let _ = writeln!(
            text,
            "{}: {} packets out, {} in; {} for no mapping, {} filtered, {} without room, {} of other kinds; \
             {} ICMP errors led on, {} sent",
            nat.nat,
            nat.outbound,
            nat.inbound,
            nat.unmapped,
            nat.filtered,
            nat.refused,
            nat.other,
            nat.errors,
            nat.answers
        );
    }
    if report.unrouted > 0 {
        let _ = writeln!(text, "{} packets had no route", report.unrouted);
    }
    text + &describe_lateness(&report.lateness)
}

fn describe_lateness(late: &LatenessReport) -> String {
    let ms = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
    let LatenessReport { median, p99, p999, max, .. } = *late;
    let [median, p99_text, p999, max] = [median, p99, p999, max].map(ms);
    let text = format!(
        "packets late by {median} (median), {p99_text} (99 %), {p999} (99.9 %), {max} (at most)\n"
    );
    if p99 <= LATE {
        return text;
    }
    format!(
        "{text}warning: more than 1 % of the packets were over {} late: this machine is too busy for \
         what it carries\n",
        ms(LATE)
    )
}
