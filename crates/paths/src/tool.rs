//! Programs of the field that set something up in a namespace of a path and end: nft(8), tc(8).

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nicety_netdev::netns::NetNs;

use crate::error::PathError;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// Name of the program.
    pub(crate) name: &'static str,
    /// Debian's package of it.
    pub(crate) package: &'static str,
}

/// Rules of netfilter.
pub(crate) const NFT: Tool = Tool {
    name: "nft",
    package: "nftables",
};

/// Queueing disciplines, filters and actions.
pub(crate) const TC: Tool = Tool {
    name: "tc",
    package: "iproute2",
};

/// Modules of the kernel.
pub(crate) const MODPROBE: Tool = Tool {
    name: "modprobe",
    package: "kmod",
};

/// Where Debian has them, also for a user whose PATH leaves these out.
const PLACES: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

impl Tool {
    /// Looks for it.
    ///
    /// # Errors
    /// [`PathError::NotInstalled`].
    pub(crate) fn find(self) -> Result<PathBuf, PathError> {
        let mut files = PLACES
            .iter()
            .map(|place| PathBuf::from(place).join(self.name));
        files
            .find(|file| file.is_file())
            .ok_or(PathError::NotInstalled {
                program: self.name,
                package: self.package,
            })
    }

    /// Runs it in a namespace to its end, with `input` for its standard input.
    ///
    /// # Errors
    /// [`PathError::NotInstalled`]; [`PathError::Program`] with what it said when it refuses.
    pub(crate) fn run<A: AsRef<OsStr> + Sync>(
        self,
        ns: &NetNs,
        arguments: &[A],
        input: &str,
    ) -> Result<(), PathError> {
        let program = self.find()?;
        let failed = |e| PathError::io("run", program.display(), e);
        let run = || -> io::Result<std::process::Output> {
            let mut child = Command::new(&program)
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()?;
            if let Some(mut stdin) = child.stdin.take() {
                // One that ends early says why itself.
                let _ = stdin.write_all(input.as_bytes());
            }
            child.wait_with_output()
        };
        // A child has the namespace of the thread that starts it.
        let output = ns.run(run)?.map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().find(|line| !line.trim().is_empty());
        Err(PathError::Program {
            program: self.name,
            what: format!("cannot set this up ({})", output.status),
            last: first.unwrap_or_default().trim().replace("; ", ", "),
        })
    }
}
