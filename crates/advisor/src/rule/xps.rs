//! Transmit packet steering (T08): each CPU its own queue.

use nicety_model::finding::{Certainty, Risk};
use nicety_model::knob::Knob;

use crate::case::Case;
use crate::draft::{Reason, Report, change};
use crate::place::mask;

const OWN: Reason = Reason {
    why: "Without a map the queue is chosen by hash, so CPUs take each other's queue locks and a \
          sent frame is freed on another CPU.",
    source: "Linux Documentation/networking/scaling.rst, XPS",
    cost: "None to speak of.",
    risk: Risk::Low,
    certainty: Certainty::Likely,
};

pub(super) fn check(case: &Case<'_>, report: &mut Report) {
    let online = case.facts.cpu.cpus.len();
    for net in case.nics() {
        let queues = &net.tx_steering;
        let unset = queues.len() > 1 && queues.iter().all(|queue| queue.cpus.is_empty());
        let near = case.local_cpus(net);
        if !unset || near.is_empty() {
            continue;
        }
        let finding = report.find(
            net.name(),
            format!("{} transmit queues without a map", queues.len()),
            "every CPU near the NIC has one queue, in turn",
            &OWN,
        );
        finding.formula = Some("CPU i → queue i mod queues".to_owned());
        finding.changes = queues
            .iter()
            .enumerate()
            .map(|(index, queue)| {
                let own: Vec<u32> = near
                    .iter()
                    .copied()
                    .skip(index)
                    .step_by(queues.len())
                    .collect();
                let path = format!(
                    "class/net/{}/queues/tx-{}/xps_cpus",
                    net.name(),
                    queue.queue
                );
                change(Knob::sys_file(path), mask(&[], online), mask(&own, online))
            })
            .filter(|change| change.from != change.to)
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Host;

    #[test]
    fn every_cpu_gets_a_queue() {
        let host = Host::new(1, 4).nic("eth0", 10_000, 0);
        let found = host.clone().tx_queues(&[&[], &[]]).one("xps");
        let to: Vec<&str> = found.changes.iter().map(|c| c.to.as_str()).collect();
        assert_eq!(to, ["5", "a"]);
        host.clone().tx_queues(&[&[0], &[1]]).none("xps");
        host.tx_queues(&[&[]]).none("xps");
    }
}
