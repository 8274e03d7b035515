//! The same decisions, not applied.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nicety_model::{BitRate, SCHEMA};
use nicety_police::adopt::Way;
use nicety_police::explain::readable;
use nicety_police::packets::{self, Packets};
use nicety_police::report::{DryPeriod, DryPort, DryReceived};
use nicety_police::{Controller, Decision, Policy, PortDecision, PortName, Seen, Tuning};

use crate::admission::check;
use crate::daemon::FIRST;
use crate::log::Log;
use crate::names::{Bound, Start};
use crate::ports::Ports;
use crate::soft_limits::SoftLimits;
use crate::{Error, PolicyFile, guests};

/// Periods when nothing is said.
const PERIODS: u64 = 3;
/// Shorter ones are waited for so long.
const LEAST: Duration = Duration::from_millis(100);

/// One period.
#[derive(Debug, Clone, Copy)]
pub struct DryRun<'a> {
    /// Its number, from 1.
    pub period: u64,
    /// By which it was decided.
    pub policy: &'a Policy,
    /// What would be done.
    pub decision: &'a Decision,
    /// What was seen of each port.
    pub seen: &'a [Seen],
    /// The same of what tenants receive, where the policy limits that.
    pub received: Option<(&'a Decision, &'a [Seen])>,
    /// Packets a second that each port could send at most, and receive; none where they are not limited.
    pub packets: [&'a [Option<u64>]; 2],
}

/// Decides for a few periods what would be done, and hands each over.
///
/// # Errors
/// As [`crate::daemon::Daemon::start`], and those of `each`.
pub fn run<E: From<Error>>(
    policy: &PolicyFile,
    directory: &Path,
    (absent_ok, periods): (bool, Option<u64>),
    log: &Log,
    mut each: impl FnMut(&DryRun<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let PolicyFile { policy, file, .. } = policy;
    let mut ports = Ports::open(Some(policy), log)?;
    let start = Start {
        file,
        strict: false,
        wait: FIRST,
    };
    let bound = Bound::start(policy, &mut ports, start, None)?;
    check(policy, file, &mut ports, absent_ok, log)?;
    let names = Arc::clone(ports.names());
    guests::check(policy)?;
    let softs = guests::softs(policy, &SoftLimits::open(directory, log), None);
    let mut controller = Controller::new(policy.clone(), &[], Tuning::default());
    for (tenant, soft) in softs.now().into_iter().enumerate() {
        controller.soften(tenant, soft);
    }
    let turned = policy.received();
    let mut receives = turned
        .as_ref()
        .map(|turned| Controller::new(turned.clone(), &[], Tuning::default()));
    let (mut sending, mut coming) = (Packets::of(policy), turned.as_ref().and_then(Packets::of));
    // The first sample has no rate yet.
    for period in 0..=periods.unwrap_or(PERIODS) {
        if period > 0 {
            std::thread::sleep(policy.period.max(LEAST));
        }
        let mut survey = ports.survey().map_err(Error::from)?;
        let mut seen = Vec::new();
        for (index, port) in names.iter().enumerate() {
            let snapshot = survey.take(Way::Sends, index, port);
            if let Some(setup) = &snapshot.setup {
                controller.describe(index, setup);
            }
            seen.push(snapshot.seen);
        }
        let mut decision = packets::step(sending.as_mut(), &mut controller, &seen);
        for (index, port) in decision.ports.iter_mut().enumerate() {
            let to = bound.of(index).and_then(|bound| bound.to.as_ref());
            port.interface = to.map(ToString::to_string);
        }
        let limited = policy
            .ports()
            .map(|(tenant, _)| policy.limits_received(tenant));
        let mut got = Vec::new();
        for (limited, (index, port)) in limited.zip(names.iter().enumerate()) {
            if !limited {
                got.push(Seen::default());
                continue;
            }
            let snapshot = survey.take(Way::Receives, index, port);
            if let (Some(controller), Some(setup)) = (&mut receives, &snapshot.setup) {
                controller.describe(index, setup);
            }
            got.push(snapshot.seen);
        }
        let received = receives
            .as_mut()
            .map(|controller| packets::step(coming.as_mut(), controller, &got));
        let most = [&sending, &coming].map(|packets| {
            let limit = |port| packets.as_ref().and_then(|packets| packets.limit(port));
            (0..names.len()).map(limit).collect::<Vec<_>>()
        });
        if period > 0 {
            each(&DryRun {
                period,
                policy,
                decision: &decision,
                seen: &seen,
                received: received.as_ref().map(|decision| (decision, &got[..])),
                packets: most.each_ref().map(|most| &most[..]),
            })?;
        }
    }
    Ok(())
}

impl DryRun<'_> {
    /// What a port receives, where that is limited.
    fn receives(&self, index: usize) -> Option<(&PortDecision, &Seen)> {
        let (decision, seen) = self.received?;
        let port = decision.ports.get(index)?;
        let limited = self.policy.limits_received(port.tenant);
        Some((port, seen.get(index)?)).filter(|_| limited)
    }

    /// Packets a second that a port would get at most.
    fn most(&self, way: Way, index: usize) -> Option<u64> {
        let [sends, receives] = self.packets;
        let most = match way {
            Way::Sends => sends,
            Way::Receives => receives,
        };
        most.get(index).copied().flatten()
    }

    /// As JSON has it.
    pub fn report(&self) -> DryPeriod {
        let ports = self.decision.ports.iter().zip(self.seen).enumerate();
        let limit = |now: &Seen| now.limit.filter(|limit| limit.0 > 0).map(BitRate::bps);
        let port = |(index, (port, now)): (usize, (&PortDecision, &Seen))| DryPort {
            receives: self.receives(index).map(|(port, now)| DryReceived {
                rate_bps: port.rate_bps,
                limit_bps: limit(now),
                would_be_bps: port.present.then(|| port.limit.bps()),
                would_be_pps: self.most(Way::Receives, index),
            }),
            would_be_pps: self.most(Way::Sends, index),
            port: PortName::clone(&port.port),
            tenant: self.policy.tenants[port.tenant].name.clone(),
            present: port.present,
            rate_bps: port.rate_bps,
            limit_bps: limit(now),
            would_be_bps: port.present.then(|| port.limit.bps()),
        };
        DryPeriod {
            schema: SCHEMA,
            period: self.period,
            capacity_bps: self.policy.capacity.bps(),
            total_bps: self.decision.total_bps,
            ports: ports.map(port).collect(),
        }
    }
}

/// A line of the period, and one of each port.
impl fmt::Display for DryRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, capacity) = (readable(self.decision.total_bps), self.policy.capacity);
        writeln!(f, "period {}: {total} of {capacity}", self.period)?;
        for (index, (port, now)) in self.decision.ports.iter().zip(self.seen).enumerate() {
            let tenant = &self.policy.tenants[port.tenant].name;
            let port_is = port.called();
            writeln!(
                f,
                "  {port_is} ({tenant}): sends {}",
                one(port, now, self.most(Way::Sends, index))
            )?;
            if let Some((port, now)) = self.receives(index) {
                let most = self.most(Way::Receives, index);
                writeln!(
                    f,
                    "  {port_is} ({tenant}): receives {}",
                    one(port, now, most)
                )?;
            }
        }
        Ok(())
    }
}

/// Rate, limit, and what that would be.
fn one(port: &PortDecision, now: &Seen, packets: Option<u64>) -> String {
    if !port.present && now.limit.is_none() && port.rate_bps.is_none() {
        return "nothing yet: no such interface; waiting".to_owned();
    }
    let has = match now.limit {
        Some(limit) if limit.0 > 0 => limit.to_string(),
        Some(_) => "none".to_owned(),
        None => "not there".to_owned(),
    };
    let rate = port.rate_bps.map_or("nothing known".to_owned(), readable);
    let would_be = if port.present {
        format!(", would be {}", port.limit)
    } else {
        String::new()
    };
    let packets = packets.filter(|_| port.present);
    let packets = packets.map_or_else(String::new, |most| format!(", at most {most} packets/s"));
    format!("{rate}, limit {has}{would_be}{packets}")
}
