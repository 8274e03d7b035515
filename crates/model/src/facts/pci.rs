//! PCI functions without a kernel driver.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A network function whose driver lets a program or a guest drive it: DPDK's, or VFIO.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UserFunction {
    /// Address: `0000:01:00.0`.
    pub address: String,
    /// Driver it is bound to: `vfio-pci`.
    pub driver: String,
    /// Vendor and device, as `modprobe.d` files name them: `8086:10c9`.
    pub device: Option<String>,
    /// Driver that driverctl(8) gives it at every boot.
    pub kept_driver: Option<String>,
}
