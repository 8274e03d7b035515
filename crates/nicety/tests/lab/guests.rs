//! Paths through guests: `kind = "vm"`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::booted::wait_gone;
use crate::harness::{Call, lines, nicety, open_dir, root, skip};
use crate::leftovers::Before;
use crate::machine::Machine;
use crate::{cache, can_boot, guests_on_paths, machines};

/// Cells found fast on any machine: much loss is allowed.
const HEAD: &str = "[traffic]
frame_sizes = [1518]
[search]
preset = \"quick\"
loss_ratio = 0.2
confirm = \"1s\"
";
const GUEST: &str = "[[path]]\nkind = \"vm\"\naccel = \"tcg\"\n";
/// A run of a few cells, each with a boot, on a machine that is busy elsewhere.
const RUN: Duration = Duration::from_secs(400);

fn bench(dir: &Path, paths: &str) -> Call {
    bench_plan(dir, &format!("{HEAD}{paths}"))
}

fn bench_plan(dir: &Path, plan: &str) -> Call {
    fs::write(dir.join("plan.toml"), plan).unwrap();
    let cache = cache();
    nicety(["bench", "plan.toml", "--out", "run"])
        .env("NICETY_CACHE", cache.to_str().unwrap())
        .dir(dir)
        .limit(RUN)
}

fn meta(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap()
}

/// Trials of a run's guests that sent frames.
fn sent(run: &Path) -> Vec<Value> {
    let mut trials = lines(&run.join("trials.jsonl"));
    trials.retain(|trial| {
        let received = trial["frames"]["received"].as_u64();
        trial["cell"].as_str().unwrap().starts_with("vm,") && received > Some(0)
    });
    trials
}

#[test]
fn guests_are_measured() {
    if !guests_on_paths() || !can_boot() {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let there = Path::new("/dev/vhost-net").exists();
    // The plan of the guide.
    let page = include_str!("../../../../docs/guide/vm.md");
    let plan = page.split_once("```toml guests.toml\n").unwrap().1;
    let plan = plan.split_once("```").unwrap().0;
    let ended = bench_plan(dir.path(), plan).run();
    assert!(matches!(ended.code(), 0 | 1), "{ended:?}");
    let run = dir.path().join("run");
    assert_eq!(meta(&run)["complete"], true);
    for (nic, driver) in [("e1000", "e1000"), ("virtio-net", "virtio_net")] {
        assert!(
            ended
                .stderr
                .contains(&format!("booting a guest: {nic}, 1 virtual CPU, ")),
            "{}",
            ended.stderr
        );
        let cell = format!("vm,nic={nic},pin=0/1518/uni");
        let of_cell = |value: &Value| value["cell"] == cell.as_str();
        assert!(lines(&run.join("cells.jsonl")).iter().any(of_cell), "{nic}");
        // Frames went through the guest, and its threads and CPUs are accounted for.
        let trials = sent(&run);
        let trial = trials.iter().find(|trial| of_cell(trial)).unwrap();
        assert!(
            trial["cpu"]["who"]["guest/vcpu0"].as_f64().unwrap() > 0.0,
            "{trial}"
        );
        assert!(trial["cpu"]["who"]["guest/qemu"].is_number(), "{trial}");
        let guest = &trial["cpu"]["guests"][0];
        assert_eq!(guest["guest"], "guest");
        assert!(guest["cores"][0]["softirq"].is_number(), "{guest}");
        let notes = meta(&run)["notes"].to_string();
        assert!(
            notes.contains(&format!("guest uses {nic}, Linux 6.")),
            "{notes}"
        );
        assert!(
            notes.contains(&format!("eth0 {driver} x1, rings of ")),
            "{notes}"
        );
        assert!(notes.contains("vcpu0 pinned to CPU 0"), "{notes}");
    }
    if !there {
        let skipped = meta(&run)["skipped"][0].clone();
        assert_eq!(skipped["cell"], "vm,nic=vhost-net,pin=0/1518/uni");
        let reason = skipped["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("nic = \"vhost-net\" needs /dev/vhost-net: "),
            "{reason}"
        );
        let remedy = skipped["remedy"].as_str().unwrap();
        assert!(remedy.starts_with("modprobe vhost_net"), "{remedy}");
    }
    before.check();
    assert_eq!(machines("the guest", std::process::id() as i32), [0; 0]);
}

#[test]
fn a_trace_goes_through_a_guest() {
    if !guests_on_paths() || !can_boot() {
        return;
    }
    if !root() {
        skip("only root may load the programs");
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let plan = format!("{GUEST}nic = \"virtio-net\"\n");
    fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let cache = cache();
    let words = [
        "trace",
        "plan.toml",
        "--size",
        "1518",
        "--count",
        "10",
        "--json",
    ];
    let trace = nicety(words).env("NICETY_CACHE", cache.to_str().unwrap());
    let ended = trace.dir(dir.path()).limit(RUN).run();
    let told = ended.assert_code(0).stdout.lines();
    let told: Vec<Value> = told
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (summary, frames) = told.split_last().unwrap();
    assert_eq!((frames.len(), &summary["received"]), (10, &10.into()));
    for frame in frames {
        let stations = frame["stations"].as_array().unwrap().iter();
        let stations: Vec<_> = stations
            .map(|one| (one["device"].as_str().unwrap(), one["error_ns"].is_number()))
            .collect();
        let way = [
            ("d0", false),
            ("t0", false),
            ("guest eth0", true),
            ("guest eth1", false),
            ("t1", true),
            ("d1", false),
            ("b", false),
        ];
        assert_eq!(stations, way, "{frame}");
    }
    before.check();
    assert_eq!(machines("the guest", std::process::id() as i32), [0; 0]);
}

/// Cells of the lab's guests, and what makes their paths.
const UNDER_KVM: [(&str, &str); 2] = [
    (
        "vm,accel=kvm,nic=vhost-net,switch=vlan-bridge/1518/uni",
        "accel = \"kvm\"\nnic = \"vhost-net\"\nswitch = \"vlan-bridge\"\n",
    ),
    // KVM is proved by then.
    ("vm,nic=macvtap/1518/uni", "nic = \"macvtap\"\n"),
];
/// Measures each path until frames came through it, and looks at the VLAN sub-interface of the tester's
/// wire, which gets frames with its tag only, in the namespace that the run holds open.
const TAGGED: &str = r#"
. ./common.sh
tagged() {
    for fd in /proc/$run/fd/*; do
        case $(readlink $fd) in
        net:*) nsenter --net=$fd cat /proc/net/dev 2>/dev/null ;;
        esac
    done | grep -o '^ *d0[.][0-9]*: *[0-9]* *[1-9][0-9]*'
}
for path in 0 1; do
    tags=
    nicety bench plan$path.toml --out out/$path --engine af_packet &
    run=$!
    until grep -F '"cell":"vm,' out/$path/trials.jsonl 2>/dev/null | grep -q '"received":[1-9]'; do
        kill -0 $run 2>/dev/null || break
        seen=$(tagged) && tags=$seen
        sleep 0.3
    done
    seen=$(tagged) && tags=$seen
    echo tagged $path $tags
    kill -TERM $run
    wait $run || true
done
"#;

/// What this machine lacks, in the lab: KVM, vhost, VLAN sub-interfaces, and a macvtap that vhost
/// carries.
#[test]
#[ignore = "guests under an emulated KVM boot for minutes: make test-all"]
fn guests_under_kvm_with_vhost() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    for (number, (_, path)) in UNDER_KVM.iter().enumerate() {
        let plan = format!("{HEAD}[[path]]\nkind = \"vm\"\n{path}");
        machine.write(&format!("plan{number}.toml"), &plan);
    }
    let ended = machine.play(TAGGED);
    let out = machine.out();
    for (number, (cell, _)) in UNDER_KVM.iter().enumerate() {
        let run = out.join(number.to_string());
        let skipped = meta(&run)["skipped"].as_array().map_or(0, Vec::len);
        assert_eq!(skipped, 0, "{ended:?}");
        let notes = meta(&run)["notes"].to_string();
        let trials = sent(&run);
        let trial = trials.iter().find(|trial| trial["cell"] == *cell);
        let trial = trial.unwrap_or_else(|| panic!("no frames in {cell}: {ended:?}"));
        for thread in ["guest/vhost0", "guest/vhost1", "guest/vcpu0"] {
            assert!(trial["cpu"]["who"][thread].is_number(), "{thread}: {trial}");
        }
        assert!(notes.contains(" and KVM: eth0 virtio_net x1"), "{notes}");
        assert!(notes.contains("; vhost0 free on CPU"), "{notes}");
    }
    // Frames came with the tag that the sub-interface wants.
    assert!(ended.stdout.contains("tagged 0 d0."), "{ended:?}");
    assert!(ended.stdout.contains("tagged 1\n"), "{ended:?}");
}

/// A running bench with a guest that has carried frames, and its QEMU.
fn under_way(dir: &Path, paths: &str) -> (crate::harness::Running, i32) {
    let mut running = bench(dir, paths).start();
    let mut qemu = Vec::new();
    running.until("frames through the guest", |running| {
        qemu = machines("the guest", running.id());
        !qemu.is_empty() && !sent(&dir.join("run")).is_empty()
    });
    (running, qemu[0])
}

#[test]
fn a_guest_that_dies_fails_its_cell_and_no_other() {
    if !guests_on_paths() || !can_boot() {
        return;
    }
    let dir = open_dir();
    let (running, qemu) = under_way(
        dir.path(),
        &format!("{GUEST}nic = \"virtio-net\"\n[[path]]\nkind = \"bridge\"\n"),
    );
    kill_process(Pid::from_raw(qemu).unwrap(), Signal::KILL).unwrap();
    let ended = running.wait();
    ended.assert_code(1);
    let cells = lines(&dir.path().join("run/cells.jsonl"));
    let of = |kind: &str| {
        let of_kind = |cell: &&Value| cell["path"]["kind"] == kind && cell["control"].is_null();
        cells.iter().find(of_kind).unwrap()
    };
    assert_eq!(of("vm")["verdict"], "failed");
    let notes = of("vm")["notes"].to_string();
    assert!(
        notes.contains("the guest: it has ended; last on its console: "),
        "{notes}"
    );
    assert!(of("bridge")["trials"].as_u64() > Some(0));
}

#[test]
fn a_guest_ends_with_a_killed_run() {
    if !guests_on_paths() || !can_boot() {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let (running, qemu) = under_way(dir.path(), GUEST_WITH_NIC);
    running.signal(Signal::KILL);
    running.wait();
    wait_gone(qemu);
    before.check();
}

const GUEST_WITH_NIC: &str = "[[path]]\nkind = \"vm\"\naccel = \"tcg\"\nnic = \"virtio-net\"\n";

#[test]
fn a_cache_that_cannot_be_made() {
    if !guests_on_paths() {
        return;
    }
    let dir = open_dir();
    fs::write(dir.path().join("plan.toml"), format!("{HEAD}{GUEST}")).unwrap();
    let bench = nicety(["bench", "plan.toml", "--out", "run"]).env("NICETY_CACHE", "/proc/x");
    let ended = bench.dir(dir.path()).run();
    ended.assert_code(3);
    let skipped = meta(&dir.path().join("run"))["skipped"][0].clone();
    let reason = skipped["reason"].as_str().unwrap();
    assert!(reason.starts_with("make directory /proc/x: "), "{reason}");
    let remedy = skipped["remedy"].as_str().unwrap();
    assert!(remedy.contains("in NICETY_CACHE"), "{remedy}");
}

#[test]
fn without_a_network_guests_are_skipped() {
    if !guests_on_paths() {
        return;
    }
    let dir = open_dir();
    fs::write(dir.path().join("plan.toml"), format!("{HEAD}{GUEST}")).unwrap();
    let ended = nicety(["bench", "plan.toml", "--out", "run"])
        .env("NICETY_CACHE", "cache")
        .env("NICETY_MIRROR", "http://127.0.0.1:9/debian")
        .dir(dir.path())
        .limit(Duration::from_secs(120))
        .run();
    ended.assert_code(3);
    let skipped = meta(&dir.path().join("run"))["skipped"][0].clone();
    assert_eq!(skipped["cell"], "vm,accel=tcg/1518/uni");
    let (reason, remedy) = (
        skipped["reason"].as_str().unwrap(),
        skipped["remedy"].as_str().unwrap(),
    );
    if !Path::new("/usr/share/keyrings/debian-archive-keyring.gpg").exists() {
        skip("this is no Debian with its keyring");
        return;
    }
    assert!(reason.starts_with("apt-get update failed: "), "{reason}");
    assert_eq!(
        remedy,
        "check the network, or name another archive in NICETY_MIRROR, then go on with --resume"
    );
}
