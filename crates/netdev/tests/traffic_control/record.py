#!/usr/bin/python3
"""Writes what the kernel tells of the traffic control of some interfaces: record.py FILE INTERFACE...

The messages as they come, one behind the other, each with its netlink header: all disciplines, then classes, then
filters of these interfaces.
"""

import socket
import struct
import sys

RTM_GETQDISC, RTM_NEWQDISC = 38, 36
RTM_GETTCLASS = 42
RTM_GETTFILTER = 46
NLM_F_REQUEST, NLM_F_DUMP = 1, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3


def dump(kind, index, parent):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.bind((0, 0))
        body = struct.pack("=BxxxiIII", 0, index, 0, parent, 0)
        netlink.send(struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body)
        messages = []
        while True:
            piece = netlink.recv(1 << 18)
            while piece:
                length, kind = struct.unpack_from("=IH", piece)
                if kind == NLMSG_DONE:
                    return messages
                if kind == NLMSG_ERROR:
                    raise OSError(-struct.unpack_from("=i", piece, 16)[0], "the kernel refuses")
                messages.append(piece[:length])
                piece = piece[(length + 3) // 4 * 4 :]


def main():
    path, names = sys.argv[1], sys.argv[2:]
    indexes = [socket.if_nametoindex(name) for name in names]
    messages = []
    parents = {}
    for message in dump(RTM_GETQDISC, 0, 0):
        _, index, handle, parent, _ = struct.unpack_from("=BxxxiIII", message, 16)
        if index in indexes:
            messages.append(message)
            kind = message[40 : message.index(0, 40)].decode()
            places = [0xFFFFFFF2, 0xFFFFFFF3] if kind == "clsact" else [handle]
            parents.setdefault(index, []).extend(place for place in places if place)
    for index in indexes:
        messages += dump(RTM_GETTCLASS, index, 0)
        for parent in parents.get(index, []):
            messages += dump(RTM_GETTFILTER, index, parent)
    with open(path, "wb") as out:
        for message in messages:
            out.write(message + bytes(-len(message) % 4))


main()
