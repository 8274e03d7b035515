//! Tables of connections in the lab: what needs a kernel with flowtables, and a machine whose limit may be changed.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::machine::Machine;

/// Entries that the script lets the machine have.
const FULL: u64 = 600;
/// Name of a plan, its path, and how the path is called.
const PLANS: [(&str, &str, &str); 2] = [
    ("snat", "nat = \"snat\"", "routed,nat=snat"),
    ("flow", "flowtable = \"on\"", "routed,flowtable=on"),
];

fn read(out: &Path, name: &str) -> Value {
    let text = fs::read_to_string(out.join(name).with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text:?}"))
}

/// Everybody counts as many connections as were opened.
fn equal(counts: &Value) {
    for who in ["responder", "kernel", "listed", "answered"] {
        let count = counts[who].as_u64();
        let known = who != "answered" || count.is_some();
        assert!(!known || count == counts["sent"].as_u64(), "{counts}");
    }
}

#[test]
fn tables_of_connections() {
    let Some(machine) = Machine::enter() else {
        return;
    };
    for (name, path, _) in PLANS {
        let text = format!("[traffic]\nframe_sizes = [128]\n[[path]]\nkind = \"routed\"\n{path}\n");
        machine.write(&format!("{name}.toml"), &text);
    }
    machine.play(include_str!("stateful.sh")).assert_code(0);
    judge(&machine.out());
}

fn judge(out: &Path) {
    for (name, _, path) in PLANS {
        let report = read(out, name);
        assert_eq!(report["path"], path);
        assert_eq!(report["complete"], true, "{report}");
    }
    // A table that is full is no loss.
    let capacity = &read(out, "snat")["capacity"];
    assert_eq!(capacity["entries"], FULL, "{capacity}");
    assert_eq!(capacity["overflowed"], FULL + 1, "{capacity}");
    assert_eq!(capacity["stopped_by"], "table-full", "{capacity}");
    assert_eq!(capacity["verdict"], "ok", "{capacity}");
    equal(&capacity["counts"]);
    // A short cut counts as the kernel does, in every state of its entries.
    let goodput = &read(out, "flow")["goodput"];
    let states = goodput.as_array().unwrap();
    assert_eq!(states.len(), 4, "{goodput}");
    for of in states {
        equal(&of["counts"]);
        assert_eq!(of["kernel_after"], of["counts"]["kernel"], "{of}");
        let passed = of["fps"]["median"].as_f64() > Some(500.0);
        // A trial has fewer frames than any ring has places: none of them is lost, but the machine may be busy elsewhere.
        let stopped = of["stopped_by"].as_str();
        assert!(
            passed || matches!(stopped, Some("stalled" | "late")),
            "{of}"
        );
    }
    // Somebody else had the CPUs half of the time: no trial says what the path can.
    let setup = &read(out, "hogs")["setup"];
    assert!(setup["spoiled"].as_u64() > Some(0), "{setup}");
}
