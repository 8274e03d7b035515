//! What `persist` keeps, set again by `nicety tune boot`, in a throw-away namespace.

use std::fs;

use super::{Bench, NEW, OLD, changes};

#[test]
fn what_is_kept_is_set_again_after_a_boot() {
    let Some(bench) = Bench::new() else { return };
    let root = bench.dir.path().join("root");
    fs::create_dir_all(root.join("proc")).unwrap();
    let plan = bench.write_plan(&changes());
    let (plan, root) = (plan.to_str().unwrap(), root.to_str().unwrap());
    bench
        .run(&["persist", plan, "--sysroot", root])
        .assert_code(0);
    assert_eq!(bench.settings(), OLD, "keeping changes nothing that runs");

    let kept = format!("{root}/etc/nicety/tune.json");
    let checked = bench.run(&["boot", "--check", "--kept", &kept]);
    checked.assert_code(1);
    checked.assert_out("v0 MTU: kept 9000, now 1500\n");
    assert_eq!(bench.settings(), OLD);
    bench.run(&["boot", "--kept", &kept]).assert_code(0);
    assert_eq!(bench.settings(), NEW);
    let again = bench.run(&["boot", "--check", "--kept", &kept]);
    again.assert_code(0).assert_err("4 settings as kept");
    bench.run(&["undo"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
    // An interface that is not there keeps nothing else from being set.
    bench.lab.sh("ip link del v0");
    let partly = bench.run(&["boot", "--kept", &kept]);
    partly.assert_code(1);
    assert!(partly.stderr.contains("v0"), "{}", partly.stderr);
    assert_eq!(
        bench
            .lab
            .sh("sysctl -n net.ipv4.tcp_moderate_rcvbuf")
            .trim(),
        "1"
    );
}

#[test]
fn confirmed_changes_are_what_is_kept() {
    let Some(bench) = Bench::new() else { return };
    bench.apply(&changes(), "60s").assert_code(0);
    let early = bench.run(&["persist", "--dry-run", "--transaction", "1"]);
    early.refused_for("transaction 1 is unconfirmed");
    bench.run(&["apply", "--confirm"]).assert_code(0);
    let shown = bench.run(&["persist", "--dry-run", "--transaction", "1"]);
    let text = &shown.assert_code(0).stdout;
    for line in [
        "==> /etc/systemd/network/10-nicety-v0.link",
        "OriginalName=v0\n",
        "MTUBytes=9000\n",
        "TCPSegmentationOffload=no\n",
        "net.ipv4.tcp_rmem = 4096 131072 8388608\n",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    bench.run(&["undo"]).assert_code(0);
}
