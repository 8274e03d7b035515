//! Samples that go on to a real PostgreSQL server, which is away for a while: each arrives, and counts once.

use std::fs;

use serde_json::Value;

use super::bill;
use crate::harness::me;
use crate::server::Server;
use crate::uplink::{POLICY, Uplink};

/// The sums of a column over all samples here, and on the server.
fn sums(uplink: &Uplink, server: &Server, column: [&str; 2]) -> [u64; 2] {
    let here = bill(uplink, &["--samples"]);
    let rows = here["samples"].as_array().unwrap().iter();
    let [way, what] = column;
    let one = |row: &Value| row["usage"][way][what].as_u64().unwrap();
    let there = server.sql(
        "bills",
        &format!("SELECT coalesce(sum({way}_{what}), 0) FROM nicety.usage"),
    );
    [rows.map(one).sum(), there.trim().parse().unwrap()]
}

/// As many samples are there as here, and they say the same.
fn assert_same(uplink: &Uplink, server: &Server) -> u64 {
    let here = bill(uplink, &["--samples"]);
    let rows = here["samples"].as_array().unwrap().len();
    let there = server.sql("bills", "SELECT count(*) FROM nicety.usage");
    assert_eq!(there.trim(), rows.to_string());
    for what in ["bytes", "frames", "unseen", "least", "most"] {
        for way in ["sent", "received"] {
            let [here, there] = sums(uplink, server, [way, what]);
            assert_eq!(here, there, "{way} {what}");
        }
    }
    sums(uplink, server, ["sent", "bytes"])[0]
}

#[test]
fn samples_arrive_once_though_the_server_was_away() {
    let Some(uplink) = Uplink::new() else { return };
    let Some(mut server) = Server::start(&me()) else {
        return;
    };
    server.database("bills");
    let bills = format!("[bills]\nstore = \"{}\"\n\n[[tenant]]", server.url("bills"));
    let policy = POLICY
        .replacen("[[tenant]]", &bills, 1)
        .replace("500ms", "200ms");
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    let _flood = uplink.trickle("a");

    // A stop sends what there is.
    let mut daemon = uplink.daemon(&[]);
    uplink.periods(&mut daemon, 3);
    daemon.stop();
    let first = assert_same(&uplink, &server);
    assert!(first > 0);

    // The server is away: said once, and nobody waits for it. One daemon is killed, another one stops.
    server.crash();
    let mut daemon = uplink.daemon(&[]);
    daemon.until("trouble", |daemon| {
        let said = daemon.stderr();
        said.contains("bills: cannot reach the store postgres://")
            && said.contains("; samples are kept here and sent later\n")
    });
    uplink.periods(&mut daemon, 2);
    daemon.kill();
    let mut daemon = uplink.daemon(&[]);
    uplink.periods(&mut daemon, 2);
    daemon.stop();

    // It is back: the next daemon sends what waits, before it has anything of its own to send.
    server.again();
    let mut daemon = uplink.daemon(&[]);
    let there = || {
        let sum = "SELECT sum(sent_bytes) FROM nicety.usage";
        server.sql("bills", sum).trim().parse::<u64>().unwrap()
    };
    daemon.until("what waited", |_| there() > first);
    // It dies in the middle, and comes back within the patience of the daemon.
    server.crash();
    server.again();
    uplink.periods(&mut daemon, 2);
    daemon.stop();
    assert!(assert_same(&uplink, &server) > first);
}
