//! Fragments in any order, again and again, against a simple model: what is complete, and whose turn it is.

#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polypath_proto::RecvFrom;
use polypath_proto::config::AssocConfig;
use polypath_testkit::scripted_peer::ScriptedPeer;
use polypath_wire::{DataChunk, DataFlags, Ssn, StreamId, Tsn};

#[derive(Arbitrary, Debug)]
struct Input {
    /// Stream, U bit, fragments.
    messages: Vec<(u8, bool, u8)>,
    /// Which fragment comes next.
    order: Vec<u8>,
    reader_sleeps: bool,
}

struct Fragment {
    message: usize,
    chunk: (Tsn, StreamId, Ssn, DataFlags),
    payload: [u8; 3],
}

fuzz_target!(|input: Input| {
    let config = AssocConfig { heartbeat_interval: None, ..AssocConfig::default() };
    let mut p = ScriptedPeer::connect(config, 1);
    let mut next: BTreeMap<u16, u16> = BTreeMap::new();
    let (mut fragments, mut places) = (Vec::new(), Vec::new());
    for (i, (stream, unordered, count)) in input.messages.iter().take(40).enumerate() {
        let stream = u16::from(stream % 4);
        let ssn = *next.entry(stream).or_default();
        places.push((stream, *unordered, ssn, usize::from(count % 5) + 1));
        if !unordered {
            next.insert(stream, ssn + 1);
        }
        let count = count % 5 + 1;
        for f in 0..count {
            let flags = DataFlags {
                beginning: f == 0,
                ending: f + 1 == count,
                unordered: *unordered,
                ..DataFlags::default()
            };
            let tsn = p.tsn;
            p.tsn = tsn.next();
            let chunk = (tsn, StreamId(stream), Ssn(ssn), flags);
            fragments.push(Fragment { message: i, chunk, payload: [i as u8, f, 7] });
        }
    }
    if fragments.is_empty() {
        return;
    }
    let mut here = vec![false; fragments.len()];
    let (mut turn, mut got, mut want): (BTreeMap<u16, u16>, Vec<Vec<u8>>, Vec<Vec<u8>>) =
        Default::default();
    let mut done = vec![false; places.len()];
    for pick in input.order.iter().take(400) {
        let at = usize::from(*pick) % fragments.len();
        let Fragment { chunk: (tsn, stream, ssn, flags), payload, .. } = &fragments[at];
        p.send_chunk(&DataChunk {
            tsn: *tsn,
            stream: *stream,
            ssn: *ssn,
            ppid: 0,
            flags: *flags,
            payload,
        });
        here[at] = true;
        // The model: complete messages, ordered ones in their turn.
        loop {
            let whole = |m: usize| {
                let mut own = fragments.iter().zip(&here).filter(|(f, _)| f.message == m);
                own.all(|(_, here)| *here)
            };
            let ready = (0..places.len()).find(|&m| {
                let (stream, unordered, ssn, _) = places[m];
                !done[m]
                    && whole(m)
                    && (unordered || ssn == turn.get(&stream).copied().unwrap_or_default())
            });
            let Some(m) = ready else { break };
            let (stream, unordered, ssn, count) = places[m];
            done[m] = true;
            if !unordered {
                turn.insert(stream, ssn + 1);
            }
            want.push((0..count).flat_map(|f| [m as u8, f as u8, 7]).collect());
        }
        if !input.reader_sleeps {
            read(&mut p, &mut got);
        }
    }
    read(&mut p, &mut got);
    // Within a stream the order counts; among streams any will do.
    let by_stream = |all: &[Vec<u8>], ordered: bool| {
        let mut sorted: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
        for message in all.iter().filter(|m| places[usize::from(m[0])].1 != ordered) {
            sorted.entry(places[usize::from(message[0])].0).or_default().push(message.clone());
        }
        if !ordered {
            sorted.values_mut().for_each(|messages| messages.sort());
        }
        sorted
    };
    for ordered in [true, false] {
        assert_eq!(by_stream(&got, ordered), by_stream(&want, ordered));
    }
});

fn read(p: &mut ScriptedPeer, got: &mut Vec<Vec<u8>>) {
    let now = p.now;
    while let Some(message) = p.assoc().recv(now, RecvFrom::Any) {
        got.push(message.data.to_vec());
    }
}
