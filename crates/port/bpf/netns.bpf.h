// SPDX-License-Identifier: Apache-2.0 OR MIT
// What leads from an interface of the kernel to the number of its network namespace.
#ifndef NICETY_NETNS_BPF_H
#define NICETY_NETNS_BPF_H

struct ns_common {
    unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
    struct ns_common ns;
} __attribute__((preserve_access_index));

// The type of nd_net in struct net_device.
typedef struct {
    struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

#endif
