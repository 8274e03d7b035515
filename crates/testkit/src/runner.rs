//! Runs tests that make kernel objects, in the main thread of a program of their own and as whoever started it: an
//! ordinary user is taken into a user namespace first.
#![allow(clippy::print_stdout)] // a test program talks to whoever runs it

use std::process::ExitCode;
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Failed, Trial};
use nicety_netdev::link::Links;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::ns_sysfs::NsSysfs;
use nicety_netdev::privilege::{Privilege, enter_user_namespace, privilege};

/// The network that root was started in.
static HOST: OnceLock<NetNs> = OnceLock::new();

/// Why a test could not be run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip(pub String);

/// What a test returns.
pub trait Outcome {
    /// Why it could not be run, if so.
    fn into_result(self) -> Result<(), Skip>;
}

impl Outcome for () {
    fn into_result(self) -> Result<(), Skip> {
        Ok(())
    }
}

impl Outcome for Result<(), Skip> {
    fn into_result(self) -> Self {
        self
    }
}

/// A test. It fails by a panic.
pub struct Test {
    name: String,
    run: Box<dyn FnOnce(Privilege) -> Result<(), Skip> + Send>,
}

impl Test {
    /// A test with its name.
    pub fn new<T: Outcome>(
        name: impl Into<String>,
        run: impl FnOnce(Privilege) -> T + Send + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            run: Box::new(move |privilege| run(privilege).into_result()),
        }
    }

    /// It matters who runs it: `scripts/test.sh` runs tests of this ending as `nobody` too.
    #[must_use]
    pub fn as_any_user(mut self) -> Self {
        self.name += "_as_any_user";
        self
    }

    fn trial(self) -> Trial {
        let name = self.name.clone();
        Trial::test(self.name, move || match alone(self.run) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Skip(reason))) => {
                // The name of the test is already there, without an end of line.
                println!("\nSKIP {name}: {reason}");
                Ok(())
            }
            Err(error) => Err(Failed::from(error.to_string())),
        })
    }
}

type Failure = Box<dyn std::error::Error>;

/// The main function of a test program, with the arguments of every Rust test. A test fails too when interfaces are
/// left behind.
pub fn run(tests: impl IntoIterator<Item = Test>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Namespaces are entered by a process of one thread.
    arguments.test_threads = Some(1);
    let trials = tests.into_iter().map(Test::trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs `work` in the network that the program was started in: the internet may be there.
///
/// # Panics
/// When root cannot go back there.
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
pub fn on_the_host<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match HOST.get() {
        Some(host) => host.run(work).expect("back to the host's network"),
        None => work(),
    }
}

/// Runs a test in surroundings of its own, and looks at what it leaves there.
fn alone(test: impl FnOnce(Privilege) -> Result<(), Skip>) -> Result<Result<(), Skip>, Failure> {
    if privilege()? == Privilege::Ordinary
        && let Err(error) = enter_user_namespace()
    {
        return Ok(Err(Skip(error.to_string())));
    }
    let privilege = privilege()?;
    if privilege != Privilege::Privileged {
        return Ok(open().and_then(|()| test(privilege)));
    }
    let network = own_network()?;
    let before = interfaces(&network)?;
    let outcome = test(privilege);
    let after = interfaces(&network)?;
    if before == after {
        Ok(outcome)
    } else {
        Err(format!("left behind: {before:?} became {after:?}").into())
    }
}

/// Whether a user's own namespaces are open to him; those of a container are not.
fn open() -> Result<(), Skip> {
    match NetNs::create("open").and_then(|namespace| NsSysfs::mount(&namespace)) {
        Err(error) if error.is_not_permitted() => Err(Skip(format!("{error}: as in a container"))),
        _ => Ok(()),
    }
}

/// Where other tests, which run at the same time, make nothing. An ordinary user can make nothing in the host's.
fn own_network() -> Result<NetNs, NetError> {
    let current = NetNs::current()?;
    HOST.get_or_init(|| current);
    let own = NetNs::create("test")?;
    Links::open(&own)?.set_up("lo")?;
    own.enter_thread()?;
    Ok(own)
}

fn interfaces(network: &NetNs) -> Result<Vec<String>, NetError> {
    let links = Links::open(network)?.list()?;
    Ok(links.into_iter().map(|link| link.name).collect())
}
