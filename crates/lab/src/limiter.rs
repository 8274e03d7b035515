//! What limits the functions of the lab's NICs. QEMU's 82576 takes a rate and tells it, and sends at full
//! speed all the same. The lab stands in for its limiters: a token bucket (sch_tbf) at the root of each
//! limited function's interface, before the chip, whose registers so count what passes and not what is
//! dropped.
//!
//! Interfaces are found in this namespace and in those with a name. What a guest has through VFIO has no
//! interface here, and is not limited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use nicety_model::BitRate;
use nicety_netdev::net_error::NetError;
use nicety_netdev::netns::NetNs;
use nicety_netdev::shaper::{PortLimit, Shape, Shapers};
use nicety_netdev::vf::{FunctionList, Functions, PciFunction, Places};

use nicety_guests::QemuError;
use nicety_guests::files;

/// Says whether limits hold, for whoever wants to see a NIC that does not keep them.
const SWITCH: &str = "/run/nicety/wire";
/// What it says at first.
const SHAPED: &str = "shaped\n";
/// What it says when they are not to hold.
const PLAIN: &str = "plain";
/// Namespaces with a name (ip-netns(8)).
const NAMED: &str = "/run/netns";
const PERIOD: Duration = Duration::from_millis(250);
/// Periods after which everything is looked at again, also when no rate has changed.
const ALL: u32 = 8;

/// A function that has a limit, or had one a moment ago.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Function {
    /// NIC and number.
    name: (String, u32),
    /// PCI address.
    address: String,
    /// Mbit/s, 0 for none.
    mbit: u32,
    /// Has an interface in this namespace.
    here: bool,
}

/// What is to be done about the interface of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Set(Shape),
    Remove,
    Nothing,
}

/// What a rate asks for where this was found. What others have put there stays.
fn step(mbit: u32, found: &PortLimit) -> Step {
    let wanted = Shape::wire(BitRate::from_mbit(mbit.into()));
    match (mbit, found) {
        (_, PortLimit::Foreign(_)) | (0, PortLimit::Open) => Step::Nothing,
        (0, PortLimit::Limited(_)) => Step::Remove,
        (_, PortLimit::Limited(shape)) if *shape == wanted => Step::Nothing,
        (_, _) => Step::Set(wanted),
    }
}

/// Whether limits are to hold.
fn is_shaped(switch: &str) -> bool {
    switch.trim() != PLAIN
}

/// Keeps the limits until the machine ends.
///
/// # Errors
/// When the kernel cannot be asked at all.
pub fn keep() -> Result<std::convert::Infallible, QemuError> {
    files::write(SWITCH, SHAPED)?;
    let error =
        |e: NetError| QemuError::io("keep", "the limits of functions", std::io::Error::other(e));
    let mut limiter = Limiter::open().map_err(error)?;
    loop {
        // What goes wrong, most often because a function comes or goes, is tried again.
        if limiter.look().is_err() {
            limiter.seen = None;
        }
        std::thread::sleep(PERIOD);
    }
}

struct Limiter {
    functions: Functions,
    places: Places,
    here: Shapers,
    /// Interfaces of NICs that can have functions.
    nics: Vec<String>,
    reported: BTreeMap<String, FunctionList>,
    /// Functions that may have a bucket.
    held: BTreeSet<(String, u32)>,
    /// What the last look was about.
    seen: Option<Vec<Function>>,
    /// Looks until everything is looked at again.
    rest: u32,
}

impl Limiter {
    fn open() -> Result<Self, NetError> {
        let ns = NetNs::current()?;
        Ok(Self {
            functions: Functions::open(&ns)?,
            places: Places::at(Path::new("/sys")),
            here: Shapers::open(&ns)?,
            nics: Vec::new(),
            reported: BTreeMap::new(),
            held: BTreeSet::new(),
            seen: None,
            rest: 0,
        })
    }

    fn look(&mut self) -> Result<(), NetError> {
        match self.rest.checked_sub(1) {
            Some(rest) => self.rest = rest,
            None => {
                self.rest = ALL - 1;
                self.seen = None;
                self.nics = self.places.physical_functions()?;
            }
        }
        let limited = self.limited();
        if self.seen.as_ref() == Some(&limited) {
            return Ok(());
        }
        if !limited.is_empty() {
            self.limit(&limited)?;
        }
        self.held = limited
            .iter()
            .filter(|function| function.mbit > 0)
            .map(|function| function.name.clone())
            .collect();
        self.seen = Some(limited);
        Ok(())
    }

    /// The functions to look after.
    fn limited(&mut self) -> Vec<Function> {
        let mut limited = Vec::new();
        for nic in &self.nics {
            let count = self.places.attribute(nic, "device/sriov_numvfs");
            if count.is_none_or(|count| count == "0") {
                self.reported.remove(nic);
                continue;
            }
            let reported = match self.reported.get(nic) {
                Some(before) => self.functions.read_again(nic, before, false),
                None => self.functions.read(nic),
            };
            // A NIC that goes at this moment has no functions any more.
            let Ok(reported) = reported else {
                self.reported.remove(nic);
                continue;
            };
            let switch = fs::read_to_string(SWITCH).unwrap_or_default();
            for function in &reported.functions {
                let name = (nic.clone(), function.vf);
                let mbit = if is_shaped(&switch) {
                    function.max_mbit.unwrap_or(0)
                } else {
                    0
                };
                if mbit == 0 && !self.held.contains(&name) {
                    continue;
                }
                let pci = self.places.virtual_function(nic, function.vf);
                if let Some(pci) = pci.filter(has_interface) {
                    limited.push(Function {
                        name,
                        address: pci.address,
                        mbit,
                        here: !pci.interfaces.is_empty(),
                    });
                }
            }
            self.reported.insert(nic.clone(), reported);
        }
        limited
    }

    /// Makes the buckets what they should be. Other namespaces are let go at once: whoever holds one
    /// keeps the kernel from ending it.
    fn limit(&self, functions: &[Function]) -> Result<(), NetError> {
        let (here, elsewhere): (Vec<&Function>, Vec<&Function>) =
            functions.iter().partition(|function| function.here);
        if !here.is_empty() {
            apply(&self.here, &here)?;
        }
        if elsewhere.is_empty() {
            return Ok(());
        }
        for entry in fs::read_dir(NAMED).into_iter().flatten().flatten() {
            let shapers = NetNs::at(&entry.path()).and_then(|ns| Shapers::open(&ns));
            // One that is being made or removed.
            if let Ok(shapers) = shapers {
                apply(&shapers, &elsewhere)?;
            }
        }
        Ok(())
    }
}

/// Whether a function has an interface somewhere: not one that a guest has through VFIO.
fn has_interface(function: &PciFunction) -> bool {
    let driver = function.driver.as_deref();
    driver.is_some_and(|driver| !driver.starts_with("vfio"))
}

/// Does what is to be done in one namespace.
fn apply(shapers: &Shapers, functions: &[&Function]) -> Result<(), NetError> {
    let survey = shapers.survey()?;
    for function in functions {
        let Some(face) = survey.of_device(&function.address) else {
            continue;
        };
        match step(function.mbit, &survey.at_root(face)) {
            Step::Set(shape) => shapers.set_root(face, &survey, shape)?,
            Step::Remove => shapers.remove_root(face, &survey)?,
            Step::Nothing => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_follows_the_rate() {
        let shape = |mbit| Shape::wire(BitRate::from_mbit(mbit));
        let limited = |mbit| PortLimit::Limited(shape(mbit));
        let foreign = PortLimit::Foreign("htb".to_owned());
        for (mbit, found, wanted) in [
            (0, PortLimit::Open, Step::Nothing),
            (0, limited(5), Step::Remove),
            (5, PortLimit::Open, Step::Set(shape(5))),
            (5, limited(5), Step::Nothing),
            (7, limited(5), Step::Set(shape(7))),
            // Somebody else's stays, whatever the rate.
            (7, foreign.clone(), Step::Nothing),
            (0, foreign, Step::Nothing),
        ] {
            assert_eq!(step(mbit, &found), wanted, "{mbit} {found:?}");
        }
    }

    #[test]
    fn limits_hold_unless_somebody_wants_otherwise() {
        for (switch, shaped) in [("", true), (SHAPED, true), ("plain\n", false)] {
            assert_eq!(is_shaped(switch), shaped, "{switch:?}");
        }
    }
}
