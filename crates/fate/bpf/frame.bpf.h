// SPDX-License-Identifier: Apache-2.0 OR MIT
// A test frame as the kernel has it, and its stamp.
//
// Drivers may keep all behind the Ethernet header in a fragment, which is a part of a page. Of a page the kernel gives the
// address of its descriptor. On x86-64 the descriptors are one row, and so is all memory. Two variables of the kernel say
// where both begin (page_address() in include/linux/mm.h, vmemmap in arch/x86/include/asm/pgtable_64.h).
#ifndef NICETY_FRAME_BPF_H
#define NICETY_FRAME_BPF_H

#include <bpf/bpf_core_read.h>

#include "skb.bpf.h"
#include "stamp.bpf.h"

#define TYPE_IPV4 0x0800
#define TYPE_TAG 0x8100
#define TYPE_SERVICE_TAG 0x88a8
#define IP_LENGTH 2
#define IP_PROTOCOL 9
#define TAGS_MAX 2
#define PAGE_BYTES 4096
// Bit of a fragment that is no page but memory of a device.
#define NET_IOV 1

// Where these variables are; 0 where that is not known, so that no fragment is read.
const volatile __u64 vmemmap_base_at = 0;
const volatile __u64 page_offset_base_at = 0;

struct stamp {
	__u8 stream;
	__u8 trial;
	__u32 sequence;
	__u32 total_length;
	__u64 time;
};

// A frame's bytes: those in one piece end before `end`, the others are at `rest`, which is 0 where they cannot be read.
struct bytes {
	const unsigned char *end;
	const unsigned char *rest;
	__u32 rest_bytes;
};

// Frames that are one here; 0 or 1 where nothing was merged.
static __always_inline __u64 frames_in(const struct sk_buff *skb)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	unsigned short frames = 0;

	bpf_core_read(&frames, sizeof(frames), &shared->gso_segs);
	return frames;
}

// Finds the first fragment.
static __always_inline void find_rest(const struct sk_buff *skb, struct bytes *bytes)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	const void *first = __builtin_preserve_access_index(&shared->frags);
	__u64 page = 0, pages = 0, memory = 0;
	__u32 offset = 0, length = 0;
	unsigned char fragments = 0;

	if (!vmemmap_base_at || !page_offset_base_at)
		return;
	if (bpf_core_read(&fragments, sizeof(fragments), &shared->nr_frags) || !fragments)
		return;
	if (bpf_core_field_exists(((struct skb_frag *)0)->netmem)) {
		const struct skb_frag *fragment = first;

		bpf_core_read(&page, sizeof(page), &fragment->netmem);
		bpf_core_read(&offset, sizeof(offset), &fragment->offset);
		bpf_core_read(&length, sizeof(length), &fragment->len);
	} else {
		const struct bio_vec *fragment = first;

		bpf_core_read(&page, sizeof(page), &fragment->bv_page);
		bpf_core_read(&offset, sizeof(offset), &fragment->bv_offset);
		bpf_core_read(&length, sizeof(length), &fragment->bv_len);
	}
	if (!page || (page & NET_IOV) ||
	    bpf_probe_read_kernel(&pages, sizeof(pages), (void *)vmemmap_base_at) ||
	    bpf_probe_read_kernel(&memory, sizeof(memory), (void *)page_offset_base_at))
		return;
	page = (page - pages) / bpf_core_type_size(struct page);
	bytes->rest = (void *)(memory + page * PAGE_BYTES + offset);
	bytes->rest_bytes = length;
}

// Reads bytes of a frame that would begin at `at` if it was in one piece. What begins before the end of that piece and
// goes on behind it was pulled out of the fragment's front, where it still is.
static __always_inline bool read_bytes(void *to, __u32 count, const unsigned char *at,
				       const struct bytes *bytes)
{
	if (at + count > bytes->end) {
		if (at + count > bytes->end + bytes->rest_bytes)
			return false;
		at = bytes->rest + (at - bytes->end);
	}
	return !bpf_probe_read_kernel(to, count, at);
}

// The frame's first bytes behind its Ethernet header, with up to two tags taken out. False for all but frames of the
// tester whose `mark` it is, in the order of bytes of the frame.
static __always_inline bool read_stamp(const struct sk_buff *skb, __u32 mark, struct stamp *stamp)
{
	// Two bytes in front align the IPv4 header.
	__u8 buffer[2 + ETHERNET_BYTES + HEAD_BYTES + 6] __attribute__((aligned(8)));
	__u8 *frame = buffer + 2;
	const __u8 *ip = frame + ETHERNET_BYTES;
	const unsigned char *at = skb->head;
	struct bytes bytes = { .end = at + skb->tail };
	__u16 mac = skb->mac_header;
	__u16 type;

	at = mac == UNSET ? skb->data : at + mac;
	if (skb->data_len && at + ETHERNET_BYTES + TAGS_MAX * TAG_BYTES + HEAD_BYTES > bytes.end)
		find_rest(skb, &bytes);
#pragma clang loop unroll(full)
	for (int tags = 0; tags <= TAGS_MAX; tags++) {
		if (!bytes.rest) {
			if (bpf_probe_read_kernel(frame, ETHERNET_BYTES + HEAD_BYTES, at))
				return false;
		} else if (!read_bytes(frame + ETHERNET_BYTES - 2, 2, at + ETHERNET_BYTES - 2,
				       &bytes) ||
			   !read_bytes(frame + ETHERNET_BYTES, HEAD_BYTES, at + ETHERNET_BYTES,
				       &bytes)) {
			return false;
		}
		type = *(__u16 *)(frame + ETHERNET_BYTES - 2);
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
