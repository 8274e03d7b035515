//! Two testers at once on one machine, whose paths, streams, trials and numbers are named alike.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nicety_model::TrialRecord;
use nicety_packet::RunMark;
use nicety_paths::BridgePath;
use nicety_testkit::runner::Skip;

use crate::case::{Run, commands, trial, unexplained};
use crate::commands::run;

/// Every third frame: what one tester loses, the other mostly has.
const RULES: &str = "table netdev fate {
    chain frames {
        type filter hook ingress device d0 priority 0; policy accept;
        numgen inc mod 3 0 drop
    }
}";
const BUCKET: &str = "tc qdisc add dev d1 root tbf rate 4mbit burst 3000b limit 6000b";
/// Longer than it takes to build a path.
const WAIT: Duration = Duration::from_secs(5);

/// Waits until both are about to send. One that was skipped is not waited for for ever.
fn meet(ready: &AtomicU32) {
    ready.fetch_add(1, Ordering::SeqCst);
    let begun = Instant::now();
    while ready.load(Ordering::SeqCst) < 2 && begun.elapsed() < WAIT {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Frames that were lost for reasons of either kind.
fn lost(record: &TrialRecord) -> [u64; 2] {
    let of = |word: &str| {
        let lines = record.loss_ledger.iter();
        let these = lines.filter(|line| format!("{:?}", line.cause).contains(word));
        these.map(|line| line.frames).sum()
    };
    [of("nft_do_chain"), of("device: Some(\"d1\")")]
}

pub fn at_once() -> Result<(), Skip> {
    let ready = AtomicU32::new(0);
    let ready = &ready;
    let tester = |n: u32, trouble: fn(&BridgePath) -> Result<(), Skip>| {
        let how = Run {
            frames: 15_000,
            mark: RunMark::of(std::process::id().wrapping_add(n)),
            ..Run::default()
        };
        move || {
            trial(how, |path| {
                let made = trouble(path);
                meet(ready);
                made
            })
        }
    };
    let rules = tester(0, |path| {
        run(path.dut(), "nft", &["-f", "-"], RULES).map(drop)
    });
    let bucket = tester(1, |path| commands(path, &[BUCKET]));
    let (rules, bucket) = std::thread::scope(|scope| {
        let [rules, bucket] = [scope.spawn(rules), scope.spawn(bucket)];
        (rules.join().unwrap(), bucket.join().unwrap())
    });
    let (rules, bucket) = (rules?, bucket?);
    for record in [&rules, &bucket] {
        println!("    {:?}", record.loss_ledger);
        assert_eq!(unexplained(record), 0, "{:?}", record.loss_ledger);
    }
    let (third, [by_rules, by_other]) = (rules.frames.sent / 3, lost(&rules));
    assert!(
        by_rules > 0 && by_rules <= third + 1,
        "{by_rules} of {third}"
    );
    assert_eq!(by_other, 0, "{:?}", rules.loss_ledger);
    let [by_other, by_bucket] = lost(&bucket);
    assert!(by_bucket > 0, "{:?}", bucket.loss_ledger);
    assert_eq!(by_other, 0, "{:?}", bucket.loss_ledger);
    Ok(())
}
