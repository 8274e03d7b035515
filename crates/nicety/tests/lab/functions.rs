//! Virtual functions on the path: in the lab, which has an Intel 82576 and an IOMMU.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Ended, lines};
use crate::machine::Machine;

/// Cells found fast under emulation: what counts is that frames are carried.
const HEAD: &str = "[traffic]
frame_sizes = [1518]
[search]
preset = \"quick\"
loss_ratio = 0.2
confirm = \"0s\"
fate = \"off\"
latency_load = [50]
";
/// Sockets that end on functions of the port; two of the cells are for neighbours that fit, and that
/// do not.
const SOCKETS: &str = "pf = \"eth0\"
[[sockets]]
test = [\"tcp_rr\", \"tcp_stream\"]
time = \"300ms\"
[[sockets]]
test = \"udp_rr\"
neighbours = [1, 2]
time = \"300ms\"
";
/// Runs them, before all else: nobody has functions yet.
const RUN_SOCKETS: &str = "nicety bench sockets.toml --out out/sockets\n";
/// Guests beside each other on the port, and more than it has functions for.
const RUN_SEVERAL: &str = "
for vms in 2 3; do (cat plan.toml; echo vms = $vms) >vms$vms.toml; done
carried out/several vm, vms2.toml --out out/several
nicety bench vms3.toml --out out/many --engine af_packet || echo many code $?
";
/// Looks at the port after a run, makes and removes functions by hand, and runs again while somebody else
/// has some.
const AFTER: &str = "
functions=/sys/class/net/eth0/device/sriov_numvfs
carried out/run vm, plan.toml --out out/run
echo left $(cat $functions) $(ls -d /sys/class/net/* | wc -l) $(ls -d /run/nicety/path-* 2>/dev/null)
links eth0
nicety port functions eth0 9 --state $own/state || echo too many code $?
nicety port functions eth0 2 --state $own/state
echo enabled $(cat $functions) $(ls -d /sys/class/net/eth0/device/virtfn* | wc -l)
face=$(ls /sys/class/net/eth0/device/virtfn1/net)
ip link set $face up
nicety port functions eth0 0 --state $own/state || echo in use code $?
ip link set $face down
nicety port limit eth0/vf0 500mbit --verify 0s --state $own/state
nicety port functions eth0 3 --state $own/state || echo limited code $?
nicety tune undo --state $own/state
nicety port functions eth0 0 --state $own/state
echo disabled $(cat $functions)
nicety tune undo --state $own/state
echo back $(cat $functions)
nicety port functions eth0 1 --state $own/state
nicety bench plan.toml --out out/taken --engine af_packet || echo code $?
echo 0 >$functions
";
/// Kills a guest that has two functions, and its run, after another run beside it had to leave them
/// alone, and goes on with it. In between it stands still, so that no function comes or goes. A daemon
/// limits the functions all the time. In the order of this seed the guest with functions of its own is
/// the first.
const KILLED: &str = r#"
functions=/sys/class/net/eth0/device/sriov_numvfs
more="--engine af_packet"
named() { ls -d /run/nicety/path-* 2>/dev/null | wc -l; }
holders() { nicety port list eth0 --window 0s --json | sed -n 's/.*"holder": "the guest (pid \([0-9]*\)).*/\1/p'; }
limits() { for vf in 0 1 2 3; do kernel $vf; done | paste -sd' '; }
limited() { wait_for "the limits $1" '[ "$(limits)" = "200 200 200 200" ]'; }
printf '[link]\ncapacity = "1gbit"\n' >police.toml
for vf in 0 1 2 3; do
    printf '[[tenant]]\nname = "g%s"\nports = "eth0/vf%s"\ncap = "200mbit"\n' $vf $vf >>police.toml
done
nicety bench plan.toml --out out/run --seed 1 $more &
run=$!
wait_for "trials" "[ -s out/run/trials.jsonl ]"
kill -STOP $run
nicety bench plan.toml --out out/taken $more || echo code $?
echo used $(cat $functions) $(named)
nicety police run police.toml --absent-ok --state $own/police 2>out/log &
police=$!
limited "at first"
echo "the guest has $(holders | wc -l) functions"
# What else there is, should it have none.
[ -n "$(holders)" ] || { nicety port list eth0 --window 0s --json; pgrep -a qemu; tail -n 3 out/run/trials.jsonl; } >&2
kill -9 $(holders | sort -u)
wait_for "the end of the guest" '[ -z "$(holders)" ]'
echo "the guest is dead: $(limits)"
kill -9 $run
wait $run || true
echo killed $(cat $functions) $(named)
nicety bench --resume out/run $more &
run=$!
wait_for "another guest" '[ "$(holders | wc -l)" = 2 ]'
limited "of another guest"
echo "another guest: $(limits)"
frames() { grep -F "\"cell\":\"vm,$1" out/run/trials.jsonl | grep -q '"received":[1-9]'; }
wait_for "frames through either kind" 'frames accel=kvm,nic=sriov, && frames accel=kvm,nic=sriov-macvtap,'
kill -TERM $run
wait $run || true
kill $police
wait $police
echo left $(cat $functions) $(ls -d /sys/class/net/* | wc -l) $(ls -d /run/nicety/path-* 2>/dev/null)
"#;
/// Runs a script with its plan in the machine, and tells what it printed.
fn run(path: &str, script: &str) -> Option<(Machine, Ended)> {
    let machine = Machine::enter()?;
    machine.write("plan.toml", &format!("{HEAD}{path}"));
    let (first, rest) = path.split_once("pf = ").unwrap();
    assert_eq!(rest, "\"eth0\"\n");
    machine.write("sockets.toml", &format!("{first}{SOCKETS}"));
    let ended = machine.play(&format!(". ./common.sh\n{script}"));
    ended.assert_code(0);
    // Two ports and the loopback, no function, nothing to undo.
    assert!(ended.stdout.contains("left 0 3\n"), "{ended:?}");
    Some((machine, ended))
}

/// A trial of the cell in which frames came through.
fn carried(run: &Path, cell: &str) -> Value {
    let trials = lines(&run.join("trials.jsonl"));
    let mut of_cell = trials.into_iter().filter(|trial| trial["cell"] == cell);
    of_cell
        .find(|trial| trial["frames"]["received"].as_u64() > Some(0))
        .unwrap_or_else(|| panic!("no frames in {cell}"))
}

fn meta(run: &Path) -> Value {
    let text = fs::read(run.join("run.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

#[test]
#[ignore = "searches through virtual functions for two minutes under emulation: make test-all"]
fn functions_in_a_namespace() {
    let path = "[[path]]\nkind = \"vm\"\nguest = \"netns\"\nnic = \"sriov\"\npf = \"eth0\"\n";
    let script = format!("{RUN_SOCKETS}{RUN_SEVERAL}{AFTER}");
    let Some((machine, ended)) = run(path, &script) else {
        return;
    };
    let out = machine.out();
    carried(
        &out.join("run"),
        "vm,guest=netns,nic=sriov,pf=eth0/1518/uni",
    );
    let notes = meta(&out.join("run"))["notes"].to_string();
    assert!(notes.contains("two interfaces of driver igbvf"), "{notes}");
    refused(&out, "eth0 has 1 virtual functions already, vf0 is eth");
    for line in [
        "too many code 2\n",
        "eth0: 2 virtual functions, before 0\n",
        "enabled 2 2\n",
        "in use code 3\n",
        "limited code 3\n",
        "disabled 0\n",
        "back 2\n",
        "eth0: 1 virtual function, before 2\n",
    ] {
        assert!(ended.stdout.contains(line), "{line}: {ended:?}");
    }
    for part in [
        "in use: vf1: eth",
        "in use: vf0 has a limit of 500 Mbit/s; ",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {ended:?}");
    }
    sockets(&out, "vm,guest=netns,nic=sriov,pf=eth0", 2);
    several(&out);
    assert!(ended.stdout.contains("many code 3\n"), "{ended:?}");
}

/// Two guests with functions of their own, and one too many.
fn several(out: &Path) {
    let run = &out.join("several");
    let trial = carried(run, "vm,guest=netns,nic=sriov,pf=eth0,vms=2/1518/uni");
    let guests = trial["guests"].as_array().unwrap();
    assert_eq!(guests.len(), 2, "{trial}");
    for guest in guests {
        assert!(guest["received"].as_u64() > Some(0), "{trial}");
    }
    let notes = meta(run)["notes"].to_string();
    assert!(notes.contains("2 guests share the port; "), "{notes}");
    let skipped = meta(&out.join("many"))["skipped"][0].clone();
    assert_eq!(
        skipped["reason"],
        "eth0 can have 7 virtual functions, 3 guests need 8"
    );
    let remedy = skipped["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("write vms = 2 or less"), "{remedy}");
}

/// What sockets on a path got: its `cpus` are those of whoever serves.
fn sockets(out: &Path, path: &str, cpus: u64) {
    let results = lines(&out.join("sockets/sockets.jsonl"));
    let mut names: Vec<&str> = Vec::new();
    for result in &results {
        let name = result["cell"].as_str().unwrap().strip_prefix(path).unwrap();
        names.push(name);
        assert_eq!(result["ending"], "complete", "{result}");
        let cpu = &result["server"]["cpu"];
        assert_eq!(cpu["host_cpus"], cpus, "{result}");
        assert!(cpu["host_busy_cpus"].as_f64() > Some(0.0), "{result}");
        let figure = if name.contains("_rr/") {
            "transactions_per_s"
        } else {
            "goodput_mbps"
        };
        let beside = &result["neighbours"];
        if name.ends_with("/neighbours=1") {
            // A neighbour may let nothing through.
            assert!(beside["goodput_mbps"].as_f64() > Some(0.0), "{beside}");
        } else {
            assert!(result[figure].as_f64() > Some(0.0), "{result}");
        }
    }
    names.sort_unstable();
    assert_eq!(
        names,
        ["/tcp_rr/1", "/tcp_stream/131072", "/udp_rr/1/neighbours=1"]
    );
    // An 82576 has functions for one pair beside the path's own four.
    let skipped = meta(&out.join("sockets"))["skipped"][0].clone();
    assert_eq!(
        skipped["reason"],
        "1 is the most pairs of neighbours there is room for"
    );
}

/// Somebody else's functions are left alone.
fn refused(out: &Path, why: &str) {
    let skipped = meta(&out.join("taken"))["skipped"][0].clone();
    let reason = skipped["reason"].as_str().unwrap();
    assert!(reason.starts_with(why), "{reason}");
    let remedy = skipped["remedy"].as_str().unwrap();
    assert!(
        remedy.starts_with("when nobody needs them, echo 0 > "),
        "{remedy}"
    );
}

#[test]
#[ignore = "guests under an emulated KVM boot for minutes: make test-all"]
fn functions_of_guests() {
    let path = "[[path]]\nkind = \"vm\"\naccel = \"kvm\"\nnic = [\"sriov\", \"sriov-macvtap\"]\npf = \"eth0\"\n";
    let Some((machine, ended)) = run(path, KILLED) else {
        return;
    };
    let out = machine.out();
    refused(
        &out,
        "eth0 has 4 virtual functions already, vf0 is in another namespace",
    );
    // The other run has not touched them, a killed one leaves them and names them, and the one
    // that went on has removed them.
    for line in [
        "code 3\n",
        "used 4 1\n",
        "the guest has 2 functions\n",
        "the guest is dead: 200 200 200 200\n",
        "killed 4 1\n",
        "another guest: 200 200 200 200\n",
    ] {
        assert!(ended.stdout.contains(line), "{ended:?}");
    }
    let run = out.join("run");
    let notes = meta(&run)["notes"].to_string();
    for (nic, driver) in [("sriov", "igbvf"), ("sriov-macvtap", "virtio_net")] {
        let trial = carried(&run, &format!("vm,accel=kvm,nic={nic},pf=eth0/1518/uni"));
        assert!(trial["cpu"]["who"]["guest/vcpu0"].is_number(), "{trial}");
        let said = format!("guest uses {nic}, Linux 6.");
        assert!(notes.contains(&said), "{notes}\n{}", ended.stderr);
        assert!(notes.contains(&format!("KVM: eth0 {driver} x1")), "{notes}");
    }
}
