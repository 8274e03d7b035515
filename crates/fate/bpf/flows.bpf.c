// SPDX-License-Identifier: Apache-2.0 OR MIT
// Notes where the first packets of sockets pass: TCP packets with SYN, and of UDP the first datagram between two ends, of
// all that fit a filter, one way or the other. They are nobody's test frames, so that they are known by what they carry.
//
// The ring of records is read while it is written; user space sees by the count when it was too slow.
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "maps.bpf.h"
#include "stations.bpf.h"

#define RECORDS (1 << 14)
#define FLOWS 4096
#define TCP 6
#define UDP_PROTOCOL 17
#define SYN 0x02
// The fixed header of IPv6, or that of IPv4 with all its options.
#define IP_MOST 60
#define IPV6_BYTES 40
// Ports, and of TCP all up to the flags; of UDP the first bytes of its payload too.
#define TRANSPORT_BYTES 16
#define OPAQUE(value) asm volatile("" : "+r"(value))

// What is followed. Addresses are those of IPv6; IPv4 has its place there (RFC 4291, 2.5.5.2).
const volatile __u32 protocol = 0;
const volatile __u32 any_address[2] = {1, 1};
const volatile __u64 addresses[4] = {};
// In the order of bytes of a packet; 0 is any.
const volatile __u32 ports[2] = {};

struct ends {
	__u64 source[2];
	__u64 destination[2];
	__u16 source_port;
	__u16 destination_port;
	__u32 protocol;
};

struct order {
	__u64 records;
	__u64 stations;
	// Packets at stations beyond STATIONS.
	__u64 unnoted;
	__u64 reserved[5];
};

struct record {
	struct ends ends;
	// Tells apart packets between the same ends.
	__u64 identity;
	__u64 at;
	// Station in the lower half, CPU in the upper.
	__u64 station;
	// One more than the number of the record, written last; flags of TCP in the upper byte.
	__u64 written;
};

SHARED_ARRAY(order, 1, struct order);
SHARED_ARRAY(records, RECORDS, struct record);

// The first datagram between two ends. The oldest are forgotten.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FLOWS);
	__type(key, struct ends);
	__type(value, __u64);
} datagrams SEC(".maps");

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline bool is_end(const __u64 address[2], __u16 port, int end)
{
	if (ports[end] && ports[end] != port)
		return false;
	return any_address[end] ||
	       (address[0] == addresses[2 * end] && address[1] == addresses[2 * end + 1]);
}

static __always_inline bool is_followed(const struct ends *ends)
{
	return (is_end(ends->source, ends->source_port, 0) &&
		is_end(ends->destination, ends->destination_port, 1)) ||
	       (is_end(ends->source, ends->source_port, 1) &&
		is_end(ends->destination, ends->destination_port, 0));
}

// Ends of a packet whose IP header is at `at`, its flags and what tells it from others. False for all that is not
// followed.
static __always_inline bool read_packet(const unsigned char *at, struct ends *ends, __u8 *flags,
					__u64 *identity)
{
	__u8 ip[IPV6_BYTES] __attribute__((aligned(8)));
	__u8 transport[TRANSPORT_BYTES] __attribute__((aligned(8)));
	__u32 bytes = IPV6_BYTES;
	__u64 id = 0;

	if (bpf_probe_read_kernel(ip, IPV6_BYTES, at))
		return false;
	switch (ip[0] >> 4) {
	case 4:
		ends->protocol = ip[9];
		bytes = (ip[0] & 15) * 4;
		// Later fragments have no ports.
		if (bytes < 20 || (*(__u16 *)(ip + 6) & bpf_htons(0x1fff)))
			return false;
		ends->source[1] = (__u64)*(__u32 *)(ip + 12) << 32 | bpf_htonl(0xffff);
		ends->destination[1] = (__u64)*(__u32 *)(ip + 16) << 32 | bpf_htonl(0xffff);
		id = *(__u16 *)(ip + 4);
		break;
	case 6:
		ends->protocol = ip[6];
		__builtin_memcpy(ends->source, ip + 8, 16);
		__builtin_memcpy(ends->destination, ip + 24, 16);
		break;
	default:
		return false;
	}
	if ((ends->protocol != TCP && ends->protocol != UDP_PROTOCOL) ||
	    (protocol && ends->protocol != protocol))
		return false;
	if (bpf_probe_read_kernel(transport, TRANSPORT_BYTES, at + bytes))
		return false;
	ends->source_port = *(__u16 *)transport;
	ends->destination_port = *(__u16 *)(transport + 2);
	if (!is_followed(ends))
		return false;
	if (ends->protocol == TCP) {
		*flags = transport[13];
		if (!(*flags & SYN))
			return false;
		// Its sequence number; one that is sent again has another identification.
		*identity = id << 32 | *(__u32 *)(transport + 4);
		return true;
	}
	// Its length and first bytes: the checksum changes where an interface makes it. What stands behind a short payload
	// is not its own.
	id = id << 48 ^ (__u64)*(__u16 *)(transport + 4) << 32;
	bytes = bpf_ntohs(*(__u16 *)(transport + 4)) - 8;
	*identity = id;
#pragma clang loop unroll(full)
	for (__u32 n = 0; n < 8; n++)
		if (n < bytes)
			*identity ^= (__u64)transport[8 + n] << 8 * n;
	return true;
}

// Whether it is the first datagram between its ends.
static __always_inline bool is_first(struct ends *ends, __u64 identity)
{
	__u64 *first = bpf_map_lookup_elem(&datagrams, ends);

	if (!first) {
		bpf_map_update_elem(&datagrams, ends, &identity, BPF_NOEXIST);
		first = bpf_map_lookup_elem(&datagrams, ends);
	}
	return first && *first == identity;
}

static __always_inline int passed(void *ctx, const struct sk_buff *skb, const unsigned char *ip,
				  __u64 kind, __u64 location, __u64 reason)
{
	__u32 zero = 0, place;
	struct order *ordered = bpf_map_lookup_elem(&order, &zero);
	// Reading the packet must not count as time at this station.
	__u64 now = bpf_ktime_get_ns(), identity = 0, number, at;
	struct ends ends = {};
	struct net_device *dev = skb->dev;
	struct record *record;
	__u8 flags = 0;

	if (!ordered || !read_packet(ip, &ends, &flags, &identity))
		return 0;
	if (ends.protocol == UDP_PROTOCOL && !is_first(&ends, identity))
		return 0;
	// Sockets keep other things in the same field: what has no number is no device.
	if (dev && dev->ifindex <= 0)
		dev = 0;
	number = number_of(ctx, dev, &ordered->stations, kind, location, reason);
	if (number >= STATIONS) {
		__sync_fetch_and_add(&ordered->unnoted, 1);
		return 0;
	}
	at = __sync_fetch_and_add(&ordered->records, 1);
	place = at & (RECORDS - 1);
	record = bpf_map_lookup_elem(&records, &place);
	if (!record)
		return 0;
	record->ends = ends;
	record->identity = identity;
	record->at = now;
	record->station = number | (__u64)bpf_get_smp_processor_id() << 32;
	*(volatile __u64 *)&record->written = (at + 1) | (__u64)flags << 56;
	return 0;
}

// Behind its Ethernet header, which the driver has taken off.
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(received, const struct sk_buff *skb)
{
	return passed(ctx, skb, skb->data, RECEIVES, 0, 0);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(queued, const struct sk_buff *skb)
{
	return passed(ctx, skb, skb->head + skb->network_header, QUEUES, 0, 0);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(sends, const struct sk_buff *skb)
{
	return passed(ctx, skb, skb->head + skb->network_header, SENDS, 0, 0);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(frees_for, const struct sk_buff *skb, void *location, unsigned int reason)
{
	return passed(ctx, skb, skb->head + skb->network_header, FREES, (__u64)location, reason);
}

// Before 5.17.
SEC("tp_btf/kfree_skb")
int BPF_PROG(frees_at, const struct sk_buff *skb, void *location)
{
	return passed(ctx, skb, skb->head + skb->network_header, FREES, (__u64)location, 0);
}
