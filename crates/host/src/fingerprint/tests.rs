//! What of a command line may be published.

use super::public_cmdline;

#[test]
fn a_command_line_keeps_settings_and_loses_identities() {
    #[rustfmt::skip]
    let table = [
        ("", ""),
        ("quiet isolcpus=2-7 nohz_full=2-7 mitigations=off intel_iommu=on",
            "quiet isolcpus=2-7 nohz_full=2-7 mitigations=off intel_iommu=on"),
        ("root=UUID=0f3c1c1e-8a43-4f6a-9d0e-1b2c3d4e5f60 ro", "root=UUID=… ro"),
        ("root=PARTUUID=0001-02 ro", "root=PARTUUID=… ro"),
        ("root=/dev/disk/by-id/ata-DISK_S3Z9NB0K rw", "root=… rw"),
        ("root=/dev/vda1 rw", "root=/dev/vda1 rw"),
        ("BOOTIF=01-52-54-00-12-34-56 ifname=lan:52:54:00:12:34:56", "BOOTIF=… ifname=…"),
        ("ip=10.0.0.2::10.0.0.1:255.0.0.0:box:eth0:off", "ip=…"),
        ("52:54:00:12:34:56", "…"),
        ("systemd.machine_id=abc API_TOKEN=x", "systemd.machine_id=… API_TOKEN=…"),
        ("ro -- --auth secret", "ro"),
        ("pci=00:1f.0 hugepages=8", "pci=00:1f.0 hugepages=8"),
        ("memmap=12:34:56:78:9a", "memmap=12:34:56:78:9a"),
    ];
    for (line, public) in table {
        assert_eq!(public_cmdline(line), public, "{line:?}");
    }
}
