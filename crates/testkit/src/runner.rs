//! Runs tests that make kernel objects, one at a time in the program's main thread: as root, then
//! once more as an ordinary user in a user namespace; started as an ordinary user, only that.
#![allow(clippy::print_stdout)] // a test program talks to whoever runs it

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};

use nicety_host::child::tie;
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;
use nicety_netdev::privilege::{Privilege, enter_user_namespace, privilege};

/// Set by whoever runs the program both as root and as an ordinary user.
const ROOT_ONLY: &str = "NICETY_TEST_ROOT_ONLY";
/// `nobody` on every Linux.
const NOBODY: u32 = 65534;

/// Why a test could not be run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip(pub String);

/// A test. It fails by a panic.
pub struct Test {
    name: String,
    once: bool,
    run: Box<dyn Fn(Privilege) -> Result<(), Skip>>,
}

impl Test {
    /// A test with its name.
    pub fn new(
        name: impl Into<String>,
        run: impl Fn(Privilege) -> Result<(), Skip> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            once: false,
            run: Box::new(run),
        }
    }

    /// Takes long and does not depend on who runs it: an ordinary user skips it where root runs it too.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }
}

type Failure = Box<dyn std::error::Error>;

/// Runs `tests`, of which arguments select some by part of their name, with `--exact` by the
/// names that a run prints. Prints one line for each, `SKIP name: reason` for those that cannot
/// be run, and fails when interfaces or named namespaces are not as they were before.
pub fn run(suite: &str, tests: &[Test]) -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        tests
            .iter()
            .for_each(|test| println!("{}: test", test.name));
        return ExitCode::SUCCESS;
    }
    match run_all(suite, tests, &Selection::of(arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{suite}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Which tests a run is asked for; all without names.
struct Selection {
    names: Vec<String>,
    exact: bool,
}

impl Selection {
    fn of(arguments: Vec<String>) -> Self {
        let (options, names): (Vec<_>, Vec<_>) = arguments
            .into_iter()
            .partition(|argument| argument.starts_with('-'));
        let exact = options.iter().any(|option| option == "--exact");
        Self { names, exact }
    }

    /// Whether the test `name` is run by `who`.
    fn takes(&self, who: &str, name: &str) -> bool {
        let named = |wanted: &String| match self.exact {
            true => *wanted == format!("{who}::{name}"),
            false => name.contains(wanted),
        };
        self.names.is_empty() || self.names.iter().any(named)
    }
}

fn run_all(suite: &str, tests: &[Test], selection: &Selection) -> Result<bool, Failure> {
    let chosen = |who| {
        let takes = move |test: &&Test| selection.takes(who, &test.name);
        tests.iter().filter(takes)
    };
    if privilege()? == Privilege::Ordinary
        && let Err(error) = enter_user_namespace()
    {
        chosen("user").for_each(|test| println!("SKIP user::{}: {error}", test.name));
        return Ok(true);
    }
    let privilege = privilege()?;
    let who = match privilege {
        Privilege::Privileged => "root",
        _ => "user",
    };
    let before = surroundings()?;
    let both = std::env::var_os(ROOT_ONLY).is_some();
    let done = both && privilege != Privilege::Privileged;
    let (mut passed, mut skipped, mut failed) = (0, 0, 0);
    for test in chosen(who) {
        let name = &test.name;
        let run = || match test.once && done {
            true => Err(Skip("done as root, and it is the same for others".into())),
            false => (test.run)(privilege),
        };
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {
                println!("test {who}::{name} ... ok");
                passed += 1;
            }
            Ok(Err(Skip(reason))) => {
                println!("SKIP {who}::{name}: {reason}");
                skipped += 1;
            }
            Err(_) => {
                println!("test {who}::{name} ... FAILED");
                failed += 1;
            }
        }
    }
    let after = surroundings()?;
    if after != before {
        println!("left behind: {before:?} became {after:?}");
        failed += 1;
    }
    println!("{suite} ({who}): {passed} passed, {failed} failed, {skipped} skipped");
    let once = privilege != Privilege::Privileged || both;
    let user_passed = once || again_as_user(selection)?;
    Ok(failed == 0 && user_passed)
}

/// Interfaces and named namespaces that the tests must leave as they were.
fn surroundings() -> Result<(Vec<String>, Vec<String>), Failure> {
    let links = Links::open(&NetNs::current()?)?.list()?;
    let mut named = Vec::new();
    if let Ok(entries) = std::fs::read_dir("/run/netns") {
        for entry in entries {
            named.push(entry?.file_name().to_string_lossy().into_owned());
        }
    }
    named.sort();
    Ok((links.into_iter().map(|link| link.name).collect(), named))
}

/// The same program as `nobody`; a copy, because the build directory may be closed to others.
fn again_as_user(selection: &Selection) -> Result<bool, Failure> {
    let directory = tempfile::tempdir()?;
    let program = directory.path().join("test");
    std::fs::copy(std::env::current_exe()?, &program)?;
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
    let mut command = Command::new(&program);
    command
        .args(&selection.names)
        .args(selection.exact.then_some("--exact"))
        .env(ROOT_ONLY, "1")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    let status = tie(&mut command).status()?;
    Ok(status.success())
}
