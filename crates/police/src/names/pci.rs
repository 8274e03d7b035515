//! Devices on the PCI bus.

/// What a device is for the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Device {
    /// An interface of the host.
    Interface(String),
    /// A virtual function, whoever has it now.
    Function {
        /// Interface of the physical one.
        pf: String,
        /// Number.
        vf: u32,
    },
    /// There, and neither.
    Other,
}
