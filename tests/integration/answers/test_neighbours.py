#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The proofs of a name's neighbours save queries, and no resolver takes them amiss.

Unbound, BIND, Knot Resolver and PowerDNS Recursor, each with the zone's DS as trust anchor and
empty caches, are asked about the same addresses in a flat zone whose server gives no neighbours,
and then some. Every answer is secure and what the list says; the servers count what
reached them.

Each resolver is skipped that is not installed.
"""

import ipaddress
import re
import signal
import socket
import struct

from harness import (AAAA, DEADLINE_S, IS_SANITIZED, NXDOMAIN, ZONE, Case, Reply, ask_all,
                     bitmap_name, host_index, is_bit_set, main, query)
from names import flat_name
from resolvers import VALIDATORS

NSEC, RRSIG, SOA = 47, 46, 6
RD_AD = 0x0120  # AD in a question asks for AD in the answer
DO = {"flags": RD_AD, "edns_size": 1232, "edns_flags": 0x8000}
BLOCKS, LOOKUPS = (300, 400) if IS_SANITIZED else (1000, 1500)
PLAIN = 2  # NSEC records of a denial: of the name, and of the wildcard
COOKIE = 10
# It answers from no NSEC of a zone that it was told the servers of, as here; bench/upstream-queries
# delegates the zone to it.
FORWARDERS = ("PowerDNS Recursor",)


def with_cookie(packet, cookie):
    """The same query, whose OPT without options is its end, with a COOKIE."""
    return packet[:-2] + struct.pack(">HHH", len(cookie) + 4, COOKIE, len(cookie)) + cookie


def cookie_of(wire):
    """The COOKIE in the OPT, which is its end, of a response."""
    return re.search(b"\x00\x0a\x00\x18(.{24})$", wire, re.DOTALL).group(1)


def exchange_tcp(address, packet):
    with socket.create_connection(address, DEADLINE_S) as tcp:
        tcp.sendall(struct.pack(">H", len(packet)) + packet)
        with tcp.makefile("rb") as stream:
            return stream.read(struct.unpack(">H", stream.read(2))[0])


class Neighbours(Case):
    def setUp(self):
        super().setUp()
        self.listed = self.random.sample(range(20 << 24, 100 << 24), BLOCKS)
        key = self.path("key.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        self.anchor = self.run_zone("ds", "--zone", ZONE, "--key", key).out.splitlines()[0]
        self.key = key
        self.build_style("flat")

    def build_style(self, style):
        self.build(self.path("bl6.mdb"), "--style", style, "--change-style", "--key", self.key,
                   self.write("list.txt", "".join(f"{ipaddress.ip_address(number)}\n"
                                                  for number in self.listed)))

    def serve_with(self, neighbours, *server_lines):
        return self.serve([(ZONE, self.path("bl6.mdb"), None, f"neighbours: {neighbours}")],
                          server_lines)

    def count(self, servers):
        pattern = r"^info: \[dnsblv6d\] counters, queries=(\d+)"
        total = 0
        for server in servers:
            seen = len(re.findall(pattern, server.log(), re.MULTILINE))
            server.send_signal(signal.SIGUSR1)
            total += int(server.wait_for_log(pattern, seen + 1)[-1])
        return total

    # ---- resolvers ----

    def check(self, resolver, address, lookups, name_of=flat_name):
        questions = [(name_of(host, ZONE), AAAA) for host in lookups]
        listed = set(self.listed)
        wrong = []
        for host, reply in zip(lookups, ask_all(address, questions, window=4, retries=5,
                                                retry_s=3, flags=RD_AD)):
            said = reply and (reply.rcode != NXDOMAIN
                              and is_bit_set(reply.rdata(AAAA)[0], host_index(host)))
            if not reply or not reply.is_authentic or said != (int(host) in listed):
                wrong.append((str(host), reply and reply.rcode, reply and reply.is_authentic))
        self.assertEqual(wrong[:5], [], f"{resolver}: {len(wrong)} of {len(lookups)} wrong")

    def measure(self, resolver, neighbours, lookups):
        """Queries that reach the servers, of which there are two as zones have them."""
        servers = [self.serve_with(neighbours, "rate-limit: 100000") for _ in range(2)]
        address = VALIDATORS[resolver](self, servers, [self.anchor])
        before = self.count(servers)
        self.check(resolver, address, lookups)
        return self.count(servers) - before

    def test_every_resolver_asks_less_and_finds_all_secure(self):
        lookups = [ipaddress.ip_address(self.random.choice(self.listed)
                                        if self.random.random() < 0.1
                                        else self.random.randrange(20 << 24, 100 << 24))
                   for _ in range(LOOKUPS)]
        for resolver in VALIDATORS:
            with self.subTest(resolver=resolver):
                counts = [self.measure(resolver, neighbours, lookups) for neighbours in (0, 1, 4)]
                print(f"{resolver}: {counts} of {LOOKUPS} with 0, 1 and 4 neighbours")
                if resolver in FORWARDERS:
                    continue
                self.assertLess(counts[1], 0.85 * counts[0])
                self.assertLess(counts[2], counts[1])

    def test_beside_dotted_names_every_answer_is_secure_and_right(self):
        """Flat names of a zone that has both have neighbours, and dotted ones have none."""
        self.build_style("both")
        lookups = [ipaddress.ip_address(self.random.choice(self.listed)
                                        if self.random.random() < 0.2
                                        else self.random.randrange(1 << 24, 120 << 24))
                   for _ in range(LOOKUPS // 2)]
        servers = [self.serve_with(4, "rate-limit: 100000")]
        for resolver, start in VALIDATORS.items():
            with self.subTest(resolver=resolver):
                address = start(self, servers, [self.anchor])
                self.check(resolver, address, lookups[::2])
                self.check(resolver, address, lookups, bitmap_name)
                self.check(resolver, address, lookups)
        flat, dotted = ([self.count_nsecs(servers[0], name_of(host, ZONE)) for host in lookups[:50]]
                        for name_of in (flat_name, bitmap_name))
        self.assertGreater(max(flat), PLAIN)
        self.assertLessEqual(max(dotted), PLAIN)

    def test_dotted_names_cut_few_ranges_of_flat_ones(self):
        """Behind a resolver flat names beside dotted ones cost about what they cost alone."""
        resolver = next(name for name in VALIDATORS if name not in FORWARDERS)
        lookups = [ipaddress.ip_address(self.random.randrange(20 << 24, 100 << 24))
                   for _ in range(LOOKUPS)]
        alone = self.measure(resolver, 0, lookups)
        self.build_style("both")
        beside = self.measure(resolver, 0, lookups)
        print(f"{resolver}: {alone} queries with flat names, {beside} with dotted ones beside them")
        # One more for each first label of a dotted name, and what a busy machine asks again.
        self.assertLess(beside, alone * 1.1 + 80)

    def count_nsecs(self, server, name):
        reply = Reply(exchange_tcp(server.address, query(name, AAAA, **DO)))
        return sum(record.type == NSEC for record in reply.authority)

    # ---- clients ----

    def nsecs(self, wire):
        """How many NSEC records; each has its signature behind it, and nothing is cut."""
        reply = Reply(wire)
        self.assertEqual(reply.rcode, NXDOMAIN)
        self.assertLessEqual(len(wire), 1232)
        types = [record.type for record in reply.authority]
        self.assertEqual(types, [SOA, RRSIG] + [NSEC, RRSIG] * (len(types) // 2 - 1))
        return types.count(NSEC)

    def unlisted(self, **how):
        return query(flat_name(ipaddress.ip_address(120 << 24), ZONE), AAAA,
                     self.random.randrange(65536), **{**DO, **how})

    def ask_udp(self, server, packet):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.settimeout(DEADLINE_S)
            udp.sendto(packet, server.address)
            return udp.recv(65535)

    def test_neighbours_are_for_those_whose_address_is_not_forged(self):
        server = self.serve_with(16, "rate-limit: 0")
        packet = self.unlisted()
        self.assertEqual(self.nsecs(self.ask_udp(server, packet)), PLAIN)
        self.assertGreater(self.nsecs(exchange_tcp(server.address, packet)), PLAIN)
        first = self.ask_udp(server, with_cookie(packet, b"12345678"))
        self.assertEqual(self.nsecs(first), PLAIN)
        good = cookie_of(first)
        self.assertGreater(self.nsecs(self.ask_udp(server, with_cookie(packet, good))), PLAIN)
        forged = good[:-1] + bytes([good[-1] ^ 1])
        self.assertEqual(self.nsecs(self.ask_udp(server, with_cookie(packet, forged))), PLAIN)

    def test_a_network_near_its_rate_limit_gets_plain_answers(self):
        # Buckets of four; one token an answer and seven for neighbours: half of it is for two.
        server = self.serve_with(4, "rate-limit: 8")
        counts = [self.nsecs(self.ask_udp(server, self.unlisted())) for _ in range(8)]
        self.assertGreater(counts[0], PLAIN)
        self.assertEqual(counts[-1], PLAIN)

    def test_an_answer_is_as_large_as_its_client_takes(self):
        server = self.serve_with(16, "rate-limit: 0")
        cookie = cookie_of(self.ask_udp(server, with_cookie(self.unlisted(), b"12345678")))
        last = 0
        for size in (700, 900, 1000, 1232, 4096):
            wire = self.ask_udp(server, with_cookie(self.unlisted(edns_size=size), cookie))
            self.assertLessEqual(len(wire), size)
            count = self.nsecs(wire)
            self.assertGreaterEqual(count, last)
            last = count
        self.assertGreater(last, PLAIN)


if __name__ == "__main__":
    main()
