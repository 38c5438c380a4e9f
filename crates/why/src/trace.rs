//! Traces as they were read: what each end saw.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use crate::end::End;
use crate::error::WhyError;
use crate::line::Line;

/// The longest line, bytes: a decision of a policy with many inner numbers has some thousands.
const LONGEST_LINE: u64 = 1 << 20;

/// What was read of one file, or of several: what each end of each association saw.
#[derive(Debug, Default)]
pub struct Trace {
    files: Vec<String>,
    /// Of these, those whose last line ends in its midst.
    pub(crate) cut_short: Vec<String>,
    pub(crate) ends: Vec<End>,
    /// Where in `ends` each flow and host of the latest file is.
    places: BTreeMap<String, BTreeMap<String, usize>>,
    /// Whose line was read last.
    latest: Option<usize>,
}

impl Trace {
    /// Reads a trace. `file` is its name, for errors and for what two files have in common. That
    /// its last line ends in its midst is no error if there is a whole one before it: a program
    /// that was killed, or a full disk, leaves that.
    ///
    /// # Errors
    /// When the input fails, or a line is none of a trace; what was read before it is kept.
    pub fn read(&mut self, file: &str, mut input: impl BufRead) -> Result<(), WhyError> {
        self.files.push(file.to_owned());
        self.places.clear();
        self.latest = None;
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut text);
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(WhyError::Input { file: file.to_owned(), error }),
            }
            let taken = match text.last() {
                _ if text.len() as u64 == LONGEST_LINE => Err("too long a line".to_owned()),
                Some(b'\n') => self.take_line(&text),
                _ => self.take_end(file, line, &text),
            };
            taken.map_err(|problem| WhyError::Line { file: file.to_owned(), line, problem })?;
        }
        Ok(())
    }

    /// A last line without its end. No part of an object is one: what is one is whole.
    fn take_end(&mut self, file: &str, line: u64, text: &[u8]) -> Result<(), String> {
        if serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() {
            return self.take_line(text);
        }
        if line == 1 {
            return Err("the line ends in its midst, and there is no other".to_owned());
        }
        self.cut_short.push(file.to_owned());
        Ok(())
    }

    fn take_line(&mut self, text: &[u8]) -> Result<(), String> {
        let line = Line::parse(text)?;
        let Some(event) = line.event()? else { return Ok(()) };
        let at = self.place_of(&line.flow, &line.host);
        if let Some(end) = self.ends.get_mut(at) {
            end.note(line.at, event);
        }
        self.latest = Some(at);
        Ok(())
    }

    /// Where in `ends` this one is. Lines of one end follow each other.
    fn place_of(&mut self, flow: &str, host: &str) -> usize {
        let is_it = |end: &&End| end.flow == flow && end.host == host;
        if let Some(at) = self.latest.filter(|at| self.ends.get(*at).as_ref().is_some_and(is_it)) {
            return at;
        }
        if let Some(at) = self.places.get(flow).and_then(|hosts| hosts.get(host)) {
            return *at;
        }
        let at = self.ends.len();
        self.ends.push(End::new(self.files.len(), flow, host));
        self.places.entry(flow.to_owned()).or_default().insert(host.to_owned(), at);
        at
    }

    /// The names of the files.
    pub(crate) fn files(&self) -> String {
        self.files.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "{\"flow\":\"f\",\"host\":\"c\",\"at\":1,\"event\":\"group\",\"path\":0,\"group\":0}\n";

    fn problem(text: &str) -> String {
        Trace::default().read("t.jsonl", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        assert!(Trace::default().read("t", GOOD.as_bytes()).is_ok());
        for (text, words) in [
            ("x\n", "t.jsonl, line 1: no trace event: expected value"),
            (&format!("{GOOD}{{\"flow\":1}}\n"), "line 2: no trace event: invalid type"),
            (&format!("{GOOD}{{\"flow\":1}}"), "line 2: no trace event: invalid type"),
            (&GOOD.replace("group\"", "sent\""), "event \"sent\" without bytes"),
            (&GOOD[..20], "line 1: the line ends in its midst"),
            (&"x".repeat(1 << 21), "line 1: too long a line"),
            (&GOOD.replace(":1,", ":-1,"), "line 1: no trace event: invalid value"),
        ] {
            let problem = problem(text);
            assert!(problem.contains(words), "{problem}");
            assert!(!problem.contains('\n'));
        }
    }

    #[test]
    fn a_last_line_that_ends_in_its_midst_ends_the_trace() {
        for cut in 1..GOOD.len() - 1 {
            let mut trace = Trace::default();
            trace.read("t", (GOOD.to_owned() + &GOOD[..cut]).as_bytes()).unwrap();
            assert_eq!(trace.cut_short, ["t"], "{cut}");
        }
        let mut trace = Trace::default();
        for text in [GOOD.to_owned() + GOOD.trim_end(), GOOD.trim_end().to_owned()] {
            trace.read("t", text.as_bytes()).unwrap();
        }
        assert!(trace.cut_short.is_empty(), "its last line is whole");
    }

    #[test]
    fn lines_of_many_ends_find_theirs() {
        let line = |flow: u32, host: &str| {
            format!(
                "{{\"flow\":\"{flow}\",\"host\":\"{host}\",\"at\":1,\"event\":\"reneged\",\
                 \"tsn\":{flow}}}\n"
            )
        };
        let mut text = String::new();
        for _ in 0..2 {
            for flow in 0..50 {
                text += &(line(flow, "client") + &line(flow, "server"));
            }
        }
        let mut trace = Trace::default();
        trace.read("a", text.as_bytes()).unwrap();
        trace.read("b", text.as_bytes()).unwrap();
        assert_eq!(trace.ends.len(), 200);
        assert!(trace.ends.iter().all(|end| end.received.len() == 2), "{:?}", trace.ends[0]);
    }
}
