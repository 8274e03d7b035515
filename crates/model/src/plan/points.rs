//! The points of the matrix that one `[[path]]` spans.

use crate::path::{Cpus, DpdkParams, Nics, PathSpec, PciPair, VmParams};
use crate::plan::cells::product;
use crate::plan::{PathParams, PathPlan, SwitchKind};

/// A number in mixed radix, of which one digit after the other is taken, the fastest first: the
/// index of a point, a digit for each list.
struct Digits(u64);

impl Digits {
    /// The value of the next list; none of one that was not given.
    fn take<T: Clone>(&mut self, list: &[T]) -> Option<T> {
        let radix = list.len().max(1) as u64;
        let digit = self.0 % radix;
        self.0 /= radix;
        list.get(digit as usize).cloned()
    }
}

impl PathParams {
    /// Lengths of the lists that were given.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let Self {
            a: _,
            b: _,
            pci,
            guest,
            nic,
            pf,
            switch,
            host_queues,
            vcpus,
            pin,
            queues,
            ring,
            vms,
            tagging,
            datapath,
            vdev,
            cores,
            accel,
        } = self;
        let all = [
            pci.len(),
            guest.len(),
            nic.len(),
            pf.len(),
            switch.len(),
            host_queues.len(),
            vcpus.len(),
            pin.len(),
            queues.len(),
            ring.len(),
            vms.len(),
            tagging.len(),
            datapath.len(),
            vdev.len(),
            cores.len(),
            accel.len(),
        ];
        all.into_iter().filter(|length| *length > 0)
    }

    // Fields are read in the order in which they stand, and the last list of a plan turns fastest.

    fn dpdk(&self, digits: &mut Digits) -> DpdkParams {
        DpdkParams {
            cores: digits.take(&self.cores),
            vdev: digits.take(&self.vdev),
            queues: digits.take(&self.queues),
        }
    }

    fn nics(&self, digits: &mut Digits) -> Option<Nics> {
        Some(Nics {
            pci: digits.take(&self.pci).map(PciPair)?,
            a: self.a.clone()?,
            b: self.b.clone()?,
        })
    }

    fn vm(&self, digits: &mut Digits) -> VmParams {
        VmParams {
            accel: digits.take(&self.accel),
            cores: digits.take(&self.cores),
            vdev: digits.take(&self.vdev),
            tagging: digits.take(&self.tagging),
            vms: digits.take(&self.vms),
            ring: digits.take(&self.ring),
            queues: digits.take(&self.queues),
            pin: digits.take(&self.pin).map(Cpus),
            vcpus: digits.take(&self.vcpus),
            host_queues: digits.take(&self.host_queues),
            switch: digits.take(&self.switch),
            pf: digits.take(&self.pf),
            nic: digits.take(&self.nic),
            guest: digits.take(&self.guest),
        }
    }

    fn switch(&self, kind: SwitchKind, digits: &mut Digits) -> PathSpec {
        match kind {
            SwitchKind::VlanBridge => PathSpec::VlanBridge {
                tagging: digits.take(&self.tagging),
            },
            SwitchKind::Ovs => PathSpec::Ovs {
                datapath: digits.take(&self.datapath),
                tagged: digits.take(&self.tagging).is_some(),
            },
            SwitchKind::OvsDpdk => PathSpec::OvsDpdk(self.dpdk(digits)),
            SwitchKind::Testpmd => PathSpec::Testpmd {
                dpdk: self.dpdk(digits),
                nics: self.nics(digits),
            },
        }
    }
}

impl PathPlan {
    /// How many points of the matrix this path is, before frame sizes, directions and flows.
    pub(super) fn point_count(&self) -> u64 {
        match self {
            Self::Bridge | Self::Ports { .. } => 1,
            Self::Switch { params, .. } | Self::Vm { params } => product(params.lengths()),
        }
    }

    /// The point of an index below their count.
    pub(super) fn point(&self, index: u64) -> PathSpec {
        let digits = &mut Digits(index);
        match self {
            Self::Bridge => PathSpec::Bridge,
            Self::Ports { a, b } => PathSpec::Ports {
                a: a.clone(),
                b: b.clone(),
            },
            Self::Switch { kind, params } => params.switch(*kind, digits),
            Self::Vm { params } => PathSpec::Vm(params.vm(digits)),
        }
    }
}
