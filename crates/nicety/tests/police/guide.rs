//! The commands of the guide's page do what it says, in the order in which it says them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{Call, Ended, Running, as_root, nicety, open_dir};
use crate::lab::Lab;
use crate::page::blocks;

const PAGE: &str = include_str!("../../../../docs/guide/police.md");
/// The ports of the page, each with a guest's end; tap0 sends a little.
const SETUP: &str = "
set -e
for all in all default; do echo 1 > /proc/sys/net/ipv6/conf/$all/disable_ipv6; done
ip link set lo up
for port in tap0 tap1 veth3; do
    ip link add $port type veth peer name g$port
    ip link set $port up
    ip link set g$port up
done
ip address add 192.0.2.1/24 dev gtap0
ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev gtap0
";

/// Numbers and their units differ from run to run.
fn masked(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        if word.starts_with(|c: char| c.is_ascii_digit()) || word.contains("bit/s") {
            "N"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

struct Follower<'a> {
    lab: Lab,
    dir: &'a Path,
    daemon: Option<Running>,
}

impl Follower<'_> {
    fn call(&self, words: &[&str], more: &[&str]) -> Call {
        let call = nicety(words.iter().chain(more)).dir(self.dir);
        self.lab.inside(call.limit(Duration::from_secs(600)))
    }

    fn stop(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.signal(Signal::INT);
            daemon.wait().assert_code(0);
        }
    }

    /// Runs a command until its answer is the page's; the first periods may tell something else.
    fn until(&mut self, words: &[&str], more: &[&str], wanted: &str) {
        let ask = |follower: &Self| -> Ended { follower.call(words, more).run() };
        if wanted.is_empty() {
            ask(self).assert_code(0);
            return;
        }
        for _ in 0..60 {
            let told = ask(self).assert_code(0).stdout.clone();
            if masked(&told) == masked(wanted) {
                return;
            }
            std::thread::sleep(Duration::from_millis(250));
        }
        panic!("{words:?} never says {wanted}: {:?}", ask(self));
    }

    /// One command of the page with the lines that it shows below.
    fn follow(&mut self, line: &str, shown: &str) {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let state = self.dir.join("state");
        let state = ["--state", state.to_str().unwrap()];
        match words.as_slice() {
            ["police", "run", .., "--dry-run"] => {
                let more = [&state[..], &["--count", "1"]].concat();
                let ended = self.call(&words, &more).run();
                assert!(
                    ended.assert_code(0).stdout.starts_with("period 1: "),
                    "{ended:?}"
                );
            }
            ["police", "run", ..] => {
                self.stop();
                let recorded = words.contains(&"--out");
                let more = if recorded {
                    [&state[..], &["--count", "3"]].concat()
                } else {
                    state.to_vec()
                };
                let mut running = self.call(&words, &more).start();
                if recorded {
                    running.wait().assert_code(0);
                    return;
                }
                let told = self.dir.join("state/state.json");
                running.until("the first period", |_| told.exists());
                self.daemon = Some(running);
            }
            ["police", ..] => self.until(&words, &state, shown),
            ["guest", ..] => {
                let channel = self.dir.join("blue.sock");
                self.until(&words, &["--channel", channel.to_str().unwrap()], shown);
            }
            ["port", "pacing", "tap0"] => {
                let flood =
                    "exec timeout 30 dd if=/dev/zero bs=1400 >/dev/udp/192.0.2.9/9 2>/dev/null";
                self.lab.sh(&format!("bash -c '{flood}' >/dev/null & echo"));
                let ended = self.call(&words, &[]).run();
                assert!(ended.assert_code(0).stdout.contains("gap"), "{ended:?}");
            }
            _ => self.until(&words, &[], shown),
        }
    }
}

#[test]
fn the_page_about_sharing_a_link() {
    if !as_root("the page is for root") {
        return;
    }
    let dir = open_dir();
    let Some(lab) = Lab::with(SETUP) else { return };
    let before = lab.state();
    let mut follower = Follower {
        lab,
        dir: dir.path(),
        daemon: None,
    };
    let mut commands = 0;
    for block in blocks(PAGE) {
        if let Some(file) = block.file() {
            // The page's sockets are those of this machine.
            let here = format!("{}/", dir.path().display());
            let text = block.text.replace("/run/nicety/", &here);
            fs::write(dir.path().join(file), text).unwrap();
        }
        if !block.is_console() || block.not_run().is_some() {
            continue;
        }
        for shown in block.commands() {
            // What stands elsewhere is for another machine: eth1, 82576.
            if shown.command.starts_with("nicety ") {
                follower.follow(&shown.command, &shown.output);
                commands += 1;
            }
        }
    }
    follower.stop();
    assert!(commands >= 13, "{commands}");
    assert!(dir.path().join("friday.html").is_file());
    follower.lab.assert_state(&before);
}
