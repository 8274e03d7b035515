// SPDX-License-Identifier: Apache-2.0 OR MIT
// Counts XDP frames that are lost where no tracepoint shows the frame itself: what a transmit refuses, redirects that
// fail, exceptions of programs, and full queues of CPUs. By interface, of any frames.
//
// Each tracepoint has a program of its own, so that a kernel that lacks one still has the others.
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "netns.bpf.h"

#define PLACES 256

enum event { TRANSMIT_REFUSED, REDIRECT_FAILED, EXCEPTION, CPU_FULL };

struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

struct xdp_key {
	// Address of the interface, or number of the CPU.
	__u64 place;
	__u64 event;
};

struct xdp_count {
	__u64 frames;
	__u64 netns;
	char name[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PLACES);
	__type(key, struct xdp_key);
	__type(value, struct xdp_count);
} places SEC(".maps");

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline int lost(__u64 place, const struct net_device *dev, __u64 event, int frames)
{
	struct xdp_key key = {
		.place = place,
		.event = event,
	};
	struct xdp_count *known;

	if (frames <= 0)
		return 0;
	known = bpf_map_lookup_elem(&places, &key);
	if (!known) {
		struct xdp_count first = {};

		if (dev) {
			first.netns = dev->nd_net.net->ns.inum;
			bpf_probe_read_kernel_str(first.name, sizeof(first.name), dev->name);
		}
		bpf_map_update_elem(&places, &key, &first, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&places, &key);
	}
	if (known)
		__sync_fetch_and_add(&known->frames, frames);
	return 0;
}

SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(transmit, const struct net_device *from, const struct net_device *to, int sent, int drops)
{
	return lost((__u64)to, to, TRANSMIT_REFUSED, drops);
}

SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(redirect, const struct net_device *dev)
{
	return lost((__u64)dev, dev, REDIRECT_FAILED, 1);
}

SEC("tp_btf/xdp_redirect_map_err")
int BPF_PROG(redirect_map, const struct net_device *dev)
{
	return lost((__u64)dev, dev, REDIRECT_FAILED, 1);
}

SEC("tp_btf/xdp_exception")
int BPF_PROG(exception, const struct net_device *dev)
{
	return lost((__u64)dev, dev, EXCEPTION, 1);
}

SEC("tp_btf/xdp_cpumap_enqueue")
int BPF_PROG(cpu_full, int map, unsigned int processed, unsigned int drops, int cpu)
{
	return lost((__u64)(unsigned int)cpu, 0, CPU_FULL, (int)drops);
}
