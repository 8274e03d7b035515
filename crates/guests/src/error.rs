//! Why a virtual machine cannot be had.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use nicety_model::problem::write_line;
use nicety_model::{Coded, ProblemCode, Remedy};

/// Why QEMU, a kernel or a machine made of them cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum QemuError {
    /// A call to the kernel failed.
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Nowhere to keep QEMU and the kernel.
    NoCache,
    /// No Debian archive is known.
    NoMirror,
    /// What names the archive is no address.
    BadMirror(String),
    /// The cache directory cannot be made or written to.
    Cache {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The cache's file system is too full.
    NoSpace {
        /// The cache directory.
        path: PathBuf,
        /// Free there, in MiB.
        free_mib: u64,
        /// Needed while packages are unpacked, in MiB.
        needed_mib: u64,
    },
    /// A program that fetching needs is not installed.
    NoProgram {
        /// The program.
        program: &'static str,
    },
    /// The key that Debian signs with is not installed.
    NoKeyring {
        /// Where it should be.
        path: PathBuf,
    },
    /// A program that fetches or unpacks failed.
    Fetch {
        /// What was tried.
        step: String,
        /// What the program said.
        line: String,
        /// What to do.
        fix: &'static str,
    },
    /// A program answered something that cannot be understood.
    Answer {
        /// Whose answer.
        what: String,
        /// The text.
        text: String,
    },
    /// A kernel module that the package does not hold.
    NoModule {
        /// Kernel release.
        release: String,
        /// The module.
        name: String,
    },
    /// No kernel to boot in a directory that was named for one.
    NoKernel {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No kernel of this version is there, or several.
    NoRelease {
        /// The version.
        wanted: String,
        /// What there is.
        why: String,
    },
    /// Hardware virtualisation was asked for and does not work.
    NoKvm {
        /// The reason.
        why: String,
    },
    /// The boot that proves KVM was skipped, so nothing is known.
    ProofSkipped,
    /// The machine ended before it was asked to.
    Ended {
        /// Which machine.
        what: String,
        /// What it was to do.
        awaited: &'static str,
        /// How QEMU ended.
        status: ExitStatus,
        /// The last lines of QEMU and of the console.
        last: String,
    },
    /// The machine did not get there in time.
    TimedOut {
        /// Which machine.
        what: String,
        /// What it was to do.
        awaited: &'static str,
        /// The time it had.
        limit: Duration,
        /// The last lines of the console.
        last: String,
    },
    /// QEMU's monitor refused a command.
    Qmp {
        /// The command.
        command: String,
        /// QEMU's reason.
        why: String,
    },
}

impl Coded for QemuError {
    fn code(&self) -> ProblemCode {
        match self {
            Self::NoKvm { .. } => ProblemCode::NoKvm,
            Self::Io { .. } | Self::Ended { .. } | Self::TimedOut { .. } | Self::Qmp { .. } => {
                ProblemCode::PathFailed
            }
            _ => ProblemCode::NoQemu,
        }
    }
}

impl QemuError {
    /// What is wrong.
    pub fn what(&self) -> String {
        match self {
            Self::Io {
                operation,
                path,
                source,
            }
            | Self::Cache {
                operation,
                path,
                source,
            } => format!("{operation} {}: {source}", path.display()),
            Self::NoCache => {
                "no cache directory: neither XDG_CACHE_HOME nor HOME names one".to_owned()
            }
            Self::NoMirror => {
                "no Debian archive is among the sources of this host's apt".to_owned()
            }
            Self::BadMirror(text) => {
                format!("NICETY_MIRROR: {text:?} is not an address of an archive")
            }
            Self::NoSpace {
                path,
                free_mib,
                needed_mib,
            } => format!(
                "{} has {free_mib} MiB free, QEMU and a kernel need {needed_mib}",
                path.display()
            ),
            Self::NoProgram { program } => format!(
                "{program} is not installed, so QEMU and a kernel cannot be fetched from Debian packages"
            ),
            Self::NoKeyring { path } => format!(
                "{} is missing, so Debian packages cannot be checked",
                path.display()
            ),
            Self::Fetch { step, line, .. } => format!("{step} failed: {line}"),
            Self::Answer { what, text } => format!("{what} cannot be understood: {text:?}"),
            Self::NoModule { release, name } => format!("kernel {release} has no module {name}"),
            Self::NoKernel { path, why } => {
                format!("no kernel to boot below {}: {why}", path.display())
            }
            Self::NoRelease { wanted, why } => format!("no kernel {wanted} to boot: {why}"),
            Self::NoKvm { why } => format!("KVM does not work here: {why}"),
            Self::ProofSkipped => {
                "KVM was not tried: the boot that proves it was skipped".to_owned()
            }
            Self::Ended {
                what,
                awaited,
                status,
                last,
            } => format!("{what} ended before {awaited} ({}): {last}", how(*status)),
            Self::TimedOut {
                what,
                awaited,
                limit,
                last,
            } => format!(
                "{what} did not reach {awaited} in {} s, its console ends with: {last}",
                limit.as_secs()
            ),
            Self::Qmp { command, why } => format!("QEMU refused {command}: {why}"),
        }
    }

    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(Remedy::here(match self {
            Self::NoMirror | Self::BadMirror(_) => {
                "name a Debian archive in NICETY_MIRROR, as in http://MIRROR/debian"
            }
            Self::NoCache => "name one in NICETY_CACHE",
            Self::Cache { .. } => "name a cache directory that can be written to in NICETY_CACHE",
            Self::NoSpace { .. } => "make room, or name another directory in NICETY_CACHE",
            Self::NoProgram { .. } => {
                "use a Debian host, or copy the cache directory of one and name it in NICETY_CACHE"
            }
            Self::NoKeyring { .. } => "install debian-archive-keyring",
            Self::Fetch { fix, .. } => fix,
            Self::Answer { .. } => "please report this",
            Self::NoModule { .. } => "remove the cache directory to fetch another kernel",
            Self::NoKernel { .. } => {
                "put boot/vmlinuz-RELEASE there and run make INSTALL_MOD_PATH=DIR modules_install, or unpack a package of linux-image there and run depmod -b DIR RELEASE"
            }
            Self::NoRelease { .. } => {
                "write one of these versions, install its package linux-image, or name a directory with a kernel"
            }
            Self::NoKvm { .. } => "use --accel tcg (slower), or --accel auto",
            Self::ProofSkipped => "run it again and let the boot end, or use --accel tcg (slower)",
            Self::Ended { last, .. } => what_to_do(last),
            Self::TimedOut { .. } => "is this machine overloaded?",
            Self::Io { .. } | Self::Qmp { .. } => return None,
        }))
    }
}

impl fmt::Display for QemuError {
    /// One line, the remedy last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.what(), self.remedy())
    }
}

/// What a machine did, or its QEMU: one that does not boot again ends with code 0 when its guest resets.
fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "reset or switched off by its own CPU".to_owned(),
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("ended by signal {}", signal.unwrap_or(0)),
    }
}

/// The remedy for the last words of a machine.
fn what_to_do(last: &str) -> &'static str {
    let no_memory = ["cannot set up guest memory", "Cannot allocate memory"];
    if no_memory.iter().any(|words| last.contains(words)) {
        "there is not so much memory here: free some; a lab can be given less with --memory"
    } else {
        "if it does so again, please report this"
    }
}

impl QemuError {
    /// Whose answer cannot be understood, and what it was.
    pub fn answer(what: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Answer {
            what: what.into(),
            text: text.into(),
        }
    }

    /// A program of another package has failed at `step`: the first line of its `output`, and what to do.
    pub(crate) fn failed(step: impl Into<String>, output: &[u8], fix: &'static str) -> Self {
        let output = String::from_utf8_lossy(output);
        Self::Fetch {
            step: step.into(),
            line: output.lines().next().unwrap_or_default().to_owned(),
            fix,
        }
    }

    /// An error of the kernel.
    pub fn io(
        operation: &'static str,
        path: impl AsRef<Path>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::Io {
            operation,
            path: path.as_ref().to_owned(),
            source: source.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_ended_is_told_with_what_to_do() {
        let ended = |last: &str| QemuError::Ended {
            what: "the lab".into(),
            awaited: "its start",
            status: ExitStatus::from_raw(0),
            last: last.into(),
        };
        let memory =
            "qemu-system-x86_64: cannot set up guest memory 'pc.ram': Cannot allocate memory";
        let line = ended(memory).to_string();
        assert!(line.ends_with("can be given less with --memory"), "{line}");
        let line = ended("Kernel panic").to_string();
        assert!(line.ends_with("please report this"), "{line}");
        assert_eq!(how(ExitStatus::from_raw(11)), "ended by signal 11");
        assert_eq!(how(ExitStatus::from_raw(1 << 8)), "exit code 1");
    }
}
