//! Limits of other programs at many ports: how soon a daemon has taken all, and follows when they are rewritten.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;
use nicety_netdev::traffic_control::TrafficControls;
use serde_json::{Map, Value, json};

use crate::rig::{Rig, inside};
use crate::watch;

const PORTS: usize = 1_000;
/// Rewritten so often.
const ROUNDS: usize = 5;
/// Aim for the start, and when to give up.
const AIM: f64 = 2.0;
const LONGEST: Duration = Duration::from_secs(60);

/// 1,000 veths whose frames somebody else sends to a bucket.
pub fn measure(figures: &mut Map<String, Value>) -> Result<()> {
    watch::phase("adopt", 2 * LONGEST);
    let rig = Rig::new(&[], 1_000)?;
    let others = NetNs::create("limited")?;
    let links = Links::open(&rig.hub)?;
    let mut policy =
        "[link]\ncapacity = \"10gbit\"\nperiod = \"100ms\"\nadopt = \"replace\"\n".to_owned();
    let mut begin = String::new();
    let mut again = String::new();
    for port in 0..PORTS {
        let (near, far) = (format!("p{port}"), format!("g{port}"));
        let near_end = VethEnd::plain(&rig.hub, &near);
        links.add_veth(near_end, VethEnd::plain(&others, &far))?;
        links.set_up(&near)?;
        writeln!(policy, "[[tenant]]\nname = \"{port}\"\nports = \"{near}\"")?;
        writeln!(begin, "qdisc add dev {near} ingress")?;
        writeln!(
            again,
            "filter add dev {near} parent ffff: protocol all prio 50 u32 match u32 0 0 \
             action mirred egress redirect dev theirs"
        )?;
    }
    inside(&rig.hub, &["ip", "link", "add", "theirs", "type", "ifb"])?;
    inside(&rig.hub, &["ip", "link", "set", "theirs", "up"])?;
    let bucket = "qdisc add dev theirs root tbf rate 80mbit burst 64kb limit 256kb\n";
    batch(&rig.hub, &(begin + bucket + &again))?;
    let controls = TrafficControls::open(&rig.hub)?;
    // Of the daemon's process to the last limit taken: its own look is not waited for.
    let start = Instant::now();
    let _held = rig.daemon(&policy)?;
    let taken = until_taken(&controls, start)?;
    let mut followed = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        batch(&rig.hub, &again)?;
        let written = start.elapsed();
        followed.push((written.as_secs_f64(), until_taken(&controls, start)?));
    }
    followed.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (written, all) = followed[ROUNDS / 2];
    let rate = PORTS as f64 / all;
    println!(
        "\n{PORTS} ports limited by another program: all taken {taken:.2} s after the start (aim: {AIM} s)\n\
         All rewritten within {written:.2} s: all taken after {all:.2} s, {rate:.0} rewrites followed per second"
    );
    figures.insert("adopt_1000_ports_start_s".to_owned(), json!(taken));
    figures.insert("adopt_rewrites_per_s".to_owned(), json!(rate));
    Ok(())
}

/// Seconds until no port has a filter of theirs.
fn until_taken(controls: &TrafficControls, start: Instant) -> Result<f64> {
    loop {
        let all = controls.read(None)?;
        let theirs = all.values().flat_map(|control| &control.filters);
        if theirs.filter(|filter| filter.priority == 50).count() == 0 {
            return Ok(start.elapsed().as_secs_f64());
        }
        if start.elapsed() > LONGEST {
            bail!("limits of others are still there");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Commands of tc(8).
fn batch(ns: &NetNs, commands: &str) -> Result<()> {
    let mut tc = ns.run(|| {
        let mut tc = Command::new("tc");
        tc.args(["-batch", "-"]).stdin(Stdio::piped()).spawn()
    })??;
    let mut stdin = tc.stdin.take().context("no pipe to tc")?;
    stdin.write_all(commands.as_bytes())?;
    drop(stdin);
    match tc.wait()?.success() {
        true => Ok(()),
        false => bail!("tc -batch failed"),
    }
}
