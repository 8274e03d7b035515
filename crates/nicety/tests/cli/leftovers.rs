//! What a run must not leave behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the kernel may take to remove namespaces, and the programs of others to end theirs.
const LIMIT: Duration = Duration::from_secs(120);

/// What was there before a run.
#[derive(Debug)]
pub struct Before {
    dir: PathBuf,
    things: BTreeSet<String>,
}

impl Before {
    /// Looks around; `dir` is what the command lines of the test's programs have in common.
    pub fn now(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            things: things(dir),
        }
    }

    /// Nothing new is there for long. Other programs on the machine come and go; what a run
    /// leaves behind stays.
    #[track_caller]
    pub fn check(&self) {
        let mut new: BTreeSet<String> = things(&self.dir)
            .difference(&self.things)
            .cloned()
            .collect();
        let end = Instant::now() + LIMIT;
        while !new.is_empty() && Instant::now() < end {
            sleep(Duration::from_millis(100));
            let now = things(&self.dir);
            new.retain(|thing| now.contains(thing));
        }
        assert!(new.is_empty(), "left behind: {new:#?}");
    }
}

/// Interfaces, named namespaces, mounts, programs started in `dir`: a namespace without a name that nobody is in, nor
/// holds, is the kernel's to remove.
fn things(dir: &Path) -> BTreeSet<String> {
    let mut things = BTreeSet::new();
    for command in [&["ip", "-o", "link"][..], &["ip", "netns", "list"]] {
        let output = Command::new(command[0])
            .args(&command[1..])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // Flags and counters may change, number and name may not.
        let names = text
            .lines()
            .map(|line| line.split(": <").next().unwrap_or(line).to_owned());
        things.extend(names.map(|name| format!("{}: {name}", command.join(" "))));
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    things.extend(mounts.lines().map(|line| format!("mount {line}")));
    for entry in fs::read_dir("/proc").unwrap() {
        let entry = entry.unwrap();
        if !entry
            .file_name()
            .to_str()
            .unwrap()
            .bytes()
            .all(|byte| byte.is_ascii_digit())
        {
            continue;
        }
        let pid = entry.file_name().into_string().unwrap();
        // Processes end while the list is read.
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        if fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir)) {
            things.insert(format!("process {pid} {}", name.trim_end()));
        }
    }
    things
}
