//! What the daemon costs for many ports, beside a loop of ip(8).

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use nicety_benchmarks::figures::Figures;
use nicety_benchmarks::process::{cpu_seconds, memory_mb};
use nicety_benchmarks::program::run;
use nicety_benchmarks::start::setting;
use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;

use crate::rig::Rig;

const PORTS: usize = 256;
const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_secs(4);
/// Time for the limiters to be made.
const BEGIN: Duration = Duration::from_secs(3);
/// Calls of ip(8) in a round.
const CALLS: u32 = 15;
const POLICE: &str = "nicety police";

/// What a daemon does, in its policy: for all, and for each tenant.
const POLICIES: [(&str, &str, &str); 4] = [
    (POLICE, "", ""),
    ("received too", "", "rx_max = \"5gbit\"\n"),
    ("bills too", "[bills]\n", ""),
    ("both too", "[bills]\n", "rx_max = \"5gbit\"\n"),
];

/// Samples 256 veths ten times a second.
pub fn measure(figures: &mut Figures) -> Result<()> {
    let ports = setting("NICETY_BENCH_PORTS", PORTS)?;
    let rig = Rig::new(&[], 1_000)?;
    let others = NetNs::create("others")?;
    let links = Links::open(&rig.hub)?;
    for port in 0..ports {
        let (near, far) = (format!("p{port}"), format!("g{port}"));
        let near_end = VethEnd::plain(&rig.hub, &near);
        links.add_veth(near_end, VethEnd::plain(&others, &far))?;
        links.set_up(&near)?;
    }
    for (name, for_all, for_each) in POLICIES {
        let mut policy = format!("[link]\ncapacity = \"10gbit\"\nperiod = \"100ms\"\n{for_all}");
        for port in 0..ports {
            writeln!(
                policy,
                "[[tenant]]\nname = \"{port}\"\nports = \"p{port}\"\n{for_each}"
            )?;
        }
        let held = rig.daemon(&policy)?;
        let id = held.child.id();
        std::thread::sleep(BEGIN);
        for _ in 0..ROUNDS {
            figures.next_round();
            let (begin, before) = (Instant::now(), cpu_seconds(id)?);
            std::thread::sleep(TIME);
            let share = (cpu_seconds(id)? - before) / begin.elapsed().as_secs_f64();
            let values = [("share of a core", share), ("MB", memory_mb(id, "VmRSS")?)];
            figures.put_all(&format!("cost, {name},"), values);
            if name == POLICE {
                figures.put("cost, ip, share of a core", looks(&rig.hub)?);
            }
        }
    }
    let share = |who: &str| format!("cost, {who}, share of a core");
    figures.ratio(None, &share("ip"), &share(POLICE));
    Ok(())
}

/// Share of a core that ip(8) takes to look at all interfaces ten times a second.
fn looks(ns: &NetNs) -> Result<f64> {
    let mut seconds = 0.0;
    for _ in 0..CALLS {
        let call = ns.run(|| run("ip", &["-s", "-j", "link", "show"]))??;
        seconds += call.cpu_s;
    }
    Ok(10.0 * seconds / f64::from(CALLS))
}
