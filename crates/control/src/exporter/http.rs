//! As much of HTTP/1.1 as it takes to be scraped.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::metrics::Format;
use super::scrape::{Scrape, collect};

/// Connections at a time.
const CONNECTIONS: usize = 16;

/// A longer request is none, bytes.
const LONGEST_REQUEST: usize = 8192;

/// A request may take so long, and an answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// What was collected is given to all who ask so soon after.
const FRESH: Duration = Duration::from_millis(250);

/// Answers `GET /metrics` at `listener` with what the processes say whose sockets are in `folder`.
/// Never ends.
pub fn serve(listener: &TcpListener, folder: &Path, most_associations: usize) {
    let latest = Arc::new(Mutex::<Option<(Instant, Scrape)>>::default());
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Without descriptors one tries again.
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        let place = Place::take(&open);
        if place.is_beyond(CONNECTIONS) {
            continue;
        }
        let (latest, folder) = (latest.clone(), folder.to_owned());
        let answer = move || {
            let _gone = answer(stream, || fresh(&latest, &folder, most_associations));
            drop(place);
        };
        // Without a thread, who asks hears nothing, and asks again.
        let _none = std::thread::Builder::new().name("scrape".to_owned()).spawn(answer);
    }
}

/// One of the connections that there may be at a time, whatever becomes of it.
struct Place {
    open: Arc<AtomicUsize>,
    before: usize,
}

impl Place {
    fn take(open: &Arc<AtomicUsize>) -> Self {
        let before = open.fetch_add(1, Ordering::Relaxed);
        Self { open: open.clone(), before }
    }

    const fn is_beyond(&self, most: usize) -> bool {
        self.before >= most
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn fresh(
    latest: &Mutex<Option<(Instant, Scrape)>>,
    folder: &Path,
    most_associations: usize,
) -> Scrape {
    let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, scrape)) = &*latest
        && at.elapsed() < FRESH
    {
        return scrape.clone();
    }
    let scrape = collect(folder, most_associations);
    *latest = Some((Instant::now(), scrape.clone()));
    scrape
}

fn answer(mut stream: TcpStream, scrape: impl FnOnce() -> Scrape) -> io::Result<()> {
    let Some(request) = read_request(&mut stream)? else {
        return say(&mut stream, "400 Bad Request", "text/plain", "not a request\n", true);
    };
    let whole = request.method != "HEAD";
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        let text = "GET /metrics\n";
        return say(&mut stream, "405 Method Not Allowed", "text/plain", text, whole);
    }
    if !matches!(request.path.as_str(), "/metrics" | "/") {
        return say(&mut stream, "404 Not Found", "text/plain", "GET /metrics\n", whole);
    }
    let format = if request.open_metrics { Format::OpenMetrics } else { Format::Plain };
    match scrape().encode(format) {
        Ok(text) => say(&mut stream, "200 OK", format.content_type(), &text, whole),
        Err(_) => say(&mut stream, "500 Internal Server Error", "text/plain", "", whole),
    }
}

struct Request {
    method: String,
    path: String,
    open_metrics: bool,
}

/// `None`: it is none.
fn read_request(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || bytes.len() > LONGEST_REQUEST {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        let read = stream.read(&mut piece)?;
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        if let Some(parsed) = parse(&bytes) {
            return Ok(parsed);
        }
        if read == 0 {
            return Ok(None);
        }
    }
}

/// `None` while the end of the request has not come.
fn parse(bytes: &[u8]) -> Option<Option<Request>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(_) => return Some(None),
    }
    let accepts = |header: &&mut httparse::Header<'_>| {
        header.name.eq_ignore_ascii_case("accept")
            && header.value.windows(28).any(|part| part == b"application/openmetrics-text")
    };
    let open_metrics = request.headers.iter_mut().any(|header| accepts(&header));
    let path = request.path.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let method = request.method.unwrap_or_default().to_owned();
    Some(Some(Request { method, path: path.to_owned(), open_metrics }))
}

fn say(
    stream: &mut TcpStream,
    status: &str,
    content_type: &str,
    text: &str,
    whole: bool,
) -> io::Result<()> {
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    let body = if whole { text } else { "" };
    write_in_time(stream, [head.as_bytes(), body.as_bytes()].concat().as_slice())
}

/// Writes all of it, or gives up: who takes it slowly holds a place.
fn write_in_time(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = bytes.get(written..).unwrap_or_default(),
        }
    }
    stream.flush()
}
