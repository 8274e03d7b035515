//! Paths through switches other than the plain bridge: from a cell's parameters to what is built.

use nicety_host::placement::Placement;
use nicety_model::CellKey;
use nicety_model::plan::{PathPlan, SwitchKind};
use nicety_testbed::{
    Datapath, DpdkSpec, OvsDpdkPath, OvsPath, OvsSpec, Path, PathError, RigSpec, Tagging,
    TestpmdPath, Vdev, VlanBridgePath,
};

use super::setup::{QUEUES, path_cpus};

/// CPUs of the threads that receive on the switch's two interfaces.
const RECEIVING: usize = 2;

/// CPUs that the plan's paths have work for.
pub fn cpus_wanted(paths: &[PathPlan]) -> usize {
    let polling = |path: &PathPlan| match path {
        PathPlan::Switch {
            kind: SwitchKind::VlanBridge,
            ..
        } => 0,
        PathPlan::Switch { params, .. } => params.cores.iter().max().copied().unwrap_or(1),
        PathPlan::Vm { params } => {
            let polls = |switch: &String| matches!(switch.as_str(), "ovs-dpdk" | "testpmd");
            match params.switch.iter().any(polls) {
                true => params.cores.iter().max().copied().unwrap_or(1),
                false => 0,
            }
        }
        _ => 0,
    };
    RECEIVING + paths.iter().map(polling).max().unwrap_or(0) as usize
}

/// Builds the path of a cell.
pub fn path(
    kind: SwitchKind,
    key: &CellKey,
    placement: &Placement,
) -> Result<Box<dyn Path>, PathError> {
    let number = |name: &str| key.path.get(name)?.parse::<u32>().ok();
    let word = |name: &str| key.path.get(name).map(String::as_str);
    let rig = RigSpec {
        path_cpus: path_cpus(placement),
        largest_frame: key.frame_size_bytes,
        queues: number("queues").unwrap_or(QUEUES),
    };
    let cpus = program_cpus(&placement.path);
    let dpdk = |rig| DpdkSpec {
        rig,
        vdev: match word("vdev") {
            Some("af_xdp") => Vdev::AfXdp,
            _ => Vdev::AfPacket,
        },
        cores: number("cores").unwrap_or(1),
        cpus: cpus.clone(),
    };
    Ok(match kind {
        SwitchKind::VlanBridge => {
            let tagging = match word("tagging") {
                Some("filtering") => Tagging::Filtering,
                _ => Tagging::SubInterface,
            };
            Box::new(VlanBridgePath::build(&rig, tagging)?)
        }
        SwitchKind::Ovs => Box::new(OvsPath::build(&OvsSpec {
            rig,
            datapath: match word("datapath") {
                Some("kernel") => Some(Datapath::Kernel),
                Some("userspace") => Some(Datapath::Userspace),
                _ => None,
            },
            cpus,
        })?),
        SwitchKind::OvsDpdk => Box::new(OvsDpdkPath::build(&dpdk(rig))?),
        SwitchKind::Testpmd => Box::new(TestpmdPath::build(&dpdk(rig))?),
    })
}

/// The path's CPUs for programs, those first on which no thread of the kernel receives.
pub fn program_cpus(path: &[u32]) -> Vec<u32> {
    let mut cpus = path.to_vec();
    cpus.rotate_left(RECEIVING.min(path.len()));
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_keep_off_the_cpus_that_receive() {
        assert!(program_cpus(&[]).is_empty());
        assert_eq!(program_cpus(&[1]), [1]);
        assert_eq!(program_cpus(&[2, 3]), [2, 3]);
        assert_eq!(program_cpus(&[2, 3, 4, 5]), [4, 5, 2, 3]);
    }
}
