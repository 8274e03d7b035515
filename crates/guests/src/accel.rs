//! How a machine's instructions run.
//!
//! `/dev/kvm` may exist, open and create machines that no kernel boots on, so KVM is proved by
//! booting one. The answer is kept in the cache per kernel and QEMU.

use std::fmt;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nicety_model::path::VmAccel;
use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;
use crate::emulator::QBOOT;
use crate::error::QemuError;
use crate::machine::{Machine, MachineSpec};

/// What a machine gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accelerator {
    /// KVM, proved.
    Kvm,
    /// TCG, and why not KVM; absent when TCG was asked for.
    Tcg(Option<String>),
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kvm => f.write_str("KVM"),
            Self::Tcg(None) => f.write_str("TCG"),
            Self::Tcg(Some(why)) => write!(f, "TCG ({why})"),
        }
    }
}

/// How long a kernel has been awaited that is booted to see whether KVM works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProofWait {
    /// Time since the boot began.
    pub elapsed: Duration,
    /// When it is given up; grows once the kernel has begun to speak.
    pub at_most: Duration,
}

/// Sees the wait every 20 ms, the first time before the boot; a break skips it.
pub type Watch<'w> = dyn FnMut(ProofWait) -> ControlFlow<()> + 'w;

impl Accelerator {
    /// Chooses how guests run for someone who asked for `asked`. `watch` sees the boot of a kernel that
    /// proves KVM; it is not called where the answer is known.
    ///
    /// # Errors
    /// [`QemuError::NoKvm`] when KVM was asked for and does not work, [`QemuError::ProofSkipped`] when
    /// `watch` skipped the boot.
    pub fn choose(
        asked: VmAccel,
        bundle: &Bundle,
        watch: &mut Watch<'_>,
    ) -> Result<Self, QemuError> {
        if asked == VmAccel::Tcg {
            return Ok(Self::Tcg(None));
        }
        match (why_not(bundle, asked == VmAccel::Kvm, watch)?, asked) {
            (None, _) => Ok(Self::Kvm),
            (Some(why), VmAccel::Kvm) => Err(QemuError::NoKvm { why }),
            (Some(why), _) => Ok(Self::Tcg(Some(why))),
        }
    }

    /// QEMU's arguments for it. The CPU can run guests of its own: SVM is emulated under TCG.
    pub fn arguments(&self) -> [&'static str; 4] {
        match self {
            Self::Kvm => ["-accel", "kvm", "-cpu", "host"],
            Self::Tcg(_) => ["-accel", "tcg,thread=multi", "-cpu", "max,+svm"],
        }
    }
}

const DEVICE: &str = "/dev/kvm";
/// A kernel comes up in one to two seconds under KVM.
const PROOF_LIMIT: Duration = Duration::from_secs(15);
/// For a kernel that has begun to speak, and where nothing else will do: in the emulated CPU of the
/// lab, on a machine that is busy, it takes half a minute.
const PATIENT_LIMIT: Duration = Duration::from_secs(90);
/// Boots of one machine before it is given up.
pub const BOOTS: usize = 3;
/// Said by a kernel that has come as far as it can without a root file system
/// (init/do_mounts.c, mount_root_generic).
const PROOF: &str = "Unable to mount root fs";
/// Its first line comes as soon as it runs.
const COMMAND_LINE: &str = "console=ttyS0 earlyprintk=serial,ttyS0,115200 loglevel=6 panic=-1";
const MEMORY: &str = "kvm.json";

/// An answer that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Answer {
    host_kernel: String,
    guest_kernel: String,
    qemu: String,
    /// Absent when it works.
    why_not: Option<String>,
    /// What QEMU said.
    said: Option<String>,
}

/// Why KVM does not work; absent when it does. `anew` asks again what is known. An answer is kept, a
/// boot that was skipped is not.
fn why_not(
    bundle: &Bundle,
    anew: bool,
    watch: &mut Watch<'_>,
) -> Result<Option<String>, QemuError> {
    if let Err(error) = fs::OpenOptions::new().read(true).write(true).open(DEVICE) {
        return Ok(Some(format!("open {DEVICE}: {error}")));
    }
    let path = bundle.cache.join(MEMORY);
    let asked = Answer {
        host_kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
        guest_kernel: bundle.kernel.release.clone(),
        qemu: bundle.emulator.version.clone(),
        why_not: None,
        said: None,
    };
    if let Some(known) = remembered(&path, &asked).filter(|_| !anew) {
        return Ok(known.why_not);
    }
    let limit = if anew { PATIENT_LIMIT } else { PROOF_LIMIT };
    let said = match proof(bundle, limit, watch) {
        Err(QemuError::ProofSkipped) => return Err(QemuError::ProofSkipped),
        proved => proved.err().map(|error| error.to_string()),
    };
    let why_not = said
        .is_some()
        .then(|| format!("{DEVICE} opens, but no kernel boots on it"));
    remember(
        &path,
        Answer {
            why_not: why_not.clone(),
            said,
            ..asked
        },
    );
    Ok(why_not)
}

fn remembered(path: &Path, asked: &Answer) -> Option<Answer> {
    let mut known = answers(path).into_iter();
    known.find(|known| known.same_machine(asked))
}

fn answers(path: &Path) -> Vec<Answer> {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// A cache that cannot be written costs a boot next time, nothing else.
fn remember(path: &PathBuf, answer: Answer) {
    let mut answers = answers(path);
    answers.retain(|known| !known.same_machine(&answer));
    answers.push(answer);
    let new = path.with_extension(format!("{}", std::process::id()));
    if let Ok(text) = serde_json::to_string_pretty(&answers)
        && fs::write(&new, text).is_ok()
        && fs::rename(&new, path).is_err()
    {
        let _ = fs::remove_file(&new);
    }
}

impl Answer {
    fn same_machine(&self, other: &Self) -> bool {
        (&self.host_kernel, &self.guest_kernel, &self.qemu)
            == (&other.host_kernel, &other.guest_kernel, &other.qemu)
    }
}

/// A kernel that boots. One that spoke and died is given another chance, see `VmPath`.
fn proof(bundle: &Bundle, limit: Duration, watch: &mut Watch<'_>) -> Result<(), QemuError> {
    let start = Instant::now();
    let mut tried = 1;
    loop {
        let mut spoke = false;
        let mut watched = |now: Instant, end: Instant| {
            let wait = ProofWait {
                elapsed: now - start,
                at_most: end - start,
            };
            watch(wait).is_break()
        };
        match boot(bundle, limit, &mut spoke, &mut watched) {
            Err(QemuError::Ended { .. }) if spoke && tried < BOOTS => tried += 1,
            booted => return booted,
        }
    }
}

/// Boots the kernel until it finds no root file system; whether it said anything.
fn boot(
    bundle: &Bundle,
    mut limit: Duration,
    spoke: &mut bool,
    skipped: &mut dyn FnMut(Instant, Instant) -> bool,
) -> Result<(), QemuError> {
    let mut arguments: Vec<_> = Accelerator::Kvm.arguments().map(Into::into).to_vec();
    arguments.extend(["-machine", "q35", "-bios", QBOOT, "-m", "256", "-kernel"].map(Into::into));
    arguments.push(bundle.kernel.image.clone().into_os_string());
    arguments.extend(["-append", COMMAND_LINE].map(Into::into));
    let spec = MachineSpec {
        name: "proof-of-kvm".into(),
        arguments,
        inherit: Vec::new(),
        left_in: None,
        ns: None,
    };
    let mut end = Instant::now() + limit;
    if skipped(Instant::now(), end) {
        return Err(QemuError::ProofSkipped);
    }
    let mut machine = Machine::start(&bundle.emulator, spec)?;
    loop {
        if skipped(Instant::now(), end) {
            return Err(QemuError::ProofSkipped);
        }
        let ended = machine.ended()?.is_some();
        if ended {
            machine.finish_console();
        }
        let said = machine.console();
        if said.iter().any(|line| line.contains(PROOF)) {
            return Ok(());
        }
        *spoke |= !said.is_empty();
        if ended {
            let other = QemuError::io("boot on", DEVICE, std::io::ErrorKind::Other);
            return Err(machine.why_ended("its kernel's end", other));
        }
        // Where KVM does not work the kernel says nothing at all.
        if Instant::now() > end && *spoke && limit < PATIENT_LIMIT {
            (limit, end) = (PATIENT_LIMIT, end + (PATIENT_LIMIT - limit));
        }
        if Instant::now() > end {
            return Err(machine.late("the end of its kernel's start", limit));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(host: &str, why_not: Option<&str>) -> Answer {
        Answer {
            host_kernel: host.into(),
            guest_kernel: "6.12".into(),
            qemu: "10.0.2".into(),
            why_not: why_not.map(Into::into),
            said: None,
        }
    }

    #[test]
    fn answers_are_kept_per_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(MEMORY);
        assert_eq!(remembered(&path, &answer("6.18", None)), None);
        remember(&path, answer("6.18", Some("spins")));
        remember(&path, answer("6.19", None));
        assert_eq!(
            remembered(&path, &answer("6.18", None))
                .unwrap()
                .why_not
                .unwrap(),
            "spins"
        );
        assert_eq!(
            remembered(&path, &answer("6.19", None)).unwrap().why_not,
            None
        );
        remember(&path, answer("6.18", None));
        assert_eq!(
            remembered(&path, &answer("6.18", None)).unwrap().why_not,
            None
        );
        assert_eq!(remembered(&path, &answer("7.0", None)), None);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        fs::write(&path, "{").unwrap();
        assert_eq!(remembered(&path, &answer("6.18", None)), None);
    }
}
