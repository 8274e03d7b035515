//! Starts the binary, with a limit on its time, as whoever the test needs.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nicety_host::child;
use nicety_netdev::privilege::{Privilege, privilege};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The binary under test.
pub const NICETY: &str = env!("CARGO_BIN_EXE_nicety");

/// Limit of a call that measures nothing: it hangs, however busy the machine is.
pub const SHORT: Duration = Duration::from_secs(60);

/// Limit of a call that measures one cell, likewise.
pub const LONG: Duration = Duration::from_secs(240);

pub const NOBODY: [&str; 4] = [
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
];

/// Name of the test that this process runs.
pub fn me() -> String {
    let told = std::env::var("NEXTEST_TEST_NAME").ok();
    told.unwrap_or_else(|| std::thread::current().name().unwrap_or("a test").to_owned())
}

/// Says that the test, or what `why` begins with, cannot be done here.
pub fn skip(why: impl Display) {
    println!("SKIP {}: {why}", me());
}

/// Whether root may become `nobody`; says `SKIP` where not, as in a container without that capability.
pub fn becomes_nobody() -> bool {
    works(&["env"], &[&NOBODY[..], &["true"]].concat())
}

/// Whether an ordinary user gets a network namespace here; says `SKIP` where not, as in a chroot.
pub fn ordinary_namespaces() -> bool {
    let words: &[&str] = if root() { &NOBODY } else { &["env"] };
    works(words, &["unshare", "-Urn", "true"])
}

/// Whether whoever runs this gets network namespaces here; says `SKIP` where not, as in most containers.
pub fn in_namespaces() -> bool {
    let why = no_namespaces();
    if let Some(why) = &why {
        skip(why);
    }
    why.is_none()
}

fn no_namespaces() -> Option<String> {
    let by_root = unshared(&["env"], &["unshare", "-n", "true"]);
    by_root.and_then(|_| unshared(&["env"], &["unshare", "-Urn", "true"]))
}

/// Whether root gets mounts of its own here; says `SKIP` where not, as in a chroot whose root is no mount.
pub fn own_mounts() -> bool {
    works(&["env"], &["unshare", "-m", "true"])
}

fn works(before: &[&str], words: &[&str]) -> bool {
    let why = unshared(before, words);
    if let Some(why) = &why {
        skip(why);
    }
    why.is_none()
}

/// Why the command fails; none when it works.
fn unshared(before: &[&str], words: &[&str]) -> Option<String> {
    let output = Command::new(before[0])
        .args(&before[1..])
        .args(words)
        .output();
    let why = match output {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Some(format!("{}: {why}", words.join(" ")))
}

/// Whether a program is on the path.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// The same; says `SKIP` and the package of Debian where not.
pub fn installed(program: &str, package: &str) -> bool {
    let is = has(program);
    if !is {
        skip(format_args!(
            "no {program} here; on Debian: apt-get install {package}"
        ));
    }
    is
}

/// Words of a command, none of which has a blank; `''` is an empty one.
pub fn words(line: &str) -> Vec<&str> {
    let all = line.split_whitespace();
    all.map(|word| if word == "''" { "" } else { word })
        .collect()
}

/// Two lines for each call that is refused: its words, and what is said.
pub fn refusals(text: &str) -> Vec<(&str, &str)> {
    let lines = Vec::from_iter(text.trim().lines().map(str::trim));
    lines.chunks(2).map(|two| (two[0], two[1])).collect()
}

/// Another program beside the one under test; killed when dropped.
#[derive(Debug)]
pub struct Ends(pub Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // Fails only when it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a script that goes on when it has said that it is ready.
#[track_caller]
pub fn ready(mut script: Command) -> Ends {
    script.stdout(Stdio::piped());
    let mut program = Ends(child::spawn(script).unwrap());
    let mut said = String::new();
    let stdout = program.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n", "the setup failed");
    program
}

/// A call of a program.
#[derive(Debug)]
pub struct Call {
    /// Words before the program: `setpriv …`, `nsenter …`.
    before: Vec<OsString>,
    program: OsString,
    arguments: Vec<OsString>,
    dir: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    bare: bool,
    limit: Duration,
    /// The program, where it is a copy.
    copy: Option<Arc<TempDir>>,
}

/// How a call ended.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A call under way; killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    outputs: TempDir,
    what: String,
    end: Instant,
    _copy: Option<Arc<TempDir>>,
}

/// `nicety` with these arguments.
pub fn nicety<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Call {
    call(Path::new(NICETY), arguments)
}

/// Whether the program under test is built as `make static` builds it; says `SKIP` where not, as after `cargo test`.
pub fn is_static() -> bool {
    let is = cfg!(target_env = "musl");
    if !is {
        skip("the program under test is not static; make test builds it for musl");
    }
    is
}

/// Another program with these arguments.
pub fn call<A: AsRef<OsStr>>(program: &Path, arguments: impl IntoIterator<Item = A>) -> Call {
    Call {
        before: Vec::new(),
        program: program.into(),
        arguments: arguments.into_iter().map(|a| a.as_ref().into()).collect(),
        dir: None,
        environment: Vec::new(),
        bare: false,
        limit: SHORT,
        copy: None,
    }
}

impl Call {
    /// Runs it below another command.
    pub fn below<A: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        let words: Vec<OsString> = words.into_iter().map(|a| a.as_ref().into()).collect();
        self.before.splice(0..0, words);
        self
    }

    /// Runs it below another command, itself below those that are there.
    #[allow(dead_code, reason = "used by the tests of accidents")]
    pub fn just_below<A: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        let words = words.into_iter().map(|a| a.as_ref().into());
        self.before.extend(words);
        self
    }

    pub fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// As the user `nobody` without HOME or any other variable; as root only.
    pub fn by_nobody(self) -> Self {
        self.by_user(65534)
    }

    /// As an ordinary user without HOME or any other variable; as root only.
    pub fn by_user(mut self, uid: u32) -> Self {
        let copy = readable();
        self.program = copy.path().join("nicety").into();
        self.copy = Some(copy);
        self.bare = true;
        let (user, group) = (format!("--reuid={uid}"), format!("--regid={uid}"));
        // Who changes users loses the signal at the end of the test.
        self.below([
            "setpriv",
            "--pdeathsig",
            "KILL",
            &user,
            &group,
            "--clear-groups",
        ])
    }

    fn command(&self) -> Command {
        let mut words = self
            .before
            .iter()
            .chain([&self.program])
            .chain(&self.arguments);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).stdin(Stdio::null());
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        if self.bare {
            command
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        }
        command.envs(self.environment.iter().cloned());
        command
    }

    /// Starts it.
    pub fn start(self) -> Running {
        self.start_with(|_| ())
    }

    /// Starts it, the streams as `change` wants them.
    pub fn start_with(self, change: impl FnOnce(&mut Command)) -> Running {
        let outputs = tempfile::tempdir().unwrap();
        let mut command = self.command();
        // Files, because nobody reads a pipe while the test waits.
        for (name, set) in [
            (
                "stdout",
                Command::stdout as fn(&mut Command, File) -> &mut Command,
            ),
            ("stderr", Command::stderr),
        ] {
            set(
                &mut command,
                File::create(outputs.path().join(name)).unwrap(),
            );
        }
        change(&mut command);
        let what = format!("{command:?}");
        let child = child::spawn(command).unwrap_or_else(|error| panic!("{what}: {error}"));
        Running {
            child,
            outputs,
            what,
            end: Instant::now() + self.limit,
            _copy: self.copy,
        }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().wait()
    }
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The signal, unless the program has ended.
    #[allow(dead_code, reason = "used where a program may have ended")]
    pub fn signal_if_there(&self, signal: Signal) {
        // A zombie until it is waited for: the number is still its own.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Waits for the end; who still runs after `patience`, or when `settled` says so, gets the signal first.
    #[allow(dead_code, reason = "used where a program may go on")]
    pub fn end_when(
        mut self,
        settled: impl Fn() -> bool,
        patience: Duration,
        signal: Signal,
    ) -> Ended {
        let end = Instant::now() + patience;
        while Instant::now() < end && !settled() && self.child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(5));
        }
        self.signal_if_there(signal);
        self.wait()
    }

    /// Process id.
    #[allow(dead_code, reason = "used by the tests of the lab")]
    pub fn id(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    pub fn stdout(&self) -> String {
        self.read("stdout")
    }

    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.outputs.path().join(name)).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Waits until `seen` says so; panics when the program ends or its limit passes before.
    pub fn until(&mut self, what: &str, mut seen: impl FnMut(&Self) -> bool) {
        while !seen(self) {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!(
                    "{}: ended with {status} before {what}: {}",
                    self.what,
                    self.stderr()
                );
            }
            assert!(
                Instant::now() < self.end,
                "{}: no {what}: {}",
                self.what,
                self.stderr()
            );
            sleep(Duration::from_millis(10));
        }
    }

    /// Killed, and waited for.
    pub fn kill(self) -> Ended {
        self.signal(Signal::KILL);
        self.wait()
    }

    /// Told to end, which it does well.
    #[allow(dead_code, reason = "used by the tests of the daemon")]
    #[track_caller]
    pub fn stop(self) -> Ended {
        self.signal(Signal::TERM);
        let ended = self.wait();
        ended.assert_code(0);
        ended
    }

    /// Standard error has this by now.
    #[allow(dead_code, reason = "used by the tests of the daemon")]
    #[track_caller]
    pub fn assert_err(&self, part: &str) {
        let said = self.stderr();
        assert!(said.contains(part), "no {part:?} in: {said}");
    }

    /// Waits until standard error has this.
    pub fn until_err(&mut self, part: &str) {
        self.until(part, |running| running.stderr().contains(part));
    }

    /// Waits for the end.
    pub fn wait(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < self.end,
                "{}: still running at its limit; stderr: {}",
                self.what,
                self.stderr()
            );
            sleep(Duration::from_millis(10));
        };
        Ended {
            status,
            stdout: self.stdout(),
            stderr: self.stderr(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails only when it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The exit code; a signal or a panic (101) fails the test.
    #[track_caller]
    pub fn code(&self) -> i32 {
        let code = self.status.code();
        assert!(
            self.status.signal().is_none() && code != Some(101),
            "{self:?}"
        );
        code.unwrap()
    }

    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(
            self.code(),
            code,
            "stdout: {}\nstderr: {}",
            self.stdout,
            self.stderr
        );
        self
    }

    /// Standard output has this.
    #[track_caller]
    pub fn assert_out(&self, part: &str) -> &Self {
        assert!(self.stdout.contains(part), "no {part:?} in: {self:?}");
        self
    }

    /// Standard error has this.
    #[track_caller]
    pub fn assert_err(&self, part: &str) -> &Self {
        assert!(self.stderr.contains(part), "no {part:?} in: {self:?}");
        self
    }

    /// What it printed as JSON, and a good end.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.assert_code(0).stdout).unwrap()
    }

    /// Wrong use, and this line about it.
    #[track_caller]
    pub fn refused(&self, line: &str) {
        assert_eq!(self.assert_code(2).only_line(), line);
    }

    /// Wrong use, and one line about it that has this.
    #[track_caller]
    pub fn refused_for(&self, part: &str) {
        let line = self.assert_code(2).only_line();
        assert!(line.contains(part), "no {part:?} in: {line}");
    }

    /// It cannot be done here, and one line about it that has this.
    #[track_caller]
    pub fn cannot(&self, part: &str) {
        let line = self.assert_code(3).only_line();
        assert!(line.contains(part), "no {part:?} in: {line}");
    }

    /// Nothing on standard output, one line on standard error; returns it without the
    /// program's name.
    #[track_caller]
    pub fn only_line(&self) -> &str {
        assert_eq!(self.stdout, "");
        let line = self.stderr.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "more than one line: {line}");
        line.strip_prefix("nicety: ").unwrap()
    }
}

/// Whether the test is root in the initial user namespace.
pub fn root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    rustix::process::geteuid().is_root() && map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// The same; says `SKIP` and why it must be where not.
pub fn as_root(why: &str) -> bool {
    let is = root();
    if !is {
        skip(why);
    }
    is
}

/// Whether this is root as below, who gets network namespaces here; says `SKIP` where not.
pub fn privileged_namespaces() -> bool {
    let is = privileged();
    if !is {
        skip("needs root");
    }
    is && in_namespaces()
}

/// Whether this is root with all that nicety asks of root: in a container root has less, unless it is given more.
pub fn privileged() -> bool {
    root() && privilege().is_ok_and(|may| may == Privilege::Privileged)
}

/// A copy of the binary that every user may run, wherever the target directory lies. It goes with the last call that
/// uses it: what a static holds is never dropped.
fn readable() -> Arc<TempDir> {
    static COPY: Mutex<Weak<TempDir>> = Mutex::new(Weak::new());
    let mut copy = COPY.lock().unwrap_or_else(PoisonError::into_inner);
    copy.upgrade().unwrap_or_else(|| {
        let dir = open_dir();
        fs::copy(NICETY, dir.path().join("nicety")).unwrap();
        let dir = Arc::new(dir);
        *copy = Arc::downgrade(&dir);
        dir
    })
}

/// A temporary directory everybody may enter.
pub fn open_dir() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap()
}

/// What `of` makes of each value in a list.
pub fn each<'v, T>(list: &'v Value, of: impl FnMut(&'v Value) -> T) -> Vec<T> {
    list.as_array().unwrap().iter().map(of).collect()
}

/// Values of a JSON-lines file; a line that is being written is left out.
pub fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let whole = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    whole
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
