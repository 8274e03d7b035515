//! The guard's own process.

use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use nicety_host::journal::since_boot;
use nicety_model::BitRate;
use nicety_netdev::privilege::keep_net_admin;
use nicety_police::adopt::Way;
use nicety_police::driver::Steps;
use nicety_police::policy::{DEFAULT_PERIOD, LEAST_RATE, Received};
use nicety_police::{Policy, PortName, Tenant};

use super::{Guarded, TAKEN, Word};
use crate::Error;
use crate::log::Log;
use crate::ports::{How, Limit, Ports};

/// How often it looks again at ports whose time is over: a call that hung may raise one late.
const AGAIN: Duration = Duration::from_millis(500);
/// Looks after the last that had to lower something, before a guard without a daemon ends.
const LOOKS: u32 = 3;

/// What it holds.
struct Held {
    ports: Ports,
    policy: Policy,
    safe: Vec<BitRate>,
    deadline: Option<Duration>,
}

/// Guards until it is told to end, or the daemon is gone and all ports are safe. `from` is what the daemon says, `to`
/// is what it hears.
///
/// # Errors
/// When the daemon says nothing that can be guarded, or the kernel refuses.
pub fn run(
    from: impl BufRead + Send + 'static,
    to: &mut impl Write,
    log: &Log,
) -> Result<(), Error> {
    // Out of the terminal's session: its hang-up and Ctrl-C go to others.
    rustix::process::setsid().map_err(std::io::Error::from)?;
    keep_net_admin()?;
    let words = words(from)?;
    let mut held = None;
    let mut calm = 0;
    loop {
        match words.recv_timeout(pause(held.as_ref())) {
            Ok(Word::End) => return answer(to, TAKEN),
            Ok(Word::Guard(tenants)) => {
                held = Some(Held::new(tenants, log)?);
                answer(to, TAKEN)?;
            }
            Ok(Word::Ports(ports)) => {
                if let Some(held) = &mut held {
                    held.follow(ports, log)?;
                }
                answer(to, TAKEN)?;
            }
            Ok(Word::Hold { deadline, safe }) => {
                if let Some(held) = &mut held {
                    (held.deadline, held.safe) = (deadline, safe);
                }
                calm = 0;
                answer(to, TAKEN)?;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let Some(held) = &held else {
                    return Ok(());
                };
                if held.deadline.is_none() || calm >= LOOKS {
                    return Ok(());
                }
                std::thread::sleep(pause(Some(held)));
            }
        }
        if let Some(held) = &mut held
            && held
                .deadline
                .is_some_and(|deadline| since_boot() >= deadline)
        {
            calm = match held.lower() {
                Ok(0) => calm.saturating_add(1),
                // What the kernel refuses now it may take later.
                Ok(_) | Err(_) => 0,
            };
        }
    }
}

/// Until there is something to do.
fn pause(held: Option<&Held>) -> Duration {
    let deadline = held.and_then(|held| held.deadline);
    // Never long: a clock that stood still while the machine slept is looked at soon.
    deadline.map_or(Duration::from_secs(1), |deadline| {
        match deadline.saturating_sub(since_boot()) {
            Duration::ZERO => AGAIN,
            left => left.min(Duration::from_secs(1)),
        }
    })
}

/// Lines as they come.
fn words(from: impl BufRead + Send + 'static) -> std::io::Result<Receiver<Word>> {
    let (to, words) = channel();
    let read = move || {
        for line in from.lines().map_while(Result::ok) {
            let Ok(word) = serde_json::from_str(&line) else {
                return;
            };
            if to.send(word).is_err() {
                return;
            }
        }
    };
    let named = std::thread::Builder::new().name("orders".to_owned());
    named.spawn(read)?;
    Ok(words)
}

fn answer(to: &mut impl Write, words: &str) -> Result<(), Error> {
    // A daemon that was killed hears nothing, and its ports are guarded all the same.
    let _ = writeln!(to, "{words}").and_then(|()| to.flush());
    Ok(())
}

impl Held {
    fn new(tenants: Vec<Guarded>, log: &Log) -> Result<Self, Error> {
        let safe = vec![BitRate(0); tenants.len()];
        let tenants = tenants.into_iter().map(|tenant| Tenant {
            name: tenant.name,
            adopt: tenant.adopt,
            ports: tenant.ports,
            burst: tenant.burst,
            credit: None,
            weight: 1.0,
            guarantee: BitRate(0),
            cap: None,
            max_pps: None,
            received: Received::default(),
            total: None,
            guest: None,
        });
        let policy = Policy {
            capacity: BitRate(u64::MAX),
            packets: None,
            headroom: 0.0,
            idle_share: 1.0,
            drops: false,
            period: DEFAULT_PERIOD,
            cluster: None,
            bills: None,
            tenants: tenants.collect(),
        };
        Ok(Self {
            ports: Ports::open(Some(&policy), log)?,
            policy,
            safe,
            deadline: None,
        })
    }

    /// The tenants have these ports from now on.
    fn follow(&mut self, ports: Vec<Vec<PortName>>, log: &Log) -> Result<(), Error> {
        for (tenant, ports) in self.policy.tenants.iter_mut().zip(ports) {
            tenant.ports = ports;
        }
        self.ports = Ports::open(Some(&self.policy), log)?;
        Ok(())
    }

    /// Lowers what is above its safe share, and raises nothing. A port without any limit is not the daemon's yet,
    /// and nothing is noted about it: it is left alone. How many ports it has lowered.
    fn lower(&mut self) -> Result<usize, Error> {
        let mut look = self.ports.survey()?;
        let mut above = Vec::new();
        let named: Vec<_> = self
            .policy
            .ports()
            .map(|(tenant, name)| (tenant, name.clone()))
            .collect();
        for (tenant, burst) in self
            .policy
            .tenants
            .iter()
            .map(|tenant| tenant.burst)
            .enumerate()
        {
            let ports = named
                .iter()
                .enumerate()
                .filter(|(_, (of, _))| *of == tenant);
            let there: (Vec<usize>, Vec<(BitRate, Steps)>) = ports
                .filter_map(|(index, (_, name))| {
                    let found = look.take(Way::Sends, index, name);
                    let limit = found.seen.limit.filter(|limit| limit.0 > 0)?;
                    let steps = found.setup.map_or_else(Steps::tc, |setup| setup.steps);
                    found.seen.present.then_some((index, (limit, steps)))
                })
                .unzip();
            let safe = self.safe.get(tenant).copied().unwrap_or_default();
            let (indices, limits) = there;
            let lower = indices.into_iter().zip(lowered(safe, &limits));
            above.extend(lower.filter_map(|(index, rate)| Some((index, Limit::of(rate?, burst)))));
        }
        let mut lowered = 0;
        for (index, limit) in above {
            match self
                .ports
                .set((Way::Sends, index), &look, limit, How::Change)
            {
                Some(Ok(())) | None => lowered += 1,
                Some(Err(error)) => return Err(error.into()),
            }
        }
        Ok(lowered)
    }
}

/// What each port of a tenant is lowered to, which has such a limit and takes such steps: an equal part of the safe
/// share, or the lowest that the port takes, never 0, which means no limit. None for one that is low already.
fn lowered(safe: BitRate, ports: &[(BitRate, Steps)]) -> Vec<Option<BitRate>> {
    let each = BitRate(safe.0 / (ports.len().max(1) as u64)).max(LEAST_RATE);
    let rates = ports.iter().map(|(limit, steps)| {
        let rate = BitRate::from_bps(steps.down(each.bps(), 0.0));
        (*limit > rate).then_some(rate)
    });
    rates.collect()
}

#[cfg(test)]
mod tests {
    use nicety_police::driver::Driver;

    use super::*;

    fn function(driver: &str) -> Steps {
        let range = Driver::find(driver, None).rate.unwrap();
        range.steps(BitRate::from_mbit(10_000))
    }

    #[test]
    fn ports_are_lowered_to_equal_parts_and_never_raised() {
        let mbit = BitRate::from_mbit;
        let tc = Steps::tc();
        assert_eq!(
            lowered(mbit(10), &[(mbit(20), tc), (mbit(3), tc)]),
            [Some(mbit(5)), None]
        );
        // A share of nothing closes a port as far as it can be closed.
        assert_eq!(lowered(BitRate(0), &[(mbit(20), tc)]), [Some(LEAST_RATE)]);
        assert_eq!(lowered(BitRate(0), &[(LEAST_RATE, tc)]), [None]);
    }

    #[test]
    fn functions_are_lowered_to_steps_of_their_driver() {
        let mbit = BitRate::from_mbit;
        let (mlx5, i40e) = (function("mlx5_core"), function("i40e"));
        assert_eq!(
            lowered(BitRate(7_700_000), &[(mbit(20), mlx5)]),
            [Some(mbit(7))]
        );
        // 0 would take the limit away: the lowest step instead.
        assert_eq!(lowered(BitRate(0), &[(mbit(20), mlx5)]), [Some(mbit(1))]);
        assert_eq!(lowered(mbit(20), &[(mbit(500), i40e)]), [Some(mbit(50))]);
        assert_eq!(lowered(mbit(20), &[(mbit(50), i40e)]), [None]);
    }
}
