//! One limit: checked before, and looked at afterwards whether it holds. The change itself is a transaction.

use std::time::{Duration, Instant};

use nicety_model::knob::Knob;
use nicety_model::traffic_control::instead_of;
use nicety_model::{BitRate, ProblemCode};
use nicety_netdev::net_error::NetError;
use nicety_netdev::openvswitch::Policing;
use nicety_netdev::policer;
use nicety_netdev::shaper::{self, BURST, Shape};
use nicety_police::driver::Way;
use nicety_police::verdict::{Verdict, Watched};

use super::counters;
use super::inventory::{Inventory, foreign, way};
use crate::Error;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct LimitRequest<'a> {
    /// NIC whose function is meant, or a port.
    pub interface: &'a str,
    /// Number of the virtual function.
    pub vf: Option<u32>,
    /// Highest rate, 0 for none; without it the one found stays.
    pub max: Option<BitRate>,
    /// Lowest rate; without it the one found stays.
    pub min: Option<BitRate>,
}

/// A limit in the words of its setting.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The port: `tap0`, `eth0/vf3`.
    pub port: String,
    /// Its setting.
    pub knob: Knob,
    /// The value that is to be written.
    pub value: String,
    /// What was rounded, for the user.
    pub rounded: Option<String>,
    /// The rate, 0 for none.
    pub rate: BitRate,
    /// Bytes that may pass at once, beyond the rate: those of the bucket, and one frame that ends when it is counted.
    burst: u64,
    /// Open vSwitch limits it.
    switched: bool,
}

impl Inventory {
    /// Checks what is asked for.
    ///
    /// # Errors
    /// What cannot be limited so, and what to write instead.
    pub fn limit(&self, request: LimitRequest<'_>) -> Result<Limit, Error> {
        match request.vf {
            Some(vf) => function(self, request, vf),
            None => port(self, request),
        }
    }

    /// Looks for `time` whether a limit holds.
    ///
    /// # Errors
    /// When the counters cannot be read.
    pub fn verify(
        &self,
        request: LimitRequest<'_>,
        limit: &Limit,
        time: Duration,
    ) -> Result<Verdict, Error> {
        if limit.rate.0 == 0 || time.is_zero() {
            return Ok(Verdict::NotAsked);
        }
        if limit.switched {
            return Ok(Verdict::NotCounted);
        }
        let sent = || self.sent(request.interface, request.vf);
        let first = Instant::now();
        let Some(before) = sent()? else {
            return Ok(Verdict::NotCounted);
        };
        let begin = Instant::now();
        std::thread::sleep(time);
        let after = sent()?;
        let watched = Watched {
            before,
            after,
            time: begin.elapsed(),
            lead: begin - first,
        };
        Ok(watched.judge(limit.rate, limit.burst))
    }

    /// Whether a policer holds less than all, by what the driver has made of it.
    ///
    /// # Errors
    /// When the function cannot be read.
    pub fn is_software_only(&self, request: LimitRequest<'_>) -> Result<bool, Error> {
        let Some(vf) = request.vf else {
            return Ok(false);
        };
        let list = self.functions.read(request.interface)?;
        let mut functions = list.functions.iter().filter(|function| function.vf == vf);
        Ok(functions.any(|function| counters::policed(function).is_some_and(|p| !p.in_hardware)))
    }

    /// Removes what ports that are gone have left. What cannot be removed limits nothing.
    pub fn sweep(&self) {
        let _ = self.shapers.sweep();
    }
}

/// A virtual function.
fn function(inventory: &Inventory, request: LimitRequest<'_>, vf: u32) -> Result<Limit, Error> {
    let nic = request.interface;
    let list = inventory.functions.read(nic).map_err(|error| match error {
        error if error.is_not_found() => no_interface(nic),
        error => error.into(),
    })?;
    if list.functions.iter().all(|function| function.vf != vf) {
        return Err(match list.announced {
            0 => Error::refused(
                ProblemCode::LimitRefused,
                format!("{nic} has no virtual functions"),
                "see nicety port list",
            ),
            count => Error::refused(
                ProblemCode::LimitRefused,
                format!("{nic} has no function {vf}; its {count} are numbered from 0"),
                format!("see nicety port list {nic}"),
            ),
        });
    }
    let Some((_, driver)) = inventory.driver(nic) else {
        return Err(Error::refused(
            ProblemCode::MachineLacks,
            format!("the driver of {nic} is not known"),
            "mount sysfs at /sys",
        ));
    };
    let link = inventory.places.speed_mbit(nic).map(BitRate::from_mbit);
    let function = list.functions.iter().find(|function| function.vf == vf);
    let driver = driver.limiting(function.map_or(Way::Driver, way));
    let representor = function.and_then(|function| function.representor.as_deref());
    if let Some((kind, on)) = function.and_then(foreign).zip(representor) {
        return Err(Error::refused(
            ProblemCode::LimitRefused,
            format!("{nic}/vf{vf}: {on}, where it is limited, has somebody else's {kind} qdisc"),
            instead_of(kind, &format!("tc filter show dev {on} ingress")),
        ));
    }
    let kept = driver.minimum_kept(function.and_then(|function| function.min_mbit));
    let found = function.and_then(|function| function.max_mbit);
    let found = || BitRate::from_mbit(found.unwrap_or_default().into());
    let accepted = driver
        .check(
            request.max.unwrap_or_else(found),
            request.min.or(kept),
            link,
        )
        .map_err(|refusal| Error::Limit {
            port: format!("{nic}/vf{vf}"),
            refusal,
        })?;
    Ok(Limit {
        port: format!("{nic}/vf{vf}"),
        knob: Knob::VfRate {
            interface: nic.to_owned(),
            vf,
        },
        value: format!("max {} min {}", accepted.max_mbit, accepted.min_mbit),
        rounded: accepted.rounded,
        rate: BitRate::from_mbit(accepted.max_mbit.into()),
        burst: match function.map(way) {
            Some(Way::Policer) => {
                policer::burst_bytes(BitRate::from_mbit(accepted.max_mbit.into()))
            }
            // What the NIC's own is nobody tells.
            _ => 0,
        },
        switched: false,
    })
}

/// A tap, veth or macvtap, or a vhost-user port of Open vSwitch.
fn port(inventory: &Inventory, request: LimitRequest<'_>) -> Result<Limit, Error> {
    let name = request.interface;
    if request.min.is_some() {
        return Err(Error::refused(
            ProblemCode::LimitRefused,
            format!("{name} is not a virtual function, and only these have a minimum"),
            "leave out --min",
        ));
    }
    let switched = match inventory.shapers.read(name) {
        Ok(_) => false,
        Err(error) => {
            let found = Policing::here().instead(name, &error);
            if found?.is_none() {
                return Err(unknown(inventory, name, error));
            }
            true
        }
    };
    let max = request.max.unwrap_or_default();
    // In whole kbit/s, so that what is read back is what was written.
    let rate = BitRate(max.0 / 1000 * 1000);
    if max.0 > 0 && rate < BitRate(64_000) {
        return Err(Error::refused(
            ProblemCode::LimitRefused,
            format!("{max} is too little to work with"),
            "write at least 64kbit, or none",
        ));
    }
    Ok(Limit {
        port: name.to_owned(),
        knob: Knob::PortRate {
            interface: name.to_owned(),
        },
        value: match rate {
            BitRate(0) => "none".to_owned(),
            rate => rate.to_string(),
        },
        rounded: (rate != max).then(|| format!("{max} → {rate}: whole kbit/s")),
        rate,
        burst: burst(rate, inventory.links.get(name).map_or(0, |link| link.mtu)),
        switched,
    })
}

/// What passes beyond a rate at a port of this MTU.
fn burst(rate: BitRate, mtu: u32) -> u64 {
    let shape = Shape {
        wire: false,
        ..Shape::wire(rate)
    };
    shaper::burst_bytes(shape, BURST, mtu) + shaper::longest_frame(mtu)
}

pub(super) fn no_interface(name: &str) -> Error {
    Error::refused(
        ProblemCode::NoSuchPort,
        format!("there is no interface {name} in this network namespace"),
        "see nicety port list",
    )
}

/// Nothing that can be limited.
fn unknown(inventory: &Inventory, name: &str, error: NetError) -> Error {
    if error.is_not_found() {
        return no_interface(name);
    }
    if !error.is_unsupported() {
        return error.into();
    }
    let link = inventory.links.get(name).ok();
    let kind = link.map(|link| link.kind).unwrap_or_default();
    let stands_for = inventory.places.attribute(name, "phys_port_name");
    instead(name, &kind, stands_for.as_deref())
}

/// Why an interface cannot be limited, and what can: a representor says which function it stands for
/// (Documentation/networking/representors.rst).
fn instead(name: &str, kind: &str, stands_for: Option<&str>) -> Error {
    let refuse =
        |what: String, remedy: String| Error::refused(ProblemCode::LimitRefused, what, remedy);
    let function =
        stands_for.and_then(|port| port.split_once("vf").map(|(nic, vf)| (port, nic, vf)));
    if let Some((port, nic, vf)) = function
        && nic.contains("pf")
        && vf.parse::<u32>().is_ok()
    {
        return refuse(
            format!("{name} stands for {port} of its NIC"),
            format!("limit that: nicety port limit NIC/vf{vf} RATE"),
        );
    }
    match kind {
        "openvswitch" => refuse(
            format!("{name} is the host's own port of an Open vSwitch"),
            "limit the tap, veth or vhost-user port of the sender".to_owned(),
        ),
        _ => refuse(
            format!("{name} is not a tap, veth or macvtap"),
            format!("for a virtual function write nicety port limit {name}/vf0 RATE"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_limited_is_refused_with_what_can() {
        let said = |kind, port| instead("x", kind, port).to_string();
        assert!(said("", Some("pf0vf3")).contains("nicety port limit NIC/vf3 RATE"));
        assert!(said("", Some("c1pf0vf12")).contains("stands for c1pf0vf12 of its NIC"));
        assert!(said("openvswitch", None).contains("own port of an Open vSwitch; "));
        for port in [
            None,
            Some("p0"),
            Some("pf0"),
            Some("pf0vf"),
            Some("vf3"),
            Some(""),
        ] {
            assert!(
                said("", port).starts_with("x is not a tap, veth or macvtap; "),
                "{port:?}"
            );
        }
    }
}
