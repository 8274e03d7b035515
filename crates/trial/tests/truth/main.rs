//! Real traffic through the real engine, over paths whose faults, rates and counts are known
//! from elsewhere: what the tester says must be what happened.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod agreement;
mod broken;
mod burst_loss;
mod bursts;
mod calm;
mod commands;
mod coupled;
mod cpu_hog;
mod damage;
mod directions;
mod expected;
mod faults;
mod forgotten;
mod goal;
mod goals;
mod independent;
mod kernel;
mod kernel_paths;
mod limits;
mod mixes;
mod nth;
mod preemption;
mod rates;
mod recovery;
mod reset;
mod shaped;
mod stage;
mod windows;

use std::process::ExitCode;

use nicety_testkit::runner::{Skip, Test, run};
use stage::Tester;
use stage::Tester::{AfPacket, AfXdp, Xdp};

/// A test of one engine.
type Truth = fn(Tester) -> Result<(), Skip>;

/// A test of the one engine that can do it.
type Of = fn() -> Result<(), Skip>;

const TESTS: [(&str, Truth); 26] = [
    ("a_faultless_wire_loses_nothing", faults::none),
    ("every_lost_frame_is_counted", faults::every_nth),
    ("bursts_of_loss_keep_their_lengths", faults::bursts),
    ("copies_are_duplicates", faults::duplicates),
    ("late_frames_are_reordered", faults::reordered),
    ("losses_of_one_moment_are_found_there", burst_loss::burst),
    ("windows_lose_what_the_path_loses", windows::share),
    ("a_burst_is_in_the_windows_of_its_time", windows::burst),
    ("every_flipped_bit_is_seen", damage::flipped),
    ("frames_of_others_are_foreign", damage::foreign),
    ("frames_of_an_earlier_trial_are_foreign", damage::stale),
    ("directions_are_counted_apart", directions::both),
    ("flows_are_counted_together", directions::flows),
    ("tagged_frames_are_counted", directions::tagged),
    ("a_rule_at_an_ingress_drops_every_nth", kernel::ingress),
    ("a_rule_in_a_bridge_drops_every_nth", kernel::bridge),
    ("interface_statistics_agree", independent::both_directions),
    (
        "interface_statistics_agree_in_overload",
        independent::overload,
    ),
    ("a_shaper_loses_what_it_says", shaped::overload),
    ("bursts_find_a_known_buffer", bursts::known_buffer),
    (
        "a_recovery_ends_with_the_last_lost_frame",
        recovery::last_lost_frame,
    ),
    (
        "a_reset_takes_as_long_as_the_bridge_is_down",
        reset::known_outage,
    ),
    (
        "what_a_program_leaves_of_a_cpu_is_forwarded",
        preemption::capacity_left,
    ),
    ("a_port_that_goes_ends_the_trial", broken::ports),
    ("a_stop_ends_the_trial", broken::stopped),
    ("a_path_in_the_senders_context_is_coupled", coupled::offered),
];

/// What takes long is looked at where it may differ: engines count windows alike, and two share their receive program.
const OF_SOME: [(&str, Truth, &[Tester]); 10] = [
    ("loss_just_under_the_goal_passes", goal::under, &[AfPacket]),
    ("loss_just_over_the_goal_fails", goal::over, &[AfPacket]),
    (
        "forgotten_addresses_are_learned_again",
        forgotten::learned_again,
        &[AfPacket],
    ),
    (
        "goals_that_lie_apart_are_told_apart",
        goals::told_apart,
        &[Xdp],
    ),
    (
        "every_nth_frame_beside_the_goal_is_judged_right",
        nth::judged,
        &[Xdp],
    ),
    (
        "a_search_finds_a_shaped_rate",
        shaped::search,
        &[AfPacket, Xdp],
    ),
    (
        "a_visit_finds_shaped_rates",
        limits::shaped,
        &[AfPacket, Xdp],
    ),
    (
        "a_visit_finds_a_policed_rate",
        limits::policed,
        &[AfPacket, Xdp],
    ),
    // The frames of af_packet are not told apart by time.
    (
        "loss_while_a_cpu_is_taken_is_told_apart",
        preemption::loss_attributed,
        &[Xdp, AfXdp],
    ),
    // Those of XDP never take this path in the sender's context.
    (
        "a_search_over_such_a_path_says_so",
        coupled::searched,
        &[AfPacket, AfXdp],
    ),
];

/// Those that an ordinary user runs too: what a user namespace could do otherwise than the system's.
const AGAIN: [&str; 8] = [
    "a_faultless_wire_loses_nothing",
    "every_lost_frame_is_counted",
    "directions_are_counted_apart",
    "tagged_frames_are_counted",
    "a_rule_at_an_ingress_drops_every_nth",
    "a_rule_in_a_bridge_drops_every_nth",
    "interface_statistics_agree",
    "a_port_that_goes_ends_the_trial",
];

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == cpu_hog::TAKE) {
        cpu_hog::take();
        return ExitCode::SUCCESS;
    }
    let mut tests = Vec::new();
    for tester in Tester::ALL {
        for (name, test) in TESTS {
            let full = format!("{}::{name}", tester.word());
            let truth = Test::new(full, move |_| test(tester));
            // The other engines need root.
            let again = tester == AfPacket && AGAIN.contains(&name);
            tests.push(if again { truth.as_any_user() } else { truth });
        }
    }
    for (name, test, testers) in OF_SOME {
        for &tester in testers {
            let full = format!("{}::{name}", tester.word());
            tests.push(Test::new(full, move |_| test(tester)));
        }
    }
    tests.push(Test::new("two_engines_agree_on_the_same_losses", |_| {
        agreement::same_losses()
    }));
    let once: [(&str, Of); 4] = [
        ("a_bucket_recovers_at_once", recovery::bucket),
        ("a_path_that_stays_down_ends_the_trial", reset::no_return),
        ("a_bridge_comes_back_from_its_reset", reset::own_reset),
        ("switches_come_back_from_a_restart", reset::restarted),
    ];
    for (name, test) in once {
        tests.push(Test::new(name, move |_| test()));
    }
    // Other engines refuse such frames.
    let mixes: [(&str, Of); 5] = [
        ("every_size_of_a_mix_is_counted", mixes::sizes_both_ways),
        ("one_size_of_a_mix_is_lost", mixes::one_size_is_lost),
        ("headers_of_the_plan_are_forwarded", mixes::headers),
        ("flows_come_as_popular_and_as_new_as_asked", mixes::flows),
        ("a_mix_above_the_mtu_is_refused", mixes::too_large),
    ];
    for (name, test) in mixes {
        tests.push(Test::new(format!("mixes::{name}"), move |_| test()));
    }
    for kind in &kernel_paths::KINDS {
        let name = format!("kernel_paths::{}", kind.name);
        tests.push(Test::new(name, |_| kernel_paths::four(kind, AfPacket)));
        let name = format!("kernel_paths::{}_ipv6", kind.name);
        tests.push(Test::new(name, |_| kernel_paths::six(kind)));
    }
    // The receive program is on the tester's veths, whatever the path is made of: one of each sort. A macvlan sends no
    // XDP frames.
    let sorts = ["routed", "snat", "vxlan", "xdp_redirect"];
    for kind in kernel_paths::KINDS
        .iter()
        .filter(|kind| sorts.contains(&kind.name))
    {
        let name = format!("kernel_paths::{}_xdp", kind.name);
        tests.push(Test::new(name, |_| kernel_paths::four(kind, Xdp)));
    }
    run(tests)
}
