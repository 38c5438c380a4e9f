//! Numbers with or without a unit, in base units.

use core::fmt;

use polypath_scenario::units::{
    Delay, Kind, Mtus, Packets, Probability, Quantity as _, Rate, Size,
};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number in base units: bit/s, s, bytes, shares of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amount(pub f64);

/// The number that a text with a unit stands for; a bare number stands for itself.
pub fn parse_amount(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    if let Some(positive) = text.strip_prefix('-') {
        return parse_amount(positive).filter(|value| *value >= 0.0).map(|value| -value);
    }
    let kinds: [(&'static Kind, f64); 6] = [
        (Delay::KIND, 1e9),
        (Rate::KIND, 1.0),
        (Size::KIND, 1.0),
        (Probability::KIND, 1e12),
        (Packets::KIND, 1.0),
        (Mtus::KIND, 1.0),
    ];
    kinds.iter().find_map(|(kind, scale)| Some(kind.parse(text).ok()? as f64 / scale))
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AmountVisitor)
    }
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a text with a unit, such as 19Mbit/s, 150ms, 64KiB or 95%")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Amount, E> {
        Ok(Amount(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Amount, E> {
        Ok(Amount(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
        let unknown = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
        parse_amount(text).map(Amount).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::parse_amount;

    #[test]
    fn units_lead_to_base_units() {
        assert_eq!(parse_amount("19Mbit/s"), Some(19e6));
        assert_eq!(parse_amount("150ms"), Some(0.15));
        assert_eq!(parse_amount("64KiB"), Some(65_536.0));
        assert_eq!(parse_amount("95%"), Some(0.95));
        assert_eq!(parse_amount("-5%"), Some(-0.05));
        assert_eq!(parse_amount("3.5"), Some(3.5));
        assert_eq!(parse_amount("--3ms"), None);
        assert_eq!(parse_amount("RR"), None);
        assert_eq!(parse_amount("inf"), None);
    }
}
