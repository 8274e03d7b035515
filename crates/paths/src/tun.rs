//! Whether taps can be made here. Containers have no `/dev/net/tun` unless they are given it.

use nicety_model::Remedy;
use nicety_netdev::tap;

use crate::error::PathError;

/// Whether there is the device that makes taps: those of guests, and the one of Open vSwitch's userspace datapath,
/// which says without it only that no datapath of that type exists.
///
/// # Errors
/// [`PathError::NoDevice`].
pub fn taps_there() -> Result<(), PathError> {
    if std::path::Path::new(tap::DEVICE).exists() {
        return Ok(());
    }
    Err(PathError::NoDevice {
        device: tap::DEVICE,
        remedy: Remedy::here("modprobe tun, or start the container with --device /dev/net/tun"),
    })
}
