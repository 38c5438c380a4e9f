//! The server's answers to requests.

use std::collections::VecDeque;

use polypath_link::Nanos;
use polypath_proto::ids::StreamId;
use polypath_proto::time::Time;
use polypath_proto::{Association, RecvFrom, SendOptions};

use crate::delivery_checker::DeliveryChecker;
use crate::meter::DeliveryMeter;

/// Responses of one flow: each request is answered by one message on stream 0.
#[derive(Debug)]
pub(crate) struct Responses {
    checker: DeliveryChecker,
    /// Requests read and not answered yet.
    owed: u64,
    received: u64,
    /// When the requests without a response were accepted.
    asked: VecDeque<Nanos>,
    /// Response times.
    meter: DeliveryMeter,
}

impl Responses {
    pub(crate) fn new(checker: DeliveryChecker) -> Self {
        let meter = DeliveryMeter::new();
        Self { checker, owed: 0, received: 0, asked: VecDeque::new(), meter }
    }

    /// Responses that the client has read.
    pub(crate) fn received_count(&self) -> u64 {
        self.received
    }

    /// The client has sent so many requests.
    pub(crate) fn note_requests(&mut self, now: Nanos, requests: u64) {
        self.asked.extend((0..requests).map(|_| now));
    }

    /// Whether every request is answered and the answer read.
    pub(crate) fn all_received(&self) -> bool {
        self.asked.is_empty()
    }

    /// The server has read a request.
    pub(crate) fn note_request_read(&mut self) {
        self.owed += 1;
    }

    /// Sends what the server owes, as far as there is room.
    pub(crate) fn send_owed(&mut self, now: Nanos, server: &mut Association) {
        while self.owed > 0 {
            let Some((data, ppid)) = self.checker.next_message(None) else { return };
            let options = SendOptions { ppid, ..SendOptions::default() };
            if server.send(Time(now), StreamId(0), data, options).is_err() {
                return;
            }
            self.checker.note_accepted(now, 0, None);
            self.owed -= 1;
        }
    }

    /// Reads all that has reached the client.
    pub(crate) fn read_responses(&mut self, now: Nanos, client: &mut Association) {
        while let Some(message) = client.recv(Time(now), RecvFrom::Any) {
            self.checker.note_delivered(now, &message);
            self.received += 1;
            if let Some(asked) = self.asked.pop_front() {
                self.meter.record_message(message.data.len(), now - asked);
            }
        }
    }

    /// Forgets the measurements so far.
    pub(crate) fn restart(&mut self) {
        self.meter = DeliveryMeter::new();
    }

    pub(crate) fn response_times(&self) -> &DeliveryMeter {
        &self.meter
    }

    pub(crate) fn checker(&self) -> &DeliveryChecker {
        &self.checker
    }
}
