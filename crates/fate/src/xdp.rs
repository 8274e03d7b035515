//! XDP frames that are lost where no tracepoint shows the frame: counted by interface during a trial.

use aya::EbpfLoader;
use aya::maps::{HashMap, MapData, MapError};
use nicety_model::fate::XdpEvent;

use crate::kernel::Kernel;
use crate::layout::{XdpKey, xdp_count};
use crate::loaded::{lacks, tracing};
use crate::names::text;
use crate::object;
use crate::programs::Programs;
use crate::refusal::{Refusal, refused};

/// Programs and their tracepoints.
const PROGRAMS: [(&str, &str); 5] = [
    ("transmit", "xdp_devmap_xmit"),
    ("redirect", "xdp_redirect_err"),
    ("redirect_map", "xdp_redirect_map_err"),
    ("exception", "xdp_exception"),
    ("cpu_full", "xdp_cpumap_enqueue"),
];
/// What they count, by the number of `enum event` there.
const EVENTS: [XdpEvent; 4] = [
    XdpEvent::TransmitRefused,
    XdpEvent::RedirectFailed,
    XdpEvent::Exception,
    XdpEvent::CpuFull,
];

/// Frames lost at a place, of any frames of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XdpLost {
    /// The interface; `CPU 3` for a CPU's queue.
    pub device: String,
    /// Inode of its network namespace; 0 for a CPU.
    pub netns: u64,
    /// What happened.
    pub event: XdpEvent,
    /// Frames.
    pub frames: u64,
}

/// The programs. Nothing is attached but between [`Self::begin`] and [`Self::end`].
#[derive(Debug)]
pub(crate) struct XdpEvents {
    programs: Programs,
    places: HashMap<MapData, XdpKey, [u64; xdp_count::WORDS]>,
}

impl XdpEvents {
    /// Those of the programs that this kernel takes.
    ///
    /// # Errors
    /// When it takes none.
    pub(crate) fn new(kernel: &Kernel) -> Result<Self, Refusal> {
        let bytes = object::XDP.ok_or(Refusal::NotBuilt(object::MISSING))?;
        let mut ebpf = EbpfLoader::new()
            .btf(Some(&kernel.types))
            .load(bytes)
            .map_err(|error| refused(&error))?;
        let mut programs = Vec::new();
        for (program, tracepoint) in PROGRAMS {
            // Arguments have changed, and kernels may lack some.
            if tracing(&mut ebpf, program)?
                .load(tracepoint, &kernel.types)
                .is_ok()
            {
                programs.push(program);
            }
        }
        if programs.is_empty() {
            return Err(Refusal::NoTracepoint);
        }
        let places = ebpf.take_map("places").ok_or_else(|| lacks("places"))?;
        Ok(Self {
            places: places
                .try_into()
                .map_err(|error: MapError| refused(&error))?,
            programs: Programs::new(ebpf, programs),
        })
    }

    /// Counts from now on.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn begin(&mut self) -> Result<(), Refusal> {
        let known: Vec<XdpKey> = self.places.keys().filter_map(Result::ok).collect();
        for key in known {
            self.places.remove(&key).map_err(|error| refused(&error))?;
        }
        self.programs.attach()
    }

    /// Ends that; what was counted.
    pub(crate) fn end(&mut self) -> Vec<XdpLost> {
        self.programs.detach();
        let places = self.places.iter().filter_map(Result::ok);
        let mut lost: Vec<XdpLost> = places
            .filter_map(|(key, words)| named(key, &words))
            .collect();
        lost.sort_by(|a, b| b.frames.cmp(&a.frames).then(a.device.cmp(&b.device)));
        lost
    }
}

fn named([place, event]: XdpKey, words: &[u64; xdp_count::WORDS]) -> Option<XdpLost> {
    let event = *EVENTS.get(usize::try_from(event).ok()?)?;
    Some(XdpLost {
        device: match event {
            XdpEvent::CpuFull => format!("CPU {place}"),
            _ => text(&words[xdp_count::NAME..])?,
        },
        netns: words[xdp_count::NETNS],
        event,
        frames: words[xdp_count::FRAMES],
    })
}
