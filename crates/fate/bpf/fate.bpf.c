// SPDX-License-Identifier: Apache-2.0 OR MIT
// Notes for every test frame that the kernel throws away why it did: one byte per number, the number
// of a cause, which is a place in the kernel's code, a device and a reason.
//
// kfree_skb() tells of a frame with a place, since 5.17 with a reason, since 6.11 with a socket. What
// is younger than a kernel is in another program, and user space loads the one that fits. Fields are
// found by the kernel's own type information when the program is loaded.
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "frame.bpf.h"
#include "maps.bpf.h"

// Causes have the numbers 1 to 254; 255 stands for all others.
#define CAUSES_MAX 254
#define OTHER_CAUSE 255
#define SKIPS 2
#define REASONS 256
#define STACK 16
// CPUs that may look for a number at the same moment.
#define TRIES 16

// Numbers of a stream that have a byte each, in words of eight.
const volatile __u32 words_per_stream = 1;
const volatile __u32 stream_count = 1;
// What this tester's frames have in common, in the order of bytes of a frame.
const volatile __u32 mark = 0;
// IPv4 total length of every test frame: longer ones were merged by GRO.
const volatile __u32 total_length = 46;
// Reasons for which copies are thrown away while the frame itself goes on: they explain a loss only
// where nothing else does.
const volatile __u8 weak[REASONS] = {};

// What user space orders, written before frames are sent. 64-bit words only, as in all that it reads.
struct order {
	// Bits 0 to 7 hold the trial; ORDER_ARMED says that there is one.
	__u64 trial;
	// Places where the tester itself throws away what it has counted, and their devices.
	__u64 skip_location[SKIPS];
	__u64 skip_device[SKIPS];
	// No number below is free, but for some that two CPUs passed by at the same moment.
	__u64 causes;
	// Told apart from all trials before.
	__u64 generation;
	__u64 reserved;
};

#define ORDER_ARMED (1ULL << 40)
#define OPAQUE(value) asm volatile("" : "+r"(value))

struct counts {
	// Test frames of this trial that were thrown away, copies and those of more tries included.
	__u64 events;
	// Of these, with a number beyond what has a byte.
	__u64 beyond;
	// Of these, with a cause that has no number of its own.
	__u64 others;
	// Of these, merged ones.
	__u64 merged_events;
	// Frames in them beside the first of each, whose numbers are not in sight.
	__u64 merged_frames;
	__u64 reserved[3];
};

// The device is told by its address, which two namespaces never share; 0 where there is none.
struct cause_key {
	__u64 location;
	__u64 device;
	__u64 reason;
};

struct cause {
	__u64 number;
	__u64 ifindex;
	__u64 netns;
	// Number of the interface that received the frame.
	__u64 received_at;
	__u64 device;
	char name[16];
	// Who called, the place itself among them: the place may be a helper of many.
	__u64 stack[STACK];
};

// The cause that this CPU saw last: frames are lost in rows, for the same cause.
struct last {
	struct cause_key key;
	__u64 number;
	__u64 generation;
};

SHARED_ARRAY(order, 1, struct order);
SHARED_ARRAY(counts, 1, struct counts);

// One byte for every number of every stream, eight to a word.
SHARED_ARRAY(fates, 1, __u64);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAUSES_MAX);
	__type(key, struct cause_key);
	__type(value, struct cause);
} causes SEC(".maps");

// Numbers that causes have.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAUSES_MAX);
	__type(key, __u32);
	__type(value, __u64);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct last);
} lasts SEC(".maps");

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// A number that no cause has, 0 where there is none. Adding and learning the sum at once is of Linux 5.12: the map
// tells who was first.
static __always_inline __u64 new_number(struct order *ordered)
{
	__u64 from = *(volatile __u64 *)&ordered->causes;

#pragma clang loop unroll(full)
	for (int n = 1; n <= TRIES; n++) {
		__u32 number = from + n;
		__u64 taken = 1;

		if (number > CAUSES_MAX)
			return 0;
		if (!bpf_map_update_elem(&numbers, &number, &taken, BPF_NOEXIST)) {
			*(volatile __u64 *)&ordered->causes = number;
			return number;
		}
	}
	return 0;
}

// The number of a cause, made when it is seen for the first time.
static __always_inline __u64 number_of(void *ctx, const struct sk_buff *skb, struct order *ordered,
				       __u64 location, __u64 reason)
{
	struct net_device *dev = skb->dev;
	// Sockets keep other things in the same field: what has no number is no device.
	__u64 ifindex = dev ? (__u32)dev->ifindex : 0;
	struct cause_key key = {
		.location = location,
		.device = ifindex ? (__u64)dev : 0,
		.reason = reason,
	};
	__u32 zero = 0;
	struct last *last = bpf_map_lookup_elem(&lasts, &zero);
	struct cause *known;

	if (last && last->generation == ordered->generation && last->key.location == location &&
	    last->key.device == key.device && last->key.reason == reason)
		return last->number;
	known = bpf_map_lookup_elem(&causes, &key);
	if (!known) {
		struct cause cause = {
			.ifindex = ifindex,
			.device = key.device,
			.received_at = (__u32)skb->skb_iif,
		};
		cause.number = new_number(ordered);
		if (!cause.number)
			return OTHER_CAUSE;
		if (ifindex) {
			cause.netns = dev->nd_net.net->ns.inum;
			bpf_probe_read_kernel_str(cause.name, sizeof(cause.name), dev->name);
		}
		bpf_get_stack(ctx, cause.stack, sizeof(cause.stack), 0);
		bpf_map_update_elem(&causes, &key, &cause, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&causes, &key);
		if (!known)
			return OTHER_CAUSE;
	}
	if (last) {
		last->key = key;
		last->number = known->number;
		last->generation = ordered->generation;
	}
	return known->number;
}

static __always_inline void count(__u64 *counter, __u64 by)
{
	__sync_fetch_and_add(counter, by);
}

static __always_inline int freed(void *ctx, const struct sk_buff *skb, __u64 location,
				 __u64 reason)
{
	__u32 zero = 0, word;
	struct order *ordered = bpf_map_lookup_elem(&order, &zero);
	struct counts *counted = bpf_map_lookup_elem(&counts, &zero);
	struct stamp stamp;
	__u64 number, now, copy;
	__u8 *byte;

	if (!ordered || !counted)
		return 0;
	now = *(volatile __u64 *)&ordered->trial;
	if (!(now & ORDER_ARMED))
		return 0;
#pragma clang loop unroll(full)
	for (int skip = 0; skip < SKIPS; skip++)
		if (location == ordered->skip_location[skip] &&
		    (__u64)skb->dev == ordered->skip_device[skip])
			return 0;
	if (!read_stamp(skb, mark, &stamp))
		return 0;
	if (stamp.trial != (__u8)now || stamp.stream >= stream_count)
		return 0;
	count(&counted->events, 1);
	if (stamp.total_length > total_length) {
		__u64 frames = frames_in(skb);

		if (frames > 1) {
			count(&counted->merged_events, 1);
			count(&counted->merged_frames, frames - 1);
		}
	}
	number = number_of(ctx, skb, ordered, location, reason);
	if (number == OTHER_CAUSE)
		count(&counted->others, 1);
	word = stamp.sequence / 8;
	if (word >= words_per_stream) {
		count(&counted->beyond, 1);
		return 0;
	}
	word += stamp.stream * words_per_stream;
	byte = bpf_map_lookup_elem(&fates, &word);
	if (!byte)
		return 0;
	byte += stamp.sequence & 7;
	// Else the compiler compares in a way by which the verifier does not know the bound.
	copy = reason & (REASONS - 1);
	OPAQUE(copy);
	if (*byte && reason < REASONS && weak[copy & (REASONS - 1)])
		return 0;
	*(volatile __u8 *)byte = number;
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(freed_for, const struct sk_buff *skb, void *location, unsigned int reason)
{
	return freed(ctx, skb, (__u64)location, reason);
}

// Before 5.17.
SEC("tp_btf/kfree_skb")
int BPF_PROG(freed_at, const struct sk_buff *skb, void *location)
{
	return freed(ctx, skb, (__u64)location, 0);
}
