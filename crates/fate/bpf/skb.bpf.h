// SPDX-License-Identifier: Apache-2.0 OR MIT
// A packet as the kernel has it. Fields are found by the kernel's own type information.
#ifndef NICETY_SKB_BPF_H
#define NICETY_SKB_BPF_H

#include <bpf/bpf_endian.h>

#include "netns.bpf.h"

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
	// Bytes that are in fragments, and not behind `data`.
	unsigned int data_len;
	unsigned int tail;
	unsigned int end;
	unsigned char *head;
	unsigned char *data;
	__u16 mac_header;
	__u16 network_header;
} __attribute__((preserve_access_index));

// A fragment since Linux 6.9, and before: a page and a part of it.
struct skb_frag {
	unsigned long netmem;
	unsigned int len;
	unsigned int offset;
} __attribute__((preserve_access_index));

struct bio_vec {
	void *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
} __attribute__((preserve_access_index));

struct page {
	unsigned long flags;
} __attribute__((preserve_access_index));

struct skb_shared_info {
	unsigned char nr_frags;
	unsigned short gso_segs;
	// Of as many as the kernel has.
	struct skb_frag frags[1];
} __attribute__((preserve_access_index));

#endif
