//! Among whom the kernel shares CPUs before it looks at a thread's nice value, which counts among the threads of one
//! group only: control groups with a `cpu` controller, and for processes in none, sessions, where
//! `kernel.sched_autogroup_enabled` is 1 as on most distributions (sched(7), "The autogroup feature").

use std::io;

use crate::roots::{ProcRoot, SysRoot};
use crate::tasks::numbers;
use crate::topology::quota::{has_cpu, memberships};

/// Whether this process is in a control group that has a share of its own.
pub fn in_control_group(proc: &ProcRoot, sys: &SysRoot) -> bool {
    let groups = proc.text("self/cgroup").unwrap_or_default();
    memberships(&groups).any(|(controllers, group)| {
        if controllers.is_empty() {
            // The root has no share.
            sys.path(format!("fs/cgroup{group}/cpu.weight")).exists()
        } else {
            group != "/" && has_cpu(controllers)
        }
    })
}

/// A session's group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Autogroup {
    /// Its number, never given twice in a boot.
    pub number: u64,
    /// Its nice value, -20 to 19: its weight beside other sessions.
    pub nice: i32,
}

/// That of a process, `self` or its number; `None` where it is gone, or the kernel has none.
pub fn session_of(proc: &ProcRoot, process: &str) -> Option<Autogroup> {
    parse(&proc.text(format!("{process}/autogroup"))?)
}

/// Whether the kernel shares CPUs among sessions.
pub fn among_sessions(proc: &ProcRoot) -> bool {
    let switch = proc.text("sys/kernel/sched_autogroup_enabled");
    switch.is_some_and(|text| text.trim() == "1")
}

/// Some process in the autogroup with this number that can be seen.
pub fn process_in(proc: &ProcRoot, number: u64) -> Option<String> {
    let is_in =
        |process: &String| session_of(proc, process).is_some_and(|group| group.number == number);
    numbers(proc, "")
        .map(|number| number.to_string())
        .find(is_in)
}

/// Gives the autogroup of a process another nice value.
///
/// # Errors
/// `EPERM` for a lower value without CAP_SYS_NICE, `ESRCH` for a process that has ended.
pub fn set_session(proc: &ProcRoot, process: &str, nice: i32) -> io::Result<()> {
    std::fs::write(proc.path(format!("{process}/autogroup")), nice.to_string())
}

/// `/autogroup-25 nice 0` (`proc_sched_autogroup_show_task` in kernel/sched/autogroup.c).
fn parse(text: &str) -> Option<Autogroup> {
    let (number, nice) = text
        .trim()
        .strip_prefix("/autogroup-")?
        .split_once(" nice ")?;
    Some(Autogroup {
        number: number.parse().ok()?,
        nice: nice.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_as_the_kernel_writes_them() {
        let group = |number, nice| Some(Autogroup { number, nice });
        for (text, read) in [
            ("/autogroup-25 nice 0\n", group(25, 0)),
            ("/autogroup-6901 nice -20\n", group(6901, -20)),
            ("/autogroup-x nice 0\n", None),
            ("/autogroup-25\n", None),
            ("", None),
        ] {
            assert_eq!(parse(text), read, "{text:?}");
        }
    }

    #[test]
    fn control_groups_with_a_share_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let (proc, sys) = (dir.path().join("proc"), dir.path().join("sys"));
        std::fs::create_dir_all(proc.join("self")).unwrap();
        let weighted = sys.join("fs/cgroup/user.slice");
        std::fs::create_dir_all(&weighted).unwrap();
        std::fs::write(weighted.join("cpu.weight"), "100\n").unwrap();
        for (text, shared) in [
            ("0::/\n", false),
            ("0::/user.slice\n", true),
            ("0::/system.slice\n", false),
            ("3:cpuset:/a\n1:cpu,cpuacct:/\n0::/\n", false),
            ("1:cpu,cpuacct:/user.slice\n0::/x\n", true),
            ("", false),
        ] {
            std::fs::write(proc.join("self/cgroup"), text).unwrap();
            let roots = (ProcRoot::new(&proc), SysRoot::new(&sys));
            assert_eq!(in_control_group(&roots.0, &roots.1), shared, "{text:?}");
        }
    }

    #[test]
    fn a_process_of_a_group_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let proc = ProcRoot::new(dir.path());
        for (process, number) in [("1", 1), ("77", 25)] {
            std::fs::create_dir(dir.path().join(process)).unwrap();
            let text = format!("/autogroup-{number} nice 0\n");
            std::fs::write(dir.path().join(process).join("autogroup"), text).unwrap();
        }
        assert_eq!(process_in(&proc, 25).as_deref(), Some("77"));
        assert_eq!(process_in(&proc, 26), None);
        assert!(!among_sessions(&proc));
        set_session(&proc, "77", -20).unwrap();
        assert_eq!(session_of(&proc, "78"), None);
    }
}
