//! `[[sockets]]`: socket workloads over the plan's paths.

use std::time::Duration;

use crate::cell::SkippedCell;
use crate::keywords::keywords;
use crate::path::PathSpec;
use crate::plan::Plan;
use crate::plan::cells::product;
use crate::plan::points::Digits;
use crate::plan::vm_refusal::first;
use crate::problem::{Problem, ProblemCode};
use crate::sock::{Family, SockSpec, SockTest};

/// Most pairs of neighbours: each has two namespaces of its own.
pub const MAX_NEIGHBOURS: u32 = 64;
/// One `[[sockets]]`; every list multiplies.
#[derive(Debug, Clone, PartialEq)]
pub struct SockPlan {
    /// Tests; never empty.
    pub tests: Vec<SockTest>,
    /// Message sizes in bytes; empty for the default of each test.
    pub message_bytes: Vec<u32>,
    /// Flows at once; never empty.
    pub parallel: Vec<u32>,
    /// Transactions or datagrams per second over all flows; empty for the closed loop.
    pub rates: Vec<u32>,
    /// IP versions; never empty.
    pub families: Vec<Family>,
    /// Pairs that flood the same switch meanwhile; never empty.
    pub neighbours: Vec<u32>,
    /// Where the client runs; never empty.
    pub clients: Vec<SockClient>,
    /// CPUs of the client's workers in turn; no entry leaves them to the scheduler.
    pub pins: Vec<Vec<u32>>,
    /// The same of the server's workers.
    pub server_pins: Vec<Vec<u32>>,
    /// Length of one test.
    pub time: Duration,
    /// How often each of them.
    pub how_often: HowOften,
}

keywords! {
    /// Where the client of a socket test runs.
    SockClient {
        /// In a namespace of this host.
        Host = "host",
        /// In a guest beside that of the server, on the same switch.
        Guest = "guest",
    }
}

/// How often one socket test is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HowOften {
    /// So many times.
    Times(u32),
    /// Until the interval of the mean is narrow enough.
    Until {
        /// Level in per cent: 90, 95 or 99.
        level_percent: u32,
        /// Width of the whole interval in per cent of the mean.
        width_percent: f64,
        /// Most repeats.
        most: u32,
    },
    /// Once for every number of pairs until the rate stops growing, to at most this many.
    Saturate(u32),
}

/// One point: a test with its parameters over one path.
#[derive(Debug, Clone, PartialEq)]
pub struct SockCell {
    /// The path.
    pub path: PathSpec,
    /// The test.
    pub spec: SockSpec,
    /// IP version.
    pub family: Family,
    /// Pairs that flood the same switch meanwhile.
    pub neighbours: u32,
    /// Where the client runs.
    pub client: SockClient,
    /// CPUs of the client's workers in turn; empty leaves them to the scheduler.
    pub pin: Vec<u32>,
    /// The same of the server's workers.
    pub server_pin: Vec<u32>,
    /// How often.
    pub how_often: HowOften,
}

impl SockCell {
    /// Kind of the path.
    pub fn kind(&self) -> &str {
        self.path.kind()
    }

    /// Name of the path: `bridge`, `vm,nic=e1000`.
    pub fn path_name(&self) -> String {
        self.path.to_string()
    }

    /// Name of the cell: `bridge/tcp_rr/64/parallel=150`. What is as usual is left out.
    pub fn name(&self) -> String {
        let mut spec = self.spec.clone();
        let saturate = matches!(self.how_often, HowOften::Saturate(_));
        if saturate {
            // Their number is what is looked for.
            spec.parallel = 1;
        }
        let mut name = format!("{}/{}", self.path_name(), spec.name());
        if saturate {
            name.push_str("/saturate");
        }
        if self.family == Family::Ipv6 {
            name.push_str("/ipv6");
        }
        if self.neighbours > 0 {
            name.push_str(&format!("/neighbours={}", self.neighbours));
        }
        if self.client == SockClient::Guest {
            name.push_str("/client=guest");
        }
        for (key, cpus) in [("pin", &self.pin), ("server_pin", &self.server_pin)] {
            if !cpus.is_empty() {
                let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
                name.push_str(&format!("/{key}={}", words.join("+")));
            }
        }
        name
    }

    /// Shortest time it takes in seconds: repeats until sure may take more.
    pub fn least_s(&self) -> f64 {
        let times = match self.how_often {
            HowOften::Times(times) => times,
            HowOften::Until { most, .. } => most.min(3),
            HowOften::Saturate(most) => most.ilog2().clamp(1, 4) + 1,
        };
        f64::from(times) * self.spec.duration().as_secs_f64()
    }
}

impl SockPlan {
    /// All tests: every combination of the lists, except path and neighbours.
    pub(super) fn specs(&self) -> impl Iterator<Item = SockSpec> + '_ {
        let count = product([
            self.tests.len(),
            self.message_bytes.len().max(1),
            self.parallel.len(),
            self.rates.len().max(1),
        ]);
        (0..count).filter_map(|index| self.spec(&mut Digits(index)))
    }

    /// The test of an index; the last list turns fastest.
    fn spec(&self, digits: &mut Digits) -> Option<SockSpec> {
        let rate = digits.pick(&self.rates);
        let parallel = digits.pick(&self.parallel)?;
        let message_bytes = digits.pick(&self.message_bytes);
        let test = digits.pick(&self.tests)?;
        Some(SockSpec {
            message_bytes: message_bytes.unwrap_or(test.default_message_bytes()),
            parallel: match self.how_often {
                // The search begins with one pair, whatever the most is.
                HowOften::Saturate(_) => 1,
                _ => parallel,
            },
            rate_per_s: rate.map(f64::from),
            ..SockSpec::new(test, self.time)
        })
    }

    /// The cells of this table over one path.
    pub(super) fn cells_over<'p>(
        &'p self,
        path: &'p PathSpec,
    ) -> impl Iterator<Item = SockCell> + 'p {
        (0..self.len()).filter_map(move |index| {
            let digits = &mut Digits(index);
            Some(SockCell {
                path: path.clone(),
                server_pin: digits.pick(&self.server_pins).unwrap_or_default(),
                pin: digits.pick(&self.pins).unwrap_or_default(),
                client: digits.pick(&self.clients)?,
                neighbours: digits.pick(&self.neighbours)?,
                family: digits.pick(&self.families)?,
                spec: self.spec(digits)?,
                how_often: self.how_often,
            })
        })
    }

    pub(super) fn len(&self) -> u64 {
        product([
            self.tests.len(),
            self.message_bytes.len().max(1),
            self.parallel.len(),
            self.rates.len().max(1),
            self.families.len(),
            self.neighbours.len(),
            self.clients.len(),
            self.pins.len().max(1),
            self.server_pins.len().max(1),
        ])
    }
}

impl Plan {
    /// Number of socket cells; saturates, no cell is built for it.
    pub fn sock_count(&self) -> u64 {
        let of_path = self
            .sockets
            .iter()
            .fold(0_u64, |sum, table| sum.saturating_add(table.len()));
        self.point_count().saturating_mul(of_path)
    }

    /// Every socket cell that this version knows how to build, in the plan's order.
    pub fn sock_cells(&self) -> impl Iterator<Item = SockCell> + '_ {
        self.sock_points(|refused| refused.is_none())
            .map(|(cell, _)| cell)
    }

    /// The socket cells that it does not, with reason and remedy.
    pub fn unavailable_sock_cells(&self) -> impl Iterator<Item = SkippedCell> + '_ {
        self.sock_points(|refused| refused.is_some())
            .filter_map(|(cell, refused)| {
                let refused = refused?;
                Some(SkippedCell::new(cell.name(), refused))
            })
    }

    fn sock_points(
        &self,
        wanted: fn(&Option<Problem>) -> bool,
    ) -> impl Iterator<Item = (SockCell, Option<Problem>)> + '_ {
        self.refusals().flat_map(move |(point, refused)| {
            let cells: Vec<SockCell> = self
                .sockets
                .iter()
                .flat_map(|table| table.cells_over(&point))
                .collect();
            let each = cells.into_iter().map(move |cell| {
                let refused = refused.clone().or_else(|| refusal(&cell));
                (cell, refused)
            });
            each.filter(move |(_, refused)| wanted(refused))
        })
    }
}

/// Why no machine can run a test, and what to do, where its path can be built.
fn refusal(cell: &SockCell) -> Option<Problem> {
    let from_guest = cell.client == SockClient::Guest;
    let PathSpec::Vm(vm) = &cell.path else {
        let on_testpmd = matches!(cell.path, PathSpec::Testpmd { .. });
        let kind = cell.kind();
        return first! { NoPlaceForSockets:
            on_testpmd && cell.neighbours > 0 =>
                "testpmd joins two ports with each other: neighbours have no place on it",
                "write neighbours = 0 for it, or kind = \"ovs-dpdk\"";
            cell.neighbours > 0 && !cell.path.takes_neighbours() =>
                "neighbours have no place on {kind}",
                "write neighbours = 0 for it, or kind = \"bridge\"";
            from_guest =>
                "client = \"guest\" over a path without guests",
                "write kind = \"vm\", or client = \"host\"";
        };
    };
    let config = vm.config();
    let alone = config.netns || config.nic.on_function() || config.nic.on_interface();
    first! { NoPlaceForSockets:
        config.vms > 1 || config.switch.on_dpdk() =>
            "sockets end in one guest on a switch of the kernel or ovs",
            "write vms = 1 and another switch";
        !config.netns && !cell.server_pin.is_empty() =>
            "the server runs in the guest, server_pin names CPUs of this host",
            "write pin in the [[path]], for the virtual CPUs";
        from_guest && alone =>
            "client = \"guest\" needs two guests on a switch of the host",
            "write nic = \"virtio-net\", \"vhost-net\" or \"e1000\", or client = \"host\"";
        from_guest && !cell.pin.is_empty() =>
            "the client runs in a guest, pin in [[sockets]] names CPUs of this host",
            "write pin in the [[path]], for the virtual CPUs";
    }
}

#[cfg(test)]
mod tests;
