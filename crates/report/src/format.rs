//! Measured figures as people read them: three significant digits or so, with a unit.

/// A rate, such as 19.36 Mbit/s.
pub(crate) fn format_rate(bits_per_second: f64) -> String {
    format_scaled(
        bits_per_second,
        &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")],
    )
}

/// A time given in nanoseconds, such as 12.3 ms.
pub(crate) fn format_time(nanos: f64) -> String {
    format_scaled(nanos, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

/// A number of bytes, such as 8.39 MB.
pub(crate) fn format_bytes(bytes: f64) -> String {
    format_scaled(bytes, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// A share, such as 12.5 %.
pub(crate) fn format_share(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { NONE.to_owned() }
}

/// A count; zero is a dash, so that what happened stands out.
pub(crate) fn format_count(count: u64) -> String {
    if count == 0 { NONE.to_owned() } else { count.to_string() }
}

/// What stands for "nothing".
pub(crate) const NONE: &str = "-";

fn format_scaled(value: f64, units: &[(f64, &str)]) -> String {
    if value == 0.0 {
        return NONE.to_owned();
    }
    let fits = units.iter().find(|(scale, _)| value.abs() >= *scale);
    let Some((scale, unit)) = fits.or(units.last()) else { return value.to_string() };
    let value = value / scale;
    // Whole units of the smallest kind have no parts.
    let decimals = match value.abs() {
        v if *scale <= 1.0 || v >= 100.0 => usize::from(*scale > 1.0),
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_few_digits_and_a_unit() {
        assert_eq!(format_rate(19_360_000.0), "19.36 Mbit/s");
        assert_eq!(format_rate(290_000_000.0), "290.0 Mbit/s");
        assert_eq!(format_rate(12.0), "12 bit/s");
        assert_eq!(format_rate(0.0), "-");
        assert_eq!(format_time(12_340_000.0), "12.34 ms");
        assert_eq!(format_time(61_500_000_000.0), "61.50 s");
        assert_eq!(format_bytes(8_388_608.0), "8.39 MB");
        assert_eq!(format_share(1.0, 8.0), "12.5 %");
        assert_eq!(format_share(0.0, 0.0), "-");
        assert_eq!(format_count(0), "-");
    }
}
