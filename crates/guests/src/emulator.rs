//! QEMU: the host's own when it will do, else an unpacked one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::QemuError;
use crate::files::in_path;
use crate::root::{LIBRARIES, below_loader};

/// First version with `igb`, the 82576, in the form the lab relies on.
const OLDEST_MAJOR: u32 = 10;
/// First version, of those tried, whose emulated CPU runs guests of its own well enough. 10.0 changes
/// the mask of pending interrupts at every entry and exit of a guest without an atomic operation
/// (target/i386/tcg/system/svm_helper.c): one that another thread raises meanwhile is lost, and a
/// CPU that sleeps is not woken again. In 11 that is atomic, but not all is well: of 375 guests booted
/// under it in labs of two CPUs one stood still, and two took their lab along; of 85 under 10.0 one
/// and one. The like is seen by the lab's sessions: they end when its CPUs are silent.
const OLDEST_FOR_LAB: u32 = 11;
const PROGRAM: &str = "qemu-system-x86_64";
/// Small firmware of QEMU's own package. SeaBIOS puts the window of 64-bit BARs above 4 GiB,
/// where QEMU 10.0 loses the upper half of a virtual function's address.
pub const QBOOT: &str = "qboot.rom";

/// System calls that QEMU gives up once its machine is built (qemu(1), -sandbox): whatever a guest makes of
/// it starts no program, changes no user and no priority. It needs none of them: nicety gives it its
/// devices open, and places its threads from outside.
const SANDBOX: [&str; 2] = [
    "-sandbox",
    "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
];

/// What a bundle's QEMU must be good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Guests that are measured.
    Guests,
    /// The lab, which emulates a CPU that runs guests of its own.
    Lab,
}

/// A QEMU that can be started.
#[derive(Debug, Clone)]
pub struct Emulator {
    /// The command's words.
    words: Vec<PathBuf>,
    /// Where its modules are, when not where it was built for.
    modules: Option<PathBuf>,
    /// Whether it was built with seccomp.
    has_sandbox: bool,
    /// The version, as `10.0.2 (Debian …)`.
    pub version: String,
}

impl Emulator {
    /// The one in the search path; none when there is none or it is too old.
    pub fn of_host(purpose: Purpose) -> Option<Self> {
        let oldest = match purpose {
            Purpose::Guests => OLDEST_MAJOR,
            Purpose::Lab => OLDEST_FOR_LAB,
        };
        let program = in_path(PROGRAM)?;
        let host = Self::with(vec![program], None).ok()?;
        (major(&host.version)? >= oldest && host.has_igb() && host.has_qboot()).then_some(host)
    }

    /// The one of an unpacked root.
    ///
    /// # Errors
    /// When it does not start.
    pub fn unpacked(root: &Path) -> Result<Self, QemuError> {
        let mut words = below_loader(root, "usr/bin/qemu-system-x86_64");
        for firmware in ["usr/share/qemu", "usr/share/seabios"] {
            words.push("-L".into());
            words.push(root.join(firmware));
        }
        Self::with(words, Some(root.join(LIBRARIES).join("qemu")))
    }

    pub(crate) fn with(words: Vec<PathBuf>, modules: Option<PathBuf>) -> Result<Self, QemuError> {
        let mut emulator = Self {
            words,
            modules,
            has_sandbox: false,
            version: String::new(),
        };
        let output = emulator.output_of(&["--version"])?;
        match version(&output) {
            Some(version) => emulator.version = version.to_owned(),
            None => {
                return Err(QemuError::answer("the version of QEMU", output));
            }
        }
        // One that was built without it knows no such option.
        let [option, value] = SANDBOX;
        emulator.has_sandbox = emulator.output_of(&[option, value, "--version"]).is_ok();
        Ok(emulator)
    }

    /// A command that starts it; arguments are still to be added.
    pub fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().map_or(Path::new(PROGRAM), PathBuf::as_path));
        command.args(words);
        if let Some(modules) = &self.modules {
            command.env("QEMU_MODULE_DIR", modules);
        }
        command
    }

    /// What keeps it to what it needs, as far as it can.
    pub fn sandbox(&self) -> &'static [&'static str] {
        if self.has_sandbox { &SANDBOX } else { &[] }
    }

    pub(crate) fn output_of(&self, words: &[&str]) -> Result<String, QemuError> {
        let error = |e| QemuError::io("run", &self.words[0], e);
        let out = self
            .command()
            .args(words)
            .stdin(Stdio::null())
            .output()
            .map_err(error)?;
        if out.status.success() {
            return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
        }
        let fix = "remove the cache directory to fetch it anew";
        Err(QemuError::failed("starting QEMU", &out.stderr, fix))
    }

    fn has_igb(&self) -> bool {
        self.output_of(&["-device", "help"])
            .is_ok_and(|text| text.contains("\"igb\""))
    }

    fn has_qboot(&self) -> bool {
        self.output_of(&["-L", "help"]).is_ok_and(|text| {
            text.lines()
                .any(|dir| Path::new(dir.trim()).join(QBOOT).is_file())
        })
    }
}

/// `10.0.2 (Debian …)` of `QEMU emulator version 10.0.2 (Debian …)`.
fn version(output: &str) -> Option<&str> {
    output
        .lines()
        .next()?
        .strip_prefix("QEMU emulator version ")
        .map(str::trim)
}

fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let output = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)\nCopyright (c) …\n";
        assert_eq!(version(output), Some("10.0.2 (Debian 1:10.0.2+ds-2)"));
        assert_eq!(major("10.0.2 (Debian)"), Some(10));
        assert_eq!(major("7.2.0"), Some(7));
        assert_eq!(version("qemu: no"), None);
        assert_eq!(major("x"), None);
    }
}
