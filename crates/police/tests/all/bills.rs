//! Bills beside the truth: a port whose limiter, interface and counters come and go, and a daemon that is killed.

use std::collections::BTreeMap;
use std::time::Duration;

use nicety_model::bill::{SLOT_SECONDS, Traffic, UsageRow};
use nicety_police::bill::{Book, Grouped, INTERFACE, Mark, Moment, Passed, Sighting, statement};
use nicety_police::totals::{Counts, Held, Total};

/// What the port passes at most, in bits per second and in bytes per step.
const MOST: f64 = 80e6;
const STEP: Duration = Duration::from_millis(100);
const STEP_BYTES: u64 = 1_000_000;
/// 2026-11-01 in seconds since 1970.
const BEGIN: u64 = 1_793_491_200;

/// The port as it is.
#[derive(Default)]
struct Port {
    /// Number of its interface; none: it is gone.
    interface: Option<u32>,
    /// Numbers of interfaces that there were.
    made: u32,
    face: Total,
    /// What its limiter has counted.
    limiter: Option<(u64, u64, Held)>,
    quiet: u32,
    /// What passed: sent and received, by slot.
    truth: [BTreeMap<i64, u64>; 2],
}

impl Port {
    fn make(&mut self) {
        self.made += 1;
        self.interface = Some(self.made);
        self.face = Total::default();
    }

    fn pass(&mut self, slot: i64, random: &mut fastrand::Rng) {
        if self.interface.is_none() {
            return;
        }
        let offered = random.u64(0..STEP_BYTES / 2);
        self.face.tx_bytes += offered;
        self.face.tx_frames += offered / 100;
        let passed = match &mut self.limiter {
            Some((bytes, frames, held)) => {
                let passed = if random.bool() {
                    offered
                } else {
                    offered.min(random.u64(0..STEP_BYTES / 2))
                };
                held.drops += (offered - passed).div_ceil(1_500);
                *bytes += passed;
                *frames += passed / 100;
                passed
            }
            None => offered,
        };
        let received = random.u64(0..STEP_BYTES);
        self.face.rx_bytes += received;
        self.face.rx_frames += received / 100;
        *self.truth[0].entry(slot).or_default() += passed;
        *self.truth[1].entry(slot).or_default() += received;
    }

    fn seen(&self) -> Sighting {
        let Some(interface) = self.interface else {
            return Sighting::Gone;
        };
        let mut now = self.face;
        if let Some((bytes, frames, _)) = self.limiter {
            (now.tx_bytes, now.tx_frames) = (bytes, frames);
        }
        Sighting::There(Mark {
            whose: format!("boot/{interface}"),
            counters: Counts {
                source: self.limiter.map_or(INTERFACE, |_| "limiter").into(),
                now,
                byte_bits: 64,
                frame_bits: 64,
                interface: Some(self.face),
                held: self.limiter.map(|(_, _, held)| held),
            },
            most_bps: MOST,
        })
    }

    /// Something happens to it: no more than once in a period, and to its limiter not in two of them after each other.
    /// While nobody watches, nobody limits it anew: what another one drops then is not known to be dropped.
    fn turn(&mut self, random: &mut fastrand::Rng, watched: bool) {
        self.quiet = self.quiet.saturating_sub(1);
        let turn = random.u32(0..400);
        if self.quiet == 0 && (2..=6).contains(&turn) {
            self.quiet = 5;
        } else if turn >= 2 {
            return;
        }
        match turn {
            0 => (self.interface, self.limiter) = (None, None),
            1 if self.interface.is_none() => self.make(),
            2 if self.interface.is_some() => {
                self.make();
                self.limiter = None;
            }
            3..6 if self.interface.is_some() && watched => {
                self.limiter = Some((0, 0, Held::default()))
            }
            6 => self.limiter = None,
            _ => {}
        }
    }
}

/// Runs a daemon beside a port for some hours. `look` shows the book what there is.
fn run(seed: u64, look: impl Fn(&Port) -> Sighting) -> (Port, Vec<UsageRow>) {
    let wall = |boot| Duration::from_secs(BEGIN) + boot;
    run_by(seed, look, wall)
}

/// The same with a clock on the wall, by the time since the boot.
fn run_by(
    seed: u64,
    look: impl Fn(&Port) -> Sighting,
    wall: impl Fn(Duration) -> Duration,
) -> (Port, Vec<UsageRow>) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut port = Port::default();
    port.make();
    let (mut book, mut daemon_is_down) = (Book::default(), 0_u32);
    let mut last = moment(0, 0);
    let mut slots: BTreeMap<i64, nicety_model::bill::Usage> = BTreeMap::new();
    for step in 0..2 * 3_600 * 10_u32 {
        let boot = STEP * step;
        let at = Moment {
            boot,
            wall: wall(boot),
        };
        last = at;
        // The first look comes before the first byte.
        if step > 0 {
            // What passes in a step passes before its end.
            let within = Moment {
                wall: at.wall - STEP / 2,
                ..at
            };
            port.pass(within.slot(), &mut random);
        }
        if daemon_is_down > 0 {
            daemon_is_down -= 1;
        } else if step % 5 == 0 {
            book.look("blue", "tap0", at, look(&port));
            book.pass(
                at,
                [Passed {
                    tenant: "blue",
                    limited: step % 2 == 0,
                }],
            );
            match random.u32(0..500) {
                // Kept, then killed, or stopped for some time.
                0..3 => {
                    for part in book.used() {
                        slots.entry(part.start).or_default().add(&part.usage);
                    }
                    book.kept();
                    let lines = book.lines().clone();
                    let text = serde_json::to_string(&lines).unwrap();
                    let lines: BTreeMap<_, _> = serde_json::from_str(&text).unwrap();
                    book = Book::open(lines, book.used());
                    daemon_is_down = random.u32(0..6_000);
                }
                3 if port.limiter.is_some() => {
                    book.open_up("blue", "tap0");
                    port.limiter = None;
                }
                _ => {}
            }
        }
        if step % 5 == 2 {
            port.turn(&mut random, daemon_is_down == 0);
        }
    }
    book.look("blue", "tap0", last, look(&port));
    for part in book.used() {
        slots.entry(part.start).or_default().add(&part.usage);
    }
    let rows = slots.into_iter().map(|(start, usage)| UsageRow {
        host: "kvm1".to_owned(),
        tenant: "blue".to_owned(),
        start,
        usage,
    });
    (port, rows.collect())
}

/// What a direction of the rows claims beside the truth: the first thing that is not so.
fn wrong(
    truth: &BTreeMap<i64, u64>,
    rows: &[UsageRow],
    of: fn(&UsageRow) -> &Traffic,
) -> Option<String> {
    // Slots that nobody has looked after yet are not whole.
    let last = rows.last().map_or(0, |row| row.start);
    for row in rows.iter().filter(|row| row.start < last) {
        let traffic = of(row);
        let real = truth.get(&row.start).copied().unwrap_or(0);
        if !(traffic.least..=traffic.most).contains(&real) {
            return Some(format!(
                "slot {}: {real} is not within {traffic:?}",
                row.start
            ));
        }
    }
    let sum = |part: fn(&Traffic) -> u64| rows.iter().map(|row| part(of(row))).sum::<u64>();
    let (bytes, unseen) = (sum(|traffic| traffic.bytes), sum(|traffic| traffic.unseen));
    let passed: u64 = truth.values().sum();
    let open: u64 = truth.range(last..).map(|(_, bytes)| bytes).sum();
    if bytes > passed {
        return Some(format!("{bytes} counted, {passed} passed"));
    }
    (bytes + unseen + open < passed)
        .then(|| format!("{bytes} and {unseen} unseen, {passed} passed"))
}

#[test]
fn a_bill_is_never_above_the_truth_and_says_what_it_may_lack() {
    for seed in 0..40 {
        let (port, rows) = run(seed, Port::seen);
        let sent = wrong(&port.truth[0], &rows, |row| &row.usage.sent);
        let received = wrong(&port.truth[1], &rows, |row| &row.usage.received);
        assert_eq!((sent, received), (None, None), "seed {seed}");
    }
}

/// After half an hour, for a second or for good; the daemon may be down then.
#[test]
fn a_clock_that_is_set_leaves_a_lower_bound_and_what_it_may_lack() {
    for step in [-60 * 86_400, -3_600, 3_600, 60 * 86_400_i64] {
        for (seed, until) in (0..10).flat_map(|seed| [(seed, 1_801), (seed, u64::MAX)]) {
            let wall = |boot: Duration| {
                let is_set = (1_800..until).contains(&boot.as_secs());
                let begin = BEGIN.saturating_add_signed(if is_set { step } else { 0 });
                Duration::from_secs(begin) + boot
            };
            let (port, rows) = run_by(seed, Port::seen, wall);
            for (truth, of) in port.truth.iter().zip([
                (|row| &row.usage.sent) as fn(&UsageRow) -> &Traffic,
                |row| &row.usage.received,
            ]) {
                assert_eq!(wrong(truth, &rows, of), None, "{step} seed {seed}");
            }
        }
    }
}

/// A daemon that begins anew after a boot, while the clock on the wall was set far ahead or back.
#[test]
fn a_boot_with_any_clock_makes_an_uncertainty_and_no_flood_of_samples() {
    let at = |boot, wall| Moment {
        boot: Duration::from_secs(boot),
        wall: Duration::from_secs(wall),
    };
    let seen = |boot: &str, bytes| {
        let Sighting::There(mark) = counted(INTERFACE, bytes, 64, MOST) else {
            panic!("it is there");
        };
        Sighting::There(Mark {
            whose: format!("{boot}/1/7"),
            ..mark
        })
    };
    for wall in [0, BEGIN - 86_400, BEGIN + 100, BEGIN + 9 * 86_400, u64::MAX] {
        let mut book = Book::default();
        book.look("blue", "tap0", at(5_000, BEGIN), seen("a", 1_000));
        let mut book = Book::open(book.lines().clone(), []);
        // It is up for longer than it was when it was seen last: the boot says that the clock began anew.
        book.look("blue", "tap0", at(6_000, wall), seen("b", 500));
        let parts: Vec<_> = book.used().collect();
        let sum = |of: fn(&Traffic) -> u64| parts.iter().map(|part| of(&part.usage.sent)).sum();
        let (bytes, unseen): (u64, u64) = (sum(|it| it.bytes), sum(|it| it.unseen.min(1 << 50)));
        assert_eq!(bytes, 500, "{wall}");
        // As much as can pass while it is up.
        assert!(unseen >= 6_000 * 10_000_000 - 500, "{wall}: {unseen}");
        assert!(parts.len() <= 2 * 8_930, "{wall}: {}", parts.len());
    }
}

#[test]
fn a_book_that_takes_every_limiter_for_the_same_is_caught() {
    let naive = |port: &Port| match port.seen() {
        Sighting::There(mut mark) => {
            mark.counters.source = INTERFACE.into();
            Sighting::There(mark)
        }
        gone => gone,
    };
    let is_wrong = |seed| {
        let (port, rows) = run(seed, naive);
        wrong(&port.truth[0], &rows, |row| &row.usage.sent).is_some()
    };
    assert!((0..10).any(is_wrong));
}

#[test]
fn a_month_is_billed_by_its_95th_percentile() {
    let rate = |mbit: u64| mbit * 1_000_000 / 8 * SLOT_SECONDS as u64;
    let row = |slot: i64, mbit, host: &str| {
        let mut row = UsageRow {
            host: host.to_owned(),
            tenant: "blue".to_owned(),
            start: BEGIN as i64 + slot * SLOT_SECONDS,
            usage: Default::default(),
        };
        row.usage.sent = Traffic {
            bytes: rate(mbit),
            frames: 1,
            unseen: 0,
            least: rate(mbit) / 2,
            most: rate(mbit) * 2,
        };
        row.usage.watched_ms = 300_000;
        row
    };
    // 100 samples: 1 to 100 Mbit/s; the five highest are left out.
    let rows: Vec<UsageRow> = (0..100)
        .map(|slot| row(slot, slot as u64 + 1, "a"))
        .collect();
    let month = BEGIN as i64..BEGIN as i64 + 30 * 86_400;
    let bills = statement(
        &rows,
        month.clone(),
        BEGIN as i64 + 110 * 300,
        Grouped::ByTenant,
    );
    let [bill] = bills.as_slice() else {
        panic!("{bills:?}");
    };
    assert_eq!((bill.samples, bill.missing), (100, 10));
    assert_eq!(bill.sent.p95_bps, 95e6);
    assert_eq!(
        (bill.sent.p95_least_bps, bill.sent.p95_most_bps),
        (47.5e6, 190e6)
    );
    assert_eq!(bill.sent.max_bps, 100e6);
    // Both hosts' samples of a slot are one.
    let both: Vec<UsageRow> = rows
        .iter()
        .cloned()
        .chain((0..100).map(|slot| row(slot, 5, "b")))
        .collect();
    let bills = statement(&both, month.clone(), month.end, Grouped::ByTenant);
    assert_eq!(bills[0].sent.p95_bps, 100e6);
    assert_eq!(bills[0].hosts, ["a", "b"]);
    let bills = statement(&both, month.clone(), month.end, Grouped::ByHost);
    let p95: Vec<f64> = bills.iter().map(|bill| bill.sent.p95_bps).collect();
    assert_eq!(p95, [95e6, 5e6]);
    // Of another month nothing is billed.
    assert!(
        statement(
            &both,
            month.end..month.end + 1,
            month.end,
            Grouped::ByTenant
        )
        .is_empty()
    );
}

/// So many seconds after the boot, and after the first.
fn moment(boot: u64, wall: u64) -> Moment {
    Moment {
        boot: Duration::from_secs(boot),
        wall: Duration::from_secs(BEGIN + wall),
    }
}

/// A port whose counter of this width says so many bytes, and that passes no more than `most_bps`.
fn counted(source: &'static str, tx_bytes: u64, bits: u32, most_bps: f64) -> Sighting {
    let now = Total {
        tx_bytes,
        ..Total::default()
    };
    let counters = Counts {
        source: source.into(),
        now,
        byte_bits: bits,
        frame_bits: bits,
        interface: (source == INTERFACE).then_some(now),
        held: None,
    };
    Sighting::There(Mark {
        whose: String::new(),
        counters,
        most_bps,
    })
}

#[test]
fn a_clock_that_is_set_back_makes_no_sample_higher() {
    let mut book = Book::default();
    let mut sent = 0;
    for second in 0..1_200_u64 {
        // After ten minutes the clock is set back by five.
        let wall = if second < 600 { second } else { second - 300 };
        let at = moment(second, wall);
        sent += 125_000;
        book.look("blue", "tap0", at, counted(INTERFACE, sent, 64, MOST));
        let blue = Passed {
            tenant: "blue",
            limited: false,
        };
        book.pass(at, [blue]);
    }
    let rows: Vec<UsageRow> = book
        .used()
        .map(|part| UsageRow {
            host: String::new(),
            tenant: part.tenant,
            start: part.start,
            usage: part.usage,
        })
        .collect();
    let bills = statement(&rows, 0..i64::MAX, i64::MAX, Grouped::ByTenant);
    let (max, bytes) = (bills[0].sent.max_bps, bills[0].sent.bytes);
    assert_eq!(bytes, sent - 125_000);
    assert!((0.99e6..1.01e6).contains(&max), "{max}");
}

#[test]
fn a_narrow_counter_that_may_have_gone_round_says_so() {
    let look = |book: &mut Book, second: u64, bytes: u64| {
        let sighting = counted("registers", bytes, 32, 10e9);
        book.look("blue", "eth0/vf1", moment(second, second), sighting);
    };
    let mut book = Book::default();
    look(&mut book, 0, 0xffff_ff00);
    // A second at 10 Gbit/s is less than a round.
    look(&mut book, 1, 0x100);
    let used = |book: &Book| book.used().next().unwrap().usage.sent;
    assert_eq!((used(&book).bytes, used(&book).unseen), (0x200, 0));
    // Ten seconds are two rounds at most.
    look(&mut book, 11, 0x200);
    assert_eq!((used(&book).bytes, used(&book).unseen), (0x300, 2 << 32));
}
