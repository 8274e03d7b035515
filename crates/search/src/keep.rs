//! How long to keep a path after its cell has been measured.

use nicety_model::{CellKey, PathSpec};

/// Memory in MiB that is left to the rest of the machine when guests are kept.
const RESERVE_MIB: u64 = 1024;

/// How long a path is worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It is made in no time.
    Never,
    /// While the next cell wants it too, with frames that need this MTU.
    Next(u32),
    /// The same, but nothing else can be measured beside it: its threads never sleep.
    NextAlone(u32),
    /// To the end of the run, as long as there is memory.
    Run,
}

impl Keep {
    /// That of the path of a cell.
    pub fn of(key: &CellKey) -> Self {
        // Frames below have the same MTU and with it the same buffers.
        let mtu = key.frame_size_bytes.mtu_needed().max(1500);
        match &key.path {
            PathSpec::Vm(_) => Self::Run,
            PathSpec::Ovs { .. } | PathSpec::Ovn { .. } => Self::Next(mtu),
            PathSpec::OvsDpdk(_) | PathSpec::Testpmd { .. } => Self::NextAlone(mtu),
            PathSpec::Bridge
            | PathSpec::Ports { .. }
            | PathSpec::VlanBridge { .. }
            | PathSpec::Routed(_)
            | PathSpec::Tunnel(_)
            | PathSpec::Macvlan { .. }
            | PathSpec::Ipvlan { .. }
            | PathSpec::TcRedirect { .. }
            | PathSpec::XdpRedirect
            | PathSpec::Bond { .. }
            | PathSpec::Team { .. }
            | PathSpec::Netkit { .. }
            | PathSpec::Foreign(_) => Self::Never,
        }
    }

    /// Whether something else can be measured while the path is there.
    pub fn is_quiet(self) -> bool {
        matches!(self, Self::Run | Self::Next(_))
    }
}

/// Whether memory is too short to keep guests that stand still beside one that needs `wanted_mib`, where
/// `available_mib` are free; `None` when that is not known.
pub fn is_short(available_mib: Option<u64>, wanted_mib: u64) -> bool {
    available_mib.is_none_or(|mib| mib < wanted_mib + RESERVE_MIB)
}

#[cfg(test)]
mod tests {
    use nicety_model::Plan;

    use super::*;

    #[test]
    fn what_takes_seconds_to_start_is_kept() {
        for (kind, expected, quiet) in [
            ("bridge", Keep::Never, false),
            ("vlan-bridge", Keep::Never, false),
            ("ovs", Keep::Next(1500), true),
            ("ovs-dpdk", Keep::NextAlone(1500), false),
            ("testpmd", Keep::NextAlone(1500), false),
            ("vm", Keep::Run, true),
        ] {
            let plan = Plan::parse(
                "plan.toml",
                &format!("[traffic]\nframe_sizes = [64]\n[[path]]\nkind = \"{kind}\"\n"),
            );
            let plan = plan.unwrap();
            let keep = Keep::of(&plan.cells().next().unwrap());
            assert_eq!((keep, keep.is_quiet()), (expected, quiet), "{kind}");
        }
    }

    #[test]
    fn guests_go_when_memory_is_short_or_unknown() {
        for (available, short) in [(None, true), (Some(1279), true), (Some(1280), false)] {
            assert_eq!(is_short(available, 256), short, "{available:?}");
        }
    }
}
