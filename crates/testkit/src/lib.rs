//! Help for the tests of the other crates: simulated paths, with the feature `cases` a runner for
//! tests that are data, and with the feature `wire` a path with known faults and a runner for tests
//! that make kernel objects, with the feature `etcd` members of a real etcd, with the feature
//! `certificates` certificates.

#[cfg(feature = "cases")]
pub mod cases;
#[cfg(feature = "certificates")]
pub mod certificates;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod random;
#[cfg(feature = "runner")]
pub mod runner;
pub mod sut;
pub mod uplink;
#[cfg(feature = "wire")]
pub mod wire;
