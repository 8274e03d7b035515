// SPDX-License-Identifier: Apache-2.0 OR MIT
// The stamp of a test frame and what stands around it, as in crates/packet/src/stamp.rs and
// template.rs. All fields are big-endian.
#ifndef NICETY_STAMP_BPF_H
#define NICETY_STAMP_BPF_H

// Link layer.
#define ETHERNET_BYTES 14
#define TAG_BYTES 4

// Offsets from the IPv4 header, which has no options.
#define IP_BYTES 20
#define IP_IDENTIFICATION 4
#define IP_CHECKSUM 10
#define IP_SOURCE 12
#define IP_DESTINATION 16
#define UDP 20
#define UDP_SOURCE 20
#define UDP_DESTINATION 22
#define UDP_LENGTH 24
#define UDP_CHECKSUM 26
#define STAMP 28
#define STAMP_STREAM 30
#define STAMP_TRIAL 31
#define STAMP_SEQUENCE 32
#define STAMP_TIME 36
// IPv4 header, UDP header and stamp; the payload's pattern follows.
#define HEAD_BYTES 42

// Bits of the identification that say whose frames they are: crates/packet/src/mark.rs.
#define MARK_MASK 0xff80

// First two bytes of the stamp.
#define MAGIC 0x9e1c
// Stream of learning frames, which are never counted.
#define STREAM_LEARNING 255
// The transmit time wraps after 2^48 ns.
#define TIME_BITS 48

// Flow ranges: crates/packet/src/flow.rs.
#define NETWORK 0xc6120000
#define NETWORK_MASK 0xfffe0000
#define SIDE_B 0x00010000
#define PORTS_MASK 0xe000
#define PORTS_A 0xc000
#define PORTS_B 0xe000

#endif
