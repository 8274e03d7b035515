//! What this kernel, this user and this binary can do.

use aya::Ebpf;
use aya::programs::{ProgramError, TestRun, TestRunAttrs, TestRunOptions, Xdp};

use super::object;
use super::unsupported::{Unsupported, errno, refused};

/// Bytes of the frame of a trial run.
const FRAME_BYTES: usize = 60;

/// Whether frames can be sent from a BPF program: loads one that does nothing and runs it once
/// as a sender would. No frame is sent.
///
/// # Errors
/// What is missing.
pub fn live_frames() -> Result<(), Unsupported> {
    let bytes = object::PROBE.ok_or(Unsupported::NotBuilt(object::MISSING))?;
    let mut loaded = Ebpf::load(bytes).map_err(|error| refused(&error))?;
    let program: &mut Xdp = loaded
        .program_mut("probe")
        .ok_or_else(|| Unsupported::Refused("the object has no program".to_owned()))?
        .try_into()
        .map_err(|error: ProgramError| refused(&error))?;
    program.load().map_err(|error| refused(&error))?;
    let frame = [0; FRAME_BYTES];
    let run = |attrs| {
        program.test_run(TestRunOptions {
            data_in: Some(&frame),
            attrs,
            ..TestRunOptions::new()
        })
    };
    match run(TestRunAttrs::new().xdp_live_frames(1)) {
        Ok(_) => Ok(()),
        // An older kernel refuses the flag, but runs the program without it.
        Err(error) if errno(&error) == Some(libc::EINVAL) => match run(TestRunAttrs::new()) {
            Ok(_) => Err(Unsupported::NoLiveFrames),
            Err(_) => Err(refused(&error)),
        },
        Err(error) => Err(refused(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_a_loadable_object() {
        match (object::PROBE, object::missing()) {
            (Some(bytes), None) => assert_eq!(bytes[..4], *b"\x7fELF"),
            (None, Some(why)) => println!("SKIP what_is_built_in_is_a_loadable_object: {why}"),
            (_, missing) => panic!("{missing:?}"),
        }
    }
}
