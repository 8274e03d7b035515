//! A server of its own process: stalled, killed, interrupted, refused.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::both_ends::TESTS;
use crate::harness::nicety;
use crate::{client, first, serve, until_served};

/// The server does nothing for half a second of one and a half.
fn stalled(words: &[&str]) -> serde_json::Value {
    let (mut server, to) = serve();
    let running = client(&to, words).start();
    until_served(&mut server);
    server.signal(Signal::STOP);
    sleep(Duration::from_millis(500));
    server.signal(Signal::CONT);
    let ended = running.wait();
    ended.assert_code(0);
    first(&ended.stdout)
}

#[test]
fn an_open_loop_shows_a_stall_that_a_closed_loop_hides() {
    for test in ["tcp_rr", "udp_rr"] {
        let open = stalled(&[test, "--for", "1500ms", "--rate", "500", "--json"]);
        // 250 of 750 requests were due in the stall: a third of all waited, on average for half of it.
        let p90 = open["latency_us"]["p90"].as_f64().unwrap();
        assert!(p90 > 50_000.0, "{test}: {open}");
        let done = open["client"]["transactions"].as_u64().unwrap();
        let notes = open["notes"].as_array().unwrap().len();
        assert!(done == 750 || notes > 0, "{test}: {open}");
        let closed = stalled(&[test, "--for", "1500ms", "--json"]);
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
    for test in TESTS {
        let (mut server, to) = serve();
        let mut running = client(&to, &[test, "--for", "30s", "--json"]).start();
        for end in [&mut server, &mut running] {
            until_served(end);
        }
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
    let mut servers: Vec<_> = ["tcp_rr", "udp_rr", "tcp_stream"]
        .into_iter()
        .map(|test| (test, serve()))
        .collect();
    let running: Vec<_> = servers
        .iter()
        .map(|(test, (_, to))| (*test, client(to, &[test, "--for", "2s", "--json"]).start()))
        .collect();
    for (_, (server, _)) in &mut servers {
        until_served(server);
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
    let (mut server, to) = serve();
    for test in ["tcp_rr", "tcp_maerts"] {
        let running = client(&to, &[test, "--for", "30s", "--json"]).start();
        until_served(&mut server);
        running.signal(Signal::INT);
        let ended = running.wait();
        ended.assert_code(4);
        assert_eq!(first(&ended.stdout)["ending"], "interrupted", "{test}");
    }
    client(&to, &["tcp_rr", "--for", "100ms"])
        .run()
        .assert_code(0);
    server.signal(Signal::INT);
    server.wait().assert_code(0);
}

#[test]
fn a_wrong_token_an_empty_port_and_a_taken_one() {
    let (_server, to) = serve();
    let ended = nicety(["sock", "tcp_rr", &to])
        .env("NICETY_TOKEN", "another-token")
        .run();
    ended.refused_for("refuses the token");
    let ended = nicety(["sock", "serve", "--listen", &to]).run();
    ended.cannot("cannot listen on");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = free.local_addr().unwrap().to_string();
    drop(free);
    let ended = client(&nobody, &["tcp_rr"]).run();
    ended.cannot("refuses connections");
}
