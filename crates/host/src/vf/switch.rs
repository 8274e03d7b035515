//! NICs whose functions hang on a switch of their own (switchdev mode): representors, and rates by
//! devlink where the driver has these.

use nicety_model::BitRate;

use super::{Functions, Told};
use crate::devlink::{FunctionPort, LeafRate};
use crate::net_error::NetError;

const MBIT: u64 = 1_000_000;

impl Functions {
    /// PCI address and functions of a NIC in switchdev mode; none for any other.
    pub(super) fn switch(&self, pf: &str) -> Result<Option<(String, Vec<FunctionPort>)>, NetError> {
        let Some(devlink) = &self.devlink else {
            return Ok(None);
        };
        // What has no driver to ask is no NIC.
        let Ok(driver) = self.ethtool.driver(pf) else {
            return Ok(None);
        };
        let functions = devlink.functions(&driver.bus)?;
        Ok(functions.map(|functions| (driver.bus, functions)))
    }

    /// Sets a rate by devlink where the function has one there; whether it has.
    pub(super) fn set_leaf(&self, pf: &str, vf: u32, max: u32, min: u32) -> Result<bool, NetError> {
        let Some((pci, ports)) = self.switch(pf)? else {
            return Ok(false);
        };
        let leaf = |port: &&FunctionPort| port.vf == vf && port.rate.is_some();
        let (Some(devlink), Some(port)) = (&self.devlink, ports.iter().find(leaf)) else {
            return Ok(false);
        };
        let rate = LeafRate {
            max: BitRate::from_mbit(max.into()),
            share: BitRate::from_mbit(min.into()),
        };
        devlink.set(&pci, port, rate).map(|()| true)
    }
}

/// Adds what the switch tells. A rate by devlink is the one that counts: drivers refuse the other
/// in switchdev mode, or show what is not in force.
pub(super) fn merge(told: &mut Told, ports: &[FunctionPort]) {
    told.switchdev = true;
    for function in &mut told.functions {
        let Some(port) = ports.iter().find(|port| port.vf == function.vf) else {
            continue;
        };
        function.representor.clone_from(&port.representor);
        if let Some(rate) = port.rate {
            function.by_switch = true;
            function.max_mbit = Some(mbit(rate.max));
            function.min_mbit = Some(mbit(rate.share));
        }
    }
}

/// In whole Mbit/s; what is less than one is no 0, which would be none.
fn mbit(rate: BitRate) -> u32 {
    let whole = match rate.0 {
        bps if bps < MBIT => bps.min(1),
        bps => bps / MBIT,
    };
    u32::try_from(whole).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::FunctionState;
    use super::*;
    use crate::devlink::fake_port;

    #[test]
    fn rates_of_the_switch_take_the_place_of_the_drivers() {
        let function = |vf| FunctionState {
            vf,
            max_mbit: Some(7),
            min_mbit: Some(0),
            ..FunctionState::default()
        };
        let mut told = Told {
            announced: 3,
            functions: vec![function(0), function(1), function(2)],
            switchdev: false,
        };
        let rate = LeafRate {
            max: BitRate::from_mbit(500),
            share: BitRate(400_000),
        };
        let ports = [
            fake_port(1, Some("rep1"), Some(rate)),
            fake_port(2, Some("rep2"), None),
        ];
        merge(&mut told, &ports);
        assert!(told.switchdev);
        let [none, leaf, bare] = &told.functions[..] else {
            unreachable!()
        };
        assert_eq!(
            (none.max_mbit, none.by_switch, &none.representor),
            (Some(7), false, &None)
        );
        assert_eq!((leaf.max_mbit, leaf.min_mbit), (Some(500), Some(1)));
        assert!(leaf.by_switch && leaf.representor.as_deref() == Some("rep1"));
        assert_eq!((bare.max_mbit, bare.by_switch), (Some(7), false));
        assert_eq!(bare.representor.as_deref(), Some("rep2"));
    }
}
