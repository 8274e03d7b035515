//! Plans for `nicety tune apply` that a test writes.

use std::fs;

use serde_json::{Value, json};

/// A plan as `nicety tune plan --json` writes it, of this boot.
pub fn plan(changes: &[(Value, &str, &str)]) -> Value {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let changes: Vec<Value> = changes
        .iter()
        .map(|(knob, from, to)| json!({"knob": knob, "from": from, "to": to}))
        .collect();
    let finding = json!({
        "id": "T00", "rule": "test", "subject": "x", "is": "", "should": "", "why": "", "source": "",
        "cost": "", "risk": "low", "certainty": "certain", "effect": "now", "changes": changes,
        "advice": []
    });
    json!({
        "schema": 1, "goal": "throughput", "boot_id": boot.trim(), "findings": [finding],
        "waiting": []
    })
}
