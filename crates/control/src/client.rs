//! Who asks.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::message::{Answer, EventLine, Line, Request, Sections, Status, Use, VERSION, Which};

/// An answer is waited for so long, whole.
const PATIENCE: Duration = Duration::from_secs(2);

/// A sign of life of who tells events is waited for so long.
const EVENT_PATIENCE: Duration = Duration::from_secs(20);

/// Associations that are taken from one process, at most.
const MOST: usize = 100_000;

/// Processes that are asked at a time.
const AT_ONCE: usize = 32;

/// An answer is read in pieces of so many bytes, each with a deadline of its own.
const READ: usize = 64 << 10;

/// A longer answer is none, bytes: 1000 associations with eight paths each take less.
const LONGEST: usize = 16 << 20;

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

impl AskError {
    /// The process is gone: its socket is, or nobody is there.
    pub fn is_gone(&self) -> bool {
        self.is_left_behind() || self.is_nothing()
    }

    /// The socket was left by a process that is gone.
    pub(crate) fn is_left_behind(&self) -> bool {
        matches!(self, Self::Io { path, error }
            if error.kind() == io::ErrorKind::ConnectionRefused && is_socket(path))
    }

    /// There is nothing of that name.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "the process does not answer".into(),
        io::ErrorKind::ConnectionRefused => "the process is gone".into(),
        // A process that is asked by too many closes before it has read what we ask.
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe => "no answer: is it gone, or asked by too many?".into(),
        _ => error.to_string(),
    }
}

/// Whether there is a socket; nothing else may be removed or replaced.
pub(crate) fn is_socket(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// A connection; a process that takes none does not hold us up, as it would by connect(2).
fn connect(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.connect(&SockAddr::unix(path)?)?;
    socket.set_nonblocking(false)?;
    Ok(UnixStream::from(OwnedFd::from(socket)))
}

/// How things are in each of these processes, asked at the same time: nobody waits for another who
/// does not answer.
pub fn look_at_all(clients: Vec<Client>) -> Vec<(PathBuf, Result<Status, AskError>)> {
    let mut answers = Vec::with_capacity(clients.len());
    let mut clients = clients.into_iter().peekable();
    while clients.peek().is_some() {
        let some: Vec<_> = clients.by_ref().take(AT_ONCE).collect();
        std::thread::scope(|scope| {
            let ask = |mut client: Client| {
                scope.spawn(move || (client.path.clone(), client.look(Sections::Status, None)))
            };
            let asking: Vec<_> = some.into_iter().map(ask).collect();
            answers.extend(asking.into_iter().filter_map(|one| one.join().ok()));
        });
    }
    answers
}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// When nobody is there.
    pub fn connect(path: &Path) -> Result<Self, AskError> {
        let failed = |error| AskError::Io { path: path.to_owned(), error };
        let stream = connect(path).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        Ok(Self { reader: BufReader::with_capacity(READ, stream), path: path.to_owned() })
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
        self.ask_until(request, Instant::now() + PATIENCE)
    }

    fn ask_until(&mut self, request: &Request, until: Instant) -> Result<Answer, AskError> {
        self.send(request)?;
        let line = self.line(until)?;
        match self.parse(&line)? {
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
        let until = Instant::now() + PATIENCE;
        let mut status = self.look_after(sections, Which { association, after: None }, until)?;
        while let Some(last) = status.associations.last().map(|last| last.association)
            && status.more > 0
            && status.associations.len() < MOST
        {
            let which = Which { association, after: Some(last) };
            let next = self.look_after(sections, which, until)?;
            if next.associations.first().is_none_or(|first| first.association <= last) {
                break;
            }
            status.associations.extend(next.associations);
            status.more = next.more;
        }
        Ok(status)
    }

    fn look_after(
        &mut self,
        sections: Sections,
        which: Which,
        until: Instant,
    ) -> Result<Status, AskError> {
        match self.ask_until(&sections.of(which), until)? {
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
        let begun = self.line(Instant::now() + PATIENCE)?;
        if !begun.is_empty() {
            return match self.parse(&begun)? {
                Answer::Error(text) => Err(AskError::Refused(text)),
                _ => Err(self.strange("another answer than was asked for")),
            };
        }
        Ok(EventStream { client: self })
    }

    fn send(&mut self, request: &Request) -> Result<(), AskError> {
        let line = serde_json::to_string(&Line::from(request)).map_err(|e| self.strange(e))? + "\n";
        let sent = self.reader.get_mut().write_all(line.as_bytes());
        sent.map_err(|error| self.failed(error))
    }

    /// The next line, without its end. It has to be whole by `until`, however slowly it comes.
    fn line(&mut self, until: Instant) -> Result<Vec<u8>, AskError> {
        let mut line = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.failed(io::ErrorKind::TimedOut.into()));
            }
            let some = self.reader.get_ref().set_read_timeout(Some(left));
            let some = some.and_then(|()| self.reader.fill_buf()).map(<[u8]>::to_vec);
            let some = some.map_err(|error| self.failed(error))?;
            let end = some.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(some.len());
            line.extend_from_slice(some.get(..taken).unwrap_or_default());
            self.reader.consume(taken + usize::from(end.is_some()));
            match end {
                Some(_) => return Ok(line),
                None if some.is_empty() => {
                    return Err(self.failed(io::ErrorKind::UnexpectedEof.into()));
                }
                None if line.len() > LONGEST => return Err(self.strange("a line without end")),
                None => {}
            }
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
            let line = match self.client.line(Instant::now() + EVENT_PATIENCE) {
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
}
