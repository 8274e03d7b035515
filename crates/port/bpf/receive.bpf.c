// SPDX-License-Identifier: Apache-2.0 OR MIT
// Accounts test frames where they arrive, and drops them.
//
// What a frame is: crates/packet/src/parse.rs. What becomes of its number: crates/account/src/
// sequence.rs. Both are the model of this program; the tests compare them frame by frame.
// Loads on kernels from 5.15: no helper is younger but those of receive_frags, which is only
// loaded where fragmented frames (5.18) are asked for.
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "maps.bpf.h"
#include "stamp.bpf.h"

#define TAGS_MAX 2
#define TYPE_IPV4 0x0800
#define TYPE_TAG 0x8100
#define TYPE_SERVICE_TAG 0x88a8
// The longest frame that padding explains.
#define PADDED_BYTES_MAX 64
#define IP_LENGTH 2
#define IP_PROTOCOL 9
// The head behind an Ethernet header with two tags.
#define HEADS_MAX (ETHERNET_BYTES + TAGS_MAX * TAG_BYTES + HEAD_BYTES)
// Index of streams that this port does not expect.
#define NONE 255

// The word that says which trial is accounted, written by user space at once: bits 0 to 31 hold
// the first number that cannot have been sent, bits 32 to 39 the trial.
#define ORDER_LIMIT(order) ((__u32)(order))
#define ORDER_TRIAL(order) ((__u8)((order) >> 32))
#define ORDER_ARMED (1ULL << 40)

// Latencies below 2^LINEAR_BITS ns have a bucket each, above every octave has 2^(LINEAR_BITS-1).
#define LINEAR_BITS 8
#define OCTAVE_BUCKETS (1 << (LINEAR_BITS - 1))
#define LATENCY_MAX 60000000000ULL
// 60 s are less than 2^36 ns.
#define BUCKETS ((1 << LINEAR_BITS) + (36 - LINEAR_BITS) * OCTAVE_BUCKETS)

#define RUN_LOG2 32
#define JUMPS_MAX (1 << 14)
#define PATTERN_BYTES 9024
#define CHUNK_BYTES 1024

// What the frames of this port look like and where they are counted; constants to the verifier,
// so that what does not apply costs nothing.
const volatile __u32 total_length = 46;
// One's complement sum of what is the same in every UDP checksum, in memory order.
const volatile __u32 constant_sum = 0;
const volatile __u32 stream_count = 1;
const volatile __u32 words_per_stream = 1;
const volatile __u32 lanes_per_stream = 1;
// A power of two, JUMPS_MAX at most.
const volatile __u32 jumps_kept = JUMPS_MAX;
// Order is judged per receive queue; where several CPUs may serve a queue at once, per CPU.
const volatile __u32 lane_is_cpu = 0;
// For tests: the time at which every frame arrives; 0 takes the clock.
const volatile __u64 fixed_time = 0;
// For measuring: every frame takes the number after the last.
const volatile __u32 renumber = 0;
// Index of every stream, NONE where this port expects none.
const volatile __u8 stream_index[256] = {};
const volatile __u64 pattern[PATTERN_BYTES / 8] = {};

// Counts of one CPU, 64-bit words only: user space reads them as such.
struct cpu_counts {
	__u64 received;
	__u64 corrupt;
	__u64 foreign;
	__u64 learning;
	__u64 clock_errors;
	__u64 latency_sum;
	__u64 latency_max;
	// All ones less the smallest, so that zero is "none yet".
	__u64 latency_min_complement;
	__u64 reserved[8];
	__u64 latency[BUCKETS];
};

// What is rare, of one stream as one CPU sees it.
struct stream_counts {
	__u64 duplicate;
	__u64 impossible;
	__u64 reserved[6];
};

// Order of one stream's frames as one queue (or CPU) sees them, 64-bit words only.
struct lane {
	// One more than the highest number so far.
	__u64 next;
	__u64 arrivals;
	// Arrivals in order behind a gap.
	__u64 jumps;
	__u64 reordered;
	__u64 extent_max;
	// Reordered frames whose jump had been forgotten: their extent is at least the one counted.
	__u64 extent_open;
	__u64 run;
	__u64 runs;
	__u64 run_longest;
	__u64 reserved[7];
	__u64 run_log2[RUN_LOG2];
};

// The latest jumps of a lane: the number in the upper half, below its place among the lane's
// first arrivals. Both only grow, so the ring is sorted.
struct ring {
	__u64 jumps[JUMPS_MAX];
};

SHARED_ARRAY(order, 1, __u64);

// One bit for every number of every stream.
SHARED_ARRAY(seen, 1, __u64);
SHARED_ARRAY(cpus, 1, struct cpu_counts);

// All streams of the first CPU, then those of the next.
SHARED_ARRAY(streams, 1, struct stream_counts);

// All lanes of the first stream, then those of the next.
SHARED_ARRAY(lanes, 1, struct lane);
ARRAY(rings, 1, struct ring);

struct chunk {
	__u8 bytes[CHUNK_BYTES];
};

PER_CPU(chunks, struct chunk);

enum kind { FOREIGN, CORRUPT, LEARNING, OURS };

// A frame, or its first bytes copied to where they are all together.
struct view {
	const __u8 *data;
	const __u8 *end;
	__u32 bytes;
	bool copied;
};

struct stamp {
	__u8 stream;
	__u8 trial;
	__u32 sequence;
	__u64 tx_ns;
};

static __always_inline bool reaches(const struct view *view, __u32 bytes)
{
	return view->copied ? bytes <= view->bytes : view->data + bytes <= view->end;
}

#define U8(at) (*(const __u8 *)(at))
#define U16(at) (*(const __u16 *)(at))
#define U32(at) (*(const __u32 *)(at))
#define U64(at) (*(const __u64 *)(at))

// Keeps the compiler from turning arithmetic back into branches: the verifier follows both ways of
// each, and the ways multiply.
#define OPAQUE(value) asm volatile("" : "+r"(value))

// 1 if `value`, less than 2^63, is zero, else 0.
static __always_inline __u64 is_zero(__u64 value)
{
	value = (value - 1) >> 63;
	OPAQUE(value);
	return value;
}

// Zero if a sum of 16-bit words, any number of them added as 32 bits, is all ones (RFC 1071; the
// order of bytes does not matter).
static __always_inline __u64 not_all_ones(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum ^ 0xffff;
}

// Zero when `bytes` bytes are those of the pattern from `at` on, a multiple of 8.
static __always_inline __u64 difference(const __u8 *data, __u32 at, __u32 bytes)
{
	const volatile __u8 *expected = (const volatile __u8 *)pattern + at;
	__u64 differs = 0;
	__u32 i = 0;

#define DIFFER(k) (U64(data + i + (k)) ^ *(const volatile __u64 *)(expected + i + (k)))
#pragma clang loop unroll(disable)
	for (; i + 64 <= bytes; i += 64)
		differs |= DIFFER(0) | DIFFER(8) | DIFFER(16) | DIFFER(24) | DIFFER(32) |
			   DIFFER(40) | DIFFER(48) | DIFFER(56);
#pragma clang loop unroll(disable)
	for (; i + 8 <= bytes; i += 8)
		differs |= DIFFER(0);
#pragma clang loop unroll(disable)
	for (; i < bytes; i++)
		differs |= U8(data + i) ^ expected[i];
#undef DIFFER
	return differs;
}

// The pattern of a frame that lies in several buffers.
static __always_inline __u64 fragments_differ(struct xdp_md *ctx, __u32 from, __u32 bytes)
{
	__u32 zero = 0;
	struct chunk *chunk = bpf_map_lookup_elem(&chunks, &zero);
	__u64 differs = 0;

	if (!chunk)
		return 1;
#pragma clang loop unroll(disable)
	for (__u32 at = 0; at < bytes && at < PATTERN_BYTES; at += CHUNK_BYTES) {
		__u32 part = bytes - at;

		if (part > CHUNK_BYTES)
			part = CHUNK_BYTES;
		if (bpf_xdp_load_bytes(ctx, from + at, chunk->bytes, part))
			return 1;
		differs |= difference(chunk->bytes, at, part);
	}
	return differs;
}

static __always_inline enum kind classify(struct xdp_md *ctx, const struct view *view,
					  struct stamp *stamp)
{
	__u32 length = total_length;
	__u32 ip_at = ETHERNET_BYTES;
	__u64 signs, addresses, source, destination, wrong;
	const __u8 *ip;
	__u32 need;
	__u16 type;

	if (!reaches(view, ip_at))
		return FOREIGN;
	type = U16(view->data + 12);
#pragma clang loop unroll(full)
	for (int tag = 0; tag < TAGS_MAX; tag++) {
		if (type != bpf_htons(TYPE_TAG) && type != bpf_htons(TYPE_SERVICE_TAG))
			break;
		if (!reaches(view, ip_at + TAG_BYTES))
			return FOREIGN;
		type = U16(view->data + ip_at + 2);
		ip_at += TAG_BYTES;
	}
	if (type != bpf_htons(TYPE_IPV4) || !reaches(view, ip_at + STAMP))
		return FOREIGN;

	// Two of three signs make a frame ours.
	ip = view->data + ip_at;
	addresses = (U32(ip + IP_SOURCE) ^ bpf_htonl(NETWORK)) & bpf_htonl(NETWORK_MASK);
	addresses |= (U32(ip + IP_DESTINATION) ^ bpf_htonl(NETWORK)) & bpf_htonl(NETWORK_MASK);
	source = U16(ip + UDP_SOURCE) & bpf_htons(PORTS_MASK);
	destination = U16(ip + UDP_DESTINATION) & bpf_htons(PORTS_MASK);
	signs = is_zero(addresses) +
		is_zero(((source ^ bpf_htons(PORTS_A)) | (destination ^ bpf_htons(PORTS_B))) *
			((source ^ bpf_htons(PORTS_B)) | (destination ^ bpf_htons(PORTS_A))));
	if (!reaches(view, ip_at + HEAD_BYTES))
		return signs == 2 ? CORRUPT : FOREIGN;
	wrong = U16(ip + STAMP) ^ bpf_htons(MAGIC);
	signs += is_zero(wrong);
	if (signs < 2)
		return FOREIGN;

	// Version 4, no options; the sender always sets the UDP checksum. Damage is rare: one look
	// at the end is cheaper than many on the way.
	wrong |= U8(ip) ^ 0x45;
	wrong |= U8(ip + IP_PROTOCOL) ^ 17;
	wrong |= U16(ip + IP_LENGTH) ^ bpf_htons(length);
	wrong |= U16(ip + UDP_LENGTH) ^ bpf_htons(length - IP_BYTES);
	wrong |= is_zero(U16(ip + UDP_CHECKSUM));
	wrong |= not_all_ones((__u64)U32(ip) + U32(ip + 4) + U32(ip + 8) + U32(ip + 12) +
			      U32(ip + 16));
	wrong |= not_all_ones((__u64)constant_sum + U32(ip + 12) + U32(ip + 16) + U32(ip + 20) +
			      U32(ip + 24) + U32(ip + 28) + U32(ip + 32) + U32(ip + 36) +
			      U16(ip + 40));
	need = ip_at + length;
	if (view->bytes < need || (view->bytes > need && view->bytes > PADDED_BYTES_MAX))
		return CORRUPT;
	// Without this it may take the frame's length, which the verifier does not know, for `need`.
	OPAQUE(need);
	if (view->copied) {
		wrong |= fragments_differ(ctx, ip_at + HEAD_BYTES, length - HEAD_BYTES);
	} else {
		if (!reaches(view, need))
			return CORRUPT;
		wrong |= difference(ip + HEAD_BYTES, 0, length - HEAD_BYTES);
	}
	if (wrong)
		return CORRUPT;
	stamp->stream = U8(ip + STAMP_STREAM);
	stamp->trial = U8(ip + STAMP_TRIAL);
	stamp->sequence = bpf_ntohl(U32(ip + STAMP_SEQUENCE));
	stamp->tx_ns = (__u64)bpf_ntohl(U32(ip + STAMP_TIME)) << 16 |
		       bpf_ntohs(U16(ip + STAMP_TIME + 4));
	return stamp->stream == STREAM_LEARNING ? LEARNING : OURS;
}

// Floor of the binary logarithm of a value from 1 to 2^63 - 1.
static __always_inline __u32 log2_floor(__u64 value)
{
	__u32 log = 0;

#pragma clang loop unroll(full)
	for (__u32 bits = 32; bits; bits /= 2) {
		// 1 if the value needs more than `bits` bits.
		__u64 shift = ((1ULL << bits) - 1 - value) >> 63;

		OPAQUE(shift);
		shift *= bits;
		value >>= shift;
		log += shift;
	}
	return log;
}

static __always_inline void record_latency(struct cpu_counts *cpu, __u64 tx_ns)
{
	__u64 now = fixed_time ? fixed_time : bpf_ktime_get_ns();
	// The stamp holds 48 bits; shifting them up and back extends the sign.
	__s64 elapsed = (__s64)((now - tx_ns) << 16) >> 16;
	__u64 ns = elapsed;
	__u32 bucket = ns;

	if (elapsed < 0) {
		cpu->clock_errors++;
		return;
	}
	if (ns > LATENCY_MAX)
		ns = LATENCY_MAX;
	bucket = ns;
	if (ns >> LINEAR_BITS) {
		__u32 log = log2_floor(ns);

		bucket = (1 << LINEAR_BITS) + (log - LINEAR_BITS) * OCTAVE_BUCKETS +
			 ((ns >> (log - LINEAR_BITS + 1)) & (OCTAVE_BUCKETS - 1));
	}
	if (bucket < BUCKETS)
		cpu->latency[bucket]++;
	cpu->latency_sum += ns;
	if (ns > cpu->latency_max)
		cpu->latency_max = ns;
	if (~ns > cpu->latency_min_complement)
		cpu->latency_min_complement = ~ns;
}

static __always_inline void end_run(struct lane *lane)
{
	__u64 run = lane->run;

	lane->run = 0;
	lane->runs++;
	if (run > lane->run_longest)
		lane->run_longest = run;
	lane->run_log2[log2_floor(run) & (RUN_LOG2 - 1)]++;
}

// How many arrivals before this one the first with a higher number came (RFC 4737 section 4.2):
// that was the first jump beyond it, or an older one than the ring holds.
static __always_inline void record_extent(struct lane *lane, const struct ring *ring,
					  __u64 sequence)
{
	__u64 jumps = lane->jumps;
	__u64 oldest = jumps - jumps_kept;
	__u64 first = 0;
	__u64 extent;

	// Binary search without branches: the verifier would follow both ways of each.
	for (__u32 step = jumps_kept / 2; step; step /= 2) {
		__u64 at = oldest + first + step - 1;
		__u64 number = ring->jumps[at & (jumps_kept - 1) & (JUMPS_MAX - 1)] >> 32;
		// Places before the first jump ever are negative: nothing has been written there.
		__u64 beyond = ((sequence - number) & ~at) >> 63;

		OPAQUE(beyond);
		first += step * (1 - beyond);
	}
	extent = (__u32)((__u32)lane->arrivals -
			 (__u32)ring->jumps[(oldest + first) & (jumps_kept - 1) & (JUMPS_MAX - 1)]);
	if (extent > lane->extent_max)
		lane->extent_max = extent;
	// An older jump may have been beyond it as well.
	if (first == 0 && jumps > jumps_kept)
		lane->extent_open++;
}

static __always_inline void record_order(struct lane *lane, struct ring *ring, __u32 sequence)
{
	if (sequence >= lane->next) {
		if (sequence != lane->next) {
			ring->jumps[lane->jumps & (jumps_kept - 1) & (JUMPS_MAX - 1)] =
				(__u64)sequence << 32 | (__u32)lane->arrivals;
			lane->jumps++;
		}
		lane->next = (__u64)sequence + 1;
		lane->arrivals++;
		if (lane->run)
			end_run(lane);
		return;
	}
	record_extent(lane, ring, sequence);
	lane->arrivals++;
	lane->reordered++;
	lane->run++;
}

static __always_inline void account(struct xdp_md *ctx, struct cpu_counts *cpu, __u32 cpu_id,
				    __u64 trial_order, const struct stamp *stamp)
{
	__u32 stream = stream_index[stamp->stream];
	__u32 rare_at = cpu_id * stream_count + stream;
	__u32 at, lane_at;
	struct stream_counts *rare;
	__u64 bit = 1ULL << (stamp->sequence & 63);
	__u64 *word;
	struct lane *lane;
	struct ring *ring;

	if (stream == NONE || stamp->trial != ORDER_TRIAL(trial_order)) {
		cpu->foreign++;
		return;
	}
	if (stamp->sequence >= ORDER_LIMIT(trial_order)) {
		rare = bpf_map_lookup_elem(&streams, &rare_at);
		if (rare)
			rare->impossible++;
		return;
	}
	at = stream * words_per_stream + stamp->sequence / 64;
	word = bpf_map_lookup_elem(&seen, &at);
	if (!word)
		return;
	// Copies of one frame may arrive on two CPUs at once: only one of them is the first.
	if ((*word & bit) || (__sync_fetch_and_or(word, bit) & bit)) {
		rare = bpf_map_lookup_elem(&streams, &rare_at);
		if (rare)
			rare->duplicate++;
		return;
	}
	cpu->received++;
	record_latency(cpu, stamp->tx_ns);
	lane_at = lane_is_cpu ? cpu_id : ctx->rx_queue_index;
	if (lane_at >= lanes_per_stream)
		lane_at = lanes_per_stream - 1;
	lane_at += stream * lanes_per_stream;
	lane = bpf_map_lookup_elem(&lanes, &lane_at);
	ring = bpf_map_lookup_elem(&rings, &lane_at);
	if (lane && ring)
		record_order(lane, ring, stamp->sequence);
}

static __always_inline int receive_view(struct xdp_md *ctx, const struct view *view)
{
	__u32 cpu_id = bpf_get_smp_processor_id();
	__u32 zero = 0;
	struct cpu_counts *cpu = bpf_map_lookup_elem(&cpus, &cpu_id);
	__u64 *trial_order = bpf_map_lookup_elem(&order, &zero);
	struct stamp stamp = {};
	enum kind kind = classify(ctx, view, &stamp);

	// Between trials nothing is counted.
	if (cpu && trial_order) {
		__u64 now = *(volatile __u64 *)trial_order;

		if (now & ORDER_ARMED) {
			if (renumber)
				stamp.sequence = cpu->received;
			if (kind == OURS)
				account(ctx, cpu, cpu_id, now, &stamp);
			else if (kind == FOREIGN)
				cpu->foreign++;
			else if (kind == CORRUPT)
				cpu->corrupt++;
			else
				cpu->learning++;
		}
	}
	return kind == FOREIGN ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int nicety_receive(struct xdp_md *ctx)
{
	struct view view = {
		.data = (const __u8 *)(long)ctx->data,
		.end = (const __u8 *)(long)ctx->data_end,
		.bytes = ctx->data_end - ctx->data,
	};

	return receive_view(ctx, &view);
}

// For frames that may come in several buffers.
SEC("xdp.frags")
int nicety_receive_frags(struct xdp_md *ctx)
{
	// Two bytes in front, so that the IPv4 header is aligned: on the stack it must be.
	__u8 head[2 + HEADS_MAX] __attribute__((aligned(8))) = {};
	struct view view = {
		.data = (const __u8 *)(long)ctx->data,
		.end = (const __u8 *)(long)ctx->data_end,
		.bytes = ctx->data_end - ctx->data,
	};
	__u64 all = bpf_xdp_get_buff_len(ctx);
	struct view copy = {
		.data = head + 2,
		.bytes = all,
		.copied = true,
	};

	if (all == view.bytes)
		return receive_view(ctx, &view);
	OPAQUE(all);
	if (all > HEADS_MAX)
		all = HEADS_MAX;
	if (all == 0 || bpf_xdp_load_bytes(ctx, 0, head + 2, all))
		return XDP_PASS;
	return receive_view(ctx, &copy);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
