//! An explanation for people.

use core::fmt::Write as _;

use crate::explanation::{Cause, Clocks, Direction, Episode, Explanation, Hold};

/// The explanation as text: tables, the worst episodes, and what to look at.
pub fn describe(explanation: &Explanation) -> String {
    let mut text = String::new();
    for direction in &explanation.directions {
        describe_direction(&mut text, direction);
    }
    if explanation.directions.is_empty() {
        text.push_str("No data arrived.\n");
    }
    if let Some(clocks) = &explanation.clocks {
        text.push_str(&describe_clocks(clocks));
    }
    for file in &explanation.cut_short {
        add_line(&mut text, &format!("{file} ends in the midst of a line: the rest is missing."));
    }
    text
}

fn describe_direction(text: &mut String, direction: &Direction) {
    let Direction { from, to, bytes, over_ns, whole, .. } = direction;
    let over = over_ns.1.saturating_sub(over_ns.0);
    let line = format!(
        "{from} to {to}: {} in {} s; some of it waited at {to} for {} s ({} of the time)",
        size(*bytes),
        seconds(over),
        seconds(whole.time_ns),
        percent(whole.time_ns.into(), over.into()),
    );
    add_line(text, &line);
    if whole.time_ns == 0 {
        return;
    }
    add_line(text, "");
    let width = direction.paths.values().map(|name| name.chars().count()).max().unwrap_or(0);
    let heads = ["seconds", "of time", "of bytes x time"];
    let [a, b, c] = heads;
    add_line(text, &format!("  {:width$}  {:11}  {a:>9}  {b:>7}  {c:>15}", "path", "cause"));
    for one in &direction.charged {
        let line = format!(
            "  {:width$}  {:11}  {:>9}  {:>7}  {:>15}",
            direction.path_name(one.path),
            one.cause.name(),
            seconds(one.measure.time_ns),
            percent(one.measure.time_ns.into(), whole.time_ns.into()),
            percent(one.measure.byte_time_ns, whole.byte_time_ns),
        );
        add_line(text, &line);
    }
    add_line(text, "");
    add_line(text, "  The longest waits:");
    for episode in &direction.episodes {
        add_line(text, &format!("  {}", describe_episode(direction, episode)));
    }
    add_line(text, "");
    for line in advice(direction) {
        add_line(text, &format!("  {line}"));
    }
    add_line(text, "");
}

fn add_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

fn describe_episode(direction: &Direction, episode: &Episode) -> String {
    let Episode { from_ns, waited_ns, path, cause, most_bytes, tsn, .. } = episode;
    let path = direction.path_name(*path);
    let what = match cause {
        Cause::Loss => format!("TSN {tsn} and others were lost on {path}"),
        Cause::Queue => format!("TSN {tsn} and others were late on {path}"),
        Cause::Reordering => format!("TSN {tsn} and others were on {path}, a slower path"),
        Cause::Window => format!("a closed window held TSN {tsn} and others back for {path}"),
        Cause::Sender => format!("the sender held TSN {tsn} and others back for {path}"),
        Cause::Application => format!("the application had not read TSN {tsn} and others"),
    };
    let (at, waited) = (seconds(*from_ns), seconds(*waited_ns));
    format!("at {at} s, {waited} s: up to {} waited; {what}", size(*most_bytes))
}

/// A share of the time from which on a cause gets a line of advice.
const WORTH_ADVICE: u64 = 10;

/// A line for each cause with a tenth of the waiting time, most first: what to look at.
pub fn advice(direction: &Direction) -> Vec<String> {
    let of = |cause: Cause| -> u64 {
        let own = direction.charged.iter().filter(|one| one.cause == cause);
        own.map(|one| one.measure.time_ns).sum()
    };
    let mut causes = Cause::ALL.map(|cause| (of(cause), cause));
    causes.sort_by_key(|(time, cause)| (core::cmp::Reverse(*time), *cause));
    let worth = |(time, _): &&(u64, Cause)| {
        *time > 0 && time.saturating_mul(WORTH_ADVICE) >= direction.whole.time_ns
    };
    let line = |(_, cause): &(u64, Cause)| {
        let own = direction.charged.iter().filter(|one| one.cause == *cause);
        let worst = own.max_by_key(|one| one.measure.time_ns).map_or(0, |one| one.path);
        let hold = direction.held_by.iter().map(|held| held.by).find(|by| by.cause() == *cause);
        advise(*cause, &direction.path_name(worst), hold)
    };
    causes.iter().filter(worth).map(line).collect()
}

/// `hold`: what held most of it back.
fn advise(cause: Cause, path: &str, hold: Option<Hold>) -> String {
    match cause {
        Cause::Loss => format!(
            "loss: look for what drops packets on {path} (radio, full queue, MTU); what is urgent \
             may go out on two paths at once, and a lower minimum of RTO notices losses sooner"
        ),
        Cause::Queue => format!(
            "queue: look for a standing queue or other traffic on {path}; a queue with AQM there, \
             or a congestion control that keeps queues short"
        ),
        Cause::Reordering => format!(
            "reordering: {path} is slower than the others; more streams, unordered messages, or a \
             path scheduler that leaves slow paths out"
        ),
        Cause::Window => format!("window: {}", advise_window(hold)),
        Cause::Sender => format!("sender: {}", advise_sender(hold)),
        Cause::Application => {
            "application: it reads, or writes the rest of a message, later than the network would \
             let it"
                .to_owned()
        }
    }
}

fn advise_window(hold: Option<Hold>) -> &'static str {
    match hold {
        Some(Hold::Paths) => {
            "those of the paths: a congestion control whose windows grow faster, or a larger \
             Max.Burst"
        }
        Some(Hold::Pacing) => {
            "those of the paths, which packets were spread over: a congestion control whose \
             windows grow faster"
        }
        _ => "the peer's: a larger receive buffer, shorter messages, or a peer that reads sooner",
    }
}

fn advise_sender(hold: Option<Hold>) -> &'static str {
    match hold {
        Some(Hold::Scheduler) => {
            "the path scheduler waited though a path was open: another path scheduler, or other \
             parameters of it"
        }
        Some(Hold::Company) => {
            "what did not fill a packet waited for more (Nagle's rule): write whole messages at \
             once, or turn the rule off"
        }
        _ => "its own queue or sockets were full, or lost chunks waited for their turn",
    }
}

fn describe_clocks(clocks: &Clocks) -> String {
    let mut text = String::new();
    let off = clocks.ahead_ns.unsigned_abs() as f64 / 1e9;
    let side = if clocks.ahead_ns < 0 { "behind" } else { "ahead" };
    let trip = clocks.round_trip_ns as f64 / 1e6;
    let _never_fails = writeln!(
        text,
        "Clocks: that of {} is taken to be {off:.6} s {side}, so that half of the least round \
         trip on path {} ({trip:.3} ms) is its least delay. If the two ways there differ, times \
         of loss, and of what holds it back after, are wrong by up to as much.",
        clocks.host, clocks.path
    );
    text
}

impl Direction {
    /// The path's addresses, or its number.
    pub fn path_name(&self, path: u8) -> String {
        self.paths.get(&path).cloned().unwrap_or_else(|| format!("path {path}"))
    }
}

fn seconds(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e9)
}

fn percent(part: u128, whole: u128) -> String {
    let share = if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    format!("{share:.1} %")
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
