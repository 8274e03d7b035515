//! What was seen in the last samples.

use std::collections::{BTreeMap, VecDeque};

use nicety_model::vf::{PortCounters, VfReport};

use crate::vf::seen::seen;

/// Samples that are kept.
pub const KEPT: usize = 40;

/// One function or port.
#[derive(Debug, Default)]
struct One {
    /// Bits per second sent, and received, oldest first.
    rates: [VecDeque<f64>; 2],
    /// Drops counted last, of both directions; absent where nobody counts them.
    total: Option<u64>,
    /// Drops since the first sample.
    dropped: u64,
}

/// The last rates of everything that is counted, and drops since the first sample.
#[derive(Debug, Default)]
pub struct History(BTreeMap<String, One>);

impl History {
    /// Takes a sample; what is not in it is forgotten.
    pub fn take(&mut self, report: &VfReport) {
        let mut named: BTreeMap<String, &PortCounters> = BTreeMap::new();
        for port in seen(report) {
            named.extend(port.counters.map(|c| (port.name, c)));
        }
        self.0.retain(|name, _| named.contains_key(name));
        for (name, counters) in named {
            self.0.entry(name).or_default().take(counters);
        }
    }

    /// Rates sent and received, oldest first; none of what nobody counts.
    pub fn rates(&self, name: &str) -> [Vec<f64>; 2] {
        let one = self.0.get(name);
        [0, 1].map(|way| one.map_or_else(Vec::new, |one| one.rates[way].iter().copied().collect()))
    }

    /// Frames dropped since the first sample, of both directions; absent where nobody counts them.
    pub fn dropped(&self, name: &str) -> Option<u64> {
        let one = self.0.get(name)?;
        one.total.map(|_| one.dropped)
    }

    /// Highest rate of all that is kept, in bits per second.
    pub fn highest(&self) -> f64 {
        let rates = self.0.values().flat_map(|one| one.rates.iter().flatten());
        rates.fold(0.0, |top: f64, bps| top.max(*bps))
    }
}

impl One {
    fn take(&mut self, counters: &PortCounters) {
        for (rates, bps) in self
            .rates
            .iter_mut()
            .zip([counters.tx_bps, counters.rx_bps])
        {
            rates.extend(bps);
            while rates.len() > KEPT {
                rates.pop_front();
            }
        }
        let total = match (counters.tx_dropped, counters.rx_dropped) {
            (None, None) => None,
            (sent, received) => Some(sent.unwrap_or(0) + received.unwrap_or(0)),
        };
        // A counter that fell began again at 0.
        if let (Some(total), Some(last)) = (total, self.total) {
            self.dropped += if total < last { total } else { total - last };
        }
        self.total = total;
    }
}
