//! How every benchmark begins.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use nicety_netdev::privilege::{self, Privilege};
use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether the benchmark is to run. `cargo test --benches` passes no `--bench`: there is nothing to test here.
pub fn is_asked_for(name: &str) -> bool {
    let asked = std::env::args().any(|argument| argument == "--bench");
    if !asked {
        println!("a benchmark: cargo bench -p nicety-benchmarks --bench {name}");
    }
    asked
}

/// A whole number above 0 of the environment, else the usual one.
pub fn setting<T: FromStr + Default + PartialOrd>(name: &str, usual: T) -> Result<T> {
    match std::env::var(name).map(|text| text.parse::<T>()) {
        Err(_) => Ok(usual),
        Ok(Ok(number)) if number > T::default() => Ok(number),
        Ok(_) => bail!("{name} must be a whole number above 0"),
    }
}

/// Takes an ordinary user into a user namespace, where paths can be made; whether that was needed.
pub fn own_namespaces() -> Result<bool> {
    let ordinary = privilege::privilege()? == Privilege::Ordinary;
    if ordinary {
        privilege::enter_user_namespace()?;
    }
    Ok(ordinary)
}

/// Becomes true with Ctrl-C or SIGTERM, so that what was made is taken down.
pub fn interruption() -> Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Fails once the benchmark is to end.
pub fn go_on(interrupted: &AtomicBool) -> Result<()> {
    if interrupted.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}
