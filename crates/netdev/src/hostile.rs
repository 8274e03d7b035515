//! Any bytes in the place of the kernel's answers: for the fuzzer, and for the tests that replay what it found.

pub use crate::devlink::hostile as devlink;
pub use crate::link::hostile as link;
pub use crate::shaper::hostile as shaper;
pub use crate::traffic_control::hostile as traffic_control;
pub use crate::vf::hostile as functions;
