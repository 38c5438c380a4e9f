//! What papers say in figures, as they were read, and what is concluded of a paper as a whole.

use std::io;
use std::path::Path;

use polypath_scenario::{Files, ScenarioError, Source};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::amount::parse_amount;
use super::quantity::Quantity;

/// The file beside a paper's experiments that tells of the paper.
const FILE: &str = "paper.toml";
/// The most that a claim's name may take in a table.
pub(super) const LONGEST_NAME: usize = 75;

/// A paper whose claims are tested.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Paper {
    /// What the ids of its experiments begin with.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Who published it, where and when.
    pub reference: String,
    /// What came of its claims, in three sentences.
    pub conclusion: [String; 3],
}

impl Paper {
    /// The paper of a folder, if the folder says that it has one.
    ///
    /// # Errors
    /// When the file cannot be read or is wrong.
    pub(super) fn of_folder(
        files: &dyn Files,
        folder: &Path,
    ) -> Result<Option<Self>, ScenarioError> {
        let path = folder.join(FILE);
        let name = path.display().to_string();
        match files.text(&path) {
            Ok(text) => {
                let source = Source::new(&name, text)?;
                toml::from_str(&source.resolved())
                    .map(Some)
                    .map_err(|error| source.problem("", error.message().replace('\n', ", ")))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ScenarioError::of_file(name, format!("cannot be read: {error}"))),
        }
    }
}

/// A figure of the paper on what a claim says, or that there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Why there is none.
    Absent(String),
    /// As printed.
    Printed {
        /// The figure.
        size: Size,
        /// Where it was read.
        from: String,
        /// What it is of, in words; absent: `of`.
        what: Option<String>,
        /// The same quantity of ours; absent: what the claim's test compares with a bound.
        of: Option<Box<Quantity>>,
    },
}

/// How large.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// So much, and what reading may have missed on either side.
    About(Written, Written),
    /// No less.
    AtLeast(Written),
    /// No more.
    AtMost(Written),
}

/// An amount as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// In base units.
    pub amount: f64,
    /// Number and unit.
    pub text: String,
}

impl Written {
    /// The number and the unit of its text.
    pub fn parts(&self) -> (&str, &str) {
        let unit = self.text.find(|c: char| c.is_ascii_alphabetic() || c == '%');
        let (number, unit) = self.text.split_at(unit.unwrap_or(self.text.len()));
        (number.trim_end(), unit)
    }
}

/// What a claim has of them: one, or a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings(pub Vec<Reading>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    value: Option<Written>,
    error: Option<Written>,
    at_least: Option<Written>,
    at_most: Option<Written>,
    from: Option<String>,
    what: Option<String>,
    of: Option<Quantity>,
    none: Option<String>,
}

const FORMS: &str = "allowed: value, error and from; at-least or at-most, and from; or none";

impl Raw {
    fn take_reading(self) -> Result<Reading, String> {
        let size = match (self.value, self.error, self.at_least, self.at_most) {
            (Some(value), Some(error), None, None) => Some(Size::About(value, error)),
            (None, None, Some(least), None) => Some(Size::AtLeast(least)),
            (None, None, None, Some(most)) => Some(Size::AtMost(most)),
            (None, None, None, None) => None,
            (Some(_), None, ..) => return Err(format!("value without error ({FORMS})")),
            _ => return Err(format!("more than one figure ({FORMS})")),
        };
        match (size, self.from, self.none) {
            (Some(size), Some(from), None) => {
                Ok(Reading::Printed { size, from, what: self.what, of: self.of.map(Box::new) })
            }
            (None, None, Some(why)) if self.what.is_none() && self.of.is_none() => {
                Ok(Reading::Absent(why))
            }
            (Some(_), None, None) => Err(format!("a figure without from ({FORMS})")),
            (None, _, None) => Err(format!("no figure ({FORMS})")),
            _ => Err(format!("none beside a figure ({FORMS})")),
        }
    }
}

impl<'de> Deserialize<'de> for Readings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = match toml::Value::deserialize(deserializer)? {
            toml::Value::Array(list) => list,
            one => vec![one],
        };
        let read = |value: toml::Value| {
            let raw = Raw::deserialize(value).map_err(|error| error.message().to_owned());
            raw.and_then(Raw::take_reading).map_err(D::Error::custom)
        };
        list.into_iter().map(read).collect::<Result<Vec<_>, _>>().map(Self)
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            number => number.to_string(),
        };
        let amount = parse_amount(&text).ok_or_else(|| {
            D::Error::custom(format!("{text:?} is no number with or without a unit"))
        })?;
        Ok(Self { amount, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Reading>, String> {
        #[derive(Deserialize)]
        struct File {
            paper: Readings,
        }
        let file: Result<File, _> = toml::from_str(&format!("paper = {text}"));
        file.map(|file| file.paper.0).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn every_form_is_read() {
        let all = read(
            "[{ value = '19.2Mbit/s', error = '0.05Mbit/s', from = 'text' }, \
             { at-least = '600ms', from = 'text' }, { at-most = 3, from = 'text', what = 'n' }]",
        );
        let all = all.unwrap();
        let Reading::Printed { size: Size::About(value, error), .. } = &all[0] else {
            panic!("{all:?}")
        };
        assert_eq!((value.amount, value.parts()), (19.2e6, ("19.2", "Mbit/s")));
        assert_eq!(error.amount, 0.05e6);
        assert_eq!(all.len(), 3);
        assert_eq!(read("{ none = 'no figure' }"), Ok(vec![Reading::Absent("no figure".into())]));
    }

    #[test]
    fn mistakes_are_named_in_one_line() {
        for (text, part) in [
            ("{ value = 3, from = 'text' }", "value without error"),
            ("{ value = 3, error = 1 }", "a figure without from"),
            ("{ value = 3, error = 1, at-most = 4, from = 'text' }", "more than one figure"),
            ("{ from = 'text' }", "no figure"),
            ("{ none = 'x', value = 3, error = 1, from = 'text' }", "none beside a figure"),
            ("{ value = 'much', error = 1, from = 'text' }", "\"much\" is no number"),
            ("{ vale = 3 }", "unknown field `vale`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
