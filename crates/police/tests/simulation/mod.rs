//! The simulated link under a controller, and what is measured of it. Shared by the golden test
//! and the benchmark.
#![allow(dead_code, reason = "each of the two uses a part")]

mod aimd;
mod figures;
pub mod level;

use nicety_testkit::uplink::Uplink;

pub use figures::{Figures, aims};
pub use level::Level;

pub const CAPACITY: f64 = 10e9;
pub const HEADROOM: f64 = 0.03;
const SENDERS: usize = 8;

/// From the rates of a period to the limits of the next, and how many of them were written.
pub trait Control {
    fn limits(&mut self, rates: &[f64]) -> (Vec<f64>, usize);
}

pub type Make = fn(&Uplink) -> Box<dyn Control>;

/// All controllers by name.
pub fn controllers() -> [(&'static str, Make); 7] {
    [
        ("oracle, 1 late", |uplink| {
            Box::new(aimd::Oracle::new(uplink))
        }),
        ("none", |uplink| Box::new(aimd::Fixed::open(uplink))),
        ("static shares", |uplink| {
            Box::new(aimd::Fixed::shares(uplink))
        }),
        ("aimd", |uplink| Box::new(aimd::Aimd::new(uplink))),
        ("level", |uplink| Box::new(Level::new(uplink, 1e6))),
        ("level, 50 Mbit/s steps", |uplink| {
            Box::new(Level::new(uplink, 50e6))
        }),
        ("level, 2 s counters", |uplink| {
            Box::new(Level::seldom(uplink, 1e6))
        }),
    ]
}

/// Runs one seed.
pub fn run(seed: u64, periods: usize, make: Make) -> Figures {
    let mut uplink = Uplink::random(SENDERS, CAPACITY, seed);
    let mut control = make(&uplink);
    let mut limits = vec![CAPACITY; SENDERS];
    let mut record = figures::Record::default();
    for period in 0..periods {
        let changed = uplink.change() || period == 0;
        uplink.period(&limits);
        let rates = uplink.rates();
        let (next, writes) = control.limits(&rates);
        limits = next;
        record.add(&uplink, &rates, changed, writes);
    }
    record.figures()
}
