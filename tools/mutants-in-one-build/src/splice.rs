//! Writes the mutants of one file into its text.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::list::{Genre, Mutant, Position};
use crate::place::{Places, innermost};

/// A file with its mutants.
pub struct Spliced {
    pub text: String,
    /// Where in `text` each mutant's own text is.
    pub mutants: Vec<(usize, Range<usize>)>,
    /// The numbers of those which found no place.
    pub unplaced: Vec<usize>,
}

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The `const` of a function, which goes.
    Const,
    /// The body of a function that returns some iterator: all must be one type.
    Iterator,
    /// The body of a function, which may return at once.
    Body,
    Expression,
    /// An expression which ends a statement without a semicolon.
    Match,
}

/// One place, and what may stand there instead, by the mutant's number.
struct Edit {
    place: Range<usize>,
    kind: Kind,
    instead: Vec<(usize, String)>,
}

/// Writes the mutants into `text`, which is the file that `places` are of.
pub fn splice(text: &str, places: &Places, mutants: &[&Mutant]) -> Spliced {
    let mut edits: BTreeMap<(usize, usize, Kind), Edit> = BTreeMap::new();
    let mut unplaced = Vec::new();
    let mut edit = |place: Range<usize>, kind: Kind, instead: Option<(usize, String)>| {
        // Outer ones come first.
        let key = (place.start, usize::MAX - place.end, kind);
        let new = Edit { place, kind, instead: Vec::new() };
        edits.entry(key).or_insert(new).instead.extend(instead);
    };
    places.const_tokens.iter().for_each(|token| edit(token.clone(), Kind::Const, None));
    for mutant in mutants {
        let changed = byte(text, mutant.start)..byte(text, mutant.end);
        match host(places, mutant.genre, &changed) {
            Some((place, kind)) if !places.is_constant(&place) => {
                let instead = instead(text, mutant, kind, &place, &changed);
                edit(place, kind, Some((mutant.number, instead)));
            }
            _ => unplaced.push(mutant.number),
        }
    }
    let edits: Vec<Edit> = edits.into_values().collect();
    let mut writer = Writer { source: text, text: String::new(), mutants: Vec::new() };
    writer.range(0..text.len(), &edits);
    Spliced { text: writer.text, mutants: writer.mutants, unplaced }
}

/// Where a mutant is chosen.
fn host(places: &Places, genre: Genre, changed: &Range<usize>) -> Option<(Range<usize>, Kind)> {
    let expression = |place: Range<usize>| (place, Kind::Expression);
    let within = |list: &[Range<usize>]| {
        innermost(list.iter().map(|range| (range, ())), changed).map(|(place, ())| place)
    };
    match genre {
        Genre::FnValue => {
            let bodies = places.bodies.iter().map(|(range, iterator)| (range, *iterator));
            let (body, iterator) = innermost(bodies, changed)?;
            Some((body, if iterator { Kind::Iterator } else { Kind::Body }))
        }
        Genre::BinaryOperator | Genre::UnaryOperator => {
            places.operators.get(&changed.start).cloned().map(expression)
        }
        Genre::MatchArm => within(&places.matches).map(|place| (place, Kind::Match)),
        Genre::MatchArmGuard => Some(expression(changed.clone())),
        Genre::StructField => within(&places.structs).map(expression),
    }
}

/// What stands at `place` for a mutant.
fn instead(
    text: &str,
    mutant: &Mutant,
    kind: Kind,
    place: &Range<usize>,
    changed: &Range<usize>,
) -> String {
    if matches!(kind, Kind::Body | Kind::Iterator) {
        return mutant.replacement.clone();
    }
    let (before, after) = (&text[place.start..changed.start], &text[changed.end..place.end]);
    // What a deleted field or arm leaves behind is its comma.
    let after = match mutant.genre {
        Genre::StructField | Genre::MatchArm => after.strip_prefix(',').unwrap_or(after),
        _ => after,
    };
    format!("{before}{}{after}", mutant.replacement)
}

struct Writer<'a> {
    source: &'a str,
    text: String,
    mutants: Vec<(usize, Range<usize>)>,
}

impl Writer<'_> {
    /// Writes a part of the source with the edits that are in it.
    fn range(&mut self, range: Range<usize>, mut edits: &[Edit]) {
        let mut at = range.start;
        while let Some((edit, rest)) = edits.split_first() {
            let inner = rest.partition_point(|other| other.place.start < edit.place.end);
            self.text.push_str(&self.source[at..edit.place.start]);
            self.edit(edit, &rest[..inner]);
            at = edit.place.end;
            edits = &rest[inner..];
        }
        self.text.push_str(&self.source[at..range.end]);
    }

    fn edit(&mut self, edit: &Edit, inner: &[Edit]) {
        let place = edit.place.clone();
        match edit.kind {
            Kind::Const => {}
            Kind::Body => {
                for (number, value) in &edit.instead {
                    self.text.push_str(&format!("if crate::mutants::is({number}) {{ return "));
                    self.mutant(*number, value);
                    self.text.push_str("; } ");
                }
                self.range(place, inner);
            }
            Kind::Iterator => {
                for (number, value) in &edit.instead {
                    self.text.push_str(&format!("if crate::mutants::is({number}) {{ "));
                    self.text.push_str("crate::mutants::Two::One(");
                    self.mutant(*number, value);
                    self.text.push_str(") } else { crate::mutants::Two::Other({");
                }
                self.range(place, inner);
                self.text.push_str(&"}) }".repeat(edit.instead.len()));
            }
            Kind::Expression => self.expression(["(", ")"], edit, inner),
            Kind::Match => self.expression(["{", "}"], edit, inner),
        }
    }

    /// The original is the first arm, so that the compiler blames the mutants for other types.
    fn expression(&mut self, [open, close]: [&str; 2], edit: &Edit, inner: &[Edit]) {
        let numbers: Vec<usize> = edit.instead.iter().map(|(number, _)| *number).collect();
        self.text.push_str(&format!("{open}match crate::mutants::chosen() {{ "));
        self.text.push_str(&format!("chosen if !{numbers:?}.contains(&chosen) => ("));
        self.range(edit.place.clone(), inner);
        self.text.push_str("), ");
        for (index, (number, value)) in edit.instead.iter().enumerate() {
            let last = index + 1 == edit.instead.len();
            self.text.push_str(&if last { "_ => (".to_owned() } else { format!("{number} => (") });
            self.mutant(*number, value);
            self.text.push_str("), ");
        }
        self.text.push_str(&format!("}}{close}"));
    }

    fn mutant(&mut self, number: usize, value: &str) {
        let start = self.text.len();
        self.text.push_str(value);
        self.mutants.push((number, start..self.text.len()));
    }
}

/// The byte at a position.
fn byte(text: &str, (line, column): Position) -> usize {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let line = &text[start..];
    start + line.char_indices().nth(column - 1).map_or(line.len(), |(offset, _)| offset)
}
