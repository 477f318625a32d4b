# SPDX-License-Identifier: GPL-3.0-or-later
"""
limits.py - dnsblv6d with limits for its clients, and floods out of networks of a test's choice.

Flow: test_limits.py and bench/rate-limit -> Limits starts the server -> flood() and Flood send more
      than is permitted; counters() are what the server has counted.
"""

import re
import select
import signal
import socket
import struct
import subprocess
import threading

from harness import (AAAA, CLASSIC, DEADLINE_S, SOA, ZONE, Case, Reply, Server, config_text, exchange, peer, query)

LISTED = f"0.2.0.192.{ZONE}"
# Of a zone that is asked for nothing: Knot Resolver wants one.
ANCHOR = f"signed.example. IN DS 1 13 2 {'00' * 32}"


def option(code, data=b""):
    return struct.pack(">HH", code, len(data)) + data


def with_options(name, rrtype, options, ident=7):
    packet = query(name, rrtype, ident, edns_size=1232)
    return packet[:-2] + struct.pack(">H", len(options)) + options


def ask_from(source, address, packet, timeout_s=DEADLINE_S):
    """The bytes that come back to source, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind((source, 0))
        udp.connect(address)
        udp.settimeout(timeout_s)
        udp.send(packet)
        try:
            return udp.recv(65535)
        except TimeoutError:
            return None


def flood(source, address, packets, sockets=1):
    """Sends packets from source, then what came back until a question from elsewhere is answered."""
    udps = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(sockets)]
    replies = []
    try:
        for udp in udps:
            udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
            udp.bind((source, 0))
            udp.connect(address)
            udp.setblocking(False)
        for number, packet in enumerate(packets):
            udps[number % sockets].send(packet)
            if number % 64 == 63:  # so that the server's buffer does not overflow
                exchange(address, query(ZONE, SOA, 1))
        exchange(address, query(ZONE, SOA, 1))
        while select.select(udps, [], [], 0)[0]:
            for udp in select.select(udps, [], [], 0)[0]:
                replies.append(Reply(udp.recv(65535)))
    finally:
        for udp in udps:
            udp.close()
    return replies


class Limits(Case):
    HAS_LIMIT = False  # without a word

    def setUp(self):
        super().setUp()
        octets = self.host.split(".")
        # Networks other than that of the tests' own questions.
        self.flooder = f"127.{octets[1]}.251.9"
        self.neighbour = f"127.{octets[1]}.251.200"
        self.stranger = f"127.{octets[1]}.252.9"
        self.store = self.path("bl6.mdb")
        self.build(self.store, self.write("list", "192.0.2.1\n198.51.100.0/24\n"))

    def tool(self, name, *arguments, source=None):
        """dig or the like against self.server; standard output."""
        call = [peer(name), f"@{self.server.address[0]}", "-p", str(self.server.address[1])]
        call += ["-b", source] if source else []
        return subprocess.run([*call, *arguments], capture_output=True, check=False, timeout=60,
                              text=True).stdout

    def start_server(self, *lines, sections="", zone_lines=(), address=None, **how):
        address = address or self.free_address()
        config = self.write(f"dnsblv6d-{address[1]}.conf",
                            self.text(address, lines, sections, zone_lines))
        self.server = Server(config, address, self.path(f"dnsblv6d-{len(self.processes)}.log"),
                             **how)
        self.processes.append(self.server)
        return self.server.wait_until_ready()

    def text(self, address, lines, sections="", zone_lines=()):
        text = config_text(address, [(ZONE, self.store, CLASSIC)], lines, self.HAS_LIMIT)
        return sections + text + "".join(f"    {line}\n" for line in zone_lines)

    def counters(self):
        """Of the server, as they are now."""
        pattern = r"^info: \[dnsblv6d\] counters, .*$"
        before = len(re.findall(pattern, self.server.log(), re.MULTILINE))
        self.server.send_signal(signal.SIGUSR1)
        line = self.server.wait_for_log(pattern, before + 1)[-1]
        return {key: int(value) for key, value in re.findall(r"([\w-]+)=(\d+)", line)}


class Flood:
    """More questions a second than any default permits, in the name of one network, until it ends."""

    def __init__(self, source, address):
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((source, 0))
        self.udp.connect(address)
        self.udp.setblocking(False)
        self.is_over = False
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        while not self.is_over:
            for number in range(100):
                try:
                    self.udp.send(query(LISTED, AAAA, number))
                except (BlockingIOError, ConnectionRefusedError):
                    pass
            select.select([self.udp], [], [], 0.005)
            try:
                while True:
                    self.udp.recv(65535)
            except (BlockingIOError, ConnectionRefusedError):
                pass

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        self.udp.close()
