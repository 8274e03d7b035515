//! Two at once: one of them may be refused, the machine ends as it was.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::campaign::{count, row};
use crate::harness::{Call, nicety};
use crate::uplink::Uplink;

#[test]
fn every_pair_of_commands_at_once() {
    let Some(uplink) = Uplink::new() else { return };
    let state = uplink.path("state").to_str().unwrap().to_owned();
    let policy = uplink.path("policy.toml").to_str().unwrap().to_owned();
    let commands: [&[&str]; 6] = [
        &["police", "run", &policy],
        &["police", "restore"],
        &["port", "limit", "a1", "5mbit", "--verify", "0s"],
        &["port", "limit", "b1", "none", "--verify", "0s"],
        &["tune", "undo", "--all"],
        &["tune", "status"],
    ];
    let call = |words: &[&str]| -> Call {
        let words = words.iter().copied().chain(["--state", state.as_str()]);
        uplink.lab.inside(nicety(words))
    };
    let before = uplink.lab.state();
    let rounds = count().div_ceil(20);
    let mut pairs = 0;
    for (at, first) in commands.iter().enumerate() {
        for second in &commands[at..] {
            for _ in 0..rounds {
                fs::create_dir_all(&state).unwrap();
                let both = [call(first).start(), call(second).start()];
                sleep(Duration::from_millis(150));
                for running in both {
                    let ended =
                        running.end_when(|| false, Duration::from_millis(100), Signal::TERM);
                    assert_ne!(
                        ended.status.code(),
                        Some(101),
                        "{first:?} and {second:?}: {ended:?}"
                    );
                }
                call(&["police", "restore"]).run().assert_code(0);
                for port in ["a1", "b1"] {
                    call(&["port", "limit", port, "none", "--verify", "0s"])
                        .run()
                        .assert_code(0);
                }
                uplink.lab.assert_state(&before);
                let _ = fs::remove_dir_all(&state);
                pairs += 1;
            }
        }
    }
    row(
        "police, port limit, tune",
        "two at once, every pair",
        pairs,
        "all as before",
    );
}
