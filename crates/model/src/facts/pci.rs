//! PCI functions: links to the host, and functions without a kernel driver.

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

/// The PCIe link of a function, as it runs and as the function could (`current_link_speed` and its kin
/// in sysfs, drivers/pci/pci-sysfs.c). Absent where the function does not say, as virtual ones.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PcieLink {
    /// Transfers of each lane in 10⁹ per second: 2.5, 5, 8, 16, …
    pub speed_gts: f64,
    /// Lanes.
    pub width: u32,
    /// Most transfers, in the same unit.
    pub max_speed_gts: Option<f64>,
    /// Most lanes.
    pub max_width: Option<u32>,
}
