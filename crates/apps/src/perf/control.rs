//! What the ends tell each other on stream 0: small messages in JSON, told apart from load by their
//! payload protocol identifiers. Whatever is longer, unknown or odd ends the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use polypath_net::{Association, Message, Reliability, SendOptions, StreamId};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::clock::ClockRelation;
use super::error::PerfError;
use super::report::EndReport;
use super::spec::TestSpec;
use crate::shown;

/// Version of the protocol; ends with different ones do not measure together.
pub(crate) const VERSION: u32 = 1;

/// The stream of control messages.
pub(crate) const CONTROL_STREAM: u16 = 0;

/// Payload protocol identifiers: "PP" and a number.
pub(crate) mod ppid {
    pub(crate) const CONTROL: u32 = 0x5050_0001;
    /// Part of a report; more follow.
    pub(crate) const REPORT: u32 = 0x5050_0002;
    /// The last part of a report.
    pub(crate) const REPORT_END: u32 = 0x5050_0003;
    pub(crate) const LOAD: u32 = 0x5050_0010;
    pub(crate) const REQUEST: u32 = 0x5050_0011;
    pub(crate) const RESPONSE: u32 = 0x5050_0012;
}

/// Longest control message, bytes.
const LONGEST: usize = 4096;
/// Bytes of a report in one message.
const PART: usize = 64 << 10;
/// Longest report, bytes.
const LONGEST_REPORT: usize = 64 << 20;
/// Control messages that may wait to be read, and their bytes: a report. Nobody has reason to send
/// more.
const WAITING: usize = 2048;

/// Bytes of them at a server, which is sent only short ones.
const WAITING_FOR_SERVER: usize = 16 * LONGEST;

/// A message on stream 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Control {
    /// The client's first.
    Hello(Hello),
    /// The server takes part.
    Ready {
        /// Its [`clock_mark`](super::clock::clock_mark).
        clock: Option<String>,
    },
    /// The server does not take part.
    Refused { reason: String },
    /// What is your time?
    Ping,
    /// The server's clock.
    Pong { now_ns: u64 },
    /// Load begins at this time of the client's clock.
    Start { clock: ClockRelation, at_ns: u64 },
    /// Load may come: it is expected, though it may overtake this message.
    Begun,
    /// The client's user wants to end early.
    Stop,
    /// All load was handed in: so many messages.
    Sent { messages: u64 },
}

/// Who asks for what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    /// Associations of the same test have the same number.
    pub(crate) group: u64,
    /// How many these are.
    pub(crate) parallel: u16,
    /// The client's [`clock_mark`](super::clock::clock_mark).
    pub(crate) clock: Option<String>,
    pub(crate) test: TestSpec,
}

impl Control {
    /// Reads a message of the peer.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, PerfError> {
        if bytes.len() > LONGEST {
            let told = format!("a control message of {} bytes (allowed: {LONGEST})", bytes.len());
            return Err(PerfError::Protocol(told));
        }
        serde_json::from_slice(bytes).map_err(|error| odd_message("a control message", &error))
    }

    fn to_bytes(&self) -> Bytes {
        // Plain data without maps always has a JSON form.
        serde_json::to_vec(self).map_or_else(|_| Bytes::new(), Bytes::from)
    }
}

/// The error of a message of which serde says this, perhaps in the peer's words.
fn odd_message(what: &str, error: &serde_json::Error) -> PerfError {
    PerfError::Protocol(format!("{what}: {}", shown::escape_remark(&error.to_string())))
}

const fn send_options(ppid: u32) -> SendOptions {
    SendOptions { unordered: false, ppid, immediate: true, reliability: Reliability::Full }
}

/// Sends one.
pub(crate) async fn send_control(
    association: &Association,
    message: Control,
) -> Result<(), PerfError> {
    association.send_with(CONTROL_STREAM, message.to_bytes(), send_options(ppid::CONTROL)).await?;
    Ok(())
}

/// Sends a report.
pub(crate) async fn send_report(
    association: &Association,
    report: &EndReport,
) -> Result<(), PerfError> {
    let json = serde_json::to_vec(report).map_err(|e| PerfError::Protocol(e.to_string()))?;
    let json = Bytes::from(json);
    let mut rest = json.clone();
    while !rest.is_empty() {
        let part = rest.split_to(rest.len().min(PART));
        let last = rest.is_empty();
        let ppid = if last { ppid::REPORT_END } else { ppid::REPORT };
        association.send_with(CONTROL_STREAM, part, send_options(ppid)).await?;
    }
    Ok(())
}

/// A message on stream 0 that nobody has read yet.
#[derive(Debug)]
struct Letter {
    ppid: u32,
    data: Bytes,
}

/// The receiving loop's end of stream 0.
#[derive(Debug)]
pub(crate) struct Inlet {
    letters: mpsc::Sender<Letter>,
    /// Bytes that wait.
    waiting: Arc<AtomicUsize>,
    limit: usize,
}

/// Where control messages are read.
#[derive(Debug)]
pub(crate) struct Outlet {
    letters: mpsc::Receiver<Letter>,
    waiting: Arc<AtomicUsize>,
}

/// Stream 0 between the loop that receives everything and who reads control messages. What waits in
/// between is bounded, since the receive buffer does not count it any more; only a client is sent
/// reports.
pub(crate) fn control_pipe(client: bool) -> (Inlet, Outlet) {
    let limit = if client { LONGEST_REPORT } else { WAITING_FOR_SERVER };
    let waiting = Arc::<AtomicUsize>::default();
    let (inlet, outlet) = mpsc::channel(WAITING);
    let inlet = Inlet { letters: inlet, waiting: waiting.clone(), limit };
    (inlet, Outlet { letters: outlet, waiting })
}

impl Inlet {
    /// Whether `message` is one of stream 0.
    pub(crate) fn is_control(message: &Message) -> bool {
        message.stream == StreamId(CONTROL_STREAM)
    }

    pub(crate) fn take_control(&self, message: Message) -> Result<(), PerfError> {
        self.put_letter(Letter { ppid: message.ppid, data: message.data })
    }

    fn put_letter(&self, letter: Letter) -> Result<(), PerfError> {
        let bytes = letter.data.len();
        let waiting = self.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let full = self.letters.try_send(letter);
        if waiting > self.limit || matches!(full, Err(mpsc::error::TrySendError::Full(_))) {
            return Err(PerfError::Protocol("too many control messages".to_owned()));
        }
        Ok(())
    }
}

impl Outlet {
    /// The next control message; waits for good once the association is over.
    pub(crate) async fn next_control(&mut self) -> Result<Control, PerfError> {
        let letter = self.next_letter().await;
        if letter.ppid != ppid::CONTROL {
            let told = format!("payload protocol identifier {:#x} on stream 0", letter.ppid);
            return Err(PerfError::Protocol(told));
        }
        Control::from_bytes(&letter.data)
    }

    /// The peer's report; control messages before it are passed over.
    pub(crate) async fn await_report(&mut self) -> Result<EndReport, PerfError> {
        let mut json = Vec::new();
        loop {
            let letter = self.next_letter().await;
            let last = match letter.ppid {
                ppid::CONTROL => continue,
                ppid::REPORT => false,
                ppid::REPORT_END => true,
                other => return Err(PerfError::Protocol(format!("{other:#x} on stream 0"))),
            };
            if json.len() + letter.data.len() > LONGEST_REPORT {
                let told = format!("a report above {LONGEST_REPORT} bytes");
                return Err(PerfError::Protocol(told));
            }
            json.extend_from_slice(&letter.data);
            if last {
                let report = serde_json::from_slice(&json).map(EndReport::into_harmless);
                return report.map_err(|error| odd_message("the report", &error));
            }
        }
    }

    async fn next_letter(&mut self) -> Letter {
        let Some(letter) = self.letters.recv().await else {
            return core::future::pending().await;
        };
        self.waiting.fetch_sub(letter.data.len(), Ordering::Relaxed);
        letter
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::spec::tests::second;
    use super::*;

    #[test]
    fn messages_survive_the_way() {
        let hello = Hello {
            version: VERSION,
            group: u64::MAX,
            parallel: 2,
            clock: Some("ab".to_owned()),
            test: second(),
        };
        let clock = ClockRelation { common: false, offset_ns: i64::MIN, error_ns: 7 };
        for message in [
            Control::Hello(hello),
            Control::Ready { clock: None },
            Control::Refused { reason: "no \"room\"\n".to_owned() },
            Control::Ping,
            Control::Pong { now_ns: u64::MAX },
            Control::Start { clock, at_ns: 3 },
            Control::Begun,
            Control::Stop,
            Control::Sent { messages: 9 },
        ] {
            assert_eq!(Control::from_bytes(&message.to_bytes()).unwrap(), message);
        }
    }

    #[test]
    fn what_is_odd_is_refused_in_one_line() {
        let long = vec![b' '; LONGEST + 1];
        let odd: [&[u8]; 7] = [
            b"",
            b"{}",
            b"{\"type\":\"nosuch\"}",
            b"{\"type\":\"sent\",\"messages\":-1}",
            b"{\"type\":\"sent\",\"messages\":1,\"more\":1}",
            &[0xff; 9],
            &long,
        ];
        for bytes in odd {
            let error = Control::from_bytes(bytes).unwrap_err().to_string();
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let nested = vec![b'['; LONGEST];
        assert!(Control::from_bytes(&nested).is_err());
    }

    #[tokio::test]
    async fn what_waits_on_stream_0_is_bounded() {
        let letter = |bytes: usize| Letter { ppid: ppid::REPORT, data: vec![0; bytes].into() };
        for (client, bytes, fit) in [(false, LONGEST, 16), (true, 1 << 20, 64), (true, 0, WAITING)]
        {
            let (inlet, mut outlet) = control_pipe(client);
            let put = (0..=fit).map_while(|_| inlet.put_letter(letter(bytes)).ok()).count();
            assert_eq!(put, fit, "{bytes} bytes");
            outlet.next_letter().await;
        }
        // What was taken makes room.
        let (inlet, mut outlet) = control_pipe(false);
        for _ in 0..100 {
            inlet.put_letter(letter(WAITING_FOR_SERVER)).unwrap();
            outlet.next_letter().await;
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Control::from_bytes(&bytes);
        }

        #[test]
        fn no_changed_message_panics(at in 0usize..200, byte in any::<u8>()) {
            let hello = Hello { version: 1, group: 1, parallel: 1, clock: None, test: second() };
            let mut bytes = Control::Hello(hello).to_bytes().to_vec();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            let _ = Control::from_bytes(&bytes);
        }
    }
}
