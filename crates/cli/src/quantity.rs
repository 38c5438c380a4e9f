//! Durations, rates and sizes of arguments: spelt as in scenario files, and a plain number counts
//! seconds, bits per second, or bytes.

use std::time::Duration;

use polypath_scenario::units::{Delay, Kind, Quantity as _, Rate, Size, UnitError};

/// More than anybody waits for.
const LONGEST: u64 = 1_000_000;
const NANOSECONDS: u64 = 1_000_000_000;

/// A duration.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = read(Delay::KIND, text, NANOSECONDS)?;
    let longest = Delay(LONGEST * NANOSECONDS);
    if nanoseconds > longest.0 {
        return Err(format!("too long (allowed: up to {longest})"));
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// An argument's duration as Rust has it.
pub(crate) const fn to_duration(delay: Delay) -> Duration {
    Duration::from_nanos(delay.0)
}

/// A duration in which something can happen.
pub(crate) fn some_duration(text: &str) -> Result<Duration, String> {
    let duration = duration(text)?;
    if duration < Duration::from_millis(1) {
        return Err("too short (allowed: from 1ms)".to_owned());
    }
    Ok(duration)
}

/// Bits per second, some at least.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let rate = read(Rate::KIND, text, 1)?;
    if (1..=1_000_000_000_000).contains(&rate) {
        return Ok(rate);
    }
    Err("out of range (allowed: 1bit/s to 1000Gbit/s)".to_owned())
}

/// Bytes, one at least.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    match read(Size::KIND, text, 1)? {
        0 => Err("too small (allowed: from 1B)".to_owned()),
        size => Ok(size),
    }
}

/// Bytes that a message can have.
pub(crate) fn message_size(text: &str) -> Result<u32, String> {
    let size = size(text)?;
    u32::try_from(size).map_err(|_| format!("too large (allowed: up to {})", Size(u32::MAX.into())))
}

fn read(kind: &'static Kind, text: &str, plain: u64) -> Result<u64, String> {
    kind.parse_or_plain(text, plain).map_err(|error| match error {
        UnitError::Malformed(kind) => {
            format!(
                "expected {}, such as {} (units: {})",
                kind.name,
                kind.examples,
                kind.unit_names()
            )
        }
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds_or_have_units() {
        let seconds = |text| duration(text).map(|duration| duration.as_secs_f64());
        for (text, wanted) in [("10", 10.0), ("0.25", 0.25), ("1m30", 90.0), ("500ms", 0.5)] {
            assert_eq!(seconds(text), Ok(wanted), "{text}");
        }
        for text in ["-1", "nan", "", "1e3", "2000000", "10 parsecs"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(some_duration("0").unwrap_err(), "too short (allowed: from 1ms)");
    }

    #[test]
    fn rates_may_be_written_as_iperf_users_do() {
        for text in ["20M", "20Mbit/s", "20 Mbps", "0.02g", "20000000"] {
            assert_eq!(rate(text), Ok(20_000_000), "{text}");
        }
        for text in ["0", "-1M", "fast", "2000G"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_bytes_or_have_units() {
        for (text, wanted) in [("1444", 1444), ("64KiB", 65_536), ("2MB", 2_000_000)] {
            assert_eq!(message_size(text), Ok(wanted), "{text}");
        }
        let error = message_size("5GB").unwrap_err();
        assert_eq!(error, "too large (allowed: up to 4294967295B)");
        assert!(size("0").is_err() && size("many").is_err());
    }
}
