//! What charges come to: by path and cause, and over time.

use std::collections::BTreeMap;

use crate::explanation::{Cause, Episode, Span};
use crate::waiting::{Charge, Stay};

/// A path, and what it is charged with.
type Account = (u8, Cause);

/// What is kept of each account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Time in which most of what waited was waiting for this, ns.
    pub(crate) time: u64,
    /// Bytes times ns.
    pub(crate) byte_time: u128,
}

/// Sums of all charges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) accounts: BTreeMap<Account, Sum>,
    /// Spans in which something waited, in order, and for what most of it did.
    pub(crate) spans: Vec<Span>,
}

impl Sums {
    pub(crate) fn of(charges: &[Charge]) -> Self {
        let mut sums = Self { spans: find_spans(charges), ..Self::default() };
        for charge in charges {
            let sum = sums.accounts.entry((charge.path, charge.cause)).or_default();
            let time = u128::from(charge.until - charge.from);
            sum.byte_time += time * u128::from(charge.bytes);
        }
        for span in &sums.spans {
            let sum = sums.accounts.entry((span.path, span.cause)).or_default();
            sum.time += span.until_ns - span.from_ns;
        }
        sums
    }
}

/// The whole, by the stays of chunks alone.
pub(crate) fn whole(stays: &[Stay]) -> Sum {
    let byte_time = |stay: &Stay| u128::from(stay.until - stay.from) * u128::from(stay.bytes);
    let mut order: Vec<(u64, u64)> = stays.iter().map(|stay| (stay.from, stay.until)).collect();
    order.sort_unstable();
    let (mut time, mut end) = (0, 0);
    for (from, until) in order {
        time += until.saturating_sub(from.max(end));
        end = end.max(until);
    }
    Sum { time, byte_time: stays.iter().map(byte_time).sum() }
}

/// Each moment goes to the account for which most bytes wait; of equals, to the first.
fn find_spans(charges: &[Charge]) -> Vec<Span> {
    let mut changes: Vec<(u64, Account, i128)> = Vec::with_capacity(2 * charges.len());
    for charge in charges {
        let account = (charge.path, charge.cause);
        changes.push((charge.from, account, charge.bytes.into()));
        changes.push((charge.until, account, -i128::from(charge.bytes)));
    }
    changes.sort_unstable();
    let mut bytes: BTreeMap<Account, i128> = BTreeMap::new();
    let mut spans: Vec<Span> = Vec::new();
    let mut since = 0;
    for (at, account, change) in changes {
        if at > since {
            add_span(&mut spans, &bytes, since, at);
            since = at;
        }
        *bytes.entry(account).or_default() += change;
    }
    spans
}

fn add_span(spans: &mut Vec<Span>, bytes: &BTreeMap<Account, i128>, from_ns: u64, until_ns: u64) {
    let waiting = bytes.iter().filter(|(_, bytes)| **bytes > 0);
    let most = waiting.max_by(|(a, most), (b, more)| most.cmp(more).then(b.cmp(a)));
    let Some((&(path, cause), _)) = most else { return };
    match spans.last_mut() {
        Some(last) if last.until_ns == from_ns && (last.path, last.cause) == (path, cause) => {
            last.until_ns = until_ns;
        }
        _ => spans.push(Span { from_ns, until_ns, path, cause }),
    }
}

/// Between spans of one path and cause less than this is one episode still, ns.
const PAUSE: u64 = 20_000_000;

/// The longest episodes, longest first: spans of one path and cause, close together.
pub(crate) fn worst_episodes(spans: &[Span], charges: &[Charge], most: usize) -> Vec<Episode> {
    let mut found = gather_episodes(spans);
    found.sort_by_key(|one| (core::cmp::Reverse(one.waited_ns), one.from_ns));
    found.truncate(most);
    found.iter_mut().for_each(|one| describe_episode(one, charges));
    found
}

fn gather_episodes(spans: &[Span]) -> Vec<Episode> {
    let mut open: BTreeMap<Account, Episode> = BTreeMap::new();
    let mut found = Vec::new();
    for span in spans {
        let account = (span.path, span.cause);
        let waited = span.until_ns - span.from_ns;
        if let Some(one) = open.get_mut(&account)
            && span.from_ns - one.until_ns < PAUSE
        {
            one.until_ns = span.until_ns;
            one.waited_ns += waited;
            continue;
        }
        let fresh = Episode {
            from_ns: span.from_ns,
            until_ns: span.until_ns,
            waited_ns: waited,
            path: span.path,
            cause: span.cause,
            most_bytes: 0,
            tsn: 0,
        };
        found.extend(open.insert(account, fresh));
    }
    found.extend(open.into_values());
    found
}

/// The TSN that most of it is charged to, and the most bytes that waited for its account at once.
fn describe_episode(one: &mut Episode, charges: &[Charge]) {
    let mut tsns: BTreeMap<u32, u128> = BTreeMap::new();
    let mut changes: Vec<(u64, i128)> = Vec::new();
    let own = charges.iter().filter(|charge| (charge.path, charge.cause) == (one.path, one.cause));
    for charge in own {
        let from = charge.from.max(one.from_ns);
        let until = charge.until.min(one.until_ns);
        if until > from {
            let weight = u128::from(until - from) * u128::from(charge.bytes);
            *tsns.entry(charge.tsn).or_default() += weight;
            changes.extend([(from, charge.bytes.into()), (until, -i128::from(charge.bytes))]);
        }
    }
    changes.sort_unstable();
    let mut bytes = 0;
    for (_, change) in changes {
        bytes += change;
        one.most_bytes = one.most_bytes.max(u64::try_from(bytes).unwrap_or(0));
    }
    let heaviest = tsns.into_iter().max_by_key(|(_, weight)| *weight);
    one.tsn = heaviest.map_or(0, |(tsn, _)| tsn);
}
