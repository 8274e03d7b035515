//! Whether this process sees the kernel's threads, and their numbers as the kernel has them.

use std::os::linux::fs::MetadataExt;

/// Inode of the first PID namespace (`PROC_PID_INIT_INO` in linux/proc_ns.h).
const FIRST: u64 = 0xEFFF_FFFC;

/// Whether this is the first PID namespace; that of a container is, with `--pid=host`.
pub fn is_first() -> bool {
    let namespace = std::fs::metadata("/proc/self/ns/pid");
    namespace.is_ok_and(|file| file.st_ino() == FIRST)
}
