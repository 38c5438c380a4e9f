//! What changes while a run goes on: at set times, and again and again.

use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;
use std::borrow::Cow;

use polypath_proto::view::PathAdmin;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::flow::Direction;
use crate::units::{Delay, Probability, Quantity, Rate};

/// A change at a set time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Change {
    /// When, from the start of the run.
    pub time: Delay,
    /// A path, link or nat by name. Of a path of `[path.*]` the core link changes; of a route, each
    /// of its links.
    pub target: String,
    /// Which direction changes; with `admin`, which flows are meant. Absent: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Takes a path or link down or up, or upsets a nat. Going down loses what is on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// A new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// A new propagation delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// A new loss probability, in place of all losses so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// What senders want of a path from then on. Every flow that has the path and is open is meant;
    /// links do not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<PathAdmin>,
}

/// Changes that come again and again. A list is taken in turn, a range is drawn from anew each
/// time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Repeat {
    /// Time from one change to the next.
    pub period: Delay,
    /// A path or link by name. Of a path of `[path.*]` the core link changes; of a route, each of
    /// its links.
    pub target: String,
    /// Which direction changes. Absent: both, alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// When the first change comes. Absent: 0s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Delay>,
    /// From when on nothing changes any more. Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Delay>,
    /// Rates, such as `["10Mbit/s", "2Mbit/s"]` or `"1Mbit/s..20Mbit/s"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Series<Rate>>,
    /// Propagation delays, such as `["10ms", "80ms"]` or `"5ms..100ms"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Series<Delay>>,
    /// Loss probabilities, such as `["0%", "2%"]` or `"0%..5%"`, in place of all losses so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Series<Probability>>,
    /// Cuts and restorations in turn, such as `["cut", "restore"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Vec<Action>>,
}

/// Down or up; or what happens to a nat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Takes the link down.
    Cut,
    /// Takes the link up again.
    Restore,
    /// Gives all mappings of a nat other ports.
    Rebind,
    /// Gives a nat another address outside.
    Readdress,
    /// Makes a nat forget its mappings, as when it is switched off and on.
    Forget,
}

impl Action {
    /// Whether it is done to a nat, not to links.
    pub const fn is_of_nat(self) -> bool {
        matches!(self, Self::Rebind | Self::Readdress | Self::Forget)
    }
}

/// Values of a repeating change: a list taken in turn, or a range to draw from, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Series<Q> {
    /// One after the other, then from the first again.
    List(Vec<Q>),
    /// Each drawn uniformly.
    Range(Q, Q),
}

impl<Q: Quantity> Series<Q> {
    fn expected_form() -> String {
        let kind = Q::KIND;
        let unit = kind.units.iter().find(|u| u.name == "ms" || u.name == "Mbit/s");
        let unit = unit.map_or("%", |u| u.name);
        format!("a list such as [\"1{unit}\", \"5{unit}\"] or a range such as \"1{unit}..5{unit}\"")
    }

    fn parse_range(text: &str) -> Result<Self, String> {
        let (from, to) =
            text.split_once("..").ok_or_else(|| format!("expected {}", Self::expected_form()))?;
        let read = |text: &str| Q::KIND.parse(text).map_err(|error| format!("{text}: {error}"));
        let (from, to) = (read(from)?, read(to)?);
        if from > to {
            return Err("the range is backwards (allowed: the smaller value first)".into());
        }
        Ok(Self::Range(Q::from_base(from), Q::from_base(to)))
    }
}

impl<Q: Quantity + fmt::Display + Serialize> Serialize for Series<Q> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::List(list) => list.serialize(serializer),
            Self::Range(from, to) => serializer.collect_str(&format_args!("{from}..{to}")),
        }
    }
}

impl<'de, Q: Quantity + FromStr> Deserialize<'de> for Series<Q>
where
    Q::Err: fmt::Display,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SeriesVisitor(PhantomData))
    }
}

struct SeriesVisitor<Q>(PhantomData<Q>);

impl<'de, Q: Quantity + FromStr> Visitor<'de> for SeriesVisitor<Q>
where
    Q::Err: fmt::Display,
{
    type Value = Series<Q>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Series::<Q>::expected_form())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Series<Q>, E> {
        Series::parse_range(text).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Series<Q>, A::Error> {
        let mut values = Vec::new();
        while let Some(text) = list.next_element::<Cow<'_, str>>()? {
            let value = text.parse::<Q>();
            values.push(value.map_err(|error| A::Error::custom(format!("{text}: {error}")))?);
        }
        Ok(Series::List(values))
    }
}

impl<Q: Quantity + JsonSchema> JsonSchema for Series<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Series", Q::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<Q>();
        json_schema!({
            "description": format!("{}", Self::expected_form()),
            "anyOf": [
                { "type": "array", "items": item, "minItems": 1 },
                { "type": "string", "pattern": r"^.+\.\..+$" },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Series<Delay>, String> {
        #[derive(Deserialize)]
        struct Holder {
            x: Series<Delay>,
        }
        let holder = toml::from_str::<Holder>(&format!("x = {text}"));
        holder.map(|holder| holder.x).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn lists_and_ranges_are_read_and_written() {
        let ms = |ms: u64| Delay(ms * 1_000_000);
        let list = Series::List(vec![ms(5), ms(7)]);
        assert_eq!(read("['5ms', '7ms']"), Ok(list.clone()));
        assert_eq!(read("'5ms..7ms'"), Ok(Series::Range(ms(5), ms(7))));
        assert_eq!(serde_json::to_string(&list).unwrap(), r#"["5ms","7ms"]"#);
        let range = Series::Range(ms(5), ms(7));
        assert_eq!(serde_json::to_string(&range).unwrap(), r#""5ms..7ms""#);
    }

    #[test]
    fn anything_else_is_refused_with_what_is_allowed() {
        let expected = Series::<Delay>::expected_form();
        assert_eq!(expected, "a list such as [\"1ms\", \"5ms\"] or a range such as \"1ms..5ms\"");
        assert_eq!(read("'5ms'"), Err(format!("expected {expected}")));
        assert!(read("5").unwrap_err().contains(&expected));
        assert!(read("'7ms..5ms'").unwrap_err().contains("backwards"));
        assert!(read("'7ms..5'").unwrap_err().starts_with("5: expected a duration"));
        assert!(read("['7']").unwrap_err().starts_with("7: expected a duration"));
    }
}
