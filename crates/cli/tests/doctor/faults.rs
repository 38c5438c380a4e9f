//! What blocks packets or changes them.

use super::stage::{Stage, host};

const SERVER: &str = "127.0.0.31";
const BOTH: &str = "127.0.0.31,127.0.0.32";

#[test]
fn what_is_well_is_said_to_be_so() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, BOTH, &[]);
    let found = stage.doctor(&host, BOTH, &[]);
    assert_eq!(found.code, 0, "{found:#?}");
    for number in [0, 1] {
        let path = found.path(number);
        assert_eq!(path["state"], "carries");
        assert_eq!(path["peer"], stage.key);
        assert_eq!(path["nat"]["translated"], false);
        assert_eq!(path["nat"]["mapping"], "endpoint-independent");
        assert_eq!(path["nat"]["filtering"], "endpoint-independent");
        assert_eq!(path["ecn"]["there"]["ect0"], "kept", "{found:#?}");
        assert_eq!(path["ecn"]["back"]["ce"], "kept");
        assert!(path["mtu"]["passes"].as_u64().unwrap() >= 1500, "{found:#?}");
        assert!(path["rtt_ms"].as_f64().unwrap() > 0.0);
    }
    for about in ["udp", "mtu", "nat", "ecn"] {
        assert_eq!(found.findings(about, "ok").len(), 2, "{about}: {found:#?}");
    }
    let (what, _) = found.only("identity", "ok");
    assert!(what.contains(&stage.key) && what.contains(&stage.id("client")), "{what}");
    assert_eq!(found.findings("offloads", "ok").len(), 1);
}

#[test]
fn ipv6_is_looked_at_likewise() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, "::1", &[]);
    let found = stage.doctor(&host, "::1", &[]);
    let path = found.path(0);
    assert_eq!((found.code, &path["path"]), (0, &"::1 -> ::1".into()), "{found:#?}");
    assert_eq!(path["nat"]["mapping"], "not-port-dependent", "{found:#?}");
    assert_eq!(path["ecn"]["there"]["ce"], "kept", "{found:#?}");
    assert!(path["mtu"]["passes"].as_u64().unwrap() >= 1500, "{found:#?}");
}

#[test]
fn a_server_whose_firewall_lets_one_port_in_tells_what_it_can() {
    let drop = "table inet t { chain i { type filter hook input priority 0;
                ip daddr 127.0.0.31 udp dport != 9899 drop; }; }";
    let Some(host) = host(drop) else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, SERVER, &["--local", "127.0.0.41"]);
    assert_eq!(found.code, 0, "{found:#?}");
    let nat = &found.path(0)["nat"];
    assert_eq!((&nat["translated"], &nat["mapping"]), (&false.into(), &serde_json::Value::Null));
    let (what, remedy) = found.only("nat", "warn");
    assert!(what.contains("did not answer") && remedy.contains("let UDP in"), "{what}; {remedy}");
}

#[test]
fn udp_that_is_blocked_is_told_from_a_host_that_is_down() {
    let drop = "table inet t { chain i { type filter hook input priority 0;
                udp dport 9899 drop; }; }";
    let Some(host) = host(drop) else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, SERVER, &["--connect-timeout", "1s"]);
    assert_eq!(found.code, 3, "{found:#?}");
    let (what, remedy) = found.only("udp", "fail");
    assert!(what.contains("no answer") && remedy.contains("firewall"), "{what}; {remedy}");
    assert_eq!(found.path(0)["state"], "no-answer");
    // The host says that it does not speak SCTP, so it is there.
    assert_eq!(found.path(0)["directly"], "reached", "{found:#?}");
    let (_, remedy) = found.only("ip", "warn");
    assert!(remedy.contains("blocks UDP"), "{remedy}");
}

#[test]
fn ip_that_is_blocked_too_is_told() {
    let drop = "table inet t { chain i { type filter hook input priority 0;
                ip daddr 127.0.0.31 drop; }; }";
    let Some(host) = host(drop) else { return };
    let found = Stage::new().doctor(&host, SERVER, &["--connect-timeout", "1s"]);
    assert_eq!((found.code, &found.path(0)["directly"]), (3, &"no-answer".into()), "{found:#?}");
}

#[test]
fn a_port_at_which_nobody_listens_is_told_at_once() {
    let Some(host) = host("") else { return };
    let found = Stage::new().doctor(&host, SERVER, &["--connect-timeout", "60s"]);
    assert_eq!((found.code, &found.path(0)["state"]), (3, &"refused".into()), "{found:#?}");
    let (what, remedy) = found.only("udp", "fail");
    assert!(what.contains("onnection refused"), "{what}");
    assert!(remedy.contains("polypath serve"), "{remedy}");
}

#[test]
fn one_path_that_is_blocked_is_told_beside_one_that_carries() {
    let drop = "table inet t { chain i { type filter hook input priority 0;
                ip daddr 127.0.0.32 drop; ip saddr 127.0.0.32 drop; }; }";
    let Some(host) = host(drop) else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, BOTH, &[]);
    let found = stage.doctor(&host, BOTH, &["--connect-timeout", "1s"]);
    assert_eq!(found.code, 1, "{found:#?}");
    assert_eq!(found.path(0)["state"], "carries");
    assert_eq!(found.path(1)["state"], "no-answer");
    found.only("udp", "fail");
    // What can be told of the path that carries is told; the other address tells nothing.
    assert_eq!(found.path(0)["nat"]["mapping"], "not-port-dependent", "{found:#?}");
    assert_eq!(found.path(0)["nat"]["filtering"], "not-port-dependent");
}

#[test]
fn a_field_that_is_cleared_on_the_way_there_is_told() {
    let Some(host) = host(
        "table ip t { chain o { type filter hook output priority mangle;
         ip daddr 127.0.0.31 ip ecn set not-ect; }; }",
    ) else {
        return;
    };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, SERVER, &["--local", "127.0.0.41"]);
    assert_eq!(found.code, 0, "it carries: {found:#?}");
    let ecn = &found.path(0)["ecn"];
    assert_eq!(
        (&ecn["there"]["ect0"], &ecn["there"]["ce"]),
        (&"cleared".into(), &"cleared".into())
    );
    assert_eq!((&ecn["back"]["ect0"], &ecn["back"]["ce"]), (&"kept".into(), &"kept".into()));
    let (what, _) = found.only("ecn", "warn");
    assert!(what.contains("ECT(0) is cleared on the way there"), "{what}");
}

/// That is what routers in congestion do (RFC 3168).
#[test]
fn a_router_that_marks_packets_is_well() {
    let Some(host) = host(
        "table ip t { chain o { type filter hook output priority mangle;
         ip daddr 127.0.0.31 ip ecn ect0 ip ecn set ce; }; }",
    ) else {
        return;
    };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, SERVER, &["--local", "127.0.0.41"]);
    assert_eq!(found.path(0)["ecn"]["there"]["ect0"], "marked", "{found:#?}");
    let (what, _) = found.only("ecn", "ok");
    assert!(what.contains("on the way there signals congestion"), "{what}");
}

#[test]
fn packets_that_are_dropped_for_their_field_are_told() {
    let Some(host) = host(
        "table ip t { chain o { type filter hook output priority 0;
         ip saddr 127.0.0.31 ip ecn ce drop; }; }",
    ) else {
        return;
    };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, SERVER, &["--local", "127.0.0.41"]);
    assert_eq!(found.path(0)["ecn"]["back"]["ce"], "lost", "{found:#?}");
    assert_eq!(found.path(0)["ecn"]["back"]["ect0"], "kept");
}

#[test]
fn an_address_of_another_family_is_no_path() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, SERVER, &["--local", "::1"]);
    assert_eq!((found.code, &found.path(0)["state"]), (3, &"no-path".into()), "{found:#?}");
    let (what, remedy) = found.only("route", "fail");
    assert!(what.contains("no IPv6 address") && remedy.contains("one family"), "{what}; {remedy}");
    let found = stage.doctor(&host, SERVER, &["--local", "::1,127.0.0.41"]);
    assert_eq!(found.code, 1, "{found:#?}");
    found.only("route", "fail");
}

#[test]
fn where_no_route_leads_is_told() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    let _server = stage.serve(&host, SERVER, &[]);
    let found = stage.doctor(&host, &format!("{SERVER},203.0.113.9"), &[]);
    assert_eq!(found.code, 1, "{found:#?}");
    assert_eq!(
        (&found.path(0)["state"], &found.path(1)["state"]),
        (&"carries".into(), &"no-route".into())
    );
    let (what, remedy) = found.only("route", "fail");
    assert!(what.contains("unreachable") && remedy.contains("ip route"), "{what}; {remedy}");
    let alone = stage.doctor(&host, "203.0.113.9", &[]);
    assert_eq!((alone.code, &alone.path(0)["state"]), (3, &"no-route".into()), "{alone:#?}");
}

#[test]
fn a_device_that_is_down_is_told() {
    let Some(host) = host("") else { return };
    host.run_ip_commands("link add name d0 type veth peer name d1\naddr add 10.0.0.1/24 dev d0\n")
        .unwrap();
    let found = Stage::new().doctor(&host, "10.0.0.2", &["--paths", "d0,nosuch0"]);
    assert_eq!(found.code, 3, "{found:#?}");
    let told: Vec<_> =
        found.findings("route", "fail").iter().map(|f| f["what"].to_string()).collect();
    assert!(told.len() == 2 && told[0].contains("is down"), "{told:?}");
    assert!(told[1].contains("does not exist"), "{told:?}");
}

#[test]
fn what_this_host_does_not_have_is_a_wrong_argument() {
    let Some(host) = host("") else { return };
    let stage = Stage::new();
    for words in [["--local", "192.0.2.9"], ["--paths", "nosuch0"]] {
        let found = stage.doctor(&host, SERVER, &words);
        assert_eq!((found.code, &found.path(0)["state"]), (2, &"not-ours".into()), "{found:#?}");
        let (what, remedy) = found.only("route", "fail");
        assert!(what.contains(words[1]) && remedy.contains("ip address"), "{what}; {remedy}");
    }
}
