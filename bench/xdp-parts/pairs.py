# SPDX-License-Identifier: GPL-3.0-or-later
"""
pairs.py - pairs of veth between servers and a generator, and what the kernel does at their ends.

Flow: bench/xdp -> Pairs makes a second network -> Pair is one veth into it, for one server ->
      Pair.load() is bench/xdp-load at the far end, and Pair.thread() what costs at the near one.

Servers are in the network of the benchmark, and the generator is in the other one. Each end takes
its packets in a thread of the kernel of its own (threaded NAPI), which is pinned: that of a server to
the first core, where the server is, and that of the generator to the last. So what the kernel does
for a server has a clock like that of a process. The thread of the generator goes before the generator.
"""
import contextlib
import ctypes
import fcntl
import os
import re
import socket
import struct
import subprocess

from mailservers import tell  # of bench, as is the next
from replays import Failure
import harness  # found by replays.py
from harness import wait_for

SERVER_CORE, LOAD_CORE = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
SIOCETHTOOL, ETHTOOL_SGRO = 0x8946, 0x2c
PORT = 53
PAIRS_MAX = 250
THREAD_S = 10
SYSFS, BPFFS = "/sys", "/sys/fs/bpf"


def mount_own():
    """What of /sys is of a network, for one of our own; and a place for what libxdp pins."""
    tell("mount", "-t", "sysfs", "sysfs", SYSFS)
    tell("mount", "-t", "bpf", "bpf", BPFFS)


def set_gro(device):
    """A veth has NAPI with it, whether or not there is a program."""
    value = ctypes.create_string_buffer(struct.pack("=II", ETHTOOL_SGRO, 1))
    request = struct.pack("16sQ8x", device.encode(), ctypes.addressof(value))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def set_threaded(device):
    try:
        with open(f"{SYSFS}/class/net/{device}/threaded", "w", encoding="ascii") as file:
            file.write("1")
    except FileNotFoundError:
        raise Failure("this kernel has no threads for packets (Linux 5.12)") from None


def mac_of(device):
    with open(f"{SYSFS}/class/net/{device}/address", encoding="ascii") as file:
        return file.read().strip()


def thread_of(device):
    """The kernel's thread that takes the packets of a device, or None."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().startswith(f"napi/{device}-"):
                    return int(pid)
    return None


class Pair:
    """A veth: the near end has an address for a server, and the far one is the generator's."""

    def __init__(self, pairs, number, is_realtime):
        self.pairs, self.is_realtime = pairs, is_realtime
        self.near, self.far = f"s{number}-{os.getpid()}", f"g{number}-{os.getpid()}"
        network = f"10.26.{number}"
        self.address, self.from_address = (f"{network}.1", PORT), f"{network}.2"
        tell("ip", "link", "add", self.near, "type", "veth", "peer", "name", self.far)
        for device in (self.near, self.far):
            set_gro(device)
            tell("ip", "link", "set", device, "addrgenmode", "none", "up")
            set_threaded(device)  # which a device keeps that is moved
        self.mac, far_mac = mac_of(self.near), mac_of(self.far)
        tell("ip", "link", "set", self.far, "netns", str(pairs.keeper.pid))
        tell("ip", "address", "add", f"{self.address[0]}/24", "dev", self.near)
        tell("ip", "link", "set", self.far, "up", network=pairs.network)
        tell("ip", "neighbour", "replace", self.from_address, "lladdr", far_mac, "dev", self.near,
             "nud", "permanent")
        os.sched_setscheduler(self._pinned(self.far, LOAD_CORE), os.SCHED_FIFO, os.sched_param(2))
        self.thread()

    @staticmethod
    def _pinned(device, core):
        try:
            pid = wait_for(lambda: thread_of(device), "it", THREAD_S)
        except AssertionError:
            raise Failure(f"no thread of the kernel for the packets of {device} is seen") from None
        os.sched_setaffinity(pid, {core})
        return pid

    def thread(self):
        """Of the near end. A program that is attached may have another begin."""
        pid = self._pinned(self.near, SERVER_CORE)
        if self.is_realtime:
            os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
        return pid

    def _prepare_load(self):
        os.sched_setaffinity(0, {LOAD_CORE})
        if self.is_realtime:
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))

    def load(self, options, questions, answers=None, seconds=None):
        """The figures of xdp-load; answers: what it has at the near end, "echo" or "drop"."""
        command = ["nsenter", f"--net={self.pairs.network}",
                   os.path.join(options.programs, "bench", "xdp-load", "xdp-load"),
                   "--seconds", str(seconds or options.seconds), "--window", str(options.window),
                   "--burst", str(options.burst)]
        if answers is not None:
            command += ["--far", f"/proc/{os.getpid()}/ns/net", self.near, "--with", answers]
        command += [self.far, self.mac, self.from_address, self.address[0], str(PORT), questions]
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120,
                                preexec_fn=self._prepare_load)
        if result.returncode != 0:
            raise Failure(result.stderr.strip() or f"xdp-load: {result.returncode}")
        return figures(result.stdout)


def figures(line):
    """{name: a number, or (of names with an answer, of those without)}"""
    found = {}
    for name, first, _, second in re.findall(r"(\w+)=([0-9.]+)(,([0-9]+))?", line):
        found[name] = (int(first), int(second)) if second else float(first)
    return found


class Pairs:
    """A second network, which ends with its keeper; and the pairs into it."""

    def __init__(self, start):
        """start(name, command): a harness.Process."""
        mount_own()
        tell("ip", "link", "set", "lo", "up")
        self.keeper = start("keeper", [harness.peer("unshare"), "--net", "sleep", "3600"])
        self.network = f"/proc/{self.keeper.pid}/ns/net"
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: os.readlink(self.network) != own, "a second network")
        self.count = 0

    def add(self, is_realtime=False):
        self.count += 1
        if self.count > PAIRS_MAX:
            raise Failure("too many servers")
        return Pair(self, self.count, is_realtime)
