//! Names of interrupts: those of queues, and those of what else a NIC says.

use super::pattern::fits;

/// What one driver, or a family of them, calls its interrupts in `/proc/interrupts`.
struct Vectors {
    /// Drivers, as ethtool names them.
    drivers: &'static [&'static str],
    /// Those of queues. `$` is the bare name of the interface.
    queues: &'static [&'static str],
    /// Some of those that carry no frames: events, mailboxes, firmware, clocks.
    control: &'static [&'static str],
}

const fn row(
    drivers: &'static [&'static str],
    queues: &'static [&'static str],
    control: &'static [&'static str],
) -> Vectors {
    Vectors {
        drivers,
        queues,
        control,
    }
}

/// Forms of queues that several drivers share.
const PAIRS: &[&str] = &["*-TxRx-#", "*-rx-#", "*-tx-#"];
/// A driver whose interrupts all bear the name of the interface.
const BARE: &[&str] = &["$"];

/// By driver, with the file below Linux drivers/net/ethernet and the function that makes the name.
/// Where a device has one interrupt only, it bears the interface's name or the driver's, whatever
/// stands here.
const TABLE: &[Vectors] = &[
    // intel/igb/igb_main.c igb_request_msix, intel/igc/igc_main.c igc_request_msix; others bare
    row(&["igb", "igc"], PAIRS, &["*-unused"]),
    // intel/ixgbe/ixgbe_main.c ixgbe_request_msix_irqs, ixgbevf_request_msix_irqs; others bare
    row(&["ixgbe", "ixgbevf"], PAIRS, &[]),
    // intel/igbvf/netdev.c igbvf_request_msix, intel/e1000e/netdev.c e1000_request_msix; bare
    row(&["igbvf", "e1000e"], PAIRS, &[]),
    // intel/fm10k/fm10k_pci.c fm10k_qv_request_irq; the mailbox is bare
    row(&["fm10k"], PAIRS, &[]),
    // intel/i40e/i40e_main.c i40e_vsi_request_irq_msix, i40e_vsi_open, i40e_init_recovery_mode
    row(&["i40e"], PAIRS, &["*:misc", "*:fdir*"]),
    // intel/ice/ice_main.c ice_vsi_req_irq_msix, ice_req_irq_msix_misc
    row(&["ice"], PAIRS, &["*:misc", "*:ll_ts", "*:ctrl*"]),
    // intel/iavf/iavf_main.c iavf_request_traffic_irqs, iavf_request_misc_irq
    row(&["iavf", "i40evf"], PAIRS, &["*:mbx"]),
    // intel/idpf/idpf_txrx.c idpf_vport_intr_req_irq, idpf_lib.c idpf_mb_intr_req_irq
    row(
        &["idpf"],
        &["*-TxRx-#", "*-Rx-#", "*-Tx-#"],
        &["*-Mailbox-#"],
    ),
    // mellanox/mlx5/core/pci_irq.c irq_set_name, irq_sf_set_name; eq.c of 3.x and 4.x;
    // mlx5_rename_eq of OFED for the interface's own name
    row(
        &["mlx5_core", "mlx5e_rep"],
        &["mlx5_comp#*", "mlx5_combined#*", "mlx5_sf_comp#*", "*-#"],
        &[
            "mlx5_async*",
            "mlx5_cmd*",
            "mlx5_pages*",
            "mlx5_ctrl*",
            "mlx5_sf_ctrl*",
            "mlx5_ib_*",
        ],
    ),
    // mellanox/mlx4/eq.c mlx4_assign_eq, mlx4_init_eq_table; en_cq.c of 3.x for the interface's own
    row(
        &["mlx4_en", "mlx4_core"],
        &["mlx4-#@*", "*-#"],
        &["mlx4-async@*"],
    ),
    // broadcom/bnxt/bnxt.c bnxt_setup_msix; its RDMA driver has more
    row(&["bnxt_en"], PAIRS, &["bnxt_re-*", "bnxt_qplib_*"]),
    // broadcom/bnx2x/bnx2x_cmn.c bnx2x_req_msix_irqs; slow path bare
    row(&["bnx2x"], &["*-fp-#"], &[]),
    // broadcom/bnx2.c bnx2_setup_msix_tbl
    row(&["bnx2"], &["*-#"], &[]),
    // broadcom/tg3.c tg3_request_irq: cut after 15 letters, so that the number may be missing
    row(&["tg3"], &["*-txrx*", "*-tx*", "*-rx*", "*-t", "*-r"], &[]),
    // amazon/ena/ena_netdev.c ena_setup_io_intr, ena_setup_mgmnt_intr
    row(&["ena"], &["*-Tx-Rx-#"], &["ena-mgmnt@*"]),
    // google/gve/gve_main.c gve_alloc_notify_blocks; with the interface's name before 6.4
    row(
        &["gve", "gvnic"],
        &["gve-ntfy-blk#@*", "*-ntfy-block.#"],
        &["gve-mgmnt@*", "*-mgmnt"],
    ),
    // microsoft/mana/gdma_main.c mana_gd_setup_irqs
    row(&["mana"], &["mana_q#@*"], &["mana_hwc@*"]),
    // ../../virtio/virtio_pci_common.c vp_request_msix_vectors, vp_find_vqs_msix; ../virtio_net.c
    // virtnet_find_vqs. Too few vectors: all queues share one.
    row(
        &["virtio_net"],
        &["*-input.#", "*-output.#", "*-virtqueues"],
        &["*-config", "*-control"],
    ),
    // ../vmxnet3/vmxnet3_drv.c vmxnet3_request_irqs
    row(
        &["vmxnet3"],
        &["*-rxtx-#", "*-rx-#", "*-tx-#"],
        &["*-event-#"],
    ),
    // ../xen-netfront.c setup_netfront_single, setup_netfront_split
    row(&["vif"], &["*-q#-rx", "*-q#-tx", "*-q#"], &[]),
    // sfc/efx_channels.c efx_get_channel_name. Channels that send for XDP alone are idle without it.
    row(
        &["sfc", "sfc-falcon", "sfc_siena"],
        &["*-rx-#", "*-tx-#", "*-#"],
        &["*-xdp-#", "*-ptp", "*-iov"],
    ),
    // chelsio/cxgb4/cxgb4_main.c setup_sge_queues, cxgb4_uld.c alloc_uld_rxqs; events bare
    row(
        &["cxgb4"],
        &["*-Rx#", "*-eorxq#"],
        &[
            "*-FWeventq",
            "*-mirrorrxq#",
            "*-rdma#",
            "*-iscsi#",
            "*-crypto#",
        ],
    ),
    // chelsio/cxgb4vf/cxgb4vf_main.c name_msix_vecs
    row(&["cxgb4vf"], &["*-#"], &["*-FWeventq"]),
    // qlogic/qede/qede_main.c qede_setup_irqs; qed/qed_main.c qed_slowpath_irq_req
    row(&["qede"], &["*-fp-#"], &["sp-#-*"]),
    // qlogic/qlcnic/qlcnic_main.c qlcnic_request_irq
    row(&["qlcnic"], &["*-rx-#", "*-tx-#"], &["*-mailbox"]),
    // netronome/nfp/nfp_net_common.c nfp_net_prepare_vector, nfp_net_aux_irq_request
    row(&["nfp"], &["*-rxtx-#"], &["*-exn", "*-lsc"]),
    // cisco/enic/enic_main.c enic_request_intr
    row(&["enic"], &["*-rx-#", "*-tx-#"], &["*-err", "*-notify"]),
    // emulex/benet/be_main.c be_msix_register
    row(&["be2net"], &["*-q#"], &[]),
    // pensando/ionic/ionic_lif.c ionic_request_irq, ionic_q_init
    row(
        &["ionic"],
        &["ionic-*-rx#", "ionic-*-tx#"],
        &["ionic-*-admin*", "ionic-*-notif*"],
    ),
    // hisilicon/hns3/hns3_enet.c hns3_nic_init_irq; hns3pf/hclge_main.c hclge_misc_irq_init
    row(
        &["hns3"],
        &["hns3-*-TxRx-#", "hns3-*-Rx-#", "hns3-*-Tx-#"],
        &["hclge-misc-*", "hclgevf-misc-*"],
    ),
    // huawei/hinic/hinic_rx.c hinic_init_rxq, hinic_tx.c hinic_init_txq, hinic_hw_eqs.c init_eq
    row(
        &["hinic"],
        &["*_rxq#", "*_txq#"],
        &["hinic_aeq#@*", "hinic_ceq#@*"],
    ),
    // cavium/thunder/nicvf_main.c nicvf_register_interrupts
    row(
        &["nicvf", "thunder-nicvf"],
        &["*-rxtx-#"],
        &["*-sq-#", "*-rbdr-#", "*-qset-err-#"],
    ),
    // cavium/liquidio/lio_core.c octeon_setup_interrupt
    row(
        &["liquidio", "liquidio_vf"],
        &["LiquidIO*-rxtx-#"],
        &["LiquidIO*-aux"],
    ),
    // marvell/octeontx2/nic/otx2_pf.c otx2_open
    row(
        &["rvu-nicpf", "rvu-nicvf", "rvu_nicpf", "rvu_nicvf"],
        &["*-rxtx-#"],
        &["*-qerr"],
    ),
    // stmicro/stmmac/stmmac_main.c stmmac_request_irq_multi_msi
    row(
        &["st_gmac", "st_xgmac", "st_mac100", "stmmac"],
        &["*:rx-#", "*:tx-#"],
        &["*:mac", "*:wol", "*:lpi", "*:safety-*", "*:sfty-*"],
    ),
    // amd/xgbe/xgbe-drv.c xgbe_request_irqs
    row(&["amd-xgbe"], &["*-TxRx-#"], &["*-pcs", "*-ecc", "*-i2c"]),
    // freescale/enetc/enetc.c enetc_setup_irqs, enetc_msg.c enetc_msg_psi_init
    row(&["fsl_enetc", "fsl_enetc_vf"], &["*-rxtx#"], &["*-vfmsg"]),
    // fungible/funeth/funeth_main.c fun_alloc_queue_irqs
    row(&["funeth"], &["*-rx-#", "*-tx-#"], &[]),
    // atheros/alx/main.c alx_request_msix; engleder/tsnep_main.c tsnep_request_irq
    row(
        &["alx", "tsnep"],
        &["*-TxRx-#", "*-txrx-#", "*-rx-#", "*-tx-#"],
        &["*-mac"],
    ),
    // aquantia/atlantic/aq_nic.c aq_nic_start; realtek/r8169_main.c rtl_open; intel/e1000/e1000_main.c
    // e1000_request_irq; realtek/8139cp.c cp_open, 8139too.c; cadence/macb_main.c macb_probe;
    // broadcom/genet/bcmgenet.c bcmgenet_open
    row(
        &[
            "atlantic", "r8169", "e1000", "8139cp", "8139too", "macb", "bcmgenet",
        ],
        BARE,
        &[],
    ),
];

fn is_one_of(forms: &[&str], interface: &str, vector: &str) -> bool {
    forms.iter().any(|form| match *form {
        "$" => vector == interface,
        form => fits(form, vector),
    })
}

/// Whether an interrupt of this name carries frames of `interface`, by the words of its driver;
/// without one, by those of any driver. A bare name says nothing then.
pub fn is_queue_vector(driver: Option<&str>, interface: &str, vector: &str) -> bool {
    match driver {
        Some(driver) => TABLE
            .iter()
            .filter(|row| row.drivers.contains(&driver))
            .any(|row| {
                !is_one_of(row.control, interface, vector)
                    && is_one_of(row.queues, interface, vector)
            }),
        None => {
            let mut forms = TABLE.iter().flat_map(|row| row.queues);
            !is_control_vector(vector) && forms.any(|form| fits(form, vector))
        }
    }
}

/// Whether an interrupt of this name carries no frames, by the words of any driver: it is for events,
/// a mailbox, firmware or a clock.
pub fn is_control_vector(vector: &str) -> bool {
    let mut forms = TABLE.iter().flat_map(|row| row.control);
    forms.any(|form| fits(form, vector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_told_from_what_else_a_nic_says() {
        for (driver, interface, queues, others) in [
            (
                "ixgbe",
                "ens1",
                &["ens1-TxRx-0", "ens1-TxRx-63"][..],
                &["ens1"][..],
            ),
            ("igb", "eth0", &["eth0-TxRx-0", "eth0-rx-1"], &["eth0"]),
            ("e1000e", "eth0", &["eth0-rx-0", "eth0-tx-0"], &["eth0"]),
            (
                "i40e",
                "eno1",
                &["i40e-eno1-TxRx-0"],
                &["i40e-0000:12:00.0:misc", "i40e-0000:12:00.0:fdir-TxRx-0"],
            ),
            (
                "ice",
                "eno1",
                &["ice-eno1-TxRx-7"],
                &["ice-0000:12:00.0:misc", "ice-0000:12:00.0:ll_ts"],
            ),
            (
                "iavf",
                "eth1",
                &["iavf-eth1-TxRx-0"],
                &["iavf-0000:12:02.0:mbx"],
            ),
            ("idpf", "eth1", &["idpf-eth1-TxRx-0"], &["idpf-Mailbox-0"]),
            (
                "mlx5_core",
                "ens1",
                &[
                    "mlx5_comp0@pci:0000:12:00.0",
                    "ens1-3",
                    "mlx5_combined0@pci:0000:12:00.2",
                ],
                &[
                    "mlx5_async0@pci:0000:12:00.0",
                    "mlx5_pages_eq@pci:0000:12:00.0",
                ],
            ),
            (
                "mlx4_en",
                "ens1",
                &["mlx4-1@0000:12:00.0", "ens1-0"],
                &["mlx4-async@pci:0000:12:00.0"],
            ),
            (
                "bnxt_en",
                "eth0",
                &["eth0-TxRx-0"],
                &["bnxt_re-nq-0@pci:0000:12:00.0"],
            ),
            ("bnx2x", "eth0", &["eth0-fp-3"], &["eth0"]),
            (
                "tg3",
                "enp130s0f0",
                &["enp130s0f0-txrx", "eno1-rx-1"],
                &["eno1-0"],
            ),
            (
                "tg3",
                "enp130s0f0np0",
                &["enp130s0f0np0-t"],
                &["enp130s0f0np0-0"],
            ),
            (
                "ena",
                "ens5",
                &["ens5-Tx-Rx-0"],
                &["ena-mgmnt@pci:0000:00:05.0"],
            ),
            (
                "gve",
                "ens4",
                &["gve-ntfy-blk0@pci:0000:00:04.0", "ens4-ntfy-block.1"],
                &["gve-mgmnt@pci:0000:00:04.0"],
            ),
            (
                "mana",
                "eth0",
                &["mana_q0@pci:7870:00:00.0"],
                &["mana_hwc@pci:7870:00:00.0"],
            ),
            (
                "virtio_net",
                "eth0",
                &["virtio0-input.0", "virtio0-output.12", "virtio0-virtqueues"],
                &["virtio0-config", "virtio0-control"],
            ),
            ("vmxnet3", "ens192", &["ens192-rxtx-0"], &["ens192-event-4"]),
            (
                "sfc",
                "eth0",
                &["eth0-0", "eth0-rx-1"],
                &["eth0-xdp-0", "eth0-ptp"],
            ),
            ("cxgb4", "eth0", &["eth0-Rx0"], &["eth0-FWeventq", "eth0"]),
            ("qede", "eth0", &["eth0-fp-0"], &["sp-0-12:00.00"]),
            ("nfp", "eth0", &["eth0-rxtx-0"], &["eth0-exn", "eth0-lsc"]),
            (
                "enic",
                "eth0",
                &["eth0-rx-0", "eth0-tx-0"],
                &["eth0-err", "eth0-notify"],
            ),
            ("be2net", "eth0", &["eth0-q0"], &["eth0"]),
            (
                "hns3",
                "eth0",
                &["hns3-0000:7d:00.0-TxRx-3"],
                &["hclge-misc-0000:7d:00.0"],
            ),
            ("stmmac", "eth0", &["eth0:rx-0"], &["eth0:mac"]),
            ("r8169", "enp3s0", &["enp3s0"], &["enp3s0-other"]),
        ] {
            for name in queues {
                assert!(
                    is_queue_vector(Some(driver), interface, name),
                    "{driver} {name}"
                );
            }
            for name in others {
                assert!(
                    !is_queue_vector(Some(driver), interface, name),
                    "{driver} {name}"
                );
            }
        }
    }

    #[test]
    fn without_a_driver_the_forms_of_all_count() {
        assert!(is_queue_vector(None, "eth0", "eth0-TxRx-0"));
        assert!(!is_queue_vector(None, "eth0", "eth0"), "queue or event");
        assert!(!is_queue_vector(Some("newnic"), "eth0", "eth0-TxRx-0"));
        for control in ["virtio0-config", "ena-mgmnt@pci:0000:00:05.0", "ice-x:misc"] {
            assert!(is_control_vector(control), "{control}");
        }
        for queue in ["eth0", "eth0-0", "newnic-eth0-a"] {
            assert!(!is_control_vector(queue), "{queue}");
        }
    }
}
