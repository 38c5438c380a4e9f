//! Results as people read them, in the form that users of iperf3 know.

use core::fmt::Write as _;

use super::clock::ClockRelation;
use super::report::{
    AssociationReport, ClientReport, Delay, Direction, DirectionSum, EndReport, Flow, Interval,
    LimitShare, PathCondition, PathInterval, mbit_per_s,
};
use super::server::Session;
use crate::paths;

/// The head of the table of intervals.
pub const HEADER: &str =
    "[ ID] Interval             Transfer       Goodput  Retr  Delay p50       p99\n";

/// One line of an interval, and one per path where there are several. What this end received counts
/// if it received anything, otherwise what left it.
pub fn format_interval(id: u64, interval: &Interval) -> String {
    let mut text = String::new();
    let bytes = match interval.received {
        Flow { messages: 0, .. } => interval.transmitted_bytes,
        received => received.bytes,
    };
    let counts = Counts { bytes, paths: &interval.paths, delay: interval.delay.as_ref() };
    let note = if interval.omitted { "  (omitted)" } else { "" };
    let _ = writeln!(text, "{}{note}", counts.format_line(id, interval.start, interval.end));
    if interval.paths.len() > 1 {
        interval
            .paths
            .iter()
            .for_each(|p| text.push_str(&format_path(p, p.payload_bytes, interval.seconds())));
    }
    for line in &interval.stalls {
        let _ = writeln!(text, "[{id:>3}] {line}");
    }
    text
}

/// What a line counts.
struct Counts<'a> {
    bytes: u64,
    paths: &'a [PathInterval],
    delay: Option<&'a Delay>,
}

impl Counts<'_> {
    fn format_line(&self, id: u64, start: f64, end: f64) -> String {
        let retransmissions: u64 = self.paths.iter().map(|p| p.retransmissions).sum();
        let rate = format_speed(mbit_per_s(self.bytes, end - start));
        let delay = self.delay.map_or(String::new(), |d| {
            format!("  {:>9} {:>9}", format_ms(d.p50), format_ms(d.p99))
        });
        let bytes = format_bytes(self.bytes);
        format!(
            "[{id:>3}] {start:>7.2}-{end:<7.2} s {bytes:>9} {rate:>13} {retransmissions:>5}{delay}"
        )
    }
}

/// One line of a path, which carried so many bytes in this time.
pub fn format_path(path: &PathInterval, bytes: u64, seconds: f64) -> String {
    let way = format!("{} -> {}", path.local.ip(), path.remote.ip());
    let rate = format_speed(mbit_per_s(bytes, seconds));
    let srtt = path.srtt_ms.map_or("-".to_owned(), format_ms);
    let mut line = format!(
        "      {way:<32} {rate:>13} {:>5}  srtt {srtt}, cwnd {}",
        path.retransmissions,
        format_bytes(path.cwnd)
    );
    if path.timeouts > 0 {
        let _ = write!(line, ", timeouts {}", path.timeouts);
    }
    if path.copies > 0 {
        let _ = write!(line, ", copies {}", path.copies);
    }
    if let Some(mtu) = path.found_mtu {
        let _ = write!(line, ", mtu {mtu}");
    }
    match path.state {
        PathCondition::Active => {}
        PathCondition::Unconfirmed => line.push_str(", unconfirmed"),
        PathCondition::PotentiallyFailed => line.push_str(", potentially failed"),
        PathCondition::Inactive => line.push_str(", inactive"),
        PathCondition::Removed => line.push_str(", removed"),
    }
    line.push('\n');
    line
}

/// The outcome of a client's test.
pub fn format_client(report: &ClientReport) -> String {
    let mut text =
        "- - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - - -\n".to_owned();
    text.push_str(HEADER);
    for association in &report.associations {
        for sum in &report.sums {
            one_way(&mut text, association, sum.direction);
        }
        append_notes(&mut text, &association.client, "");
        if let Some(server) = &association.server {
            append_notes(&mut text, server, "at the server: ");
        }
        if let Some(error) = &association.error {
            let _ = writeln!(text, "[{:>3}] ended early: {error}", association.id);
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "{note}");
    }
    let told = report.associations.iter().any(|a| a.server.is_some());
    for sum in report.sums.iter().filter(|sum| told || sum.direction == Direction::Reverse) {
        text.push_str(&format_total(sum, report));
    }
    let clocks = report.associations.iter().map(|a| &a.clock);
    if let Some(clock) = clocks.max_by_key(|clock| clock.error_ns)
        && !report.test.is_request_response()
    {
        text.push_str(&clock_note(clock));
    }
    text
}

/// Sender's and receiver's lines of one association and direction, its paths, its streams.
fn one_way(text: &mut String, association: &AssociationReport, direction: Direction) {
    let id = association.id.into();
    let client = Some(&association.client);
    let server = association.server.as_ref();
    let ((sender, sends), (receiver, receives)) = match direction {
        Direction::Forward => ((client, "client"), (server, "server")),
        Direction::Reverse => ((server, "server"), (client, "client")),
    };
    if let Some(end) = sender {
        let counts = Counts { bytes: end.transmitted_bytes, paths: &end.paths, delay: None };
        let _ = writeln!(text, "{}  sender ({sends})", counts.format_line(id, 0.0, end.seconds));
    }
    if let Some(end) = receiver {
        let counts = Counts { bytes: end.received.bytes, paths: &[], delay: end.delay.as_ref() };
        let _ =
            writeln!(text, "{}  receiver ({receives})", counts.format_line(id, 0.0, end.seconds));
    }
    if let Some(end) = sender {
        let both = receiver.is_some();
        let bytes = |p: &PathInterval| if both { p.goodput_bytes } else { p.payload_bytes };
        end.paths.iter().for_each(|p| text.push_str(&format_path(p, bytes(p), end.seconds)));
        let limits = LimitShare::describe_shares(&end.limits);
        if !limits.is_empty() {
            let _ = writeln!(text, "      limited by: {limits}");
        }
    }
    if let Some(end) = receiver {
        append_streams(text, end);
    }
}

/// Why paths carried nothing, a line each.
fn append_notes(text: &mut String, end: &EndReport, whose: &str) {
    for path in &end.paths {
        if let Some(note) = &path.note {
            let name = paths::name_path(path.device.as_deref(), path.local, path.remote);
            let _ = writeln!(text, "      {whose}{name}: {note}");
        }
    }
}

/// Lines of streams, where there are several.
fn append_streams(text: &mut String, end: &EndReport) {
    if end.streams.len() < 2 {
        return;
    }
    for stream in &end.streams {
        let way = format!("stream {}", stream.stream);
        let rate = format_speed(mbit_per_s(stream.received.bytes, end.seconds));
        let _ = write!(text, "      {way:<32} {rate:>13}");
        if let Some(d) = &stream.delay {
            let _ = write!(text, "      {:>11} {:>9}", format_ms(d.p50), format_ms(d.p99));
        }
        text.push('\n');
    }
}

fn format_total(sum: &DirectionSum, report: &ClientReport) -> String {
    let way = match sum.direction {
        Direction::Forward => "to the server",
        Direction::Reverse => "to the client",
    };
    let (rate, bytes) = (format_speed(sum.goodput_mbit), format_bytes(sum.received.bytes));
    let mut text = format!("{way}: {rate} of goodput, {bytes} delivered");
    if !report.test.is_request_response() {
        let (sender, receiver) = (sum.sender_cpu_per_gb, sum.receiver_cpu_per_gb);
        let _ = write!(text, "; CPU s/GB: sender {sender:.2}, receiver {receiver:.2}");
    }
    text.push('\n');
    if report.test.is_request_response() && sum.direction == Direction::Reverse {
        let per_second = report.associations.iter().map(|a| {
            let end = &a.client;
            if end.seconds > 0.0 { end.received.messages as f64 / end.seconds } else { 0.0 }
        });
        let _ = writeln!(text, "transactions: {:.1} per second", per_second.sum::<f64>());
    }
    text
}

fn clock_note(clock: &ClockRelation) -> String {
    if clock.common {
        "delays: one way, both ends read the same clock\n".to_owned()
    } else {
        let error = format_ms(clock.error_ns as f64 / 1e6);
        format!("delays: one way, clocks compared over the network: right within {error}\n")
    }
}

/// The outcome of a server's session.
pub fn format_session(session: &Session) -> String {
    let (id, end) = (session.id, &session.report);
    let mut text = String::new();
    if session.test.is_some() {
        if end.received.messages > 0 {
            let counts =
                Counts { bytes: end.received.bytes, paths: &[], delay: end.delay.as_ref() };
            let _ = writeln!(text, "{}  receiver", counts.format_line(id, 0.0, end.seconds));
        }
        if end.sent.messages > 0 {
            let counts = Counts { bytes: end.transmitted_bytes, paths: &end.paths, delay: None };
            let _ = writeln!(text, "{}  sender", counts.format_line(id, 0.0, end.seconds));
            end.paths
                .iter()
                .for_each(|p| text.push_str(&format_path(p, p.payload_bytes, end.seconds)));
        }
    }
    append_notes(&mut text, end, "");
    if let Some(error) = &session.error {
        let _ = writeln!(text, "[{id:>3}] ended early: {error}");
    }
    text
}

/// Bytes in decimal units.
fn format_bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        1e9.. => format!("{:.2} GB", bytes / 1e9),
        1e6.. => format!("{:.1} MB", bytes / 1e6),
        1e3.. => format!("{:.1} kB", bytes / 1e3),
        _ => format!("{bytes:.0} B"),
    }
}

/// A rate in decimal units.
pub(crate) fn format_speed(mbit: f64) -> String {
    match mbit {
        1e3.. => format!("{:.2} Gbit/s", mbit / 1e3),
        1.0.. => format!("{mbit:.1} Mbit/s"),
        _ => format!("{:.1} kbit/s", mbit * 1e3),
    }
}

fn format_ms(ms: f64) -> String {
    match ms {
        1000.0.. => format!("{:.2} s", ms / 1e3),
        1.0.. => format!("{ms:.1} ms"),
        _ => format!("{:.0} us", ms * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units_that_fit() {
        let sizes = [0, 999, 1444, 12_345_678, 3_000_000_000].map(format_bytes);
        assert_eq!(sizes, ["0 B", "999 B", "1.4 kB", "12.3 MB", "3.00 GB"]);
        assert_eq!(
            [0.0, 0.5, 94.37, 2500.0].map(format_speed),
            ["0.0 kbit/s", "500.0 kbit/s", "94.4 Mbit/s", "2.50 Gbit/s"]
        );
        assert_eq!([0.12, 10.04, 2500.0].map(format_ms), ["120 us", "10.0 ms", "2.50 s"]);
    }

    #[test]
    fn an_interval_is_one_line_and_its_paths_follow() {
        let at = |last: u8| std::net::SocketAddr::from(([10, 0, 0, last], 9899));
        let one = PathInterval {
            path: 0,
            local: at(1),
            remote: at(2),
            payload_bytes: 1_250_000,
            goodput_bytes: 0,
            retransmissions: 3,
            copies: 0,
            timeouts: 1,
            srtt_ms: Some(20.0),
            cwnd: 60_000,
            outstanding: 0,
            state: PathCondition::Active,
            found_mtu: Some(1400),
            device: None,
            note: None,
        };
        let mut line = Interval {
            end: 1.0,
            transmitted_bytes: 2_500_000,
            paths: vec![one.clone()],
            ..Interval::default()
        };
        let text = format_interval(1, &line);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("2.5 MB") && text.contains("20.0 Mbit/s"), "{text}");
        line.paths.push(PathInterval { state: PathCondition::Inactive, ..one });
        let text = format_interval(1, &line);
        assert_eq!(text.lines().count(), 3, "{text}");
        let told = "10.0 Mbit/s     3  srtt 20.0 ms, cwnd 60.0 kB, timeouts 1, mtu 1400\n";
        assert!(text.contains(told), "{text}");
        assert!(text.ends_with("inactive\n"), "{text}");
    }
}
