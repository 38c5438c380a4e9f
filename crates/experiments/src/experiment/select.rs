//! Choosing points: one value per axis, or several in turn.

use core::fmt;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value of an axis as the sweep labels it. Numbers and switches may be written plainly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label(pub(super) String);

/// Which point a metric is taken from: the grid, and the values of axes that nothing else binds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Name of the grid; absent: `main`.
    pub grid: Option<String>,
    /// Label by axis.
    pub fixed: IndexMap<String, String>,
}

/// Some values of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// All of them.
    All,
    /// These.
    These(Vec<String>),
    /// From one to another in the order of the sweep, both included; open where absent.
    Range(Option<String>, Option<String>),
    /// All but these.
    Not(Vec<String>),
}

/// Axes to walk over, and which of their values. The first varies slowest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Over(pub IndexMap<String, Pick>);

impl Pick {
    /// The chosen values among `labels`.
    ///
    /// # Errors
    /// Names the value that the axis does not have.
    pub fn choose_among(&self, labels: &[String]) -> Result<Vec<String>, String> {
        let position = |label: &String| {
            let found = labels.iter().position(|known| known == label);
            found.ok_or_else(|| format!("no value {label:?} (allowed: {})", labels.join(", ")))
        };
        match self {
            Self::All => Ok(labels.to_vec()),
            Self::These(these) => {
                these.iter().try_for_each(|label| position(label).map(drop))?;
                Ok(these.clone())
            }
            Self::Range(from, to) => {
                let first = from.as_ref().map_or(Ok(0), position)?;
                let last = to.as_ref().map_or(Ok(labels.len().saturating_sub(1)), position)?;
                Ok(labels.get(first..=last).unwrap_or_default().to_vec())
            }
            Self::Not(not) => {
                not.iter().try_for_each(|label| position(label).map(drop))?;
                Ok(labels.iter().filter(|label| !not.contains(label)).cloned().collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelVisitor;
        impl Visitor<'_> for LabelVisitor {
            type Value = Label;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value of the axis: a text, a number, true or false")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Label, E> {
                Ok(Label(text.to_owned()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Label, E> {
                Ok(Label(number.to_string()))
            }
            fn visit_bool<E: Error>(self, switch: bool) -> Result<Label, E> {
                Ok(Label(switch.to_string()))
            }
        }
        deserializer.deserialize_any(LabelVisitor)
    }
}

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fixed: IndexMap<String, Label> = IndexMap::deserialize(deserializer)?;
        let grid = fixed.shift_remove("grid").map(|Label(name)| name);
        let fixed = fixed.into_iter().map(|(axis, Label(label))| (axis, label)).collect();
        Ok(Self { grid, fixed })
    }
}

impl<'de> Deserialize<'de> for Pick {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PickVisitor)
    }
}

struct PickVisitor;

impl<'de> Visitor<'de> for PickVisitor {
    type Value = Pick;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"*\", a value, a list of values, { from, to } or { not = [...] }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Pick, E> {
        Ok(if text == "*" { Pick::All } else { Pick::These(vec![text.to_owned()]) })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Pick, E> {
        Ok(Pick::These(vec![number.to_string()]))
    }

    fn visit_bool<E: Error>(self, switch: bool) -> Result<Pick, E> {
        Ok(Pick::These(vec![switch.to_string()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pick, A::Error> {
        let mut labels = Vec::new();
        while let Some(Label(label)) = list.next_element()? {
            labels.push(label);
        }
        Ok(Pick::These(labels))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pick, A::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            from: Option<Label>,
            to: Option<Label>,
            not: Option<Vec<Label>>,
        }
        let table = Table::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        let text = |label: Option<Label>| label.map(|Label(text)| text);
        match table {
            Table { from: None, to: None, not: Some(not) } => {
                Ok(Pick::Not(not.into_iter().map(|Label(label)| label).collect()))
            }
            Table { not: None, from, to } => Ok(Pick::Range(text(from), text(to))),
            Table { .. } => Err(A::Error::custom("not together with from or to (allowed: either)")),
        }
    }
}

impl<'de> Deserialize<'de> for Over {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OverVisitor)
    }
}

struct OverVisitor;

impl<'de> Visitor<'de> for OverVisitor {
    type Value = Over;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an axis, a list of axes, or a table of axes and values")
    }

    fn visit_str<E: Error>(self, axis: &str) -> Result<Over, E> {
        Ok(Over([(axis.to_owned(), Pick::All)].into_iter().collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Over, A::Error> {
        let mut axes = IndexMap::new();
        while let Some(axis) = list.next_element::<String>()? {
            axes.insert(axis, Pick::All);
        }
        Ok(Over(axes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Over, A::Error> {
        let mut axes = IndexMap::new();
        while let Some((axis, pick)) = map.next_entry::<String, Pick>()? {
            axes.insert(axis, pick);
        }
        Ok(Over(axes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Vec<String> {
        ["a", "b", "c", "d"].map(str::to_owned).to_vec()
    }

    fn pick(text: &str) -> Result<Vec<String>, String> {
        let over: IndexMap<String, Pick> =
            toml::from_str(&format!("x = {text}")).map_err(|error| error.message().to_owned())?;
        over["x"].choose_among(&labels())
    }

    #[test]
    fn values_are_picked_in_every_form() {
        assert_eq!(pick("'*'").unwrap(), labels());
        assert_eq!(pick("'b'").unwrap(), ["b"]);
        assert_eq!(pick("['d', 'a']").unwrap(), ["d", "a"]);
        assert_eq!(pick("{ from = 'b' }").unwrap(), ["b", "c", "d"]);
        assert_eq!(pick("{ from = 'b', to = 'c' }").unwrap(), ["b", "c"]);
        assert_eq!(pick("{ not = ['b'] }").unwrap(), ["a", "c", "d"]);
    }

    #[test]
    fn what_the_axis_does_not_have_is_named() {
        assert_eq!(pick("'e'").unwrap_err(), "no value \"e\" (allowed: a, b, c, d)");
        assert!(pick("{ not = ['a'], to = 'b' }").is_err());
        assert!(pick("{ until = 'b' }").is_err());
    }
}
