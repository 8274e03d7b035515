//! The last rates of functions and ports as bars.

use std::collections::{BTreeMap, VecDeque};

use nicety_model::vf::{PortCounters, VfReport};

/// Samples that bars show at most, and however narrow the terminal is.
const KEPT: usize = 40;
const LEAST: usize = 8;

/// The last rates of everything that is counted.
#[derive(Debug, Default)]
pub struct Rates(BTreeMap<String, [VecDeque<f64>; 2]>);

impl Rates {
    /// Takes a sample; what is not in it is forgotten.
    pub fn take(&mut self, report: &VfReport) {
        let mut named: Vec<(String, &PortCounters)> = Vec::new();
        for nic in &report.nics {
            for function in &nic.functions {
                let name = format!("{}/vf{}", nic.interface, function.vf);
                named.extend(function.counters.as_ref().map(|counters| (name, counters)));
            }
        }
        for port in &report.ports {
            let name = port.interface.clone();
            named.extend(port.counters.as_ref().map(|counters| (name, counters)));
        }
        self.0
            .retain(|name, _| named.iter().any(|(now, _)| now == name));
        for (name, counters) in named {
            let directions = self.0.entry(name).or_default();
            for (rates, bps) in directions
                .iter_mut()
                .zip([counters.tx_bps, counters.rx_bps])
            {
                rates.push_back(bps.unwrap_or(0.0));
                if rates.len() > KEPT {
                    rates.pop_front();
                }
            }
        }
    }

    /// A line for each, both directions on its own scale; the last samples where the width is short.
    pub fn bars(&self, width: u16) -> String {
        let longest = self.0.keys().map(|name| name.chars().count()).max();
        let longest = longest.unwrap_or(0);
        let words = "  sent   received ".len();
        let room = usize::from(width).saturating_sub(longest + words) / 2;
        let room = room.clamp(LEAST, KEPT);
        let mut text = String::new();
        for (name, [sent, received]) in &self.0 {
            let top = sent
                .iter()
                .chain(received)
                .fold(0.0, |top: f64, bps| top.max(*bps));
            text += &format!(
                "{name:<longest$}  sent {:<room$}  received {}\n",
                bars(sent, top, room),
                bars(received, top, room)
            );
        }
        text
    }
}

/// The last values in eighths of a block, `top` being a whole one.
fn bars(values: &VecDeque<f64>, top: f64, most: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |value: &f64| match top > 0.0 && *value > 0.0 {
        true => BARS[((value / top * 8.0).ceil() as usize).clamp(1, 8) - 1],
        false => ' ',
    };
    let old = values.len().saturating_sub(most);
    values.iter().skip(old).map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nicety_model::vf::HostPort;

    #[test]
    fn bars_are_as_high_as_the_rates() {
        let of = |values: &[f64], top| bars(&values.iter().copied().collect(), top, KEPT);
        assert_eq!(of(&[0.0, 0.1, 4.0, 8.0], 8.0), " ▁▄█");
        assert_eq!(of(&[0.0, 0.0], 0.0), "  ");
        assert_eq!(of(&[f64::NAN], 1.0), " ");
    }

    #[test]
    fn lines_of_bars_fit_the_terminal() {
        let port = |rate| HostPort {
            interface: "tap0".to_owned(),
            counters: Some(PortCounters {
                tx_bps: Some(rate),
                rx_bps: Some(8.0),
                ..PortCounters::default()
            }),
            ..HostPort::default()
        };
        let mut history = Rates::default();
        for rate in 0..50 {
            let ports = vec![port(f64::from(rate % 9))];
            history.take(&VfReport {
                ports,
                ..VfReport::default()
            });
        }
        for (width, wide) in [(60, 60), (80, 80), (200, 102), (10, 38)] {
            let line = history.bars(width);
            assert_eq!(line.trim_end().chars().count(), wide, "{width}: {line}");
            assert!(line.contains("▃▄  received █"), "{line}");
        }
    }
}
