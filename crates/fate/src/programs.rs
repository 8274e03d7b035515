//! Programs on tracepoints that are attached together and only for a while.

use aya::Ebpf;
use aya::programs::tp_btf::BtfTracePointLinkId;

use crate::loaded::tracing;
use crate::refusal::{Refusal, refused};

/// Loaded programs. What is attached is detached with them.
#[derive(Debug)]
pub(crate) struct Programs {
    ebpf: Ebpf,
    names: Vec<&'static str>,
    links: Vec<(&'static str, BtfTracePointLinkId)>,
}

impl Programs {
    /// Those of `ebpf` with these names, which are loaded.
    pub(crate) fn new(ebpf: Ebpf, names: Vec<&'static str>) -> Self {
        Self {
            ebpf,
            names,
            links: Vec::new(),
        }
    }

    /// Has the kernel run them from now on, all or none.
    ///
    /// # Errors
    /// When the kernel refuses one.
    pub(crate) fn attach(&mut self) -> Result<(), Refusal> {
        for name in self.names.clone() {
            let attached = tracing(&mut self.ebpf, name)
                .and_then(|program| program.attach().map_err(|error| refused(&error)));
            match attached {
                Ok(link) => self.links.push((name, link)),
                Err(why) => {
                    self.detach();
                    return Err(why);
                }
            }
        }
        Ok(())
    }

    /// Ends that.
    pub(crate) fn detach(&mut self) {
        for (name, link) in self.links.drain(..) {
            if let Ok(program) = tracing(&mut self.ebpf, name) {
                // Else it goes with the program.
                let _ = program.detach(link);
            }
        }
    }
}
