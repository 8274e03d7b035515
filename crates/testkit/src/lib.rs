//! Help for the tests of the other crates: simulated paths.

pub mod sut;
