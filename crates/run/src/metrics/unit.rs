//! What metrics are measured in, and how their values are written.

/// The base unit of a metric.
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
    /// Its name where values are not scaled.
    pub const fn base(self) -> &'static str {
        match self {
            Self::Rate => "bit/s",
            Self::Time => "s",
            Self::Bytes => "bytes",
            Self::Share => "part of one",
            Self::Plain => "",
        }
    }

    /// Factor and name of the unit in which values of this size are written.
    pub fn scale_for(self, largest: f64) -> (f64, &'static str) {
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
    pub fn format_value(self, value: f64) -> String {
        let (factor, name) = self.scale_for(value);
        let text = format_digits(value * factor);
        if name.is_empty() { text } else { format!("{text} {name}") }
    }
}

/// Four significant digits or so.
pub fn format_digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        v if v >= 0.01 => count_decimals(v),
        _ => return format!("{value:.2e}"),
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A value and the half width of its interval, with as many decimals as show both; the value alone
/// without a half width.
pub fn format_pair(value: f64, half: f64) -> String {
    if half.abs() < 1e-300 || !half.is_finite() {
        return format_digits(value);
    }
    let shown = format_digits(value);
    let small = half.abs() < 1e-4 || (value.abs() < 0.01 && value != 0.0);
    if small || shown.contains('e') {
        return format!("{shown} +- {}", format_digits(half));
    }
    let own = if value == 0.0 { 0 } else { count_decimals(value) };
    // The first digit of the half width is there, however narrow it is.
    let first = (-half.abs().log10().floor()).clamp(0.0, 4.0) as usize;
    let many = own.max(first);
    format!("{value:.many$} +- {half:.many$}")
}

/// Decimals of four significant digits or so, for values from 0.01.
fn count_decimals(value: f64) -> usize {
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
        assert_eq!(Unit::Rate.format_value(19.36e6), "19.36 Mbit/s");
        assert_eq!(Unit::Time.format_value(0.0123), "12.3 ms");
        assert_eq!(Unit::Time.format_value(5.0), "5 s");
        assert_eq!(Unit::Bytes.format_value(65_536.0), "64 KiB");
        assert_eq!(Unit::Bytes.format_value(512.0), "512 B");
        assert_eq!(Unit::Share.format_value(0.951), "95.1 %");
        assert_eq!(Unit::Plain.format_value(3.0), "3");
    }

    #[test]
    fn intervals_have_the_decimals_of_their_value_or_more() {
        assert_eq!(format_pair(19.36, 0.12), "19.36 +- 0.12");
        assert_eq!(format_pair(19.36, 0.00369), "19.360 +- 0.004");
        assert_eq!(format_pair(1234.0, 56.0), "1234 +- 56");
        assert_eq!(format_pair(0.0, 0.5), "0.0 +- 0.5");
        assert_eq!(format_pair(3.0, 0.0), "3");
        assert_eq!(format_pair(3.0, f64::INFINITY), "3");
        assert_eq!(format_pair(0.001, 0.002), "1.00e-3 +- 2.00e-3");
    }
}
