# SPDX-License-Identifier: GPL-3.0-or-later
"""
xdpservers.py - the servers that bench/xdp asks, each at an end of a veth of its own.

Flow: bench/xdp -> Bench and Material, as bench/serve has them -> arms() starts all of them, and each
      is at rest until it is its turn.
"""
import collections
import contextlib
import ctypes
import importlib.machinery
import importlib.util
import os
import re
import socket
import struct

from pairs import Pairs  # beside this file
from replays import ROOT, Failure  # of bench
import harness  # found by replays.py
from harness import wait_for

loader = importlib.machinery.SourceFileLoader("serve", os.path.join(ROOT, "bench", "serve"))
serve = importlib.util.module_from_spec(importlib.util.spec_from_loader("serve", loader))
loader.exec_module(serve)

KINDS = serve.KINDS
LISTED, NOT_LISTED, MIXED = KINDS
DROP, ECHO, SAME = "the question alone, dropped", "bare echo", "the same answer to all"
OURS, SOCKETS, RBLDNSD, KNOT = "dnsblv6d", "dnsblv6d, sockets", "rbldnsd, sockets", "knotd, AF_XDP"
NAMES = (DROP, ECHO, SAME, OURS, SOCKETS, RBLDNSD, KNOT)
SIGNED_NAMES = tuple(name for name in NAMES if name not in (RBLDNSD, SAME))

PIDFD_GETFD, SO_RCVBUFFORCE, BUFFER = 438, 33, 4 << 20  # the first is the same on all machines
libc = ctypes.CDLL(None, use_errno=True)

# A server at its pair; answers: what xdp-load has there instead ("echo", "answer", "drop"), of no process.
Arm = collections.namedtuple("Arm", "name is_signed is_classic pair pids answers")


class Bench(serve.Bench):
    """A server has the address of a pair that is made for it."""

    def __init__(self, options, stack):
        super().__init__(options, stack)
        self.pair = None
        self.pairs = Pairs(lambda name, command: stack.enter_context(self.started(name, command)))

    def free_address(self):
        return self.pair.address

    def new_pair(self):
        self.pair = self.pairs.add(self.options.realtime)
        return self.pair


class Material(serve.Material):
    """Questions whose identifier says whether their name has an answer, for xdp-load."""

    def questions(self, kind, is_signed, is_classic, cookie=b""):
        path = self.bench.path(f"{kind}-{is_signed}-{is_classic}".replace(" ", "-"))
        if not os.path.exists(path):
            name, rrtype = ((harness.classic_name, harness.A) if is_classic
                            else (harness.bitmap_name, harness.AAAA))
            edns = {"edns_size": 1232, "edns_flags": 0x8000} if is_signed else {}
            packets = [harness.query(name(one), rrtype, has_answer(kind, index), flags=0, **edns)
                       for index, one in enumerate(self.addresses[kind])]
            self.bench.write(os.path.basename(path),
                             b"".join(struct.pack(">H", len(one)) + one for one in packets))
        return path


def has_answer(kind, index):
    """The mixed ones are listed and not listed in turn."""
    return int(kind == LISTED or (kind == MIXED and index % 2 == 0))


# ---- sockets ----


def datagrams():
    """How many sockets have read, of all in this network."""
    with open("/proc/self/net/snmp", encoding="ascii") as file:
        names, values = [line.split()[1:] for line in file if line.startswith("Udp: ")]
    return int(dict(zip(names, values))["InDatagrams"])


def widen_buffers(pid):
    """Of the sockets of another process, whose own may hold less than a window of questions."""
    process = os.pidfd_open(pid)
    try:
        for name, link in links_of(pid):
            if link.startswith("socket:"):
                widen_buffer(process, int(name))
    finally:
        os.close(process)


def links_of(pid):
    directory = f"/proc/{pid}/fd"
    for name in os.listdir(directory):
        yield name, os.readlink(os.path.join(directory, name))


def widen_buffer(process, number):
    fd = libc.syscall(PIDFD_GETFD, process, number, 0)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    with socket.socket(fileno=fd) as one:
        one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)


# ---- servers; each is a context that gives its process, or None ----


@contextlib.contextmanager
def nothing(*_):
    yield None


@contextlib.contextmanager
def dnsblv6d(bench, material, name, is_signed):
    with serve.dnsblv6d(bench, name, material.stores[is_signed]) as (_, process):
        yield process


def answers_in_driver(bench, questions, process):
    """A moment's questions: does none of them reach a socket?"""
    refusal = re.search(r"(?m)^(?:warning|error): \[xdp\] .*", process.log())
    if refusal:
        raise Failure(refusal.group())
    before = datagrams()
    said = bench.pair.load(bench.options, questions, seconds=0.02)
    return said["answered"] > 0 and datagrams() == before


@contextlib.contextmanager
def dnsblv6d_xdp(bench, material, name, is_signed):
    section = f"xdp:\n    interface: [ {bench.pair.near} ]\n    mode: driver\n"
    with serve.dnsblv6d(bench, name, material.stores[is_signed], sections=section) as (_, process):
        questions = material.questions(MIXED, is_signed, False)
        wait_for(lambda: answers_in_driver(bench, questions, process), "answers in the driver")
        yield process


@contextlib.contextmanager
def rbldnsd(bench, material, name, _is_signed):
    with serve.rbldnsd(bench, name, material.list) as (_, process):
        widen_buffers(process.pid)
        yield process


KNOT_XDP = """
xdp:
    listen: {device}@{port}
    udp: on
    tcp: off
"""


@contextlib.contextmanager
def knotd(bench, material, name, is_signed):
    address, device = bench.pair.address, bench.pair.near
    text = serve.KNOT + KNOT_XDP.format(device=device, port=address[1])
    with serve.peer(bench, name, "knotd", text, ["-c"], material.zone_files[is_signed],
                    False) as (_, process):
        process.wait_for_log(f"initialized XDP interface {device}, .*native mode")
        yield process


STARTS = {DROP: nothing, ECHO: nothing, SAME: nothing, OURS: dnsblv6d_xdp, SOCKETS: dnsblv6d, RBLDNSD: rbldnsd,
          KNOT: knotd}
ANSWERS = {DROP: "drop", ECHO: "echo", SAME: "answer"}


def start(bench, material, name, is_signed):
    """An Arm, until the benchmark ends."""
    pair = bench.new_pair()
    label = f"{name}-{'signed' if is_signed else 'plain'}".replace(" ", "-").replace(",", "")
    process = bench.stack.enter_context(STARTS[name](bench, material, label, is_signed))
    pids = tuple(serve.tree_of(process.pid)) if process is not None else ()
    return Arm(name, is_signed, name == RBLDNSD, pair, pids, ANSWERS.get(name))


# ---- what came back ----


def is_as_asked(said, is_signed):
    """Every answer is that of its name, and where there are signatures they are in it."""
    listed, others = said["filled"][0], said["denied"][1]
    if listed + others != said["answered"]:
        return False
    of_listed, of_others = said["records"]
    if is_signed:
        return of_listed >= 2 * listed and of_others >= 4 * others
    return of_listed >= listed


def check(arm, kind, said, count):
    """Wrong answers would be cheap ones. count: of datagrams that sockets have read."""
    if said["answered"] < said["sent"] * 0.99 or said["answered"] == 0:
        raise Failure(f"too many lost, {said}")
    if arm.answers == "echo":
        is_right = sum(said["echoed"]) == said["answered"]
    elif arm.answers == "answer":
        is_right = sum(said["filled"]) == said["answered"]
    else:
        is_right = arm.answers == "drop" or is_as_asked(said, arm.is_signed)
    if not is_right:
        raise Failure(f"wrong answers, {kind}: {said}")
    if arm.name in (OURS, KNOT) and count > said["answered"] * 0.01:
        raise Failure(f"{count} questions reached a socket, {kind}: {said}")
