//! What a kind of quantity is called, which units it has, and how its texts are read and written.

use core::fmt::{self, Write as _};

/// A kind of quantity, such as durations.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// With its article: "a duration".
    pub name: &'static str,
    /// Valid texts, for messages: "45ms, 1.5s or 10us".
    pub examples: &'static str,
    /// Units, smallest first; the first one whose scale is 1, or the smallest, writes what no other
    /// can.
    pub units: &'static [Unit],
    /// Other spellings of units, as people type them, with their scales: read, never written.
    pub spellings: &'static [(&'static str, u64)],
    /// Whether a text may have several parts, each smaller than the one before, as `1m30s` has;
    /// the last one may lack its unit.
    pub parts: bool,
}

/// A unit of a [`Kind`].
#[derive(Debug, PartialEq, Eq)]
pub struct Unit {
    /// As it is written after the number.
    pub name: &'static str,
    /// Base units in one of it.
    pub scale: u64,
    /// When values are shown in it.
    pub shown: Shown,
}

/// When values are shown in a unit; the largest unit that applies wins.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown {
    /// For values of at least so many base units, with decimals where needed.
    From(u64),
    /// For whole multiples.
    Whole,
    /// Never: accepted, not written.
    Never,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// No number with a known unit.
    #[error("expected {} with a unit, such as {} (units: {})", .0.name, .0.examples, .0.unit_names())]
    Malformed(&'static Kind),
    /// More decimals than the base unit can hold.
    #[error("finer than 1{} (allowed: whole multiples of it)", .0.units[0].name)]
    TooFine(&'static Kind),
    /// Beyond 64 bits of base units.
    #[error("too large (allowed: up to {})", .0.show(u64::MAX))]
    TooLarge(&'static Kind),
}

impl Kind {
    /// Reads a text such as `1.5Mbit/s` or, of durations, `1m30s` into base units. A blank between
    /// number and unit is allowed.
    ///
    /// # Errors
    /// When the number or unit is missing or unknown, too fine or too large.
    pub fn parse(&'static self, text: &str) -> Result<u64, UnitError> {
        let (mut sum, mut last) = (0u64, None);
        let mut rest = text.trim();
        while last.is_none() || !rest.is_empty() {
            let end = rest.find(|c: char| !is_of_number(c)).unwrap_or(rest.len());
            let (number, behind) = rest.split_at(end);
            let end = behind.find(|c: char| is_of_number(c)).unwrap_or(behind.len());
            let (unit, behind) = behind.split_at(end);
            let scale = self.scale_of(unit.trim(), last).ok_or(UnitError::Malformed(self))?;
            let part = self.parse_number(number, scale)?;
            sum = sum.checked_add(part).ok_or(UnitError::TooLarge(self))?;
            (rest, last) = (behind, Some(scale));
        }
        Ok(sum)
    }

    /// Likewise; a number without a unit counts as so many of `plain` base units.
    ///
    /// # Errors
    /// Likewise.
    pub fn parse_or_plain(&'static self, text: &str, plain: u64) -> Result<u64, UnitError> {
        let text = text.trim();
        let is_plain = !text.is_empty() && text.chars().all(is_of_number);
        if is_plain { self.parse_number(text, plain) } else { self.parse(text) }
    }

    /// Base units in one of `unit`, behind a part whose unit had `last`.
    fn scale_of(&self, unit: &str, last: Option<u64>) -> Option<u64> {
        let named = self.units.iter().map(|own| (own.name, own.scale));
        let scale = named.chain(self.spellings.iter().copied());
        let scale = scale.into_iter().find(|(name, _)| *name == unit).map(|(_, scale)| scale);
        let Some(last) = last else { return scale };
        // Of 1m30 the 30 are seconds.
        let sixtieth = self.units.iter().map(|own| own.scale).find(|own| own * 60 == last);
        let scale = scale.or(sixtieth.filter(|_| unit.is_empty()));
        scale.filter(|scale| self.parts && *scale < last)
    }

    fn parse_number(&'static self, number: &str, scale: u64) -> Result<u64, UnitError> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
            return Err(UnitError::Malformed(self));
        }
        let whole = parse_digits(whole).ok_or(UnitError::TooLarge(self))?;
        let whole = whole.checked_mul(scale).ok_or(UnitError::TooLarge(self))?;
        let part = part_of(fraction, scale).ok_or(UnitError::TooFine(self))?;
        whole.checked_add(part).ok_or(UnitError::TooLarge(self))
    }

    /// The text of `base` base units; [`parse`](Self::parse) reads it back.
    pub fn show(&self, base: u64) -> String {
        let applies = |unit: &&Unit| match unit.shown {
            Shown::From(least) => base >= least,
            Shown::Whole => base > 0 && base.is_multiple_of(unit.scale),
            Shown::Never => false,
        };
        let mut text = String::new();
        let unit = self.units.iter().rev().find(applies).or(self.units.first());
        let Some(unit) = unit else { return text };
        // Writing to a string cannot fail.
        let _ = write_decimal(&mut text, base, unit.scale);
        text.push_str(unit.name);
        text
    }

    /// The names of the units, smallest first.
    pub fn unit_names(&self) -> String {
        self.units.iter().map(|u| u.name).collect::<Vec<_>>().join(", ")
    }

    /// A regular expression for editors; it admits a few texts that are too fine or too large, and
    /// parts in any order.
    pub fn pattern(&self) -> String {
        let names = self.units.iter().map(|u| u.name);
        let names: Vec<_> = names.chain(self.spellings.iter().map(|(name, _)| *name)).collect();
        let part = format!(r"[0-9]+(\.[0-9]+)?\s*({})\s*", names.join("|"));
        if self.parts {
            format!(r"^\s*({part})+([0-9]+(\.[0-9]+)?)?\s*$")
        } else {
            format!(r"^\s*{part}$")
        }
    }
}

const fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

fn parse_digits(text: &str) -> Option<u64> {
    text.bytes()
        .try_fold(0u64, |sum, b| sum.checked_mul(10)?.checked_add(u64::from(b.wrapping_sub(b'0'))))
}

/// The decimals `fraction` of a unit of `scale` base units, `None` if that is no whole number.
fn part_of(fraction: &str, scale: u64) -> Option<u64> {
    let fraction = fraction.trim_end_matches('0');
    let tens = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = u128::from(parse_digits(fraction)?).checked_mul(u128::from(scale))?;
    scaled.is_multiple_of(tens).then(|| u64::try_from(scaled / tens).ok())?
}

/// Writes `base / scale` exactly; `scale` is a power of ten, or divides `base`.
fn write_decimal(out: &mut String, base: u64, scale: u64) -> fmt::Result {
    write!(out, "{}", base / scale)?;
    let (mut rest, mut place) = (base % scale, scale / 10);
    if rest > 0 {
        out.push('.');
    }
    while rest > 0 && place > 0 {
        write!(out, "{}", rest / place)?;
        (rest, place) = (rest % place, place / 10);
    }
    Ok(())
}
