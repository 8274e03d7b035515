//! Samples of ports, one after the other, with the rates between them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nicety_model::vf::VfReport;
use nicety_netdev::netns::NetNs;
use nicety_police::{port_counters, shared};
use nicety_policed::vf::inventory::Inventory;
use nicety_policed::{client, owners};

use super::named;
use crate::cli::port::ListArgs;
use crate::cli::state::StateArgs;
use crate::exit::Failure;

/// Where samples come from, and the last one.
pub struct Samples<'a> {
    state: &'a StateArgs,
    /// What to show, where that is not everything.
    only: Option<String>,
    inventory: Inventory,
    netns: u64,
    holders: BTreeMap<String, String>,
    last: VfReport,
    at: Instant,
}

impl<'a> Samples<'a> {
    /// Takes the first one, which has no rates.
    pub fn open(args: &'a ListArgs) -> Result<Self, Failure> {
        let inventory = Inventory::open()?;
        let place = args.port.as_deref().map(named::place).transpose()?;
        let only = place.map(|place| place.interface.into_owned());
        let last = inventory.report(only.as_deref())?;
        let mut samples = Self {
            state: &args.state,
            netns: NetNs::current().map_err(Failure::environment)?.inode(),
            at: Instant::now(),
            // Asked once: libvirt and others may take seconds to answer.
            holders: owners::of_ports()?,
            last: VfReport::default(),
            only,
            inventory,
        };
        samples.keep(last);
        Ok(samples)
    }

    /// Takes the next one.
    pub fn take(&mut self) -> Result<&VfReport, Failure> {
        let mut now = self.inventory.report(self.only.as_deref())?;
        port_counters::rates(&self.last, &mut now, self.at.elapsed());
        self.at = Instant::now();
        self.keep(now);
        Ok(&self.last)
    }

    /// Keeps one, with whose ports they are.
    fn keep(&mut self, mut report: VfReport) {
        for port in &mut report.ports {
            port.holder = self.holders.get(&port.interface).cloned();
        }
        let directory = self.state.police().ok();
        // Whoever may not read it does without.
        if let Some(state) = client::read_quietly(directory.as_deref(), self.netns) {
            shared::add(&mut report, &state);
        }
        self.last = report;
    }

    /// The last one.
    pub fn last(&self) -> &VfReport {
        &self.last
    }

    /// Time until the next one is to be taken.
    pub fn due(&self, every: Duration) -> Duration {
        every.saturating_sub(self.at.elapsed())
    }
}
