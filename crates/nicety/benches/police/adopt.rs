//! Limits of other programs at many ports: how soon a daemon has taken all, and follows when they are rewritten.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use nicety_model::traffic_control::{Handle, OURS, TrafficControl};
use nicety_netdev::link::{Links, VethEnd};
use nicety_netdev::netns::NetNs;
use nicety_netdev::traffic_control::TrafficControls;
use serde_json::{Map, Value, json};

use crate::rig::{Rig, batch, inside};
use crate::{number, watch};

const PORTS: usize = 1_000;
/// Rewritten so often.
const ROUNDS: usize = 5;
/// Aim for the start, and when to give up.
const AIM: f64 = 2.0;
const LONGEST: Duration = Duration::from_secs(60);
/// Of the other program's filters.
const PRIORITY: u16 = 50;

/// What the other program limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// What owners send: a filter that sends frames to a bucket.
    Ingress,
    /// What owners receive: a bucket at the root.
    Root,
}

impl Place {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Ingress => ("send", "adopt"),
            Self::Root => ("receive", "adopt_received"),
        }
    }

    /// What makes the limit of a port, also anew.
    fn command(self, port: &str) -> String {
        match self {
            Self::Ingress => format!(
                "filter add dev {port} parent ffff: protocol all prio {PRIORITY} u32 match u32 0 0 \
                 action mirred egress redirect dev theirs\n"
            ),
            Self::Root => format!(
                "qdisc replace dev {port} root handle 1: tbf rate 80mbit burst 64kb limit 256kb\n"
            ),
        }
    }

    /// Whether theirs is at an interface.
    fn is_theirs(self, control: &TrafficControl) -> bool {
        match self {
            Self::Ingress => (control.filters.iter()).any(|filter| filter.priority == PRIORITY),
            Self::Root => (control.qdiscs.iter())
                .any(|qdisc| qdisc.parent == Handle::ROOT && qdisc.handle.major() != OURS),
        }
    }
}

/// 1,000 veths that somebody else limits.
pub fn measure(figures: &mut Map<String, Value>) -> Result<()> {
    for place in [Place::Ingress, Place::Root] {
        one(place, figures)?;
    }
    Ok(())
}

fn one(place: Place, figures: &mut Map<String, Value>) -> Result<()> {
    let ports = number("NICETY_BENCH_PORTS")?.unwrap_or(PORTS);
    let (what, key) = place.words();
    watch::phase(key, 2 * LONGEST);
    let rig = Rig::new(&[], 1_000)?;
    let others = NetNs::create("limited")?;
    let links = Links::open(&rig.hub)?;
    let mut policy =
        "[link]\ncapacity = \"10gbit\"\nperiod = \"100ms\"\nadopt = \"replace\"\n".to_owned();
    let mut begin = String::new();
    let mut again = String::new();
    let mut indexes = BTreeSet::new();
    for port in 0..ports {
        let (near, far) = (format!("p{port}"), format!("g{port}"));
        let near_end = VethEnd::plain(&rig.hub, &near);
        links.add_veth(near_end, VethEnd::plain(&others, &far))?;
        links.set_up(&near)?;
        indexes.insert(links.get(&near)?.index);
        writeln!(policy, "[[tenant]]\nname = \"{port}\"\nports = \"{near}\"")?;
        match place {
            Place::Ingress => writeln!(begin, "qdisc add dev {near} ingress")?,
            Place::Root => policy.push_str("rx_max = \"5gbit\"\n"),
        }
        again += &place.command(&near);
    }
    if place == Place::Ingress {
        inside(&rig.hub, &["ip", "link", "add", "theirs", "type", "ifb"])?;
        inside(&rig.hub, &["ip", "link", "set", "theirs", "up"])?;
        begin += "qdisc add dev theirs root tbf rate 80mbit burst 64kb limit 256kb\n";
    }
    batch(&rig.hub, "tc", &(begin + &again))?;
    let controls = TrafficControls::open(&rig.hub)?;
    // Of the daemon's process to the last limit taken: its own look is not waited for.
    let start = Instant::now();
    let _held = rig.daemon(&policy)?;
    let taken = until_taken((place, &indexes), &controls, start)?;
    let mut followed = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        batch(&rig.hub, "tc", &again)?;
        let written = start.elapsed();
        followed.push((
            written.as_secs_f64(),
            until_taken((place, &indexes), &controls, start)?,
        ));
    }
    followed.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (written, all) = followed[ROUNDS / 2];
    let rate = ports as f64 / all;
    println!(
        "\n{ports} ports where another program limits what they {what}: all taken {taken:.2} s after the start \
         (aim: {AIM} s)\n\
         All rewritten within {written:.2} s: all taken after {all:.2} s, {rate:.0} rewrites followed per second"
    );
    figures.insert(format!("{key}_1000_ports_start_s"), json!(taken));
    figures.insert(format!("{key}_rewrites_per_s"), json!(rate));
    Ok(())
}

/// Seconds until no port has a limit of theirs.
fn until_taken(
    (place, ports): (Place, &BTreeSet<u32>),
    controls: &TrafficControls,
    start: Instant,
) -> Result<f64> {
    loop {
        let all = controls.read(None)?;
        let theirs = all
            .iter()
            .filter(|(index, control)| ports.contains(index) && place.is_theirs(control));
        if theirs.count() == 0 {
            return Ok(start.elapsed().as_secs_f64());
        }
        if start.elapsed() > LONGEST {
            bail!("limits of others are still there");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
