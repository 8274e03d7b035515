//! Help for the tests of the other crates: simulated paths, and with the feature `wire` a path
//! with known faults and a runner for tests that make kernel objects.

#[cfg(feature = "wire")]
pub mod runner;
pub mod sut;
pub mod uplink;
#[cfg(feature = "wire")]
pub mod wire;
