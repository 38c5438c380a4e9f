//! The options of a policy: `name?key=value&key=value`.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::collections::BTreeMap;

use crate::error::PolicyError;
use crate::kind::PolicyKind;
use crate::option::OptionEntry;

/// Gives the text of a file, or says why it cannot.
pub(crate) type ReadFile = dyn Fn(&str) -> Result<String, String>;

/// The options in the text of one policy, defaults filled in.
pub struct Options<'a> {
    kind: PolicyKind,
    known: &'a [OptionEntry],
    text: &'a str,
    given: BTreeMap<&'a str, &'a str>,
    files: &'a ReadFile,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Options({:?})", self.text)
    }
}

impl<'a> Options<'a> {
    /// Splits the text of a policy of this kind, which has the `known` options, and checks the
    /// keys.
    pub(crate) fn parse(
        kind: PolicyKind,
        known: &'a [OptionEntry],
        text: &'a str,
        files: &'a ReadFile,
    ) -> Result<Self, PolicyError> {
        let mut options = Self { kind, known, text, given: BTreeMap::new(), files };
        let parts = text.split_once('?').map(|(_, parts)| parts.split('&'));
        for part in parts.into_iter().flatten() {
            options.insert_option(part)?;
        }
        Ok(options)
    }

    fn insert_option(&mut self, part: &'a str) -> Result<(), PolicyError> {
        let kind = self.kind;
        let text = || self.text.to_owned();
        let Some((key, value)) = part.split_once('=') else {
            return Err(PolicyError::Malformed { kind, text: text(), part: part.to_owned() });
        };
        let option = key.to_owned();
        if !self.known.iter().any(|o| o.name == key) {
            let allowed = list_or_none(self.known.iter().map(|o| o.name));
            return Err(PolicyError::UnknownOption { kind, text: text(), option, allowed });
        }
        if self.given.contains_key(key) {
            return Err(PolicyError::RepeatedOption { kind, text: text(), option });
        }
        self.given.insert(key, value);
        Ok(())
    }

    /// The value of option `name` as text.
    pub fn text(&self, name: &str) -> &str {
        let default = || self.known.iter().find(|o| o.name == name).map(|o| o.default);
        self.given.get(name).copied().or_else(default).unwrap_or_default()
    }

    /// The value that stands beside the text of option `name`.
    ///
    /// # Errors
    /// [`PolicyError::BadValue`] when the text is none of `choices`.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, PolicyError> {
        let text = self.text(name);
        let found = choices.iter().find(|(key, _)| *key == text);
        found.map(|&(_, value)| value).ok_or_else(|| self.refuse(name))
    }

    /// Option `name` as a number.
    ///
    /// # Errors
    /// [`PolicyError::BadValue`] when it is no number, or outside `range`.
    pub fn number<T>(&self, name: &str, range: RangeInclusive<T>) -> Result<T, PolicyError>
    where
        T: FromStr + PartialOrd,
    {
        parse_within(self.text(name), &range).ok_or_else(|| self.refuse(name))
    }

    /// Option `name` as a list `number,number,...`; empty text is an empty list.
    ///
    /// # Errors
    /// [`PolicyError::BadValue`] when a member is no number, or outside `range`.
    pub fn numbers<T>(&self, name: &str, range: RangeInclusive<T>) -> Result<Vec<T>, PolicyError>
    where
        T: FromStr + PartialOrd,
    {
        let numbers: Option<_> =
            list_members(self.text(name)).map(|m| parse_within(m, &range)).collect();
        numbers.ok_or_else(|| self.refuse(name))
    }

    /// Option `name` as a map `number:number,...`; empty text is an empty map.
    ///
    /// # Errors
    /// [`PolicyError::BadValue`] when a member is no pair, a number is outside its range, or a key
    /// is repeated.
    pub fn map<K, V>(
        &self,
        name: &str,
        keys: RangeInclusive<K>,
        values: RangeInclusive<V>,
    ) -> Result<BTreeMap<K, V>, PolicyError>
    where
        K: FromStr + Ord,
        V: FromStr + PartialOrd,
    {
        let mut map = BTreeMap::new();
        for member in list_members(self.text(name)) {
            let pair = member.split_once(':');
            let pair =
                pair.and_then(|(k, v)| Some((parse_within(k, &keys)?, parse_within(v, &values)?)));
            let (key, value) = pair.ok_or_else(|| self.refuse(name))?;
            if map.insert(key, value).is_some() {
                return Err(self.refuse(name));
            }
        }
        Ok(map)
    }

    /// The text of the file that option `name` names, as the registry's
    /// [`with_files`](crate::Registry::with_files) gives it.
    ///
    /// # Errors
    /// [`PolicyError::BadFile`] when it cannot be read.
    pub fn file(&self, name: &str) -> Result<String, PolicyError> {
        (self.files)(self.text(name)).map_err(|problem| self.refuse_file(name, problem))
    }

    /// The error for the file that option `name` names: `problem` says in one line what is wrong
    /// with it.
    pub fn refuse_file(&self, name: &str, problem: impl fmt::Display) -> PolicyError {
        PolicyError::BadFile {
            kind: self.kind,
            text: self.text.to_owned(),
            option: name.to_owned(),
            problem: problem.to_string(),
        }
    }

    /// Checks that the `needed` options are given.
    pub(crate) fn require(&self, needed: &[&str]) -> Result<(), PolicyError> {
        let Some(name) = needed.iter().find(|name| self.text(name).is_empty()) else {
            return Ok(());
        };
        let entry = self.known.iter().find(|o| o.name == *name);
        Err(PolicyError::MissingOption {
            kind: self.kind,
            text: self.text.to_owned(),
            option: (*name).to_owned(),
            values: entry.map_or("", |o| o.values).to_owned(),
        })
    }

    /// The error for the value of option `name`.
    pub fn refuse(&self, name: &str) -> PolicyError {
        let entry = self.known.iter().find(|o| o.name == name);
        PolicyError::BadValue {
            kind: self.kind,
            text: self.text.to_owned(),
            option: name.to_owned(),
            value: self.text(name).to_owned(),
            allowed: entry.map_or("nothing", |o| o.values).to_owned(),
        }
    }
}

/// `a, b, c`, or "none".
pub(crate) fn list_or_none<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn list_members(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(move |_| !text.is_empty())
}

fn parse_within<T: FromStr + PartialOrd>(text: &str, range: &RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|value| range.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KNOWN: &[OptionEntry] = &[
        OptionEntry { name: "side", default: "left", values: "left|right", summary: "" },
        OptionEntry { name: "size", default: "3", values: "<1..9>|all", summary: "" },
        OptionEntry { name: "list", default: "", values: "<n,...>", summary: "" },
    ];

    fn parse(text: &str) -> Result<Options<'_>, PolicyError> {
        Options::parse(PolicyKind::Buffer, KNOWN, text, &|name| match name {
            "dir/a_b-1.json" => Ok("content".to_owned()),
            _ => Err(format!("{name} is not there")),
        })
    }

    fn error(text: &str, read: impl Fn(&Options<'_>) -> Result<(), PolicyError>) -> String {
        parse(text).and_then(|o| read(&o)).expect_err("refused").to_string()
    }

    #[test]
    fn given_values_win_over_defaults() {
        let o = parse("b?side=right&list=1:2,3:4").expect("valid");
        assert_eq!(o.choice("side", &[("left", 'l'), ("right", 'r')]), Ok('r'));
        assert_eq!(o.number("size", 1u32..=9), Ok(3));
        assert_eq!(o.map("list", 0u8..=9, 0u8..=9), Ok(BTreeMap::from([(1, 2), (3, 4)])));
        let o = parse("b").expect("valid");
        assert_eq!(o.numbers("list", 0.0..=1.0), Ok(Vec::new()));
    }

    #[test]
    fn errors_say_what_is_allowed() {
        assert_eq!(
            error("b?colour=red", |_| Ok(())),
            "buffer policy \"b?colour=red\": option \"colour\" is unknown; allowed: side, size, list"
        );
        assert_eq!(
            error("b?size=10", |o| o.number("size", 1u32..=9).map(drop)),
            "buffer policy \"b?size=10\": option \"size\" is \"10\"; allowed: <1..9>|all"
        );
        assert!(error("b?side", |_| Ok(())).contains("\"side\" is malformed; allowed: name?"));
        assert!(error("b?", |_| Ok(())).contains("malformed"));
        assert!(error("b?size=1&size=2", |_| Ok(())).contains("given twice"));
        assert!(error("b?list=1,NaN", |o| o.numbers("list", 0.0..=2.0).map(drop)).contains("NaN"));
        assert!(
            error("b?list=1:1,1:2", |o| o.map("list", 0u8..=9, 0u8..=9).map(drop)).contains("1:2")
        );
    }

    #[test]
    fn files_are_read_by_who_was_handed_in() {
        let read = |text| parse(text).and_then(|o| o.file("list"));
        assert_eq!(read("b?list=dir/a_b-1.json&size=1").as_deref(), Ok("content"));
        assert_eq!(
            read("b?list=x").expect_err("no such file").to_string(),
            "buffer policy \"b?list=x\": option \"list\": x is not there"
        );
    }

    #[test]
    fn needed_options_are_missed() {
        assert_eq!(
            error("b?size=1", |o| o.require(&["side", "list"])),
            "buffer policy \"b?size=1\": option \"list\" is missing; allowed: list=<n,...>"
        );
        assert_eq!(parse("b?list=1").and_then(|o| o.require(&["list"])), Ok(()));
    }

    #[test]
    fn only_listable_values_are_choices() {
        let choices: Vec<_> = KNOWN.iter().flat_map(OptionEntry::choices).collect();
        assert_eq!(choices, ["left", "right", "all"]);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_in_one_line(tail in ".{0,40}") {
            let text = format!("b?{tail}");
            let message = match parse(&text) {
                Ok(o) => match o.map("list", 0u16..=9, 0u16..=9) {
                    Ok(_) => return Ok(()),
                    Err(e) => e.to_string(),
                },
                Err(e) => e.to_string(),
            };
            prop_assert!(!message.contains('\n'));
        }
    }
}
