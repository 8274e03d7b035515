//! One member.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nicety_host::child;
use nicety_netdev::netns::NetNs;
use rustix::process::{Pid, Signal, kill_process};

use super::{Failure, Options, Pki, address, which};

/// URL for clients.
pub(super) fn client(number: usize, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{}:2379", address(number as u8))
}

/// As a member of `--initial-cluster`.
pub(super) fn peer(number: usize) -> String {
    format!("m{number}=http://{}:2380", address(number as u8))
}

#[derive(Debug)]
pub(super) struct Member {
    ns: NetNs,
    number: usize,
    data: PathBuf,
    log: PathBuf,
    child: Option<Child>,
}

impl Member {
    pub(super) fn new(ns: NetNs, number: usize, dir: &Path) -> Result<Self, Failure> {
        Ok(Self {
            ns,
            number,
            data: dir.join(format!("m{number}")),
            log: dir.join(format!("m{number}.log")),
            child: None,
        })
    }

    pub(super) fn start(
        &mut self,
        options: &Options,
        pki: &Pki,
        cluster: &str,
    ) -> Result<(), Failure> {
        let host = address(self.number as u8);
        let client = client(self.number, options.tls);
        let peer = format!("http://{host}:2380");
        let health = format!("http://{host}:2381");
        let name = format!("m{}", self.number);
        // The namespace as a file of this process; the child enters it before it is etcd.
        let ns = format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.ns.as_fd().as_raw_fd()
        );
        let mut command = Command::new(which("nsenter").unwrap_or_else(|| "nsenter".into()));
        command
            .arg(format!("--net={ns}"))
            .args(["setpriv", "--pdeathsig", "KILL", "etcd"]);
        command.args([
            "--name",
            &name,
            "--initial-cluster-state",
            "new",
            "--initial-cluster",
            cluster,
        ]);
        command.args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ]);
        command.args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ]);
        command.args([
            "--listen-metrics-urls",
            &health,
            "--logger",
            "zap",
            "--log-outputs",
            "stderr",
        ]);
        // Leases of one second and more: etcd grants none shorter than one and a half elections.
        command.args(["--heartbeat-interval", "100", "--election-timeout", "600"]);
        command.arg("--data-dir").arg(&self.data);
        if options.tls {
            let (cert, key) = pki.server();
            command
                .arg("--cert-file")
                .arg(cert)
                .arg("--key-file")
                .arg(key);
            command
                .arg("--client-cert-auth")
                .arg("--trusted-ca-file")
                .arg(pki.ca());
        }
        // Logins of tests are many, and a costly hash of passwords protects nobody there.
        command.args(["--bcrypt-cost", "4"]).args(options.more);
        if let Some(bytes) = options.quota_bytes {
            command.args(["--quota-backend-bytes", &bytes.to_string()]);
        }
        let log = File::options().create(true).append(true).open(&self.log)?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        self.child = Some(child::spawn(command)?);
        Ok(())
    }

    pub(super) fn runs(&mut self) -> bool {
        let child = self.child.as_mut();
        child.is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Whether it has a leader and answers, as its page `/health` says.
    pub(super) fn is_healthy(&self, hub: &NetNs) -> bool {
        let page = self.page(hub, "/health");
        page.is_ok_and(|page| page.contains("\"health\":\"true\""))
    }

    /// A page of its own numbers, with the header of HTTP.
    pub(super) fn page(&self, hub: &NetNs, path: &str) -> Result<String, Failure> {
        let at = SocketAddr::new(address(self.number as u8), 2381);
        let ask = || -> std::io::Result<String> {
            let limit = Duration::from_secs(2);
            let mut stream = TcpStream::connect_timeout(&at, limit)?;
            stream.set_read_timeout(Some(limit))?;
            stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        Ok(hub.run(ask)??)
    }

    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub(super) fn freeze(&self, frozen: bool) {
        let signal = if frozen { Signal::STOP } else { Signal::CONT };
        if let Some(child) = &self.child {
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    pub(super) fn wipe(&self) -> std::io::Result<()> {
        std::fs::remove_dir_all(&self.data)
    }

    /// The end of what it has logged.
    pub(super) fn log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}
