//! Ports that another program limits already: refused, shared below what it has set, or taken until it is given back.

mod campaign;
mod kernel;
mod replace;
mod roots;

use std::fs;

use replace::anew;

use crate::uplink::{POLICY, THEIRS, Uplink};

/// What is at the port, without counters and without the numbers that the kernel gives to tables of u32.
const SHOWN: &str = "tc qdisc show dev a1; tc qdisc show dev theirs; tc filter show dev a1 parent ffff: | \
    sed 's/index [0-9]* ref [0-9]* bind [0-9]*//; s/installed.*//; s/ 80[0-9a-f]/ 800/g'; ip -o link show type ifb | cut -d: -f2";

fn limited() -> Option<Uplink> {
    let uplink = Uplink::new()?;
    uplink.lab.sh(THEIRS);
    Some(uplink)
}

fn adopting() -> String {
    POLICY.replace("period", "adopt = \"cap\"\nperiod")
}

#[test]
fn a_limit_of_another_program_is_named() {
    let Some(uplink) = limited() else { return };
    let refused = uplink.run_with(POLICY);
    let line = refused.assert_code(2).only_line();
    let wanted = "tenant \"a\": tc limits a1 to 6mbit already; write adopt = \"cap\" to share below that, \
                  or remove it: tc qdisc del dev a1 ingress";
    assert!(line.ends_with(wanted), "{line}");

    // Frames of one protocol only: a limit that nobody can say in one number.
    uplink.lab.sh(
        "tc filter del dev a1 parent ffff: prio 50
         tc filter add dev a1 parent ffff: protocol ip prio 50 u32 match u32 0 0 action mirred egress redirect dev theirs",
    );
    let refused = uplink.run_with(&adopting());
    refused.refused_for("a u32 filter of priority 50 takes only some frames; remove them");
    let refused = uplink.run_with(&POLICY.replace("period", "adopt = \"keep\"\nperiod"));
    refused.refused_for("adopt = \"keep\" is unknown; write \"cap\" to share below");
}

#[test]
fn a_port_is_shared_below_the_limit_of_another_program() {
    let Some(uplink) = limited() else { return };
    fs::write(uplink.path("policy.toml"), adopting()).unwrap();
    let before = uplink.lab.sh(SHOWN);
    let mut daemon = uplink.daemon(&[]);
    let a = uplink.flood("a");
    uplink.until(&mut daemon, "the adopted limit", |[a, ..]| {
        (5.0..6.3).contains(&a)
    });
    daemon.assert_err("port a1: tc limits it to 6mbit; it shares below that");
    // b wants everything: a has less than its share of it, and no more than theirs.
    let b = uplink.flood("b");
    uplink.until(&mut daemon, "what a leaves", |[a, b, _]| {
        (5.0..6.3).contains(&a) && b > 28.0
    });

    // They change it in its place, then as programs do that know no other way: everything anew.
    uplink
        .lab
        .sh("tc qdisc change dev theirs root handle 1: tbf rate 3mbit burst 16kb limit 64kb");
    uplink.until(&mut daemon, "their lower limit", |[a, ..]| {
        (2.0..3.2).contains(&a)
    });
    uplink.lab.sh(&anew(6, 50));
    uplink.until(&mut daemon, "their new limit", |[a, ..]| {
        (5.0..6.3).contains(&a)
    });
    let filters = "tc filter show dev a1 parent ffff: | grep -c mirred";
    daemon.until("a filter before theirs", |_| {
        uplink.lab.sh(filters).trim() == "2"
    });
    // They take it away: the link alone limits it.
    uplink.lab.sh("tc filter del dev a1 parent ffff: prio 50");
    uplink.until(&mut daemon, "no limit of theirs", |[a, ..]| a > 8.0);
    daemon.assert_err("what another program had limited it to is gone");
    uplink.lab.sh(&anew(6, 50));
    uplink.until(&mut daemon, "their limit again", |[a, ..]| {
        (5.0..6.3).contains(&a)
    });

    drop((a, b));
    daemon.stop();
    assert_eq!(uplink.lab.sh(SHOWN), before);
}

#[test]
fn rewrites_and_kills_leave_their_limit_as_it_is() {
    let Some(uplink) = limited() else { return };
    fs::write(uplink.path("policy.toml"), adopting()).unwrap();
    let before = uplink.lab.sh(SHOWN);
    for round in 0..6 {
        let daemon = uplink.daemon(&[]);
        let again = anew(6, 50);
        if round % 2 == 0 {
            uplink.lab.sh(&again);
        }
        daemon.kill();
        if round % 3 == 0 {
            uplink.lab.sh(&again);
        }
        // Limited by one of both, whoever was last.
        let held = uplink
            .lab
            .sh("tc filter show dev a1 parent ffff: | grep -c mirred");
        assert!(held.trim() != "0", "round {round}");
        if round % 2 == 1 {
            uplink.police(&["restore"]).run().assert_code(0);
            assert_eq!(uplink.lab.sh(SHOWN), before, "round {round}");
        }
    }
    uplink.police(&["restore"]).run();
    assert_eq!(uplink.lab.sh(SHOWN), before);
}
