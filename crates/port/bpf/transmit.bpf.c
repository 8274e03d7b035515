// SPDX-License-Identifier: Apache-2.0 OR MIT
// Makes test frames and sends them when they are due.
//
// User space runs `transmit` with BPF_PROG_RUN and live frames (net/bpf/test_run.c): the kernel
// calls it over and over, each time with a page that holds a frame. It drops the page while
// nothing is due, else writes headers and stamp and hands the frame to the port's driver. One
// call of the kernel runs a whole trial.
//
// The schedule follows crates/port/src/pace.rs. crates/port/src/xdp/abi/mirror.rs mirrors
// `struct control`; a test compares the two.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "maps.bpf.h"
#include "netns.bpf.h"
#include "stream.bpf.h"

// Streams of one sending thread: one, or both directions where only one CPU is left.
#define STREAMS 2

struct control {
    __u64 streams;
    __u64 turn;
    __u64 cpu;     // of the sending thread
    __u64 resumes; // returns of the sending thread from a rest
};

// Sending threads begin at different times, so nothing is due until every program runs and user
// space opens the gate.
struct gate {
    __u64 open;
};

ARRAY(streams, STREAMS, struct stream);
ARRAY(control, 1, struct control);
ARRAY(gate, 1, struct gate);
ARRAY(lateness, STREAMS, struct lateness);
ARRAY(marks, STREAMS, struct marks);

// The ports, by stream. A device map keeps the device itself, so the sending thread need not be
// in the port's network namespace.
MAP(ports, BPF_MAP_TYPE_DEVMAP, STREAMS, struct bpf_devmap_val);

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Whether a frame is due `now`; moves the schedule where it must be.
static __always_inline int look(struct stream *s, const struct control *c, __u32 which, __u64 now)
{
    if (!s->begun) {
        __u32 zero = 0;
        struct gate *g = bpf_map_lookup_elem(&gate, &zero);
        s->ready = 1;
        if (!g || !g->open)
            return 0;
        // The first slot is now: nothing is owed for the time before.
        s->begun = s->due_ns = now;
        s->due_frac = 0;
    }
    if (s->resumes != c->resumes) {
        // Nothing is owed for the rest.
        __u64 rested = now - s->seen_ns;
        s->resumes = c->resumes;
        s->due_ns += rested;
        s->rests++;
        s->rested_ns += rested;
    }
    s->seen_ns = now;
    if (now < s->due_ns) {
        s->streak = 0;
        return 0;
    }
    if (s->done >= s->frames || now - s->begun >= s->run_ns) {
        s->ended = 1;
        return 0;
    }

    __u64 late = now - s->due_ns;
    if (late >= s->catch_up_ns) {
        __u64 moved = late - s->keep_ns;
        // Those that are no more due do not follow.
        s->following = s->keep_ns >= s->follow_ns ? s->follow : 0;
        s->due_ns += moved;
        s->slips++;
        s->slipped_ns += moved;
        if (moved > s->slip_max_ns)
            s->slip_max_ns = moved;
        return 1;
    }
    s->following = late >= s->follow_ns ? s->follow : 0;
    struct lateness *l = bpf_map_lookup_elem(&lateness, &which);
    __u32 b = bucket(late);
    // Those that follow are a little less late.
    if (l && b < BUCKETS)
        l->count[b] += 1 + s->following;
    if (late > s->late_max_ns)
        s->late_max_ns = late;
    return 1;
}

SEC("xdp")
int transmit(struct xdp_md *ctx)
{
    __u32 zero = 0, which = 0;
    struct control *c = bpf_map_lookup_elem(&control, &zero);
    if (!c)
        return XDP_DROP;
    if (c->streams > 1) {
        which = c->turn & 1;
        c->turn = which ^ 1;
    }
    struct stream *s = bpf_map_lookup_elem(&streams, &which);
    if (!s || s->ended)
        return XDP_DROP;

    __u64 now;
    // After a rest the clock must be looked at: the stamp would be as old as the rest is long.
    if (s->following && s->resumes == c->resumes && s->done < s->frames) {
        // Due since the last look at the clock, and sent with the same batch.
        s->following--;
        now = s->seen_ns;
    } else {
        now = bpf_ktime_get_ns();
        if (!look(s, c, which, now))
            return XDP_DROP;
    }
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
    if (!write_frame(data, end, s, s->done, now))
        return XDP_DROP;
    if (!s->done)
        s->first_ns = now;
    s->last_ns = now;
    if (now >> SLOT_BITS != s->slot) {
        struct marks *m = bpf_map_lookup_elem(&marks, &which);
        s->slot = now >> SLOT_BITS;
        if (m)
            m->first[s->slot & (SLOTS - 1)] = s->done + 1;
    }
    s->done++;
    s->streak++;
    if (s->streak > s->streak_max)
        s->streak_max = s->streak;
    __u64 frac = s->due_frac + s->step_frac;
    s->due_ns += s->step_ns + (frac >> 32);
    s->due_frac = frac & 0xffffffff;
    if (s->done >= s->frames)
        s->ended = 1;

    c->cpu = bpf_get_smp_processor_id();
    int action = bpf_redirect_map(&ports, which, XDP_DROP);
    if (action != XDP_REDIRECT)
        s->unsent++;
    return action;
}

struct net_device {
    int ifindex;
    possible_net_t nd_net;
} __attribute__((preserve_access_index));

// Counts what the driver took. It sees a frame at the end of the batch it was made in, before any
// other work of the CPU, so an event for our port on our CPU is ours while some of our frames are
// not accounted for.
SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(transmitted, const struct net_device *from, const struct net_device *to, int sent,
             int drops, int error)
{
    __u32 zero = 0;
    struct control *c = bpf_map_lookup_elem(&control, &zero);
    if (!c || c->cpu != bpf_get_smp_processor_id())
        return 0;
    for (__u32 which = 0; which < STREAMS; which++) {
        __u32 key = which;
        struct stream *s = bpf_map_lookup_elem(&streams, &key);
        if (!s || which >= c->streams)
            break;
        __u64 known = s->unsent + s->accepted + s->refused + s->failed;
        if (s->done == known || s->ifindex != (__u32)to->ifindex ||
            s->netns != to->nd_net.net->ns.inum)
            continue;
        s->accepted += sent;
        if (error) {
            s->failed += drops;
            s->error = -error;
        } else {
            s->refused += drops;
        }
        break;
    }
    return 0;
}
