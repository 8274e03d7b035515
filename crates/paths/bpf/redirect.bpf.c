// SPDX-License-Identifier: Apache-2.0 OR MIT
// Hands every frame to the other interface of the path. Loads on kernels from 5.4.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

// By the number of the interface that a frame came from: where it goes.
struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct bpf_devmap_val);
} others SEC(".maps");

SEC("xdp")
int redirect(struct xdp_md *frame)
{
    return bpf_redirect_map(&others, frame->ingress_ifindex, XDP_ABORTED);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
