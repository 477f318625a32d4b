# SPDX-License-Identifier: GPL-3.0-or-later
"""
passing.py - a veth between two networks, and a program that passes everything for the client's end.

Flow: a test has two networks -> join() -> pass_all() at the end that is not the server's.

What a program at one end of a veth sends by itself (XDP_TX) waits at the other end until something
else comes, unless there is a program too: the kernel wakes that end by GRO alone for packets of
other kinds only (veth_xdp_flush() of Linux, up to 6.18 at least). Cards know nothing of this.
"""

import ctypes
import os
import platform
import socket
import struct
import subprocess
import unittest

BPF_CALLS = {"x86_64": 321, "aarch64": 280}  # numbers of bpf(2)
BPF_PROG_LOAD, BPF_LINK_CREATE = 5, 28
BPF_PROG_TYPE_XDP, BPF_XDP = 6, 37
XDP_FLAGS_DRV_MODE = 4
LIBC = ctypes.CDLL(None, use_errno=True)


def join(case, *ends):
    """Two ends: (space, interface, IPv4 address, IPv6 address). Without a veth the test is skipped."""
    (space, interface, *_), (other_space, other, *_) = ends
    made = subprocess.run(
        case.command_in(space, "ip", "link", "add", interface, "type", "veth", "peer", "name", other, "netns",
                        str(other_space.pid)), check=False, capture_output=True, text=True)
    if made.returncode != 0:
        raise unittest.SkipTest(f"no veth here: {made.stderr.strip()}")
    for space, interface, address, address6 in ends:
        case.run_in(space, "ip", "link", "set", "lo", "up")
        case.run_in(space, "ip", "addr", "add", f"{address}/24", "dev", interface)
        case.run_in(space, "ip", "addr", "add", f"{address6}/64", "dev", interface, "nodad")
        case.run_in(space, "ip", "link", "set", interface, "up")


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    fd = LIBC.syscall(BPF_CALLS[platform.machine()], command, buffer, len(attributes))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return fd


def pass_all(interface):
    """Returns a descriptor: the program is there until it is closed. OSError where there can be none."""
    # r0 = XDP_PASS; exit
    code = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xb7, 0, 0, 2, 0x95, 0, 0, 0), 16)
    licence = ctypes.create_string_buffer(b"GPL")
    program = bpf(BPF_PROG_LOAD, struct.pack("IIQQ112x", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(code),
                                             ctypes.addressof(licence)))
    try:
        return bpf(BPF_LINK_CREATE, struct.pack("IIII32x", program, socket.if_nametoindex(interface), BPF_XDP,
                                                XDP_FLAGS_DRV_MODE))
    finally:
        os.close(program)
