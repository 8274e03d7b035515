//! Bills: what every tenant sends and receives, kept by a thread beside the loop.
//!
//! The loop hands the counters of every period over and goes on. The thread adds them up ([`nicety_police::bill`]),
//! writes them down at once where a kill leaves them, and once a minute where a power loss does. Another thread sends
//! what was kept to a store for many hosts.

mod forward;
mod keeper;
mod readings;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nicety_host::journal::since_boot;
use nicety_police::bill::{Book, Clocks, Mark, Moment};
use nicety_police::snapshot::{Place, Snapshot};
use nicety_police::totals::Total;
use nicety_police::{Decision, Policy};

use crate::Error;
use crate::log::Log;
use keeper::Keeper;
use readings::Readings;

/// Periods that may wait for the disk; more are left out, and the next one has what they would have said.
const WAITING: usize = 64;
/// How long a stop waits for the disk.
const LAST: Duration = Duration::from_secs(10);
/// The file of the samples in the state directory.
pub const FILE: &str = "bills.sqlite";

/// Where the samples of the daemon with this state directory are.
pub fn file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// In what time the daemon with this state directory keeps its first samples. None where it has done so, or none runs.
pub fn first_due(directory: &Path) -> Option<Duration> {
    let state = crate::client::read(directory).ok()?.state;
    let hertz = rustix::param::clock_ticks_per_second().max(1);
    let born = Duration::from_secs(state.born_ticks / hertz);
    due(born, since_boot())
}

/// The same of a daemon that was started at a time since the boot, and a little more: it looks at its ports before it
/// begins to count.
fn due(born: Duration, now: Duration) -> Option<Duration> {
    let first = keeper::COMMIT + Duration::from_secs(2);
    born.saturating_add(first).checked_sub(now)
}

/// What the thread is told.
enum Message {
    /// Another policy.
    Policy(Names),
    /// A period.
    Period(Period),
    /// The daemon ends. Limits go, where `opens_up` says so.
    Stop { opens_up: bool },
}

/// Who is in the policy.
struct Names {
    tenants: Vec<String>,
    /// Every port with the number of its tenant.
    ports: Vec<(usize, String)>,
}

impl Names {
    fn of(policy: &Policy) -> Self {
        let tenants = policy.tenants.iter();
        let ports = policy.ports();
        Self {
            tenants: tenants.map(|tenant| tenant.name.clone()).collect(),
            ports: ports.map(|(of, port)| (of, port.to_string())).collect(),
        }
    }
}

/// What was seen in a period.
struct Period {
    at: Moment,
    /// Ports by their number.
    looks: Vec<(usize, Look)>,
    /// Whether each tenant was held back; none between two periods.
    limited: Option<Vec<bool>>,
}

enum Look {
    /// As it was, but for what its interface has counted, where one is there.
    Still(Option<Total>),
    Gone,
    There(Mark),
}

/// The loop's end of it.
pub struct Bills {
    to: SyncSender<Message>,
    ended: Receiver<()>,
    /// The boot of the machine and the network namespace, which say whose counters are whose.
    place: String,
    most_bps: f64,
    looks: Vec<(usize, Look)>,
}

impl Bills {
    /// Opens the samples in the state directory and goes on with them. None where the policy asks for no bills.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn start(
        policy: &Policy,
        (directory, host, netns): (&Path, Option<String>, u64),
        log: &Log,
    ) -> Result<Option<Self>, Error> {
        let Some(bills) = &policy.bills else {
            return Ok(None);
        };
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
        let mut store = nicety_history::open(&file(directory), true)?;
        let kept = store.book()?;
        let forward = bills
            .store
            .as_ref()
            .map(|place| forward::start(&file(directory), PathBuf::from(place), log.clone()));
        let mut keeper = Keeper {
            book: Book::default(),
            commit: 0,
            readings: Readings::open(directory)?,
            forward: forward.transpose()?,
            host: host.unwrap_or_else(|| "host".to_owned()),
            keep_days: bills.keep_days,
            names: Names::of(policy),
            log: log.clone(),
            store,
            kept_at: None,
            clocks: Clocks::default(),
            trouble: None,
        };
        keeper.resume(kept);
        let (to, from) = sync_channel(WAITING);
        let (tell, ended) = sync_channel(1);
        std::thread::Builder::new()
            .name("bills".to_owned())
            .spawn(move || {
                keeper.run(&from);
                // Nobody waits after a while.
                let _ = tell.send(());
            })?;
        Ok(Some(Self {
            to,
            ended,
            place: format!("{}/{netns}", boot.trim()),
            most_bps: policy.capacity.bps(),
            looks: Vec::new(),
        }))
    }

    /// A port is as it was, but for what its interface has counted.
    pub fn still(&mut self, port: usize, interface: Option<Total>) {
        self.looks.push((port, Look::Still(interface)));
    }

    /// A port is seen.
    pub fn look(&mut self, port: usize, snapshot: &Snapshot) {
        let look = match (&snapshot.counts, &snapshot.place) {
            (Some(counts), _) => {
                let whose = match snapshot.index {
                    Some(index) => format!("{}/{index}", self.place),
                    None => self.place.clone(),
                };
                Look::There(Mark {
                    whose,
                    counters: counts.clone(),
                    most_bps: self.most_bps,
                })
            }
            (None, Place::Gone) => Look::Gone,
            // Its counters go on, and the next look has what they counted.
            (None, _) => return,
        };
        self.looks.push((port, look));
    }

    /// All ports were seen; `decision` is that of a period, none between two.
    pub fn end(&mut self, decision: Option<&Decision>) {
        let limited = decision.map(|decision| {
            let tenants = decision.tenants.iter();
            tenants.map(|tenant| tenant.is_limited()).collect()
        });
        let period = Period {
            at: now(),
            looks: std::mem::take(&mut self.looks),
            limited,
        };
        // One that is left out is in the next one; a thread that is gone has said why.
        let _ = self.to.try_send(Message::Period(period));
    }

    /// Another policy holds.
    pub fn reload(&mut self, policy: &Policy) {
        self.looks.clear();
        self.most_bps = policy.capacity.bps();
        let _ = self.to.send(Message::Policy(Names::of(policy)));
    }

    /// Keeps what there is; `opens_up`: the limits of all ports go now.
    pub fn stop(self, opens_up: bool) {
        let _ = self.to.send(Message::Stop { opens_up });
        // What could not be kept is in the readings.
        let _ = self.ended.recv_timeout(LAST);
    }
}

fn now() -> Moment {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH);
    Moment {
        boot: since_boot(),
        wall: wall.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sample_is_due_in_the_first_minute_only() {
        let seconds = Duration::from_secs;
        assert_eq!(due(seconds(100), seconds(100)), Some(seconds(62)));
        assert_eq!(due(seconds(100), seconds(150)), Some(seconds(12)));
        assert_eq!(due(seconds(100), seconds(163)), None);
        assert!(due(seconds(u64::MAX), seconds(0)).is_some());
    }
}
