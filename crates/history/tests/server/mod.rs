//! A PostgreSQL server of the test's own: an ordinary user's, with its own data and socket, gone
//! with the test however it ends. The system's instance is never touched.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

/// The user `nobody`, for a test that is root: the server refuses to be.
const NOBODY: u32 = 65534;

/// A running server, or one that was stopped.
pub struct Server {
    dir: TempDir,
    programs: PathBuf,
    child: Option<Child>,
    /// Settings of its own, each `NAME=VALUE`.
    settings: Vec<String>,
}

/// Where Debian keeps the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let dirs = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    dirs.filter(|dir| dir.join("initdb").exists()).max()
}

impl Server {
    /// Starts one; says what is skipped where that cannot be.
    pub fn start(test: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            println!(
                "SKIP {test}: no PostgreSQL server here; on Debian: apt-get install postgresql"
            );
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // The server refuses to be root's.
        if is_root(dir.path())
            && let Err(error) = chown(dir.path(), Some(NOBODY), Some(NOBODY))
        {
            println!("SKIP {test}: root may give no directory to another user here: {error}");
            return None;
        }
        let mut server = Self {
            dir,
            programs,
            child: None,
            settings: Vec::new(),
        };
        let words = "-U tester --auth=trust --locale=C --encoding=UTF8 --no-sync";
        server.tool("initdb", words.split(' '));
        server.again();
        Some(server)
    }

    /// Starts it again, with these settings.
    #[allow(dead_code, reason = "used by the tests of TLS")]
    pub fn again_with<S: Into<String>>(&mut self, settings: impl IntoIterator<Item = S>) {
        self.crash();
        self.settings = settings.into_iter().map(Into::into).collect();
        self.again();
    }

    /// A program of PostgreSQL.
    #[allow(dead_code, reason = "used by the tests of TLS")]
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Where it has its files; what a test puts there goes with it.
    #[allow(dead_code, reason = "used by the tests of TLS")]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A file of its own, that nobody else reads.
    #[allow(dead_code, reason = "used by the tests of TLS")]
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if is_root(&path) {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        path
    }

    /// Starts it again.
    pub fn again(&mut self) {
        assert!(self.child.is_none(), "it runs");
        let log = fs::File::create(self.dir.path().join("log")).unwrap();
        let child = self
            .command("postgres")
            .arg("-k")
            .arg(self.dir.path())
            // Nothing here has to outlive the machine.
            .args(["-F", "-c", "listen_addresses=", "-c", "max_connections=20"])
            // In its own directory, which is removed however it ends, and not in /dev/shm.
            .args(["-c", "dynamic_shared_memory_type=mmap"])
            .args(self.settings.iter().flat_map(|setting| ["-c", setting]))
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        // The file's last line is the server's state (miscinit.c, AddToDataDirLockFile).
        while !fs::read_to_string(self.data().join("postmaster.pid")).is_ok_and(|text| {
            text.lines()
                .nth(7)
                .is_some_and(|line| line.trim() == "ready")
        }) {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    /// Stops it as a crash would: nothing is finished, every connection breaks.
    pub fn crash(&mut self) {
        self.tool("pg_ctl", ["stop", "-m", "immediate"]);
        self.child.take().unwrap().wait().unwrap();
    }

    /// URL of one of its databases.
    pub fn url(&self, database: &str) -> String {
        let dir = self.dir.path().display();
        format!("postgres://tester@/{database}?host={dir}{}", self.port())
    }

    /// The port as a URL has it, where it is not the usual one.
    fn port(&self) -> String {
        let port = |setting: &String| Some(format!("&port={}", setting.strip_prefix("port=")?));
        self.settings.iter().find_map(port).unwrap_or_default()
    }

    /// Makes a database.
    pub fn database(&self, name: &str) {
        let made = Command::new(self.programs.join("createdb"))
            .args(["-U", "tester", "-h"])
            .arg(self.dir.path())
            .arg(name)
            .status();
        assert!(made.unwrap().success());
    }

    #[allow(dead_code, reason = "used by the tests of the command line")]
    /// What psql prints of a query, without headers, each row a line and its columns split by tabs.
    pub fn sql(&self, database: &str, text: &str) -> String {
        let psql = Command::new(self.programs.join("psql"))
            .args(["-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", text])
            .arg(self.url(database))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&psql.stderr);
        assert!(psql.status.success(), "{text}: {said}");
        String::from_utf8(psql.stdout).unwrap()
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// One of its programs, as an ordinary user, killed when the test's thread ends.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if is_root(Path::new("/proc/self")) {
            let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
            command.args(ids).arg("--clear-groups");
        }
        command
            .arg(self.programs.join(program))
            .arg("-D")
            .arg(self.data())
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn tool<'a>(&self, program: &str, words: impl IntoIterator<Item = &'a str>) {
        let ended = self.command(program).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{program}: {said}{}", self.log());
    }
}

/// Whether what this process makes belongs to root.
fn is_root(made: &Path) -> bool {
    fs::metadata(made).unwrap().uid() == 0
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The server's processes end when the first of them is gone.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
