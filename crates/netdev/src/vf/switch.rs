//! NICs whose functions hang on a switch of their own (switchdev mode): representors, and rates by
//! devlink where the driver has these, else by policers on the representors.

use nicety_model::BitRate;
use rustix::io::Errno;

use super::{FunctionList, Functions, Limiter};
use crate::devlink::{FunctionPort, LeafRate};
use crate::net_error::NetError;
use crate::policer::{Policed, Representor};

const MBIT: u64 = 1_000_000;
/// Drivers whose `ndo_set_vf_rate` does the same in switchdev mode as outside it (Linux 6.12:
/// `mlx5e_set_vf_rate`, `ice_set_vf_bw`, `bnxt_set_vf_bw`). That of netdevsim refuses, that of nfp does with
/// the firmware that has a switch, sfc has none.
const OWN_RATES: [&str; 3] = ["mlx5_core", "ice", "bnxt_en"];

/// The switch of a NIC at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Bus and device, as devlink(8) names them.
    nic: String,
    /// Ports of functions, and how each is limited.
    ports: Vec<(FunctionPort, Limiter)>,
}

impl Functions {
    /// That of a NIC in switchdev mode; none for any other.
    pub(super) fn switch(&self, pf: &str) -> Result<Option<Switch>, NetError> {
        let Some(devlink) = &self.devlink else {
            return Ok(None);
        };
        // What has no driver to ask is no NIC.
        let Ok(driver) = self.ethtool.driver(pf) else {
            return Ok(None);
        };
        let bus = match driver.driver.as_str() {
            "netdevsim" => "netdevsim",
            _ => "pci",
        };
        let nic = format!("{bus}/{}", driver.bus);
        let Some(ports) = devlink.functions(&nic)? else {
            return Ok(None);
        };
        let ports = ports.into_iter();
        let ports = ports.map(|port| (way(&port, &driver.driver), port));
        let mut switch = Switch {
            nic,
            ports: ports.map(|(limiter, port)| (port, limiter)).collect(),
        };
        self.look(&mut switch)?;
        Ok(Some(switch))
    }

    /// With the counters of the policers that the NIC has not taken: what it has taken is counted by the
    /// representors.
    pub(super) fn recount(&self, mut switch: Switch) -> Result<Switch, NetError> {
        for (port, limiter) in &mut switch.ports {
            if let Limiter::Policer(Policed::Limited(policer)) = limiter
                && !policer.in_hardware
                && let Some(at) = representor(port)
            {
                match self.policers.recount(at)? {
                    Some(now) => *policer = now,
                    None => {
                        // Somebody has taken it away.
                        self.look(&mut switch)?;
                        break;
                    }
                }
            }
        }
        Ok(switch)
    }

    /// Looks at all policers.
    fn look(&self, switch: &mut Switch) -> Result<(), NetError> {
        let policed = |limiter: &Limiter| matches!(limiter, Limiter::Policer(_));
        if !switch.ports.iter().any(|(_, limiter)| policed(limiter)) {
            return Ok(());
        }
        let ingress = self.policers.ingress()?;
        for (port, limiter) in &mut switch.ports {
            if let Some(at) = representor(port).filter(|_| policed(limiter)) {
                *limiter = Limiter::Policer(self.policers.read(at, &ingress)?);
            }
        }
        Ok(())
    }

    /// Sets a rate by the switch where the function is limited there; whether it is.
    pub(super) fn set_by_switch(
        &self,
        pf: &str,
        vf: u32,
        max: u32,
        min: u32,
    ) -> Result<bool, NetError> {
        let Some(switch) = self.switch(pf)? else {
            return Ok(false);
        };
        let mut ports = switch.ports.iter();
        let Some((port, limiter)) = ports.find(|(port, _)| port.vf == vf) else {
            return Ok(false);
        };
        let rate = LeafRate {
            max: BitRate::from_mbit(max.into()),
            share: BitRate::from_mbit(min.into()),
        };
        match (limiter, &self.devlink, representor(port)) {
            (Limiter::Devlink, Some(devlink), _) => devlink.set(&switch.nic, port, rate)?,
            (Limiter::Policer(_), _, Some(_)) if min > 0 => {
                let what = format!("{pf}/vf{vf} to a minimum by a policer");
                let none = std::io::Error::from(Errno::OPNOTSUPP);
                return Err(NetError::new("limit", what, none));
            }
            (Limiter::Policer(_), _, Some(at)) => self.policers.set(at, rate.max)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// How a function is limited; what is found there is looked at later.
fn way(port: &FunctionPort, driver: &str) -> Limiter {
    match (port.rate, representor(port)) {
        (Some(_), _) => Limiter::Devlink,
        (None, Some(_)) if !OWN_RATES.contains(&driver) => Limiter::Policer(Policed::Open),
        _ => Limiter::Driver,
    }
}

fn representor(port: &FunctionPort) -> Option<Representor<'_>> {
    Some(Representor {
        index: port.representor_index?,
        name: port.representor.as_deref()?,
    })
}

/// Adds what the switch tells. Its rates are the ones that count: drivers refuse others in switchdev
/// mode, or show what is not in force.
pub(super) fn merge(list: &mut FunctionList, switch: Switch) {
    for function in &mut list.functions {
        let mut ports = switch.ports.iter();
        let Some((port, limiter)) = ports.find(|(port, _)| port.vf == function.vf) else {
            continue;
        };
        function.representor.clone_from(&port.representor);
        function.limiter.clone_from(limiter);
        match limiter {
            Limiter::Driver => {}
            Limiter::Devlink => {
                let rate = port.rate.unwrap_or_default();
                function.max_mbit = Some(mbit(rate.max));
                function.min_mbit = Some(mbit(rate.share));
            }
            Limiter::Policer(found) => {
                function.max_mbit = match found {
                    Policed::Open => Some(0),
                    Policed::Limited(policer) => Some(mbit(policer.rate)),
                    Policed::Foreign(_) => None,
                };
                function.min_mbit = Some(0);
            }
        }
    }
    list.switch = Some(switch);
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
    use crate::policer::Policer;

    fn list(functions: u32) -> FunctionList {
        let function = |vf| FunctionState {
            vf,
            max_mbit: Some(7),
            min_mbit: Some(3),
            ..FunctionState::default()
        };
        FunctionList {
            announced: functions,
            functions: (0..functions).map(function).collect(),
            switch: None,
        }
    }

    fn rates(list: &FunctionList) -> Vec<(Option<u32>, Option<u32>)> {
        let functions = list.functions.iter();
        functions.map(|f| (f.max_mbit, f.min_mbit)).collect()
    }

    #[test]
    fn rates_of_the_switch_take_the_place_of_the_drivers() {
        let rate = LeafRate {
            max: BitRate::from_mbit(500),
            share: BitRate(400_000),
        };
        let limited = Policer {
            rate: BitRate::from_mbit(20),
            ..Policer::default()
        };
        let port = |vf, rate| fake_port(vf, Some(&format!("rep{vf}")), rate);
        let policed = |found| Limiter::Policer(found);
        let switch = Switch {
            nic: "pci/x".to_owned(),
            ports: vec![
                (port(1, Some(rate)), Limiter::Devlink),
                (port(2, None), Limiter::Driver),
                (port(3, None), policed(Policed::Open)),
                (port(4, None), policed(Policed::Limited(limited))),
                (
                    port(5, None),
                    policed(Policed::Foreign("clsact".to_owned())),
                ),
            ],
        };
        let mut list = list(6);
        merge(&mut list, switch.clone());
        assert_eq!(list.switch, Some(switch));
        assert_eq!(
            rates(&list),
            [
                (Some(7), Some(3)),
                (Some(500), Some(1)),
                (Some(7), Some(3)),
                (Some(0), Some(0)),
                (Some(20), Some(0)),
                (None, Some(0)),
            ]
        );
        assert_eq!(list.functions[0].representor, None);
        assert_eq!(list.functions[2].representor.as_deref(), Some("rep2"));
        assert_eq!(list.functions[1].limiter, Limiter::Devlink);
    }

    #[test]
    fn a_policer_is_for_those_that_nothing_else_limits() {
        let bare = fake_port(0, Some("rep0"), None);
        let leaf = fake_port(0, Some("rep0"), Some(LeafRate::default()));
        let away = fake_port(0, None, None);
        assert_eq!(way(&bare, "nfp"), Limiter::Policer(Policed::Open));
        assert_eq!(way(&bare, "somenic"), Limiter::Policer(Policed::Open));
        assert_eq!(way(&bare, "bnxt_en"), Limiter::Driver);
        assert_eq!(way(&leaf, "mlx5_core"), Limiter::Devlink);
        // A representor in another namespace is out of reach.
        assert_eq!(way(&away, "nfp"), Limiter::Driver);
    }
}
