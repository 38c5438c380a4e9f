//! One line of a trace, as far as it matters here.

use std::borrow::Cow;

use serde::Deserialize;

use crate::explanation::Hold;

/// Any line; what its event does not have is absent.
#[derive(Debug, Deserialize)]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    pub(crate) flow: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) host: Cow<'a, str>,
    pub(crate) at: u64,
    #[serde(borrow)]
    event: Cow<'a, str>,
    path: Option<u8>,
    tsn: Option<u32>,
    stream: Option<u16>,
    message: Option<u32>,
    fragment: Option<u32>,
    unordered: Option<bool>,
    begins: Option<bool>,
    ends: Option<bool>,
    bytes: Option<u32>,
    #[serde(borrow)]
    fate: Option<Cow<'a, str>>,
    first: Option<u32>,
    last: Option<u32>,
    cumulative_tsn: Option<u32>,
    initial_tsn: Option<u32>,
    peer_initial_tsn: Option<u32>,
    sample: Option<u64>,
    #[serde(borrow)]
    stop: Option<Cow<'a, str>>,
    #[serde(borrow)]
    local: Option<Cow<'a, str>>,
    #[serde(borrow)]
    remote: Option<Cow<'a, str>>,
}

/// An event that tells something of what data waits for. TSNs are as on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Associated { own: u32, peer: u32 },
    Path { path: u8, local: String, remote: String },
    Sent { path: u8, tsn: u32, bytes: u32, stream: Option<u16> },
    Lost { path: u8, tsn: u32 },
    Round { stop: Stop },
    Rtt { path: u8, sample: u64 },
    Arrived(Arrived),
    Deliverable { tsn: u32, first: u32, last: u32 },
    Taken { tsn: u32 },
    Reneged { tsn: u32 },
    Skipped { cumulative: u32 },
}

/// A chunk that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) path: u8,
    pub(crate) tsn: u32,
    pub(crate) stream: u16,
    pub(crate) message: u32,
    pub(crate) interleaved: bool,
    pub(crate) unordered: bool,
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    pub(crate) bytes: u32,
    pub(crate) fate: Fate,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    New,
    Duplicate,
    NoRoom,
    Refused,
}

/// What ended an attempt to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    NoData,
    /// `None`: by none of what a trace has a word for.
    Held(Option<Hold>),
}

impl Stop {
    fn of(word: &str) -> Self {
        match word {
            "no_data" => Self::NoData,
            "peer_window" => Self::Held(Some(Hold::PeerWindow)),
            "paths" => Self::Held(Some(Hold::Paths)),
            "scheduler" => Self::Held(Some(Hold::Scheduler)),
            "pacing" => Self::Held(Some(Hold::Pacing)),
            "company" => Self::Held(Some(Hold::Company)),
            _ => Self::Held(None),
        }
    }
}

impl<'a> Line<'a> {
    /// Reads a line. What it names is fit to be shown from here on.
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self, String> {
        let read: Result<Self, _> = serde_json::from_slice(line);
        let mut line = read.map_err(|error| format!("no trace event: {error}"))?;
        let names = [&mut line.flow, &mut line.host];
        names.into_iter().chain(&mut line.local).chain(&mut line.remote).for_each(clean_name);
        Ok(line)
    }

    /// What it tells, if that matters here.
    pub(crate) fn event(&self) -> Result<Option<Event>, String> {
        Ok(Some(match &*self.event {
            "associated" => Event::Associated {
                own: self.need(self.initial_tsn, "initial_tsn")?,
                peer: self.need(self.peer_initial_tsn, "peer_initial_tsn")?,
            },
            "path" => Event::Path {
                path: self.path()?,
                local: self.need(self.local.as_deref(), "local")?.to_owned(),
                remote: self.need(self.remote.as_deref(), "remote")?.to_owned(),
            },
            "sent" | "copied" => {
                let bytes = self.need(self.bytes, "bytes")?;
                Event::Sent { path: self.path()?, tsn: self.tsn()?, bytes, stream: self.stream }
            }
            "chunk_lost" => Event::Lost { path: self.path()?, tsn: self.tsn()? },
            "round" => Event::Round { stop: Stop::of(self.need(self.stop.as_deref(), "stop")?) },
            "rtt" => Event::Rtt { path: self.path()?, sample: self.need(self.sample, "sample")? },
            "arrived" => Event::Arrived(self.arrived()?),
            "deliverable" => Event::Deliverable {
                tsn: self.tsn()?,
                first: self.need(self.first, "first")?,
                last: self.need(self.last, "last")?,
            },
            "taken" => Event::Taken { tsn: self.tsn()? },
            "reneged" => Event::Reneged { tsn: self.tsn()? },
            "skipped" => {
                Event::Skipped { cumulative: self.need(self.cumulative_tsn, "cumulative_tsn")? }
            }
            _ => return Ok(None),
        }))
    }

    fn arrived(&self) -> Result<Arrived, String> {
        Ok(Arrived {
            path: self.path()?,
            tsn: self.tsn()?,
            stream: self.need(self.stream, "stream")?,
            message: self.need(self.message, "message")?,
            interleaved: self.fragment.is_some(),
            unordered: self.need(self.unordered, "unordered")?,
            begins: self.need(self.begins, "begins")?,
            ends: self.need(self.ends, "ends")?,
            bytes: self.need(self.bytes, "bytes")?,
            fate: match self.need(self.fate.as_deref(), "fate")? {
                "new" => Fate::New,
                "duplicate" => Fate::Duplicate,
                "no_room" => Fate::NoRoom,
                _ => Fate::Refused,
            },
        })
    }

    fn path(&self) -> Result<u8, String> {
        self.need(self.path, "path")
    }

    fn tsn(&self) -> Result<u32, String> {
        self.need(self.tsn, "tsn")
    }

    fn need<T>(&self, value: Option<T>, name: &str) -> Result<T, String> {
        value.ok_or_else(|| format!("event {:?} without {name}", self.event))
    }
}

/// Replaces characters of a name that a terminal obeys, that hide or turn what stands beside them,
/// or that no picture may contain (XML 1.0 section 2.2).
fn clean_name(name: &mut Cow<'_, str>) {
    if name.contains(is_unfit) {
        *name = Cow::Owned(name.replace(is_unfit, "\u{fffd}"));
    }
}

fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_controls_a_terminal_or_breaks_a_picture() {
        let text = "{\"flow\":\"a\\u001b[31m\",\"host\":\"b\\n\\uffff\",\"at\":1,\
                    \"event\":\"path\",\"path\":0,\"local\":\"\\u001b]0;x\\u0007\",\
                    \"remote\":\"\u{202e}1\"}";
        let line = Line::parse(text.as_bytes()).unwrap();
        assert_eq!((&*line.flow, &*line.host), ("a\u{fffd}[31m", "b\u{fffd}\u{fffd}"));
        let (local, remote) = ("\u{fffd}]0;x\u{fffd}".to_owned(), "\u{fffd}1".to_owned());
        assert_eq!(line.event().unwrap(), Some(Event::Path { path: 0, local, remote }));
    }
}
