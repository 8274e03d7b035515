// SPDX-License-Identifier: Apache-2.0 OR MIT
// Counts the packets of the whole machine that the kernel throws away, by place in its code, reason,
// interface and the interface that received them. Nothing is known of test frames here.
//
// As in fate.bpf.c there is a program for kernels with reasons and one for those without.
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "maps.bpf.h"
#include "skb.bpf.h"

// The kernel numbers namespaces from here on (include/linux/proc_ns.h, PROC_DYNAMIC_FIRST).
#define FIRST_NAMESPACE 0xF0000000U
#define STACK 8
// Of a hardware address, with which a frame begins.
#define ADDRESS_BYTES 6

// The kernel's number for frames to the address of another host; 0 where it has none.
const volatile __u32 otherhost = 0;

// An interface is told by its number and namespace: its address may be another one's a moment later.
struct place_key {
	__u64 location;
	__u32 netns;
	__u32 ifindex;
	__u32 received_at;
	__u32 reason;
};

struct place {
	// Times that something was thrown away.
	__u64 events;
	// Packets, those inside merged ones too.
	__u64 packets;
	// The interface's name when it was seen first.
	char name[16];
	// Who called, the place itself among them: the place may be a helper of many.
	__u64 stack[STACK];
	// The hardware address that the last frame for another host went to, and how often it was another one than
	// that of the frame before.
	__u64 to;
	__u64 turns;
};

// Places that had no room in the map, as struct place counts them.
struct rest {
	__u64 events;
	__u64 packets;
};

// User space sets how many there may be.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct place_key);
	__type(value, struct place);
} places SEC(".maps");

SHARED_ARRAY(rest, 1, struct rest);

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// A packet, or as many as were merged into one.
static __always_inline __u64 packets_in(const struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	unsigned short segments = 0;

	bpf_probe_read_kernel(&segments, sizeof(segments),
			      __builtin_preserve_access_index(&shared->gso_segs));
	return segments ? segments : 1;
}

// Notes which other host a frame was for: one that many frames go to is missed by their sender, who has a stale
// address of it; frames for many are flooded, or seen by a promiscuous interface.
static __always_inline void note_other(struct place *place, const struct sk_buff *skb)
{
	__u64 to = 0;

	if (skb->mac_header == UNSET ||
	    bpf_probe_read_kernel(&to, ADDRESS_BYTES, skb->head + skb->mac_header))
		return;
	if (place->to && place->to != to)
		__sync_fetch_and_add(&place->turns, 1);
	place->to = to;
}

static __always_inline int dropped(void *ctx, const struct sk_buff *skb, __u64 location,
				   __u32 reason)
{
	struct net_device *dev = skb->dev;
	__u64 packets = packets_in(skb);
	struct place_key key = {
		.location = location,
		.reason = reason,
	};
	struct place *place;

	// Sockets keep other things in the same field: what is in no namespace is no device.
	if (dev) {
		__u32 netns = dev->nd_net.net->ns.inum;

		if (netns >= FIRST_NAMESPACE && dev->ifindex > 0) {
			key.netns = netns;
			key.ifindex = dev->ifindex;
			key.received_at = skb->skb_iif;
		}
	}
	place = bpf_map_lookup_elem(&places, &key);
	if (!place) {
		struct place first = {};

		if (key.ifindex)
			bpf_probe_read_kernel_str(first.name, sizeof(first.name), dev->name);
		bpf_get_stack(ctx, first.stack, sizeof(first.stack), 0);
		bpf_map_update_elem(&places, &key, &first, BPF_NOEXIST);
		place = bpf_map_lookup_elem(&places, &key);
	}
	if (place) {
		__sync_fetch_and_add(&place->events, 1);
		__sync_fetch_and_add(&place->packets, packets);
		if (otherhost && reason == otherhost)
			note_other(place, skb);
	} else {
		__u32 zero = 0;
		struct rest *others = bpf_map_lookup_elem(&rest, &zero);

		if (!others)
			return 0;
		__sync_fetch_and_add(&others->events, 1);
		__sync_fetch_and_add(&others->packets, packets);
	}
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(dropped_for, const struct sk_buff *skb, void *location, unsigned int reason)
{
	return dropped(ctx, skb, (__u64)location, reason);
}

// Before 5.17.
SEC("tp_btf/kfree_skb")
int BPF_PROG(dropped_at, const struct sk_buff *skb, void *location)
{
	return dropped(ctx, skb, (__u64)location, 0);
}
