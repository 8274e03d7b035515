//! A lab that is left running.

use std::fs;

use rustix::process::Signal;

use crate::harness::{Call, Ended, open_dir, root, skip};
use crate::leftovers::Before;
use crate::{can_boot, lab, processes};

/// The commands of the guide's page, in the lab that is up: how it is called is what this test
/// does and, on a terminal, what `a_shell_has_a_terminal_of_the_same_size` does.
fn follow_the_page(run: &dyn Fn(&[&str]) -> Ended) {
    let page = include_str!("../../../../docs/guide/lab.md");
    let blocks: Vec<&str> = page.split("\n```").skip(1).step_by(2).collect();
    let [calls, links, functions] = blocks[..] else {
        panic!("{} blocks, this test follows three", blocks.len());
    };
    // The first line is what stands behind the fence.
    let functions = functions.split_once('\n').unwrap().1;
    let calls = calls.lines().skip(1).flat_map(|line| {
        let command = line.trim_start_matches("$ ");
        let command = command.split('#').next().unwrap_or_default();
        command.split(';').map(str::trim).collect::<Vec<_>>()
    });
    let calls: Vec<&str> = calls.filter(|call| !call.is_empty()).collect();
    let [first, rest @ ..] = calls.as_slice() else {
        panic!("no call");
    };
    let known = [
        "nicety lab shell",
        "nicety lab run --keep -- …",
        "nicety lab down",
    ];
    assert_eq!(rest, known);
    let words: Vec<&str> = first.split_whitespace().skip(4).collect();
    let lines = |text: &str| -> Vec<String> {
        let trimmed = text.lines().map(|line| line.trim_end().to_owned());
        trimmed.filter(|line| !line.is_empty()).collect()
    };
    let printed = run(&words);
    assert_eq!(lines(&printed.assert_code(0).stdout), lines(links)[1..]);
    // The order in which virtual functions get a link.
    let wait = "for try in $(seq 600); do [ -e $d/virtfn6/net ] && break; sleep 0.1; done
        for vf in 0 6; do ls $d/virtfn$vf/net; done; cat $d/virtfn0/net/*/address";
    let made = run(&["sh", "-ec", &format!("{functions}\n{wait}")]);
    let told = &made.assert_code(0).stdout;
    assert_eq!(told.lines().count(), 3, "{told}");
    assert!(told.ends_with("\n02:00:00:00:00:00\n"), "{told}");
}

/// Ends the lab that a failed test leaves.
struct Left<F: Fn() -> Call>(F);

impl<F: Fn() -> Call> Drop for Left<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0().run();
        }
    }
}

#[test]
fn kept_run_down() {
    if !root() {
        skip("one boot as root is enough");
        return;
    }
    if !can_boot() {
        return;
    }
    let runtime = open_dir();
    let before = Before::now(runtime.path());
    let name = runtime.path().to_str().unwrap();
    let home = runtime.path().join("nicety/lab");
    let marker = home.join("qemu.pid");
    let marker = marker.to_str().unwrap();
    let with = |command: &str, arguments: &[&str]| {
        lab(command, arguments)
            .env("XDG_RUNTIME_DIR", name)
            .dir(runtime.path())
    };
    let runs = runtime.path().join("runs");
    let _left = Left(|| with("down", &[]));

    // Killed while it boots, it leaves a QEMU that the next one ends.
    let keep = |words: &[&str]| with("run", &[&["--keep"], words, &["--", "pwd"]].concat());
    let mut first = keep(&[]).start();
    first.until("QEMU", |_| !processes(marker).is_empty());
    let leftover = processes(marker);
    first.signal(Signal::KILL);
    first.wait();
    assert_eq!(processes(marker), leftover);

    let up = keep(&[]).run();
    let here = runtime.path().canonicalize().unwrap();
    assert_eq!(up.assert_code(0).stdout, format!("{}\n", here.display()));
    assert!(up.stderr.contains("stays up until"), "{}", up.stderr);
    assert!(
        up.stderr
            .contains("ending a lab whose start was interrupted"),
        "{}",
        up.stderr
    );
    let qemu = processes(marker);
    assert_eq!(qemu.len(), 1, "{qemu:?}");
    assert_ne!(qemu, leftover);

    // The same machine serves all of these, whose streams are their own.
    let run = |words: &[&str]| with("run", &[&["--"], words].concat()).run();
    let first = run(&[
        "sh",
        "-c",
        "echo out; echo errors >&2; touch /usr/mark; pwd; exit 3",
    ]);
    first.assert_code(3);
    assert_eq!(
        (first.stdout.as_str(), first.stderr.as_str()),
        (format!("out\n{}\n", here.display()).as_str(), "errors\n")
    );
    run(&["test", "-e", "/usr/mark"]).assert_code(0);
    assert!(!std::path::Path::new("/usr/mark").exists());
    run(&["sh", "-c", "kill -TERM $$"]).assert_code(128 + 15);
    // A process left behind holds nobody up.
    assert_eq!(
        run(&["sh", "-c", "sleep 600 & echo started"])
            .assert_code(0)
            .stdout,
        "started\n"
    );
    let many = run(&["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"]);
    assert_eq!(many.assert_code(0).stdout.len(), 3_000_000);
    follow_the_page(&run);
    let missing = run(&["no-such-program"]);
    missing.assert_code(2);
    assert_eq!(
        missing.only_line(),
        "no-such-program is not found in the lab"
    );
    // What is written to the directory of runs stays; where that is another one it is said.
    run(&["touch", "runs/report"]).assert_code(0);
    assert!(runs.join("report").exists());
    let elsewhere = with("run", &["--", "true"])
        .dir(std::path::Path::new("/"))
        .run();
    elsewhere.assert_code(0);
    let line = elsewhere.only_line();
    assert!(line.contains("/runs stays; --fresh boots one"), "{line}");
    // Ctrl-C goes to the command first.
    let mut interrupted = with(
        "run",
        &[
            "--",
            "sh",
            "-c",
            "trap 'exit 9' INT; echo ready; while :; do sleep 0.1; done",
        ],
    )
    .start();
    interrupted.until("ready", |running| running.stdout() == "ready\n");
    interrupted.signal(Signal::INT);
    interrupted.wait().assert_code(9);
    assert_eq!(keep(&[]).run().assert_code(0).stderr, "");
    assert_eq!(processes(marker), qemu);
    let other = keep(&["--cpus", "64"]).run();
    other.assert_code(2);
    let line = other.only_line();
    assert!(
        line.ends_with("end it with nicety lab down first"),
        "{line}"
    );

    with("down", &[]).run().assert_code(0);
    assert!(runs.join("report").exists());
    assert_eq!(processes(marker), [0; 0]);
    assert!(!home.exists());
    before.check();
    let down = with("down", &[]).run();
    down.assert_code(0);
    assert_eq!(down.stderr, "nicety: no lab is up\n");
    // Nothing but the file that processes wait at.
    assert_eq!(
        fs::read_dir(runtime.path().join("nicety")).unwrap().count(),
        1
    );
}
