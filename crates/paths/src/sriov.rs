//! Virtual functions of one port as ways to a guest.
//!
//! ```text
//!  namespace A                     guest                      namespace B
//!      a = vf 0 ..(NIC).. vf 1 - kernel bridge - vf 2 ..(NIC).. vf 3 = b
//! ```
//!
//! The NIC's own switch carries the frames between the tester's functions and the guest's, on a
//! VLAN for either half, whose tags it adds and removes itself. Nothing gets onto the wire. With
//! several guests `b` is the last function, and every guest has two of those between, which have the
//! addresses of the tester's stations for which it carries frames.

mod counters;
mod functions;
mod layout;
mod used;

pub(crate) use functions::FunctionSet;
pub(crate) use layout::of_guest;

/// Longest wait for a function's link.
pub(crate) const LINK_LIMIT: std::time::Duration = std::time::Duration::from_secs(20);
