// SPDX-License-Identifier: Apache-2.0 OR MIT
// Notes when a CPU stood still, and when a program had it that belongs to neither tester nor path: a
// timer expires twice per millisecond on every watched CPU, in hard interrupt context. Only the
// machine below can hold it up, and what it interrupts is what runs there.
//
// The timer is that of a cpu-clock perf event (perf_swevent_hrtimer in kernel/events/core.c).
// The tracepoint fires for all timers, so the timer's function is learned first: the event's own
// program runs inside it.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "maps.bpf.h"

#define STALLS_MAX 4096
// HRTIMER_BASE_MONOTONIC in linux/hrtimer_defs.h: clock and hard interrupt in one.
#define BASE_MONOTONIC 0

const volatile __u64 late_ns = 0;
const volatile __u64 period_ns = 0;
// Whether other programs are looked for.
const volatile __u32 programs = 0;

struct timerqueue_node {
    long long expires;
} __attribute__((preserve_access_index));

struct hrtimer_clock_base {
    unsigned int index;
} __attribute__((preserve_access_index));

struct hrtimer {
    struct timerqueue_node node;
    void *function;
    struct hrtimer_clock_base *base;
} __attribute__((preserve_access_index));

// 64-bit words only: user space reads them as such.
struct stall {
    __u64 cpu;
    __u64 by_program;
    __u64 from_ns;
    __u64 to_ns;
};

struct stalls {
    __u64 count;
    struct stall at[STALLS_MAX];
};

SHARED_ARRAY(stalls, 1, struct stalls);

// Function of the timer that expires on this CPU now.
PER_CPU(expiring, __u64);

// Function of the timers that are watched, known on watched CPUs only: others may have such timers
// for somebody else.
PER_CPU(watched, __u64);

// Threads and processes of the tester and the path, in numbers of the first PID namespace.
MAP(ours, BPF_MAP_TYPE_HASH, 4096, __u32);

// The last program seen on this CPU, and its note if it has one.
struct last {
    __u64 n;
    __u64 to_ns;
};

PER_CPU(last, struct last);

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("perf_event")
int beat(void *ctx)
{
    __u32 zero = 0;
    __u64 *function = bpf_map_lookup_elem(&expiring, &zero);
    __u64 *known = bpf_map_lookup_elem(&watched, &zero);

    if (function && known && !*known)
        *known = *function;
    return 0;
}

static __always_inline __u64 note(__u64 by_program, __u64 from, __u64 to)
{
    __u32 zero = 0;
    struct stalls *list = bpf_map_lookup_elem(&stalls, &zero);
    if (!list)
        return STALLS_MAX;
    __u64 n = __sync_fetch_and_add(&list->count, 1);
    if (n >= STALLS_MAX)
        return STALLS_MAX;
    list->at[n].cpu = bpf_get_smp_processor_id();
    list->at[n].by_program = by_program;
    list->at[n].from_ns = from;
    list->at[n].to_ns = to;
    return n;
}

// Whether what was interrupted is neither idle, nor ours.
static __always_inline int foreign(void)
{
    __u64 both = bpf_get_current_pid_tgid();
    __u32 thread = both, process = both >> 32;

    return thread && !bpf_map_lookup_elem(&ours, &thread) && !bpf_map_lookup_elem(&ours, &process);
}

// Programs that come and go between two expiries keep nobody waiting for long; one that is there the
// next time as well has one note, however long it stays.
static __always_inline void note_program(__u64 now)
{
    __u32 zero = 0;
    struct stalls *list = bpf_map_lookup_elem(&stalls, &zero);
    struct last *last_seen = bpf_map_lookup_elem(&last, &zero);

    if (!list || !last_seen)
        return;
    __u64 n = last_seen->n, before = last_seen->to_ns;
    last_seen->to_ns = now;
    if (now - before >= 2 * period_ns)
        last_seen->n = STALLS_MAX;
    else if (n < list->count && n < STALLS_MAX)
        list->at[n].to_ns = now;
    else
        last_seen->n = note(1, before - period_ns, now);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(expired, struct hrtimer *timer)
{
    __u32 zero = 0;
    __u64 *expires = bpf_map_lookup_elem(&expiring, &zero);
    __u64 *known = bpf_map_lookup_elem(&watched, &zero);
    __u64 function = (__u64)timer->function;

    if (!expires || !known)
        return 0;
    *expires = function;
    if (*known != function || timer->base->index != BASE_MONOTONIC)
        return 0;
    __u64 now = bpf_ktime_get_ns(), due = timer->node.expires;
    if ((__s64)(now - due) >= (__s64)late_ns)
        note(0, due, now);
    if (programs && foreign())
        note_program(now);
    return 0;
}
