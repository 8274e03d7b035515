//! One CPU that takes in frames at its limit while others idle (T43).

use nicety_model::cpu_list::name_cpus;
use nicety_model::facts::{NetFacts, WindowFacts};
use nicety_model::finding::{Certainty, Gain, Risk};

use crate::case::{Case, in_seconds};
use crate::draft::{Reason, Report};
use crate::place::mask;
use crate::rule::Rule;

pub(super) const RULE: Rule = Rule {
    id: "T43",
    name: "softirq-cpu",
    checks: "No single CPU takes in frames at its limit while others idle",
    fires: "Fires when one CPU took in most frames of the window and was full, while others near the NIC \
            idled. Silent where T04, T06, T10 or T35 names the cause.",
    writes: None,
    gain: Gain::Large,
    reasons: &[SPREAD],
    check,
};

const SPREAD: Reason = Reason {
    why: "Receive work stays on the CPU that took the interrupt. When that one is full, frames wait and are \
          dropped, however idle the others are.",
    source: "Linux Documentation/networking/scaling.rst, RSS and RPS; /proc/net/softnet_stat; /proc/stat, softirq",
    cost: "Steering takes an interrupt between CPUs per batch. More channels drop the link for a moment.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

/// Share of the time from which on a CPU has no more to give.
const LIMIT: f64 = 0.95;
/// Share of the time below which another one could help.
const IDLE: f64 = 0.5;
/// Share of the frames, and of the CPU's time where soft interrupts are told apart, that makes receiving the cause.
const MOST: f64 = 0.5;
/// Rules that say what keeps frames on one CPU.
const CAUSES: [&str; 4] = ["irq-affinity", "rps", "channels", "rss"];

fn check(case: &Case<'_>, report: &mut Report) {
    let Some(window) = &case.facts.window else {
        return;
    };
    if report
        .so_far()
        .iter()
        .any(|finding| CAUSES.contains(&finding.rule.as_str()))
    {
        return;
    }
    let Some((cpu, share)) = case.busiest_receiver().filter(|(_, share)| *share > MOST) else {
        return;
    };
    let Some(busy) = window
        .busy
        .get(&cpu)
        .filter(|busy| **busy >= LIMIT && receives(window, cpu))
    else {
        return;
    };
    let nics: Vec<&NetFacts> = case
        .nics()
        .filter(|net| case.interrupts(net, cpu))
        .collect();
    let helpers = helpers(case, window, &nics, cpu);
    if helpers.is_empty() {
        return;
    }
    let finding = report.find(
        &format!("CPU {cpu}"),
        format!(
            "took in {:.0} % of the frames {} and was {:.0} % busy, {} below {:.0} %",
            share * 100.0,
            in_seconds(window),
            busy * 100.0,
            name_cpus(&helpers),
            IDLE * 100.0
        ),
        format!("{} help", name_cpus(&helpers)),
        &SPREAD,
    );
    finding.formula = Some(format!(
        "{share:.2} of the frames > {MOST}, busy {busy:.2} ≥ {LIMIT}"
    ));
    finding.advice = nics
        .iter()
        .flat_map(|net| ways(case, net, &helpers))
        .collect();
    finding.advice.push(
        "A single flow stays on one CPU, whatever is set: use several connections or tunnels."
            .to_owned(),
    );
}

/// Whether soft interrupts fill the CPU, as far as they were counted apart.
fn receives(window: &WindowFacts, cpu: u32) -> bool {
    window.softirq.is_empty() || window.softirq.get(&cpu).is_some_and(|share| *share >= MOST)
}

/// Idle CPUs near the NICs that nobody else has, where they are at least half of those there.
fn helpers(case: &Case<'_>, window: &WindowFacts, nics: &[&NetFacts], cpu: u32) -> Vec<u32> {
    let near = |other: &u32| {
        nics.is_empty() || nics.iter().any(|net| case.local_cpus(net).contains(other))
    };
    let others = window
        .busy
        .iter()
        .filter(|(other, _)| **other != cpu && near(other));
    let others: Vec<(u32, f64)> = others.map(|(&other, &busy)| (other, busy)).collect();
    let (pinned, isolated) = (case.pinned_cpus(), &case.facts.cpu.isolated);
    let free = |other: &u32| !pinned.contains(other) && !isolated.contains(other);
    let idle = others
        .iter()
        .filter(|(_, busy)| *busy < IDLE)
        .map(|(other, _)| *other);
    let idle: Vec<u32> = idle.filter(free).collect();
    if idle.len() * 2 >= others.len() {
        idle
    } else {
        Vec::new()
    }
}

/// How the NIC's frames get to more CPUs.
fn ways(case: &Case<'_>, net: &NetFacts, helpers: &[u32]) -> Vec<String> {
    let (name, queues) = (net.name(), &net.link.queues);
    let mut ways = Vec::new();
    if let (Some(now), Some(most)) = (queues.combined, queues.combined_max)
        && now < most
    {
        ways.push(format!(
            "{name} has {now} of {most} channels: ethtool -L {name} combined N."
        ));
    }
    if net.rx_steering.iter().any(|queue| queue.cpus.is_empty()) {
        let mask = mask(helpers, case.facts.cpu.cpus.len());
        ways.push(format!(
            "Steer by software: echo {mask} into /sys/class/net/{name}/queues/rx-*/rps_cpus."
        ));
    }
    ways
}

#[cfg(test)]
mod tests {
    use nicety_model::facts::{SoftnetFacts, WindowFacts};

    use crate::fixture::{Host, thread};

    /// Four queues on eight CPUs; CPU 2 takes in so many of 100 frames.
    fn host(percent: u64, busy: f64, others: f64, fill: impl FnOnce(&mut WindowFacts)) -> Host {
        let mut host = Host::new(1, 8)
            .nic("eth0", 10_000, 0)
            .combined(8, 8)
            .queues(4, &[]);
        for cpu in 1..5 {
            host = host.irq(30 + cpu, "eth0", &[cpu], 9);
        }
        host.window(10.0, |window| {
            let counter = |(cpu, processed)| SoftnetFacts {
                cpu,
                processed,
                ..SoftnetFacts::default()
            };
            let frames = [(1, (100 - percent) * 100_000), (2, percent * 100_000)];
            window.softnet = frames.map(counter).to_vec();
            window.busy = (0..8).map(|cpu| (cpu, others)).collect();
            window.busy.insert(2, busy);
            fill(window);
        })
    }

    #[test]
    fn a_full_receiver_beside_idle_cpus_is_found() {
        let finding = host(70, 0.99, 0.1, |_| {}).one("softirq-cpu");
        assert_eq!(finding.subject, "CPU 2");
        assert!(
            finding
                .is
                .starts_with("took in 70 % of the frames in 10 s and was 99 % busy")
        );
        assert!(
            finding.advice[0].contains("echo fb into"),
            "{:?}",
            finding.advice
        );
        // Room left, evenly spread, and no CPU that could help.
        host(70, 0.9, 0.1, |_| {}).none("softirq-cpu");
        host(50, 0.99, 0.1, |_| {}).none("softirq-cpu");
        host(70, 0.99, 0.7, |_| {}).none("softirq-cpu");
        host(70, 0.99, 0.1, |_| {})
            .facts_with(|facts| facts.window = None)
            .none("softirq-cpu");
    }

    #[test]
    fn a_program_that_fills_the_cpu_is_not_receive_work() {
        let softirq =
            |share: f64| host(70, 0.99, 0.1, |window| window.softirq = [(2, share)].into());
        softirq(0.8).one("softirq-cpu");
        softirq(0.2).none("softirq-cpu");
    }

    #[test]
    fn cpus_of_guests_do_not_help() {
        let pinned = |count: u32| {
            let vcpus = (0..count)
                .map(|cpu| thread(100 + cpu, "CPU 0/KVM", &[7 - cpu]))
                .collect();
            let host = host(70, 0.99, 0.1, |_| {}).vm("a", &[]);
            host.facts_with(|facts| facts.vms[0].vcpus = vcpus)
        };
        assert_eq!(pinned(3).find("softirq-cpu").len(), 1);
        assert_eq!(pinned(5).find("softirq-cpu").len(), 0);
    }

    #[test]
    fn one_cause_is_found_once() {
        let host = host(90, 0.99, 0.1, |_| {}).nic_with(|net| net.rx_steering.truncate(1));
        host.one("rps");
        host.none("softirq-cpu");
    }
}
