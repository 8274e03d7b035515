//! What this process may do, and how an ordinary user gets a network of his own.

use std::io;
use std::path::Path;

use nicety_model::{Coded, ProblemCode};
use rustix::mount::MountPropagationFlags;
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use crate::netns::unshare_thread;

/// What the process may do with network interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Holds CAP_NET_ADMIN, CAP_NET_RAW and CAP_SYS_ADMIN in the initial user namespace: may
    /// use the host's interfaces and pin kernel threads.
    Privileged,
    /// Holds them in a user namespace only: may do as it likes with namespaces of its own.
    UserNamespace,
    /// Holds none of it; see [`enter_user_namespace`].
    Ordinary,
}

/// Why a process cannot learn or change its privilege.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// A file of /proc could not be read or written.
    #[error("{operation} {path}: {source}")]
    Proc {
        /// `read` or `write`.
        operation: &'static str,
        /// The file.
        path: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// A line of /proc/self/status is missing or unreadable.
    #[error("read /proc/self/status: no readable line {field}")]
    Status {
        /// The line.
        field: &'static str,
    },
    /// A user namespace cannot be entered by one thread of many (EINVAL of unshare(2)).
    #[error("enter user namespace: the process has {threads} threads already, it must have one")]
    Threads {
        /// Number of threads.
        threads: u64,
    },
    /// The host forbids user namespaces.
    #[error("{}; {}", no_namespace(cause), or_root(remedy))]
    Forbidden {
        /// The setting in the way, as far as it can be seen, or else the kernel's answer.
        cause: String,
        /// The command that changes it.
        remedy: String,
    },
    /// Another error of unshare(2) or mount(2).
    #[error("{operation}: {source}")]
    Kernel {
        /// The call.
        operation: &'static str,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
}

impl Coded for PrivilegeError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::Forbidden { .. } => ProblemCode::NoUserNamespace,
            _ => ProblemCode::KernelRefused,
        }
    }
}

impl PrivilegeError {
    /// What is wrong.
    pub fn what(&self) -> String {
        match self {
            Self::Forbidden { cause, .. } => no_namespace(cause),
            other => other.to_string(),
        }
    }

    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Forbidden { remedy, .. } => Some(or_root(remedy)),
            _ => None,
        }
    }
}

fn no_namespace(cause: &str) -> String {
    format!("enter user namespace: forbidden on this host ({cause})")
}

fn or_root(remedy: &str) -> String {
    format!("run as root, or {remedy}")
}

/// What the kernel lets the process open and load, see capabilities(7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    /// Packet sockets on interfaces of this network namespace.
    pub packet_sockets: bool,
    /// BPF programs at interfaces, and the kernel's packet generator: rights in the initial user
    /// namespace.
    pub programs: bool,
}

// Bit numbers of include/uapi/linux/capability.h.
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

const STATUS: &str = "/proc/self/status";
const UID_MAP: &str = "/proc/self/uid_map";

/// What the process may do now.
///
/// # Errors
/// When /proc cannot be read.
pub fn privilege() -> Result<Privilege, PrivilegeError> {
    Ok(classify(effective()?, &read(UID_MAP)?))
}

/// What the process may open and load now.
///
/// # Errors
/// When /proc cannot be read.
pub fn rights() -> Result<Rights, PrivilegeError> {
    Ok(allowed(effective()?, &read(UID_MAP)?))
}

/// The capabilities in force.
fn effective() -> Result<u64, PrivilegeError> {
    status_field(&read(STATUS)?, "CapEff")
        .and_then(|hex| u64::from_str_radix(hex, 16).ok())
        .ok_or(PrivilegeError::Status { field: "CapEff" })
}

/// Root, and all users are who they seem to be (user_namespaces(7)).
pub fn is_host_root() -> bool {
    rustix::process::geteuid().is_root() && read(UID_MAP).is_ok_and(|map| initial(&map))
}

/// Only the initial user namespace maps every id to itself (kernel/user.c, init_user_ns).
fn initial(uid_map: &str) -> bool {
    uid_map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn allowed(effective: u64, uid_map: &str) -> Rights {
    let has = |bit: u32| effective & (1 << bit) != 0;
    // CAP_SYS_ADMIN stands for CAP_BPF and CAP_PERFMON (include/linux/capability.h, bpf_capable).
    let programs = has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON));
    Rights {
        packet_sockets: has(CAP_NET_RAW),
        programs: initial(uid_map) && has(CAP_NET_ADMIN) && programs,
    }
}

fn classify(effective: u64, uid_map: &str) -> Privilege {
    let has = |bit: u32| effective & (1 << bit) != 0;
    if !(has(CAP_NET_ADMIN) && has(CAP_NET_RAW) && has(CAP_SYS_ADMIN)) {
        return Privilege::Ordinary;
    }
    if initial(uid_map) {
        Privilege::Privileged
    } else {
        Privilege::UserNamespace
    }
}

/// Moves the whole process into a new user and mount namespace in which its user is root, so
/// that it may make network namespaces, interfaces and packet sockets.
///
/// Files it writes afterwards still belong to the calling user. Must run before any thread is
/// started.
///
/// # Errors
/// [`PrivilegeError::Threads`] when threads run already, [`PrivilegeError::Forbidden`] with the
/// remedy when the host forbids user namespaces.
pub fn enter_user_namespace() -> Result<(), PrivilegeError> {
    let threads = status_field(&read(STATUS)?, "Threads")
        .and_then(|count| count.parse().ok())
        .ok_or(PrivilegeError::Status { field: "Threads" })?;
    if threads != 1 {
        return Err(PrivilegeError::Threads { threads });
    }
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    let with_parent = rustix::process::parent_process_death_signal().unwrap_or(None);
    unshare_thread(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
        .map_err(|e| forbidden_here(e.into()))?;
    // Whoever gains capabilities loses the signal at the end of its parent (`commit_creds` in
    // kernel/cred.c); a refusal leaves a process that outlives it.
    let _ = rustix::process::set_parent_process_death_signal(with_parent);
    // user_namespaces(7): an unprivileged writer of gid_map must give up setgroups(2) first.
    write("/proc/self/setgroups", "deny")?;
    // AppArmor lets the namespace be made but takes its capabilities away; then this write is
    // the first thing to fail.
    write(UID_MAP, &format!("0 {uid} 1")).map_err(|e| match e {
        PrivilegeError::Proc { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            forbidden_here(source)
        }
        other => other,
    })?;
    write("/proc/self/gid_map", &format!("0 {gid} 1"))?;
    // Mounts of the host may still come in, none of ours may go out.
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM,
    )
    .map_err(|e| PrivilegeError::Kernel {
        operation: "make the mounts of the new namespace private",
        source: e.into(),
    })
}

/// A sysctl that can forbid user namespaces.
struct Switch {
    name: &'static str,
    /// Whether zero forbids them, or anything but zero.
    zero_forbids: bool,
    /// A value that allows them.
    allows: u32,
}

/// Debian's switch, the upstream limit, Ubuntu's switch: any one of them is enough.
const SWITCHES: [Switch; 3] = [
    Switch {
        name: "kernel.unprivileged_userns_clone",
        zero_forbids: true,
        allows: 1,
    },
    Switch {
        name: "user.max_user_namespaces",
        zero_forbids: true,
        allows: 10_000,
    },
    Switch {
        name: "kernel.apparmor_restrict_unprivileged_userns",
        zero_forbids: false,
        allows: 0,
    },
];

fn forbidden_here(source: io::Error) -> PrivilegeError {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    forbidden(source, Path::new("/proc/sys"), &mounts)
}

/// Whether the root of this process is a plain folder of its mount namespace: no mount is at `/` (fifth field,
/// proc(5)). The kernel then makes no user namespace (user_namespaces(7)).
fn in_chroot(mounts: &str) -> bool {
    let at_root = |line: &str| line.split(' ').nth(4) == Some("/");
    !mounts.is_empty() && !mounts.lines().any(at_root)
}

/// Names what forbids user namespaces, reading sysctls below `sys`. `mounts` is the process's mountinfo.
fn forbidden(source: io::Error, sys: &Path, mounts: &str) -> PrivilegeError {
    let value = |name: &str| {
        std::fs::read_to_string(sys.join(name.replace('.', "/")))
            .ok()
            .and_then(|text| text.trim().parse::<u64>().ok())
    };
    let forbidden = SWITCHES.iter().find_map(|switch| {
        let value = value(switch.name).filter(|value| (*value == 0) == switch.zero_forbids)?;
        Some((switch, value))
    });
    if let Some((Switch { name, allows, .. }, value)) = forbidden {
        return PrivilegeError::Forbidden {
            cause: format!("{name} = {value}"),
            remedy: format!("have root set it: sysctl -w {name}={allows}"),
        };
    }
    match source.kind() {
        io::ErrorKind::PermissionDenied if in_chroot(mounts) => PrivilegeError::Forbidden {
            cause: "this is a chroot".to_owned(),
            remedy: "enter it with systemd-nspawn -D DIR".to_owned(),
        },
        io::ErrorKind::PermissionDenied => PrivilegeError::Forbidden {
            cause: format!("{source}, by a security module or a container's seccomp filter"),
            remedy: "allow unshare(CLONE_NEWUSER) there (containers: --privileged)".to_owned(),
        },
        _ => PrivilegeError::Kernel {
            operation: "enter user namespace",
            source,
        },
    }
}

fn status_field<'a>(status: &'a str, field: &str) -> Option<&'a str> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .map(str::trim)
}

fn read(path: &'static str) -> Result<String, PrivilegeError> {
    std::fs::read_to_string(path).map_err(|source| PrivilegeError::Proc {
        operation: "read",
        path,
        source,
    })
}

fn write(path: &'static str, value: &str) -> Result<(), PrivilegeError> {
    std::fs::write(path, value).map_err(|source| PrivilegeError::Proc {
        operation: "write",
        path,
        source,
    })
}

/// Gives up all capabilities of the calling thread, for good: programs it starts get none either. For
/// threads that strangers speak to, once their sockets are there. Other threads keep theirs.
///
/// # Errors
/// When the kernel refuses, which it does not do by itself.
pub fn give_up_capabilities() -> io::Result<()> {
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    // Otherwise root would get them back by starting a program (capabilities(7)).
    rustix::thread::set_no_new_privs(true)?;
    Ok(rustix::thread::set_capabilities(None, none)?)
}

/// Gives up all capabilities of the calling thread but the one to change interfaces, for good, as threads and
/// programs that it starts do. Before any other thread.
///
/// # Errors
/// When the kernel refuses, which it does not do by itself.
pub fn keep_net_admin() -> io::Result<()> {
    let now = rustix::thread::capabilities(None)?;
    let kept = now.permitted & CapabilitySet::NET_ADMIN;
    rustix::thread::set_no_new_privs(true)?;
    let only = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, only)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u64 = (1 << CAP_NET_ADMIN) | (1 << CAP_NET_RAW) | (1 << CAP_SYS_ADMIN);
    /// What mountinfo shows in a chroot.
    const CHROOT: &str = "63 43 0:21 / /proc rw,relatime - proc proc rw\n";

    fn refused() -> io::Error {
        io::Error::from_raw_os_error(libc::EPERM)
    }

    const INITIAL: &str = "         0          0 4294967295\n";

    #[test]
    fn every_needed_capability_counts() {
        for missing in [CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN] {
            assert_eq!(
                classify(ALL & !(1 << missing), INITIAL),
                Privilege::Ordinary
            );
        }
        assert_eq!(classify(ALL, INITIAL), Privilege::Privileged);
        assert_eq!(classify(ALL, "0 65534 1\n"), Privilege::UserNamespace);
    }

    #[test]
    fn programs_need_rights_in_the_initial_user_namespace() {
        let bits = |bits: &[u32]| bits.iter().fold(0, |all, bit| all | 1 << bit);
        let few = bits(&[CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF, CAP_PERFMON]);
        for (effective, map, packet_sockets, programs) in [
            (0, INITIAL, false, false),
            (ALL, INITIAL, true, true),
            (ALL, "0 65534 1\n", true, false),
            (few, INITIAL, true, true),
            (few & !(1 << CAP_BPF), INITIAL, true, false),
            (bits(&[CAP_NET_RAW]), INITIAL, true, false),
        ] {
            let expected = Rights {
                packet_sockets,
                programs,
            };
            assert_eq!(allowed(effective, map), expected, "{effective:x} {map}");
        }
    }

    #[test]
    fn the_setting_in_the_way_is_named_with_its_remedy() {
        for (name, value, remedy) in [
            (
                "kernel/unprivileged_userns_clone",
                "0",
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                "user/max_user_namespaces",
                "0",
                "user.max_user_namespaces=10000",
            ),
            (
                "kernel/apparmor_restrict_unprivileged_userns",
                "1",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
        ] {
            let sys = tempfile::tempdir().unwrap();
            let file = sys.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, value).unwrap();
            let error = forbidden(refused(), sys.path(), CHROOT);
            assert!(matches!(error, PrivilegeError::Forbidden { .. }));
            assert!(error.to_string().contains(remedy), "{error}");
        }
    }

    #[test]
    fn a_chroot_is_told_from_a_sandbox() {
        let sys = tempfile::tempdir().unwrap();
        let said = |mounts| forbidden(refused(), sys.path(), mounts).to_string();
        assert!(said(CHROOT).contains("(this is a chroot); run as root, or enter it"));
        let whole = CHROOT.to_owned() + "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n";
        assert!(said(&whole).contains("seccomp filter"));
        assert!(said("").contains("seccomp filter"));
    }

    #[test]
    fn a_process_with_threads_is_refused_as_any_user() {
        // The test harness itself is the second thread.
        assert!(matches!(
            std::thread::spawn(enter_user_namespace).join().unwrap(),
            Err(PrivilegeError::Threads { threads: 2.. })
        ));
    }
}
