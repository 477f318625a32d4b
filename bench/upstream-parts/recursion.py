# SPDX-License-Identifier: GPL-3.0-or-later
"""
recursion.py - four resolvers that find a zone from a root server down, on a clock that is moved.

Flow: upstream-queries enters a network of its own -> root_server() delegates both zones to
      AUTHORITIES -> an authority is started there (kinds.py) -> resolver() is started in front
      of it, each time anew, with a Clock.

The resolvers are Debian's, configured as tests/integration/base/resolvers.py has it: as they come,
but for their places, root server and trust anchor. They see the clock through shifted_clock.c.
"""
import contextlib
import mmap
import os
import socket
import struct
import subprocess
import sys
import time

from replays import Failure  # of bench
import harness  # found by replays.py
import resolvers  # beside harness.py
from harness import CLASSIC, ZONE, wait_for
from resolvers import write_into

CHAOS = 3  # the class
ROOT_ADDRESS = "192.0.2.1"
# Two: PowerDNS Recursor 4.8 now and then fails to read from a socket, and then asks the other.
AUTHORITIES = (("192.0.2.2", 53), ("192.0.2.3", 53))
SERVERS = ("ns1.example.", "ns2.example.")
# What each resolver asks from, as those of different sites do.
SOURCES = {"Unbound": "192.0.2.17", "BIND": "198.51.100.17", "Knot Resolver": "203.0.113.17",
           "PowerDNS Recursor": "192.0.2.129"}
# TTLs of the zones above are those of top-level domains.
ROOT_ZONE = (". 86400 SOA a.root. nobody.root. 1 3600 600 86400 3600\n. 518400 NS a.root.\n"
             f"a.root. 518400 A {ROOT_ADDRESS}\n"
             + "".join(f"{zone} 172800 NS {server}\n" for zone in (ZONE, CLASSIC)
                       for server in SERVERS)
             + "".join(f"{server} 172800 A {host}\n"
                       for server, (host, _) in zip(SERVERS, AUTHORITIES)))
# Of a name that is not asked about: every one of them validates, whatever the zone is.
NO_ANCHOR = f"never.example. IN DS 1 13 2 {'00' * 32}"
HINTS = f". 518400 NS a.root.\na.root. 518400 A {ROOT_ADDRESS}\n"
ROOT_CONFIG = """
server:
    rundir: "{directory}"
    listen: "{host}@53"
    udp-workers: 1
database:
    storage: "{directory}"
log:
  - target: stderr
    any: info
zone:
  - domain: "."
    file: "{directory}/root.zone"
"""


def enter_namespace():
    """This process anew, alone with its network; returns in the new one."""
    if os.environ.get("DNSBLV6_NAMESPACE") == "1":
        for command in (["link", "set", "lo", "up"],
                        *(["address", "add", f"{host}/32", "dev", "lo"]
                          for host in (ROOT_ADDRESS, *(host for host, _ in AUTHORITIES),
                                       *SOURCES.values()))):
            subprocess.run([harness.peer("ip"), *command], check=True)
        return
    if subprocess.run(["unshare", "--net", "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        raise Failure("no network namespace can be made here: run it as root")
    os.environ["DNSBLV6_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


class Clock:
    """How far the clock of resolvers, and of what they ask, is ahead of the machine's."""

    def __init__(self, bench):
        self.path = bench.write("clock", "\0" * 8)
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 8)
        self.library = os.path.join(bench.programs, "bench", "shifted_clock.so")
        self.begin()

    def begin(self):
        """For what has not been started: its clock is the machine's."""
        self.started_s, self.ahead_s = time.monotonic(), 0
        self.write()

    def write(self):
        struct.pack_into("q", self.memory, 0, int(self.ahead_s * 1e9))

    def move_to(self, second, address):
        """
        So many seconds have passed since begin(), or more when that took longer. The resolver at
        address sees it before the next question: Unbound goes by the time at which it has begun to
        read a socket, which may be before it sent the last answer. That it answers over TCP says
        that it has left that socket.
        """
        ahead_s = second - (time.monotonic() - self.started_s)
        if ahead_s <= self.ahead_s:
            return
        self.ahead_s = ahead_s
        self.write()
        with socket.create_connection(address, harness.DEADLINE_S) as tcp:
            # No place of a connection is kept for the sake of one that has ended.
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            tcp.sendall(harness.framed(harness.query("version.bind.", harness.TXT, rrclass=CHAOS)))
            if not tcp.recv(2):
                raise Failure(f"the resolver at {address} says nothing over TCP")

    def environment(self):
        return dict(os.environ, LD_PRELOAD=self.library, DNSBLV6_CLOCK_FILE=self.path)


class Place:
    """What resolvers.py wants of a test: a directory, ports, and programs that end with it."""

    host = resolvers.BIND_HOST

    def __init__(self, bench, clock):
        self.directory = bench.new_path("place")
        os.mkdir(self.directory)
        self.bench, self.clock, self.processes = bench, clock, []

    def path(self, name):
        return os.path.join(self.directory, name)

    def free_port(self, host):
        return self.bench.free_address(host)[1]

    def start(self, arguments, name, **how):
        if self.clock:
            how["env"] = self.clock.environment()
        process = harness.Process(arguments, self.path(name + ".log"), **how)
        self.processes.append(process)
        return process

    def stop(self):
        for process in self.processes:
            process.stop()


@contextlib.contextmanager
def placed(bench, clock=None):
    place = Place(bench, clock)
    try:
        yield place
    finally:
        place.stop()


@contextlib.contextmanager
def root_server(bench):
    with placed(bench) as place:
        where = {"directory": place.directory, "host": ROOT_ADDRESS}
        write_into(where, "root.zone", ROOT_ZONE)
        process = place.start([harness.peer("knotd"), "-c", write_into(
            where, "knot.conf", ROOT_CONFIG.format(**where))], "knotd")
        wait_for(lambda: "server started" in process.log() or process.popen.poll(),
                 "the root server to start")
        yield


# ---- resolvers; anchors as resolvers.py has them ----


def start_unbound(place, where, anchors):
    lines = ['module-config: "validator iterator"',
             f"root-hints: {write_into(where, 'hints', HINTS)}",
             f"outgoing-interface: {where['source']}",
             *(f'trust-anchor: "{anchor}"' for anchor in anchors)]
    resolvers.run_unbound(place, where, resolvers.UNBOUND.format(**where,
                                                                 lines="\n    ".join(lines)))


def start_bind(place, where, anchors):
    resolvers.run_bind(place, where, HINTS, anchors, [f"query-source address {where['source']};"])


def start_kresd(place, where, anchors):
    resolvers.run_kresd(place, where, anchors, [
        "modules.load('hints > iterate')", f"hints.root({{ ['a.root.'] = '{ROOT_ADDRESS}' }})",
        f"net.outgoing_v4('{where['source']}')"])


def start_recursor(place, where, anchors):
    resolvers.run_recursor(place, where, anchors, [f"query-local-address={where['source']}"],
                           write_into(where, "hints", HINTS))


RESOLVERS = {"Unbound": start_unbound, "BIND": start_bind, "Knot Resolver": start_kresd,
             "PowerDNS Recursor": start_recursor}
PROGRAMS = {"Unbound": "unbound", "BIND": "named", "Knot Resolver": "kresd",
            "PowerDNS Recursor": "pdns_recursor"}


@contextlib.contextmanager
def resolver(bench, name, anchors, clock):
    """Its address; it has nothing in its caches."""
    clock.begin()
    with placed(bench, clock) as place:
        where = resolvers.prepare(place, host=place.host) | {"source": SOURCES[name]}
        RESOLVERS[name](place, where, anchors or [NO_ANCHOR])
        yield resolvers.wait_until_it_answers(where)
