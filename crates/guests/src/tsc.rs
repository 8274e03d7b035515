//! How fast the counter of cycles runs that an emulated CPU has: it is the host's own.
//!
//! A kernel on a machine without PCI has nothing to measure it by: there is no timer that it knows the rate of. Under KVM
//! the host tells it.
#![allow(unsafe_code)] // edge: an instruction

/// Its rate in kHz, within about a thousandth.
#[cfg(target_arch = "x86_64")]
pub(crate) fn khz() -> Option<u64> {
    use std::arch::x86_64::_rdtsc;
    use std::time::{Duration, Instant};

    /// Short beside a boot, and long beside a switch of tasks.
    const OVER: Duration = Duration::from_millis(20);

    let begin = Instant::now();
    // SAFETY: every x86-64 CPU has the instruction, and it touches no memory.
    let from = unsafe { _rdtsc() };
    std::thread::sleep(OVER);
    let micros = begin.elapsed().as_micros();
    // SAFETY: as above.
    let to = unsafe { _rdtsc() };
    let cycles = u128::from(to.checked_sub(from)?);
    u64::try_from((cycles * 1000).checked_div(micros)?).ok()
}

/// Guests are x86-64 machines, emulated elsewhere with another counter.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn khz() -> Option<u64> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_cycles_runs_at_a_rate_of_today() {
        let khz = khz().unwrap();
        assert!((100_000..20_000_000).contains(&khz), "{khz}");
    }
}
