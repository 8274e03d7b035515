//! Cloud Hypervisor, where the user has it: no distribution has a package of it. It runs on KVM only.

mod api;

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nicety_model::path::VmConfig;
use nicety_netdev::link::Mac;

use crate::devices::{Backend, MEMORY_MIB};
use crate::files::in_path;
use crate::initramfs::Initramfs;

pub(crate) use api::Api;

/// Name of the program, which `--version` says too.
const PROGRAM: &str = "cloud-hypervisor";
/// The guest's address on its own link to the host (vsock(7)); any above 2.
const CID: u32 = 3;
/// Start of the names of the threads that carry frames, see [`carries`].
const NIC: &str = "nic";

/// A Cloud Hypervisor that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudHypervisor {
    program: PathBuf,
    version: String,
}

/// There is none, or it does not say its version.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoVmm(String);

impl CloudHypervisor {
    /// The one at `named`, or in the search path where none is named.
    ///
    /// # Errors
    /// When there is none, or it does not say its version.
    pub fn find(named: Option<&Path>) -> Result<Self, NoVmm> {
        let program = named.map(Path::to_owned).or_else(|| in_path(PROGRAM));
        let program = program.ok_or_else(|| NoVmm(format!("there is no {PROGRAM} in PATH")))?;
        let mut command = Command::new(&program);
        let said = command.arg("--version").stdin(Stdio::null()).output();
        let said = said.map_err(|e| NoVmm(format!("run {}: {e}", program.display())))?;
        let said = String::from_utf8_lossy(&said.stdout);
        match version(&said) {
            Some(version) => Ok(Self {
                version: version.to_owned(),
                program,
            }),
            None => Err(NoVmm(format!("{} is no {PROGRAM}", program.display()))),
        }
    }

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Its version: `53.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Name and version: `cloud-hypervisor 53.0`.
    pub fn described(&self) -> String {
        format!("{PROGRAM} {}", self.version)
    }

    /// A command that starts it; arguments are still to be added.
    pub(crate) fn command(&self) -> Command {
        Command::new(&self.program)
    }
}

/// `53.0` of `cloud-hypervisor v53.0`, with what a build between versions has behind it.
fn version(said: &str) -> Option<&str> {
    let words = said.lines().next()?.strip_prefix(PROGRAM)?.trim();
    let version = words.strip_prefix('v').unwrap_or(words);
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(version)
}

/// Whether a thread of this name carries frames of a NIC: it has one for each pair of queues.
pub fn carries(thread: &str) -> bool {
    thread.starts_with(NIC) && thread.contains("_qp")
}

/// The machine without kernel and initramfs. `vsock` is the path of its end of the link to the host.
pub fn arguments(
    ask: &VmConfig,
    backends: &[Backend; 2],
    macs: [Mac; 2],
    vsock: &Path,
) -> Vec<OsString> {
    let on_switch = |backend: &Backend| matches!(backend, Backend::VhostUser(_));
    // The switch reads and writes the guest's memory.
    let shared = if backends.iter().any(on_switch) {
        ",shared=on"
    } else {
        ""
    };
    let mut words = vec![
        "--cpus".to_owned(),
        format!("boot={}", ask.vcpus),
        "--memory".to_owned(),
        format!("size={MEMORY_MIB}M{shared}"),
    ];
    let mut nics = Vec::new();
    for (number, (backend, mac)) in backends.iter().zip(macs).enumerate() {
        match backend {
            Backend::Function(address) => {
                let device = format!("path=/sys/bus/pci/devices/{address}/");
                words.extend(["--device".to_owned(), device]);
            }
            // No plan asks for it.
            Backend::AfXdp(_) => {}
            Backend::Tap { queues, .. } => nics.push(nic(ask, number, mac, &fds(queues))),
            Backend::VhostUser(socket) => {
                let way = format!(
                    "vhost_user=on,vhost_mode=server,socket={}",
                    socket.display()
                );
                nics.push(nic(ask, number, mac, &way));
            }
        }
    }
    if !nics.is_empty() {
        words.push("--net".to_owned());
        words.extend(nics);
    }
    words.extend([
        "--vsock".to_owned(),
        format!("cid={CID},socket={}", vsock.display()),
    ]);
    words.into_iter().map(OsString::from).collect()
}

/// Kernel, initramfs and command line.
pub fn kernel(image: &Path, initramfs: &Initramfs, words: String) -> Vec<OsString> {
    let initramfs = format!("/proc/self/fd/{}", initramfs.file.as_raw_fd());
    [
        "--kernel".into(),
        image.into(),
        "--initramfs".into(),
        initramfs.into(),
        "--cmdline".into(),
        words.into(),
    ]
    .to_vec()
}

fn nic(ask: &VmConfig, number: usize, mac: Mac, way: &str) -> String {
    let ring = ask.ring.map(|ring| format!(",queue_size={ring}"));
    format!(
        "id={NIC}{number},mac={mac},num_queues={},{way}{}",
        2 * ask.queues,
        ring.unwrap_or_default()
    )
}

fn fds(queues: &[OwnedFd]) -> String {
    let fds: Vec<String> = queues.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
    format!("fd=[{}]", fds.join(","))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use nicety_model::PathSpec;

    use super::*;

    #[test]
    fn a_program_says_what_it_is() {
        assert_eq!(version("cloud-hypervisor v53.0\n"), Some("53.0"));
        assert_eq!(version("cloud-hypervisor v53.0-dirty"), Some("53.0-dirty"));
        assert_eq!(version("cloud-hypervisor"), None);
        assert_eq!(version("Firecracker v1.9.0"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn what_is_not_there_or_another_program_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let why = |path: &Path| CloudHypervisor::find(Some(path)).unwrap_err().to_string();
        let file = dir.path().join("vmm");
        let missing = why(&file);
        assert!(missing.contains("No such file"), "{missing}");
        fs::write(&file, "#!/bin/sh\necho another v1\n").unwrap();
        let closed = why(&file);
        assert!(closed.contains("Permission denied"), "{closed}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(why(&file).ends_with("vmm is no cloud-hypervisor"));
        fs::write(&file, "#!/bin/sh\necho cloud-hypervisor v53.0\n").unwrap();
        let found = CloudHypervisor::find(Some(&file)).unwrap();
        assert_eq!(found.described(), "cloud-hypervisor 53.0");
    }

    #[test]
    fn nics_are_as_asked() {
        let words = [
            ("kind", "vm"),
            ("vmm", PROGRAM),
            ("queues", "2"),
            ("vcpus", "2"),
            ("ring", "512"),
        ];
        let words = words.map(|(k, v)| (k.to_owned(), v.to_owned()));
        let path = PathSpec::try_from(&words.into_iter().collect()).unwrap();
        let ask = path.vm().unwrap().config();
        let mac = |last| Mac([2, 0, 0, 0, 0, last]);
        let backends = ["/run/a", "/run/b"].map(|path| Backend::VhostUser(path.into()));
        let words = arguments(&ask, &backends, [mac(1), mac(2)], Path::new("/run/v"));
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            words,
            [
                "--cpus",
                "boot=2",
                "--memory",
                "size=512M,shared=on",
                "--net",
                "id=nic0,mac=02:00:00:00:00:01,num_queues=4,vhost_user=on,vhost_mode=server,socket=/run/a,queue_size=512",
                "id=nic1,mac=02:00:00:00:00:02,num_queues=4,vhost_user=on,vhost_mode=server,socket=/run/b,queue_size=512",
                "--vsock",
                "cid=3,socket=/run/v",
            ]
        );
        assert!(carries("nic0_qp0") && !carries("nic0_ctrl") && !carries("vcpu0"));
    }
}
