//! Policies, counters that lie, and what a guest may say.

use std::time::Duration;

use nicety_model::BitRate;
use nicety_police::guest::{Budget, Line, Lines, Request, Soft, soft_limit};
use nicety_police::{Controller, Policy, Sample, Seen, Tuning};

use crate::{Target, cases, texts};

pub(crate) const POLICY: Target = Target {
    name: "policy",
    run: |bytes| match Policy::parse("policy.toml", &String::from_utf8_lossy(bytes)) {
        Ok(policy) => drive(policy, bytes),
        Err(error) => texts::one_line(&error.to_string()),
    },
    seeds: |root| cases(root, "policies", "policy.toml"),
};

/// What the other tenants of the link are like while one's counters lie.
const TENANTS: &str = r#"
[link]
capacity = "1gbit"
period = "500ms"
[[tenant]]
name = "a"
ports = ["p0", "p1"]
guarantee = "100mbit"
[[tenant]]
name = "b"
ports = "p2"
weight = 3.0
cap = "300mbit"
"#;

pub(crate) const CONTROLLER: Target = Target {
    name: "controller",
    run: |bytes| {
        if let Ok(policy) = Policy::parse("policy.toml", TENANTS) {
            drive(policy, bytes);
        }
    },
    seeds: |_| vec![(0..=255).collect(), vec![0; 96], vec![0xff; 400]],
};

/// Takes numbers out of bytes; zeros when they are used up.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or_default()
    }

    fn long(&mut self) -> u64 {
        match self.0.split_first_chunk() {
            Some((first, rest)) => {
                self.0 = rest;
                u64::from_le_bytes(*first)
            }
            None => self.byte().into(),
        }
    }
}

/// Periods of a controller that is told anything.
#[allow(clippy::panic, reason = "the fuzzer looks for panics")]
fn drive(policy: Policy, bytes: &[u8]) {
    let count = policy.ports().count();
    let tenants = policy.tenants.len();
    let mut numbers = Numbers(bytes);
    let mut controller = Controller::new(policy, &[], Tuning::default());
    let mut at = Duration::ZERO;
    for _ in 0..16 {
        // A clock that stands, goes as it should, or leaps.
        at = at.saturating_add(match numbers.byte() % 4 {
            0 => Duration::ZERO,
            1 | 2 => Duration::from_millis(500),
            _ => Duration::from_millis(numbers.long() >> 16),
        });
        let seen: Vec<Seen> = (0..count)
            .map(|_| {
                let flags = numbers.byte();
                Seen {
                    present: flags & 1 == 0,
                    silent: flags & 6 == 6,
                    limit: (flags & 8 == 0).then(|| BitRate(numbers.long())),
                    longest: numbers.long() >> 48,
                    sample: (flags & 16 == 0).then(|| Sample {
                        at,
                        bytes: numbers.long(),
                        frames: numbers.long(),
                        drops: (flags & 32 == 0).then(|| numbers.long()),
                        backlog: (flags & 64 == 0).then(|| numbers.long()),
                    }),
                }
            })
            .collect();
        let decision = controller.step(&seen);
        for tenant in &decision.tenants {
            if !(tenant.limit_bps.is_finite() && tenant.limit_bps >= 0.0) {
                panic!("a limit of {}", tenant.limit_bps);
            }
        }
        match numbers.byte() % 4 {
            0 => controller.wrote(
                usize::from(numbers.byte()) % count.max(1),
                BitRate(numbers.long()),
            ),
            1 => controller.failed(usize::from(numbers.byte())),
            2 => controller.soften(
                usize::from(numbers.byte()) % tenants.max(1),
                Some(BitRate(numbers.long())),
            ),
            _ => {}
        }
    }
}

pub(crate) const GUEST_LINES: Target = Target {
    name: "guest-lines",
    run: |bytes| {
        let mut lines = Lines::default();
        let mut budget = Budget::begin(Duration::ZERO);
        let mut soft = Soft::new(BitRate(1_000_000_000), None);
        let mut now = Duration::ZERO;
        for piece in bytes.chunks(100) {
            for line in lines.push(piece) {
                // It is answered when the budget says.
                now = budget.charge(now).max(now);
                let Line::Whole(line) = line else { continue };
                if let Ok(request) = Request::parse(&line) {
                    texts::one_line(request.line().trim_end());
                    let _ = soft.apply(&request, now);
                }
            }
        }
        let _ = soft_limit(&String::from_utf8_lossy(bytes));
    },
    seeds: |_| {
        vec![
            b"1 a status\n".to_vec(),
            b"1 a limit 200mbit for 60s\n1 b limit none\n".to_vec(),
        ]
    },
};
