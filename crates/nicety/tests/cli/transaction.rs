//! `nicety tune apply` and the way back, on settings of throw-away namespaces.
//!
//! Plans are written by the test, so that every kind of setting a namespace owns is changed,
//! whatever the rules would say about this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Call, Ended, nicety};
use crate::lab::Lab;

const SETUP: &str = "
set -e
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip link add v0 numtxqueues 2 numrxqueues 2 type veth peer name v1 numtxqueues 2 numrxqueues 2
ip link add br0 type bridge
ip link set v0 master br0
for link in br0 v0 v1; do ip link set $link up; done
sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_rmem='4096 131072 6291456'
";

/// A namespace with a state directory and plans.
struct Bench {
    lab: Lab,
    dir: TempDir,
}

/// What the tests change: setting, old value, new value. The peer of a veth keeps its own MTU.
fn changes() -> Vec<(Value, &'static str, &'static str)> {
    let sysctl = |name: &str| json!({"kind": "sysctl", "name": name});
    let feature = |name: &str| json!({"kind": "feature", "interface": "v0", "feature": name});
    vec![
        (json!({"kind": "mtu", "interface": "v0"}), "1500", "9000"),
        (feature("tx-tcp-segmentation"), "on", "off"),
        (sysctl("net.ipv4.tcp_moderate_rcvbuf"), "0", "1"),
        (
            sysctl("net.ipv4.tcp_rmem"),
            "4096 131072 6291456",
            "4096 131072 8388608",
        ),
    ]
}

/// A plan as `nicety tune plan --json` writes it, of this boot.
fn plan(changes: &[(Value, &str, &str)]) -> Value {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let changes: Vec<Value> = changes
        .iter()
        .map(|(knob, from, to)| json!({"knob": knob, "from": from, "to": to}))
        .collect();
    let finding = json!({
        "id": "T00", "rule": "test", "subject": "x", "is": "", "should": "", "why": "", "source": "",
        "cost": "", "risk": "low", "certainty": "certain", "effect": "now", "changes": changes,
        "advice": []
    });
    json!({
        "schema": 1, "goal": "throughput", "boot_id": boot.trim(), "findings": [finding],
        "waiting": []
    })
}

impl Bench {
    fn new(test: &str) -> Option<Self> {
        let lab = Lab::with(test, SETUP)?;
        let dir = tempfile::tempdir().unwrap();
        Some(Self { lab, dir })
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn write_plan(&self, changes: &[(Value, &str, &str)]) -> PathBuf {
        let path = self.dir.path().join("plan.json");
        fs::write(&path, plan(changes).to_string()).unwrap();
        path
    }

    fn call(&self, arguments: &[&str]) -> Call {
        let state = self.state();
        let call = ["tune"].iter().chain(arguments).copied();
        self.lab
            .inside(nicety(call.chain(["--state", state.to_str().unwrap()])))
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.call(arguments).run()
    }

    fn apply(&self, changes: &[(Value, &str, &str)], within: &str) -> Ended {
        let plan = self.write_plan(changes);
        self.run(&["apply", plan.to_str().unwrap(), "--confirm-within", within])
    }

    /// The settings of [`changes`], as other programs see them.
    fn settings(&self) -> Vec<String> {
        let text = self.lab.sh(
            "cat /proc/sys/net/ipv4/tcp_moderate_rcvbuf /proc/sys/net/ipv4/tcp_rmem; \
             ip -o link show v0 | grep -o 'mtu [0-9]*'; ethtool -k v0 | grep tx-tcp-segmentation:",
        );
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    fn phases(&self) -> Vec<String> {
        let ended = self.run(&["history", "--json"]);
        let history: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
        let transactions = history["transactions"].as_array().unwrap();
        transactions
            .iter()
            .map(|t| t["phase"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits for a phase of the last transaction.
    #[track_caller]
    fn until(&self, phase: &str) {
        let end = Instant::now() + Duration::from_secs(30);
        while self.phases().last().map(String::as_str) != Some(phase) {
            assert!(Instant::now() < end, "not {phase}: {:?}", self.phases());
            sleep(Duration::from_millis(50));
        }
    }

    /// Waits until no guard is left, as after a kill of everything.
    #[track_caller]
    fn until_unguarded(&self) {
        let end = Instant::now() + Duration::from_secs(30);
        while !self.guards().is_empty() {
            assert!(Instant::now() < end, "the guard stays");
            sleep(Duration::from_millis(20));
        }
    }

    /// The guard of the state directory, found by its own command line.
    fn guards(&self) -> Vec<Pid> {
        let state = self.state().canonicalize().unwrap();
        let state = state.to_str().unwrap();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|entry| {
                let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
                let line = fs::read_to_string(entry.path().join("cmdline")).ok()?;
                let mut words = line.split('\0');
                let ours = words.any(|w| w == "guard") && line.split('\0').any(|w| w == state);
                ours.then(|| Pid::from_raw(pid)).flatten()
            })
            .collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.state().exists() {
            for guard in self.guards() {
                // Fails only when it has ended.
                let _ = kill_process(guard, Signal::KILL);
            }
        }
    }
}

const OLD: [&str; 4] = [
    "0",
    "4096 131072 6291456",
    "mtu 1500",
    "tx-tcp-segmentation: on",
];
const NEW: [&str; 4] = [
    "1",
    "4096 131072 8388608",
    "mtu 9000",
    "tx-tcp-segmentation: off",
];

#[test]
fn what_is_confirmed_stays_and_can_be_undone() {
    let Some(bench) = Bench::new("what_is_confirmed_stays_and_can_be_undone") else {
        return;
    };
    assert_eq!(bench.settings(), OLD);
    let applied = bench.apply(&changes(), "60s");
    applied.assert_code(0);
    assert!(
        applied.stdout.contains("v0 MTU: 1500 → 9000"),
        "{}",
        applied.stdout
    );
    assert!(
        applied.stderr.contains("they go back in 60 s"),
        "{}",
        applied.stderr
    );
    assert_eq!(bench.settings(), NEW);
    let guards = bench.guards();
    assert_eq!(guards.len(), 1);
    // Leader of a session of its own: a closing terminal hangs up on others.
    assert_eq!(rustix::process::getsid(Some(guards[0])), Ok(guards[0]));

    let second = bench.apply(
        &[(json!({"kind": "mtu", "interface": "v1"}), "1500", "1400")],
        "60s",
    );
    assert!(
        second
            .assert_code(2)
            .only_line()
            .contains("transaction 1 is not finished")
    );

    bench.run(&["confirm"]).assert_code(0);
    bench.run(&["verify"]).assert_code(0);
    assert_eq!(bench.phases(), ["confirmed"]);

    bench.lab.sh("sysctl -qw net.ipv4.tcp_moderate_rcvbuf=0");
    let drifted = bench.run(&["verify"]);
    drifted.assert_code(1);
    assert!(
        drifted
            .stdout
            .contains("tcp_moderate_rcvbuf: drifted: 1 set, 0 now")
    );

    bench.run(&["rollback"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
    assert_eq!(bench.phases(), ["rolled-back"]);
    let again = bench.run(&["rollback", "1"]);
    assert!(
        again
            .assert_code(0)
            .stderr
            .contains("has been undone before")
    );
    let late = bench.run(&["confirm", "1"]);
    assert!(
        late.assert_code(1)
            .stderr
            .contains("cannot be confirmed any more")
    );
}

#[test]
fn what_nobody_confirms_goes_back_by_itself() {
    let Some(bench) = Bench::new("what_nobody_confirms_goes_back_by_itself") else {
        return;
    };
    bench.apply(&changes(), "2s").assert_code(0);
    bench.until("rolled-back");
    assert_eq!(bench.settings(), OLD);
    let history = bench.run(&["history"]).stdout;
    assert!(
        history.starts_with("1 rolled-back (not confirmed in time)"),
        "{history}"
    );
}

#[test]
fn a_killed_guard_is_made_up_for_by_the_next_start() {
    let Some(bench) = Bench::new("a_killed_guard_is_made_up_for_by_the_next_start") else {
        return;
    };
    bench.apply(&changes(), "1s").assert_code(0);
    for guard in bench.guards() {
        kill_process(guard, Signal::KILL).unwrap();
    }
    sleep(Duration::from_millis(1200));
    let next = bench.run(&["confirm"]);
    assert!(
        next.stderr
            .contains("transaction 1 undone, not confirmed in time"),
        "{next:?}"
    );
    assert_eq!(next.code(), 2, "nothing is left to confirm");
    assert_eq!(bench.settings(), OLD);
}

/// Every moment at which the program can be killed is a journal cut after some line, with the
/// last intended write done or not done.
#[test]
fn a_kill_between_any_two_steps_is_undone() {
    let Some(bench) = Bench::new("a_kill_between_any_two_steps_is_undone") else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["confirm"]).assert_code(0);
    let file = bench.state().join("txn-0001.jsonl");
    let journal = fs::read_to_string(&file).unwrap();
    bench.run(&["rollback"]).assert_code(0);
    bench.until_unguarded();
    let lines: Vec<&str> = journal.lines().collect();
    let applied = lines
        .iter()
        .position(|line| line.contains("\"applied\""))
        .unwrap();
    assert_eq!(applied, 1 + 2 * changes().len());
    let set = [
        "ip link set v0 mtu 9000",
        "ethtool -K v0 tx-tcp-segmentation off",
        "sysctl -qw net.ipv4.tcp_moderate_rcvbuf=1",
        "sysctl -qw net.ipv4.tcp_rmem='4096 131072 8388608'",
    ];
    for cut in 0..applied {
        let intents = lines[..cut]
            .iter()
            .filter(|line| line.contains("\"intent\""))
            .count();
        let written = lines[..cut]
            .iter()
            .filter(|line| line.contains("\"written\""))
            .count();
        for done in written..=intents {
            for command in &set[..done] {
                bench.lab.sh(command);
            }
            let torn = &lines[cut][..lines[cut].len() / 2];
            fs::write(
                &file,
                lines[..cut]
                    .iter()
                    .map(|l| format!("{l}\n"))
                    .collect::<String>()
                    + torn,
            )
            .unwrap();
            // Any start recovers; this one then finds nothing to verify.
            bench.run(&["verify"]).assert_code(2);
            assert_eq!(
                bench.settings(),
                OLD,
                "cut after {cut} lines, {done} written"
            );
            assert_eq!(bench.phases(), ["rolled-back"], "cut after {cut} lines");
        }
    }
}

#[test]
fn a_killed_apply_is_undone_by_its_guard() {
    let Some(bench) = Bench::new("a_killed_apply_is_undone_by_its_guard") else {
        return;
    };
    let plan = bench.write_plan(&changes());
    let mut call = bench
        .call(&["apply", plan.to_str().unwrap(), "--confirm-within", "60s"])
        .start();
    let file = bench.state().join("txn-0001.jsonl");
    call.until("first write", |_| {
        fs::read_to_string(&file).is_ok_and(|text| text.contains("\"intent\""))
    });
    call.signal(Signal::KILL);
    let ended = call.wait();
    if ended.status.code() == Some(0) {
        // It was done before the kill came: then only the confirmation is missing.
        bench.run(&["rollback"]).assert_code(0);
    }
    bench.until("rolled-back");
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn a_value_of_somebody_else_is_left_alone_unless_forced() {
    let Some(bench) = Bench::new("a_value_of_somebody_else_is_left_alone_unless_forced") else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["confirm"]).assert_code(0);
    bench.lab.sh("ip link set v0 mtu 4000");
    let rolled = bench.run(&["rollback"]);
    rolled.assert_code(1);
    assert!(
        rolled
            .stderr
            .contains("v0 MTU was changed to 4000 by somebody else"),
        "{}",
        rolled.stderr
    );
    let mut mixed = OLD.map(str::to_owned);
    mixed[2] = "mtu 4000".to_owned();
    assert_eq!(bench.settings(), mixed);
    bench.run(&["rollback", "1", "--force"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn a_refused_setting_undoes_the_ones_before() {
    let Some(bench) = Bench::new("a_refused_setting_undoes_the_ones_before") else {
        return;
    };
    let mut bad = changes();
    // Last in the order of changes, and more than the kernel takes.
    bad.push((
        json!({"kind": "sysctl", "name": "net.ipv4.ip_default_ttl"}),
        "64",
        "300",
    ));
    let ended = bench.apply(&bad, "60s");
    ended.assert_code(1);
    assert!(
        ended.stderr.contains("everything is as it was"),
        "{}",
        ended.stderr
    );
    assert_eq!(bench.settings(), OLD);
    assert_eq!(bench.phases(), ["rolled-back"]);
}

#[test]
fn a_host_that_is_not_as_planned_is_not_touched() {
    let Some(bench) = Bench::new("a_host_that_is_not_as_planned_is_not_touched") else {
        return;
    };
    bench.lab.sh("ip link set v0 mtu 1400");
    let mut gone = changes();
    gone.push((json!({"kind": "mtu", "interface": "nic9"}), "1500", "9000"));
    let ended = bench.apply(&gone, "60s");
    ended.assert_code(1);
    assert!(
        ended.stderr.contains("v0 MTU is 1400, the plan says 1500"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("nic9"), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("2 settings are not as the plan says, nothing was changed")
    );
    assert!(bench.phases().is_empty());
}

#[test]
fn bad_plans_are_one_line() {
    let Some(bench) = Bench::new("bad_plans_are_one_line") else {
        return;
    };
    let path = bench.dir.path().join("bad.json");
    let mut other = plan(&changes());
    other["boot_id"] = json!("another");
    let mut newer = plan(&changes());
    newer["schema"] = json!(99);
    let outside = plan(&[(
        json!({"kind": "sysctl", "name": "kernel.core_pattern"}),
        "x",
        "y",
    )]);
    let unknown = plan(&[(json!({"kind": "firmware"}), "x", "y")]);
    for (text, code, part) in [
        ("{".to_owned(), 2, "is no plan"),
        ("[]".to_owned(), 2, "is no plan"),
        (
            other.to_string(),
            2,
            "was made on another host or before the last boot",
        ),
        (newer.to_string(), 2, "is of a newer nicety"),
        (unknown.to_string(), 2, "is no plan"),
        (
            outside.to_string(),
            1,
            "is no setting that tuning may touch",
        ),
    ] {
        fs::write(&path, &text).unwrap();
        let ended = bench.run(&["apply", path.to_str().unwrap()]);
        assert!(
            ended.assert_code(code).stderr.contains(part),
            "{text}: {}",
            ended.stderr
        );
    }
    assert_eq!(bench.settings(), OLD);
    assert!(bench.phases().is_empty());
}

#[test]
fn a_damaged_journal_stops_everything_with_its_name() {
    let Some(bench) = Bench::new("a_damaged_journal_stops_everything_with_its_name") else {
        return;
    };
    fs::create_dir(bench.state()).unwrap();
    fs::write(bench.state().join("txn-0007.jsonl"), "garbage\n").unwrap();
    let ended = bench.apply(&changes(), "60s");
    let line = ended.assert_code(3).only_line().to_owned();
    assert!(
        line.contains("txn-0007.jsonl") && line.contains("line 1"),
        "{line}"
    );
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn a_state_directory_that_cannot_be_is_one_line() {
    for (arguments, state) in [(["history"], "/proc/nicety"), (["verify"], "/dev/null")] {
        let call = nicety(["tune", arguments[0], "--state", state]);
        let line = call.run().assert_code(3).only_line().to_owned();
        assert!(
            line.contains(state) && line.contains("give --state"),
            "{line}"
        );
    }
}

#[test]
fn two_at_once_do_not_mix() {
    let Some(bench) = Bench::new("two_at_once_do_not_mix") else {
        return;
    };
    bench.run(&["history"]).assert_code(0);
    let lock = fs::File::create(bench.state().join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let ended = bench.apply(&changes(), "60s");
    assert!(
        ended
            .assert_code(3)
            .only_line()
            .contains("another nicety tune works in")
    );
    assert_eq!(bench.settings(), OLD);
}

#[test]
fn the_rules_plan_can_be_applied() {
    let Some(bench) = Bench::new("the_rules_plan_can_be_applied") else {
        return;
    };
    let plan = bench
        .lab
        .inside(nicety(["tune", "plan", "--only", "T18", "--json"]))
        .run();
    let path = bench.dir.path().join("rules.json");
    fs::write(&path, &plan.assert_code(0).stdout).unwrap();
    let applied = bench.run(&["apply", path.to_str().unwrap(), "--json"]);
    let told: Value = serde_json::from_str(&applied.assert_code(0).stdout).unwrap();
    assert_eq!(told["phase"], "unconfirmed");
    assert_eq!(bench.settings()[0], "1");
    bench.run(&["rollback"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
    let direct = bench.run(&["apply", "--only", "T18"]);
    direct.assert_code(0);
    bench.run(&["rollback"]).assert_code(0);
    assert_eq!(bench.settings(), OLD);
}

/// Queues, steering, bridge netfilter and a thread's CPUs, as far as this kernel and user have
/// them.
#[test]
fn every_kind_of_setting_goes_there_and_back() {
    const NAME: &str = "every_kind_of_setting_goes_there_and_back";
    let Some(bench) = Bench::new(NAME) else {
        return;
    };
    let mut sleeper = std::process::Command::new("sleep")
        .arg("60")
        .spawn()
        .unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", sleeper.id())).unwrap();
    let allowed = status
        .lines()
        .find_map(|l| l.strip_prefix("Cpus_allowed_list:"))
        .unwrap()
        .trim();
    let first = allowed.split([',', '-']).next().unwrap();
    let thread = json!({"kind": "thread-cpus", "tid": sleeper.id(), "name": "sleep"});
    let mut kinds = vec![(thread, allowed, first)];
    let channels = |side: &str| json!({"kind": "channels", "interface": "v0", "side": side});
    kinds.push((channels("rx"), "2", "1"));
    kinds.push((channels("tx"), "2", "1"));
    let netfilter = "net.bridge.bridge-nf-call-iptables";
    let on = bench
        .lab
        .sh(&format!("sysctl -n {netfilter} 2>/dev/null || true"));
    if on.trim() == "1" {
        kinds.push((json!({"kind": "sysctl", "name": netfilter}), "1", "0"));
    } else {
        println!("SKIP {NAME} (bridge netfilter): this namespace has no {netfilter} = 1");
    }
    let steering = "class/net/v1/queues/rx-0/rps_cpus";
    if crate::harness::root() {
        kinds.push((json!({"kind": "sys-file", "path": steering}), "0", "1"));
    } else {
        println!("SKIP {NAME} (steering): only root of the host may write rps_cpus");
    }
    let applied = bench.apply(&kinds, "60s");
    assert_eq!(applied.code(), 0, "{}", applied.stderr);
    bench.run(&["confirm"]).assert_code(0);
    assert_eq!(bench.run(&["verify"]).code(), 0);
    let queues = bench.lab.sh("ethtool -l v0 | tail -5");
    assert!(
        queues.contains("RX:\t\t1") && queues.contains("TX:\t\t1"),
        "{queues}"
    );
    bench.run(&["rollback"]).assert_code(0);
    let queues = bench.lab.sh("ethtool -l v0 | tail -5");
    assert!(
        queues.contains("RX:\t\t2") && queues.contains("TX:\t\t2"),
        "{queues}"
    );
    let status = fs::read_to_string(format!("/proc/{}/status", sleeper.id())).unwrap();
    assert!(status.contains(&format!("Cpus_allowed_list:\t{allowed}\n")));
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
}

#[test]
fn a_transaction_of_another_namespace_is_not_undone_here() {
    const NAME: &str = "a_transaction_of_another_namespace_is_not_undone_here";
    let (Some(bench), Some(other)) = (Bench::new(NAME), Lab::with(NAME, SETUP)) else {
        return;
    };
    bench.apply(&changes(), "60s").assert_code(0);
    bench.run(&["confirm"]).assert_code(0);
    let state = bench.state();
    let state: &Path = &state;
    let call = nicety(["tune", "rollback", "1", "--state", state.to_str().unwrap()]);
    let ended = other.inside(call).run();
    assert!(
        ended
            .assert_code(2)
            .only_line()
            .contains("belongs to another network namespace")
    );
    assert_eq!(bench.settings(), NEW);
}
