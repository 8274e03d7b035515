// SPDX-License-Identifier: Apache-2.0 OR MIT
// A test frame as the kernel has it, and its stamp. Fields are found by the kernel's own type information.
#ifndef NICETY_SKB_BPF_H
#define NICETY_SKB_BPF_H

#include <bpf/bpf_endian.h>

#include "netns.bpf.h"
#include "stamp.bpf.h"

#define TYPE_IPV4 0x0800
#define TYPE_TAG 0x8100
#define TYPE_SERVICE_TAG 0x88a8
#define IP_LENGTH 2
#define IP_PROTOCOL 9
#define TAGS_MAX 2
// mac_header of a frame that has none yet.
#define UNSET 0xffff

struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
	int skb_iif;
	unsigned int end;
	unsigned char *head;
	unsigned char *data;
	__u16 mac_header;
	__u16 network_header;
} __attribute__((preserve_access_index));

struct stamp {
	__u8 stream;
	__u8 trial;
	__u32 sequence;
	__u32 total_length;
	__u64 time;
};

// The frame's first bytes behind its Ethernet header, with up to two tags taken out. False for all but frames of the
// tester whose `mark` it is, in the order of bytes of the frame.
static __always_inline bool read_stamp(const struct sk_buff *skb, __u32 mark, struct stamp *stamp)
{
	// Two bytes in front align the IPv4 header.
	__u8 buffer[2 + ETHERNET_BYTES + HEAD_BYTES + 6] __attribute__((aligned(8)));
	__u8 *frame = buffer + 2;
	const __u8 *ip = frame + ETHERNET_BYTES;
	const unsigned char *at = skb->head;
	__u16 mac = skb->mac_header;
	__u16 type;

	at = mac == UNSET ? skb->data : at + mac;
#pragma clang loop unroll(full)
	for (int tags = 0; tags <= TAGS_MAX; tags++) {
		if (bpf_probe_read_kernel(frame, ETHERNET_BYTES + HEAD_BYTES, at))
			return false;
		type = *(__u16 *)(frame + 12);
		if (type != bpf_htons(TYPE_TAG) && type != bpf_htons(TYPE_SERVICE_TAG))
			break;
		at += TAG_BYTES;
	}
	if (type != bpf_htons(TYPE_IPV4) || *(__u16 *)(ip + STAMP) != bpf_htons(MAGIC) ||
	    ip[IP_PROTOCOL] != 17 ||
	    (*(__u16 *)(ip + IP_IDENTIFICATION) & bpf_htons(MARK_MASK)) != mark ||
	    (*(__u32 *)(ip + IP_SOURCE) & bpf_htonl(NETWORK_MASK)) != bpf_htonl(NETWORK))
		return false;
	stamp->stream = ip[STAMP_STREAM];
	stamp->trial = ip[STAMP_TRIAL];
	stamp->sequence = bpf_ntohl(*(__u32 *)(ip + STAMP_SEQUENCE));
	// 48 bits, which are aligned to two bytes only.
	stamp->time = 0;
#pragma clang loop unroll(full)
	for (int at = 0; at < 6; at += 2)
		stamp->time = stamp->time << 16 | bpf_ntohs(*(__u16 *)(ip + STAMP_TIME + at));
	stamp->total_length = bpf_ntohs(*(__u16 *)(ip + IP_LENGTH));
	return true;
}

#endif
