//! Names of counters, by driver.

use super::meaning::{Meaning, Side};

/// Counters of one driver, or a family of them.
pub(super) struct Counters {
    /// Drivers, as ethtool names them.
    pub(super) drivers: &'static [&'static str],
    /// Names by meaning; one that comes first counts.
    pub(super) words: &'static [Words],
}

/// Names of one meaning: of the kernel's counters, or of the driver's own (`ethtool -S`).
pub(super) type Words = (Side, Meaning, &'static [&'static str]);

/// Drivers, then lines of side, meaning and names.
macro_rules! table {
    ($($($driver:literal)+ { $($side:ident $meaning:ident $($name:literal)+;)+ })+) => {
        &[$(Counters {
            drivers: &[$($driver),+],
            words: &[$((Side::$side, Meaning::$meaning, &[$($name),+])),+],
        }),+]
    };
}

/// What counters mean where the driver's own lines do not say otherwise. The kernel's: Linux
/// include/uapi/linux/if_link.h, struct rtnl_link_stats64; what `rx_fifo_errors` and `rx_dropped`
/// mean is the driver's alone. Of drivers' own those that explain themselves.
pub(super) const COMMON: &[Words] = &[
    (Side::Kernel, Meaning::FullRing, &["rx_missed_errors"]),
    (
        Side::Kernel,
        Meaning::Cable,
        &["rx_crc_errors", "rx_frame_errors"],
    ),
    (
        Side::Kernel,
        Meaning::Length,
        &["rx_length_errors", "rx_over_errors"],
    ),
    (
        Side::Driver,
        Meaning::Cable,
        &["rx_crc_errors", "rx_fcs_errors", "rx_align_errors"],
    ),
    (
        Side::Driver,
        Meaning::PauseReceived,
        &["rx_pause_frames", "rx_pause", "rx_flow_control_xoff"],
    ),
    (
        Side::Driver,
        Meaning::PauseSent,
        &["tx_pause_frames", "tx_pause", "tx_flow_control_xoff"],
    ),
    (Side::Driver, Meaning::Allowance, &["*_allowance_exceeded"]),
];

/// By driver, with the file below Linux drivers/net/ethernet and the table or function there.
/// Counters of frames beyond 1518 bytes are left out: most NICs count good jumbo frames there.
pub(super) const TABLE: &[Counters] = table! {
    // mellanox/mlx5/core/en_stats.c q_stats_desc, sw_stats_desc, pport_*_stats_desc, pcie_perf_*;
    // Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst
    "mlx5_core" "mlx5e_rep" {
        Driver FullRing "rx_out_of_buffer";
        Driver NoMemory "rx_buff_alloc_err" "rx#_buff_alloc_err";
        Driver PortBuffer "rx_discards_phy" "rx_prio#_discards" "rx_prio#_buf_discard"
            "rx_prio#_cong_discard";
        Driver Filter "rx_steer_missed_packets";
        Driver LinkDown "rx_if_down_packets";
        Driver Xdp "rx_xdp_drop" "rx#_xdp_drop" "rx_xsk_xdp_drop" "rx#_xsk_xdp_drop";
        Driver TxQueue "tx_queue_dropped" "tx#_dropped" "tx_discards_phy" "*xdp_tx_full"
            "tx_xdp_full";
        Driver Length "rx_oversize_pkts_phy" "rx_oversize_pkts_buffer" "rx_oversize_pkts_sw_drop"
            "rx#_oversize_pkts_sw_drop" "rx_undersize_pkts_phy" "rx_in_range_len_errors_phy"
            "rx_out_of_range_len_phy";
        Driver Cable "rx_crc_errors_phy" "rx_symbol_err_phy" "rx_jabbers_phy" "rx_fragments_phy";
        Driver PauseReceived "rx_pause_ctrl_phy" "rx_global_pause";
        Driver PauseSent "tx_pause_ctrl_phy" "tx_global_pause";
        Driver PriorityPause "rx_prio#_pause" "tx_prio#_pause";
        Driver Pcie "outbound_pci_stalled_*" "outbound_pci_buffer_overflow"
            "*_pci_signal_integrity";
    }
    // mellanox/mlx4/en_ethtool.c main_strings, en_port.c mlx4_en_DUMP_ETH_STATS (RdropOvflw; missed
    // frames too in 3.x)
    "mlx4_en" "mlx4_core" {
        Kernel PortBuffer "rx_fifo_errors" "rx_over_errors" "rx_missed_errors";
        Driver NoMemory "rx#_dropped";
        Driver PortBuffer "rx_fifo_errors" "rx_over_errors" "rx_missed_errors";
        Driver Xdp "rx_xdp_drop" "rx#_xdp_drop";
        Driver TxQueue "tx_dropped" "tx#_dropped" "rx_xdp_tx_full" "rx#_xdp_tx_full";
        Driver Cable "rx_crc_errors" "rx_frame_errors";
        Driver Length "rx_length_errors" "rx_jabbers" "rx_in_range_length_error"
            "rx_out_range_length_error";
        Driver PauseReceived "rx_pause";
        Driver PauseSent "tx_pause";
        Driver PriorityPause "rx_pause_prio_#" "tx_pause_prio_#";
    }
    // intel/ixgbe/ixgbe_ethtool.c ixgbe_gstrings_stats, ixgbe_main.c ixgbe_update_stats (MPC, QPRDC)
    "ixgbe" {
        Driver FullRing "rx_missed_errors" "rx_no_dma_resources";
        Driver ShortRing "rx_no_buffer_count";
        Driver NoMemory "alloc_rx_buff_failed" "alloc_rx_page_failed";
        Driver Filter "fdir_miss" "rx_fcoe_dropped";
        Driver TxQueue "tx_dropped";
        Driver Cable "rx_crc_errors" "rx_frame_errors";
        Driver Length "rx_length_errors" "rx_long_length_errors" "rx_short_length_errors";
        Driver PauseReceived "rx_flow_control_xoff";
        Driver PauseSent "tx_flow_control_xoff";
    }
    // intel/igb/igb_ethtool.c igb_gstrings_stats, igb_main.c igb_update_stats (MPC, RQDPC, RNBC),
    // intel/igc/igc_ethtool.c, igc_main.c igc_update_stats
    "igb" "igc" {
        Kernel FullRing "rx_fifo_errors";
        Driver FullRing "rx_missed_errors" "rx_fifo_errors" "rx_queue_#_drops";
        Driver ShortRing "rx_no_buffer_count";
        Driver NoMemory "rx_queue_#_alloc_failed";
        Driver Management "rx_smbus" "tx_smbus" "dropped_smbus";
        Driver TxQueue "tx_dropped";
        Driver Cable "rx_crc_errors" "rx_align_errors" "rx_frame_errors";
        Driver Length "rx_length_errors" "rx_long_length_errors" "rx_short_length_errors";
        Driver PauseReceived "rx_flow_control_xoff";
        Driver PauseSent "tx_flow_control_xoff";
    }
    // intel/e1000e/ethtool.c e1000_gstrings_stats, netdev.c e1000e_update_stats (MPC, RNBC),
    // intel/e1000/e1000_ethtool.c
    "e1000e" "e1000" {
        Driver FullRing "rx_missed_errors";
        Driver ShortRing "rx_no_buffer_count";
        Driver NoMemory "alloc_rx_buff_failed";
        Driver Management "rx_smbus" "tx_smbus" "dropped_smbus";
        Driver TxQueue "tx_dropped";
        Driver Cable "rx_crc_errors" "rx_align_errors" "rx_frame_errors";
        Driver Length "rx_length_errors" "rx_long_length_errors" "rx_short_length_errors";
        Driver PauseReceived "rx_flow_control_xoff";
        Driver PauseSent "tx_flow_control_xoff";
    }
    // intel/i40e/i40e_ethtool.c i40e_gstrings_*, i40e_main.c i40e_stats_update_rx_discards (GLV_RDPC),
    // i40e_update_pf_stats (GLPRT_RDPC is the port's)
    "i40e" {
        Driver FullRing "rx_missed_errors";
        Driver PortBuffer "port.rx_discards";
        Driver NoMemory "rx_alloc_fail" "rx_pg_alloc_fail";
        Driver Filter "veb.rx_discards" "veb.tx_discards";
        Driver LinkDown "port.tx_dropped_link_down";
        Driver TxQueue "tx_dropped";
        Driver Cable "rx_crc_errors" "port.rx_crc_errors" "port.rx_fragments";
        Driver Length "rx_length_errors" "port.rx_length_errors" "port.rx_oversize"
            "port.rx_undersize" "port.rx_jabber";
        Driver PauseReceived "port.link_xoff_rx";
        Driver PauseSent "port.link_xoff_tx";
        Driver PriorityPause "port.rx_priority_#_xoff_rx" "port.tx_priority_#_xoff_tx";
    }
    // intel/ice/ice_ethtool.c ice_gstrings_*, ice_main.c ice_update_vsi_stats (rx_discards)
    "ice" {
        Driver FullRing "rx_dropped" "rx_dropped.nic";
        Driver NoMemory "rx_alloc_fail" "rx_pg_alloc_fail";
        Driver LinkDown "tx_dropped_link_down.nic";
        Driver Cable "rx_crc_errors.nic" "rx_fragments.nic";
        Driver Length "rx_length_errors.nic" "rx_oversize.nic" "rx_undersize.nic" "rx_jabber.nic";
        Driver PauseReceived "link_xoff_rx.nic";
        Driver PauseSent "link_xoff_tx.nic";
        Driver PriorityPause "rx_priority_#_xoff.nic" "tx_priority_#_xoff.nic";
    }
    // intel/iavf/iavf_ethtool.c iavf_gstrings_stats: rx_discards of the function's own VSI
    "iavf" "i40evf" {
        Driver FullRing "rx_discards";
        Driver TxQueue "tx_discards";
    }
    // intel/ixgbevf/ethtool.c ixgbevf_gstrings_stats
    "ixgbevf" {
        Driver NoMemory "alloc_rx_buff_failed" "alloc_rx_page_failed";
    }
    // intel/fm10k/fm10k_ethtool.c fm10k_gstrings_pf_stats
    "fm10k" {
        Driver FullRing "nodesc_drop";
        Driver PortBuffer "rx_overrun_pf" "rx_overrun_vf";
        Driver Filter "loopback_drop" "vlan_drop";
        Driver NoMemory "rx_alloc_failed";
    }
    // intel/idpf/idpf_ethtool.c idpf_gstrings_port_stats
    "idpf" {
        Driver Length "rx-length_errors";
        Driver TxQueue "tx-skb_drops";
    }
    // broadcom/bnxt/bnxt_ethtool.c bnxt_ring_rx_stats_str, bnxt_ring_drv_stats_arr, bnxt_port_stats_arr;
    // bnxt.c bnxt_get_ring_stats
    "bnxt_en" {
        Driver FullRing "[#]: rx_discards" "rx_total_discard_pkts";
        Driver NoMemory "[#]: rx_buf_errors" "rx_total_buf_errors" "rx_total_oom_discards"
            "[#]: rx_oom_discards";
        Driver PortBuffer "rx_stat_discard" "rx_discard_packets_cos#";
        Driver TxQueue "[#]: tx_discards" "tx_total_discard_pkts" "tx_stat_discard";
        Driver Cable "rx_fcs_err_frames" "rx_align_err_frames" "rx_code_err_frames"
            "rx_fcserr_frames";
        Driver Length "rx_mtu_err_frames" "rx_jbr_frames" "rx_undrsz_frames" "rx_runt_frames";
        Driver PauseReceived "rx_pause_frames";
        Driver PauseSent "tx_pause_frames";
        Driver PriorityPause "rx_pfc_ena_frames_pri#" "tx_pfc_ena_frames_pri#" "rx_pfc_frames"
            "tx_pfc_frames";
    }
    // broadcom/bnx2x/bnx2x_ethtool.c bnx2x_stats_arr, bnx2x_q_stats_arr; bnx2x_stats.c
    // bnx2x_net_stats_update
    "bnx2x" {
        Kernel FullRing "rx_fifo_errors";
        Kernel PortBuffer "rx_over_errors";
        Driver FullRing "rx_discards" "[#]: rx_discards";
        Driver PortBuffer "rx_brb_discard" "rx_brb_truncate";
        Driver NoMemory "rx_skb_alloc_discard" "[#]: rx_skb_alloc_discard";
        Driver Filter "rx_filtered_packets" "rx_mf_tag_discard";
        Driver Cable "rx_crc_errors" "rx_align_errors";
        Driver Length "rx_undersize_packets" "rx_jabbers";
        Driver PauseReceived "rx_pause_frames";
        Driver PauseSent "tx_pause_frames";
    }
    // broadcom/bnx2.c bnx2_stats_str_arr, bnx2_get_stats64 (FwRxDrop, MBUFDiscards)
    "bnx2" {
        Kernel PortBuffer "rx_over_errors";
        Driver FullRing "rx_fw_discards";
        Driver PortBuffer "rx_ftq_discards" "rx_discards";
        Driver Cable "rx_crc_errors" "rx_align_errors";
        Driver Length "rx_undersize_packets" "rx_jabbers";
        Driver PauseReceived "rx_xoff_frames";
        Driver PauseSent "tx_xoff_frames";
    }
    // broadcom/tg3.c ethtool_stats_keys, tg3_get_nstats (empty rings were rx_over_errors before 6.1)
    "tg3" {
        Kernel ShortRing "rx_over_errors";
        Driver FullRing "rx_discards";
        Driver ShortRing "rxbds_empty";
        Driver TxQueue "tx_discards";
        Driver Cable "rx_fcs_errors" "rx_align_errors";
        Driver Length "rx_frame_too_long_errors" "rx_in_length_errors" "rx_out_length_errors"
            "rx_undersize_packets" "rx_jabbers";
        Driver PauseReceived "rx_xoff_pause_rcvd";
        Driver PauseSent "tx_xoff_sent";
    }
    // amazon/ena/ena_ethtool.c ena_stats_*_strings, ena_netdev.c ena_get_stats64, ena_keep_alive_wd: the
    // device's drops are those of a full ring (best practices of its driver)
    "ena" {
        Kernel FullRing "rx_dropped" "rx_over_errors";
        Driver FullRing "rx_drops" "rx_overruns" "queue_#_rx_drops" "queue_#_rx_overruns";
        Driver NoMemory "queue_#_rx_page_alloc_fail" "queue_#_rx_skb_alloc_fail"
            "queue_#_rx_empty_rx_ring";
        Driver Xdp "queue_#_rx_xdp_drop" "queue_#_rx_xdp_aborted";
        Driver TxQueue "tx_drops";
        Driver Allowance "bw_in_allowance_exceeded" "bw_out_allowance_exceeded"
            "pps_allowance_exceeded" "conntrack_allowance_exceeded" "linklocal_allowance_exceeded";
    }
    // google/gve/gve_ethtool.c gve_gstrings_rx_stats, gve_gstrings_main_stats
    "gve" "gvnic" {
        Driver FullRing "rx_queue_drop_cnt[#]" "rx_no_buffers_posted[#]";
        Driver NoMemory "rx_skb_alloc_fail" "rx_buf_alloc_fail";
        Driver Length "rx_drops_packet_over_mru[#]";
        Driver Xdp "rx_xdp_drop[#]" "rx_xdp_aborted[#]";
    }
    // microsoft/mana/mana_ethtool.c mana_eth_stats, mana_hc_stats
    "mana" {
        Driver FullRing "hc_rx_discards_no_wqe";
        Driver LinkDown "hc_rx_err_vport_disabled" "hc_tx_err_vport_disabled";
        Driver Xdp "rx_#_xdp_drop";
    }
    // ../hyperv/netvsc_drv.c netvsc_stats
    "hv_netvsc" {
        Driver NoMemory "rx_no_memory" "tx_no_memory";
        Driver TxQueue "tx_no_space" "tx_send_full" "vf_tx_dropped";
        Driver Xdp "rx_queue_#_xdp_drop";
    }
    // ../virtio_net.c virtnet_rq_stats_desc, virtnet_receive: what XDP, lengths or memory cost; a full
    // ring is seen by the host, or in the device's own counters since Linux 6.10
    "virtio_net" {
        Driver FullRing "rx#_hw_drop_overruns" "rx_hw_drop_overruns";
        Driver Xdp "rx_queue_#_xdp_drops" "rx#_xdp_drops" "rx_xdp_drops";
        Driver NoMemory "rx_queue_#_drops" "rx#_drops" "rx_drops";
        Driver TxQueue "tx_queue_#_xdp_tx_drops";
    }
    // ../vmxnet3/vmxnet3_ethtool.c vmxnet3_rq_dev_stats, vmxnet3_rq_driver_stats: one set per queue
    "vmxnet3" {
        Driver FullRing "*pkts rx OOB*";
        Driver NoMemory "*rx buf alloc fail";
        Driver Cable "*fcs";
        Driver TxQueue "*ring full" "*pkts tx discard";
    }
    // sfc/ef10.c efx_ef10_stat_desc, efx_ef10_update_stats_pf; nic.c; siena/siena.c siena_stat_desc
    "sfc" "sfc-falcon" "sfc_siena" {
        Kernel PortBuffer "rx_fifo_errors";
        Driver FullRing "port_rx_nodesc_drops" "rx_nodesc_drops" "rx_nodesc_drop_cnt"
            "rx_nodesc_trunc";
        Driver NoMemory "rx_noskb_drops";
        Driver PortBuffer "port_rx_overflow" "rx_overflow" "port_rx_pm_discard_*"
            "port_rx_pm_trunc_*";
        Driver Filter "port_rx_dp_di_dropped_packets";
        Driver Xdp "rx_xdp_drops" "rx_xdp_bad_drops";
        Driver Cable "port_rx_bad" "rx_bad" "port_rx_align_error" "rx_align_error"
            "rx_symbol_error";
        Driver Length "port_rx_length_error" "rx_length_error" "port_rx_bad_gtjumbo"
            "rx_bad_gtjumbo";
        Driver PauseReceived "port_rx_pause" "rx_pause";
        Driver PauseSent "port_tx_pause" "tx_pause";
    }
    // cisco/enic/enic_ethtool.c enic_rx_stats, enic_tx_stats
    "enic" {
        Driver FullRing "rx_no_bufs";
        Driver Filter "rx_drop";
        Driver TxQueue "tx_drops";
        Driver Cable "rx_crc_errors";
    }
    // qlogic/qede/qede_ethtool.c qede_stats_arr, qede_main.c qede_get_stats64
    "qede" {
        Kernel FullRing "rx_fifo_errors";
        Driver FullRing "no_buff_discards";
        Driver PortBuffer "brb_discards" "brb_truncates";
        Driver Filter "mftag_filter_discards" "mac_filter_discards" "gft_filter_drop";
        Driver Cable "rx_crc_errors" "rx_align_errors";
        Driver Length "rx_jabbers" "rx_undersize_packets" "packet_too_big_discard";
        Driver PauseReceived "rx_pause_frames";
        Driver PauseSent "tx_pause_frames";
        Driver PriorityPause "rx_pfc_frames" "tx_pfc_frames";
    }
    // chelsio/cxgb4/cxgb4_ethtool.c stats_strings
    "cxgb4" "cxgb4vf" {
        Driver PortBuffer "rx_bg#_frames_dropped" "rx_bg#_frames_trunc" "bg#_frames_dropped";
        Driver TxQueue "tx_frames_dropped";
        Driver Cable "rx_fcs_errors" "rx_symbol_errors";
        Driver Length "rx_length_errors" "rx_frames_too_long" "rx_jabber_errors" "rx_runt_frames";
        Driver PauseReceived "rx_pause_frames";
        Driver PauseSent "tx_pause_frames";
        Driver PriorityPause "rx_ppp#_frames" "tx_ppp#_frames";
    }
    // emulex/benet/be_ethtool.c et_stats, et_rx_stats; be_main.c be_get_stats64
    "be2net" {
        Kernel PortBuffer "rx_fifo_errors";
        Driver FullRing "rx_drops_no_erx_descr" "rxq#: rx_drops_no_frags";
        Driver NoMemory "rxq#: rx_drops_no_skbs";
        Driver PortBuffer "rx_drops_no_pbuf" "rxpp_fifo_overflow_drop"
            "rx_input_fifo_overflow_drop" "pmem_fifo_overflow_drop";
        Driver Filter "rx_address_filtered" "eth_red_drops";
        Driver TxQueue "txq#: tx_drv_drops";
        Driver Cable "rx_crc_errors" "rx_alignment_symbol_errors";
        Driver Length "rx_drops_mtu" "rx_frame_too_long" "rx_in_range_errors" "rx_out_range_errors"
            "rx_dropped_too_*";
        Driver PauseReceived "rx_pause_frames";
        Driver PauseSent "tx_pauseframes";
        Driver PriorityPause "rx_priority_pause_frames" "tx_priority_pauseframes";
    }
    // netronome/nfp/nfp_net_ethtool.c nfp_net_et_stats, nfp_mac_et_stats
    "nfp" {
        Driver FullRing "dev_rx_discards";
        Driver TxQueue "dev_tx_discards" "mac.tx_queue_drop";
        Driver PortBuffer "mac.rx_mac_head_drop" "mac.rx_drop_events";
        Driver Cable "mac.rx_frame_check_sequence_errors" "mac.rx_alignment_errors";
        Driver Length "mac.rx_frame_too_long_errors" "mac.rx_range_length_errors"
           ;
        Driver PauseReceived "mac.rx_pause_mac_ctrl_frames";
        Driver PauseSent "mac.tx_pause_mac_ctrl_frames";
        Driver PriorityPause "mac.rx_pause_frames_class#" "mac.tx_pause_frames_class#";
    }
    // pensando/ionic/ionic_stats.c ionic_lif_stats_desc, ionic_port_stats_desc; ionic_lif.c
    // ionic_get_stats64 (rx_queue_empty)
    "ionic" {
        Kernel FullRing "rx_over_errors";
        Driver FullRing "hw_rx_over_errors";
        Driver NoMemory "rx_#_alloc_err";
        Driver Cable "frames_rx_bad_fcs";
        Driver PauseReceived "frames_rx_pause";
        Driver PauseSent "frames_tx_pause";
        Driver PriorityPause "frames_rx_pripause" "frames_tx_pripause";
    }
    // aquantia/atlantic/aq_ethtool.c aq_ethtool_stat_names
    "atlantic" {
        Driver FullRing "InDroppedDma";
        Driver NoMemory "*Queue[#] AllocFails" "*Queue[#] SkbAllocFails";
        Driver Xdp "*Queue[#] XdpDrop" "*Queue[#] XdpAbort";
    }
    // cavium/thunder/nicvf_ethtool.c nicvf_hw_stats
    "nicvf" {
        Driver FullRing "rx_drop_overrun";
        Driver Filter "rx_drop_bcast" "rx_drop_mcast" "rx_drop_l3_bcast" "rx_drop_l3_mcast";
        Driver TxQueue "tx_drops";
        Driver Cable "rx_fcs_errors" "rx_fcs_errs";
        Driver Length "rx_l2_len_mismatch";
    }
    // hisilicon/hns3/hns3pf/hclge_main.c g_mac_stats_string
    "hns3" {
        Driver Cable "mac_rx_fcs_err_pkt_num";
        Driver Length "mac_rx_undersize_pkt_num" "mac_rx_jabber_pkt_num";
        Driver PauseReceived "mac_rx_mac_pause_num";
        Driver PauseSent "mac_tx_mac_pause_num";
        Driver PriorityPause "mac_rx_pfc_pri#_pkt_num" "mac_tx_pfc_pri#_pkt_num";
    }
    // realtek/r8169_main.c rtl8169_gstrings
    "r8169" {
        Driver FullRing "rx_missed";
        Driver Cable "align_errors";
    }
    // stmicro/stmmac/stmmac_ethtool.c stmmac_gstrings_stats, stmmac_mmc; stmmac_main.c
    // stmmac_get_stats64
    "st_gmac" "st_xgmac" "st_mac100" "stmmac" {
        Kernel PortBuffer "rx_over_errors";
        Driver FullRing "rx_missed_cntr";
        Driver PortBuffer "rx_overflow_cntr" "mmc_rx_fifo_overflow";
        Driver Cable "mmc_rx_crc_error" "mmc_rx_align_error";
        Driver Length "mmc_rx_length_error";
        Driver PauseReceived "mmc_rx_pause_frames";
        Driver PauseSent "mmc_tx_pause_frame";
    }
    // cadence/macb.h gem_statistics, macb_main.c gem_get_stats (resource errors: no buffer)
    "macb" {
        Kernel FullRing "rx_over_errors";
        Driver FullRing "rx_resource_errors";
        Driver PortBuffer "rx_overruns";
        Driver Cable "rx_frame_check_sequence_errors" "rx_alignment_errors" "rx_symbol_errors";
        Driver Length "rx_jabbers" "rx_length_field_frame_errors";
        Driver PauseReceived "rx_pause_frames";
        Driver PauseSent "tx_pause_frames";
    }
    // marvell/mvpp2/mvpp2_main.c mvpp2_ethtool_*_regs (bm: buffer manager)
    "mvpp2" {
        Driver FullRing "rxq_#_queue_full_drops" "rxq_#_packets_bm_drops";
        Driver PortBuffer "rx_fifo_overrun" "rx_fifo_or_parser_overrun_drops";
        Driver Filter "rx_classifier_drops";
        Driver Xdp "rx_xdp_drop";
        Driver TxQueue "txq_#_queue_full_drops";
        Driver Cable "bad_crc_event";
        Driver PauseReceived "fc_received";
        Driver PauseSent "fc_sent";
    }
    // marvell/sky2.c sky2_get_stats; intel/e100.c e100_update_stats; broadcom/genet/bcmgenet.c
    // bcmgenet_desc_rx: overruns of the MAC's FIFO
    "sky2" "e100" "bcmgenet" {
        Kernel PortBuffer "rx_over_errors";
    }
};
