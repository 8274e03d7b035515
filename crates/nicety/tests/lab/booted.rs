//! A command in a lab of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nicety_host::child;
use rustix::process::Signal;

use crate::harness::{open_dir, skip};
use crate::leftovers::Before;
use crate::machine::Machine;
use crate::{can_boot, children, lab};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/vf.sh");

/// Programs that the script runs; those of the lab are this machine's.
fn has_tools() -> bool {
    for tool in ["ip", "bash", "sed"] {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut dirs: Vec<_> = std::env::split_paths(&path).collect();
        dirs.extend(["/usr/sbin".into(), "/sbin".into()]);
        if !dirs.iter().any(|dir| dir.join(tool).is_file()) {
            skip(format_args!("the program {tool} is not installed"));
            return false;
        }
    }
    true
}

#[test]
fn a_kvm_host_with_sriov_as_any_user() {
    if !can_boot() || !has_tools() {
        return;
    }
    let dir = open_dir();
    let before = Before::now(dir.path());
    let (out, hidden) = (dir.path().join("out"), dir.path().join("hidden"));
    fs::create_dir(&hidden).unwrap();
    let (out_name, hidden_name) = (out.to_str().unwrap(), hidden.to_str().unwrap());
    let mut input = tempfile::tempfile().unwrap();
    let sent: Vec<u8> = (0..200_000_u32).map(|n| b'a' + (n % 23) as u8).collect();
    std::io::Write::write_all(&mut input, &sent).unwrap();
    std::io::Seek::rewind(&mut input).unwrap();
    let ended = lab(
        "run",
        &[
            "--out",
            out_name,
            "--cpus",
            "2",
            "--",
            "sh",
            SCRIPT,
            out_name,
            hidden_name,
        ],
    )
    .dir(dir.path())
    .start_with(|command| {
        command.stdin(Stdio::from(input));
    })
    .wait();
    ended.assert_code(7);
    let (lines, echoed) = ended.stdout.split_at(ended.stdout.len() - sent.len());
    assert_eq!(echoed.as_bytes(), sent, "what went in did not come out");
    let expected = format!(
        "nicety {}
loaded igb
loaded vhost_net
loaded macvtap
loaded openvswitch
loaded 8021q
loaded bridge
loaded tun
KVM
loaded pktgen
no module nosuchmodule
device /dev/kvm
device /dev/vhost-net
device /dev/net/tun
iommu
physical functions 2
virtual functions 7
192.0.2.2 Connection refused
192.0.2.3 Connection refused
rate 500Mbps
rate 2000 refused
",
        env!("CARGO_PKG_VERSION")
    );
    let lines = lines
        .replace("loaded kvm_amd", "KVM")
        .replace("loaded kvm_intel", "KVM");
    assert_eq!(lines, expected, "{}", ended.stderr);
    assert!(
        ended.stderr.ends_with("\nthis goes to standard error\n"),
        "{}",
        ended.stderr
    );
    // What was written to the directory named is there, and belongs to whoever ran it.
    assert_eq!(fs::read_to_string(out.join("result")).unwrap(), "kept\n");
    assert_eq!(
        fs::read_dir(&hidden).unwrap().count(),
        0,
        "the lab wrote outside of --out"
    );
    let mode = fs::metadata(out.join("result"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o444, 0o444, "{mode:o}");
    before.check();
    assert_eq!(children(std::process::id() as i32), [0; 0]);
}

/// Starts a lab in a directory and waits for its QEMU, whose process id it returns.
fn booting(dir: &Path) -> Option<(crate::harness::Running, i32)> {
    if !can_boot() {
        return None;
    }
    let mut running = lab("run", &["--fresh", "--", "sleep", "600"])
        .dir(dir)
        .start();
    let mut found = Vec::new();
    running.until("QEMU", |running| {
        found = children(running.id());
        !found.is_empty()
    });
    Some((running, found[0]))
}

/// Waits until a process is gone, or only waits for its parent to notice.
pub fn wait_gone(id: i32) {
    let stat = format!("/proc/{id}/stat");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z ")) {
        assert!(
            std::time::Instant::now() < end,
            "QEMU, process {id}, still runs"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn qemu_ends_when_nicety_is_killed() {
    let dir = open_dir();
    let Some((running, qemu)) = booting(dir.path()) else {
        return;
    };
    running.signal(Signal::KILL);
    assert!(!running.wait().status.success());
    wait_gone(qemu);
}

#[test]
fn interrupted_while_booting_as_any_user() {
    let dir = open_dir();
    let Some((running, qemu)) = booting(dir.path()) else {
        return;
    };
    assert!(dir.path().join("runs").exists());
    running.signal(Signal::INT);
    let ended = running.wait();
    ended.assert_code(4);
    assert!(
        ended
            .stderr
            .ends_with("nicety: interrupted; the lab and everything in it have ended\n"),
        "{}",
        ended.stderr
    );
    wait_gone(qemu);
    // Nothing was written to it.
    assert!(!dir.path().join("runs").exists());
}

/// `script` gives the shell a terminal.
#[test]
fn a_shell_has_a_terminal_of_the_same_size() {
    if Command::new("script").arg("--version").output().is_err() {
        skip("the program script is not installed");
        return;
    }
    let Some(machine) = Machine::enter() else {
        return;
    };
    let line = format!(
        "stty rows 33 cols 77; before=$(stty -g); {} lab shell; echo code $?; \
         test \"$before\" = \"$(stty -g)\" && echo restored",
        crate::harness::NICETY
    );
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("XDG_RUNTIME_DIR", &machine.home)
        .current_dir(&machine.dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut script = child::spawn(script).unwrap();
    let mut keys = script.stdin.take().unwrap();
    std::io::Write::write_all(&mut keys, b"stty size; tty; exit 5\n").unwrap();
    let out = script.wait_with_output().unwrap();
    drop(keys);
    let text = String::from_utf8_lossy(&out.stdout);
    for seen in ["33 77", "/dev/pts/", "code 5", "restored"] {
        assert!(text.contains(seen), "no {seen} in {text}");
    }
}
