//! What NICs stamp is changed for a trial, and changed back.

use std::time::Duration;

use nicety_netdev::hwtstamp::{Changed, Config, HwTstamp, StampLog, TX_ON};
use nicety_netdev::link::Links;
use nicety_netdev::netns::NetNs;
use nicety_packet::ptp;

use super::{ProbeError, Prober, Stamping};

/// Some drivers begin anew with the link when they are told to stamp.
const LINK_WAIT: Duration = Duration::from_secs(10);

/// The NICs stamp probes; what they stamped before comes back when this is dropped.
#[derive(Debug)]
pub struct Armed<'p> {
    pub(super) prober: &'p Prober,
    /// One per port whose NIC had to be told.
    _restored: Vec<Restored>,
}

/// A namespace in which NICs were told.
#[derive(Debug)]
struct Restored {
    nics: HwTstamp,
    log: StampLog,
    changed: Vec<Changed>,
}

impl Drop for Restored {
    fn drop(&mut self) {
        restore(&self.nics, &self.log, &self.changed);
    }
}

/// Has every NIC that is still there stamp what it did; the log forgets them then.
fn restore(nics: &HwTstamp, log: &StampLog, changed: &[Changed]) {
    let back = |c: &Changed| match nics.set(&c.interface, c.before) {
        Ok(_) => true,
        Err(error) => error.is_not_found(),
    };
    // One that refuses keeps none of the others from it.
    if changed.iter().filter(|c| !back(c)).count() == 0 {
        log.clear();
    }
}

/// Changes back what a killed nicety has left changed in the namespace `ns`; whose it was, one
/// sentence each.
///
/// # Errors
/// When the log cannot be read or the NICs cannot be asked.
pub fn restore_left(ns: &NetNs) -> Result<Vec<String>, ProbeError> {
    if !StampLog::is_there(ns.inode()) {
        return Ok(Vec::new());
    }
    let Some((log, left)) = StampLog::claim(ns.inode()).map_err(ProbeError::UndoLog)? else {
        // Another nicety is at work.
        return Ok(Vec::new());
    };
    restore(&HwTstamp::open(ns)?, &log, &left);
    let said = |c: &Changed| {
        format!(
            "{}: stamps again what it did before a run that was killed",
            c.interface
        )
    };
    Ok(left.iter().map(said).collect())
}

impl Prober {
    /// Has both NICs stamp probes.
    ///
    /// # Errors
    /// [`ProbeError::InUse`] when somebody else has them stamp other frames, [`ProbeError::Busy`],
    /// or what the kernel says. Nothing stays changed then.
    pub fn arm(&self) -> Result<Armed<'_>, ProbeError> {
        let [a, b] = &self.ports;
        let groups = if a.port.ns.is_same(&b.port.ns) {
            vec![vec![a, b]]
        } else {
            vec![vec![a], vec![b]]
        };
        let mut restored = Vec::new();
        for group in groups {
            restored.extend(arm(&group)?);
        }
        Ok(Armed {
            prober: self,
            _restored: restored,
        })
    }
}

/// Tells the NICs of one namespace; nothing where they stamp probes already.
fn arm(ports: &[&Stamping]) -> Result<Option<Restored>, ProbeError> {
    let Some(first) = ports.first() else {
        return Ok(None);
    };
    let ns = &first.port.ns;
    let claim = StampLog::claim(ns.inode()).map_err(ProbeError::UndoLog)?;
    let (log, left) = claim.ok_or(ProbeError::Busy)?;
    let nics = HwTstamp::open(ns)?;
    if !left.is_empty() {
        restore(&nics, &log, &left);
    }
    let mut changed = Vec::new();
    for stamping in ports {
        let interface = &stamping.port.interface;
        let before = nics.get(interface)?;
        if before.tx == TX_ON && ptp::takes_probes(before.rx) {
            continue;
        }
        if before.rx != ptp::FILTER_NONE && !ptp::takes_probes(before.rx) {
            return Err(ProbeError::InUse {
                interface: interface.clone(),
            });
        }
        changed.push((
            *stamping,
            Changed {
                interface: interface.clone(),
                before,
            },
        ));
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let all: Vec<Changed> = changed.iter().map(|(_, changed)| changed.clone()).collect();
    log.write(&all).map_err(ProbeError::UndoLog)?;
    // From here on everything is undone when this is dropped.
    let restored = Restored {
        nics,
        log,
        changed: all,
    };
    let links = Links::open(ns)?;
    for (stamping, Changed { interface, before }) in &changed {
        let rx = if ptp::takes_probes(before.rx) {
            before.rx
        } else {
            stamping.filter
        };
        let made = restored.nics.set(interface, Config::new(TX_ON, rx))?;
        if made.tx != TX_ON || !ptp::takes_probes(made.rx) {
            return Err(ProbeError::NotApplied {
                interface: interface.clone(),
            });
        }
        links.wait_carrier(interface, LINK_WAIT)?;
    }
    Ok(Some(restored))
}
