// SPDX-License-Identifier: Apache-2.0 OR MIT
// A stream as its sending program keeps it, and how its frames are written: shared by the programs
// that make frames (transmit.bpf.c) and those that rewrite what somebody else makes
// (pktgen.bpf.c). crates/port/src/xdp/abi/mirror.rs mirrors `struct stream`; a test compares the two.
#ifndef NICETY_STREAM_BPF_H
#define NICETY_STREAM_BPF_H

#include "stamp.bpf.h"

// Lateness in ns: one bucket each below 2^LINEAR_BITS, then 2^(LINEAR_BITS - 1) per octave.
#define LINEAR_BITS 6
#define HALF (1 << (LINEAR_BITS - 1))
#define OCTAVES 28
#define BUCKETS ((1 << LINEAR_BITS) + OCTAVES * HALF)

// Byte of a hardware address that tells stations apart.
#define STATION 4

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
    __u64 unsent;   // the port is gone, or the frame was not asked for
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
    // Set by user space: pairs of stations that take turns.
    __u64 stations;
};

// Which frames were made when: for every slot of 2^SLOT_BITS ns, the number of the first frame made
// in it, plus one. User space clears it.
#define SLOT_BITS 23
#define SLOTS 8192

struct marks {
    __u32 first[SLOTS];
};

struct lateness {
    __u32 count[BUCKETS];
};

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
static __always_inline int write_frame(void *data, void *end, const struct stream *s,
                                       __u32 sequence, __u64 now)
{
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
    if (s->stations > 1) {
        __u8 station = sequence % (__u32)s->stations;
        PUT(__u8, data + STATION, station);
        PUT(__u8, data + 6 + STATION, station);
    }
    return 1;
}

#endif
