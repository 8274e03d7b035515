//! An hour in which machines come and go and the daemon is killed: `make faults-bills`.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{bill, carried, sums};
use crate::uplink::{POLICY, Uplink};

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

#[test]
#[ignore = "takes an hour; make faults-bills"]
fn an_hour_is_billed_as_the_uplink_has_carried_it() {
    let Some(uplink) = Uplink::new() else { return };
    let lasts = Duration::from_secs(number("NICETY_HOUR_S", 3_600));
    let seed = number("NICETY_FAULTS_SEED", 1);
    let mut random = fastrand::Rng::with_seed(seed);
    let policy = POLICY
        .replacen("[[tenant]]", "[bills]\n\n[[tenant]]", 1)
        .replace("500ms", "250ms")
        .replace("ports = \"a1\"", "ports = \"a1\"\ncap = \"10mbit\"");
    fs::write(uplink.path("policy.toml"), policy).unwrap();
    // What the uplink drops would have been billed.
    uplink.lab.sh("tc qdisc del dev u1 root");
    let mut daemon = uplink.daemon_with(&["--absent-ok"], |call| call.limit(2 * lasts));
    uplink.periods(&mut daemon, 2);
    let begin = carried(&uplink);
    let senders =
        [("a", 80), ("b", 50), ("c", 20)].map(|(tenant, count)| uplink.steady(tenant, count));
    let end = Instant::now() + lasts;
    let mut accidents = [0_u32; 4];
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(random.u64(10_000..40_000)));
        let accident = random.usize(0..4);
        accidents[accident] += 1;
        match accident {
            0 | 1 => {
                daemon.signal([Signal::KILL, Signal::TERM][accident]);
                daemon.wait();
                std::thread::sleep(Duration::from_millis(random.u64(0..5_000)));
                daemon = uplink.daemon_with(&["--absent-ok"], |call| call.limit(2 * lasts));
            }
            2 => daemon.signal(Signal::HUP),
            _ => uplink.replug(["a", "b", "c"][random.usize(0..3)]),
        }
    }
    drop(senders);
    std::thread::sleep(Duration::from_secs(2));
    uplink.periods(&mut daemon, 2);
    daemon.stop();
    let truth = carried(&uplink) - begin;
    let [bytes, unseen] = sums(&bill(&uplink, &[]));
    let lacks = 100.0 * (truth as f64 - bytes as f64) / truth as f64;
    for (what, count) in ["killed", "stopped", "reloaded", "port replaced"]
        .iter()
        .zip(accidents)
    {
        println!("FAULT | bills | {what} | {count} | as before |");
    }
    println!(
        "FAULT | bills | {truth} bytes on the uplink in {} s | 1 | {lacks:.3} % not billed, {unseen} bytes said to be unseen |",
        lasts.as_secs()
    );
    assert!(
        bytes <= truth && bytes + unseen >= truth,
        "{bytes} and {unseen} of {truth}"
    );
    assert!(lacks < 0.1, "{lacks} % not billed");
}
