//! Runs tests that make real kernel objects: as root, then once more as an ordinary user in a
//! user namespace; started as an ordinary user, only the latter. Checks that nothing is left.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};

use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;
use nicety_netdev::ns_sysfs::NsSysfs;
use nicety_netdev::privilege::{Privilege, enter_user_namespace, privilege};
use rustix::process::Signal;

/// `nobody` on every Linux.
const NOBODY: u32 = 65534;
/// Set for the second run; the value is a directory of the ordinary user.
const AS_USER: &str = "NICETY_TEST_AS_USER";

/// A test with its name.
pub type Test = (&'static str, fn(Privilege));

/// Runs `tests`, of which arguments select some by part of their name.
pub fn run(suite: &str, tests: &[Test]) -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.peek().map(String::as_str) == Some("--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let filters: Vec<_> = arguments.filter(|a| !a.starts_with('-')).collect();
    let level = privilege().unwrap();
    if level == Privilege::Ordinary
        && let Err(error) = enter_user_namespace()
    {
        let skip = |(name, _): &Test| println!("SKIP {name}: {error}");
        tests.iter().for_each(skip);
        return ExitCode::SUCCESS;
    }
    let level = privilege().unwrap();
    // As in a container, which closes them also to namespaces of ours.
    let closed = || NetNs::create("closed").and_then(|ns| NsSysfs::mount(&ns));
    if level == Privilege::UserNamespace
        && let Err(error) = closed()
        && error.is_not_permitted()
    {
        let skip = |(name, _): &Test| println!("SKIP {name}: {error}: as in a container");
        tests.iter().for_each(skip);
        return ExitCode::SUCCESS;
    }
    if let Some(directory) = std::env::var_os(AS_USER) {
        // Ends with the run of root that started it; entering the namespace has lost an earlier wish.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).unwrap();
        std::fs::write(std::path::Path::new(&directory).join("owner"), "").unwrap();
    }
    let chosen = || {
        tests.iter().filter(|(name, _)| {
            filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
        })
    };
    let before = surroundings();
    let mut failed = 0;
    for (name, test) in chosen() {
        let passed = catch_unwind(AssertUnwindSafe(|| test(level))).is_ok();
        println!(
            "test {level:?}::{name} ... {}",
            if passed { "ok" } else { "FAILED" }
        );
        failed += usize::from(!passed);
    }
    if surroundings() != before {
        println!("left behind: {before:?} became {:?}", surroundings());
        failed += 1;
    }
    println!(
        "{suite} ({level:?}): {} run, {failed} failed, 0 skipped",
        chosen().count()
    );
    let user_failed = level == Privilege::Privileged && !again_as_user(&filters);
    if failed > 0 || user_failed {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Interfaces and named namespaces the tests must leave as they were.
fn surroundings() -> (Vec<String>, Vec<String>) {
    let links = Links::open(&NetNs::current().unwrap()).unwrap();
    let interfaces = links.list().unwrap().into_iter().map(|l| l.name).collect();
    let mut named: Vec<_> = std::fs::read_dir("/run/netns")
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    named.sort();
    (interfaces, named)
}

/// The same program as `nobody`; a copy, because the build directory may be closed to others.
fn again_as_user(filters: &[String]) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = Command::new(&program);
    command
        .args(filters)
        .env(AS_USER, directory.path())
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    let passed = command.status().unwrap().success();
    match std::fs::metadata(directory.path().join("owner")) {
        // Written in the user namespace, seen from outside.
        Ok(file) => passed && file.uid() == NOBODY && file.gid() == NOBODY,
        // Skipped, which the child has printed.
        Err(_) => passed,
    }
}
