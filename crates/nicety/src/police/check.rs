//! What is refused before anything is changed.

use anyhow::anyhow;
use nicety_police::driver::Steps;
use nicety_police::{Policy, PortName};

use super::ports::{Look, Place, Ports};
use crate::exit::Failure;
use crate::output;

/// Refuses ports that are not there, cannot be limited, or are somebody else's; tells of those that
/// nobody counts.
pub fn check(
    policy: &Policy,
    file: &str,
    ports: &mut Ports,
    absent_ok: bool,
) -> Result<(), Failure> {
    let mut look = ports.survey().map_err(Failure::environment)?;
    let mut steps: Vec<Vec<Steps>> = vec![Vec::new(); policy.tenants.len()];
    for (number, (tenant, port)) in policy.ports().enumerate() {
        let of = &policy.tenants[tenant].name;
        let refuse = |why: String| Failure::usage(anyhow!("{file}: tenant {of:?}: {why}"));
        let moment = look.take(number, port);
        // What a function takes is known when it is there.
        steps[tenant].extend(match (moment.setup, port) {
            (Some(setup), _) => Some(setup.steps),
            (None, PortName::Interface(_)) => Some(Steps::tc()),
            (None, PortName::Vf { .. }) => None,
        });
        match moment.place {
            Place::Gone if absent_ok => {}
            Place::Gone => return Err(refuse(gone(port, &look))),
            Place::Waits(_) | Place::Silent(_) if absent_ok => {}
            Place::Silent(why) => {
                let why = why.unwrap_or_else(|| "the kernel has not answered".to_owned());
                return Err(Failure::environment(anyhow!(
                    "{port}: {why}; a driver or the firmware of a NIC may hang, see dmesg; --absent-ok starts without it"
                )));
            }
            Place::Waits(why) => {
                return Err(refuse(format!(
                    "{port}: {why}; correct that, or start with --absent-ok"
                )));
            }
            Place::Unfit(why) => return Err(refuse(why)),
            Place::Foreign(kind) => {
                let name = port.to_string();
                let on = representor(port, &look).unwrap_or(&name);
                return Err(refuse(format!(
                    "{on} has somebody else's {kind} qdisc; remove it first, see tc qdisc show dev {on}"
                )));
            }
            Place::There(_) => {}
        }
        function(policy, port, &look).map_err(refuse)?;
    }
    for (tenant, steps) in policy.tenants.iter().zip(&steps) {
        let refuse = |why| Failure::usage(anyhow!("{file}: tenant {:?}: {why}", tenant.name));
        tenant.suits(steps).map_err(refuse)?;
    }
    Ok(())
}

/// The interface that a function is limited on, where it is one of the host.
fn representor<'a>(port: &PortName, look: &'a Look) -> Option<&'a str> {
    let PortName::Vf { pf, vf } = port else {
        return None;
    };
    look.nic(pf)?.representor(*vf)
}

fn gone(port: &PortName, look: &Look) -> String {
    let name = match port {
        PortName::Interface(name) => name,
        PortName::Vf { pf, .. } if !look.has(pf) => pf,
        PortName::Vf { pf, vf } => {
            return format!(
                "{pf} has no function {vf}; correct the number, see nicety vf list {pf}, or start with --absent-ok"
            );
        }
    };
    format!(
        "there is no interface {name} in this network namespace; correct the name, or start with --absent-ok"
    )
}

/// What counts a function must suit the period.
fn function(policy: &Policy, port: &PortName, look: &Look) -> Result<(), String> {
    let PortName::Vf { pf, vf } = port else {
        return Ok(());
    };
    let Some(nic) = look.nic(pf) else {
        return Ok(());
    };
    if let Some(longest) = nic.longest_period(*vf)
        && policy.period > longest
    {
        return Err(format!(
            "the counters of {port} wrap too often for a period of {:?}; write at most {} s",
            policy.period,
            longest.as_secs()
        ));
    }
    if nic.counts(*vf).is_none() && nic.has(*vf) {
        output::say(&format!(
            "port {port}: nobody here counts what it sends; it counts as wanting all it may have"
        ));
    }
    Ok(())
}
