//! `apt-get` with sources, lists and state of its own.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::listing::{self, Package};
use crate::error::QemuError;

/// Signs Debian 13 and its backports, Debian 12's keyring too; of the package
/// debian-archive-keyring.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Has Linux 6.12.
pub const STABLE: &str = "trixie";
/// Has QEMU 11 for it, see [`Purpose::Lab`](crate::emulator::Purpose::Lab).
pub const BACKPORTS: &str = "trixie-backports";
const SUITES: [&str; 2] = [STABLE, BACKPORTS];
const NETWORK: &str = "check the network, or name another archive in NICETY_MIRROR";

/// A private apt below one directory.
#[derive(Debug)]
pub struct Apt {
    dir: PathBuf,
}

impl Apt {
    /// Writes its configuration.
    ///
    /// # Errors
    /// When apt or Debian's key is not installed, or the directory cannot be written.
    pub fn new(dir: PathBuf, mirror: &str) -> Result<Self, QemuError> {
        for program in ["apt-get", "apt-config", "dpkg-deb"] {
            installed(program)?;
        }
        if !Path::new(KEYRING).exists() {
            return Err(QemuError::NoKeyring {
                path: KEYRING.into(),
            });
        }
        for part in ["lists/partial", "archives/partial", "packages"] {
            let part = dir.join(part);
            fs::create_dir_all(&part).map_err(|e| QemuError::io("make directory", &part, e))?;
        }
        let sources: String = SUITES
            .iter()
            .map(|suite| format!("deb [arch=amd64 signed-by={KEYRING}] {mirror} {suite} main\n"))
            .collect();
        // An empty status means that nothing counts as installed: all dependencies are listed.
        for (name, text) in [
            ("sources.list", sources),
            ("status", String::new()),
            ("apt.conf", configuration(&dir, &host_transport())),
        ] {
            let path = dir.join(name);
            fs::write(&path, text).map_err(|e| QemuError::io("write", &path, e))?;
        }
        Ok(Self { dir })
    }

    /// Fetches the lists.
    ///
    /// # Errors
    /// When the mirror cannot be reached or its signature is wrong.
    pub fn update(&self, progress: &mut dyn FnMut(f64)) -> Result<(), QemuError> {
        self.run(&["update", "--error-on=any"], progress).map(drop)
    }

    /// Packages of a suite and everything they depend on.
    ///
    /// # Errors
    /// When there is no such package.
    pub fn closure(&self, suite: &str, names: &[&str]) -> Result<Vec<Package>, QemuError> {
        let mut words = vec!["-qq", "-y", "--print-uris", "-t", suite, "install"];
        words.extend(names);
        let text = self.run(&words, &mut |_| ())?;
        listing::parse(&text).ok_or_else(|| {
            let strange = text.lines().find(|line| !line.starts_with('\''));
            QemuError::answer("the listing of apt-get", strange.unwrap_or_default())
        })
    }

    /// Fetches packages and checks them; returns the directory they are in.
    ///
    /// # Errors
    /// When the network or the disk fails, or a package is not what the list says.
    pub fn download(
        &self,
        packages: &[&Package],
        progress: &mut dyn FnMut(f64),
    ) -> Result<PathBuf, QemuError> {
        let named: Vec<String> = packages
            .iter()
            .map(|package| format!("{}={}", package.name, package.version))
            .collect();
        let mut words = vec!["-q", "download"];
        words.extend(named.iter().map(String::as_str));
        self.run(&words, progress)?;
        Ok(self.dir.join("packages"))
    }

    /// Runs apt-get; returns what it prints, without the status lines.
    fn run(&self, words: &[&str], progress: &mut dyn FnMut(f64)) -> Result<String, QemuError> {
        let io = |e| QemuError::io("run", "apt-get", e);
        let mut child = Command::new("apt-get")
            .args(["-o", "APT::Status-Fd=1"])
            .args(words)
            .env("APT_CONFIG", self.dir.join("apt.conf"))
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.dir.join("packages"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(io)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        // Read beside, so that neither pipe can fill up while the other is read.
        let complaints = std::thread::spawn(move || {
            let mut text = String::new();
            if let Some(mut stderr) = stderr {
                let _ = stderr.read_to_string(&mut text);
            }
            text
        });
        let mut text = String::new();
        let lines = stdout
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines());
        for line in lines.map_while(Result::ok) {
            match listing::downloaded(&line) {
                Some(ratio) => progress(ratio),
                None => {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
        }
        let status = child.wait().map_err(io)?;
        let complaints = complaints.join().unwrap_or_default();
        if status.success() {
            return Ok(text);
        }
        let line = listing::complaint(&complaints).or_else(|| listing::complaint(&text));
        let step = words
            .iter()
            .find(|word| !word.starts_with('-') && !SUITES.contains(word));
        Err(QemuError::Fetch {
            step: format!("apt-get {}", step.unwrap_or(&"")),
            line: line.map_or_else(|| status.to_string(), str::to_owned),
            fix: NETWORK,
        })
    }
}

/// Whether a program is in the search path.
fn installed(program: &'static str) -> Result<(), QemuError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|dir| dir.join(program).is_file()) {
        return Ok(());
    }
    Err(QemuError::NoProgram { program })
}

/// Proxies and the like that the host's apt uses; nothing else of its configuration, which may
/// hold hooks that change the host.
fn host_transport() -> String {
    let dumped = Command::new("apt-config")
        .args(["dump", "--no-empty", "--format", "%F \"%v\";%n"])
        .args(["Acquire::http", "Acquire::https", "Acquire::Retries"])
        .stdin(Stdio::null())
        .output();
    // Without it apt works with its defaults.
    dumped
        .map(|out| String::from_utf8_lossy(&out.stdout).into_owned())
        .unwrap_or_default()
}

fn configuration(dir: &Path, transport: &str) -> String {
    let quoted = |name: &str| dir.join(name).display().to_string();
    let own = [
        ("Dir::Etc::SourceList", quoted("sources.list")),
        ("Dir::Etc::SourceParts", "/dev/null".into()),
        ("Dir::Etc::Parts", "/dev/null".into()),
        ("Dir::Etc::Main", "/dev/null".into()),
        ("Dir::Etc::Preferences", "/dev/null".into()),
        ("Dir::Etc::PreferencesParts", "/dev/null".into()),
        ("Dir::State", quoted("")),
        ("Dir::State::Lists", quoted("lists")),
        ("Dir::State::Status", quoted("status")),
        ("Dir::Cache", quoted("")),
        ("Dir::Cache::Archives", quoted("archives")),
        ("Dir::Log", quoted("")),
        // The cache directory need not be open to apt's own user.
        ("APT::Sandbox::User", "root".into()),
        ("APT::Architecture", "amd64".into()),
        ("APT::Install-Recommends", "false".into()),
        ("Acquire::Languages", "none".into()),
        ("Acquire::Retries", "2".into()),
        ("Acquire::http::Timeout", "30".into()),
        ("Acquire::https::Timeout", "30".into()),
    ];
    let own: String = own
        .iter()
        .map(|(key, value)| format!("{key} \"{value}\";\n"))
        .collect();
    own + transport
}

/// Unpacks a package.
///
/// # Errors
/// When it is damaged or the disk is full.
pub fn unpack(package: &Path, into: &Path) -> Result<(), QemuError> {
    let words: [&OsStr; 3] = ["-x".as_ref(), package.as_ref(), into.as_ref()];
    let out = Command::new("dpkg-deb")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| QemuError::io("run", "dpkg-deb", e))?;
    if out.status.success() {
        return Ok(());
    }
    let step = format!("unpacking {}", package.display());
    Err(QemuError::failed(step, &out.stderr, "is the disk full?"))
}
