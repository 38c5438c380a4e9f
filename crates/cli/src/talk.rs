//! What is said beside results: on stderr, and not at all with `--quiet`. Errors are no talk. Whether
//! anybody reads it is no concern of the run.

use core::fmt::Display;
use std::io::{self, Write as _};

use crate::progress::Progress;

/// Whether there is talk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    is_quiet: bool,
}

impl Talk {
    pub(crate) const fn new(is_quiet: bool) -> Self {
        Self { is_quiet }
    }

    pub(crate) const fn is_quiet(self) -> bool {
        self.is_quiet
    }

    /// Says a line.
    pub(crate) fn say(self, line: impl Display) {
        if !self.is_quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Says lines that end as they should.
    pub(crate) fn say_text(self, text: impl Display) {
        if !self.is_quiet {
            let _ = write!(io::stderr(), "{text}");
        }
    }

    /// A bar for what takes long.
    pub(crate) fn progress(self) -> Progress {
        Progress::new(self.is_quiet)
    }
}
