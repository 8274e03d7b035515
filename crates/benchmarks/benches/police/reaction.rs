//! How soon a new flood is held, wherever in the controller's period it begins.

use anyhow::{Context, Result};
use nicety_benchmarks::figures::Figures;

use crate::flows::{Flow, Kind, Series};
use crate::rig::Rig;
use crate::{STEP, STEPS_PER_PERIOD, TWO, UPLINK};

/// Floods: two for each step of a period.
const FLOODS: u32 = 10;
/// Steps of a flood.
const LENGTH: u32 = 20;
/// Steps from one flood to the next: each begins a step later in the period of the controller.
const EVERY: u32 = 36;
/// Steps before the first one.
const LEAD: u32 = 20;
/// What a flood may have beyond its share.
const TOLERANCE: f64 = 1.1;
/// Headers, FCS, preamble and gap of a full frame in the datagrams that are counted.
const PAYLOAD: f64 = 1472.0 / 1538.0;

/// TCP sends all the time; UDP floods again and again.
pub fn measure(figures: &mut Figures) -> Result<()> {
    let rig = Rig::new(&["a", "b"], UPLINK)?;
    let [_, policy] = TWO;
    let _held = rig.daemon(policy)?;
    let begins: Vec<u32> = (0..FLOODS).map(|flood| LEAD + flood * EVERY).collect();
    let end = LEAD + FLOODS * EVERY;
    let mut flows = vec![Flow::new("a", Kind::Tcp, None, 0..end)];
    for begin in &begins {
        let when = *begin..begin + LENGTH;
        flows.push(Flow::new("b", Kind::Udp, Some(2 * UPLINK), when));
    }
    let series = rig.run(&flows, STEP, end as usize)?;
    let (tcp, floods) = series.split_first().context("a flow")?;
    // Half of what the policy shares, its head-room left out.
    let share = 0.97 * UPLINK as f64 / 2.0 * PAYLOAD;
    for (flood, begin) in floods.iter().zip(&begins) {
        let when = *begin as usize..(begin + LENGTH) as usize;
        figures.next_round();
        let held = periods(flood, when.clone(), |rate| rate > TOLERANCE * share);
        figures.put("reaction, periods until a flood is held", held);
        let back = periods(tcp, when, |rate| rate < 0.8 * share);
        figures.put("reaction, periods until TCP has four fifths", back);
    }
    Ok(())
}

/// Periods of the daemon from the begin of a flood until `beyond` is never again true of a step.
fn periods(of: &Series, when: std::ops::Range<usize>, beyond: impl Fn(f64) -> bool) -> f64 {
    let rates = of.rates.get(when).unwrap_or_default();
    let last = rates.iter().rposition(|rate| beyond(*rate));
    last.map_or(0, |last| last + 1) as f64 / STEPS_PER_PERIOD as f64
}
