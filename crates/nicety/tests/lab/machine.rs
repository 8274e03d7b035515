//! The machine that tests share: the first test boots it, the others enter it, one at a time. What a test leaves behind in
//! it fails that test, and the next one gets a new machine.
//!
//! It is at `/tmp/nicety-lab-test-UID/PROGRAM`, where PROGRAM stands for the present nicety, and stays up for the next
//! tests: `scripts/labs-down.sh` ends it. What `NICETY_TEST_RUN` says follows the UID, so that two runs share none.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nicety_netdev::runtime_dir;

use crate::harness::{Call, Ended, NICETY, me};
use crate::{cache, can_boot, lab};

/// A script ends by itself long before, also on a machine that is busy elsewhere.
const LIMIT: Duration = Duration::from_secs(1500);

/// There while a test has the machine.
const BUSY: &str = "busy";

/// The machine, for one test alone.
pub struct Machine {
    /// What `XDG_RUNTIME_DIR` is for who enters it.
    pub home: PathBuf,
    /// Seen in the machine too, under the same name.
    pub dir: PathBuf,
    _turn: File,
}

impl Machine {
    /// Says `SKIP` and why where there is none.
    pub fn enter() -> Option<Self> {
        can_boot().then(Self::take)
    }

    fn take() -> Self {
        let run = std::env::var("NICETY_TEST_RUN").unwrap_or_default();
        let user = rustix::process::geteuid().as_raw();
        let base = PathBuf::from(format!("/tmp/nicety-lab-test-{user}{run}"));
        runtime_dir::make(&base, 0o700).unwrap();
        let turn = File::create(base.join("turn")).unwrap();
        turn.lock().unwrap();
        let home = base.join(present());
        end_others(&base, &home);
        if home.join(BUSY).exists() {
            // A test was killed in the middle.
            end(&home);
        }
        runtime_dir::make(&home, 0o700).unwrap();
        let test = me();
        let name = test.rsplit("::").next().unwrap_or_default();
        let dir = home.join("runs").join(name);
        let machine = Self {
            home,
            dir,
            _turn: turn,
        };
        let up = machine
            .call(
                "run",
                &machine.home,
                &["--keep", "--cpus", "2", "--", "true"],
            )
            .run();
        up.assert_code(0);
        fs::write(machine.home.join(BUSY), "").unwrap();
        machine.make_dir();
        machine
    }

    fn make_dir(&self) {
        // Of a test that was killed.
        let _ = fs::remove_dir_all(&self.dir);
        fs::create_dir_all(self.dir.join("out")).unwrap();
        self.write("common.sh", include_str!("common.sh"));
        self.write("around.sh", include_str!("around.sh"));
    }

    /// A file in the test's directory.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.join(name), text).unwrap();
    }

    /// The directory that scripts know as `$out`.
    pub fn out(&self) -> PathBuf {
        self.dir.join("out")
    }

    /// `nicety lab COMMAND` for this machine.
    pub fn call(&self, command: &str, dir: &Path, words: &[&str]) -> Call {
        call(&self.home, command, words).dir(dir)
    }

    /// Runs a script in the machine, which is then as it was.
    pub fn play(&self, script: &str) -> Ended {
        self.play_with(script, &[])
    }

    /// The same with arguments.
    pub fn play_with(&self, script: &str, arguments: &[&str]) -> Ended {
        self.write("script.sh", script);
        let words = ["--", "bash", "around.sh", "bash", "script.sh"];
        let words = [&words[..], arguments].concat();
        let ended = self.call("run", &self.dir, &words).limit(LIMIT).run();
        let left = fs::read_to_string(self.dir.join("left"));
        let left = left.unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        assert_eq!(left, "", "left behind in the machine; {ended:?}");
        ended
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
        if std::thread::panicking() {
            println!("the machine ends with the test that failed");
            end(&self.home);
        } else {
            let _ = fs::remove_file(self.home.join(BUSY));
        }
    }
}

fn call(home: &Path, command: &str, words: &[&str]) -> Call {
    let cache = cache();
    lab(command, words)
        .env("XDG_RUNTIME_DIR", home.to_str().unwrap())
        .env("NICETY_TEST_LAB_CACHE", cache.to_str().unwrap())
}

fn end(home: &Path) {
    call(home, "down", &[]).run();
    let _ = fs::remove_dir_all(home);
}

/// Short, for there are sockets in its directory.
fn present() -> String {
    let mut hasher = DefaultHasher::new();
    for program in [Path::new(NICETY), &std::env::current_exe().unwrap()] {
        let found = fs::metadata(program).unwrap();
        (program, found.len(), found.modified().unwrap()).hash(&mut hasher);
    }
    format!("{:08x}", hasher.finish() as u32)
}

/// Ends what was booted with another program than the present one.
fn end_others(base: &Path, home: &Path) {
    let entries = fs::read_dir(base).unwrap().flatten();
    let dirs = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    dirs.filter(|dir| dir != home).for_each(|dir| end(&dir));
}
