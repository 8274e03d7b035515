//! Socket workloads of plans.

use super::*;

const HEAD: &str = "[[path]]\nkind = \"bridge\"\n[[sockets]]\n";

fn plan(sockets: &str) -> Plan {
    Plan::parse("p.toml", &format!("{HEAD}{sockets}")).unwrap()
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
        let once = plan(sockets);
        let text = once.to_toml().unwrap();
        assert_eq!(Plan::parse("p.toml", &text).unwrap(), once, "{text}");
    }
}
