//! The sending half: a BPF program that makes frames, and the thread that runs it.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aya::maps::{Array, DevMap, MapData};
use aya::programs::{BtfTracePoint, ProgramError, TestRun, TestRunAttrs, TestRunOptions, Xdp};
use aya::{Btf, Ebpf};

use super::abi::{Control, ControlWords, Sent, Stream};
use super::interrupt::Interruptible;
use super::keep::Kept;
use super::maps::{StreamMaps, take};
use super::object::{self, map, program};
use super::probe::live_frames;
use super::unsupported::{Unsupported, errno, refused};
use crate::engine::{Stop, WorkerUse};
use crate::pin;
use crate::rest::Rest;

/// Runs of the program per call of the kernel, sent or not: some 40 s.
const REPEAT: u32 = 1 << 30;

/// The loaded programs of one sending thread, with one or two streams.
pub(crate) struct Transmitter {
    // The programs live as long as this does; the counter is detached with it.
    loaded: Ebpf,
    pub(super) maps: StreamMaps,
    control: Mutex<Array<MapData, ControlWords>>,
    ports: DevMap<MapData>,
    /// A frame as the kernel puts it into a new page.
    frame: Box<[u8]>,
    thread: Interruptible,
    /// Runs begin at once while it is there.
    _kept: Option<Kept>,
}

impl Transmitter {
    /// Loads the programs for frames like `frame`, without FCS.
    pub(crate) fn load(frame: &[u8]) -> Result<Self, Unsupported> {
        let bytes = object::TRANSMIT.ok_or(Unsupported::NotBuilt(object::MISSING))?;
        let mut loaded = Ebpf::load(bytes).map_err(|error| refused(&error))?;
        let btf = Btf::from_sys_fs().map_err(|error| refused(&error))?;
        let counter: &mut BtfTracePoint = program(&mut loaded, "transmitted")?;
        counter
            .load("xdp_devmap_xmit", &btf)
            .and_then(|()| counter.attach())
            .map_err(|error| refused(&error))?;
        let sender: &mut Xdp = program(&mut loaded, "transmit")?;
        sender.load().map_err(|error| refused(&error))?;
        let kept = sender.fd().ok().and_then(|fd| Kept::new(fd.as_fd()).ok());
        let transmitter = Self {
            maps: StreamMaps::take(&mut loaded)?,
            control: Mutex::new(map(take(&mut loaded, "control")?)?),
            ports: map(take(&mut loaded, "ports")?)?,
            loaded,
            frame: frame.into(),
            thread: Interruptible::default(),
            _kept: kept,
        };
        transmitter.fits()?;
        Ok(transmitter)
    }

    /// Whether the kernel takes frames of this size: page, headroom and the kernel's own notes
    /// share 4096 bytes (`TEST_XDP_FRAME_SIZE` in net/bpf/test_run.c). Sends nothing: no stream
    /// is set up yet.
    fn fits(&self) -> Result<(), Unsupported> {
        match self.run(1, 1) {
            Err(error) if errno(&error) == Some(libc::EINVAL) => {
                // A kernel without live frames says the same of any size.
                live_frames()?;
                Err(Unsupported::FrameTooLarge {
                    bytes: self.frame.len() + FCS_BYTES,
                })
            }
            Err(error) => Err(refused(&error)),
            Ok(()) => Ok(()),
        }
    }

    /// Sends stream `index` out of interface number `interface` of the calling thread's network
    /// namespace.
    pub(crate) fn join(&mut self, index: u32, interface: u32) -> Result<(), Unsupported> {
        self.ports
            .set(index, interface, None, 0)
            .map_err(|error| refused(&error))
    }

    /// Sets up the streams of a trial; those beyond stay silent. Nothing is due before
    /// [`StreamMaps::open_gate`].
    pub(crate) fn prepare(&mut self, streams: &[Stream]) -> Result<(), Unsupported> {
        self.maps.prepare(streams)?;
        let control = Control {
            streams: streams.len() as u64,
            ..Control::default()
        };
        let set = self.control().set(0, control.words(), 0);
        set.map_err(|error| refused(&error))
    }

    /// Sleeps for `length`; the streams' schedules are moved by it when they go on.
    fn rest(&self, length: Duration) -> Result<(), Unsupported> {
        std::thread::sleep(length);
        let error = |error| refused(&error);
        let mut control = self.control();
        let mut told = Control::of(control.get(&0, 0).map_err(error)?);
        told.resumes += 1;
        control.set(0, told.words(), 0).map_err(error)
    }

    fn control(&self) -> MutexGuard<'_, Array<MapData, ControlWords>> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the first `streams` streams have sent everything, or run out of time.
    pub(crate) fn ended(&self, streams: u32) -> Result<bool, Unsupported> {
        self.all(streams, |sent| sent.ended)
    }

    /// Whether the kernel runs the program for the first `streams` streams.
    pub(crate) fn ready(&self, streams: u32) -> Result<bool, Unsupported> {
        self.all(streams, |sent| sent.ready)
    }

    fn all(&self, streams: u32, is: fn(Sent) -> bool) -> Result<bool, Unsupported> {
        for index in 0..streams {
            if !is(self.maps.sent(index)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Interrupts a running [`Self::send`], see [`Interruptible::interrupt`].
    pub(crate) fn interrupt(&self) {
        self.thread.interrupt();
    }

    /// Sends the first `streams` streams to their end on the calling thread, pinned to `cpu`, or
    /// until `stop` or `failed`. An interruption before that is a rest, where there are any.
    pub(crate) fn send(
        &self,
        streams: u32,
        batch: u32,
        cpu: Option<u32>,
        rest: Option<Rest>,
        until: (&Stop, &AtomicBool),
    ) -> Result<WorkerUse, Unsupported> {
        let call = || {
            loop {
                if until.0.is_set() || until.1.load(Ordering::Acquire) || self.ended(streams)? {
                    return Ok(());
                }
                match self.run(REPEAT, batch) {
                    Err(error) if errno(&error) == Some(libc::EINTR) => {
                        if let Some(rest) = rest {
                            self.rest(rest.length)?;
                        }
                    }
                    Err(error) => return Err(refused(&error)),
                    Ok(()) => {}
                }
            }
        };
        let (done, used) = pin::measured(cpu, || self.thread.run(call));
        done.map(|()| used)
    }

    fn run(&self, repeat: u32, batch: u32) -> Result<(), ProgramError> {
        let sender: &Xdp = self
            .loaded
            .program("transmit")
            .ok_or(ProgramError::NotLoaded)?
            .try_into()?;
        sender
            .test_run(TestRunOptions {
                data_in: Some(&self.frame),
                repeat,
                attrs: TestRunAttrs::new().xdp_live_frames(batch),
                ..TestRunOptions::new()
            })
            .map(drop)
    }

    /// The frame the program makes next, without sending it.
    #[cfg(test)]
    fn frame(&self) -> Vec<u8> {
        let sender: &Xdp = self.loaded.program("transmit").unwrap().try_into().unwrap();
        let mut out = vec![0; self.frame.len()];
        let result = sender.test_run(TestRunOptions {
            data_in: Some(&vec![0xee; self.frame.len()]),
            data_out: Some(&mut out),
            ..TestRunOptions::new()
        });
        // XDP_REDIRECT of linux/bpf.h.
        assert_eq!(result.unwrap().return_value, 4);
        out
    }
}

/// Bytes that the interface appends.
const FCS_BYTES: usize = 4;

impl std::fmt::Debug for Transmitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transmitter")
            .field("frame_bytes", &self.frame.len())
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
