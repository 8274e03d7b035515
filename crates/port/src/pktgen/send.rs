//! The sending halves of both ports: what pktgen is told before a trial, and asked after it.

mod account;
mod watch;

use nicety_model::{Direction, Fps};
use nicety_packet::Template;

use super::cannot_send;
use super::control::Control;
use super::program::Stamper;
use super::text::delay_ns;
use crate::af_packet::tx::TxSocket;
use crate::af_packet::{PortSpec, TrafficSpec, templates};
use crate::engine::{Stop, TrialOrder, WorkerUse};
use crate::error::PortError;
use crate::marks::Made;
use crate::pace::Arrears;
use crate::sending::Sending;
use crate::stamped::Stamped;
use crate::xdp::abi::{self, Shape};
use crate::xdp_receive::Senders;
use account::Run;

/// A port as a sender.
#[derive(Debug)]
struct PktgenPort {
    spec: PortSpec,
    template: Template,
    shape: Shape,
    cpu: Option<u32>,
    /// Sends learning frames, and says when the interface goes down.
    learner: Option<Stamped<TxSocket>>,
    /// Where the port has load to send.
    loaded: Option<Loaded>,
}

/// A port that pktgen sends through.
#[derive(Debug)]
struct Loaded {
    stamper: Stamper,
    /// Index of its namespace's [`Control`].
    control: usize,
    /// Numbers of the last trial that were given up; which ones is not known.
    given_up: u64,
}

/// The sending halves of both ports.
#[derive(Debug)]
pub struct PktgenSenders {
    ports: [PktgenPort; 2],
    /// One per network namespace.
    controls: Vec<Control>,
    traffic: TrafficSpec,
}

impl Senders for PktgenSenders {
    /// Makes the frames. The directions get a CPU each where there are two.
    fn new(
        specs: &[PortSpec; 2],
        traffic: TrafficSpec,
        cpus: Vec<Option<u32>>,
    ) -> Result<Self, PortError> {
        let [a, b] = templates(specs.each_ref(), traffic)?;
        let [spec_a, spec_b] = specs.clone();
        let port = |side: usize, spec, template: Template| PktgenPort {
            spec,
            shape: Shape::of(&template),
            template,
            cpu: cpus.get(side % cpus.len().max(1)).copied().flatten(),
            learner: None,
            loaded: None,
        };
        Ok(Self {
            ports: [port(0, spec_a, a), port(1, spec_b, b)],
            controls: Vec::new(),
            traffic,
        })
    }

    /// Opens port `side`. Must be called inside its namespace.
    fn open(&mut self, side: usize, _receives: bool) -> Result<(), PortError> {
        let port = &mut self.ports[side];
        let name = &port.spec.interface;
        port.spec.check_mtu(self.traffic.frame_size)?;
        let socket = TxSocket::open(name, port.template.frame_bytes(), port.spec.refusal)?;
        port.learner = Some(Stamped::new(socket, port.template.clone(), side as u8)?);
        if side > 0 && self.traffic.direction == Direction::Uni {
            return Ok(());
        }
        let netns = nicety_netdev::netns::NetNs::current()
            .map_err(|error| cannot_send(name, error.to_string()))?;
        let known = self.controls.iter().position(|c| c.ns().is_same(&netns));
        let control = match known {
            Some(control) => control,
            None => {
                self.controls.push(Control::open(name)?);
                self.controls.len() - 1
            }
        };
        let mut stamper =
            Stamper::load(&port.template).map_err(|source| PortError::new(name, source))?;
        stamper.attach(name)?;
        self.controls[control].add(name, port.cpu)?;
        port.loaded = Some(Loaded {
            stamper,
            control,
            given_up: 0,
        });
        Ok(())
    }

    fn name(&self, _directions: usize, mode: &str) -> String {
        format!("pktgen (queue_xmit, stamped in tc; receive program {mode})")
    }

    /// Sends learning frames from both ports.
    fn learn(&mut self) -> Result<(), PortError> {
        let mut learners = self.ports.iter_mut().filter_map(|p| p.learner.as_mut());
        learners.try_for_each(Stamped::learn)
    }

    /// Sends one trial's frames and returns when they are sent.
    fn trial(
        &mut self,
        _directions: usize,
        order: &TrialOrder,
        stop: &Stop,
    ) -> Result<(Vec<Sending>, Vec<WorkerUse>), PortError> {
        let delay = delay_ns(order.load.0);
        for (side, port) in self.ports.iter_mut().enumerate() {
            if let Some(loaded) = &mut port.loaded {
                let name = &port.spec.interface;
                let stream = trial_stream(&port.shape, side, order, delay);
                let maps = &mut loaded.stamper.maps;
                maps.prepare(&[stream])
                    .map_err(|source| PortError::new(name, source))?;
                let (bytes, frames) = (port.template.frame_bytes(), order.frames().max(1));
                self.controls[loaded.control].arrange(name, bytes, frames, delay)?;
            }
        }
        let runs = self.runs()?;
        self.send(&runs, order, stop)?;
        let mut sendings = Vec::new();
        let mut workers = Vec::new();
        for run in &runs {
            let (sending, worker) = run.account(delay)?;
            sendings.push(sending);
            workers.push(worker);
        }
        drop(runs);
        for sending in &sendings {
            let port = self.ports.get_mut(usize::from(sending.stream));
            if let Some(loaded) = port.and_then(|port| port.loaded.as_mut()) {
                loaded.given_up = sending.pacing.refused;
            }
        }
        Ok((sendings, workers))
    }

    fn made(&self, side: usize) -> Option<Made> {
        let loaded = self.ports.get(side)?.loaded.as_ref();
        let maps = &loaded.filter(|loaded| loaded.given_up == 0)?.stamper.maps;
        Some(maps.sent(0).ok()?.frames(maps.marks(0).ok()?))
    }
}

impl PktgenSenders {
    /// The ports that send.
    fn runs(&self) -> Result<Vec<Run<'_>>, PortError> {
        let mut runs = Vec::new();
        for (side, port) in self.ports.iter().enumerate() {
            if let Some(loaded) = &port.loaded {
                let control = &self.controls[loaded.control];
                let mut run = Run {
                    side,
                    port,
                    loaded,
                    control,
                    queued_out: 0,
                };
                run.queued_out = run.queued_out()?;
                runs.push(run);
            }
        }
        Ok(runs)
    }
}

/// The stream of `side` as the program wants it: its schedule is pktgen's.
fn trial_stream(shape: &Shape, side: usize, order: &TrialOrder, delay_ns: u64) -> abi::Stream {
    abi::Sending {
        shape,
        stream: side as u8,
        trial: order.trial,
        rate: Fps(1e9 / delay_ns as f64),
        // pktgen makes up for everything.
        arrears: Arrears::of(order.load, true),
        frames: order.frames(),
        follow: 0,
        run_ns: order.longest_ns(),
        // The program is on the port itself.
        interface: (0, 0),
    }
    .stream()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::af_packet::Refusal;

    #[test]
    fn the_schedule_is_that_of_whole_nanoseconds() {
        let order = TrialOrder {
            load: Fps(3e6),
            duration: Duration::from_secs(1),
            then: None,
            drain_max: Duration::ZERO,
            drain_quiet: Duration::ZERO,
            trial: 3,
            rest: None,
            catch_up: false,
            numbers: false,
        };
        let template = templates_for_test();
        let shape = Shape::of(&template);
        let stream = trial_stream(&shape, 1, &order, delay_ns(order.load.0));
        assert_eq!((stream.frames, stream.identity), (3_000_000, 0x103));
        // 333 ns, give or take what a double leaves of it.
        let step = stream.step_ns as f64 + stream.step_frac as f64 / 4_294_967_296.0;
        assert!((step - 333.0).abs() < 1e-6, "{step}");
        // Flat out.
        let flat_out = trial_stream(&shape, 1, &order, 0);
        assert_eq!((flat_out.step_ns, flat_out.step_frac), (0, 0));
    }

    fn templates_for_test() -> Template {
        let spec = |interface: &str, n| PortSpec {
            interface: interface.to_owned(),
            mac: nicety_packet::MacAddr::local(n),
            mtu: 1500,
            refusal: Refusal::NotSent,
            promiscuous: false,
        };
        let traffic = TrafficSpec {
            frame_size: nicety_model::FrameSize::new(64).unwrap(),
            direction: Direction::Uni,
            flows: 1,
            stations: 1,
            vlan: None,
            shape: nicety_model::Shape::default(),
            mark: nicety_packet::RunMark::NONE,
        };
        let [a, _] = templates([&spec("a", 1), &spec("b", 2)], traffic).unwrap();
        a
    }
}
