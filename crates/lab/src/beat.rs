//! Signs of life of the lab's CPUs.
//!
//! An emulated CPU that is not woken again takes what runs on it along, and the rest of the lab
//! waits for it sooner or later, without a word and without using any time. So each CPU has a thread that
//! counts, and the host is told as long as all of them do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nicety_netdev::cpu_set;

use nicety_guests::QemuError;

/// How often each CPU counts, and the host hears of it.
pub const EVERY: Duration = Duration::from_secs(2);

/// What the CPUs have counted.
#[derive(Debug, Clone)]
pub struct Beats(Arc<[AtomicU64]>);

/// What one listener has heard of.
#[derive(Debug)]
pub struct Heard<'a> {
    beats: &'a Beats,
    counts: Vec<u64>,
}

impl Beats {
    /// Starts a thread for each CPU that this one may run on. A CPU that is taken away later leaves its
    /// thread to another.
    ///
    /// # Errors
    /// When the kernel does not tell the CPUs.
    pub fn start(every: Duration) -> Result<Self, QemuError> {
        let cpus =
            cpu_set::allowed(None).map_err(|e| QemuError::io("read the CPUs of", "a thread", e))?;
        let counts: Arc<[AtomicU64]> = cpus.iter().map(|_| AtomicU64::new(0)).collect();
        for (number, cpu) in cpus.into_iter().enumerate() {
            let counts = Arc::clone(&counts);
            std::thread::spawn(move || {
                // One that may not be pinned counts for whatever CPU it is on.
                let _ = cpu_set::pin(None, &[cpu]);
                loop {
                    counts[number].fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(every);
                }
            });
        }
        Ok(Self(counts))
    }

    /// A listener that has heard of nothing yet.
    pub fn listen(&self) -> Heard<'_> {
        Heard {
            beats: self,
            counts: vec![0; self.0.len()],
        }
    }
}

impl Heard<'_> {
    /// Whether every CPU has counted on since this last was so.
    pub fn all(&mut self) -> bool {
        let counts = &self.beats.0;
        let now = || counts.iter().map(|count| count.load(Ordering::Relaxed));
        let all = now().zip(&self.counts).all(|(now, then)| now != *then);
        if all {
            self.counts = now().collect();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_means_every_one_since_the_last_time() {
        let beats = Beats([0, 0].map(AtomicU64::new).into());
        let count = |cpu: usize| beats.0[cpu].fetch_add(1, Ordering::Relaxed);
        let mut heard = beats.listen();
        assert!(!heard.all());
        count(0);
        assert!(!heard.all());
        count(1);
        assert!(heard.all());
        assert!(!heard.all());
        count(1);
        count(1);
        assert!(!heard.all());
        count(0);
        assert!(heard.all());
    }

    #[test]
    fn every_cpu_here_counts() {
        let beats = Beats::start(Duration::from_millis(1)).unwrap();
        let mut heard = beats.listen();
        for _ in 0..3 {
            while !heard.all() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
