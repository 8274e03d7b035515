//! CPUs that stood still: in a virtual machine the hypervisor stops CPUs, for milliseconds, and a
//! path whose CPU stands still loses what its rings cannot hold. That is no property of the path.
//!
//! Stolen time (`steal` in /proc/stat) tells it only in part: what the host's own interrupts take
//! is not in it, and it says no times. So a timer expires often on every watched CPU, and a BPF
//! program notes when it came late, and when it interrupted a program that belongs to neither the
//! tester nor the path: in the kernel, such a program may keep even a real-time thread waiting.

use std::collections::BTreeSet;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use aya::maps::{HashMap, MapData};
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::{BtfTracePoint, PerfEvent};
use aya::{Btf, Ebpf, EbpfLoader};
use nicety_netdev::pid_namespace;

use crate::xdp::mapping::Mapping;
use crate::xdp::object::{self, lacks, map, program};
use crate::xdp::unsupported::{Unsupported, refused};

/// From one expiry of a watched CPU's timer to the next. With [`LATE_NS`] a stall of 0.7 ms and more
/// is always seen, and a program that stays for 0.5 ms; a veth's ring holds what comes within 0.5 ms
/// at 500,000 frames per second.
const PERIOD_NS: u64 = 250_000;
/// From here on a timer came late. Interrupts of a virtual machine under load come up to 0.4 ms
/// late tens of times per second while its CPU works on.
const LATE_NS: u64 = 450_000;
/// Stalls that the program can note.
const STALLS_MAX: usize = 4096;
/// Words of one.
const STALL_WORDS: usize = 4;

/// Kernel threads that do the path's work, by the beginning of their names.
const PATH_WORK: [&str; 3] = ["napi/", "ksoftirqd/", "vhost-"];

/// A CPU did nothing for tester or path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// CPU number.
    pub cpu: u32,
    /// Another program had it; else it stood still.
    pub by_program: bool,
    /// When, known to 0.5 ms, in ns of the monotonic clock.
    pub ns: Range<u64>,
}

/// Watches CPUs while it lives; costs each 4,000 timer interrupts per second.
#[derive(Debug)]
pub struct StallWatch {
    // The programs and their timers live as long as this does.
    _loaded: Ebpf,
    stalls: Mapping,
    ours: Mutex<HashMap<MapData, u32, u32>>,
}

impl StallWatch {
    /// Watches `cpus`.
    ///
    /// # Errors
    /// Where BPF programs may not be loaded, or the kernel lacks what they need (BTF, perf
    /// events).
    pub fn new(cpus: &[u32]) -> Result<Self, Unsupported> {
        Self::noting(LATE_NS, cpus)
    }

    /// Notes timers that are `late_ns` late.
    fn noting(late_ns: u64, cpus: &[u32]) -> Result<Self, Unsupported> {
        // In another namespace the numbers that the kernel knows cannot be read.
        let programs = u32::from(pid_namespace::is_first());
        let bytes = object::STALLS.ok_or(Unsupported::NotBuilt(object::MISSING))?;
        let mut loaded = EbpfLoader::new()
            .override_global("late_ns", &late_ns, true)
            .override_global("period_ns", &PERIOD_NS, true)
            .override_global("programs", &programs, true)
            .load(bytes)
            .map_err(|error| refused(&error))?;
        let btf = Btf::from_sys_fs().map_err(|error| refused(&error))?;
        let expired: &mut BtfTracePoint = program(&mut loaded, "expired")?;
        expired
            .load("hrtimer_expire_entry", &btf)
            .and_then(|()| expired.attach())
            .map_err(|error| refused(&error))?;
        let beat: &mut PerfEvent = program(&mut loaded, "beat")?;
        beat.load().map_err(|error| refused(&error))?;
        for &cpu in cpus {
            beat.attach(
                PerfEventConfig::Software(SoftwareEvent::CpuClock),
                PerfEventScope::AllProcessesOneCpu { cpu },
                SamplePolicy::Period(PERIOD_NS),
                false,
            )
            .map_err(|error| refused(&error))?;
        }
        let stalls = match loaded.map("stalls") {
            Some(aya::maps::Map::Array(map)) => {
                Mapping::new(map.fd().as_fd(), 1 + STALLS_MAX * STALL_WORDS)
                    .map_err(|error| refused(&error))?
            }
            _ => return Err(lacks("stalls")),
        };
        let ours = loaded.take_map("ours").ok_or_else(|| lacks("ours"))?;
        let watch = Self {
            _loaded: loaded,
            stalls,
            ours: Mutex::new(map(ours)?),
        };
        watch.spare(&[])?;
        Ok(watch)
    }

    /// Takes `path` for the path's threads or processes, beside those of the kernel that work for
    /// every path, and this process.
    ///
    /// # Errors
    /// When there are too many, or the kernel refuses to note them.
    pub fn spare(&self, path: &[u32]) -> Result<(), Unsupported> {
        let mut ours = self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted: BTreeSet<u32> = kernel_threads()
            .chain(path.iter().copied())
            .chain([std::process::id()])
            .collect();
        let known: BTreeSet<u32> = ours.keys().filter_map(Result::ok).collect();
        for gone in known.difference(&wanted) {
            ours.remove(gone).map_err(|error| refused(&error))?;
        }
        for new in wanted.difference(&known) {
            ours.insert(new, 0, 0).map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    /// Forgets what was noted.
    pub fn forget(&self) {
        if let Some(count) = self.stalls.words().first() {
            count.store(0, Ordering::Relaxed);
        }
    }

    /// Stalls since the last [`Self::forget`], in the order in which they ended; `None` when there
    /// were more than can be noted.
    pub fn seen(&self) -> Option<Vec<Stall>> {
        let get = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let (count, stalls) = self.stalls.words().split_first()?;
        let count = usize::try_from(get(count))
            .ok()
            .filter(|n| *n <= STALLS_MAX)?;
        let stall = |words: &[AtomicU64]| Stall {
            cpu: u32::try_from(get(&words[0])).unwrap_or(u32::MAX),
            by_program: get(&words[1]) != 0,
            ns: get(&words[2])..get(&words[3]),
        };
        Some(
            stalls
                .chunks_exact(STALL_WORDS)
                .take(count)
                .map(stall)
                .collect(),
        )
    }
}

/// Those of [`PATH_WORK`].
fn kernel_threads() -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        let works = PATH_WORK.iter().any(|work| name.starts_with(work));
        works.then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::clock::monotonic_ns;

    /// Keeps CPU 0 busy until `enough`, for 5 s at most.
    fn until(watch: &StallWatch, enough: impl Fn(&[Stall]) -> bool) -> Vec<Stall> {
        crate::pin::to_cpu(Some(0));
        let start = Instant::now();
        loop {
            let until = Instant::now() + Duration::from_millis(20);
            while Instant::now() < until {}
            let stalls = watch.seen().unwrap();
            if enough(&stalls) || start.elapsed() > Duration::from_secs(5) {
                return stalls;
            }
        }
    }

    fn watch(name: &str, late_ns: u64) -> Option<StallWatch> {
        let watch = StallWatch::noting(late_ns, &[0]);
        watch.map_err(|why| println!("SKIP {name}: {why}")).ok()
    }

    /// Every expiry is late by 0 ns: the machinery is seen to work without a CPU that stalls.
    #[test]
    fn every_timer_of_a_watched_cpu_is_looked_at() {
        let Some(watch) = watch("every_timer_of_a_watched_cpu_is_looked_at", 0) else {
            return;
        };
        let start_ns = monotonic_ns();
        watch.forget();
        let stalls = until(&watch, |stalls| stalls.len() >= 20);
        assert!(stalls.len() >= 20, "{}", stalls.len());
        for stall in stalls.iter().filter(|stall| !stall.by_program) {
            assert_eq!(stall.cpu, 0);
            assert!(stall.ns.start >= start_ns - PERIOD_NS && stall.ns.start <= stall.ns.end);
        }
        watch.forget();
        assert!(watch.seen().unwrap().len() < stalls.len());
    }

    /// Another process that keeps a CPU busy is noted, and is not once it belongs to the path.
    #[test]
    fn programs_of_others_are_told_from_ours() {
        let Some(watch) = watch("programs_of_others_are_told_from_ours", u64::MAX >> 1) else {
            return;
        };
        // Children run where their parent may.
        crate::pin::to_cpu(Some(0));
        let mut child = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let long = |stall: &Stall| stall.by_program && stall.ns.end - stall.ns.start > 2_000_000;
        watch.forget();
        let seen = until(&watch, |stalls| stalls.iter().any(long));
        watch.spare(&[child.id()]).unwrap();
        watch.forget();
        // Turns that were under way.
        until(&watch, |_| true);
        let known = watch.ours.lock().unwrap().get(&child.id(), 0);
        child.kill().unwrap();
        child.wait().unwrap();
        watch.spare(&[]).unwrap();
        let forgotten = watch.ours.lock().unwrap().get(&child.id(), 0);
        if pid_namespace::is_first() {
            assert!(seen.iter().any(long), "{seen:?}");
        }
        assert!(known.is_ok() && forgotten.is_err());
    }
}
