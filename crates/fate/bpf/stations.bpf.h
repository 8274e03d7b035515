// SPDX-License-Identifier: Apache-2.0 OR MIT
// Places where packets are seen: what happens to them, at which interface, and where they are thrown away at which place
// in the kernel's code and why.
#ifndef NICETY_STATIONS_BPF_H
#define NICETY_STATIONS_BPF_H

#include "skb.bpf.h"

#define STATIONS 256
#define STACK 16

enum kind { RECEIVES, SENDS, FREES, QUEUES };

struct station_key {
	__u64 device;
	__u64 kind;
	// Where frames are thrown away and why; 0 where they pass.
	__u64 location;
	__u64 reason;
};

struct station {
	__u64 number;
	__u64 netns;
	char name[16];
	// Who called where frames are thrown away, the place itself among them: it may be a helper of many.
	__u64 stack[STACK];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STATIONS);
	__type(key, struct station_key);
	__type(value, struct station);
} stations SEC(".maps");

// The number of a station, made of `count` when it is seen for the first time; STATIONS where there is no room. `dev` may
// be absent where packets are thrown away.
static __always_inline __u64 number_of(void *ctx, struct net_device *dev, __u64 *count, __u64 kind,
				       __u64 location, __u64 reason)
{
	struct station_key key = {
		.device = (__u64)dev,
		.kind = kind,
		.location = location,
		.reason = reason,
	};
	struct station *known = bpf_map_lookup_elem(&stations, &key);

	if (!known) {
		struct station station = {};

		station.number = __sync_fetch_and_add(count, 1);
		if (dev) {
			station.netns = dev->nd_net.net->ns.inum;
			bpf_probe_read_kernel_str(station.name, sizeof(station.name), dev->name);
		}
		if (kind == FREES)
			bpf_get_stack(ctx, station.stack, sizeof(station.stack), 0);
		bpf_map_update_elem(&stations, &key, &station, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&stations, &key);
	}
	return known ? known->number : STATIONS;
}

#endif
