//! Socket workloads of plans.

use super::*;

const HEAD: &str = "[[path]]\nkind = \"bridge\"\n[[sockets]]\n";

fn plan(sockets: &str) -> Result<Plan, String> {
    Plan::parse("p.toml", &format!("{HEAD}{sockets}")).map_err(|error| error.to_string())
}

#[test]
fn every_list_multiplies_and_sockets_alone_measure_no_frames() {
    let text = "test = [\"tcp_rr\", \"udp_rr\"]\nmessage_bytes = [64, 1024]\nparallel = [1, 150]";
    let plan = plan(text).unwrap();
    assert_eq!((plan.cell_count(), plan.sock_count()), (0, 8));
    let names: Vec<String> = plan.sock_cells().map(|cell| cell.name()).collect();
    assert_eq!(names[0], "bridge/tcp_rr/64");
    assert_eq!(names[7], "bridge/udp_rr/1024/parallel=150");
    let both = format!("[traffic]\nframe_sizes = 64\n{HEAD}{text}");
    let both = Plan::parse("p.toml", &both).unwrap();
    assert_eq!((both.cell_count(), both.sock_count()), (1, 8));
}

#[test]
fn placements_multiply_and_stand_in_the_name() {
    let plan = plan("test = \"tcp_rr\"\npin = [[0], [0, 1]]\nserver_pin = [[1]]").unwrap();
    let names: Vec<String> = plan.sock_cells().map(|cell| cell.name()).collect();
    assert_eq!(
        names,
        [
            "bridge/tcp_rr/1/pin=0/server_pin=1",
            "bridge/tcp_rr/1/pin=0+1/server_pin=1"
        ]
    );
    assert_eq!(plan.sock_count(), 2);
}

#[test]
fn what_no_machine_can_run_is_refused_with_the_plan() {
    let refused = |path: &str, sockets: &str| {
        let text = format!("[[path]]\n{path}\n[[sockets]]\ntest = \"udp_rr\"\n{sockets}");
        let plan = Plan::parse("p.toml", &text).unwrap();
        assert_eq!(plan.sock_cells().count(), 0, "{text}");
        let mut all = plan.unavailable_sock_cells();
        all.next().map(|cell| cell.reason).unwrap()
    };
    for (path, sockets, reason) in [
        (
            "kind = \"testpmd\"",
            "neighbours = 1",
            "testpmd joins two ports with each other: neighbours have no place on it",
        ),
        (
            "kind = \"bridge\"",
            "client = \"guest\"",
            "client = \"guest\" over a path without guests",
        ),
        (
            "kind = \"vm\"\nnic = \"macvtap\"",
            "client = \"guest\"",
            "client = \"guest\" needs two guests on a switch of the host",
        ),
        (
            "kind = \"vm\"\nvms = 2",
            "",
            "sockets end in one guest on a switch of the kernel or ovs",
        ),
        (
            "kind = \"vm\"",
            "server_pin = [[0]]",
            "the server runs in the guest, server_pin names CPUs of this host",
        ),
    ] {
        assert_eq!(refused(path, sockets), reason);
    }
}

#[test]
fn what_is_written_is_read_back() {
    for sockets in [
        "test = \"tcp_stream\"",
        "test = \"udp_rr\"\nrate = [10, 1000]\nfamily = [\"ipv4\", \"ipv6\"]\nneighbours = [0, 2]",
        "test = \"tcp_rr\"\nconfidence = \"95,2.5\"\nrepeats = 7\ntime = \"250ms\"",
        "test = \"tcp_rr\"\nclient = [\"host\", \"guest\"]",
        "test = \"tcp_rr\"\nsaturate = true\nparallel = 64",
        "test = \"tcp_rr\"\nsaturate = false\nrepeats = 2",
        "test = \"tcp_rr\"\npin = [[0], [0, 1]]\nserver_pin = [[1]]",
    ] {
        let once = plan(sockets).unwrap();
        let text = once.to_toml().unwrap();
        assert_eq!(Plan::parse("p.toml", &text).unwrap(), once, "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (sockets, message) in [
        (
            "",
            "3: a [[sockets]] without test; add test = \"tcp_rr\" or another test",
        ),
        (
            "test = \"tcp_r\"",
            "4: unknown test \"tcp_r\"; did you mean \"tcp_rr\"?",
        ),
        (
            "test = \"udp_rr\"\nmessage_bytes = 65508",
            "5: a message of 65508 bytes does not work with udp_rr; write 1 to 65507",
        ),
        (
            "test = \"tcp_stream\"\nrate = 5",
            "5: tcp_stream has no rate, TCP paces it itself; leave the rate out or take udp_stream",
        ),
        (
            "test = \"tcp_rr\"\ntime = \"1ms\"",
            "5: a test of 1 ms does not work; write 100ms to 1h",
        ),
        (
            "test = \"tcp_rr\"\nsaturate = true\nrepeats = 2",
            "5: saturate and repeats in one [[sockets]]; write two tables",
        ),
        (
            "test = \"tcp_rr\"\nneighbours = 65",
            "5: neighbours = 65 is outside 0 to 64; write pairs that flood the same switch, as in neighbours = [0, 1]",
        ),
        (
            "test = \"tcp_rr\"\nserver_pin = [0]",
            "5: server_pin holds 0, not a list of CPUs; write a list per placement, as in server_pin = [[0], [4, 6]]",
        ),
        (
            "test = \"tcp_rr\"\n[[sockets]]\ntest = [\"udp_rr\", \"tcp_rr\"]",
            "5: socket test tcp_rr/1 is in the plan twice; remove one of them",
        ),
        (
            "test = \"tcp_rr\"\nconfidence = \"94,2\"",
            "5: confidence = \"94,2\" is no level and width; write 90, 95 or 99 and a width up to 100 per cent, as in confidence = \"95,2\"",
        ),
    ] {
        assert_eq!(
            plan(sockets).unwrap_err(),
            format!("p.toml:{message}"),
            "{sockets}"
        );
    }
}
