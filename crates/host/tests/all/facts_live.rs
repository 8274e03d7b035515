//! The same readers on the running kernel.

use std::sync::mpsc::channel;

use nicety_host::cpu_load::{CpuSampler, TESTER, Watch};
use nicety_host::fingerprint::{self, Measurer, UNKNOWN};
use nicety_host::placement::{Wants, place};
use nicety_host::roots::{ProcRoot, Roots};
use nicety_host::softnet::SoftnetSample;
use nicety_host::tasks;
use nicety_host::topology::Topology;
use rustix::time::{ClockId, clock_gettime};

/// Uses the CPU until this thread alone has had so much of it.
fn burn(nanoseconds: i64) {
    while clock_gettime(ClockId::ThreadCPUTime).tv_nsec < nanoseconds {
        std::hint::spin_loop();
    }
}

#[test]
fn a_busy_thread_is_seen_in_who() {
    let (say, tid) = channel();
    let (start, started) = channel();
    let (say_done, done) = channel();
    let (end, ended) = channel::<()>();
    let worker = std::thread::spawn(move || {
        say.send(rustix::thread::gettid().as_raw_nonzero().get())
            .unwrap();
        started.recv().unwrap();
        burn(200_000_000);
        say_done.send(()).unwrap();
        // Its time is read of the living.
        ended.recv().unwrap();
    });
    let mut watch = Watch::default();
    watch.add(u32::try_from(tid.recv().unwrap()).unwrap(), TESTER);
    watch.add(u32::MAX, "napi/nobody");
    let sampler = CpuSampler::start(ProcRoot::live(), watch).unwrap();
    start.send(()).unwrap();
    done.recv().unwrap();
    let window = sampler.so_far().unwrap();
    end.send(()).unwrap();
    worker.join().unwrap();
    let cpus = window.cpu.who[TESTER];
    // One thread is one CPU at most; the bound is wide for ticks that come late.
    assert!(cpus > 0.0 && cpus < 10.0, "{window:?}");
    assert_eq!(window.gone, ["napi/nobody"]);
    assert!(!window.cpu.cores.is_empty());
    let busiest = window.cpu.busiest.as_ref().unwrap();
    assert!(busiest.busy_ratio > 0.0, "{window:?}");
    for core in &window.cpu.cores {
        let sum = core.user + core.system + core.irq + core.softirq + core.steal + core.idle;
        assert!((sum - 1.0).abs() < 1e-6, "{core:?}");
    }
}

#[test]
fn own_threads_are_found_by_name() {
    let (ready, wait) = channel::<()>();
    let (started, entered) = channel::<()>();
    let thread = std::thread::Builder::new()
        .name("tester-tx-0".to_owned())
        .spawn(move || {
            started.send(()).unwrap();
            wait.recv().ok();
        })
        .unwrap();
    entered.recv().unwrap();
    let threads = tasks::own_threads(&ProcRoot::live());
    let own: Vec<_> = threads
        .iter()
        .filter(|task| task.name == "tester-tx-0")
        .collect();
    assert_eq!(own.len(), 1, "{threads:?}");
    assert_eq!(own[0].pid, std::process::id());
    let any = tasks::any_threads(&ProcRoot::live(), |name| name == "tester-tx-0");
    assert!(any.contains(own[0]), "{any:?}");
    drop(ready);
    thread.join().unwrap();
}

#[test]
fn this_machine_has_a_topology_a_placement_and_a_fingerprint_as_any_user() {
    let roots = Roots::live();
    let topology = Topology::read(&roots.proc, &roots.sys).unwrap();
    let affinity = rustix::thread::sched_getaffinity(rustix::process::getpid().into()).unwrap();
    assert_eq!(topology.allowed.len() as u32, affinity.count());
    let wants = Wants {
        tester: 2,
        path: 2,
        nic_node: None,
    };
    let placement = place(&topology, wants);
    assert!(!placement.tester.is_empty() && !placement.path.is_empty());
    assert!(!SoftnetSample::read(&roots.proc).unwrap().cpus.is_empty());

    let measurer = Measurer {
        version: "0",
        privileged: false,
    };
    let facts = fingerprint::read(&roots, measurer);
    assert_ne!(facts.kernel, UNKNOWN);
    assert_eq!(facts.cpus as usize, topology.cpus.len());
    assert!(facts.memory_mib.is_some_and(|mib| mib > 0));
}
