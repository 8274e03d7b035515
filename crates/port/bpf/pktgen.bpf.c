// SPDX-License-Identifier: Apache-2.0 OR MIT
// Makes test frames of those that the kernel's pktgen sends through a port.
//
// pktgen (net/core/pktgen.c) makes UDP frames of the right size with a header of its own and paces
// them. On their way out of the stack this program gives each the head, the stamp and the payload
// of a test frame. It is attached by a tcx link (Linux 6.6), which goes with the process that holds
// it. `struct stream` is mirrored in crates/port/src/xdp/abi/mirror.rs.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "stream.bpf.h"

// `struct pktgen_hdr` behind Ethernet, IPv4 and UDP: pktgen is asked for no tag.
#define PKTGEN_HEADER (ETHERNET_BYTES + IP_BYTES + 8)
#define PKTGEN_MAGIC 0xbe9be955
#define PAYLOAD_MAX 9024

// What lies behind the stamp; constants to the verifier.
const volatile __u32 payload_at = 0;
const volatile __u32 payload_bytes = 0;
const volatile __u8 payload[PAYLOAD_MAX] = {};

struct gate {
    __u64 open;
};

ARRAY(streams, 1, struct stream);

// Several ports begin together when user space opens their gates.
ARRAY(gate, 1, struct gate);
ARRAY(lateness, 1, struct lateness);
ARRAY(marks, 1, struct marks);

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// How late a frame is. pktgen keeps the schedule, which its first frame begins: it waits for a slot
// whose time has not come and makes up for all it missed, so no slot is given up here.
static __always_inline void look(struct stream *s, __u64 now)
{
    __u32 zero = 0;
    __u64 late = now > s->due_ns ? now - s->due_ns : 0;
    struct lateness *l = bpf_map_lookup_elem(&lateness, &zero);
    __u32 b = bucket(late);

    if (l && b < BUCKETS)
        l->count[b]++;
    if (late > s->late_max_ns)
        s->late_max_ns = late;
    // A whole slot late: the one before did not wait either.
    s->streak = late >= s->step_ns ? s->streak + 1 : 1;
    if (s->streak > s->streak_max)
        s->streak_max = s->streak;
}

SEC("classifier")
int stamp(struct __sk_buff *skb)
{
    void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
    __u32 zero = 0;

    if (data + PKTGEN_HEADER + 4 > end ||
        *(__u32 *)(data + PKTGEN_HEADER) != bpf_htonl(PKTGEN_MAGIC))
        return TC_ACT_UNSPEC;
    struct stream *s = bpf_map_lookup_elem(&streams, &zero);
    struct gate *g = bpf_map_lookup_elem(&gate, &zero);
    if (!s || !g)
        return TC_ACT_UNSPEC;
    __u64 now = bpf_ktime_get_ns();
    s->ready = 1;
    if (s->begun && now - s->begun >= s->run_ns)
        s->ended = 1;
    // pktgen counts what is dropped here as an error; user space takes it off again.
    if (!g->open || s->ended) {
        s->unsent++;
        return TC_ACT_SHOT;
    }
    if (payload_bytes && bpf_skb_store_bytes(skb, payload_at, (const void *)payload, payload_bytes, 0)) {
        s->unsent++;
        return TC_ACT_SHOT;
    }
    data = (void *)(long)skb->data;
    end = (void *)(long)skb->data_end;
    if (!write_frame(data, end, s, s->done, now)) {
        s->unsent++;
        return TC_ACT_SHOT;
    }
    if (!s->done)
        s->first_ns = s->begun = s->due_ns = now;
    look(s, now);
    s->last_ns = now;
    if (now >> SLOT_BITS != s->slot) {
        struct marks *m = bpf_map_lookup_elem(&marks, &zero);
        s->slot = now >> SLOT_BITS;
        if (m)
            m->first[s->slot & (SLOTS - 1)] = s->done + 1;
    }
    s->done++;
    __u64 frac = s->due_frac + s->step_frac;
    s->due_ns += s->step_ns + (frac >> 32);
    s->due_frac = frac & 0xffffffff;
    if (s->done >= s->frames)
        s->ended = 1;
    return TC_ACT_UNSPEC;
}
