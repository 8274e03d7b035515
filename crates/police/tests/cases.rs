//! Policies of `tests/cases/policies`: why they are refused, or the limits that the controller sets
//! for what ports send.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use nicety_model::BitRate;
use nicety_police::explain::explain;
use nicety_police::{Controller, Policy, Sample, Seen, Tuning};
use nicety_testkit::cases::{self, Case, Failed};

const MBIT: f64 = 1e6;

fn main() -> ExitCode {
    cases::run(&[("policies", check)])
}

/// Every policy of the folder: a line with file, line, mistake and remedy for each that is refused,
/// a simulation of the one that is not.
fn check(case: &mut Case) -> Result<(), Failed> {
    let mut refusal = String::new();
    for file in case.inputs(".toml")? {
        match Policy::parse(&file, &case.input(&file)?) {
            Ok(policy) => simulate(case, policy)?,
            Err(error) => writeln!(refusal, "{error}")?,
        }
    }
    if refusal.is_empty() {
        Ok(())
    } else {
        case.expect("refusal.txt", &refusal)
    }
}

/// What a port does in a period.
enum Sends {
    /// Mbit/s, as far as its limit lets it.
    UpTo(f64),
    /// Mbit/s, whatever its limit is.
    Regardless(f64),
    /// So many times its limit.
    Times(f64),
    /// The port is not there.
    Gone,
    /// The kernel says nothing of it.
    Silent,
    /// It is there, and nobody counts.
    Uncounted,
}

impl Sends {
    fn read(word: &str) -> Result<Self, Failed> {
        let number = |text: &str| text.parse::<f64>();
        Ok(match word {
            "gone" => Self::Gone,
            "silent" => Self::Silent,
            "uncounted" => Self::Uncounted,
            _ => match (word.strip_suffix('!'), word.strip_prefix('x')) {
                (Some(rate), _) => Self::Regardless(number(rate)?),
                (_, Some(times)) => Self::Times(number(times)?),
                _ => Self::UpTo(number(word)?),
            },
        })
    }

    /// What passes in Mbit/s.
    fn rate(&self, limit: Option<f64>) -> f64 {
        match self {
            Self::UpTo(rate) => rate.min(limit.unwrap_or(f64::INFINITY)),
            Self::Regardless(rate) => *rate,
            Self::Times(times) => times * limit.unwrap_or(0.0),
            Self::Gone | Self::Silent | Self::Uncounted => 0.0,
        }
    }
}

/// One port in the simulation.
#[derive(Default)]
struct Port {
    name: String,
    bytes: u64,
    limit: Option<BitRate>,
}

impl Port {
    /// What is seen of it at the end of a period.
    fn seen(&mut self, sends: &Sends, at: f64, period: f64) -> Seen {
        let rate = sends.rate(self.limit.map(|limit| limit.bps() / MBIT));
        self.bytes += (rate * MBIT / 8.0 * period) as u64;
        let at = Duration::from_secs_f64(at);
        match sends {
            Sends::Silent => Seen::silent(),
            Sends::Gone => {
                self.limit = None;
                Seen::default()
            }
            Sends::Uncounted => Seen {
                present: true,
                ..Seen::default()
            },
            _ => Seen::counted(Sample::passed(at, self.bytes, 0)),
        }
    }
}

/// `counters.csv` becomes `limits.csv`, and `explained.txt` where what is said changes.
fn simulate(case: &mut Case, policy: Policy) -> Result<(), Failed> {
    let counters = case.input("counters.csv")?;
    let mut lines = (counters.lines()).filter(|line| !line.is_empty() && !line.starts_with('#'));
    if lines.next() != Some("second,port,sends_mbit") {
        return Err("counters.csv does not begin with second,port,sends_mbit".into());
    }
    let names = policy.ports().map(|(_, port)| port.to_string());
    let mut ports: Vec<Port> = names
        .map(|name| Port {
            name,
            ..Port::default()
        })
        .collect();
    let mut controller = Controller::new(policy, &[], Tuning::default());
    let mut limits = "second,port,rate_mbit,limit_mbit,written,enforcement\n".to_owned();
    let (mut explained, mut last, mut before) = (String::new(), String::new(), 0.0);
    while let Some(first) = lines.next() {
        let mut rows = vec![first];
        rows.extend(lines.by_ref().take(ports.len() - 1));
        let second = first.split(',').next().unwrap_or_default();
        let at: f64 = second.parse().map_err(|_| format!("no time: {first}"))?;
        let mut seen = Vec::new();
        for (index, port) in ports.iter_mut().enumerate() {
            let row = rows.get(index).copied().unwrap_or_default();
            let start = format!("{second},{},", port.name);
            let sends = row.strip_prefix(&start);
            let sends = sends.ok_or(format!("counters.csv: {start}… expected, found {row:?}"))?;
            seen.push(port.seen(&Sends::read(sends)?, at, at - before));
        }
        before = at;
        let decision = controller.step(&seen);
        for (index, port) in ports.iter_mut().enumerate() {
            let of = &decision.ports[index];
            let written = decision.writes.iter().position(|write| *write == index);
            if written.is_some() {
                port.limit = Some(of.limit);
                controller.wrote(index, of.limit);
            }
            let rate = of.rate_bps.map(|rate| format!("{:.3}", rate / MBIT));
            let limit = of.present.then(|| format!("{:.3}", of.limit.bps() / MBIT));
            writeln!(
                limits,
                "{second},{},{},{},{},{:?}",
                port.name,
                rate.unwrap_or_default(),
                limit.unwrap_or_default(),
                written.map(|at| (at + 1).to_string()).unwrap_or_default(),
                of.enforcement,
            )?;
        }
        let lines = explain(controller.policy(), &decision);
        let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
        if lines != last {
            write!(explained, "second {second}\n{lines}")?;
            last = lines;
        }
    }
    case.expect("limits.csv", &limits)?;
    case.expect("explained.txt", &explained)
}
