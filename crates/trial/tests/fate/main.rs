//! Frames that the kernel is made to throw away in known ways: every one of them must be found by its
//! number, at the right place and for the right reason, and none may be left unexplained.
// A test with its own main function is not known as a test to the lints.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod bridge;
mod case;
#[path = "../truth/commands.rs"]
#[allow(dead_code)] // of another test, which needs more of it
mod commands;
mod hops;
mod host;
mod queues;
mod redirect;
mod rules;
#[path = "../truth/stage.rs"]
#[allow(dead_code)]
mod stage;
mod tester;
mod two;
mod waterfall;

use std::process::ExitCode;

use nicety_testkit::runner::{Skip, Test, run};

type Fate = fn() -> Result<(), Skip>;

const TESTS: [(&str, Fate); 34] = [
    ("a_token_bucket", queues::tbf),
    ("classes_with_a_short_queue", queues::htb),
    ("the_ring_of_a_veth", queues::veth_ring),
    ("the_ring_of_a_veth_for_xdp_frames", queues::veth_ring_xdp),
    ("netfilter_at_an_ingress", rules::netdev),
    ("netfilter_in_a_bridge", rules::bridge),
    ("netfilter_of_the_inet_family", rules::inet),
    ("a_tc_filter_at_an_ingress", rules::tc_ingress),
    ("a_tc_filter_at_an_egress", rules::tc_egress),
    ("two_causes_at_once", rules::two),
    ("an_xdp_program_before_ordinary_frames", rules::xdp),
    ("a_port_of_a_bridge_that_is_down", bridge::down),
    ("isolated_ports", bridge::isolated),
    ("a_port_that_learns_its_place", bridge::blocked),
    ("an_address_behind_the_same_port", bridge::hairpin),
    ("a_vlan_that_a_port_has_not", bridge::vlan),
    ("a_small_mtu", bridge::mtu),
    ("a_next_hop_that_does_not_answer", host::no_neighbour),
    ("no_route", host::no_route),
    ("the_reverse_path_filter", host::reverse_path),
    ("no_program_on_the_port", host::no_socket),
    ("a_full_socket", host::full_socket),
    ("a_macvlan_for_others", host::macvlan),
    ("nothing_is_lost", tester::nothing),
    ("xdp_frames_that_a_program_drops", tester::unseen),
    (
        "xdp_frames_that_are_redirected_to_nowhere",
        redirect::failed,
    ),
    ("hops_of_frames_that_programs_receive", hops::by_programs),
    ("hops_of_frames_that_sockets_receive", hops::by_sockets),
    ("hops_show_where_a_queue_is", hops::a_queue),
    ("hops_name_merged_frames", hops::merged),
    ("two_testers_at_once", two::at_once),
    ("a_waterfall_of_two_causes", waterfall::two),
    ("a_waterfall_of_each_way", waterfall::both_ways),
    ("a_waterfall_without_loss_and_queue", waterfall::nothing),
];

fn main() -> ExitCode {
    run(TESTS
        .iter()
        .map(|(name, fate)| Test::new(*name, move |_| fate())))
}
