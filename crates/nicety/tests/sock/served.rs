//! A server of its own process: stalled, killed, interrupted, refused.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{alone, nicety};
use crate::{client, first, serve};

/// Long enough for a client to have begun.
const BEGUN: Duration = Duration::from_millis(700);

/// The server does nothing for half a second in the middle of three.
fn stalled(words: &[&str]) -> serde_json::Value {
    let (server, to) = serve();
    let running = client(&to, words).start();
    sleep(BEGUN);
    server.signal(Signal::STOP);
    sleep(Duration::from_millis(500));
    server.signal(Signal::CONT);
    let ended = running.wait();
    ended.assert_code(0);
    first(&ended.stdout)
}

#[test]
fn an_open_loop_shows_a_stall_that_a_closed_loop_hides() {
    let _alone = alone();
    for test in ["tcp_rr", "udp_rr"] {
        let open = stalled(&[test, "--time", "3s", "--rate", "500", "--json"]);
        // 250 of 1500 requests were due in the stall: a sixth of all waited, on average for
        // half of it.
        let p90 = open["latency_us"]["p90"].as_f64().unwrap();
        assert!(p90 > 50_000.0, "{test}: {open}");
        let done = open["client"]["transactions"].as_u64().unwrap();
        let notes = open["notes"].as_array().unwrap().len();
        assert!(done == 1500 || notes > 0, "{test}: {open}");
        let closed = stalled(&[test, "--time", "3s", "--json"]);
        let latency = &closed["latency_us"];
        assert!(
            latency["p90"].as_f64().unwrap() < 50_000.0,
            "{test}: {closed}"
        );
        assert!(
            latency["max"].as_f64().unwrap() > 300_000.0,
            "{test}: {closed}"
        );
        // The answers came late, none was lost.
        if test == "udp_rr" {
            assert_eq!(closed["requests"]["lost"], 0, "{closed}");
            assert!(closed["requests"]["late"].as_u64().unwrap() > 0, "{closed}");
        }
    }
}

#[test]
fn a_killed_server_leaves_the_figures_so_far() {
    let _alone = alone();
    for test in [
        "tcp_rr",
        "udp_rr",
        "tcp_crr",
        "tcp_stream",
        "tcp_maerts",
        "udp_stream",
    ] {
        let (server, to) = serve();
        let running = client(&to, &[test, "--time", "30s", "--json"]).start();
        sleep(BEGUN);
        server.signal(Signal::KILL);
        let ended = running.wait();
        ended.assert_code(3);
        assert!(ended.stderr.contains("went away"), "{}", ended.stderr);
        let result = first(&ended.stdout);
        assert_eq!(result["ending"], "peer_lost", "{test}");
        let client = &result["client"];
        let done = ["sent_bytes", "received_bytes"].map(|key| client[key].as_u64().unwrap());
        assert!(done.iter().sum::<u64>() > 0, "{test}: {client}");
        assert!(
            client["active_s"].as_f64().unwrap() < 20.0,
            "{test}: {client}"
        );
    }
}

/// The server's process stands still for good: the kernel keeps its connections, nobody answers.
#[test]
fn a_server_that_falls_silent_holds_nobody_for_long() {
    let _alone = alone();
    let servers: Vec<_> = ["tcp_rr", "udp_rr", "tcp_stream"]
        .into_iter()
        .map(|test| (test, serve()))
        .collect();
    let running: Vec<_> = servers
        .iter()
        .map(|(test, (_, to))| (test, client(to, &[test, "--time", "2s", "--json"]).start()))
        .collect();
    sleep(BEGUN);
    for (_, (server, _)) in &servers {
        server.signal(Signal::STOP);
    }
    for (test, running) in running {
        // The call's own limit is that nothing hangs.
        let ended = running.wait();
        ended.assert_code(3);
        let result = first(&ended.stdout);
        assert_eq!(result["ending"], "peer_lost", "{test}");
        assert!(result["server"].is_null(), "{test}");
        let active = result["client"]["active_s"].as_f64().unwrap();
        assert!(active < 10.0, "{test}: {result}");
    }
    for (_, (server, _)) in &servers {
        server.signal(Signal::CONT);
    }
}

#[test]
fn an_interrupted_client_prints_what_it_has_and_the_server_goes_on() {
    let _alone = alone();
    let (server, to) = serve();
    for test in ["tcp_rr", "tcp_maerts"] {
        let running = client(&to, &[test, "--time", "30s", "--json"]).start();
        sleep(BEGUN);
        running.signal(Signal::INT);
        let ended = running.wait();
        ended.assert_code(4);
        assert_eq!(first(&ended.stdout)["ending"], "interrupted", "{test}");
    }
    client(&to, &["tcp_rr", "--time", "100ms"])
        .run()
        .assert_code(0);
    server.signal(Signal::INT);
    server.wait().assert_code(0);
}

#[test]
fn a_wrong_token_an_empty_port_and_a_taken_one() {
    let (_server, to) = serve();
    let ended = nicety(["sock", "tcp_rr", "--to", &to, "--token", "another-token"]).run();
    ended.assert_code(2);
    assert!(ended.only_line().contains("refuses the token"));
    let port = to.rsplit(':').next().unwrap();
    let ended = nicety(["sock", "serve", "--port", port]).run();
    ended.assert_code(3);
    assert!(ended.only_line().contains("cannot listen on"));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = free.local_addr().unwrap().to_string();
    drop(free);
    let ended = client(&nobody, &["tcp_rr"]).run();
    ended.assert_code(3);
    assert!(ended.only_line().contains("refuses connections"));
}
