//! Socket workloads between two ends: a series of tests, a server for them, both ends here.

pub mod guest;
pub mod inside;
pub mod local;
pub mod series;
pub mod workers;

use std::time::Duration;

use nicety_account::workload::{Step, Steps};
use nicety_model::plan::HowOften;
use nicety_model::sock::{Family, Second, SockResult, SockSpec, SockTest};

/// Port of a server when none is chosen: the one after netperf's.
pub const PORT: u16 = 12_866;

/// Tests to run, checked.
#[derive(Debug, Clone)]
pub struct Request {
    /// One test after another.
    pub asks: Vec<SockSpec>,
    /// How often each of them.
    pub how_often: HowOften,
    /// The same as a machine that has seen nothing yet.
    pub steps: Steps,
    /// IP version; absent when the server's name decides.
    pub family: Option<Family>,
    /// Worker threads of the client.
    pub threads: usize,
    /// Worker threads of a server here.
    pub server_threads: usize,
    /// CPUs of the client's workers.
    pub cpus: Vec<u32>,
    /// CPUs of the workers of a server here.
    pub server_cpus: Vec<u32>,
}

/// Something that happened to a test.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// It begins.
    Begins {
        /// Name of the test.
        name: &'a str,
        /// Where its series is.
        step: Step,
        /// Its length.
        duration: Duration,
    },
    /// A second of it is over.
    Second {
        /// Name of the test.
        name: &'a str,
        /// Where its series is.
        step: Step,
        /// What it does.
        test: SockTest,
        /// What was counted in it.
        second: &'a Second,
    },
    /// It is over.
    Ended {
        /// Name of the test.
        name: &'a str,
        /// Where its series is.
        step: Step,
        /// What came out.
        result: &'a SockResult,
    },
}
