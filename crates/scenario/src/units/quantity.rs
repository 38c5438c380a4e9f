//! The quantities of scenario files.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::kind::{Kind, Shown, Unit, UnitError};

/// A quantity that is a whole number of base units.
pub trait Quantity: Copy {
    /// Its kind.
    const KIND: &'static Kind;

    /// So many base units.
    fn from_base(base: u64) -> Self;

    /// The number of base units.
    fn base(self) -> u64;
}

const fn unit(name: &'static str, scale: u64) -> Unit {
    Unit { name, scale, shown: Shown::From(scale) }
}

const fn whole(name: &'static str, scale: u64) -> Unit {
    Unit { name, scale, shown: Shown::Whole }
}

const fn unshown(name: &'static str, scale: u64) -> Unit {
    Unit { name, scale, shown: Shown::Never }
}

/// Visits strings only, so that a bare number is answered with the units that are allowed.
pub(super) struct TextVisitor<T>(pub(super) fn(&str) -> Result<T, String>);

impl<T> TextVisitor<T> {
    fn refuse<V, E: serde::de::Error>(&self) -> Result<V, E> {
        // The empty text is never valid; its error says what is.
        Err(E::custom((self.0)("").err().unwrap_or_default()))
    }
}

impl<T> serde::de::Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.0)("").err().unwrap_or_default().replacen("expected ", "", 1))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<T, E> {
        self.refuse()
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<T, E> {
        self.refuse()
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<T, E> {
        self.refuse()
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<T, E> {
        self.refuse()
    }
}

/// A text with a closed set of forms, as serde and schemars see it: through `FromStr` and
/// `Display`.
macro_rules! text_serde {
    ($name:ident, $pattern:expr, $description:expr) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = |text: &str| text.parse::<Self>().map_err(|e| e.to_string());
                deserializer.deserialize_any($crate::units::quantity::TextVisitor(read))
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": $pattern,
                    "description": $description,
                })
            }
        }
    };
}
pub(super) use text_serde;

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $examples:literal, [$($unit:expr),+ $(,)?]
     $(, spelt [$($spelling:expr),+ $(,)?])? $(, in parts $parts:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl Quantity for $name {
            const KIND: &'static Kind = &Kind {
                name: $kind,
                examples: $examples,
                units: &[$($unit),+],
                spellings: &[$($($spelling),+)?],
                parts: false $(|| $parts)?,
            };

            fn from_base(base: u64) -> Self {
                Self(base)
            }

            fn base(self) -> u64 {
                self.0
            }
        }

        impl FromStr for $name {
            type Err = UnitError;

            fn from_str(text: &str) -> Result<Self, UnitError> {
                Self::KIND.parse(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&Self::KIND.show(self.0))
            }
        }

        text_serde!(
            $name,
            Self::KIND.pattern(),
            format!("{}, such as {}", Self::KIND.name, Self::KIND.examples)
        );
    };
}

quantity!(
    /// A data rate in bit/s.
    Rate, "a rate", "10Mbit/s, 1.5Mbit/s or 64kbit/s", [
        unit("bit/s", 1),
        unit("kbit/s", 1_000),
        unit("Mbit/s", 1_000_000),
        unit("Gbit/s", 1_000_000_000),
    ], spelt [
        ("k", 1_000), ("K", 1_000), ("kbit", 1_000), ("kbps", 1_000), ("Kbps", 1_000),
        ("m", 1_000_000), ("M", 1_000_000), ("Mbit", 1_000_000), ("Mbps", 1_000_000),
        ("mbit", 1_000_000), ("mbps", 1_000_000),
        ("g", 1_000_000_000), ("G", 1_000_000_000), ("Gbit", 1_000_000_000),
        ("gbit", 1_000_000_000), ("Gbps", 1_000_000_000), ("gbps", 1_000_000_000),
        ("bps", 1),
    ]
);

quantity!(
    /// A duration in nanoseconds.
    Delay, "a duration", "45ms, 1.5s or 1m30s", [
        unit("ns", 1),
        unit("us", 1_000),
        unshown("µs", 1_000),
        unit("ms", 1_000_000),
        unit("s", 1_000_000_000),
        unshown("min", 60_000_000_000),
        unshown("h", 3_600_000_000_000),
    ], spelt [
        ("sec", 1_000_000_000), ("m", 60_000_000_000), ("d", 86_400_000_000_000),
    ], in parts true
);

quantity!(
    /// A number of bytes. `kB`, `MB`, `GB` are powers of 1000; `KiB`, `MiB`, `GiB` powers of 1024,
    /// and so are `K`, `M`, `G`, as iperf3, rsync and dd have them.
    Size, "a size", "64KiB, 1452B or 8MiB", [
        unit("B", 1),
        unshown("kB", 1_000),
        whole("KiB", 1 << 10),
        whole("MB", 1_000_000),
        whole("MiB", 1 << 20),
        unshown("GB", 1_000_000_000),
        whole("GiB", 1 << 30),
        unshown("TB", 1_000_000_000_000),
        whole("TiB", 1 << 40),
    ], spelt [
        ("K", 1 << 10), ("k", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40),
        ("KB", 1_000), ("bytes", 1),
    ]
);

quantity!(
    /// A probability in units of 10^-12.
    Probability, "a probability", "1%, 0.5% or 20ppm", [
        unit("ppb", 1_000),
        unit("ppm", 1_000_000),
        Unit { name: "%", scale: 10_000_000_000, shown: Shown::From(100_000_000) },
    ]
);

quantity!(
    /// A number of packets.
    Packets, "a number of packets", "50packets or 4packets", [
        unit("packets", 1),
        unshown("packet", 1),
    ]
);

quantity!(
    /// A multiple of the "MTU" of the window formulas.
    Mtus, "a multiple of the MTU", "4mtu or 2mtu", [unit("mtu", 1)]
);

impl Probability {
    /// Certainty: 100 %.
    pub const ONE: Self = Self(1_000_000_000_000);

    /// As a number from 0 to 1 (above 1 when the text said so; checks refuse that).
    pub fn as_f64(self) -> f64 {
        // Both are exact below 2^53, so the division rounds once.
        self.0 as f64 / Self::ONE.0 as f64
    }
}

impl Delay {
    /// As the core's durations.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// In seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.duration().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn units_are_read_exactly() {
        assert_eq!("10Mbit/s".parse(), Ok(Rate(10_000_000)));
        assert_eq!("1.5Mbit/s".parse(), Ok(Rate(1_500_000)));
        assert_eq!("0.001 kbit/s".parse(), Ok(Rate(1)));
        assert_eq!("45ms".parse(), Ok(Delay(45_000_000)));
        assert_eq!("10µs".parse(), Ok(Delay(10_000)));
        assert_eq!("2min".parse(), Ok(Delay(120_000_000_000)));
        assert_eq!("64KiB".parse(), Ok(Size(65_536)));
        assert_eq!("8MB".parse(), Ok(Size(8_000_000)));
        assert_eq!("0.5KiB".parse(), Ok(Size(512)));
        assert_eq!("1%".parse(), Ok(Probability(10_000_000_000)));
        assert_eq!("0.1ppb".parse(), Ok(Probability(100)));
        assert_eq!("1packet".parse(), Ok(Packets(1)));
        assert_eq!("4mtu".parse(), Ok(Mtus(4)));
    }

    #[test]
    fn quantities_may_be_written_as_people_type_them() {
        let minute = 60_000_000_000;
        for (text, wanted) in [
            ("1m30", 3 * minute / 2),
            ("1m30s", 3 * minute / 2),
            ("1min 30 s", 3 * minute / 2),
            ("1h30", 90 * minute),
            ("1h30m", 90 * minute),
            ("2m", 2 * minute),
            ("1s500ms", minute / 40),
        ] {
            assert_eq!(text.parse(), Ok(Delay(wanted)), "{text}");
        }
        for text in ["1s30", "30s1m", "1m2m", "1m30x", "1h30m15s7", "1m 30 m"] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
        for text in ["20M", "20m", "20Mbps", "20 Mbit/s", "20mbit", "0.02G", "20000k"] {
            assert_eq!(text.parse(), Ok(Rate(20_000_000)), "{text}");
        }
        assert_eq!("2.5 Gbit/s".parse(), Ok(Rate(2_500_000_000)));
        assert_eq!("2M".parse(), Ok(Size(2 << 20)));
        assert_eq!("2MB".parse(), Ok(Size(2_000_000)));
        let plain = |text: &str| Delay::KIND.parse_or_plain(text, 1_000_000_000);
        assert_eq!((plain("10"), plain("0.5")), (Ok(10_000_000_000), Ok(500_000_000)));
        assert_eq!(plain("1m30"), Ok(3 * minute / 2));
        assert!(plain("").is_err() && plain(".").is_err() && plain("-1").is_err());
    }

    #[test]
    fn texts_without_a_known_unit_are_refused() {
        for text in ["", "45", "ms", ".5ms", "5.ms", "1.2.3ms", "-1ms", "1e3ms", "45 Ms", "45msx"] {
            assert_eq!(text.parse::<Delay>(), Err(UnitError::Malformed(Delay::KIND)), "{text}");
        }
    }

    #[test]
    fn nothing_is_rounded_or_wrapped() {
        assert_eq!("0.5ns".parse::<Delay>(), Err(UnitError::TooFine(Delay::KIND)));
        assert_eq!("0.3B".parse::<Size>(), Err(UnitError::TooFine(Size::KIND)));
        let huge = "99999999999999999999s".parse::<Delay>().unwrap_err();
        assert_eq!(huge.to_string(), "too large (allowed: up to 18446744073.709551615s)");
        assert_eq!("99999999999999h".parse::<Delay>(), Err(UnitError::TooLarge(Delay::KIND)));
    }

    #[test]
    fn values_are_shown_in_the_unit_a_person_would_choose() {
        assert_eq!(Rate(1_500_000).to_string(), "1.5Mbit/s");
        assert_eq!(Delay(45_000_000).to_string(), "45ms");
        assert_eq!(Delay(0).to_string(), "0ns");
        assert_eq!(Size(65_536).to_string(), "64KiB");
        assert_eq!(Size(1_452).to_string(), "1452B");
        assert_eq!(Probability(1_000_000_000).to_string(), "0.1%");
        assert_eq!(Probability(2_500_000).to_string(), "2.5ppm");
        assert_eq!(Packets(50).to_string(), "50packets");
    }

    fn round_trips<Q: Quantity + FromStr<Err = UnitError> + fmt::Display>(base: u64) -> bool {
        Q::from_base(base).to_string().parse::<Q>().map(Q::base) == Ok(base)
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back(base in any::<u64>(), shift in 0u32..64) {
            let base = base >> shift;
            prop_assert!(round_trips::<Rate>(base));
            prop_assert!(round_trips::<Delay>(base));
            prop_assert!(round_trips::<Size>(base));
            prop_assert!(round_trips::<Probability>(base));
            prop_assert!(round_trips::<Packets>(base));
            prop_assert!(round_trips::<Mtus>(base));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Size>();
        }

        #[test]
        fn decimals_agree_with_arithmetic(whole in 0u64..1_000_000, milli in 0u64..1000) {
            let text = format!("{whole}.{milli:03}ms");
            prop_assert_eq!(text.parse(), Ok(Delay(whole * 1_000_000 + milli * 1_000)));
        }
    }
}
