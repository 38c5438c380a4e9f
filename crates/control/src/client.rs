//! Who asks.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::message::{Answer, EventLine, Line, Request, Sections, Status, Use, VERSION, Which};

/// An answer is waited for so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// A longer answer is none, bytes: 1000 associations with eight paths each take less.
const LONGEST: u64 = 16 << 20;

/// A connection to the control socket of a process.
#[derive(Debug)]
pub struct Client {
    reader: BufReader<UnixStream>,
    path: PathBuf,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The process is gone, or does not answer.
    #[error("{}: {}", path.display(), words(error))]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no answer.
    #[error("{}: no control socket: {text}", path.display())]
    Strange {
        /// The socket.
        path: PathBuf,
        /// What is wrong with the answer.
        text: String,
    },
    /// It says no.
    #[error("{0}")]
    Refused(String),
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "the process does not answer".into(),
        io::ErrorKind::ConnectionRefused => "the process is gone".into(),
        _ => error.to_string(),
    }
}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// When nobody is there.
    pub fn connect(path: &Path) -> Result<Self, AskError> {
        let failed = |error| AskError::Io { path: path.to_owned(), error };
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { reader: BufReader::new(stream), path: path.to_owned() })
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, error: io::Error) -> AskError {
        AskError::Io { path: self.path.clone(), error }
    }

    fn strange(&self, text: impl ToString) -> AskError {
        AskError::Strange { path: self.path.clone(), text: text.to_string() }
    }

    /// Asks.
    ///
    /// # Errors
    /// When the process is gone, does not answer, or says no.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, AskError> {
        self.send(request)?;
        match self.hear()? {
            Answer::Error(text) => Err(AskError::Refused(text)),
            answer => Ok(answer),
        }
    }

    /// How things are: of all associations, or of one.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn look(
        &mut self,
        sections: Sections,
        association: Option<u64>,
    ) -> Result<Status, AskError> {
        let mut status = self.look_after(sections, Which { association, after: None })?;
        while let Some(last) = status.associations.last().filter(|_| status.more > 0) {
            let after = Some(last.association);
            let next = self.look_after(sections, Which { association, after })?;
            status.associations.extend(next.associations);
            status.more = next.more;
        }
        Ok(status)
    }

    fn look_after(&mut self, sections: Sections, which: Which) -> Result<Status, AskError> {
        match self.ask(&sections.of(which))? {
            Answer::Status(status) => Ok(*status),
            _ => Err(self.strange("another answer than was asked for")),
        }
    }

    /// Says what a path may be used for; to how many paths that was done.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); also when there is no such path.
    pub fn set_path(
        &mut self,
        path: &str,
        to: Use,
        association: Option<u64>,
    ) -> Result<usize, AskError> {
        match self.ask(&Request::SetPath { path: path.to_owned(), to, association })? {
            Answer::Done(paths) => Ok(paths),
            _ => Err(self.strange("another answer than was asked for")),
        }
    }

    /// Listens to what happens from now on.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn events(mut self) -> Result<EventStream, AskError> {
        self.send(&Request::Events)?;
        // The first line says that it has begun.
        let begun = self.line()?;
        if !begun.is_empty() {
            return match self.parse(&begun)? {
                Answer::Error(text) => Err(AskError::Refused(text)),
                _ => Err(self.strange("another answer than was asked for")),
            };
        }
        let patience = Some(4 * PATIENCE);
        self.reader.get_ref().set_read_timeout(patience).map_err(|error| self.failed(error))?;
        Ok(EventStream { client: self })
    }

    fn send(&mut self, request: &Request) -> Result<(), AskError> {
        let line = serde_json::to_string(&Line::from(request)).map_err(|e| self.strange(e))? + "\n";
        let sent = self.reader.get_mut().write_all(line.as_bytes());
        sent.map_err(|error| self.failed(error))
    }

    fn hear(&mut self) -> Result<Answer, AskError> {
        let line = self.line()?;
        self.parse(&line)
    }

    /// The next line, without its end.
    fn line(&mut self) -> Result<Vec<u8>, AskError> {
        let mut line = Vec::new();
        let mut bounded = io::Read::take(&mut self.reader, LONGEST);
        let read = bounded.read_until(b'\n', &mut line);
        read.map_err(|error| self.failed(error))?;
        match line.pop() {
            Some(b'\n') => Ok(line),
            None => Err(self.failed(io::ErrorKind::UnexpectedEof.into())),
            Some(_) => Err(self.strange("a line without end")),
        }
    }

    fn parse(&self, line: &[u8]) -> Result<Answer, AskError> {
        let line: Line<Answer> = serde_json::from_slice(line).map_err(|e| self.strange(e))?;
        match line.polypath {
            VERSION => Ok(line.word),
            other => {
                Err(self.strange(format!("it speaks version {other}, this program {VERSION}")))
            }
        }
    }
}

/// What happens in a process.
#[derive(Debug)]
pub struct EventStream {
    client: Client,
}

impl EventStream {
    /// The next event; `None` when the process has ended.
    ///
    /// # Errors
    /// When it does not answer, or what it says is not understood.
    pub fn next_event(&mut self) -> Result<Option<EventLine>, AskError> {
        loop {
            let line = match self.client.line() {
                Err(AskError::Io { error, .. })
                    if matches!(
                        error.kind(),
                        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
                    ) =>
                {
                    return Ok(None);
                }
                line => line?,
            };
            if line.is_empty() {
                continue;
            }
            match self.client.parse(&line)? {
                Answer::Event(event) => return Ok(Some(event)),
                Answer::Error(text) => return Err(AskError::Refused(text)),
                _ => {}
            }
        }
    }

    /// Ends listening from another thread, which [`next_event`](Self::next_event) tells as an end.
    ///
    /// # Errors
    /// When the socket cannot be shared.
    pub fn closer(&self) -> io::Result<UnixStream> {
        self.client.reader.get_ref().try_clone()
    }
}
