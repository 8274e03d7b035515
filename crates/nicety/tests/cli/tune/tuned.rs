//! What `tune persist --format tuned` writes, in the hands of tuned itself.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::{Bench, changes};
use crate::harness::{as_root, skip};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/tuned-alone.sh");

#[test]
fn tuned_takes_the_profile() {
    if !as_root("tuned needs root") {
        return;
    }
    let Some(bench) = Bench::new() else { return };
    let before = bench.settings();
    let sysctls = &changes()[2..];
    bench.apply(sysctls, "600s").assert_code(0);
    bench.run(&["apply", "--confirm"]).assert_code(0);
    let shown = bench.run(&["persist", "--format", "tuned", "--dry-run"]);
    let shown = &shown.assert_code(0).stdout;
    // Where tuned keeps profiles depends on its version.
    let file = shown.split("==> /etc/tuned/").nth(1);
    let profile = file.and_then(|file| file.split_once("nicety/tuned.conf\n"));
    let (_, profile) = profile.unwrap_or_else(|| panic!("{shown}"));
    // After the file come words for a person.
    let words = ["would be written: ", "by hand: ", "not kept: ", "==> "];
    let own = |line: &&str| !words.iter().any(|word| line.starts_with(word));
    let profile: String = profile.split_inclusive('\n').take_while(own).collect();
    let file = bench.dir.path().join("tuned.conf");
    fs::write(&file, profile).unwrap();
    bench.run(&["undo"]).assert_code(0);
    assert_eq!(bench.settings(), before);

    let asked = "tuned-adm list; tuned-adm verify; cat /proc/sys/net/ipv4/tcp_moderate_rcvbuf \
                 /proc/sys/net/ipv4/tcp_rmem";
    let enter = bench.lab.enter();
    let output = Command::new("timeout")
        .arg(Duration::from_secs(120).as_secs().to_string())
        .args(&enter)
        .args([SCRIPT, "set", file.to_str().unwrap(), "sh", "-c", asked])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        skip(format_args!("{}", said.lines().last().unwrap_or_default()));
        return;
    }
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{said}");
    assert!(told.contains("\n- nicety "), "not listed: {told}");
    // tuned 2.20 writes "Verfication".
    assert!(told.contains("fication succeeded"), "{told}{said}");
    assert!(told.ends_with("1\n4096\t131072\t8388608\n"), "{told}");
}
