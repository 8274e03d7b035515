//! `bench`: what it makes is gone, and what it wrote can be read.

use std::collections::BTreeSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::campaign::{Scene, count, random, row, same, signal_words};
use crate::harness::{Call, LONG, lines, nicety, root, skip, words};
use crate::leftovers::Before;

/// Engines and kinds of paths: name in the table, engine, path, what a run makes in its own directory.
const KINDS: [(&str, &str, &str); 7] = [
    ("bench, bridge, af_packet", "af_packet", "kind = \"bridge\""),
    ("bench, bridge, xdp", "xdp", "kind = \"bridge\""),
    ("bench, bridge, af_xdp", "af_xdp", "kind = \"bridge\""),
    (
        "bench, ovs",
        "af_packet",
        "kind = \"ovs\"\ndatapath = \"userspace\"",
    ),
    (
        "bench, testpmd",
        "af_packet",
        "kind = \"testpmd\"\nvdev = \"af_packet\"",
    ),
    (
        "bench, guest in a namespace",
        "af_packet",
        "kind = \"vm\"\nguest = \"netns\"",
    ),
    (
        "bench, sockets",
        "auto",
        "kind = \"bridge\"\n[[sockets]]\ntest = [\"tcp_rr\", \"udp_rr\"]",
    ),
];
/// Runs at once.
const AT_ONCE: usize = 3;

pub struct Bench {
    pub dir: TempDir,
    engine: &'static str,
    before: Before,
}

const PLAN: &str = "
name = \"faults\"
[traffic]
frame_sizes = [64]
[search]
preset = \"quick\"
confirm = \"0s\"
[[path]]
";

impl Bench {
    pub fn new(engine: &'static str) -> Self {
        Self::of(engine, KINDS[0].2)
    }

    fn of(engine: &'static str, path: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("plan.toml"), format!("{PLAN}{path}\n")).unwrap();
        let before = Before::now(dir.path());
        Self {
            dir,
            engine,
            before,
        }
    }

    fn into(&self, out: &str) -> Call {
        nicety(["bench", "plan.toml", "--engine", self.engine, "--out", out])
            .dir(self.dir.path())
            .limit(LONG)
    }

    /// Ends within seconds.
    pub fn boxed(&self) -> Call {
        let line = format!(
            "bench plan.toml --engine {} --out run --for 4s",
            self.engine
        );
        nicety(words(&line)).dir(self.dir.path()).limit(LONG)
    }

    /// What a run left can be read; it goes.
    fn read_and_remove(&self, out: &str, what: &str) {
        let run = self.dir.path().join(out);
        if run.join("run.json").exists() {
            let report = nicety(["report", out]).dir(self.dir.path()).run();
            assert_eq!(report.status.code(), Some(0), "{what}: {report:?}");
        }
        if run.exists() {
            fs::remove_dir_all(run).unwrap();
        }
    }

    /// Signals at random moments to runs that go on beside each other.
    fn signals(&self, name: &str, signal: Signal, wanted: usize) {
        let before = self.state();
        let mut random = random(name);
        let span = self.span().as_micros() as u64;
        let rounds = wanted.div_ceil(AT_ONCE);
        let mut hit = 0;
        for _ in 0..rounds {
            let mut moments = [0; AT_ONCE].map(|_| Duration::from_micros(random.u64(0..span)));
            moments.sort();
            let begun = Instant::now();
            let runs = [0; AT_ONCE]
                .map(|_| random.u32(..))
                .map(|out| format!("run{out}"));
            let running: Vec<_> = runs.iter().map(|out| self.into(out).start()).collect();
            for (running, moment) in running.iter().zip(moments) {
                sleep(moment.saturating_sub(begun.elapsed()));
                running.signal_if_there(signal);
            }
            for ((running, out), moment) in running.into_iter().zip(&runs).zip(moments) {
                let ended = running.wait();
                let what = format!("{name}, {signal:?} after {moment:?}: {ended:?}");
                let code = ended.status.code();
                assert_ne!(code, Some(101), "{what}");
                // Not those that this machine cannot build, nor those that were through.
                hit += usize::from(!matches!(code, Some(0..=3)));
                self.read_and_remove(out, &what);
            }
            same(&before, &self.state(), name);
        }
        let result = format!("nothing left, runs can be read; {hit} hit it at work");
        row(name, signal_words(signal), rounds * AT_ONCE, &result);
    }
}

impl Scene for Bench {
    fn call(&self) -> Call {
        self.into("run")
    }

    /// Some trials are on disk.
    fn settled(&self) -> bool {
        let trials = self.dir.path().join("run/trials.jsonl");
        trials.exists() && lines(&trials).len() >= 3
    }

    fn span(&self) -> Duration {
        Duration::from_secs(4)
    }

    fn recover(&self) {
        self.read_and_remove("run", "after it");
    }

    fn state(&self) -> Vec<String> {
        self.before.check();
        let files: BTreeSet<String> = (fs::read_dir(self.dir.path()).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.into_iter().collect()
    }
}

#[test]
fn bench() {
    let kinds = if count() > 10 { KINDS.len() } else { 4 };
    for (name, engine, path) in KINDS.into_iter().take(kinds) {
        if engine.contains("xdp") && !root() {
            skip(format_args!("{engine}: run as root"));
            continue;
        }
        let scene = Bench::of(engine, path);
        scene.signals(name, Signal::KILL, count().div_ceil(6));
        if count() > 10 || name == KINDS[0].0 {
            scene.signals(name, Signal::TERM, count().div_ceil(24));
        }
    }
}
