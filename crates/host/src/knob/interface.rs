//! Settings of interfaces: MTU, rings, channels, coalescing, features.

use nicety_model::knob::{CoalesceParameter, Knob, Side};
use nicety_netdev::link::LinkChange;

use super::{KnobError, Knobs};

impl Knobs {
    pub(super) fn read_interface(&self, knob: &Knob) -> Result<String, KnobError> {
        let number = |value: u32| Ok(value.to_string());
        match knob {
            Knob::Mtu { interface } => number(self.links.get(interface)?.mtu),
            Knob::Ring { interface, side } => {
                let rings = self.ethtool.rings(interface)?;
                match side {
                    Side::Rx => number(rings.rx),
                    Side::Tx => number(rings.tx),
                    Side::Combined => Err(KnobError::refused(knob, "rings are rx or tx")),
                }
            }
            Knob::Channels { interface, side } => {
                let counts = self.ethtool.channels(interface)?.current;
                match side {
                    Side::Rx => number(counts.rx),
                    Side::Tx => number(counts.tx),
                    Side::Combined => number(counts.combined),
                }
            }
            Knob::Coalesce {
                interface,
                parameter,
            } => {
                let coalesce = self.ethtool.coalesce(interface)?;
                match parameter {
                    CoalesceParameter::RxUsecs => number(coalesce.rx_usecs),
                    CoalesceParameter::TxUsecs => number(coalesce.tx_usecs),
                    CoalesceParameter::AdaptiveRx => Ok(switch(coalesce.adaptive_rx).to_owned()),
                }
            }
            Knob::Feature { interface, feature } => {
                let features = self.ethtool.features(interface)?;
                match features.get(feature) {
                    Some(state) => Ok(switch(state.active).to_owned()),
                    None => Err(KnobError::refused(knob, "the kernel knows no such feature")),
                }
            }
            _ => Err(KnobError::refused(knob, "is not a setting of an interface")),
        }
    }

    pub(super) fn write_interface(&self, knob: &Knob, value: &str) -> Result<(), KnobError> {
        let number = || {
            let parsed = value.parse::<u32>();
            parsed.map_err(|_| KnobError::bad(knob, value, "a whole number"))
        };
        let on = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(KnobError::bad(knob, value, "on or off")),
        };
        match knob {
            Knob::Mtu { interface } => {
                let change = LinkChange {
                    mtu: Some(number()?),
                    ..LinkChange::default()
                };
                self.links.change(interface, &change)?;
            }
            Knob::Ring { interface, side } => {
                let wanted = number()?;
                self.ethtool.set_rings(interface, |rings| match side {
                    Side::Rx => rings.rx = wanted,
                    Side::Tx => rings.tx = wanted,
                    Side::Combined => {}
                })?;
            }
            Knob::Channels { interface, side } => {
                let wanted = number()?;
                self.ethtool.set_channels(interface, |counts| match side {
                    Side::Rx => counts.rx = wanted,
                    Side::Tx => counts.tx = wanted,
                    Side::Combined => counts.combined = wanted,
                })?;
            }
            Knob::Coalesce {
                interface,
                parameter,
            } => match parameter {
                CoalesceParameter::AdaptiveRx => {
                    let wanted = on()?;
                    self.ethtool
                        .set_coalesce(interface, |c| c.adaptive_rx = wanted)?;
                }
                CoalesceParameter::RxUsecs => {
                    let wanted = number()?;
                    self.ethtool
                        .set_coalesce(interface, |c| c.rx_usecs = wanted)?;
                }
                CoalesceParameter::TxUsecs => {
                    let wanted = number()?;
                    self.ethtool
                        .set_coalesce(interface, |c| c.tx_usecs = wanted)?;
                }
            },
            Knob::Feature { interface, feature } => {
                self.ethtool.set_features(interface, &[(feature, on()?)])?;
            }
            _ => return Err(KnobError::refused(knob, "is not a setting of an interface")),
        }
        Ok(())
    }
}

fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
