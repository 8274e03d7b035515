//! Why BPF programs cannot be used.

use std::io;

use aya::programs::ProgramError;

use crate::lack::Lack;

/// Why the engine cannot be used here at all.
#[derive(Debug, thiserror::Error)]
pub enum Unsupported {
    /// clang or its headers were missing when nicety was built.
    #[error("the engine is not built in: {0}")]
    NotBuilt(&'static str),
    /// The user may not load BPF programs.
    #[error(
        "BPF programs may not be loaded: run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
    )]
    NotPermitted,
    /// The kernel is older than 5.18.
    #[error("this kernel does not send frames from a BPF program (XDP live frames, Linux 5.18)")]
    NoLiveFrames,
    /// The frame does not fit into a page together with what the kernel keeps there.
    #[error("frames of {bytes} bytes do not fit into one page, which live frames must")]
    FrameTooLarge {
        /// Frame size with FCS.
        bytes: usize,
    },
    /// Anything else the kernel answers.
    #[error("the kernel refuses BPF programs: {0}")]
    Refused(String),
}

impl Unsupported {
    /// What is lacking, where somebody can give it.
    pub fn lacks(&self) -> Option<Lack> {
        match self {
            Self::NotBuilt(_) => Some(Lack::Build),
            Self::NotPermitted => Some(Lack::Root),
            Self::NoLiveFrames => Some(Lack::Linux("5.18")),
            Self::FrameTooLarge { .. } | Self::Refused(_) => None,
        }
    }
}

/// The words for what the kernel answered.
pub(crate) fn refused(error: &(dyn std::error::Error + 'static)) -> Unsupported {
    match errno(error) {
        Some(libc::EPERM | libc::EACCES) => Unsupported::NotPermitted,
        Some(number) => Unsupported::Refused(io::Error::from_raw_os_error(number).to_string()),
        None => Unsupported::Refused(error.to_string()),
    }
}

/// The error number at the bottom of `error`, if it comes from the kernel: also where an error of aya hides it.
pub fn errno(error: &(dyn std::error::Error + 'static)) -> Option<i32> {
    let mut error = error;
    loop {
        // A transparent variant hides its error from `source`.
        if let Some(ProgramError::IOError(io)) = error.downcast_ref() {
            return io.raw_os_error();
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return io.raw_os_error();
        }
        error = error.source()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_number_is_found_below_other_errors() {
        let error = ProgramError::IOError(io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(errno(&error), Some(libc::EPERM));
        assert!(matches!(refused(&error), Unsupported::NotPermitted));
        assert_eq!(errno(&ProgramError::NotLoaded), None);
    }
}
