//! The path of a run as a picture: its stations with CPUs, queues and threads, what passed between
//! them and what was lost where.

mod drawn;
mod fill;
mod passed;
mod text;

use nicety_model::route::{SiteKind, StationKind};
use nicety_model::{LossEntry, Run};

use crate::pick::{self, Group};

/// Paths that are drawn; of more their number is told.
const DRAWN: usize = 6;

/// The pictures of a run's paths: those that look alike are one.
pub(crate) struct Routes {
    /// Drawn with all that is known.
    first: Picture,
    /// Other paths.
    others: Vec<Picture>,
    /// Paths without a picture here.
    more: usize,
}

/// The path of one cell.
pub(crate) struct Picture {
    /// Which cell: `bridge, 64 bytes, one direction`.
    title: String,
    /// Name of the path.
    path: String,
    /// Sites from port A to port B.
    sites: Vec<Site>,
    /// What passed between one site and the next; as many as there are sites, less one.
    wires: Vec<Wire>,
    /// Lost at no station: in a CPU's backlog, or where nothing counts.
    elsewhere: Vec<LossEntry>,
    /// Which trials the numbers are of.
    remark: String,
}

/// Stations that are together.
struct Site {
    kind: SiteKind,
    /// What the guests are: `virtio-net, 2 virtual CPUs`; empty for other sites.
    about: String,
    stations: Vec<Station>,
    /// Threads of the site as a whole.
    threads: Vec<Runs>,
}

/// One station.
struct Station {
    /// Its name within the site; empty for what has none.
    label: String,
    kind: StationKind,
    /// Receive queues.
    queues: Option<u32>,
    threads: Vec<Runs>,
    /// Frames that it counted from A to B and from B to A; for a port the tester's own count.
    passed: [Option<u64>; 2],
    /// What it lost, by counter: `tx_dropped`.
    lost: Vec<LossEntry>,
}

/// A thread, or several of the same name.
#[derive(Clone)]
struct Runs {
    name: String,
    cpus: Vec<u32>,
    /// CPUs' worth of time: 1.0 is one CPU all the time.
    share: Option<f64>,
    /// It never sleeps: its time says nothing.
    polls: bool,
}

/// What passed between two sites, from A to B and, where frames went both ways, from B to A.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Wire {
    flows: Vec<Flow>,
}

/// Frames of one direction between the last place before a wire that counts them and the first behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flow {
    sent: u64,
    received: u64,
}

impl Flow {
    fn lost(self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

impl Routes {
    /// Those of a run; absent where nothing was measured.
    pub(crate) fn of(run: &Run, groups: &[Group<'_>]) -> Option<Self> {
        let by_path = pick::together(groups.iter().map(|group| (group.key.path_name(), group)));
        let pictures = by_path.iter().filter_map(|(_, groups)| {
            // The cell that tells most: of visits without details nothing is known but the path.
            let told = |group: &&&Group<'_>| fill::told(group.shown);
            let best = groups.iter().rev().max_by_key(told)?;
            Some(fill::picture(run, best))
        });
        let mut alike: Vec<Picture> = Vec::new();
        let mut more = 0;
        for picture in pictures {
            if !alike
                .iter()
                .any(|other| text::chain(other) == text::chain(&picture))
            {
                if alike.len() < DRAWN {
                    alike.push(picture);
                } else {
                    more += 1;
                }
            }
        }
        let mut alike = alike.into_iter();
        Some(Self {
            first: alike.next()?,
            others: alike.collect(),
            more,
        })
    }

    /// Lines of text, each within `width` columns.
    pub(crate) fn lines(&self, width: usize) -> Vec<String> {
        text::lines(self, width)
    }

    /// Boxes for a page.
    pub(crate) fn drawn(&self) -> maud::Markup {
        drawn::routes(self)
    }
}

impl Site {
    /// What it is in words.
    fn title(&self) -> String {
        match self.kind {
            SiteKind::TesterA => "tester, port A".to_owned(),
            SiteKind::TesterB => "tester, port B".to_owned(),
            SiteKind::Host => "host".to_owned(),
            SiteKind::Guests(0 | 1) => "guest".to_owned(),
            SiteKind::Guests(many) => format!("{many} guests"),
            SiteKind::Nic => "inside the NIC".to_owned(),
            SiteKind::Outside => "outside".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
