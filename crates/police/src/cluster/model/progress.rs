//! What holds when nothing disturbs: the total is used, and guarantees are kept.

use super::machine::{Stage, TTL};
use super::world::{Action, Link, World};

/// Real time until everything has settled: leases end, hosts join, grants go around.
const SETTLE: u64 = 4 * TTL;
/// Real time of a change of demand: a few periods.
const SHIFT: u64 = 8_000;
const EVERYTHING: u64 = 10_000_000;

/// Lets everything recover, and looks at what the hosts get.
///
/// # Errors
/// The cap does not hold, or somebody gets too little.
pub fn check(world: &mut World) -> Result<(), String> {
    let hosts = world.hosts.len();
    for host in 0..hosts {
        for action in [
            Action::Link(host, Link::Up),
            Action::Machine(host, false),
            Action::Daemon(host, false),
            Action::Start(host),
            Action::Stall(host, Stage::Done),
            Action::Elect(host, false),
        ] {
            world.take(&action)?;
        }
    }
    world.take(&Action::Elect(0, true))?;
    let tenants = world.totals.len();
    for tenant in 0..tenants {
        for host in 0..hosts {
            world.take(&Action::Demand(host, tenant, EVERYTHING))?;
        }
    }
    world.take(&Action::Run(SETTLE))?;
    for (tenant, total) in world.totals.clone() {
        let equal = total.max.0 / hosts as u64;
        for host in &world.hosts {
            let has = host.kernel.get(&tenant).copied().unwrap_or_default();
            // Two steps of hysteresis, and rounding.
            if (has as f64) < 0.97 * equal as f64 - 2.0 {
                return Err(format!("{} has {has} of {tenant}, not {equal}", host.name));
            }
        }
    }
    // One host wants everything, the others stop.
    for tenant in 0..tenants {
        for host in 1..hosts {
            world.take(&Action::Demand(host, tenant, 0))?;
        }
    }
    world.take(&Action::Run(SHIFT))?;
    for (tenant, total) in world.totals.clone() {
        let has = world.hosts[0]
            .kernel
            .get(&tenant)
            .copied()
            .unwrap_or_default();
        if (has as f64) < 0.95 * total.max.0 as f64 - hosts as f64 {
            return Err(format!("h0 has {has} of {tenant}, of {}", total.max.0));
        }
    }
    Ok(())
}
