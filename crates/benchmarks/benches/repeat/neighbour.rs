//! Programs that take the CPUs while a run measures.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use nicety_benchmarks::background::Background;
use nicety_benchmarks::program::command;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// Functions of the source that is compiled again and again: a second of work.
const FUNCTIONS: usize = 400;

/// Who else works on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbour {
    /// Nobody.
    Nobody,
    /// A spinning program of lowest priority on each CPU.
    Lowest,
    /// So many compilers that never stop.
    Compilers(usize),
    /// Two compilers for one second of every three.
    Bursts,
    /// A spinning program that stops and continues every 50 ms, as cpulimit does it.
    Limited,
}

impl Neighbour {
    /// All, in the order in which they take turns.
    pub const ALL: [Self; 6] = [
        Self::Nobody,
        Self::Compilers(1),
        Self::Compilers(2),
        Self::Bursts,
        Self::Limited,
        Self::Lowest,
    ];

    /// Its name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nobody => "quiet",
            Self::Lowest => "nice 19",
            Self::Compilers(1) => "one compiler",
            Self::Compilers(_) => "two compilers",
            Self::Bursts => "bursts",
            Self::Limited => "limited program",
        }
    }

    /// Starts it; it ends with the value.
    pub fn start(self) -> Result<Present> {
        let sources = tempfile::tempdir()?;
        let source = sources.path().join("work.c");
        fs::write(&source, source_text())?;
        let spin = "while :; do :; done";
        let cpus = std::thread::available_parallelism()?.get();
        let (programs, pauses) = match self {
            Self::Nobody => (Vec::new(), None),
            Self::Lowest => {
                let spin = format!("exec nice -n 19 sh -c '{spin}'");
                (vec![spin; cpus], None)
            }
            Self::Compilers(count) => (vec![compile(&source); count], None),
            Self::Bursts => (vec![compile(&source); 2], Some((1000, 2000))),
            Self::Limited => (vec![spin.to_owned()], Some((50, 50))),
        };
        let programs = programs.iter().map(|text| Group::start(text));
        let programs: Vec<Group> = programs.collect::<Result<_>>()?;
        let groups: Vec<Pid> = programs.iter().map(Group::id).collect();
        let pauses = pauses.map(|(runs_ms, rests_ms)| {
            Background::start("pauses", move |over| {
                while !over.load(Ordering::Relaxed) {
                    signal(&groups, Signal::CONT);
                    rest(runs_ms, over);
                    signal(&groups, Signal::STOP);
                    rest(rests_ms, over);
                }
            })
        });
        Ok(Present {
            _pauses: pauses.transpose()?,
            _programs: programs,
            _sources: sources,
        })
    }
}

/// A neighbour that works until it is dropped.
#[derive(Debug)]
pub struct Present {
    _pauses: Option<Background>,
    _programs: Vec<Group>,
    _sources: TempDir,
}

/// A shell and what it starts, killed together on drop.
#[derive(Debug)]
struct Group(Child);

impl Group {
    fn start(text: &str) -> Result<Self> {
        let child = command("sh").args(["-c", text]).process_group(0).spawn();
        Ok(Self(child.context("cannot start sh")?))
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.0)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        signal(&[self.id()], Signal::KILL);
        let _ = self.0.wait();
    }
}

fn signal(groups: &[Pid], signal: Signal) {
    for group in groups {
        // One that has ended needs none.
        let _ = kill_process_group(*group, signal);
    }
}

/// Sleeps in parts, so that the end is not waited for.
fn rest(ms: u64, over: &AtomicBool) {
    for _ in 0..ms.div_ceil(50) {
        if !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn compile(source: &Path) -> String {
    let source = source.display();
    format!("while cc -O2 -c -o /dev/null '{source}'; do :; done")
}

fn source_text() -> String {
    let function = |n: usize| {
        format!(
            "int f{n}(int a, int *b) {{ int s = 0; for (int i = 0; i < a; i++) s += b[i] * {n} + (b[i] >> 3); return s; }}\n"
        )
    };
    (0..FUNCTIONS).map(function).collect()
}
