//! What is refused before anything is changed.

use nicety_police::admission::{self, Candidate};
use nicety_police::adopt::Way;
use nicety_police::event::{Event, PortEvent};
use nicety_police::{Policy, PortName};

use crate::Error;
use crate::log::Log;
use crate::ports::{Look, Ports};

/// Refuses ports that are not there, cannot be limited, or are somebody else's; reports those that
/// nobody counts.
pub fn check(
    policy: &Policy,
    file: &str,
    ports: &mut Ports,
    absent_ok: bool,
    log: &Log,
) -> Result<(), Error> {
    let mut look = ports.survey()?;
    // Names are judged as the ports that they are.
    let names = ports.names().iter().enumerate();
    let said = policy.ports();
    let candidates: Vec<Candidate> = names
        .zip(said)
        .map(|((number, port), (tenant, name))| {
            let receives = policy.limits_received(tenant);
            let receives = receives.then(|| look.take(Way::Receives, number, port).place);
            Candidate {
                is_named: matches!(name, PortName::Named(_)),
                receives,
                ..candidate(number, port, &mut look)
            }
        })
        .collect();
    let known = known(policy, ports.names());
    let admission = admission::admit(&known, &candidates, absent_ok);
    for number in admission.uncounted {
        if let Some((_, port)) = policy.ports().nth(number) {
            log.report(&Event::Port {
                port: port.to_string(),
                interface: None,
                tenant: None,
                event: PortEvent::Uncounted,
            });
        }
    }
    match admission.refusal {
        None => Ok(()),
        Some(refusal) => Err(Error::Refused {
            policy: file.to_owned(),
            refusal,
        }),
    }
}

/// A policy with its ports as the kernel knows them.
fn known(policy: &Policy, names: &[PortName]) -> Policy {
    let mut policy = policy.clone();
    let ports = policy
        .tenants
        .iter_mut()
        .flat_map(|tenant| &mut tenant.ports);
    for (port, name) in ports.zip(names) {
        port.clone_from(name);
    }
    policy
}

fn candidate(number: usize, port: &PortName, look: &mut Look) -> Candidate {
    let snapshot = look.take(Way::Sends, number, port);
    let nic = match port {
        PortName::Interface(_) | PortName::Named(_) => admission::Nic::default(),
        PortName::Vf { pf, vf } => {
            let nic = look.nic(pf);
            admission::Nic {
                is_there: look.has(pf),
                has_function: nic.is_some_and(|nic| nic.has(*vf)),
                counts: nic.is_some_and(|nic| nic.counts(*vf)),
                representor: nic.and_then(|nic| Some(nic.representor(*vf)?.to_owned())),
                longest_period: nic.and_then(|nic| nic.longest_period(*vf)),
            }
        }
    };
    Candidate {
        steps: snapshot.setup.map(|setup| setup.steps),
        place: snapshot.place,
        is_named: false,
        receives: None,
        nic,
    }
}
