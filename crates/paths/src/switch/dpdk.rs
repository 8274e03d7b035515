//! What the switches built on DPDK share: how they get at the interfaces, and on which CPUs they
//! poll.

use nicety_model::FrameSize;
use nicety_model::note::DpdkInterfaces;
use nicety_model::path::Vdev;

use super::program::Start;
use crate::error::PathError;
use crate::rig::RigSpec;
use crate::run_dir::RunDir;

/// Memory of one DPDK process in MiB, taken as ordinary pages.
pub(super) const MEMORY_MIB: u32 = 512;
/// Largest frame with FCS that fits the 2048-byte frames of the packet socket's ring
/// (`DFLT_FRAME_SIZE`, drivers/net/af_packet/rte_eth_af_packet.c) and testpmd's buffers, and what
/// testpmd has NICs take when nothing is said (`RTE_ETHER_MAX_LEN`).
const LARGEST: u16 = 1518;

/// Most queues of an interface through packet sockets: they share its frames as a fan-out group,
/// which has no more members (`fanout_add` in net/packet/af_packet.c: PACKET_FANOUT_MAX where
/// the program names no other number).
const MOST_QUEUES: u32 = 256;

/// What ports on such are, for a note.
pub(super) fn interfaces(vdev: Vdev) -> DpdkInterfaces {
    DpdkInterfaces::Driver(vdev.to_string())
}

/// DPDK's arguments for interface number `number` (`net_af_packet0,iface=d0`).
pub(super) fn device(vdev: Vdev, number: usize, queues: u32) -> String {
    let (driver, count) = match vdev {
        Vdev::AfPacket => ("net_af_packet", "qpairs"),
        Vdev::AfXdp => ("net_af_xdp", "queue_count"),
    };
    format!("{driver}{number},iface=d{number},{count}={queues}")
}

/// What a switch built on DPDK shall be like.
#[derive(Debug, Clone)]
pub struct DpdkSpec {
    /// The two ways to it; its `queues` are the switch's, too.
    pub rig: RigSpec,
    /// How it gets at the interfaces.
    pub vdev: Vdev,
    /// Polling threads, each on a CPU of its own.
    pub cores: u32,
    /// CPUs for the polling threads, the first ones taken.
    pub cpus: Vec<u32>,
}

impl DpdkSpec {
    /// The CPUs that poll.
    pub(super) fn polling(&self) -> Result<&[u32], PathError> {
        let wanted = self.cores.max(1);
        self.cpus
            .get(..wanted as usize)
            .ok_or(PathError::TooFewCpus {
                wanted,
                have: self.cpus.len(),
            })
    }

    /// CPUs for its other threads: those that do not poll, where there are any.
    pub(super) fn beside(&self) -> &[u32] {
        match self.cpus.get(self.cores.max(1) as usize..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &self.cpus,
        }
    }

    /// Refuses frames and queues that the drivers cannot take.
    pub(super) fn check(&self) -> Result<(), PathError> {
        if self.vdev == Vdev::AfXdp && self.rig.queues > 1 {
            // `xdp_get_channels_info` in drivers/net/af_xdp/rte_eth_af_xdp.c counts combined
            // channels only; a veth has separate ones (`veth_get_channels`).
            return Err(PathError::OneQueueOnly {
                what: "DPDK's af_xdp driver on a veth",
                queues: self.rig.queues,
            });
        }
        if self.rig.queues > MOST_QUEUES {
            return Err(PathError::TooManyQueues {
                what: "DPDK's af_packet driver",
                queues: self.rig.queues,
                most: MOST_QUEUES,
            });
        }
        self.fits("DPDK's socket drivers")
    }

    /// Refuses frames that `what` is not set up for.
    pub(super) fn fits(&self, what: &'static str) -> Result<(), PathError> {
        let size = self.rig.largest_frame;
        let fits = FrameSize::new(LARGEST).is_ok_and(|largest| size <= largest);
        if fits {
            Ok(())
        } else {
            Err(PathError::FrameTooLarge {
                what,
                frame_size: size.bytes(),
                largest: LARGEST,
            })
        }
    }
}

/// Keeps DPDK's files in `dir`, and its XDP programs out of bpffs, where they would stay.
pub(super) fn keep_private(start: &mut Start<'_>, dir: &RunDir) {
    start.environment.extend([
        // lib/eal/linux/eal.c, `eal_get_runtime_dir`: before /var/run/dpdk and XDG_RUNTIME_DIR.
        ("RUNTIME_DIRECTORY", dir.path().display().to_string()),
        // libxdp(3), environment variables.
        ("LIBXDP_SKIP_DISPATCHER", "1".to_owned()),
        ("LIBXDP_BPFFS_AUTOMOUNT", "0".to_owned()),
    ]);
}

#[cfg(test)]
mod tests {
    use nicety_model::Remedy;

    use super::*;

    fn spec(cores: u32, cpus: &[u32], size: u16) -> DpdkSpec {
        DpdkSpec {
            rig: RigSpec {
                path_cpus: Vec::new(),
                largest_frame: FrameSize::new(size).unwrap(),
                queues: 1,
            },
            vdev: Vdev::AfPacket,
            cores,
            cpus: cpus.to_vec(),
        }
    }

    #[test]
    fn polling_threads_get_cpus_of_their_own() {
        let four = spec(2, &[2, 3, 4], 64);
        assert_eq!(
            (four.polling().unwrap(), four.beside()),
            (&[2, 3][..], &[4][..])
        );
        let one = spec(1, &[1], 64);
        assert_eq!((one.polling().unwrap(), one.beside()), (&[1][..], &[1][..]));
        assert_eq!(
            spec(2, &[1], 64).polling().unwrap_err().to_string(),
            "2 polling threads need 2 CPUs beside the tester's, there is 1"
        );
    }

    #[test]
    fn frames_that_do_not_fit_are_refused() {
        assert!(spec(1, &[1], 1518).check().is_ok());
        assert_eq!(
            spec(1, &[1], 9018).check().unwrap_err().to_string(),
            "DPDK's socket drivers carry frames of up to 1518 bytes, not 9018"
        );
    }

    #[test]
    fn queues_that_the_driver_does_not_see_are_refused() {
        let mut two = spec(1, &[1], 64);
        two.rig.queues = 2;
        assert!(two.check().is_ok());
        two.vdev = Vdev::AfXdp;
        let error = two.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "DPDK's af_xdp driver on a veth has one queue, not 2"
        );
        let remedy = error.remedy().unwrap().to_string();
        assert!(remedy.starts_with("write queues = 1 "), "{remedy}");
        two.vdev = Vdev::AfPacket;
        two.rig.queues = 256;
        assert!(two.check().is_ok());
        two.rig.queues = 257;
        let error = two.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "DPDK's af_packet driver has at most 256 queues, not 257"
        );
        assert_eq!(
            error.remedy(),
            Some(Remedy::plan("write queues = 256 or less"))
        );
    }

    #[test]
    fn arguments_are_those_of_the_driver() {
        assert_eq!(
            device(Vdev::AfPacket, 0, 2),
            "net_af_packet0,iface=d0,qpairs=2"
        );
        assert_eq!(
            device(Vdev::AfXdp, 1, 1),
            "net_af_xdp1,iface=d1,queue_count=1"
        );
    }
}
