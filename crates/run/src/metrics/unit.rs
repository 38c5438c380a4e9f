//! What figures are measured in, and how they are written.

/// The base unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// bit/s.
    Rate,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Part of one.
    Share,
    /// A number.
    Plain,
}

impl Unit {
    /// The unit of a metric.
    pub fn of(metric: &str) -> Self {
        let name = metric.strip_prefix("flow.").and_then(|rest| rest.split_once('.'));
        let name = name.map_or(metric, |(_, name)| name);
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        if begins(&["pause"]) && !ends(&[".longest"]) {
            // What happened in the pause: a share of it, a window in bytes, a number of losses.
            return match name.rsplit('.').next() {
                Some("recovery-elsewhere") => Self::Share,
                Some("rwnd") => Self::Bytes,
                _ => Self::Plain,
            };
        }
        if name.contains("share")
            || ends(&[".utilisation"])
            || begins(&["first-choice", "last-resort", "decision-lowest"])
            || begins(&["blocked-in", "blocked-out"])
        {
            Self::Share
        } else if name.ends_with("rate")
            || begins(&["goodput", "payload-rate", "file-throughput"])
            || begins(&["limit", "ordered-limit", "joint-limit", "best-path"])
        {
            Self::Rate
        } else if begins(&[
            "delay",
            "transfer-time",
            "blocked-time",
            "blocked-longest",
            "blocked-spell",
            "srtt",
            "measured",
            "tsn-time",
            "recovery",
            "pause",
        ]) {
            Self::Time
        } else if begins(&[
            "bytes",
            "payload.",
            "receive-buffer",
            "out-of-order",
            "cwnd",
            "ssthresh",
            "outstanding",
            "send-buffer",
            "peer-rwnd",
            "delivered-unacked",
        ]) {
            Self::Bytes
        } else {
            Self::Plain
        }
    }

    /// Factor and name of the unit in which values of this size are written.
    pub fn scale(self, largest: f64) -> (f64, &'static str) {
        let largest = largest.abs();
        match self {
            Self::Rate if largest >= 1e6 => (1e-6, "Mbit/s"),
            Self::Rate if largest >= 1e3 => (1e-3, "kbit/s"),
            Self::Rate => (1.0, "bit/s"),
            Self::Time if largest >= 1.0 => (1.0, "s"),
            Self::Time => (1e3, "ms"),
            Self::Bytes if largest >= 1024.0 => (1.0 / 1024.0, "KiB"),
            Self::Bytes => (1.0, "B"),
            Self::Share => (100.0, "%"),
            Self::Plain => (1.0, ""),
        }
    }

    /// A value with its unit.
    pub fn show(self, value: f64) -> String {
        let (factor, name) = self.scale(value);
        let text = digits(value * factor);
        if name.is_empty() { text } else { format!("{text} {name}") }
    }
}

/// Four significant digits or so.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        v if v >= 0.01 => decimals(v),
        _ => return format!("{value:.2e}"),
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A value and the half width of its interval, with as many decimals as show both; the value alone without a half width.
pub fn pair(value: f64, half: f64) -> String {
    if half.abs() < 1e-300 || !half.is_finite() {
        return digits(value);
    }
    let shown = digits(value);
    let small = half.abs() < 1e-4 || (value.abs() < 0.01 && value != 0.0);
    if small || shown.contains('e') {
        return format!("{shown} +- {}", digits(half));
    }
    let own = if value == 0.0 { 0 } else { decimals(value) };
    // The first digit of the half width is there, however narrow it is.
    let first = (-half.abs().log10().floor()).clamp(0.0, 4.0) as usize;
    let many = own.max(first);
    format!("{value:.many$} +- {half:.many$}")
}

/// Decimals of four significant digits or so, for values from 0.01.
fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_people_read_them() {
        assert_eq!(Unit::of("goodput.stream.1").show(19.36e6), "19.36 Mbit/s");
        assert_eq!(Unit::of("flow.ref.delay.mean").show(0.0123), "12.3 ms");
        assert_eq!(Unit::of("out-of-order.mean").show(65_536.0), "64 KiB");
        assert_eq!(Unit::of("payload-share.path.A").show(0.5), "50 %");
        assert_eq!(Unit::of("timeouts.rto.2..").show(3.0), "3");
        assert_eq!(Unit::of("limit").show(13.35e6), "13.35 Mbit/s");
        assert_eq!(Unit::of("flow.f.ordered-limit-share").show(0.951), "95.1 %");
        assert_eq!(Unit::of("link.A.forward.rate").show(1e7), "10 Mbit/s");
        assert_eq!(Unit::of("pause.path.A.longest").show(5.0), "5 s");
        assert_eq!(Unit::of("pause.path.A.recovery-elsewhere").show(0.5), "50 %");
        assert_eq!(Unit::of("pause.path.A.own-losses").show(2.0), "2");
        assert_eq!(Unit::of("flow.f.pause.path.A.rwnd").show(512.0), "512 B");
    }

    #[test]
    fn intervals_have_the_decimals_of_their_value_or_more() {
        assert_eq!(pair(19.36, 0.12), "19.36 +- 0.12");
        assert_eq!(pair(19.36, 0.00369), "19.360 +- 0.004");
        assert_eq!(pair(1234.0, 56.0), "1234 +- 56");
        assert_eq!(pair(0.0, 0.5), "0.0 +- 0.5");
        assert_eq!(pair(3.0, 0.0), "3");
        assert_eq!(pair(3.0, f64::INFINITY), "3");
        assert_eq!(pair(0.001, 0.002), "1.00e-3 +- 2.00e-3");
    }
}
