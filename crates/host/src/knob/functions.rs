//! How many virtual functions a NIC has. Functions that somebody uses are never taken away.

use std::time::Duration;

use nicety_model::knob::Knob;
use nicety_netdev::net_error::NetError;
use nicety_netdev::vf::{FunctionCount, Places, used};

use super::{KnobError, Knobs};

/// Drivers make functions within a second; each of a hundred needs its own reset.
const LIMIT: Duration = Duration::from_secs(20);

impl Knobs {
    pub(super) fn read_count(&self, nic: &str) -> Result<String, KnobError> {
        Ok(self.count(nic)?.1.now.to_string())
    }

    pub(super) fn write_count(&self, knob: &Knob, nic: &str, value: &str) -> Result<(), KnobError> {
        let (places, there) = self.count(nic)?;
        let wanted: u32 = value
            .parse()
            .map_err(|_| KnobError::bad(knob, value, "a whole number"))?;
        // Every function goes, whatever the new number is.
        if there.now > 0 && there.now != wanted {
            let users = used(&self.ns, nic)?;
            if !users.is_empty() {
                return Err(KnobError::InUse {
                    knob: knob.to_string(),
                    users,
                });
            }
        }
        Ok(places.set_count(nic, wanted, LIMIT)?)
    }

    fn count(&self, nic: &str) -> Result<(Places, FunctionCount), KnobError> {
        self.links.get(nic)?;
        let places = Places::of(&self.ns);
        match places.count(nic) {
            Some(count) => Ok((places, count)),
            None => {
                let none = std::io::Error::from(std::io::ErrorKind::Unsupported);
                Err(NetError::new("count the virtual functions of", nic, none).into())
            }
        }
    }
}
