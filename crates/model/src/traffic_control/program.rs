//! Whose BPF programs decide about the frames of an interface, and how to limit it beside them.

use super::CLSACT;

/// Owners by a part of the names that they give their filters: Cilium's bpf/bpf_lxc.c and pkg/datapath/loader, Calico's
/// felix/bpf-gpl/tc_preamble.c, netobserv-ebpf-agent's bpf/flows.c and pkg/tracer, Retina's packetparser.c.
const OWNERS: [(&str, &str); 7] = [
    ("cil_", "Cilium"),
    ("cilium", "Cilium"),
    ("bpf_lxc", "Cilium"),
    ("cali_", "Calico"),
    ("gress_flow_parse", "the agent of netobserv"),
    ("gress_pca_parse", "the agent of netobserv"),
    ("endpoint_ingress_filter", "Retina"),
];

/// Who has put a BPF program at an interface, by the name of its filter: `Cilium (BPF program cil_from_container)`.
pub fn by_program(name: Option<&str>) -> String {
    let Some(name) = name else {
        return "another program".to_owned();
    };
    let known = OWNERS.iter().find(|(part, _)| name.contains(part));
    let owner = known.map_or("another program", |(_, owner)| owner);
    format!("{owner} (BPF program {name})")
}

/// What to do about a discipline of somebody else in the place of a limit. One that carries programs stays: who takes
/// it away cuts off the pods that they serve.
pub fn instead_of(kind: &str, shown_by: &str) -> String {
    match kind {
        CLSACT => format!(
            "leave it there, pods may live by it: limit the port with the program that owns it, of a pod by its \
             annotation kubernetes.io/egress-bandwidth; see {shown_by}"
        ),
        _ => format!("remove that first, see {shown_by}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_by_their_names() {
        for (name, owner) in [
            (
                "cil_from_container-lxc1234",
                "Cilium (BPF program cil_from_container-lxc1234)",
            ),
            (
                "bpf_lxc.o:[from-container]",
                "Cilium (BPF program bpf_lxc.o:[from-container])",
            ),
            ("cali_tc_preamble", "Calico (BPF program cali_tc_preamble)"),
            (
                "tc/tc_ingress_flow_parse",
                "the agent of netobserv (BPF program tc/tc_ingress_flow_parse)",
            ),
            ("mine.o:[tc]", "another program (BPF program mine.o:[tc])"),
        ] {
            assert_eq!(by_program(Some(name)), owner);
        }
        assert_eq!(by_program(None), "another program");
    }

    #[test]
    fn what_carries_programs_is_not_to_be_removed() {
        assert!(!instead_of(CLSACT, "tc").contains("remove"));
        assert!(instead_of("htb", "tc").starts_with("remove that first"));
    }
}
