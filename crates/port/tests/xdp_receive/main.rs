//! The receive program of the xdp engine: against the plain model, and on real interfaces.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::process::ExitCode;

use nicety_model::{Direction, FrameSize};
use nicety_netdev::privilege::Privilege;
use nicety_port::af_packet::TrafficSpec;
use nicety_testkit::runner::{Skip, Test, run};

mod frames;
mod model;
#[path = "../../../paths/tests/paths/packet.rs"]
#[allow(dead_code)] // another test's helper, of which this one needs the socket
mod packet;
mod ports;

type Outcome = Result<(), Skip>;

fn main() -> ExitCode {
    if std::env::var_os(ports::HOLD).is_some() {
        return ports::hold();
    }
    run([
        Test::new("it_counts_as_the_model_does", model::as_the_model),
        Test::new("it_sees_every_flipped_bit", model::flipped_bits),
        Test::new("a_checksum_taken_away_is_damage", model::no_checksum),
        Test::new(
            "copies_are_found_and_order_is_judged_on_every_cpu",
            model::two_cpus,
        ),
        Test::new("a_long_trial_takes_more_memory", model::long_trials),
        Test::new("a_short_memory_of_jumps_is_said", model::short_memory),
        Test::new("every_frame_sent_is_counted", ports::every_frame),
        Test::new("large_frames_are_counted_whole", ports::large_frames),
        Test::new("frames_are_counted_in_generic_mode", ports::generic),
        Test::new("foreign_frames_pass", ports::foreign),
        Test::new("a_port_in_use_is_refused", ports::in_use),
        Test::new("nothing_is_attached_after_kill", ports::killed),
        Test::new("bad_ports_are_refused_in_one_line", ports::refused),
    ])
}

/// Skips where BPF programs cannot be loaded.
fn can_run(privilege: Privilege) -> Outcome {
    if let Some(why) = nicety_port::xdp::object::missing() {
        return Err(Skip(why.to_string()));
    }
    if privilege != Privilege::Privileged {
        return Err(Skip(
            "BPF programs need root: unprivileged BPF is off".into(),
        ));
    }
    Ok(())
}

fn traffic(size: u16, flows: u32) -> TrafficSpec {
    TrafficSpec {
        frame_size: FrameSize::new(size).unwrap(),
        direction: Direction::Uni,
        flows,
        stations: 1,
        vlan: None,
        shape: nicety_model::Shape::default(),
        mark: nicety_packet::RunMark::NONE,
    }
}
