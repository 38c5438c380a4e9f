//! Numbers of 16 bits over paths of unlike delay and rate: no fresh packet is refused, none is
//! taken twice, and what strangers send moves nothing.

use std::collections::VecDeque;

use polypath_proto::PathId;
use polypath_proto::protection::{HEADROOM, OpenError, Protection};
use polypath_proto::time::{Duration, Time};
use polypath_secure::{FixedKeys, RecordKeys, Suite};

const FAST: Option<PathId> = Some(PathId(0));
const SLOW: Option<PathId> = Some(PathId(1));

fn keys(byte: u8) -> RecordKeys<'static> {
    let bytes: &'static [u8] = match byte {
        1 => &[1; 16],
        _ => &[2; 16],
    };
    RecordKeys { key: bytes, number_key: bytes, iv: [byte; 12] }
}

/// One end of an association whose keys do not change.
fn end(write: u8, read: u8) -> FixedKeys {
    FixedKeys::new(Time::ZERO, Suite::StandIn, 3, keys(write), keys(read)).unwrap()
}

fn seal(end: &mut FixedKeys, content: u64) -> Vec<u8> {
    let mut packet = vec![0; HEADROOM];
    packet.extend_from_slice(&content.to_le_bytes());
    assert!(end.seal(Time::ZERO, &mut packet, 0));
    let len = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    packet.truncate(len);
    packet
}

/// Opens and gives the number that was sealed.
fn open(
    end: &mut FixedKeys,
    now: Time,
    path: Option<PathId>,
    chunk: &[u8],
) -> Result<u64, OpenError> {
    let mut chunk = chunk.to_vec();
    let content = end.open(now, path, &mut chunk)?;
    Ok(u64::from_le_bytes(chunk[content].try_into().unwrap()))
}

/// Two paths, 1 ms and 300 ms long, that share one row of numbers.
struct Paths {
    sender: FixedKeys,
    receiver: FixedKeys,
    slow: VecDeque<(Time, Vec<u8>)>,
    /// Some that were opened, to be replayed.
    opened: VecDeque<Vec<u8>>,
    replay_at: Time,
    sent: u64,
}

impl Paths {
    fn new() -> Self {
        let (sender, receiver) = (end(1, 2), end(2, 1));
        Self {
            sender,
            receiver,
            slow: VecDeque::new(),
            opened: VecDeque::new(),
            replay_at: Time::ZERO,
            sent: 0,
        }
    }

    fn send(&mut self, now: Time, path: Option<PathId>) {
        let chunk = seal(&mut self.sender, self.sent);
        self.sent += 1;
        if path == SLOW {
            self.slow.push_back((now + Duration::from_millis(300), chunk));
            return;
        }
        let arrival = now + Duration::from_millis(1);
        while self.slow.front().is_some_and(|(time, _)| *time <= arrival)
            && let Some((_, late)) = self.slow.pop_front()
        {
            self.receive(arrival, SLOW, late);
        }
        self.receive(arrival, FAST, chunk);
    }

    fn receive(&mut self, now: Time, path: Option<PathId>, chunk: Vec<u8>) {
        let before = self.receiver.stats().opened;
        let result = open(&mut self.receiver, now, path, &chunk);
        assert!(result.is_ok(), "{result:?} of {path:?} at {now}, {} sent", self.sent);
        if path == SLOW || before.is_multiple_of(1009) {
            self.opened.push_back(chunk);
        }
        // Old ones, too: what was opened up to seconds ago is never taken again. Not many at once,
        // since each costs searches, which this path may need.
        if now >= self.replay_at
            && let Some(old) = self.opened.pop_front()
        {
            self.replay_at = now + Duration::from_millis(50);
            self.replay(now, &old);
        }
    }

    fn replay(&mut self, now: Time, chunk: &[u8]) {
        for path in [FAST, SLOW, None] {
            let result = open(&mut self.receiver, now, path, chunk);
            assert!(matches!(result, Err(OpenError::Replayed | OpenError::Forged)), "{result:?}");
        }
    }

    fn finish(mut self) -> FixedKeys {
        let now = Time::from_secs(10_000);
        while let Some((time, late)) = self.slow.pop_front() {
            self.receive(time, SLOW, late);
        }
        for chunk in core::mem::take(&mut self.opened) {
            self.replay(now, &chunk);
        }
        assert_eq!(self.receiver.stats().opened, self.sent);
        self.receiver
    }
}

/// Packets of 1400 bytes at 10 Gbit/s.
const FULL_RATE: u64 = 892_857;

#[test]
fn a_path_of_heartbeats_alone_beside_ten_gigabits_per_second() {
    let mut paths = Paths::new();
    let interval = 1_000_000_000 / FULL_RATE;
    for n in 0..4 * FULL_RATE {
        let now = Time(n * interval);
        if n % FULL_RATE == FULL_RATE / 2 {
            paths.send(now, SLOW);
        }
        paths.send(now, FAST);
    }
    paths.finish();
}

#[test]
fn a_slow_path_that_carries_data_beside_a_rate_that_sways() {
    let mut paths = Paths::new();
    let mut now = Time::ZERO;
    let mut slow_at = Time::ZERO;
    // Up from a thousand a second, down, up again at once, silence, and slow once more.
    let ramp = |t: u64| match t {
        0..1000 => 1000 + (FULL_RATE - 1000) * t / 1000,
        1000..2000 => FULL_RATE - (FULL_RATE - 500) * (t - 1000) / 1000,
        2000..3500 => 500,
        3500..4500 => FULL_RATE,
        4500..6500 => 1,
        _ => 2000,
    };
    while now < Time::from_secs(8) {
        now += Duration::from_nanos(1_000_000_000 / ramp(now.as_nanos() / 1_000_000));
        if now >= slow_at {
            paths.send(now, SLOW);
            // 10 Mbit/s.
            slow_at = now + Duration::from_micros(1120);
        }
        paths.send(now, FAST);
    }
    paths.finish();
}

#[test]
fn forty_thousand_packets_of_reordering() {
    for path in [FAST, SLOW, None] {
        let (mut sender, mut receiver) = (end(1, 2), end(2, 1));
        let chunks: Vec<_> = (0..120_002).map(|n| seal(&mut sender, n)).collect();
        let mut number = 0;
        let mut expect = |end: &mut FixedKeys, path, n: usize| {
            number += 1;
            let now = Time(number * 5000);
            assert_eq!(open(end, now, path, &chunks[n]), Ok(n as u64), "{n}");
        };
        // One that overtakes 40,000, which come then; one that 40,000 overtake; and back to front.
        expect(&mut receiver, path, 40_000);
        (0..40_000).for_each(|n| expect(&mut receiver, FAST, n));
        (40_002..80_001).for_each(|n| expect(&mut receiver, FAST, n));
        expect(&mut receiver, path, 40_001);
        (80_001..120_002).rev().for_each(|n| expect(&mut receiver, path.or(FAST), n));
        for chunk in chunks.iter().step_by(97) {
            let replayed = open(&mut receiver, Time::from_secs(9), path, chunk);
            assert!(replayed.is_err(), "{replayed:?}");
        }
    }
}

/// Its number looks like one that is due soon, whatever path it comes on.
#[test]
fn one_that_tens_of_thousands_overtake_is_taken() {
    for behind in [33_000, 49_000, 60_000, 65_535, 65_536, 65_537, 80_000] {
        for path in [FAST, SLOW, None] {
            let (mut sender, mut receiver) = (end(1, 2), end(2, 1));
            let late = seal(&mut sender, 0);
            for n in 1..=behind {
                let chunk = seal(&mut sender, n);
                assert_eq!(open(&mut receiver, Time(n * 5000), FAST, &chunk), Ok(n));
            }
            let now = Time((behind + 1) * 5000);
            assert_eq!(open(&mut receiver, now, path, &late), Ok(0), "{behind} {path:?}");
        }
    }
}

#[test]
fn the_loss_of_up_to_two_hundred_thousand_in_a_row_is_overcome() {
    for lost in [1, 32_000, 33_000, 70_000, 150_000, 200_000] {
        let (mut sender, mut receiver) = (end(1, 2), end(2, 1));
        for n in 0..100 {
            let chunk = seal(&mut sender, n);
            assert!(open(&mut receiver, Time::from_secs(1), FAST, &chunk).is_ok());
        }
        (0..lost).for_each(|n| drop(seal(&mut sender, n)));
        for n in 0..100 {
            let chunk = seal(&mut sender, n);
            assert_eq!(open(&mut receiver, Time::from_secs(2), FAST, &chunk), Ok(n), "{lost}");
        }
    }
}

#[test]
fn a_path_that_changed_its_delay_is_followed() {
    let (mut sender, mut receiver) = (end(1, 2), end(2, 1));
    let mut late = VecDeque::new();
    let mut lates = 0;
    for n in 0..2_000_000_u64 {
        let now = Time(n * 1120);
        let chunk = seal(&mut sender, n);
        if n % 50_000 == 49_999 {
            let delay = if n < 1_000_000 { 300 } else { 80 };
            late.push_back((now + Duration::from_millis(delay), n, chunk));
        } else {
            assert_eq!(open(&mut receiver, now, FAST, &chunk), Ok(n));
        }
        late.retain(|(time, sent, chunk)| {
            let due = *time <= now;
            if due {
                assert_eq!(open(&mut receiver, now, SLOW, chunk), Ok(*sent));
                lates += 1;
            }
            !due
        });
        if n == 1_500_000 {
            receiver.forget_path(PathId(1));
        }
    }
    assert!(lates > 30);
}

#[test]
fn strangers_can_neither_move_numbers_nor_cost_much() {
    let mut paths = Paths::new();
    for n in 0..200_000 {
        paths.send(Time(n * 1120), FAST);
    }
    let now = Time(200_000 * 1120);
    let genuine = seal(&mut paths.sender, 0);
    let before = paths.receiver.stats();
    for number in 0..=u16::MAX {
        let mut forged = genuine.clone();
        forged[6..8].copy_from_slice(&number.to_be_bytes());
        let end = forged.len() - 1;
        forged[end] ^= 1;
        assert!(open(&mut paths.receiver, now, FAST, &forged).is_err());
    }
    let stats = paths.receiver.stats();
    assert_eq!(stats.opened, before.opened);
    let refused =
        |stats: polypath_proto::protection::ProtectionStats| stats.forged + stats.replayed;
    assert_eq!(refused(stats) - refused(before), 65_536);
    assert!(stats.forged > 10_000);
    assert_eq!(open(&mut paths.receiver, now, FAST, &genuine), Ok(0));
}
