//! The functions of a real driver share a link.

use crate::harness::{alone, open_dir};
use crate::{inside_only, lab, machine_state};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/police.sh");

const EXPECTED: &str = "\
nicety: /tmp/wrong.toml: tenant \"b\": eth0 has no function 9; correct the number, see nicety vf list eth0, or start with --absent-ok
code 2
nicety: /tmp/wrong.toml: tenant \"a\": the counters of eth0/vf0 wrap too often for a period of 20s; write at most 8 s
code 2
vf 0 500, vf 2 200
written again
after the link: vf 0 500, vf 2 200
eth0/vf1 not enforced
killed: vf 0 500, vf 2 200
vf 0 500, vf 2 200
taking over 3 ports from a daemon that was killed
the limits of 3 ports are as they were found
stopped: vf 0 700, vf 2 
vf 0 500, vf 2 200
made anew: vf 0 500, vf 2 200
stopped: vf 0 , vf 2 
";

#[test]
fn functions_of_an_82576_share_its_link() {
    let _alone = alone();
    if !inside_only("functions_of_an_82576_share_its_link") {
        return;
    }
    let before = machine_state();
    let dir = open_dir();
    let out = dir.path().join("out");
    let out_name = out.to_str().unwrap();
    let words = [
        "--out", out_name, "--cpus", "2", "--", "sh", SCRIPT, out_name,
    ];
    let ended = lab("run", &words).dir(dir.path()).run();
    ended.assert_code(0);
    assert_eq!(ended.stdout, EXPECTED, "{}", ended.stderr);
    assert_eq!(machine_state(), before);
}
