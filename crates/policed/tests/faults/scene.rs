//! Clusters beside each other on one etcd, and accidents in them.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nicety_host::journal::since_boot;
use nicety_netdev::netns::NetNs;
use nicety_testkit::etcd::{Etcd, Options};
use nicety_testkit::runner::Skip;

use crate::accident::{heal, hurt, right_file, silence, tamper, untamper, wrong_file};
use crate::host::Config;
use crate::kind::Kind;
use crate::lines;
use crate::proxy::Proxy;
use crate::slot::{FLOOR, GUARANTEE, HOSTS, Host, SAFE_SHARE, Slot, TOTAL};
use crate::values;
use crate::watch::{Seen, Watch};

/// Numbers of members come first.
const FIRST_HOST: u8 = 10;
/// Where the hub is reached.
const HUB: &str = "198.51.100.254";
/// The answers of a slow etcd take so much longer.
const SLOW: Duration = Duration::from_secs(1);
/// Seconds in which members surely elect a leader of their own, of 0.6 s and more for each attempt.
const ELECTION: f64 = 1.2;
/// Time between two starts: a machine does not start all its hosts at once.
const STAGGER: Duration = Duration::from_millis(30);
/// All revisions are kept for a minute at most: the campaign is long.
const COMPACT: [&str; 4] = [
    "--auto-compaction-mode",
    "periodic",
    "--auto-compaction-retention",
    "1m",
];

/// What came of the accidents of a kind.
#[derive(Debug, Default)]
pub struct Row {
    pub count: usize,
    /// Accidents of an etcd, each of which hit many clusters.
    pub events: usize,
    /// How long it took until all had their fair part again, in periods.
    pub back: Vec<f64>,
    pub named: Option<String>,
    /// What must not be.
    pub wrong: Vec<String>,
    /// What must not be on a machine that has nothing else to do.
    pub untidy: Vec<String>,
}

pub type Rows = Mutex<BTreeMap<Kind, Row>>;

/// What kind of clusters.
#[derive(Debug, Clone)]
pub struct Plan {
    pub members: usize,
    pub login: bool,
    pub slots: usize,
    pub ttl: Duration,
    pub period: Duration,
    pub seed: u64,
    pub short: bool,
    /// Rules that are taken out, one in each of the first clusters.
    pub mutants: Vec<usize>,
}

pub struct Scene {
    etcd: Mutex<Etcd>,
    pub slots: Vec<Slot>,
    pub watch: Watch,
    proxy: Option<Proxy>,
    endpoint: String,
    plan: Plan,
}

impl Scene {
    pub fn new(plan: &Plan) -> Result<Self, Skip> {
        let etcd = Etcd::start(Options {
            members: plan.members,
            tls: plan.login,
            more: &COMPACT,
            ..Options::default()
        })?;
        let endpoints = etcd.endpoints();
        if plan.login {
            ask_for_login(&etcd);
        } else {
            // The prefixes are known, so that no grant waits for the end of what an older etcd may have granted.
            let first = endpoints[0].clone();
            let known = || {
                values::ask(&first, async |client| {
                    for slot in 0..plan.slots {
                        let key = format!("/faults/{slot}/schema");
                        client.put(key, "nicety cluster 1", None).await.unwrap();
                    }
                });
            };
            etcd.hub().run(known).unwrap();
        }
        let proxy = (!plan.login).then(|| Proxy::start(etcd.hub(), HUB, &endpoints));
        let slots: Vec<Slot> = (0..plan.slots)
            .map(|slot| new_slot(plan, slot, &etcd))
            .collect();
        let watch = Watch::start(slots.iter().map(|slot| Arc::clone(&slot.seen)).collect());
        Ok(Self {
            endpoint: endpoints[0].clone(),
            etcd: Mutex::new(etcd),
            slots,
            watch,
            proxy,
            plan: plan.clone(),
        })
    }

    /// Accidents of single clusters: each cluster takes the next one as soon as it is in order again.
    pub fn apart(&mut self, accidents: Vec<Kind>, rows: &Rows) {
        let accidents = Mutex::new(accidents);
        let (etcd, plan, endpoint) = (&self.etcd, &self.plan, self.endpoint.as_str());
        std::thread::scope(|scope| {
            for slot in &mut self.slots {
                let accidents = &accidents;
                scope.spawn(move || {
                    loop {
                        let Some(kind) = accidents.lock().unwrap().pop() else {
                            return;
                        };
                        alone(slot, kind, plan, (etcd, endpoint), rows);
                    }
                });
            }
        });
    }

    /// An accident of the etcd, which hits all clusters at the same moment.
    pub fn together(&mut self, kind: Kind, rows: &Rows) {
        if kind == Kind::Slow {
            let endpoints = self.proxy.as_ref().map(|proxy| proxy.endpoints().to_vec());
            self.restart(&endpoints.unwrap_or_default());
        }
        let (settled, hit, healed) = (
            Barrier::new(self.slots.len() + 1),
            Barrier::new(self.slots.len() + 1),
            Barrier::new(self.slots.len() + 1),
        );
        let mut random = fastrand::Rng::with_seed(self.plan.seed ^ ((kind as u64) << 32));
        let (from, to) = kind.leases(self.plan.short);
        let lasts = self.plan.ttl.mul_f64(from + (to - from) * random.f64());
        let at = Mutex::new((Instant::now(), Instant::now()));
        let plan = &self.plan;
        std::thread::scope(|scope| {
            for slot in &mut self.slots {
                let (settled, hit, healed, at) = (&settled, &hit, &healed, &at);
                scope.spawn(move || {
                    *slot.seen.label.lock().unwrap() = format!("{kind:?}");
                    slot.floors(Instant::now(), |_| false);
                    let big = slot.random.usize(..HOSTS);
                    let was_settled = slot.settle(big);
                    settled.wait();
                    hit.wait();
                    slot.all_want();
                    healed.wait();
                    if was_settled {
                        let at = *at.lock().unwrap();
                        finish(slot, kind, HOSTS, at, plan, rows);
                    }
                });
            }
            settled.wait();
            let begin = Instant::now();
            self.proxy.iter().for_each(|proxy| {
                proxy.slow(if kind == Kind::Slow {
                    SLOW
                } else {
                    Duration::ZERO
                })
            });
            let hurt = hurt(
                &mut self.etcd.lock().unwrap(),
                kind,
                &mut random,
                &self.endpoint,
            );
            hit.wait();
            sleep(lasts);
            self.proxy
                .iter()
                .for_each(|proxy| proxy.slow(Duration::ZERO));
            heal(&mut self.etcd.lock().unwrap(), kind, &hurt);
            *at.lock().unwrap() = (begin, Instant::now());
            healed.wait();
        });
        rows.lock().unwrap().entry(kind).or_default().events += 1;
        if kind == Kind::Slow {
            let endpoints = self.etcd.lock().unwrap().endpoints();
            self.restart(&endpoints);
        }
    }

    /// Starts all hosts anew with other endpoints.
    fn restart(&mut self, endpoints: &[String]) {
        for host in self.slots.iter_mut().flat_map(|slot| &mut slot.hosts) {
            host.kill();
            host.config.endpoints = endpoints.to_vec();
            host.start();
            sleep(STAGGER);
        }
    }
}

fn new_slot(plan: &Plan, slot: usize, etcd: &Etcd) -> Slot {
    let dir = etcd.dir().join(format!("slot{slot}"));
    std::fs::create_dir(&dir).unwrap();
    let mut hosts: Vec<Host> = (0..HOSTS)
        .map(|host| {
            let number = FIRST_HOST + (slot * HOSTS + host) as u8;
            let ns = NetNs::create("host").unwrap();
            etcd.join(&ns, number).unwrap();
            let mut config = Config {
                dir: dir.clone(),
                name: format!("h{host}"),
                prefix: format!("/faults/{slot}"),
                endpoints: etcd.endpoints(),
                ttl: plan.ttl,
                period: plan.period,
                ca: None,
                own: None,
                user: None,
                total: TOTAL,
                guarantee: GUARANTEE,
                hosts: HOSTS as u32,
                safe_share: SAFE_SHARE,
                mutant: plan.mutants.get(slot).copied(),
            };
            if plan.login {
                let (ca, password) = (config.file("ca"), config.file("password"));
                std::fs::copy(etcd.pki().ca(), &ca).unwrap();
                std::fs::write(&password, "secret\n").unwrap();
                std::fs::set_permissions(&password, Permissions::from_mode(0o600)).unwrap();
                config.ca = Some(ca);
                config.own = Some(etcd.pki().client());
                config.user = Some(("root".to_owned(), password));
            }
            Host::new(number, ns, config)
        })
        .collect();
    let ports: Vec<_> = hosts.iter().map(|host| host.config.file("port")).collect();
    let seen = Arc::new(Seen::new(&ports, (TOTAL, FLOOR), plan.period));
    for host in &mut hosts {
        host.start();
        sleep(STAGGER);
    }
    Slot {
        hosts,
        seen,
        period: plan.period,
        ttl: plan.ttl,
        random: fastrand::Rng::with_seed(plan.seed ^ ((slot as u64) << 16)),
    }
}

fn ask_for_login(etcd: &Etcd) {
    for words in [
        &["user", "add", "root:secret"][..],
        &["user", "grant-role", "root", "root"],
        &["auth", "enable"],
    ] {
        etcd.told(words).unwrap();
    }
    let (cert, key) = etcd.pki().server();
    std::fs::copy(cert, etcd.dir().join("good.crt")).unwrap();
    std::fs::copy(key, etcd.dir().join("good.key")).unwrap();
}

/// One accident of one cluster.
fn alone(
    slot: &mut Slot,
    kind: Kind,
    plan: &Plan,
    (etcd, endpoint): (&Mutex<Etcd>, &str),
    rows: &Rows,
) {
    *slot.seen.label.lock().unwrap() = format!("{kind:?}");
    slot.floors(Instant::now(), |_| false);
    let mut big = slot.random.usize(..HOSTS);
    let is_mutant = !plan.mutants.is_empty();
    if is_mutant && slot.settle(big) {
        // The hardest case: the one that holds most is hit, and whoever gives it to others goes on.
        big = slot.leader().map_or(big, |leader| (leader + 1) % HOSTS);
    }
    if !slot.settle(big) {
        return;
    }
    let victim = match kind {
        Kind::LeaderKilled | Kind::LeaderCut => slot.leader().unwrap_or(big),
        _ if is_mutant => big,
        // Most of the time the one that holds most.
        _ if slot.random.f64() < 0.7 => big,
        _ => slot.random.usize(..HOSTS),
    };
    let (from, to) = kind.leases(plan.short);
    let lasts = slot.part_of_lease(from, to);
    sleep(slot.period.mul_f64(slot.random.f64()));
    let begin = Instant::now();
    let prefix = slot.hosts[victim].config.prefix.clone();
    let values = |of: &mut fastrand::Rng| tamper(etcd, endpoint, &prefix, victim, kind, of);
    let mut tampered = Vec::new();
    match kind {
        Kind::LeaderKilled | Kind::DaemonKilled => slot.hosts[victim].kill(),
        Kind::DaemonStopped => slot.hosts[victim].stop(true),
        Kind::HostCut | Kind::LeaderCut => silence(etcd, slot, victim, true),
        Kind::OtherFields | Kind::NewerSchema => tampered = values(&mut slot.random),
        Kind::WrongCa | Kind::WrongPassword => wrong_file(slot, victim, kind, etcd),
        _ => {}
    }
    // A daemon that runs is not asked for the marker again.
    if tampered.iter().any(|(key, _)| key.ends_with("/schema")) {
        slot.hosts[victim].kill();
        slot.hosts[victim].start();
    }
    slot.all_want();
    let talks = |host: usize| match kind {
        Kind::NewerSchema => false,
        Kind::OtherFields => true,
        _ => host != victim,
    };
    if !plan.short {
        slot.floors(begin + slot.grace(), talks);
    }
    sleep(lasts);
    if plan.short && !is_mutant {
        slot.reach_floors(talks);
    }
    if lasts > slot.ttl && matches!(kind, Kind::HostCut | Kind::LeaderCut | Kind::DaemonStopped) {
        // Whoever plays the guard may have had no CPU for a while.
        slot.seen.ports[victim].guard(since_boot());
        let limit = slot.seen.limits()[victim];
        let safe = (TOTAL / HOSTS as u64) as f64 * SAFE_SHARE;
        if limit as f64 > safe {
            slot.seen.wrong(&format!(
                "host {victim} hears nobody for longer than a lease and may send {limit}"
            ));
        }
    }
    match kind {
        Kind::LeaderKilled | Kind::DaemonKilled => slot.hosts[victim].start(),
        Kind::DaemonStopped => slot.hosts[victim].stop(false),
        Kind::HostCut | Kind::LeaderCut => silence(etcd, slot, victim, false),
        Kind::OtherFields | Kind::NewerSchema => untamper(etcd, endpoint, &tampered),
        Kind::WrongCa | Kind::WrongPassword => right_file(slot, victim, etcd),
        _ => {}
    }
    let healed = Instant::now();
    // A password is asked for at a connection; one that lives goes on.
    finish(slot, kind, victim, (begin, healed), plan, rows);
}

/// Waits until all is as before, and looks at what was said.
fn finish(
    slot: &mut Slot,
    kind: Kind,
    victim: usize,
    (begin, healed): (Instant, Instant),
    plan: &Plan,
    rows: &Rows,
) {
    let back = slot.back(healed);
    if back.is_some() {
        slot.floors(Instant::now(), |_| true);
    }
    sleep(2 * slot.period);
    let (untidy, named) = lines::check(slot, kind, victim, healed - begin);
    let mut rows = rows.lock().unwrap();
    let row = rows.entry(kind).or_default();
    row.count += 1;
    row.named = row.named.take().or(named);
    row.untidy.extend(untidy);
    match back {
        None => row.wrong.push(format!(
            "{kind:?}: never as before: {:?}",
            slot.seen.limits()
        )),
        Some(periods) => {
            row.back.push(periods);
            // No older etcd's grant may hold any more; members elect a leader of their own first.
            let before = match kind {
                Kind::Emptied => 2.0 * plan.ttl.as_secs_f64().ceil() + ELECTION,
                Kind::MajorityCut => ELECTION,
                _ => 0.0,
            };
            if periods > before / plan.period.as_secs_f64() + 5.0 {
                row.untidy.push(format!(
                    "{kind:?}: as before only after {periods:.1} periods"
                ));
            }
        }
    }
}
