//! `bench`: what it makes is gone, and what it wrote can be read.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::campaign::{self, Scene};
use crate::harness::{Call, LONG, alone, nicety, once};
use crate::leftovers::Before;

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
kind = \"bridge\"
";

impl Bench {
    pub fn new(engine: &'static str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
        let before = Before::now(dir.path());
        Self {
            dir,
            engine,
            before,
        }
    }
}

impl Scene for Bench {
    fn call(&self) -> Call {
        nicety([
            "bench",
            "plan.toml",
            "--engine",
            self.engine,
            "--out",
            "run",
        ])
        .dir(self.dir.path())
        .limit(LONG)
    }

    fn span(&self) -> Duration {
        Duration::from_millis(2_500)
    }

    fn recover(&self) {
        let run = self.dir.path().join("run");
        if run.join("run.json").exists() {
            nicety(["report", "run"])
                .dir(self.dir.path())
                .run()
                .assert_code(0);
        }
        if run.exists() {
            fs::remove_dir_all(run).unwrap();
        }
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
    let _alone = alone();
    if !once("bench") {
        return;
    }
    for (engine, name) in [("af_packet", "bench, af_packet"), ("xdp", "bench, xdp")] {
        if engine == "xdp" && !crate::harness::root() {
            println!("SKIP bench: xdp: run as root");
            continue;
        }
        let scene = Bench::new(engine);
        campaign::signals(name, &scene, Signal::KILL);
        campaign::signals(name, &scene, Signal::TERM);
    }
}
