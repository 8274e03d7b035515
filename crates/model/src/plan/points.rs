//! The points of the matrix that one `[[path]]` spans.

use crate::path::{DpdkParams, Nics, PathSpec, RoutedParams, TunnelParams, VmParams};
use crate::plan::cells::product;
use crate::plan::{PathParams, PathPlan, SwitchKind};
use crate::source::List;

/// A number in mixed radix, of which one digit after the other is taken, the fastest first: the
/// index of a point, a digit for each list.
pub(super) struct Digits(pub(super) u64);

impl Digits {
    /// The value of the next list; none of one that was not given.
    fn take<T: Clone>(&mut self, list: &List<T>) -> Option<T> {
        list.get(self.digit(list.len())).cloned()
    }

    /// The same of values that stand in no file.
    pub(super) fn pick<T: Clone>(&mut self, values: &[T]) -> Option<T> {
        values.get(self.digit(values.len())).cloned()
    }

    fn digit(&mut self, length: usize) -> usize {
        let radix = length.max(1) as u64;
        let digit = self.0 % radix;
        self.0 /= radix;
        digit as usize
    }
}

impl PathParams {
    /// Length and place in the file of every list.
    pub(super) fn lists(&self) -> [(usize, usize); 34] {
        fn of<T>(list: &List<T>) -> (usize, usize) {
            (list.len(), list.at())
        }
        [
            of(&self.pci),
            of(&self.guest),
            of(&self.nic),
            of(&self.pf),
            of(&self.switch),
            of(&self.host_queues),
            of(&self.vcpus),
            of(&self.pin),
            of(&self.queues),
            of(&self.ring),
            of(&self.sndbuf),
            of(&self.vms),
            of(&self.tagging),
            of(&self.acl),
            of(&self.datapath),
            of(&self.vdev),
            of(&self.cores),
            of(&self.accel),
            of(&self.rules),
            of(&self.lookup),
            of(&self.nat),
            of(&self.flowtable),
            of(&self.encapsulation),
            of(&self.gro),
            of(&self.mode),
            of(&self.filter),
            of(&self.aggregation),
            of(&self.machine),
            of(&self.packed),
            of(&self.indirect_desc),
            of(&self.mrg_rxbuf),
            of(&self.ioeventfd),
            of(&self.rss),
            of(&self.iommu),
        ]
    }

    // Fields are read in the order in which they stand, and the last list of a plan turns fastest.

    fn dpdk(&self, digits: &mut Digits) -> DpdkParams {
        DpdkParams {
            cores: digits.take(&self.cores).map(u32::from),
            vdev: digits.take(&self.vdev),
            queues: digits.take(&self.queues).map(u32::from),
        }
    }

    fn nics(&self, digits: &mut Digits) -> Option<Nics> {
        let pci = digits.take(&self.pci)?;
        let [a, b] = self.ends()?.map(str::to_owned);
        Some(Nics { pci, a, b })
    }

    fn vm(&self, digits: &mut Digits) -> VmParams {
        VmParams {
            iommu: digits.take(&self.iommu),
            rss: digits.take(&self.rss),
            ioeventfd: digits.take(&self.ioeventfd),
            mrg_rxbuf: digits.take(&self.mrg_rxbuf),
            indirect_desc: digits.take(&self.indirect_desc),
            packed: digits.take(&self.packed),
            machine: digits.take(&self.machine),
            accel: digits.take(&self.accel),
            cores: digits.take(&self.cores).map(u32::from),
            vdev: digits.take(&self.vdev),
            tagging: digits.take(&self.tagging),
            vms: digits.take(&self.vms).map(u32::from),
            sndbuf: digits.take(&self.sndbuf).map(u32::from),
            ring: digits.take(&self.ring).map(u32::from),
            queues: digits.take(&self.queues).map(u32::from),
            pin: digits.take(&self.pin),
            vcpus: digits.take(&self.vcpus).map(u32::from),
            host_queues: digits.take(&self.host_queues).map(u32::from),
            switch: digits.take(&self.switch),
            pf: digits.take(&self.pf).map(|port| port.0),
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
            SwitchKind::Ovn => PathSpec::Ovn {
                datapath: digits.take(&self.datapath),
                acl: digits.take(&self.acl),
            },
            SwitchKind::OvsDpdk => PathSpec::OvsDpdk(self.dpdk(digits)),
            SwitchKind::Testpmd => PathSpec::Testpmd {
                dpdk: self.dpdk(digits),
                nics: self.nics(digits),
            },
            SwitchKind::Routed => PathSpec::Routed(RoutedParams {
                flowtable: digits.take(&self.flowtable),
                nat: digits.take(&self.nat),
                lookup: digits.take(&self.lookup),
                rules: digits.take(&self.rules).map(u32::from),
            }),
            SwitchKind::Tunnel => PathSpec::Tunnel(TunnelParams {
                gro: digits.take(&self.gro),
                encapsulation: digits.take(&self.encapsulation),
            }),
            SwitchKind::Macvlan => PathSpec::Macvlan {
                mode: digits.take(&self.mode),
            },
            SwitchKind::Ipvlan => PathSpec::Ipvlan {
                mode: digits.take(&self.mode),
            },
            SwitchKind::TcRedirect => PathSpec::TcRedirect {
                filter: digits.take(&self.filter),
            },
            SwitchKind::XdpRedirect => PathSpec::XdpRedirect,
            SwitchKind::Bond => PathSpec::Bond {
                aggregation: digits.take(&self.aggregation),
            },
            SwitchKind::Team => PathSpec::Team {
                aggregation: digits.take(&self.aggregation),
            },
            SwitchKind::Netkit => PathSpec::Netkit {
                mode: digits.take(&self.mode),
            },
        }
    }
}

impl PathPlan {
    /// How many points of the matrix this path is, before frame sizes, directions and flows.
    pub(super) fn point_count(&self) -> u64 {
        match self {
            Self::Bridge | Self::Ports { .. } => 1,
            Self::Switch { params, .. } | Self::Vm { params } => {
                product(params.lists().map(|(length, _)| length.max(1)))
            }
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
