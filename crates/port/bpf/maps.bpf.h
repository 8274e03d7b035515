// SPDX-License-Identifier: Apache-2.0 OR MIT
// Maps with keys that count from zero.
#ifndef NICETY_MAPS_BPF_H
#define NICETY_MAPS_BPF_H

#define MAP(name, kind, entries, of)     \
    struct {                             \
        __uint(type, kind);              \
        __uint(max_entries, entries);    \
        __type(key, __u32);              \
        __type(value, of);               \
    } name SEC(".maps")

#define ARRAY(name, entries, of) MAP(name, BPF_MAP_TYPE_ARRAY, entries, of)
// One entry, of each CPU its own.
#define PER_CPU(name, of) MAP(name, BPF_MAP_TYPE_PERCPU_ARRAY, 1, of)

// User space reads and writes it where it is.
#define SHARED_ARRAY(name, entries, of)        \
    struct {                                   \
        __uint(type, BPF_MAP_TYPE_ARRAY);      \
        __uint(map_flags, BPF_F_MMAPABLE);     \
        __uint(max_entries, entries);          \
        __type(key, __u32);                    \
        __type(value, of);                     \
    } name SEC(".maps")

#endif
