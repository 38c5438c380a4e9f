//! Quantities that may also be a word: `unlimited`, `off`, `rfc9260`, `peer-window`.

use core::fmt;
use core::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::kind::{Kind, UnitError};
use super::quantity::{Delay, Mtus, Packets, Quantity, Size, text_serde};

/// Why a text is neither the word nor a quantity: what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// None of the forms.
    #[error("expected {0}")]
    Malformed(&'static str),
    /// The right form, a wrong quantity.
    #[error(transparent)]
    Quantity(UnitError),
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, allowed $allowed:literal,
     words { $($word:literal => $word_variant:ident, #[doc = $word_doc:literal]);* $(;)? },
     quantities { $($inner:ident => $variant:ident, #[doc = $variant_doc:literal]);+ $(;)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = $word_doc] $word_variant,)*
            $(#[doc = $variant_doc] $variant($inner),)+
        }

        impl FromStr for $name {
            type Err = ChoiceError;

            fn from_str(text: &str) -> Result<Self, ChoiceError> {
                match text.trim() {
                    $($word => return Ok(Self::$word_variant),)*
                    _ => {}
                }
                let kinds = [$(($inner::KIND, (|base| Self::$variant($inner::from_base(base)))
                    as fn(u64) -> Self)),+];
                first_of(text, &kinds, $allowed)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$word_variant => f.pad($word),)*
                    $(Self::$variant(value) => value.fmt(f),)+
                }
            }
        }

        text_serde!($name, choice_pattern(&[$($word),*], &[$($inner::KIND),+]), $allowed);
    };
}

choice!(
    /// Room in a queue.
    QueueSize, allowed "room such as 50packets, 64KiB, 200ms (at the link's rate) or unlimited",
    words { "unlimited" => Unlimited, #[doc = "No limit."] },
    quantities {
        Packets => Packets, #[doc = "So many packets."];
        Size => Bytes, #[doc = "So many bytes."];
        Delay => Time, #[doc = "What the link sends in this time."];
    }
);

choice!(
    /// A size, or no limit.
    Limit, allowed "a size with a unit, such as 64KiB, or unlimited",
    words { "unlimited" => Unlimited, #[doc = "No limit."] },
    quantities { Size => Bytes, #[doc = "So many bytes."] }
);

choice!(
    /// A number of packets, or no limit.
    Burst, allowed "a number of packets, such as 4packets, or unlimited",
    words { "unlimited" => Unlimited, #[doc = "No limit."] },
    quantities { Packets => Packets, #[doc = "So many packets."] }
);

choice!(
    /// A period, or never.
    Interval, allowed "a duration with a unit, such as 30s, or off",
    words { "off" => Off, #[doc = "Never."] },
    quantities { Delay => Every, #[doc = "Once per period."] }
);

choice!(
    /// An initial congestion window.
    InitialWindow, allowed "rfc9260, a size such as 4380B, or a multiple of the MTU such as 2mtu",
    words { "rfc9260" => Rfc9260, #[doc = "min(4 MTU, max(2 MTU, 4404 bytes)), RFC 9260 section 7.2.1."] },
    quantities {
        Size => Bytes, #[doc = "So many bytes."];
        Mtus => Mtus, #[doc = "So many MTUs."];
    }
);

choice!(
    /// An initial slow start threshold.
    Threshold, allowed "peer-window or a size such as 65536B",
    words { "peer-window" => PeerWindow, #[doc = "The window that the peer announced at set-up."] },
    quantities { Size => Bytes, #[doc = "So many bytes."] }
);

impl QueueSize {
    /// The room in packets, if that is what it is counted in.
    pub fn packets(self) -> Option<Packets> {
        match self {
            Self::Packets(packets) => Some(packets),
            Self::Bytes(_) | Self::Time(_) | Self::Unlimited => None,
        }
    }
}

/// A kind, and what its quantities become.
type Form<T> = (&'static Kind, fn(u64) -> T);

/// Reads `text` as the first kind that knows its unit.
fn first_of<T>(text: &str, kinds: &[Form<T>], allowed: &'static str) -> Result<T, ChoiceError> {
    for (kind, make) in kinds {
        match kind.parse(text) {
            Ok(base) => return Ok(make(base)),
            Err(UnitError::Malformed(_)) => {}
            Err(other) => return Err(ChoiceError::Quantity(other)),
        }
    }
    Err(ChoiceError::Malformed(allowed))
}

fn choice_pattern(words: &[&str], kinds: &[&Kind]) -> String {
    let words = words.iter().map(|word| format!("^{word}$"));
    words.chain(kinds.iter().map(|kind| kind.pattern())).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quantities_are_told_apart() {
        assert_eq!("50packets".parse(), Ok(QueueSize::Packets(Packets(50))));
        assert_eq!("64KiB".parse(), Ok(QueueSize::Bytes(Size(65_536))));
        assert_eq!("unlimited".parse(), Ok(QueueSize::Unlimited));
        assert_eq!("off".parse(), Ok(Interval::Off));
        assert_eq!("30s".parse(), Ok(Interval::Every(Delay(30_000_000_000))));
        assert_eq!("2mtu".parse(), Ok(InitialWindow::Mtus(Mtus(2))));
        assert_eq!("4380B".parse(), Ok(InitialWindow::Bytes(Size(4380))));
        assert_eq!("peer-window".parse(), Ok(Threshold::PeerWindow));
    }

    #[test]
    fn refusals_say_what_is_allowed() {
        let error = |text: &str| text.parse::<QueueSize>().unwrap_err().to_string();
        let allowed =
            "expected room such as 50packets, 64KiB, 200ms (at the link's rate) or unlimited";
        assert_eq!(error("50"), allowed);
        assert_eq!(error("50mtu"), allowed);
        assert_eq!(error("0.5packets"), "finer than 1packets (allowed: whole multiples of it)");
    }

    #[test]
    fn what_is_shown_reads_back() {
        for choice in [
            QueueSize::Unlimited,
            QueueSize::Packets(Packets(7)),
            QueueSize::Bytes(Size(9_000)),
            QueueSize::Bytes(Size(0)),
            QueueSize::Time(Delay(250_000_000)),
        ] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
    }
}
