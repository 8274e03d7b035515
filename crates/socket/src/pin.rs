//! CPUs of worker threads: set, and read back from the kernel.

use nicety_netdev::cpu_set;

use crate::error::SocketError;

/// Whether this process may use every one of `cpus`.
///
/// # Errors
/// [`SocketError::Cpu`] for the first that it may not.
pub fn check_cpus(cpus: &[u32]) -> Result<(), SocketError> {
    let allowed = allowed();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => {
            let words: Vec<String> = allowed.iter().map(u32::to_string).collect();
            Err(SocketError::Cpu {
                cpu: *cpu,
                allowed: words.join(", "),
            })
        }
    }
}

/// Pins the calling thread and returns the CPUs it may run on after that, or why not.
pub(crate) fn pin(cpu: u32) -> Result<Vec<u32>, String> {
    cpu_set::pin(None, &[cpu]).map_err(|error| format!("cannot run on CPU {cpu}: {error}"))?;
    Ok(allowed())
}

/// CPUs of the calling thread.
fn allowed() -> Vec<u32> {
    cpu_set::allowed(None).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_stays_where_it_was_put() {
        let here = allowed();
        assert!(check_cpus(&here).is_ok());
        let last = *here.last().unwrap();
        let pinned = std::thread::spawn(move || pin(last)).join().unwrap();
        assert_eq!(pinned, Ok(vec![last]));
        assert_eq!(allowed(), here);
        let error = check_cpus(&[last, 1023]).unwrap_err();
        assert!(error.is_bad_input());
        assert!(error.to_string().starts_with("CPU 1023 "), "{error}");
    }
}
