//! CPUs a thread may run on.

use std::io;

use nicety_model::cpu_list::{format_cpu_list, parse_cpu_list};
use nicety_model::knob::Knob;
use nicety_netdev::cpu_set;
use nicety_netdev::net_error::NetError;
use rustix::process::Pid;

use super::{KnobError, read_file};

pub(super) fn read(knob: &Knob, tid: u32, name: &str) -> Result<String, KnobError> {
    let id = thread(knob, tid, name)?;
    let cpus = cpu_set::allowed(Some(id))
        .map_err(|error| NetError::new("read CPUs of thread", tid, error))?;
    Ok(format_cpu_list(&cpus))
}

pub(super) fn write(knob: &Knob, tid: u32, name: &str, value: &str) -> Result<(), KnobError> {
    let id = thread(knob, tid, name)?;
    let bad = || KnobError::bad(knob, value, "a CPU list such as 4-7,12");
    let cpus = parse_cpu_list(value).ok_or_else(bad)?;
    let set = cpu_set::set(&cpus).map_err(|_| bad())?;
    rustix::thread::sched_setaffinity(Some(id), &set)
        .map_err(|error| NetError::new("set CPUs of thread", tid, error))?;
    Ok(())
}

/// The thread, if it still is the one that was meant: numbers are used again.
fn thread(knob: &Knob, tid: u32, name: &str) -> Result<Pid, KnobError> {
    let gone = || {
        let error = io::Error::from_raw_os_error(libc::ENOENT);
        KnobError::from(NetError::new("find", knob, error))
    };
    let comm = read_file(&format!("/proc/{tid}/comm"))?;
    if comm != name {
        return Err(gone());
    }
    i32::try_from(tid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(gone)
}
