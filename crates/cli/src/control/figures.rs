//! Figures as they stand in lines for people.

/// Bytes, in three figures.
pub(super) fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, "B")
}

/// Bits per second of so many bytes per second.
pub(super) fn rate(bytes_per_second: f64) -> String {
    scaled(bytes_per_second * 8.0, "bit/s")
}

fn scaled(value: f64, unit: &str) -> String {
    let (value, prefix) = [(1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(size, _)| value >= 0.9995 * size)
        .map_or((value, ""), |(size, prefix)| (value / size, prefix));
    let decimals = match value {
        _ if prefix.is_empty() => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {prefix}{unit}")
}

/// A time of seconds.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        ..0.001 => format!("{:.2} ms", seconds * 1e3),
        ..0.01 => format!("{:.1} ms", seconds * 1e3),
        ..1.0 => format!("{:.0} ms", seconds * 1e3),
        ..100.0 => format!("{seconds:.1} s"),
        ..6000.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A share of 1.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent @ ..0.05 if percent > 0.0 => "<0.1 %".to_owned(),
        percent @ ..9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// The time of day, UTC, of seconds since 1970.
pub(super) fn clock(time: f64) -> String {
    let milliseconds = (time.max(0.0) * 1e3) as u64;
    let (seconds, milliseconds) = (milliseconds / 1000, milliseconds % 1000);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    format!("{:02}:{:02}:{:02}.{milliseconds:03}Z", hours % 24, minutes % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_figures_are_enough() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(999_600), "1.00 MB");
        assert_eq!(bytes(123_400_000), "123 MB");
        assert_eq!(rate(1_562_500.0), "12.5 Mbit/s");
        assert_eq!(
            (time(0.0401), time(61.0), time(400.0)),
            ("40 ms".into(), "61.0 s".into(), "7 min".into())
        );
        assert_eq!(
            (percent(0.0001), percent(0.0), percent(0.5)),
            ("<0.1 %".into(), "0.0 %".into(), "50 %".into())
        );
        assert_eq!(clock(86_400.0 + 3_723.5), "01:02:03.500Z");
    }
}
