// SPDX-License-Identifier: Apache-2.0 OR MIT
// Makes test frames and sends them when they are due.
//
// User space runs `transmit` with BPF_PROG_RUN and live frames (net/bpf/test_run.c): the kernel
// calls it over and over, each time with a page that holds a frame. It drops the page while
// nothing is due, else writes headers and stamp and hands the frame to the port's driver. One
// call of the kernel runs a whole trial.
//
// The schedule follows crates/port/src/pace.rs. Words of `struct stream` and `struct control`
// are those of crates/port/src/xdp/words.rs.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "stamp.bpf.h"

// Streams of one sending thread: one, or both directions where only one CPU is left.
#define STREAMS 2

// Lateness in ns: one bucket each below 2^LINEAR_BITS, then 2^(LINEAR_BITS - 1) per octave.
#define LINEAR_BITS 6
#define HALF (1 << (LINEAR_BITS - 1))
#define OCTAVES 28
#define BUCKETS ((1 << LINEAR_BITS) + OCTAVES * HALF)

struct stream {
    // Set by user space before a trial.
    __u64 frames;
    __u64 run_ns;      // longest time of sending
    __u64 step_ns;     // distance of two slots
    __u64 step_frac;   // the same, in 2^-32 ns
    __u64 keep_ns;     // what a slip leaves to catch up
    __u64 catch_up_ns; // lateness from which the schedule slips
    __u64 identity;    // stream << 8 | trial
    __u64 flows;
    __u64 side_b;
    __u64 tagged;
    __u64 ip_sum;  // IPv4 header without checksum and addresses
    __u64 udp_sum; // all of the checksum but stamp behind the magic, and flow if there are many
    __u64 link[3]; // Ethernet header, tag if any
    __u64 net[4];  // IPv4 and UDP header of the first flow
    __u64 ifindex;
    __u64 netns;
    // Written here.
    __u64 begun; // first slot
    __u64 due_ns;
    __u64 due_frac;
    __u64 done; // slots used: the next sequence number
    __u64 first_ns;
    __u64 last_ns;
    __u64 ended; // nothing more will be sent
    __u64 slips;
    __u64 slipped_ns;
    __u64 slip_max_ns;
    __u64 late_max_ns;
    __u64 streak; // frames since the sender last waited for a slot
    __u64 streak_max;
    __u64 unsent;   // the port is gone
    __u64 accepted; // by the driver
    __u64 refused;  // by the driver: its ring was full
    __u64 failed;   // by the driver, for another reason
    __u64 error;    // the last such reason
    __u64 ready;    // the kernel runs the program
    __u64 seen_ns;  // last run of the program
    __u64 resumes;  // those of `control` known here
    __u64 rests;
    __u64 rested_ns;
    // Set by user space: how many frames may follow one look at the clock when they are all due.
    __u64 follow;
    __u64 follow_ns; // lateness from which they are
    // Written here.
    __u64 following; // of these, not sent yet
    __u64 slot;      // of `marks`, the last frame's
};

// Which frames were made when: for every slot of 2^SLOT_BITS ns, the number of the first frame made
// in it, plus one. User space clears it.
#define SLOT_BITS 23
#define SLOTS 8192

struct marks {
    __u32 first[SLOTS];
};

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

struct lateness {
    __u32 count[BUCKETS];
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, STREAMS);
    __type(key, __u32);
    __type(value, struct stream);
} streams SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct control);
} control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct gate);
} gate SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, STREAMS);
    __type(key, __u32);
    __type(value, struct lateness);
} lateness SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, STREAMS);
    __type(key, __u32);
    __type(value, struct marks);
} marks SEC(".maps");

// The ports, by stream. A device map keeps the device itself, so the sending thread need not be
// in the port's network namespace.
struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, STREAMS);
    __type(key, __u32);
    __type(value, struct bpf_devmap_val);
} ports SEC(".maps");

char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Bucket of a lateness.
static __always_inline __u32 bucket(__u64 late)
{
    if (late < (1 << LINEAR_BITS))
        return late;
    __u32 shift = 0;
    __u64 rest = late >> LINEAR_BITS;
    if (rest >> 16) {
        shift += 16;
        rest >>= 16;
    }
    if (rest >> 8) {
        shift += 8;
        rest >>= 8;
    }
    if (rest >> 4) {
        shift += 4;
        rest >>= 4;
    }
    if (rest >> 2) {
        shift += 2;
        rest >>= 2;
    }
    if (rest >> 1)
        shift += 1;
    if (shift >= OCTAVES)
        return BUCKETS - 1;
    // late >> (shift + 1) lies in HALF..2 * HALF.
    return (1 << LINEAR_BITS) + shift * HALF + ((late >> (shift + 1)) & (HALF - 1));
}

static __always_inline __u16 fold(__u64 sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

#define PUT(type, at, value) (*(type *)(at) = (value))

// Writes everything behind the link header that may differ between two frames, or that the path
// may have changed in a page that came back from it: `ip` is the IPv4 header.
static __always_inline void write_head(void *ip, const struct stream *s, __u32 sequence, __u64 now)
{
    __u64 time = now & ((1ULL << TIME_BITS) - 1);
    __u64 sum = s->udp_sum + s->identity + sequence + time;

    PUT(__u64, ip, s->net[0]);
    PUT(__u64, ip + 8, s->net[1]);
    PUT(__u64, ip + 16, s->net[2]);
    if (s->flows > 1) {
        __u32 i = sequence % (__u32)s->flows;
        __u32 host = (i & 0x7f80) << 1 | ((i & 0x7f) + 1);
        __u32 a = NETWORK | host, b = NETWORK | SIDE_B | host;
        __u32 port = ((i & 0xff) << 5 | i >> 15) & 0xffff;
        __u32 port_a = PORTS_A | port, port_b = PORTS_B | port;
        __u32 source = s->side_b ? b : a, destination = s->side_b ? a : b;
        __u32 ports = s->side_b ? port_b << 16 | port_a : port_a << 16 | port_b;
        __u64 addresses = (__u64)source + destination;

        sum += addresses + ports;
        PUT(__u16, ip + IP_CHECKSUM, bpf_htons(~fold(s->ip_sum + addresses)));
        PUT(__u32, ip + IP_SOURCE, bpf_htonl(source));
        PUT(__u32, ip + IP_DESTINATION, bpf_htonl(destination));
        PUT(__u32, ip + UDP_SOURCE, bpf_htonl(ports));
    }
    __u16 checksum = ~fold(sum);
    // Zero would say that there is no checksum (RFC 768).
    if (!checksum)
        checksum = 0xffff;
    PUT(__u16, ip + UDP_LENGTH, s->net[3]);
    PUT(__u16, ip + UDP_CHECKSUM, bpf_htons(checksum));
    PUT(__u64, ip + STAMP, bpf_cpu_to_be64((__u64)MAGIC << 48 | s->identity << 32 | sequence));
    PUT(__u32, ip + STAMP_TIME, bpf_htonl(time >> 16));
    PUT(__u16, ip + STAMP_TIME + 4, bpf_htons(time));
}

// Writes the whole head of the frame; false if the frame is too short for it.
static __always_inline int write_frame(struct xdp_md *ctx, const struct stream *s, __u32 sequence,
                                       __u64 now)
{
    void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

    if (data + ETHERNET_BYTES + TAG_BYTES + HEAD_BYTES > end)
        return 0;
    PUT(__u64, data, s->link[0]);
    if (s->tagged) {
        PUT(__u64, data + 8, s->link[1]);
        PUT(__u16, data + 16, s->link[2]);
        write_head(data + ETHERNET_BYTES + TAG_BYTES, s, sequence, now);
    } else {
        PUT(__u32, data + 8, s->link[1]);
        PUT(__u16, data + 12, s->link[1] >> 32);
        write_head(data + ETHERNET_BYTES, s, sequence, now);
    }
    return 1;
}

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
    s->following = late >= s->follow_ns ? s->follow : 0;
    if (late >= s->catch_up_ns) {
        __u64 moved = late - s->keep_ns;
        s->due_ns += moved;
        s->slips++;
        s->slipped_ns += moved;
        if (moved > s->slip_max_ns)
            s->slip_max_ns = moved;
        return 1;
    }
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
    if (!write_frame(ctx, s, s->done, now))
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

struct ns_common {
    unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
    struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
    struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

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
