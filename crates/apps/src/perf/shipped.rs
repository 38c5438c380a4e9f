//! What the other end's report says, before anybody sees it or counts with it: its texts cannot
//! drive a terminal, its numbers cannot overflow a sum, and its lists are no longer than an honest
//! one's.

use super::report::{EndReport, PathInterval};
use crate::shown;

/// Nobody has counted further than this: JSON's numbers are exact up to it.
const MOST: u64 = 1 << 53;
/// Paths and limits of an association, more than there can be.
const LONGEST_LIST: usize = 32;

impl EndReport {
    /// The report, made harmless.
    pub(crate) fn into_harmless(mut self) -> Self {
        self.paths.truncate(LONGEST_LIST);
        self.paths.iter_mut().for_each(PathInterval::make_harmless);
        self.limits.truncate(LONGEST_LIST);
        self.limits.iter_mut().for_each(|limit| escape_text(&mut limit.limit));
        for interval in &mut self.intervals {
            interval.paths.truncate(LONGEST_LIST);
            interval.paths.iter_mut().for_each(PathInterval::make_harmless);
            interval.stalls.truncate(LONGEST_LIST);
            interval.stalls.iter_mut().for_each(escape_text);
        }
        self
    }
}

impl PathInterval {
    fn make_harmless(&mut self) {
        self.device.iter_mut().chain(&mut self.note).for_each(escape_text);
        let Self { payload_bytes, goodput_bytes, retransmissions, copies, timeouts, .. } = self;
        for count in [payload_bytes, goodput_bytes, retransmissions, copies, timeouts] {
            *count = (*count).min(MOST);
        }
    }
}

fn escape_text(text: &mut String) {
    *text = shown::escape_remark(text);
}

#[cfg(test)]
mod tests {
    use super::super::report::{Flow, Interval, LimitShare};
    use super::*;

    fn evil() -> PathInterval {
        let at = std::net::SocketAddr::from(([192, 0, 2, 1], 1));
        PathInterval {
            path: 0,
            local: at,
            remote: at,
            payload_bytes: u64::MAX,
            goodput_bytes: u64::MAX,
            retransmissions: u64::MAX,
            copies: u64::MAX,
            timeouts: u64::MAX,
            srtt_ms: Some(f64::MAX),
            cwnd: u64::MAX,
            outstanding: u64::MAX,
            state: Default::default(),
            found_mtu: None,
            device: Some("\u{9b}".repeat(1000)),
            note: Some("\u{1b}[2J".repeat(1000)),
        }
    }

    #[test]
    fn a_report_of_lies_can_be_added_up_and_shown() {
        let limit = LimitShare { limit: "\u{202e}".to_owned(), share: f64::INFINITY };
        let interval =
            Interval { paths: vec![evil(); 100], stalls: vec!["\r".into()], ..Interval::default() };
        let all = Flow { messages: u64::MAX, bytes: u64::MAX };
        let report = EndReport {
            received: all,
            paths: vec![evil(); 100],
            limits: vec![limit; 100],
            intervals: vec![interval.clone()],
            ..EndReport::default()
        };
        let mut tamed = report.into_harmless();
        tamed.share_goodput(&tamed.clone());
        assert_eq!((tamed.paths.len(), tamed.limits.len()), (32, 32));
        assert_eq!(tamed.limits[0].limit, "\\u{202e}");
        assert_eq!(tamed.intervals[0].stalls, ["\\r"]);
        let told = super::super::text::format_interval(1, &tamed.intervals[0]);
        assert!(told.chars().all(|c| c == '\n' || !c.is_control()), "{told}");
    }
}
