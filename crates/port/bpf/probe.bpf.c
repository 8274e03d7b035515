// SPDX-License-Identifier: Apache-2.0 OR MIT
// Does nothing, to find out what the kernel lets this user do.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("xdp")
int probe(struct xdp_md *ctx)
{
    return XDP_DROP;
}
