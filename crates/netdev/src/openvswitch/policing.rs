//! Limits of what guests send into vhost-user ports. These have no interface in the kernel: frames go
//! from the guest's memory into the switch daemon, and only it can limit them.

use std::io;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use nicety_model::BitRate;

use crate::net_error::NetError;
use crate::program;

/// Types of interface that the daemon polices where the guest's frames come in
/// (lib/netdev-dpdk.c, `netdev_dpdk_vhost_rxq_recv`). What it does at other types is another
/// direction or tc's, see tc-police(8).
const TYPES: [&str; 2] = ["dpdkvhostuser", "dpdkvhostuserclient"];
/// Where the database listens unless `OVS_RUNDIR` says otherwise (ovs-vsctl(8)).
const RUN_DIR: &str = "/var/run/openvswitch";
/// ovs-vsctl(8) waits so long for database and daemon, in seconds.
const PATIENCE: &str = "--timeout=10";
const PROGRAM: &str = "ovs-vsctl";

/// The Open vSwitch of this machine.
#[derive(Debug, Clone)]
pub struct Policing {
    dir: PathBuf,
}

impl Policing {
    /// The one that ovs-vsctl(8) talks to.
    pub fn here() -> Self {
        let dir = std::env::var_os("OVS_RUNDIR").filter(|dir| !dir.is_empty());
        Self {
            dir: dir.map_or_else(|| RUN_DIR.into(), PathBuf::from),
        }
    }

    /// What limits a port, 0 for nothing; none when there is no Open vSwitch or it has no vhost-user
    /// port of that name.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn read(&self, port: &str) -> Result<Option<BitRate>, NetError> {
        let no_name = crate::link::check_name(port).is_err() || port.starts_with('-');
        if no_name || !self.dir.join("db.sock").exists() {
            return Ok(None);
        }
        let columns = ["get", "Interface", port, "type", "ingress_policing_rate"];
        let text = self.vsctl(
            "read limit of",
            port,
            &[&["--if-exists"][..], &columns].concat(),
        )?;
        Ok(rate(&text))
    }

    /// What limits a port of which the kernel said `error`: only one that is nothing the kernel can
    /// limit may be Open vSwitch's alone.
    ///
    /// # Errors
    /// As those of [`Self::read`].
    pub fn instead(&self, port: &str, error: &NetError) -> Result<Option<BitRate>, NetError> {
        if error.is_not_found() || error.is_unsupported() {
            self.read(port)
        } else {
            Ok(None)
        }
    }

    /// Limits a port; 0 takes the limit away. Returns when the daemon has taken it. The burst stays what
    /// it was: 8 Mbit unless somebody has set it.
    ///
    /// # Errors
    /// When database or daemon do not answer, and what the daemon says against the port.
    pub fn set(&self, port: &str, rate: BitRate) -> Result<(), NetError> {
        crate::link::check_name(port)?;
        let column = format!("ingress_policing_rate={}", rate.0 / 1000);
        self.vsctl("limit", port, &["set", "Interface", port, &column])?;
        let error = self.vsctl("limit", port, &["get", "Interface", port, "error"])?;
        match error.trim() {
            "" | "[]" => Ok(()),
            error => Err(failed("limit", port, error)),
        }
    }

    fn vsctl(
        &self,
        operation: &'static str,
        port: &str,
        words: &[&str],
    ) -> Result<String, NetError> {
        let run = program::command(PROGRAM).map_err(io::Error::from);
        let run = run.and_then(|mut command| {
            command
                .env("OVS_RUNDIR", &self.dir)
                .arg(PATIENCE)
                .args(words)
                .stdin(Stdio::null())
                .output()
        });
        let output =
            run.map_err(|e| NetError::new(operation, format!("{port} by {PROGRAM}"), e))?;
        said(&output).map_err(|why| failed(operation, port, &why))
    }
}

fn failed(operation: &'static str, port: &str, why: &str) -> NetError {
    let error = io::Error::other(format!("Open vSwitch says {why}"));
    NetError::new(operation, port, error)
}

/// What it printed; or the last line of what it complains of.
fn said(output: &Output) -> Result<String, String> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    let last = last.unwrap_or("nothing").to_owned();
    Err(last)
}

/// Type and rate in kbit/s, a line each; none for other types, and where there is no such row.
fn rate(text: &str) -> Option<BitRate> {
    let mut lines = text.lines().map(|line| line.trim().trim_matches('"'));
    lines.next().filter(|kind| TYPES.contains(kind))?;
    let kbit: u64 = lines.next()?.parse().ok()?;
    Some(BitRate(kbit.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ports_that_the_daemon_polices_have_limits() {
        assert_eq!(rate("dpdkvhostuserclient\n0\n"), Some(BitRate(0)));
        let limited = rate("dpdkvhostuser\n200000\n");
        assert_eq!(limited, Some(BitRate::from_mbit(200)));
        for other in [
            "",
            "\"\"\n0\n",
            "internal\n5\n",
            "dpdk\n5\n",
            "dpdkvhostuser\n",
        ] {
            assert_eq!(rate(other), None, "{other}");
        }
    }

    #[test]
    fn without_a_database_there_are_no_ports() {
        let none = Policing {
            dir: "/nonexistent".into(),
        };
        assert!(none.read("vu0").unwrap().is_none());
    }
}
