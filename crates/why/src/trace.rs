//! Traces as they were read: what each end saw.

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
    pub(crate) ends: Vec<End>,
}

impl Trace {
    /// Reads a trace. `file` is its name, for errors and for what two files have in common.
    ///
    /// # Errors
    /// When the input fails, or a line is none of a trace; what was read before it is kept.
    pub fn read(&mut self, file: &str, mut input: impl BufRead) -> Result<(), WhyError> {
        let number = self.files.len();
        self.files.push(file.to_owned());
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
                // What a program that was killed wrote last.
                Some(b'\n') => self.take_line(number, &text),
                _ => Err("the line ends in its midst".to_owned()),
            };
            taken.map_err(|problem| WhyError::Line { file: file.to_owned(), line, problem })?;
        }
        Ok(())
    }

    fn take_line(&mut self, file: usize, text: &[u8]) -> Result<(), String> {
        let line = Line::parse(text)?;
        let Some(event) = line.event()? else { return Ok(()) };
        let here = |end: &End| end.file == file && end.flow == line.flow && end.host == line.host;
        // Lines of one end follow each other; ends are few beside lines.
        let known = self.ends.iter().rposition(here);
        let at = known.unwrap_or_else(|| {
            self.ends.push(End::new(file, &line.flow, &line.host));
            self.ends.len() - 1
        });
        if let Some(end) = self.ends.get_mut(at) {
            end.note(line.at, event);
        }
        Ok(())
    }

    /// The names of the files.
    pub(crate) fn files(&self) -> String {
        self.files.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        Trace::default().read("t.jsonl", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        let good =
            "{\"flow\":\"f\",\"host\":\"c\",\"at\":1,\"event\":\"group\",\"path\":0,\"group\":0}\n";
        assert!(Trace::default().read("t", good.as_bytes()).is_ok());
        for (text, words) in [
            ("x\n", "t.jsonl, line 1: no trace event: expected value"),
            (&format!("{good}{{\"flow\":1}}\n"), "line 2: no trace event: invalid type"),
            (&good.replace("group\"", "sent\""), "event \"sent\" without bytes"),
            (good.trim_end(), "line 1: the line ends in its midst"),
            (&"x".repeat(1 << 21), "line 1: too long a line"),
            (&good.replace(":1,", ":-1,"), "line 1: no trace event: invalid value"),
        ] {
            let problem = problem(text);
            assert!(problem.contains(words), "{problem}");
            assert!(!problem.contains('\n'));
        }
    }
}
