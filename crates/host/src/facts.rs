//! Reads the facts of a host: the running one, or one recorded as a tree.
//!
//! Files are read below the roots they are given. What the kernel tells over netlink and ethtool
//! only is recorded into the same tree as `nicety/links.json`, what `xl` prints as
//! `nicety/xl-info` and `nicety/xl-vcpu-list`, times and counters that `ss` prints as
//! `nicety/ss-tcp`, counters that somebody watched as `nicety/window.json`,
//! numbers of firewall rules as `nicety/firewall.json`, that /sys belonged to another network namespace
//! as `nicety/other-namespace`, and whose the record is as `nicety/identity.json`.

mod bond;
mod capture;
mod conntrack;
mod cpu;
mod firewall;
mod function;
mod identity;
mod interface;
mod irq;
mod links;
mod memory;
mod owner;
mod pci;
mod peers;
mod qemu_options;
mod qemu_setting;
mod services;
mod softnet;
mod source;
mod sysctl;
mod sysfs_links;
mod tcp;
mod tuned;
mod vm;
mod vm_args;
mod vm_taps;
mod window;
mod xen;

use std::time::Duration;

use nicety_model::Note;
use nicety_model::facts::{HostFacts, IrqFacts, NetFacts};

use crate::fingerprint::{self, Measurer};

pub use capture::{CaptureError, Capturing};
pub use identity::Identity;
pub(crate) use identity::name;
pub use source::{RecordError, Source, SourceError};

/// Reads everything. What cannot be read is absent; the notes say what is missing as a whole.
/// Settings under `net.` and interfaces are those of the network namespace this process is in.
///
/// A large host is tens of thousands of small files: interfaces are read by this thread, all else
/// by a second one.
pub fn read(source: &Source, measurer: Measurer<'_>) -> HostFacts {
    std::thread::scope(|scope| {
        let rest = scope.spawn(|| rest(source, measurer));
        let mut notes = Vec::new();
        let (interfaces, irqs) = interfaces(source, &mut notes);
        let window = source.recorded_window(&mut notes);
        let mut rest = rest
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        function::own(&source.roots.sys, &interfaces, &mut rest.vms);
        HostFacts {
            interfaces,
            irqs,
            window,
            notes,
            ..rest
        }
    })
}

/// Reads everything as this program; of the running host after looking on for `window`, when asked.
pub fn read_after(source: &Source, window: Option<Duration>) -> HostFacts {
    let mut notes = Vec::new();
    let watched = window.and_then(|time| source.watch(time, &mut notes));
    let mut facts = read(source, Measurer::current());
    facts.notes.splice(0..0, notes);
    facts.window = watched.or(facts.window);
    facts
}

/// Interfaces and their interrupts.
fn interfaces(source: &Source, notes: &mut Vec<Note>) -> (Vec<NetFacts>, Vec<IrqFacts>) {
    let links = peers::named(source, source.links(notes));
    let interrupts = irq::Interrupts::read(&source.roots.proc, &links);
    let mut interfaces = Vec::new();
    let mut irqs = Vec::new();
    for link in links {
        if link.name == "lo" {
            continue;
        }
        let net = interface::read(source, link, &interrupts, notes);
        irqs.extend(
            net.irqs
                .iter()
                .filter_map(|&number| interrupts.facts(&source.roots, number, &net.link.name)),
        );
        interfaces.push(net);
    }
    (interfaces, irqs)
}

/// Everything but interfaces.
fn rest(source: &Source, measurer: Measurer<'_>) -> HostFacts {
    let processes = services::Processes::read(&source.roots.proc);
    let host = fingerprint::read(&source.roots, measurer);
    let cpu = cpu::read(&source.roots, &host);
    let xen = xen::read(source);
    // A QEMU in Xen's first domain models devices of a domain, which is told of itself.
    let mut vms = match xen {
        Some(_) => Vec::new(),
        None => vm::read(&source.roots, &processes),
    };
    vms.extend(xen::guests(source));
    HostFacts {
        schema: nicety_model::SCHEMA,
        memory: memory::read(&source.roots, host.memory_mib),
        softnet: softnet::read(&source.roots.proc),
        sysctl: sysctl::read(&source.roots.proc),
        module_parameters: sysctl::module_parameters(&source.roots.sys),
        iommu_groups: sysctl::iommu_groups(&source.roots.sys),
        user_functions: pci::user_functions(&source.roots),
        udp_rcvbuf_errors: sysctl::udp_rcvbuf_errors(&source.roots.proc),
        conntrack: conntrack::read(&source.roots.proc),
        tcp: tcp::read(source),
        firewall: firewall::read(source),
        services: processes.services(&source.roots.etc),
        owners: owner::read(source),
        host,
        cpu,
        vms,
        xen,
        ..HostFacts::default()
    }
}
