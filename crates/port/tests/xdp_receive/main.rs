//! The receive program of the xdp engine: against the plain model, and on real interfaces.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::process::ExitCode;

use nicety_model::{Direction, FrameSize};
use nicety_netdev::privilege::Privilege;
use nicety_port::af_packet::TrafficSpec;

#[path = "../../../netdev/tests/net_harness/mod.rs"]
mod net_harness;

mod frames;
mod model;
#[path = "../../../paths/tests/paths/packet.rs"]
#[allow(dead_code)] // another test's helper, of which this one needs the socket
mod packet;
mod ports;

fn main() -> ExitCode {
    if std::env::var_os(ports::HOLD).is_some() {
        return ports::hold();
    }
    net_harness::run(
        "xdp_receive",
        &[
            ("it_counts_as_the_model_does", model::as_the_model),
            ("it_sees_every_flipped_bit", model::flipped_bits),
            ("a_checksum_taken_away_is_damage", model::no_checksum),
            (
                "copies_are_found_and_order_is_judged_on_every_cpu",
                model::two_cpus,
            ),
            ("a_long_trial_takes_more_memory", model::long_trials),
            ("a_short_memory_of_jumps_is_said", model::short_memory),
            ("every_frame_sent_is_counted", ports::every_frame),
            ("large_frames_are_counted_whole", ports::large_frames),
            ("frames_are_counted_in_generic_mode", ports::generic),
            ("foreign_frames_pass", ports::foreign),
            ("a_port_in_use_is_refused", ports::in_use),
            ("nothing_is_attached_after_kill", ports::killed),
            ("bad_ports_are_refused_in_one_line", ports::refused),
        ],
    )
}

/// Whether BPF programs can be loaded; if not, says that `test` is skipped.
fn can_run(test: &str, privilege: Privilege) -> bool {
    if let Some(why) = nicety_port::xdp::object::missing() {
        println!("SKIP {test}: {why}");
        return false;
    }
    if privilege != Privilege::Privileged {
        println!("SKIP {test}: BPF programs need root: unprivileged BPF is off");
        return false;
    }
    true
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
