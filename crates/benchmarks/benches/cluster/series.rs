//! What every host has sent of each tenant, at equal distances.

use crate::{HOSTS, TENANTS};

/// Seconds between two points.
pub const STEP: f64 = 0.1;

/// Bits since the begin, by tenant, host and point.
#[derive(Debug, Clone)]
pub struct Series {
    bits: Vec<Vec<Vec<f64>>>,
    /// Of all hosts together.
    sums: Vec<Vec<f64>>,
}

/// Readings of counters: seconds since the begin, and bytes of each tenant.
pub type Readings = Vec<Vec<(f64, [f64; TENANTS.len()])>>;

impl Series {
    pub fn new(bits: Vec<Vec<Vec<f64>>>) -> Self {
        let sum = |of: &Vec<Vec<f64>>| {
            let points = of.iter().map(Vec::len).min().unwrap_or(0);
            let at = |point: usize| of.iter().map(|host| host[point]).sum();
            (0..points).map(at).collect()
        };
        Self {
            sums: bits.iter().map(sum).collect(),
            bits,
        }
    }

    /// From readings of each host that need not be at the same time: between two of them it has sent evenly.
    pub fn of(readings: &Readings, end: f64) -> Self {
        let points = (end / STEP) as usize;
        let tenants = (0..TENANTS.len()).map(|tenant| {
            let hosts = readings.iter().map(|of| {
                let mut at = 0;
                let first = of.first().map_or(0.0, |(_, bytes)| bytes[tenant]);
                let point = |point: usize| {
                    let time = point as f64 * STEP;
                    while at + 2 < of.len() && of[at + 1].0 < time {
                        at += 1;
                    }
                    let (Some((t0, b0)), Some((t1, b1))) = (of.get(at), of.get(at + 1)) else {
                        return 0.0;
                    };
                    let part = ((time - t0) / (t1 - t0)).clamp(0.0, 1.0);
                    8.0 * (b0[tenant] + part * (b1[tenant] - b0[tenant]) - first)
                };
                (0..points).map(point).collect()
            });
            hosts.collect()
        });
        Self::new(tenants.collect())
    }

    pub fn points(&self) -> usize {
        self.sums.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Bits of all hosts from one point to another.
    pub fn sum(&self, tenant: usize, from: usize, to: usize) -> f64 {
        let of = &self.sums[tenant];
        let last = of.len().saturating_sub(1);
        of[to.min(last)] - of[from.min(last)]
    }

    /// Bits of each host from one point to another.
    pub fn each(&self, tenant: usize, from: usize, to: usize) -> [f64; HOSTS] {
        std::array::from_fn(|host| {
            let of = &self.bits[tenant][host];
            let last = of.len().saturating_sub(1);
            of[to.min(last)] - of[from.min(last)]
        })
    }
}

/// The first point that is not before a time.
pub fn point(seconds: f64) -> usize {
    (seconds / STEP).ceil().max(0.0) as usize
}
