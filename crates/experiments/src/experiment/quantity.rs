//! What claims and figures speak of: constants, metrics at points, and what is derived from them.

use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::amount;
use super::select::{Over, Selection};

/// A number, or how to get one from the results.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// In base units.
    Constant(f64),
    /// The mean of a metric over the seeds of a point.
    Metric {
        /// Its name.
        metric: String,
        /// The point.
        at: Selection,
    },
    /// The first over the second.
    Ratio(Box<[Self; 2]>),
    /// The first minus the second.
    Difference(Box<[Self; 2]>),
    /// Of a list.
    Fold(Fold, Vec<Self>),
    /// Of one quantity over values of axes.
    FoldOver(Fold, Box<Self>, Over),
}

/// How many become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Sum.
    Sum,
    /// Product.
    Product,
    /// Arithmetic mean.
    Mean,
    /// Greatest.
    Max,
    /// Least.
    Min,
}

impl Quantity {
    /// Calls `visit` for every metric in it.
    pub fn each_metric<'a>(&'a self, visit: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Constant(_) => {}
            Self::Metric { metric, .. } => visit(metric),
            Self::Ratio(two) | Self::Difference(two) => {
                two.iter().for_each(|one| one.each_metric(visit));
            }
            Self::Fold(_, list) => list.iter().for_each(|one| one.each_metric(visit)),
            Self::FoldOver(_, one, _) => one.each_metric(visit),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl<'de> Visitor<'de> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a text with a unit, or a table such as { metric = \"goodput\" }")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity::Constant(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
        Ok(Quantity::Constant(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        let unknown = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
        amount::parse_amount(text).map(Quantity::Constant).ok_or_else(unknown)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Quantity, A::Error> {
        let raw = Raw::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        raw.into_quantity().map_err(A::Error::custom)
    }
}

/// The table form: exactly one of its kinds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    metric: Option<String>,
    #[serde(rename = "where")]
    at: Option<Selection>,
    grid: Option<String>,
    ratio: Option<[Quantity; 2]>,
    difference: Option<[Quantity; 2]>,
    sum: Option<Folded>,
    product: Option<Folded>,
    mean: Option<Folded>,
    max: Option<Folded>,
    min: Option<Folded>,
    over: Option<Over>,
}

/// What is folded: a list, or one quantity over axes.
enum Folded {
    List(Vec<Quantity>),
    One(Box<Quantity>),
}

impl Raw {
    fn into_quantity(mut self) -> Result<Quantity, String> {
        let (at, over) = (self.at.take(), self.over.take());
        if self.metric.is_none() && (at.is_some() || self.grid.is_some()) {
            return Err("where or grid without metric (allowed: beside metric)".to_owned());
        }
        let folds = [
            (Fold::Sum, self.sum.take()),
            (Fold::Product, self.product.take()),
            (Fold::Mean, self.mean.take()),
            (Fold::Max, self.max.take()),
            (Fold::Min, self.min.take()),
        ];
        let mut found = Vec::new();
        for (fold, folded) in folds {
            if let Some(folded) = folded {
                found.push(folded.with_fold(fold, over.clone())?);
            }
        }
        if found.is_empty() && over.is_some() {
            return Err("over without sum, mean, max or min (allowed: beside one)".to_owned());
        }
        let mut at = at.unwrap_or_default();
        at.grid = self.grid.or(at.grid);
        found.extend(self.metric.map(|metric| Quantity::Metric { metric, at }));
        found.extend(self.ratio.map(|two| Quantity::Ratio(Box::new(two))));
        found.extend(self.difference.map(|two| Quantity::Difference(Box::new(two))));
        let count = found.len();
        found.pop().filter(|_| count == 1).ok_or_else(|| {
            format!(
                "{count} kinds of quantity in one table \
                 (allowed: one of metric, ratio, difference, sum, product, mean, max, min)"
            )
        })
    }
}

impl Folded {
    fn with_fold(self, fold: Fold, over: Option<Over>) -> Result<Quantity, String> {
        match (self, over) {
            (Self::List(list), None) if !list.is_empty() => Ok(Quantity::Fold(fold, list)),
            (Self::List(_), None) => Err("an empty list (allowed: one quantity or more)".into()),
            (Self::One(one), Some(over)) => Ok(Quantity::FoldOver(fold, one, over)),
            (Self::List(_), Some(_)) => Err("over beside a list (allowed: one quantity)".into()),
            (Self::One(_), None) => Err("one quantity without over (allowed: a list)".into()),
        }
    }
}

impl<'de> Deserialize<'de> for Folded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FoldedVisitor;
        impl<'de> Visitor<'de> for FoldedVisitor {
            type Value = Folded;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of quantities, or one quantity beside over")
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<Folded, A::Error> {
                Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(list))
                    .map(Folded::List)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Folded, A::Error> {
                QuantityVisitor.visit_map(map).map(|one| Folded::One(Box::new(one)))
            }
        }
        deserializer.deserialize_any(FoldedVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Quantity, String> {
        #[derive(Deserialize)]
        struct File {
            q: Quantity,
        }
        let file: Result<File, _> = toml::from_str(&format!("q = {text}"));
        file.map(|file| file.q).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn every_form_is_read() {
        assert_eq!(read("3").unwrap(), Quantity::Constant(3.0));
        assert_eq!(read("'19Mbit/s'").unwrap(), Quantity::Constant(19e6));
        let metric = read("{ metric = 'goodput', where = { grid = 'g', n = 3 } }").unwrap();
        let Quantity::Metric { at, .. } = metric else { panic!("{metric:?}") };
        assert_eq!(at.grid.as_deref(), Some("g"));
        assert_eq!(at.fixed["n"], "3");
        assert!(matches!(read("{ ratio = [1, 2] }"), Ok(Quantity::Ratio(_))));
        assert!(matches!(read("{ mean = [1, 2] }"), Ok(Quantity::Fold(Fold::Mean, _))));
        let over = read("{ max = { metric = 'goodput' }, over = 'buffer' }").unwrap();
        assert!(matches!(over, Quantity::FoldOver(Fold::Max, ..)));
    }

    #[test]
    fn mistakes_are_named_in_one_line() {
        for (text, part) in [
            ("'fast'", "expected a number"),
            ("{ metric = 'goodput', ratio = [1, 2] }", "2 kinds of quantity"),
            ("{}", "0 kinds of quantity"),
            ("{ sum = [] }", "an empty list"),
            ("{ sum = { metric = 'goodput' } }", "without over"),
            ("{ metric = 'goodput', over = 'x' }", "over without"),
            ("{ ratio = [1, 2], where = {} }", "where or grid without metric"),
            ("{ metrics = 'goodput' }", "unknown field `metrics`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
