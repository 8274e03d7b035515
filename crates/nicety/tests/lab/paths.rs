//! Paths that need more of the kernel than every machine has: measured in the lab.

use std::fs;

use serde_json::Value;

use crate::harness::{lines, skip};
use crate::machine::Machine;

/// What matters is that frames pass: what became of lost ones and latency are measured elsewhere.
const HEAD: &str = r#"name = "kernel"
[traffic]
frame_sizes = 64
[search]
preset = "quick"
loss_ratio = 0.2
confirm = "0s"
fate = "off"
latency_load = [50]
[[path]]
"#;
/// Where frames are of IPv6.
const SIX: &str = "[traffic]\nfamily = \"ipv6\"\n";
/// Sockets over what this machine's kernel may not have.
const SOCKETS: &str = r#"
[[path]]
kind = "routed"
flowtable = "on"
nat = "snat"
[[path]]
kind = "tunnel"
encapsulation = ["geneve", "gre", "wireguard"]
[[path]]
kind = "ipvlan"
mode = ["l2", "l3"]
[[path]]
kind = "bond"
[[path]]
kind = "team"
[[path]]
kind = "netkit"
mode = ["l2", "l3"]
[[sockets]]
test = "tcp_stream"
time = "1s"
[[sockets]]
test = "tcp_rr"
family = "ipv6"
time = "300ms"
"#;
/// Kind of a path, its keys as its cells' names have them, and whether its frames are of IPv6.
const PATHS: [(&str, &str, bool); 16] = [
    ("vlan-bridge", "tagging=sub-interface", false),
    ("vlan-bridge", "tagging=sub-interface", true),
    ("vlan-bridge", "tagging=filtering", true),
    ("ovs", "datapath=kernel", false),
    ("ovs", "datapath=kernel", true),
    ("ovs", "datapath=kernel,tagging=filtering", true),
    ("routed", "flowtable=on,nat=snat", false),
    ("tunnel", "encapsulation=geneve", true),
    ("tunnel", "encapsulation=gre", false),
    ("tunnel", "encapsulation=wireguard", true),
    ("ipvlan", "mode=l2", false),
    ("tc-redirect", "", true),
    ("tc-redirect", "filter=flower", false),
    ("bond", "aggregation=802.3ad", true),
    ("team", "", false),
    ("netkit", "", true),
];

/// What its cells' names begin with, and what makes it.
fn path((kind, keys, _): (&str, &str, bool)) -> (String, String) {
    let mut text = format!("kind = \"{kind}\"\n");
    for (key, value) in keys.split(',').filter_map(|word| word.split_once('=')) {
        text += &format!("{key} = \"{value}\"\n");
    }
    let comma = if keys.is_empty() { "" } else { "," };
    (format!("{kind}{comma}{keys}/"), text)
}

#[test]
#[ignore = "sixteen runs under emulation for minutes: make test-all"]
fn paths_that_need_modules() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    let mut script = ". ./common.sh\n".to_owned();
    for (number, asked) in PATHS.into_iter().enumerate() {
        let (cell, path) = path(asked);
        let plan = format!("plan{number}.toml");
        machine.write(&plan, &format!("{}{path}", head(asked.2)));
        script += &format!("carried out/{number} {cell} {plan} --out out/{number}\n");
    }
    let ended = machine.play(&script);
    ended.assert_code(0);
    for (number, asked) in PATHS.into_iter().enumerate() {
        let (cell, _) = path(asked);
        let run = machine.out().join(number.to_string());
        let meta: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
        if let Some(entry) = meta["skipped"].as_array().and_then(|all| all.first()) {
            // The programs are this machine's.
            let remedy = entry["remedy"].as_str().unwrap();
            assert!(
                remedy.starts_with("apt install openvswitch-switch"),
                "{entry}"
            );
            skip(format_args!("{}: {}", entry["cell"], entry["reason"]));
            continue;
        }
        let mut trials = lines(&run.join("trials.jsonl"));
        trials.retain(|trial| trial["cell"].as_str().unwrap().starts_with(&cell));
        assert!(
            trials
                .iter()
                .any(|trial| trial["frames"]["received"].as_u64() > Some(0)),
            "nothing came through {cell}: {ended:?}"
        );
        for trial in trials {
            let corrupt = trial["frames"]["corrupt"].as_u64();
            assert_eq!(corrupt.unwrap_or(0), 0, "{trial}");
        }
    }
}

fn head(six: bool) -> String {
    let sized = |text: String| text.replace("frame_sizes = 64", "frame_sizes = 128");
    if six {
        sized(HEAD.replace("[traffic]\n", SIX))
    } else {
        HEAD.to_owned()
    }
}

#[test]
#[ignore = "twenty runs of sockets under emulation, for minutes: make test-all"]
fn sockets_on_paths_that_need_modules() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    machine.write("plan.toml", SOCKETS);
    let script = ". ./common.sh\nnicety bench plan.toml --out out/sockets >/dev/null\n";
    let ended = machine.play(script);
    ended.assert_code(0);
    let results = lines(&machine.out().join("sockets/sockets.jsonl"));
    assert_eq!(results.len(), 2 * 10, "{ended:?}");
    for result in results {
        assert_eq!(result["ending"], "complete", "{result}");
        if result["test"] == "tcp_rr" {
            let answered = result["client"]["transactions"].as_u64();
            assert!(answered > Some(5), "{result}");
        } else {
            assert!(result["goodput_mbps"].as_f64() > Some(0.1), "{result}");
        }
    }
}
