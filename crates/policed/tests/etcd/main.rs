//! Sessions with a real etcd, which is killed, cut off, slowed down, filled and emptied meanwhile.
// A test with its own main function is not known as a test to the lints.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod failures;
mod host;
mod lag;
mod refusals;
mod work;

use std::process::ExitCode;

use nicety_testkit::runner::{Skip, Test, run};

type Body = fn() -> Result<(), Skip>;

#[rustfmt::skip]
const TESTS: [(&str, Body); 16] = [
    ("values_stand_under_the_lease_of_their_host", work::values),
    ("a_name_belongs_to_one_lease", work::names),
    ("one_host_leads_and_the_next_follows", work::election),
    ("a_host_that_is_gone_for_good_is_forgotten", work::gone_for_good),
    ("a_loop_that_stands_still_loses_its_lease", work::stalled),
    ("a_killed_member_costs_a_connection_and_no_lease", failures::killed),
    ("a_host_cut_off_loses_its_lease_and_comes_back", failures::cut),
    ("a_slow_etcd_is_waited_for", failures::slow),
    ("who_lags_behind_a_compaction_reads_everything_again", lag::compacted),
    ("an_etcd_that_comes_later_is_waited_for", lag::later),
    ("one_accident_is_told_once", lag::told_once),
    ("a_full_etcd_keeps_leases", failures::full),
    ("an_emptied_etcd_takes_no_grants_at_first", failures::emptied),
    ("a_prefix_of_something_else_is_refused", refusals::prefixes),
    ("many_hosts_begin_at_the_same_moment", refusals::first_of_many),
    ("every_refusal_says_what_to_do", refusals::tls_and_login),
];

fn main() -> ExitCode {
    run(TESTS.into_iter().enumerate().map(|(at, (name, body))| {
        let test = Test::new(name, move |_| body());
        // A user's etcd is no other one: the first test shows whether it works at all.
        if at == 0 { test.as_any_user() } else { test }
    }))
}
