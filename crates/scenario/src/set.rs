//! Assignments of the command line: a field by dotted name, and its new value.

use core::str::FromStr;

use toml::{Table, Value};

use crate::error::OneLine;
use crate::field_path::{FieldPath, Step};

/// A field and its new value, as `--set path.B.delay=75ms` gives them.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub(crate) field: FieldPath,
    pub(crate) value: Value,
}

/// Why a text is not an assignment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignmentError {
    /// No `=`, or nothing before it.
    #[error("--set {}: expected FIELD=VALUE, such as path.B.delay=75ms", OneLine(.0))]
    Malformed(String),
    /// A part of the name leads nowhere.
    #[error("--set {}: {} {}", OneLine(field), OneLine(step), OneLine(problem))]
    NoSuchPlace {
        /// The whole name.
        field: String,
        /// The part that cannot be followed.
        step: String,
        /// Why, and what is allowed.
        problem: String,
    },
}

impl FromStr for Assignment {
    type Err = AssignmentError;

    fn from_str(text: &str) -> Result<Self, AssignmentError> {
        let malformed = || AssignmentError::Malformed(text.to_owned());
        let (field, value) = text.split_once('=').ok_or_else(malformed)?;
        let field = FieldPath::parse_leniently(field.trim());
        if field.steps().is_empty() {
            return Err(malformed());
        }
        Ok(Self { field, value: parse_literal(value.trim()) })
    }
}

impl Assignment {
    /// Sets the field named `field` to `value`.
    pub fn new(field: &str, value: Value) -> Self {
        Self { field: FieldPath::parse_leniently(field), value }
    }

    /// Whether it sets the field of this dotted name, or a part of it.
    pub fn is_within(&self, field: &str) -> bool {
        let whole = FieldPath::parse_leniently(field);
        !whole.steps().is_empty() && self.field.steps().starts_with(whole.steps())
    }

    /// Sets the field in `root`; tables on the way are made where they are missing. Items of a list
    /// are named by number or, where they have one, by name. The result says where that was.
    pub(crate) fn apply_to(&self, root: &mut Table) -> Result<FieldPath, AssignmentError> {
        let no_place = |step: &Step, problem: String| AssignmentError::NoSuchPlace {
            field: self.field.to_string(),
            step: match step {
                Step::Key(key) => format!("{key:?}"),
                Step::Index(index) => index.to_string(),
            },
            problem,
        };
        if let Some((step, problem)) = self.find_stranger(root) {
            return Err(no_place(step, problem));
        }
        let mut place = FieldPath::default();
        let Some((last, way)) = self.field.steps().split_last() else { return Ok(place) };
        // A table stands for the root so that every step starts from a value.
        let mut here = Value::Table(core::mem::take(root));
        let outcome = (|| {
            let mut at = &mut here;
            for step in way {
                at =
                    follow_step(at, step, &mut place).map_err(|problem| no_place(step, problem))?;
            }
            let slot =
                follow_step(at, last, &mut place).map_err(|problem| no_place(last, problem))?;
            *slot = self.value.clone();
            Ok(())
        })();
        if let Value::Table(table) = here {
            *root = table;
        }
        outcome.map(|()| place)
    }

    /// The name of a path, link or route that the file does not have, and which it has. Making a
    /// new one of a mistyped name would leave the one that was meant as it is.
    fn find_stranger(&self, root: &Table) -> Option<(&Step, String)> {
        let [Step::Key(kind), name, ..] = self.field.steps() else { return None };
        let Step::Key(key) = name else { return None };
        let known = match kind.as_str() {
            "path" | "link" | "route" => root.get(kind).and_then(Value::as_table),
            _ => return None,
        };
        if known.is_some_and(|known| known.contains_key(key)) {
            return None;
        }
        let names: Vec<&str> =
            known.iter().flat_map(|known| known.keys()).map(String::as_str).collect();
        let names = if names.is_empty() { "there are none".to_owned() } else { names.join(", ") };
        Some((name, format!("is no {kind} of the scenario (allowed: {names})")))
    }
}

/// The value one step further, made if it is a missing key.
fn follow_step<'a>(
    at: &'a mut Value,
    step: &Step,
    place: &mut FieldPath,
) -> Result<&'a mut Value, String> {
    match at {
        Value::Table(table) => {
            let key = match step {
                Step::Key(key) => key.clone(),
                Step::Index(index) => index.to_string(),
            };
            place.descend(&key);
            Ok(table.entry(key).or_insert_with(|| Value::Table(Table::new())))
        }
        Value::Array(list) => {
            let index = find_item(list, step)
                .ok_or_else(|| format!("is no item (allowed: {})", list_items(list)))?;
            place.push(Step::Index(index));
            list.get_mut(index).ok_or_else(String::new)
        }
        _ => Err("lies inside a value that has no fields".to_owned()),
    }
}

fn find_item(list: &[Value], step: &Step) -> Option<usize> {
    match step {
        Step::Index(index) => (*index < list.len()).then_some(*index),
        Step::Key(key) => list.iter().position(|value| name_of(value) == Some(key)),
    }
}

fn list_items(list: &[Value]) -> String {
    let names = list.iter().filter_map(name_of).map(|name| format!(", {name}"));
    let last = list.len().saturating_sub(1);
    format!("0 to {last}{}", names.collect::<String>())
}

/// A flow that gives itself no name goes by its application's.
fn name_of(value: &Value) -> Option<&str> {
    value.get("name").or_else(|| value.get("app")).and_then(Value::as_str)
}

/// A TOML value where the text is one (`true`, `3`, `["A"]`, `{ service = "low-delay" }`), and a
/// text otherwise.
fn parse_literal(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    let plain = parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    match plain {
        // Floats and times are quantities without a unit; as texts they are refused with what is
        // allowed.
        None | Some(Value::Float(_) | Value::Datetime(_)) => Value::String(text.to_owned()),
        Some(value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        "[path.A]\ndelay = '10ms'\n[[flow]]\napp = 'file'\n[[flow]]\nname = 'x'\napp = 'cbr'\n"
            .parse()
            .unwrap()
    }

    fn set(text: &str) -> Result<(String, Option<Value>), String> {
        let mut root = table();
        let assignment: Assignment = text.parse().map_err(|e: AssignmentError| e.to_string())?;
        let place = assignment.apply_to(&mut root).map_err(|e| e.to_string())?;
        Ok((place.to_string(), place.find_value(&root).cloned()))
    }

    #[test]
    fn fields_are_set_by_name_and_number() {
        let text = |s: &str| Some(Value::String(s.to_owned()));
        assert_eq!(set("path.A.delay=75ms"), Ok(("path.A.delay".into(), text("75ms"))));
        assert_eq!(set("path.A.forward.loss = 1%"), Ok(("path.A.forward.loss".into(), text("1%"))));
        assert_eq!(
            set("flow.1.streams=7"),
            Ok(("flow[1].streams".into(), Some(Value::Integer(7))))
        );
        assert_eq!(set("flow[0].rate=1kbit/s"), Ok(("flow[0].rate".into(), text("1kbit/s"))));
        assert_eq!(set("flow.x.start=1s"), Ok(("flow[1].start".into(), text("1s"))));
        assert_eq!(set("flow.file.start=1s"), Ok(("flow[0].start".into(), text("1s"))));
        assert_eq!(set("stack.sfr=false"), Ok(("stack.sfr".into(), Some(Value::Boolean(false)))));
        assert_eq!(
            set("stack.path-scheduler=fixed?map=0:0,1:1"),
            Ok(("stack.path-scheduler".into(), text("fixed?map=0:0,1:1")))
        );
        let list = Value::Array(vec![Value::String("A".into())]);
        assert_eq!(set("flow.x.paths=[\"A\"]"), Ok(("flow[1].paths".into(), Some(list))));
        let needs =
            Value::Table([("priority".to_owned(), Value::Integer(1))].into_iter().collect());
        assert_eq!(set("flow.x.needs={priority=1}"), Ok(("flow[1].needs".into(), Some(needs))));
    }

    #[test]
    fn names_that_lead_nowhere_are_refused() {
        let refusal = |text: &str| set(text).unwrap_err();
        let expected = "expected FIELD=VALUE, such as path.B.delay=75ms";
        assert_eq!(refusal("path.A.delay"), format!("--set path.A.delay: {expected}"));
        assert_eq!(refusal("=3"), format!("--set =3: {expected}"));
        let items = "is no item (allowed: 0 to 1, file, x)";
        assert_eq!(refusal("flow.2.start=1s"), format!("--set flow[2].start: 2 {items}"));
        assert_eq!(refusal("flow.y.start=1s"), format!("--set flow.y.start: \"y\" {items}"));
        let stranger = "is no path of the scenario (allowed: A)";
        assert_eq!(refusal("path.B.delay=1s"), format!("--set path.B.delay: \"B\" {stranger}"));
        let stranger = "is no link of the scenario (allowed: there are none)";
        assert_eq!(refusal("link.B.delay=1s"), format!("--set link.B.delay: \"B\" {stranger}"));
        let inside = "--set path.A.delay.x: \"x\" lies inside a value that has no fields";
        assert_eq!(refusal("path.A.delay.x=1s"), inside);
    }
}
