//! Whatever a trace says, what is charged adds up to what waited, and nothing panics.

use polypath_why::{Explanation, Trace, WhyError, describe, explain};
use proptest::prelude::*;

/// One line of a trace, with small numbers so that lines have to do with each other.
#[derive(Clone, Debug)]
struct Line {
    kind: u8,
    host: bool,
    after: After,
    path: u8,
    tsn: u32,
    stream: u16,
    flags: u8,
    bytes: u32,
    span: u32,
}

/// When it comes, ns.
#[derive(Clone, Copy, Debug)]
enum After {
    /// After the line before.
    Short(u32),
    Any(u64),
}

const FIRST: u32 = u32::MAX - 8;

fn line() -> impl Strategy<Value = Line> {
    let tsn = 0..24u32;
    (
        0..10u8,
        any::<bool>(),
        prop_oneof![
            40 => (0..40_000_000u32).prop_map(After::Short),
            1 => any::<u64>().prop_map(After::Any),
        ],
        0..3u8,
        tsn,
        0..2u16,
        any::<u8>(),
        0..3000u32,
        0..4u32,
    )
        .prop_map(|(kind, host, after, path, tsn, stream, flags, bytes, span)| {
            let tsn = FIRST.wrapping_add(tsn);
            Line { kind, host, after, path, tsn, stream, flags, bytes, span }
        })
}

fn event(line: &Line) -> String {
    let Line { path, tsn, stream, flags, bytes, span, .. } = line;
    let last = tsn.wrapping_add(*span);
    let flag = |bit: u8| flags & (1 << bit) != 0;
    match line.kind {
        0 | 1 => format!(
            "\"sent\",\"path\":{path},\"tsn\":{tsn},\"stream\":{stream},\"bytes\":{bytes},\
             \"retransmission\":null"
        ),
        2 => format!("\"copied\",\"path\":{path},\"from\":0,\"tsn\":{tsn},\"bytes\":{bytes}"),
        3 => format!("\"chunk_lost\",\"path\":{path},\"tsn\":{tsn}"),
        4 | 5 => {
            let fate = ["new", "new", "duplicate", "no_room"][usize::from(flags >> 6)];
            let fragment = if flag(3) { ",\"fragment\":0" } else { "" };
            format!(
                "\"arrived\",\"path\":{path},\"tsn\":{tsn},\"stream\":{stream},\"message\":{span}\
                 {fragment},\"unordered\":{},\"begins\":{},\"ends\":{},\"bytes\":{bytes},\
                 \"fate\":\"{fate}\"",
                flag(0),
                flag(1),
                flag(2)
            )
        }
        6 => format!(
            "\"deliverable\",\"stream\":{stream},\"tsn\":{tsn},\"first\":{tsn},\"last\":{last}"
        ),
        7 => match flags % 4 {
            0 => format!("\"reneged\",\"tsn\":{tsn}"),
            1 => format!("\"skipped\",\"cumulative_tsn\":{tsn}"),
            _ => format!(
                "\"round\",\"trigger\":\"Sack\",\"packets\":1,\"stop\":\"{}\"",
                if flag(4) { "no_data" } else { "paths" }
            ),
        },
        8 => format!(
            "\"rtt\",\"path\":{path},\"sample\":{},\"srtt\":1,\"rto\":1",
            u64::from(*bytes) << (flags % 64)
        ),
        _ => format!("\"taken\",\"stream\":{stream},\"tsn\":{tsn},\"bytes\":{bytes}"),
    }
}

/// Lines by host.
type Lines = Vec<(&'static str, String)>;

/// A line that does not come after another one comes at any time at all.
fn lines_of(lines: &[Line]) -> Lines {
    let mut all = Lines::new();
    for (host, own, peer) in [("client", FIRST, 7), ("server", 7, FIRST)] {
        let text = format!(
            "{{\"flow\":\"f\",\"host\":\"{host}\",\"at\":0,\"event\":\"associated\",\
             \"initial_tsn\":{own},\"peer_initial_tsn\":{peer}}}\n"
        );
        all.push((host, text));
    }
    let mut at = 0u64;
    for line in lines {
        at = match line.after {
            After::Short(time) => at.saturating_add(time.into()),
            After::Any(at) => at,
        };
        // Most of the time the client sends and the server receives.
        let receives = matches!(line.kind, 4..=7 | 9) && !(line.kind == 7 && line.flags % 4 > 1);
        let host = if receives != (line.host && line.flags % 8 == 0) { "server" } else { "client" };
        let event = event(line);
        let text =
            format!("{{\"flow\":\"f\",\"host\":\"{host}\",\"at\":{at},\"event\":{event}}}\n");
        all.push((host, text));
    }
    all
}

fn trace_of(lines: &[Line]) -> String {
    lines_of(lines).into_iter().map(|(_, text)| text).collect()
}

fn explained(text: &str) -> Explanation {
    let mut trace = Trace::default();
    trace.read("t", text.as_bytes()).expect("lines of a trace");
    explain(&trace, None).expect("both ends are there")
}

fn check_sums(explanation: Explanation) -> Result<(), TestCaseError> {
    // Nobody is to see other numbers than those that add up.
    prop_assert!(!describe(&explanation).is_empty());
    for direction in explanation.directions {
        let time: u64 = direction.charged.iter().map(|one| one.measure.time_ns).sum();
        let bytes: u128 = direction.charged.iter().map(|one| one.measure.byte_time_ns).sum();
        prop_assert_eq!(time, direction.whole.time_ns);
        prop_assert_eq!(bytes, direction.whole.byte_time_ns);
        let spans: u64 = direction.spans.iter().map(|one| one.until_ns - one.from_ns).sum();
        prop_assert_eq!(spans, direction.whole.time_ns);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_sum_over_paths_and_causes_is_the_whole(
        lines in proptest::collection::vec(line(), 0..120)
    ) {
        check_sums(explained(&trace_of(&lines)))?;
    }

    /// The clocks of the two files may be as far apart as they like.
    #[test]
    fn so_it_is_when_each_end_wrote_its_own_file(
        lines in proptest::collection::vec(line(), 0..120),
        server_first: bool,
    ) {
        let mut files = ["client", "server"];
        if server_first {
            files.reverse();
        }
        let mut trace = Trace::default();
        for file in files {
            let own = lines_of(&lines).into_iter().filter(|(host, _)| *host == file);
            let text: String = own.map(|(_, text)| text).collect();
            trace.read(file, text.as_bytes()).expect("lines of a trace");
        }
        match explain(&trace, None) {
            Ok(explanation) => check_sums(explanation)?,
            Err(error) => prop_assert!(matches!(error, WhyError::NoClock(_)), "{}", error),
        }
    }

    #[test]
    fn a_line_that_is_cut_or_changed_is_an_error_or_none(
        lines in proptest::collection::vec(line(), 1..30),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut text = trace_of(&lines).into_bytes();
        let place = at.index(text.len());
        text[place] = byte;
        let mut trace = Trace::default();
        match trace.read("t", &text[..]) {
            Ok(()) => _ = explain(&trace, None),
            Err(error) => prop_assert!(error.to_string().starts_with("t, line "), "{}", error),
        }
    }
}
