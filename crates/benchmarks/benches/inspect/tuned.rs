//! tuned with a profile of the settings that nicety verifies, beside this host: it has a bus and
//! folders of its own, and can change nothing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::program::command;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/tuned-alone.sh");

/// A running tuned; ends with the value.
pub struct Tuned {
    child: Child,
    bus: String,
}

impl Tuned {
    /// Starts it; `None`, and said in the figures, where it cannot run or cannot verify.
    pub fn start(dir: &Path, figures: &mut Figures) -> Result<Option<Self>> {
        let profile = dir.join("tuned.conf");
        let lines: Vec<String> = super::settings()
            .map(|(name, value)| format!("{name} = {value}\n"))
            .collect();
        std::fs::write(&profile, format!("[sysctl]\n{}", lines.concat()))?;
        let mut child = Command::new(SCRIPT)
            .arg("look")
            .arg(&profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("scripts/tuned-alone.sh cannot be started")?;
        let mut bus = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut bus)?;
        }
        let bus = bus.trim().to_owned();
        if bus.is_empty() {
            let output = child.wait_with_output()?;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            figures.skip(
                "tuned-adm verify",
                said.lines().last().unwrap_or("tuned does not run here"),
            );
            return Ok(None);
        }
        let tuned = Self { child, bus };
        // Once unmeasured: it has all values as the profile says.
        match tuned.verify() {
            Ok(_) => Ok(Some(tuned)),
            Err(error) => {
                figures.skip("tuned-adm verify", error);
                Ok(None)
            }
        }
    }

    /// Lets it verify its profile; milliseconds.
    pub fn verify(&self) -> Result<f64> {
        let begin = std::time::Instant::now();
        let output = command("tuned-adm")
            .arg("verify")
            .env("DBUS_SYSTEM_BUS_ADDRESS", &self.bus)
            .output()
            .context("tuned-adm cannot be started")?;
        let took = begin.elapsed().as_secs_f64() * 1e3;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        // Up to 2.20 it writes "Verfication".
        let done = ["Verification succeeded", "Verfication succeeded"];
        if output.status.success() && done.iter().any(|words| said.contains(words)) {
            return Ok(took);
        }
        let line = said.lines().next().unwrap_or_default();
        bail!("tuned-adm verify ends with {}: {line}", output.status)
    }
}

impl Drop for Tuned {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
