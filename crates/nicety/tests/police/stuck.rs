//! Calls of the kernel that do not return: strace(1) holds the thread that makes them.

use std::fs;
use std::process::{Child, Command, Stdio};

use nicety_host::child;
use rustix::process::Signal;

use crate::harness::skip;
use crate::uplink::{POLICY, Uplink};

/// A thread whose next request to the kernel hangs until this is dropped.
struct Hang(Child);

impl Hang {
    /// Of the daemon; none where this user may not trace it.
    fn new(uplink: &Uplink, thread: &str) -> Option<Self> {
        let pid = uplink.status()["pid"].as_u64().unwrap();
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let is_it = |path: &std::path::PathBuf| {
            fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == thread)
        };
        let path = threads.map(|entry| entry.unwrap().path()).find(is_it);
        let path = path.unwrap_or_else(|| panic!("no thread {thread}"));
        let id = path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut command = Command::new("strace");
        command
            .args(["-qq", "-o", "/dev/null", "-p", &id])
            .args(["-e", "inject=sendto:delay_enter=600s"])
            .stderr(Stdio::null());
        let Ok(child) = child::spawn(command) else {
            skip("the program strace is not installed");
            return None;
        };
        let mut hang = Self(child);
        loop {
            let status = fs::read_to_string(path.join("status")).unwrap();
            if !status.contains("TracerPid:\t0\n") {
                return Some(hang);
            }
            if hang.0.try_wait().unwrap().is_some() {
                skip("strace cannot trace a program here");
                return None;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

impl Drop for Hang {
    fn drop(&mut self) {
        // The kernel lets the thread go; asked to end, strace would see the delay through.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_nic_that_hangs_stops_nobody_else() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    // The uplink has no functions, which is asked in every period.
    fs::write(
        uplink.path("policy.toml"),
        POLICY.replace("ports = \"c1\"", "ports = [\"c1\", \"u1/vf0\"]"),
    )
    .unwrap();
    let mut daemon = uplink.daemon(&["--absent-ok"]);
    let Some(hang) = Hang::new(&uplink, "nic u1") else {
        return;
    };
    daemon.until_err("NIC u1: the kernel has not answered for ");
    let port = || uplink.status()["decision"]["ports"][3].clone();
    // What is said stands in the status with the next period.
    daemon.until("the silence in the status", |_| port()["waits"].is_string());
    let waits = port()["waits"].as_str().unwrap().to_owned();
    assert!(
        waits.starts_with("the kernel has not answered for "),
        "{waits}"
    );
    assert!(waits.ends_with(" s (reading u1's functions)"), "{waits}");
    let line = uplink.says(&["status", "u1/vf0"]);
    assert!(
        line.contains("waits: the kernel has not answered for "),
        "{line}"
    );
    // All others share as ever.
    let flood = uplink.flood("a");
    uplink.until(&mut daemon, "what the others leave", |[a, _, _]| a > 30.0);
    let other = uplink.flood("b");
    uplink.until(&mut daemon, "twice the share of a for b", |[a, b, _]| {
        (b - 2.0 * a).abs() <= 0.2 * b && b > 20.0
    });
    assert!(port()["waits"].is_string());
    drop((flood, other));
    drop(hang);
    daemon.until_err("NIC u1: the kernel answers again");
    daemon.until("the end of the silence", |_| port().get("waits").is_none());
    let said = daemon.stderr();
    assert_eq!(said.matches("has not answered").count(), 1, "{said}");
    // One that hangs does not keep the daemon from its end.
    let Some(hang) = Hang::new(&uplink, "nic u1") else {
        return;
    };
    daemon.until("the silence again", |_| port()["waits"].is_string());
    daemon.signal(Signal::TERM);
    daemon.until_err("restored the original limits of 3 ports");
    // A thread that is held keeps the number of a process that has ended.
    drop(hang);
    daemon.wait().assert_code(0);
    uplink.lab.assert_state(&before);
}

#[test]
fn what_cannot_be_put_back_now_is_said_and_put_back_later() {
    let Some(uplink) = Uplink::new() else { return };
    let before = uplink.lab.state();
    let mut daemon = uplink.daemon(&[]);
    let Some(hang) = Hang::new(&uplink, "interfaces") else {
        return;
    };
    daemon.until_err("interfaces: the kernel has not answered for ");
    // The loop goes on, and tells what was set last.
    let first = uplink.status();
    let periods = |status: &serde_json::Value| status["periods"].as_u64().unwrap();
    daemon.until("further periods", |_| {
        periods(&uplink.status()) > periods(&first) + 2
    });
    let limit = |at: usize| {
        first["decision"]["ports"][at]["limit_bps"]
            .as_f64()
            .unwrap()
    };
    assert!(limit(0) > 0.0 && limit(2) >= 4e6, "{first}");
    daemon.signal(Signal::TERM);
    let line = "the kernel does not answer: a1, b1, c1 may have the limits of nicety still; when it \
        answers again, nicety police restore puts back what was there";
    daemon.until_err(line);
    daemon.until_err("restored the original limits of 0 ports");
    drop(hang);
    daemon.wait().assert_code(1);
    uplink.police(&["restore"]).run().assert_code(0);
    uplink.lab.assert_state(&before);
}
