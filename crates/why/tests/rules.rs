//! Each rule by a trace made by hand, whose times are in milliseconds: path 0 takes 10, path 1
//! takes 30.

use std::collections::BTreeMap;

use polypath_why::{Cause, Direction, Explanation, Hold, Trace, advice, describe, explain};

const MS: u64 = 1_000_000;

/// What both ends wrote, by end.
#[derive(Default)]
struct Story {
    client: Vec<(u64, String)>,
    server: Vec<(u64, String)>,
}

impl Story {
    fn new() -> Self {
        let mut story = Self::default();
        story.client(0, "\"associated\",\"initial_tsn\":1,\"peer_initial_tsn\":500".to_owned());
        story.server(0, "\"associated\",\"initial_tsn\":500,\"peer_initial_tsn\":1".to_owned());
        story.client(0, "\"rtt\",\"path\":0,\"sample\":20000000,\"srtt\":1,\"rto\":1".to_owned());
        story
    }

    fn client(&mut self, at: u64, event: String) {
        self.client.push((at, event));
    }

    fn server(&mut self, at: u64, event: String) {
        self.server.push((at, event));
    }

    fn send(&mut self, at: u64, path: u8, tsn: u32) -> &mut Self {
        let event = format!("\"sent\",\"path\":{path},\"tsn\":{tsn},\"stream\":0,\"bytes\":1000");
        self.client(at, event);
        self
    }

    fn lose(&mut self, at: u64, path: u8, tsn: u32) -> &mut Self {
        self.client(at, format!("\"chunk_lost\",\"path\":{path},\"tsn\":{tsn}"));
        self
    }

    fn pause(&mut self, at: u64, stop: &str) -> &mut Self {
        let event = format!("\"round\",\"trigger\":\"Sack\",\"packets\":1,\"stop\":\"{stop}\"");
        self.client(at, event);
        self
    }

    /// A whole message (`part` is empty), its first (`<`) or its last chunk (`>`).
    fn arrive(&mut self, at: u64, path: u8, tsn: u32, part: &str) -> &mut Self {
        self.arrive_as(at, path, tsn, part, "new")
    }

    fn arrive_as(&mut self, at: u64, path: u8, tsn: u32, part: &str, fate: &str) -> &mut Self {
        let event = format!(
            "\"arrived\",\"path\":{path},\"tsn\":{tsn},\"stream\":0,\"message\":{tsn},\
             \"unordered\":false,\"begins\":{},\"ends\":{},\"bytes\":1000,\"fate\":\"{fate}\"",
            part != ">",
            part != "<"
        );
        self.server(at, event);
        self
    }

    /// Messages of one chunk each can be taken, and are.
    fn deliver(&mut self, at: u64, tsns: &[u32]) -> &mut Self {
        tsns.iter().for_each(|tsn| _ = self.deliver_parts(at, *tsn, *tsn, at));
        self
    }

    fn deliver_parts(&mut self, at: u64, first: u32, last: u32, taken: u64) -> &mut Self {
        let event = format!(
            "\"deliverable\",\"stream\":0,\"tsn\":{first},\"first\":{first},\"last\":{last}"
        );
        self.server(at, event);
        self.server(taken, format!("\"taken\",\"stream\":0,\"tsn\":{first},\"bytes\":1000"));
        self
    }

    fn lines(&self, host: &str, later: u64) -> String {
        let events = if host == "client" { &self.client } else { &self.server };
        let line = |(at, event): &(u64, String)| {
            let at = (at + later) * MS;
            format!("{{\"flow\":\"f\",\"host\":\"{host}\",\"at\":{at},\"event\":{event}}}\n")
        };
        events.iter().map(line).collect()
    }

    /// One file with both ends.
    fn explained(&self) -> Explanation {
        let mut trace = Trace::default();
        let text = self.lines("client", 0) + &self.lines("server", 0);
        trace.read("both", text.as_bytes()).unwrap();
        explain(&trace, None).unwrap()
    }

    /// Two files, of which the clocks do not agree.
    fn joined(&self, client_later: u64, server_later: u64) -> Explanation {
        let mut trace = Trace::default();
        let ends = [("client", client_later), ("server", server_later)];
        for (host, later) in ends {
            trace.read(host, self.lines(host, later).as_bytes()).unwrap();
        }
        explain(&trace, None).unwrap()
    }
}

/// Milliseconds in which 1000 bytes waited, by path and cause.
fn charged(explanation: &Explanation) -> BTreeMap<(u8, Cause), u64> {
    let [direction] = &explanation.directions[..] else { panic!("one direction") };
    let sum = |one: u128| u64::try_from(one / u128::from(1000 * MS)).unwrap();
    let all = direction.charged.iter();
    all.map(|one| ((one.path, one.cause), sum(one.measure.byte_time_ns))).collect()
}

/// Both paths were empty once.
fn calm() -> Story {
    let mut story = Story::new();
    story.send(0, 0, 1).arrive(10, 0, 1, "").deliver(10, &[1]);
    story.send(20, 1, 2).arrive(50, 1, 2, "").deliver(50, &[2]);
    story
}

#[test]
fn what_is_sent_together_and_comes_apart_is_reordering_of_the_slower_path() {
    let mut story = calm();
    story.send(100, 1, 3).send(100, 0, 4);
    story.arrive(110, 0, 4, "").arrive(130, 1, 3, "").deliver(130, &[3, 4]);
    assert_eq!(charged(&story.explained()), [((1, Cause::Reordering), 20)].into());
}

#[test]
fn what_is_late_beyond_the_floor_is_a_queue() {
    let mut story = calm();
    story.send(100, 1, 3).send(100, 0, 4);
    story.arrive(110, 0, 4, "").arrive(155, 1, 3, "").deliver(155, &[3, 4]);
    let expected = [((1, Cause::Reordering), 20), ((1, Cause::Queue), 25)];
    assert_eq!(charged(&story.explained()), expected.into());
}

fn held_by(direction: &Direction) -> Vec<(Hold, u128)> {
    direction.held_by.iter().map(|held| (held.by, held.time_ns)).collect()
}

#[test]
fn loss_lasts_until_the_chunk_is_here_but_for_what_holds_its_retransmission_back() {
    let mut story = calm();
    story.send(200, 0, 3).send(200, 0, 4).lose(260, 0, 3).pause(262, "pacing").send(270, 1, 3);
    story.arrive(210, 0, 4, "").arrive(305, 1, 3, "").deliver(305, &[3, 4]);
    let expected = [
        // Missed from 210 to 260, and the way of the retransmission.
        ((0, Cause::Loss), 50 + 30),
        ((1, Cause::Window), 10),
        ((1, Cause::Queue), 5),
    ];
    let explanation = story.explained();
    assert_eq!(charged(&explanation), expected.into());
    assert_eq!(held_by(&explanation.directions[0]), [(Hold::Pacing, 10_000_000)]);
    let text = describe(&explanation);
    assert!(text.contains("at 0.210 s, 0.080 s: up to 1000 B waited; TSN 3 and others were lost"));
    assert!(advice(&explanation.directions[0])[0].starts_with("loss: "));
}

#[test]
fn what_is_lost_twice_and_sent_again_at_once_is_loss_all_the_time() {
    let mut story = calm();
    story.send(200, 0, 3).send(200, 0, 4).arrive(210, 0, 4, "");
    story.lose(1_200, 0, 3).send(1_200, 0, 3).lose(3_200, 0, 3).send(3_200, 0, 3);
    story.arrive(3_210, 0, 3, "").deliver(3_210, &[3, 4]);
    assert_eq!(charged(&story.explained()), [((0, Cause::Loss), 3_000)].into());
}

#[test]
fn a_retransmission_that_was_not_needed_makes_a_late_chunk_no_lost_one() {
    let mut story = calm();
    story.send(200, 1, 3).send(200, 0, 4).lose(240, 1, 3).send(245, 0, 3);
    story.arrive(210, 0, 4, "").arrive(255, 0, 3, "").deliver(255, &[3, 4]);
    story.arrive_as(260, 1, 3, "", "duplicate");
    let expected = [((1, Cause::Reordering), 20), ((1, Cause::Queue), 25)];
    assert_eq!(charged(&story.explained()), expected.into());
}

#[test]
fn the_last_that_is_missing_is_waited_for_whatever_comes_before() {
    let mut story = calm();
    story.send(100, 0, 3).send(100, 1, 4).send(100, 0, 5);
    story.arrive(110, 0, 5, "").arrive(125, 0, 3, "").deliver(125, &[3]);
    story.arrive(130, 1, 4, "").deliver(130, &[4, 5]);
    assert_eq!(charged(&story.explained()), [((1, Cause::Reordering), 20)].into());
}

#[test]
fn the_rest_of_a_message_waits_for_what_ended_the_attempt_to_send_before_it() {
    let held = |cause, hold| (cause, Some(hold));
    for (stop, (cause, hold)) in [
        ("peer_window", held(Cause::Window, Hold::PeerWindow)),
        ("no_data", (Cause::Application, None)),
        ("paths", held(Cause::Window, Hold::Paths)),
        ("scheduler", held(Cause::Sender, Hold::Scheduler)),
        ("pacing", held(Cause::Window, Hold::Pacing)),
        ("company", held(Cause::Sender, Hold::Company)),
        ("state", (Cause::Sender, None)),
    ] {
        let mut story = calm();
        story.send(400, 0, 3).pause(400, stop).send(450, 0, 4);
        story.arrive(410, 0, 3, "<").arrive(462, 0, 4, ">").deliver_parts(462, 3, 4, 462);
        let explanation = story.explained();
        assert_eq!(charged(&explanation), [((0, cause), 50), ((0, Cause::Queue), 2)].into());
        let direction = &explanation.directions[0];
        assert_eq!(held_by(direction), Vec::from_iter(hold.map(|hold| (hold, 50_000_000))));
        let advice = &advice(direction)[0];
        assert!(advice.starts_with(&format!("{}: ", cause.name())), "{advice}");
        let of_paths = matches!(stop, "paths" | "pacing");
        assert_eq!(advice.contains("those of the paths"), of_paths, "{advice}");
    }
}

#[test]
fn what_held_a_chunk_back_one_after_the_other_has_its_time_each() {
    let mut story = calm();
    story.send(400, 0, 3).pause(400, "peer_window").pause(430, "scheduler").pause(440, "scheduler");
    story.send(450, 0, 4);
    story.arrive(410, 0, 3, "<").arrive(460, 0, 4, ">").deliver_parts(460, 3, 4, 460);
    let expected = [((0, Cause::Window), 30), ((0, Cause::Sender), 20)];
    assert_eq!(charged(&story.explained()), expected.into());
}

#[test]
fn what_finds_no_room_is_due_to_the_window() {
    let mut story = calm();
    story.send(100, 0, 3).send(100, 0, 4).lose(130, 0, 3).send(140, 0, 3);
    story.arrive_as(110, 0, 3, "", "no_room").arrive(110, 0, 4, "");
    story.arrive(150, 0, 3, "").deliver(150, &[3, 4]);
    assert_eq!(charged(&story.explained()), [((0, Cause::Window), 40)].into());
}

/// The server numbers the two paths the other way round.
#[test]
fn what_was_never_sent_by_the_trace_is_charged_to_the_path_as_its_sender_counts() {
    let mut story = Story::new();
    story.send(0, 0, 1).arrive(10, 1, 1, "").deliver(10, &[1]);
    story.send(20, 1, 2).arrive(50, 0, 2, "").deliver(50, &[2]);
    story.send(100, 1, 4).arrive(130, 0, 4, "");
    story.arrive(150, 1, 3, "").deliver(150, &[3, 4]);
    assert_eq!(charged(&story.explained()), [((0, Cause::Queue), 20)].into());
}

#[test]
fn what_is_not_read_is_due_to_the_application_up_to_the_end() {
    let mut story = calm();
    story.send(100, 1, 3).arrive(130, 1, 3, "").deliver_parts(130, 3, 3, 170);
    story.send(200, 0, 4).arrive(210, 0, 4, "");
    // Never taken.
    let event = "\"deliverable\",\"stream\":0,\"tsn\":4,\"first\":4,\"last\":4".to_owned();
    story.server(210, event);
    story.arrive_as(220, 0, 4, "", "duplicate");
    let expected = [((1, Cause::Application), 40), ((0, Cause::Application), 10)];
    assert_eq!(charged(&story.explained()), expected.into());
}

#[test]
fn what_was_given_up_ends_the_wait() {
    let mut story = calm();
    story.send(100, 0, 3).send(100, 0, 4).arrive(110, 0, 4, "");
    story.server(150, "\"skipped\",\"cumulative_tsn\":3".to_owned());
    story.deliver(150, &[4]);
    assert_eq!(charged(&story.explained()), [((0, Cause::Loss), 40)].into());
}

#[test]
fn clocks_of_two_files_need_not_agree() {
    let mut story = calm();
    story.send(200, 0, 3).send(200, 0, 4).lose(260, 0, 3).send(270, 1, 3);
    story.arrive(210, 0, 4, "").arrive(305, 1, 3, "").deliver(305, &[3, 4]);
    let alone = charged(&story.explained());
    for (client, server) in [(0, 0), (7_000, 0), (0, 7_000)] {
        let joined = story.joined(client, server);
        assert_eq!(charged(&joined), alone, "{client} {server}");
        let ahead = joined.clocks.unwrap().ahead_ns;
        assert_eq!(ahead, (server as i64 - client as i64) * MS as i64);
    }
}

/// Data goes both ways, and the ways do not agree: nine chunks to the server, one to the client.
#[test]
fn clocks_are_the_same_whichever_file_is_read_first() {
    let mut story = calm();
    for tsn in 3..10 {
        let at = u64::from(tsn) * 100;
        story.send(at, 0, tsn).arrive(at + 10, 0, tsn, "").deliver(at + 15, &[tsn]);
    }
    let trip = "\"rtt\",\"path\":0,\"sample\":30000000,\"srtt\":1,\"rto\":1".to_owned();
    story.server(2_000, trip);
    let sent = "\"sent\",\"path\":0,\"tsn\":500,\"stream\":0,\"bytes\":1000".to_owned();
    story.server(2_000, sent);
    let came = "\"arrived\",\"path\":0,\"tsn\":500,\"stream\":0,\"message\":0,\
                \"unordered\":false,\"begins\":true,\"ends\":true,\"bytes\":1000,\
                \"fate\":\"new\"";
    story.client(2_040, came.to_owned());
    for (client, server) in [(7_000, 0), (0, 7_000)] {
        let files = [("client", client), ("server", server)]
            .map(|(host, later)| (host, story.lines(host, later)));
        let explained = |order: [usize; 2]| {
            let mut trace = Trace::default();
            for (host, text) in order.map(|at| &files[at]) {
                trace.read(host, text.as_bytes()).unwrap();
            }
            explain(&trace, None).unwrap()
        };
        let [one, other] = [[0, 1], [1, 0]].map(explained);
        let clocks = one.clocks.clone().unwrap();
        assert_eq!(other.clocks.unwrap().ahead_ns, clocks.ahead_ns);
        assert_eq!(clocks.ahead_ns, (server as i64 - client as i64) * MS as i64, "by the many");
        let ways = |one: &[Direction]| -> Vec<String> {
            let mut ways: Vec<_> = one
                .iter()
                .map(|way| format!("{} {:?} {:?}", way.to, way.whole, way.charged))
                .collect();
            ways.sort();
            ways
        };
        assert_eq!(ways(&one.directions), ways(&other.directions));
        let side = if server < client { "7.000000 s behind" } else { "7.000000 s ahead" };
        assert!(describe(&one).contains(side), "{}", describe(&one));
    }
}

/// One end of an association, with `chunks` chunks, as a file of that end has it.
fn one_end(flow: &str, host: &str, (own, peer): (u32, u32), chunks: u32) -> String {
    let line = |at: u64, event: String| {
        let at = at * MS;
        format!("{{\"flow\":\"{flow}\",\"host\":\"{host}\",\"at\":{at},\"event\":{event}}}\n")
    };
    let begin = format!("\"associated\",\"initial_tsn\":{own},\"peer_initial_tsn\":{peer}");
    let mut text = line(0, begin);
    text += &line(0, "\"rtt\",\"path\":0,\"sample\":20000000".to_owned());
    for n in 0..chunks {
        let event = if host == "client" {
            format!("\"sent\",\"path\":0,\"tsn\":{},\"stream\":0,\"bytes\":1000", own + n)
        } else {
            format!(
                "\"arrived\",\"path\":0,\"tsn\":{},\"stream\":0,\"message\":{n},\
                 \"unordered\":false,\"begins\":true,\"ends\":true,\"bytes\":1000,\"fate\":\"new\"",
                peer + n
            )
        };
        text += &line(if host == "client" { 10 } else { 20 }, event);
    }
    text
}

/// Each file numbers its associations by itself: flow 2 is the second of the client's, and the
/// first of the server's.
#[test]
fn a_flow_is_named_as_the_first_file_names_it() {
    let client = one_end("1", "client", (1, 900), 10) + &one_end("2", "client", (2_000, 800), 99);
    let server = one_end("2", "server", (900, 1), 10) + &one_end("3", "server", (800, 2_000), 99);
    let explained = |files: [&str; 2], flow| {
        let mut trace = Trace::default();
        for (name, text) in ["a", "b"].into_iter().zip(files) {
            trace.read(name, text.as_bytes()).unwrap();
        }
        explain(&trace, flow).map_err(|error| error.to_string())
    };
    let bytes = |files, flow| explained(files, Some(flow)).unwrap().directions[0].bytes;
    assert_eq!(["1", "2"].map(|flow| bytes([&client, &server], flow)), [10_000, 99_000]);
    assert_eq!(["2", "3"].map(|flow| bytes([&server, &client], flow)), [10_000, 99_000]);
    let refused = explained([&client, &server], Some("3")).unwrap_err();
    assert_eq!(refused, "--flow 3: not in a and b (allowed: 1, 2)");
    assert!(explained([&client, &server], None).unwrap_err().contains("--flow with one of 1, 2"));
    // Two files, each with both ends of a flow of this name.
    let both =
        |first| one_end("f", "client", (first, 7), 1) + &one_end("f", "server", (7, first), 1);
    let refused = explained([&both(1), &both(2)], Some("f")).unwrap_err();
    assert!(refused.starts_with("--flow f: several associations of this name in a and b"));
}
