//! Whether this process may change a setting, asked before the first one is changed.

use std::fs::OpenOptions;

use nicety_model::knob::Knob;
use nicety_netdev::net_admin;
use nicety_netdev::net_error::NetError;
use nicety_netdev::openvswitch::Policing;
use nicety_netdev::shaper::Shapers;
use nicety_netdev::vf::Places;
use rustix::io::Errno;

use super::{KnobError, Knobs, irq_path, sysctl_path};

impl Knobs {
    /// Refuses a setting that this process may not change. Nothing is written. Files of the next boot and CPUs
    /// of threads are not asked for: the first write tells.
    ///
    /// # Errors
    /// [`KnobError`] with what is missing.
    pub fn may_write(&self, knob: &Knob) -> Result<(), KnobError> {
        match knob {
            Knob::Sysctl { name } => may_open(&sysctl_path(knob, name)?),
            Knob::SysFile { path } => match self.interface_file(knob, path)? {
                Some(_) => self.may_change(knob),
                None => may_open(&format!("/sys/{path}")),
            },
            Knob::IrqAffinity { irq } => may_open(&irq_path(*irq)),
            Knob::VfCount { interface } => {
                let places = Places::of(&self.ns);
                if places.count(interface).is_none() || places.may_set_count(interface) {
                    Ok(())
                } else {
                    Err(NetError::new("set", knob, Errno::ACCESS).into())
                }
            }
            Knob::PortRate { interface } if self.is_switched(interface) => Ok(()),
            Knob::File { .. } | Knob::ThreadCpus { .. } => Ok(()),
            _ => self.may_change(knob),
        }
    }

    fn may_change(&self, knob: &Knob) -> Result<(), KnobError> {
        Ok(net_admin::require(&self.ns, &format!("changing {knob}"))?)
    }

    /// Open vSwitch limits it, and decides who may ask for that.
    fn is_switched(&self, interface: &str) -> bool {
        let read = Shapers::open(&self.ns).and_then(|shapers| shapers.read(interface));
        read.is_err_and(|error| {
            let instead = Policing::here().instead(interface, &error);
            instead.is_ok_and(|rate| rate.is_some())
        })
    }
}

/// Opened as for a change, and closed again. A file that is gone is not a question of rights.
fn may_open(path: &str) -> Result<(), KnobError> {
    match OpenOptions::new().write(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(NetError::new("write", path, error).into()),
    }
}
