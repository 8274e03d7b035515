// SPDX-License-Identifier: Apache-2.0 OR MIT
// Notes when sampled test frames pass which station: where an interface receives them, where it sends them, and where
// they are thrown away, as the tester does with those that it has counted.
//
// Where they are thrown away, a station is also the place in the kernel's code and the reason: kfree_skb() tells of
// reasons since 5.17, so that there is a program for kernels with them and one for those without.
//
// The first thing that the programs do is to look whether there is a trial: user space says so in windows, and outside
// of them they end at once. A frame is sampled if it was sent in a window, by its stamp, wherever it is seen; there is
// a trial for longer than that by what a frame may take.
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "frame.bpf.h"
#include "maps.bpf.h"
#include "stations.bpf.h"

#define RECORDS (1 << 18)
#define ORDER_ARMED (1ULL << 40)

const volatile __u32 stream_count = 1;
// What this tester's frames have in common, in the order of bytes of a frame.
const volatile __u32 mark = 0;

// What user space orders, written before frames are sent, and what it reads.
struct order {
	// Bits 0 to 7 hold the trial; ORDER_ARMED says that there is one. Written behind the window.
	__u64 trial;
	// The window: its begin and its length in nanoseconds.
	__u64 from;
	__u64 length;
	// Records so far; those beyond RECORDS were not kept.
	__u64 records;
	// Frames at stations beyond STATIONS.
	__u64 unnoted;
	// The number of the next station.
	__u64 stations;
	// Bits of the clock by which frames are in a window: all of them where the window comes once, those below the time
	// between two begins where it comes again and again.
	__u64 clock_mask;
	__u64 reserved;
};

struct record {
	// Stream in the upper half, number in the lower.
	__u64 frame;
	__u64 sent;
	__u64 at;
	// Station in the lowest quarter, frames merged into this one in the next, CPU in the upper half.
	__u64 station;
};

SHARED_ARRAY(order, 1, struct order);
SHARED_ARRAY(records, RECORDS, struct record);

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline int passed(void *ctx, const struct sk_buff *skb, __u64 kind, __u64 location,
				  __u64 reason)
{
	__u32 zero = 0, place;
	struct order *ordered = bpf_map_lookup_elem(&order, &zero);
	struct record *record;
	struct net_device *dev;
	struct stamp stamp;
	__u64 now, trial, number, at;

	if (!ordered)
		return 0;
	trial = *(volatile __u64 *)&ordered->trial;
	if (!(trial & ORDER_ARMED))
		return 0;
	// Reading the frame must not count as time at this station.
	now = bpf_ktime_get_ns();
	if (!read_stamp(skb, mark, &stamp))
		return 0;
	if (stamp.trial != (__u8)trial || stamp.stream >= stream_count ||
	    ((stamp.time - ordered->from) & ordered->clock_mask) >= ordered->length)
		return 0;
	dev = skb->dev;
	// Sockets keep other things in the same field: what has no number is no device.
	if (!dev || dev->ifindex <= 0)
		return 0;
	number = number_of(ctx, dev, &ordered->stations, kind, location, reason);
	if (number >= STATIONS) {
		__sync_fetch_and_add(&ordered->unnoted, 1);
		return 0;
	}
	at = __sync_fetch_and_add(&ordered->records, 1);
	if (at >= RECORDS)
		return 0;
	place = at;
	record = bpf_map_lookup_elem(&records, &place);
	if (!record)
		return 0;
	record->frame = (__u64)stamp.stream << 32 | stamp.sequence;
	record->sent = stamp.time;
	record->at = now;
	record->station = number | frames_in(skb) << 16 | (__u64)bpf_get_smp_processor_id() << 32;
	return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(received, const struct sk_buff *skb)
{
	return passed(ctx, skb, RECEIVES, 0, 0);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(sends, const struct sk_buff *skb)
{
	return passed(ctx, skb, SENDS, 0, 0);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(frees_for, const struct sk_buff *skb, void *location, unsigned int reason)
{
	return passed(ctx, skb, FREES, (__u64)location, reason);
}

// Before 5.17.
SEC("tp_btf/kfree_skb")
int BPF_PROG(frees_at, const struct sk_buff *skb, void *location)
{
	return passed(ctx, skb, FREES, (__u64)location, 0);
}
