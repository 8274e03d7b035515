//! Others, played with the same demand: a static split, and the algorithms of doorman.
//!
//! doorman (<https://github.com/youtube/doorman>, `doc/design.md` and `doc/algorithms.md`) has one server that
//! remembers what each client has and wants. A client says what it wants once in a refresh interval, here a period,
//! and may have what it is told until it asks again. Each client knows its demand, and there are neither bursts nor
//! faults: this is the best that the algorithms can do.

use nicety_testkit::random::Rng;

use crate::series::{STEP, Series};
use crate::trace::Trace;
use crate::{HOSTS, PERIOD_S, TENANTS, TOTAL};

/// Steps between two points: an answer counts from when it comes.
const FINE: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// To each host an equal part for ever.
    Static,
    FairShare,
    ProportionalShare,
}

impl Peer {
    pub const EACH: [Self; 3] = [Self::Static, Self::FairShare, Self::ProportionalShare];

    pub fn word(self) -> &'static str {
        match self {
            Self::Static => "static split",
            Self::FairShare => "doorman FAIR_SHARE",
            Self::ProportionalShare => "doorman PROPORTIONAL_SHARE",
        }
    }

    fn answer(self, server: &Server, client: usize, wants: f64) -> f64 {
        match self {
            Self::Static => server.equal(),
            Self::FairShare => server.fair(client, wants).min(server.free(client)),
            Self::ProportionalShare => server.proportional(client, wants).min(server.free(client)),
        }
    }
}

/// What the server knows of a tenant's clients.
struct Server {
    has: [f64; HOSTS],
    wants: [f64; HOSTS],
}

impl Server {
    fn equal(&self) -> f64 {
        TOTAL / HOSTS as f64
    }

    /// What nobody else has.
    fn free(&self, client: usize) -> f64 {
        TOTAL - self.has.iter().sum::<f64>() + self.has[client]
    }

    /// An equal share; what others leave of theirs goes in equal parts to those that want more, twice.
    fn fair(&self, client: usize, wants: f64) -> f64 {
        let others = || {
            (0..HOSTS)
                .filter(|of| *of != client)
                .map(|of| self.wants[of])
        };
        let equal = self.equal();
        if wants <= equal {
            return wants;
        }
        let rounds = |share: f64, among: &dyn Fn(&f64) -> bool| {
            let left: f64 = others()
                .filter(|of| among(of) && *of < share)
                .map(|of| share - of)
                .sum();
            let eager = others().filter(|of| among(of) && *of > share).count() + 1;
            share + left / eager as f64
        };
        let first = rounds(equal, &|_| true);
        if wants < first {
            return wants;
        }
        rounds(first, &|of| *of > equal)
    }

    /// An equal share; what others leave of theirs goes to those that want more, each as it wants more.
    fn proportional(&self, client: usize, wants: f64) -> f64 {
        let equal = self.equal();
        if self.wants.iter().sum::<f64>() <= TOTAL || wants <= equal {
            return wants;
        }
        let (mut left, mut need) = (0.0, 0.0);
        for of in 0..HOSTS {
            let wants = if of == client { wants } else { self.wants[of] };
            left += (equal - wants).max(0.0);
            need += (wants - equal).max(0.0);
        }
        equal + (wants - equal) * left / need
    }
}

/// Plays a demand.
pub fn play(trace: &Trace, peer: Peer, seed: u64) -> Series {
    let mut rng = Rng::new(seed);
    // When in a period each client asks.
    let turns: Vec<f64> = (0..HOSTS).map(|_| rng.part() * PERIOD_S).collect();
    let fine = STEP / FINE as f64;
    let points = (trace.end / STEP) as usize;
    let tenants = (0..TENANTS.len()).map(|tenant| {
        let mut server = Server {
            has: [0.0; HOSTS],
            wants: [0.0; HOSTS],
        };
        let mut sent = vec![vec![0.0]; HOSTS];
        let mut bits = [0.0; HOSTS];
        // Changes come in order.
        let spans = trace.spans(tenant);
        let mut span = 0;
        for step in 0..(points - 1) * FINE {
            let now = step as f64 * fine;
            while span + 1 < spans.len() && spans[span + 1].0.at <= now {
                span += 1;
            }
            let demand = &spans[span].0.demand;
            for (host, (turn, wants)) in turns.iter().zip(demand).enumerate() {
                let periods = |time: f64| ((time - turn) / PERIOD_S).floor();
                if periods(now) > periods(now - fine) {
                    server.has[host] = peer.answer(&server, host, *wants);
                    server.wants[host] = *wants;
                }
                bits[host] += server.has[host].min(*wants) * fine;
                if (step + 1).is_multiple_of(FINE) {
                    sent[host].push(bits[host]);
                }
            }
        }
        sent
    });
    Series::new(tenants.collect())
}
