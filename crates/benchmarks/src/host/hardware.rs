//! Ports with their queues and virtual functions, and who else is linked to them.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Files, Size, cpu_names, mask};

/// Queues of a virtual function.
const FUNCTION_QUEUES: u32 = 4;

/// Links of a host, and the files of its interfaces.
pub fn links(files: &mut Files, size: &Size) -> Result<()> {
    let recorded: Vec<Value> = serde_json::from_str(&files["nicety/links.json"])?;
    let port = recorded.iter().find(|link| link["name"] == "eth0");
    let port = port.context("the recorded machine has no eth0")?;
    let mut links = Vec::new();
    for number in 0..size.ports {
        let (name, bus) = (format!("eth{number}"), 0x40 + number);
        let bus = format!("0000:{bus:02x}:00.0");
        links.push(hardware(port, (&name, &bus), size.queues));
        queues(files, &name, size.queues, size);
    }
    for number in 0..size.ports {
        for function in 0..size.functions {
            let (name, bus) = (format!("eth{number}v{function}"), 0x40 + number);
            let bus = format!("0000:{bus:02x}:02.{function}");
            links.push(hardware(port, (&name, &bus), FUNCTION_QUEUES));
            queues(files, &name, FUNCTION_QUEUES, size);
        }
    }
    for port in links.iter_mut().take(2) {
        port["master"] = json!("bond0");
    }
    let some = json!({"rx": 16, "tx": 16});
    links.push(json!({"name": "bond0", "kind": "bond", "master": "br0", "queues": some}));
    links.push(json!({"name": "br0", "kind": "bridge", "queues": some}));
    for guest in 0..size.guests {
        let mut link = port.clone();
        link["name"] = json!(format!("vnet{guest}"));
        link["kind"] = json!("tun");
        link["driver"] = json!("tun");
        link["master"] = json!("br0");
        links.push(link);
    }
    number(files, &mut links);
    let links = serde_json::to_string(&links)?;
    files.insert("nicety/links.json".to_owned(), links);
    Ok(())
}

/// A port or a virtual function: its driver, rings and queues.
fn hardware(recorded: &Value, (name, bus): (&str, &str), queues: u32) -> Value {
    let mut link = recorded.clone();
    link["name"] = json!(name);
    link["driver"] = json!("ice");
    link["firmware"] = json!("4.40 0x8001c967 1.3534.0");
    link["bus"] = json!(bus);
    link["speed_mbps"] = json!(25_000);
    link["rings"] = json!({"rx": 2048, "rx_max": 8160, "tx": 2048, "tx_max": 8160});
    link["queues"] = json!({"rx": queues, "tx": queues, "combined": queues, "combined_max": 64});
    link
}

fn queues(files: &mut Files, name: &str, queues: u32, size: &Size) {
    let dir = format!("sys/class/net/{name}");
    for queue in 0..queues {
        for (file, text) in [
            (format!("rx-{queue}/rps_cpus"), mask(size)),
            (format!("rx-{queue}/rps_flow_cnt"), "0".to_owned()),
            (format!("tx-{queue}/xps_cpus"), mask(size)),
        ] {
            files.insert(format!("{dir}/queues/{file}"), text);
        }
    }
}

/// Gives every link a number, behind those of the recorded machine, and what all have.
fn number(files: &mut Files, links: &mut [Value]) {
    for (index, link) in (10..).zip(links) {
        link["index"] = json!(index);
        link["up"] = json!(true);
        link["carrier"] = json!(true);
        link["mtu"] = json!(1500);
        let name = link["name"].as_str().unwrap_or_default();
        let file = format!("sys/class/net/{name}/ifindex");
        files.insert(file, index.to_string());
    }
}

/// An interrupt for each queue of a port.
pub fn interrupts(files: &mut Files, size: &Size) {
    let mut table = cpu_names(size);
    for port in 0..size.ports {
        let node = port % size.nodes;
        let file = format!("sys/class/net/eth{port}/device/numa_node");
        files.insert(file, node.to_string());
        for queue in 0..size.queues {
            let irq = 100 + port * size.queues + queue;
            let cpu = (queue * size.nodes + node) % size.cpus;
            let mut counts = vec!["0"; size.cpus as usize];
            counts[cpu as usize] = "35620700";
            table += &format!(
                "\n{irq}: {} IR-PCI-MSI {irq}-edge ice-eth{port}-TxRx-{queue}",
                counts.join(" ")
            );
            for (file, text) in [
                ("smp_affinity_list", cpu.to_string()),
                ("effective_affinity_list", cpu.to_string()),
                ("affinity_hint", "0".to_owned()),
            ] {
                files.insert(format!("proc/irq/{irq}/{file}"), text);
            }
        }
    }
    files.insert("proc/interrupts".to_owned(), table);
}
