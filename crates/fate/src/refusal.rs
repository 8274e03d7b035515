//! Why the fate of frames cannot be found out.

use std::error::Error;
use std::io;

use nicety_port::xdp::unsupported::errno;
use rustix::io::Errno;

/// Why the fate of frames cannot be found out here, and what to do about it, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// clang or its headers were missing when nicety was built.
    #[error("the programs are not built in: {0}")]
    NotBuilt(&'static str),
    /// The user may not load BPF programs.
    #[error("BPF programs may not be loaded: run as root, or with CAP_BPF and CAP_PERFMON")]
    NotPermitted,
    /// The kernel does not describe its types.
    #[error(
        "the kernel has no type information (/sys/kernel/btf/vmlinux): run a kernel built with CONFIG_DEBUG_INFO_BTF"
    )]
    NoTypes,
    /// The kernel has no such tracepoint.
    #[error(
        "the kernel has no tracepoint kfree_skb: run Linux 5.5 or later with CONFIG_TRACEPOINTS"
    )]
    NoTracepoint,
    /// The kernel's BPF cannot add and tell the sum at once.
    #[error(
        "the kernel's BPF is too old to note where frames spend their time: run Linux 5.12 or later; --fate drops works with this one"
    )]
    NoAtomics,
    /// Memory for the numbers is lacking.
    #[error(
        "the kernel has no memory for the fates of {frames} frames: make the trial shorter, or raise the control group's memory limit"
    )]
    NoMemory {
        /// Frames of the trial.
        frames: u64,
    },
    /// Anything else that the kernel answers.
    #[error("the kernel refuses the programs: {0}; --fate off measures without them")]
    Kernel(String),
}

/// The words for what the kernel answered.
pub(crate) fn refused(error: &(dyn Error + 'static)) -> Refusal {
    match errno(error).map(Errno::from_raw_os_error) {
        Some(Errno::PERM | Errno::ACCESS) => Refusal::NotPermitted,
        Some(number) => Refusal::Kernel(io::Error::from(number).to_string()),
        // A verifier's log is long; its first line says what is wrong.
        None => Refusal::Kernel(
            error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_answers_becomes_one_line() {
        let error = |number: Errno| io::Error::from(number);
        assert_eq!(refused(&error(Errno::PERM)), Refusal::NotPermitted);
        let other = refused(&error(Errno::INVAL)).to_string();
        assert!(
            other.contains("Invalid argument") && !other.contains('\n'),
            "{other}"
        );
        let long = io::Error::other("first\nsecond");
        assert_eq!(refused(&long), Refusal::Kernel("first".to_owned()));
    }
}
