//! Ports that are refused before anything is changed, and why.

use std::time::Duration;

use nicety_model::traffic_control::{CLSACT, instead_of};
use nicety_model::{BitRate, Problem};

use crate::adopt::{By, Unknown, Way};
use crate::driver::Steps;
use crate::policy::{Policy, PortName};
use crate::snapshot::Place;

/// A port of the policy as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Another program says what the port is. It may say anything, so the port waits as it does while the daemon runs.
    pub is_named: bool,
    /// The interface or function found under its name.
    pub place: Place,
    /// The same for what it receives, where that is limited.
    pub receives: Option<Place>,
    /// The limits it takes, where that is known.
    pub steps: Option<Steps>,
    /// NIC of a function.
    pub nic: Nic,
}

/// The NIC of a function; all false for an interface.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nic {
    /// There is an interface of its name.
    pub is_there: bool,
    /// Its driver reports the function.
    pub has_function: bool,
    /// The function's frames are counted somewhere.
    pub counts: bool,
    /// The interface that the function is limited on, where it is one of the host.
    pub representor: Option<String>,
    /// The longest period in which no counter of the function wraps too far.
    pub longest_period: Option<Duration>,
}

/// Result of the check.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Admission {
    /// Ports without a counter, by number.
    pub uncounted: Vec<usize>,
    /// The first one that is refused.
    pub refusal: Option<Refusal>,
}

/// Why a policy cannot be used on this host.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The kernel does not answer: nothing is wrong with the policy.
    #[error(
        "{port}: {why}; a driver or the firmware of a NIC may hang, see dmesg; --absent-ok starts without it"
    )]
    Silent {
        /// The port.
        port: PortName,
        /// What is known.
        why: String,
    },
    /// A tenant cannot be served.
    #[error("tenant {tenant:?}: {why}")]
    Tenant {
        /// Its name.
        tenant: String,
        /// Why.
        why: Unusable,
    },
}

/// Why a tenant cannot be served.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// There is no such interface.
    #[error(
        "there is no interface {0} in this network namespace; correct the name, or start with --absent-ok"
    )]
    NoInterface(String),
    /// A name that is no port now, with `--strict`.
    #[error(
        "{name} does not resolve to an interface: {why}; or start without --strict, which waits for it"
    )]
    NotNow {
        /// The name.
        name: String,
        /// Why.
        why: String,
    },
    /// Two names of one port.
    #[error("{name} is {on}, which is {other} too; remove one of them")]
    Same {
        /// The second name.
        name: String,
        /// The first.
        other: String,
        /// The port that both are.
        on: String,
    },
    /// The NIC has no such function.
    #[error(
        "{pf} has no function {vf}; correct the number, see nicety port list {pf}, or start with --absent-ok"
    )]
    NoFunction {
        /// Interface of the physical function.
        pf: String,
        /// Number of the virtual one.
        vf: u32,
    },
    /// A port cannot be limited now.
    #[error("{port}: {why}; correct that, or start with --absent-ok")]
    Waits {
        /// The port.
        port: PortName,
        /// Why.
        why: String,
    },
    /// A port can never be limited: why.
    #[error("{0}")]
    Unfit(String),
    /// Another program limits it.
    #[error("{on} has somebody else's {kind} qdisc; {}", instead_of(kind, &format!("tc qdisc show dev {on}")))]
    Foreign {
        /// The interface.
        on: String,
        /// Kind of the qdisc.
        kind: String,
    },
    /// Another program limits it, and the policy does not say what to do with that.
    #[error(
        "{by} limits {on} to {most} already; write {}, or remove it: tc qdisc del dev {on} {at}",
        if *barred {
            "adopt = \"replace\" to take its place"
        } else {
            "adopt = \"cap\" to share below that"
        }
    )]
    Limited {
        /// The port.
        on: String,
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
        /// Nothing can come before it.
        barred: bool,
        /// Where: `ingress`, or `root` of a macvtap.
        at: &'static str,
    },
    /// Another program limits it in a way that cannot be adopted.
    #[error("{on} has a limit that cannot be adopted: {what}; see tc filter show dev {on} ingress")]
    NotAdoptable {
        /// The port.
        on: String,
        /// What it is.
        what: Unknown,
    },
    /// Another program does what is no limit.
    #[error(
        "{on} has filters of somebody else that are no limit to adopt: {what}; remove them, see tc filter show dev \
         {on} ingress; if a program sets its limits so, please report what that shows"
    )]
    Strange {
        /// The port.
        on: String,
        /// What they do.
        what: Unknown,
    },
    /// A BPF program decides about its frames.
    #[error(
        "{on} cannot be limited here: {what}; {}",
        instead_of(CLSACT, &format!("tc filter show dev {on} ingress"))
    )]
    Programmed {
        /// The port.
        on: String,
        /// Whose it is.
        what: Unknown,
    },
    /// What it receives can never be limited: why.
    #[error("{0}; remove rx_max from the tenant, and rx_guarantee from all, or remove the port")]
    NotReceiver(String),
    /// Another program limits what it receives, and the policy does not say what to do with that.
    #[error(
        "{by} limits what {on} receives to {most} already; write {}, or remove it: tc qdisc del dev {on} root",
        if *barred {
            "adopt = \"replace\" to take its place"
        } else {
            "adopt = \"cap\" to share below that"
        }
    )]
    LimitsReceived {
        /// The port.
        on: String,
        /// Whose limit it is.
        by: By,
        /// Its rate.
        most: BitRate,
        /// Nothing can come below it.
        barred: bool,
    },
    /// Another program limits what it receives in a way that cannot be taken over.
    #[error(
        "what {on} receives has a limit that cannot be adopted: {what}; see tc qdisc show dev {on}, or remove rx_max \
         from the tenant and rx_guarantee from all"
    )]
    NoReceivedLimit {
        /// The port.
        on: String,
        /// What it is.
        what: Unknown,
    },
    /// Another program has something at its root.
    #[error(
        "{on} has somebody else's queueing discipline for what it receives: {what}; remove it, see tc qdisc show dev {on}"
    )]
    HoldsReceived {
        /// The port.
        on: String,
        /// What it is.
        what: String,
    },
    /// Packets of a function.
    #[error(
        "the packets that {0} sends cannot be limited: NICs limit virtual functions by bits only; remove max_pps from \
         the tenant and from [link], or remove the port"
    )]
    NoPackets(PortName),
    /// Narrow counters and a long period.
    #[error(
        "the counters of {port} wrap too often for a period of {period:?}; write at most {} s",
        longest.as_secs()
    )]
    Wraps {
        /// The port.
        port: PortName,
        /// Of the policy.
        period: Duration,
        /// In which they do not.
        longest: Duration,
    },
    /// The ports do not take the tenant's limits.
    #[error("{0}")]
    Limits(Problem),
}

/// Looks at the ports of a policy, one candidate for each in its order. With `absent_ok` those that are not
/// there yet are no reason to refuse.
pub fn admit(policy: &Policy, candidates: &[Candidate], absent_ok: bool) -> Admission {
    let mut uncounted = Vec::new();
    let refusal = judge(policy, candidates, absent_ok, &mut uncounted).err();
    Admission { uncounted, refusal }
}

fn judge(
    policy: &Policy,
    candidates: &[Candidate],
    absent_ok: bool,
    uncounted: &mut Vec<usize>,
) -> Result<(), Refusal> {
    let refuse = |tenant: usize| {
        let tenant = policy.tenants[tenant].name.clone();
        move |why| Refusal::Tenant { tenant, why }
    };
    let mut steps: Vec<Vec<Steps>> = vec![Vec::new(); policy.tenants.len()];
    for (number, ((tenant, port), candidate)) in policy.ports().zip(candidates).enumerate() {
        // What a function takes is known when it is there.
        steps[tenant].extend(match (candidate.steps, port) {
            (Some(steps), _) => Some(steps),
            (None, PortName::Interface(_)) => Some(Steps::tc()),
            (None, PortName::Vf { .. } | PortName::Named(_)) => None,
        });
        if let (Place::Silent(why), false) = (&candidate.place, absent_ok) {
            let port = port.clone();
            let why = (why.clone()).unwrap_or_else(|| "the kernel has not answered".to_owned());
            return Err(Refusal::Silent { port, why });
        }
        if candidate.waits() {
            continue;
        }
        place(port, candidate, absent_ok).map_err(refuse(tenant))?;
        if let Some(place) = &candidate.receives {
            receives(port, place).map_err(refuse(tenant))?;
        }
        if matches!(port, PortName::Vf { .. }) && policy.limits_packets(tenant) {
            return Err(refuse(tenant)(Unusable::NoPackets(port.clone())));
        }
        let nic = &candidate.nic;
        if let Some(longest) = nic
            .longest_period
            .filter(|longest| policy.period > *longest)
        {
            return Err(refuse(tenant)(Unusable::Wraps {
                port: port.clone(),
                period: policy.period,
                longest,
            }));
        }
        if nic.has_function && !nic.counts {
            uncounted.push(number);
        }
    }
    for (number, (tenant, steps)) in policy.tenants.iter().zip(&steps).enumerate() {
        let compatible = tenant.compatible_with(steps);
        compatible.map_err(|problem| refuse(number)(Unusable::Limits(problem)))?;
    }
    Ok(())
}

impl Candidate {
    /// Its name is that of an interface that no limit fits.
    fn waits(&self) -> bool {
        let is_unfit = |place: &Place| matches!(place, Place::Unfit(_));
        self.is_named && (is_unfit(&self.place) || self.receives.as_ref().is_some_and(is_unfit))
    }
}

/// Whether what a port receives can be limited. Whether it is there was judged before.
fn receives(port: &PortName, place: &Place) -> Result<(), Unusable> {
    let on = port.to_string();
    Err(match place {
        Place::There(_) | Place::Gone | Place::Waits(_) | Place::Silent(_) => return Ok(()),
        Place::Unfit(why) => Unusable::NotReceiver(why.clone()),
        Place::Theirs(what) => match &**what {
            Ok(adopted) => Unusable::LimitsReceived {
                on,
                by: adopted.by,
                most: adopted.rate,
                barred: adopted.bars().is_some(),
            },
            Err(what) if !what.is_strange() => Unusable::NoReceivedLimit {
                on,
                what: what.clone(),
            },
            Err(what) => Unusable::HoldsReceived {
                on,
                what: what.to_string(),
            },
        },
        Place::Foreign(kind) => Unusable::HoldsReceived {
            on,
            what: kind.clone(),
        },
    })
}

/// Whether a limit can be set where the port should be.
fn place(port: &PortName, candidate: &Candidate, absent_ok: bool) -> Result<(), Unusable> {
    Err(match &candidate.place {
        Place::There(_) => return Ok(()),
        Place::Gone | Place::Waits(_) | Place::Silent(_) if absent_ok => return Ok(()),
        // Its owner may start later.
        Place::Gone if matches!(port, PortName::Named(_)) => return Ok(()),
        Place::Gone | Place::Silent(_) => match port {
            PortName::Vf { pf, vf } if candidate.nic.is_there => Unusable::NoFunction {
                pf: pf.clone(),
                vf: *vf,
            },
            PortName::Interface(name) | PortName::Vf { pf: name, .. } => {
                Unusable::NoInterface(name.clone())
            }
            PortName::Named(name) => Unusable::NotNow {
                name: name.to_string(),
                why: "nobody has told".to_owned(),
            },
        },
        Place::Waits(why) => Unusable::Waits {
            port: port.clone(),
            why: why.clone(),
        },
        Place::Unfit(why) => Unusable::Unfit(why.clone()),
        Place::Theirs(what) => match &**what {
            Ok(adopted) => Unusable::Limited {
                on: port.to_string(),
                by: adopted.by,
                most: adopted.rate,
                barred: adopted.bars().is_some(),
                at: match adopted.way {
                    Way::Sends => "ingress",
                    Way::Receives => "root",
                },
            },
            Err(what) if what.is_at_root() => Unusable::Foreign {
                on: port.to_string(),
                kind: match what {
                    Unknown::Kind { kind, .. } => kind.clone(),
                    _ => "htb".to_owned(),
                },
            },
            Err(what) if !what.is_strange() => Unusable::NotAdoptable {
                on: port.to_string(),
                what: what.clone(),
            },
            Err(what @ Unknown::Program { .. }) => Unusable::Programmed {
                on: port.to_string(),
                what: what.clone(),
            },
            Err(what) => Unusable::Strange {
                on: port.to_string(),
                what: what.clone(),
            },
        },
        Place::Foreign(kind) => Unusable::Foreign {
            on: (candidate.nic.representor.clone()).unwrap_or_else(|| port.to_string()),
            kind: kind.clone(),
        },
    })
}

#[cfg(test)]
mod tests;
