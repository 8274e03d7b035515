//! A new flood beside a sender that gives way, as TCP does: within how many periods it is held.

use std::time::Duration;

use nicety_police::{Controller, Decision, Policy, Sample, Seen, Tuning};

const POLICY: &str = "[link]\ncapacity = \"200mbit\"\nperiod = \"1s\"\n\
    [[tenant]]\nname = \"tcp\"\nports = \"a\"\n[[tenant]]\nname = \"udp\"\nports = \"b\"\n";
const LINK: f64 = 200e6;
const FLOOD: f64 = 400e6;
/// Half of what is shared.
const SHARE: f64 = 97e6;
/// Steps of a period.
const STEPS: usize = 20;
const PERIODS: usize = 16;
/// The period in which the flood begins.
const BEGIN: usize = 5;

/// The controller reads what each port has sent by then, and its limits are written to `limits`, in bit/s.
fn period_ends<const PORTS: usize>(
    controller: &mut Controller,
    seconds: u64,
    bytes: [u64; PORTS],
    limits: &mut [f64; PORTS],
) -> Decision {
    let at = Duration::from_secs(seconds);
    let seen = bytes.map(|bytes| Seen::counted(Sample::passed(at, bytes, 0)));
    let decision = controller.step(&seen);
    for index in &decision.writes {
        let limit = decision.ports[*index].limit;
        controller.wrote(*index, limit);
        limits[*index] = limit.bps();
    }
    decision
}

/// Periods after which a flood that begins at step `at` of a period is within a tenth of its share
/// and stays there.
fn held_after(at: usize, tuning: Tuning) -> f64 {
    let policy = Policy::parse("p.toml", POLICY).unwrap();
    let mut controller = Controller::new(policy, &[], tuning);
    let mut limits = [LINK; 2];
    let mut tcp = 0.05 * LINK;
    let mut bytes = [0.0; 2];
    let (mut last, begin) = (0, BEGIN * STEPS + at);
    for step in 0..PERIODS * STEPS {
        if step % STEPS == 0 {
            let seconds = (step / STEPS) as u64;
            period_ends(
                &mut controller,
                seconds,
                bytes.map(|of| of as u64),
                &mut limits,
            );
        }
        let udp = if step < begin {
            0.0
        } else {
            FLOOD.min(limits[1])
        };
        let offered = tcp + udp;
        // First come, first served; TCP gives way to losses, and grows while there are none.
        let passed = [tcp, udp].map(|rate| rate * (LINK / offered).min(1.0));
        tcp = if offered > LINK {
            (0.3 * tcp).max(0.01 * LINK)
        } else {
            (1.08 * tcp).min(limits[0])
        };
        for (bytes, rate) in bytes.iter_mut().zip(passed) {
            *bytes += rate / 8.0 / STEPS as f64;
        }
        if step >= begin && passed[1] > 1.1 * SHARE {
            last = step + 1 - begin;
        }
    }
    last as f64 / STEPS as f64
}

fn worst(tuning: Tuning) -> f64 {
    let each = (0..STEPS).map(|at| held_after(at, tuning));
    each.fold(0.0, f64::max)
}

#[test]
fn a_flood_is_held_within_two_periods_wherever_in_a_period_it_begins() {
    let worst_of = worst(Tuning::default());
    assert!(worst_of <= 2.0, "{worst_of}");
    // It is the time to come back that does it.
    let without = worst(Tuning {
        grace_periods: 0,
        ..Tuning::default()
    });
    assert!(without > 2.0, "{without}");
}

/// What all send that is more than the link carries, as time of the link in ms: first come, first served, that much is
/// lost, whoever's it is. One has a guarantee and sends less; one takes the rest; one is idle, and floods then.
fn overload_ms(idle_share: f64) -> (f64, f64) {
    const GUARANTEED: f64 = 90e6;
    let text = format!(
        "[link]\ncapacity = \"200mbit\"\nidle_share = {idle_share}\n\
         [[tenant]]\nname = \"a\"\nguarantee = \"100mbit\"\nports = \"a0\"\n\
         [[tenant]]\nname = \"b\"\nports = \"b0\"\n[[tenant]]\nname = \"c\"\nports = \"c0\"\n"
    );
    let policy = Policy::parse("p.toml", &text).unwrap();
    let mut controller = Controller::new(policy, &[], Tuning::default());
    let mut limits = [0.0; 3];
    let mut bytes = [0u64; 3];
    let (mut beyond, mut has_share) = (0.0, None);
    for period in 0..20u64 {
        let flood = if period < 10 { 0.0 } else { FLOOD };
        let wants = [GUARANTEED, flood, FLOOD];
        let mut rates = [0.0; 3];
        for port in 0..3 {
            rates[port] = f64::min(wants[port], limits[port]);
            bytes[port] += (rates[port] / 8.0) as u64;
        }
        if period >= 10 {
            beyond += (rates.iter().sum::<f64>() - LINK).max(0.0) / LINK * 1e3;
            assert!(rates[0] >= GUARANTEED, "{rates:?}");
            if has_share.is_none() && rates[1] > 45e6 {
                has_share = Some(period - 10);
            }
        }
        period_ends(&mut controller, period, bytes, &mut limits);
    }
    (beyond, has_share.unwrap() as f64)
}

#[test]
fn a_flood_of_an_idle_tenant_is_held_at_once_where_it_begins_with_little() {
    // It had its whole share at once, and the link too much for a period.
    let (beyond, waits) = overload_ms(1.0);
    assert!(beyond > 300.0 && waits == 0.0, "{beyond} {waits}");
    // It has it a period later, and nothing is too much.
    let (beyond, waits) = overload_ms(0.05);
    assert!(beyond == 0.0 && waits == 1.0, "{beyond} {waits}");
}

#[test]
fn one_that_sends_as_before_is_not_held_by_what_an_idle_one_may_begin_with() {
    let text = "[link]\ncapacity = \"200mbit\"\nidle_share = 0.01\n\
        [[tenant]]\nname = \"a\"\nports = \"a0\"\n[[tenant]]\nname = \"b\"\nports = \"b0\"\n";
    let policy = Policy::parse("p.toml", text).unwrap();
    let mut controller = Controller::new(policy, &[], Tuning::default());
    let mut bytes = [0u64; 2];
    let mut limits = [0.0; 2];
    let mut writes = 0;
    for period in 0..40u64 {
        for (port, want) in [30e6, FLOOD].into_iter().enumerate() {
            bytes[port] += (f64::min(want, limits[port]) / 8.0) as u64;
        }
        let decision = period_ends(&mut controller, period, bytes, &mut limits);
        if period >= 10 {
            writes += decision.writes.len();
            assert_eq!(decision.tenants[0].demand_bps.map(f64::round), Some(31.7e6));
        }
    }
    assert_eq!(writes, 0);
}
