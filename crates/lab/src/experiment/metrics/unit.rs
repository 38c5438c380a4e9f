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
        if name.contains("share")
            || name.ends_with(".utilisation")
            || begins(&["blocked-in", "blocked-out"])
        {
            Self::Share
        } else if name.ends_with("rate") || begins(&["goodput", "payload-rate", "file-throughput"])
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
        v if v == 0.0 || v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.01 => 3,
        _ => return format!("{value:.2e}"),
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
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
        assert_eq!(Unit::of("link.A.forward.rate").show(1e7), "10 Mbit/s");
    }
}
