#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
libdnsblv6 asks dnsblv6d itself, and the server counts what it is asked.

A list in dotted and in flat names, signed and unsigned, as a classic zone, and
below a sub-zone: each sampled address gets the verdict that the list gives it, over
IPv4 and IPv6, and no block costs more than one question. What happens when the server
stops, is started again, or serves another list is seen from the client's side.
"""

import os
import signal

from binding import dnsblv6
from harness import ANY_SIZE, CLASSIC, ZONE, Case, main, wait_for
from lookups import PATIENCE_S, count_queries
from oracle import BLOCK, Oracle

LOOKUPS = 4000
PROBE_MAX = 16  # questions that a probe of one zone may cost
LIST = ("192.0.2.1 192.0.2.66 192.0.2.128/25 198.51.100.0/24 203.0.112.0/20 45.9.0.0/16"
        " 2a00:1:2:40::/58 2001:db8:bad::/64 2001:db8:1::/48").split()


def block_of(address):
    return address.version, int(address) >> (address.max_prefixlen - BLOCK[address.version])


class Direct(Case):
    def setUp(self):
        super().setUp()
        self.oracle = Oracle()
        self.lines = LIST + [f"{20 + self.random.randrange(80)}.{self.random.randrange(256)}."
                             f"{self.random.randrange(256)}.{self.random.randrange(256)}"
                             for _ in range(3000)]
        for line in self.lines:
            self.oracle.add_text(line)

    def serve_list(self, *options):
        return self.serve_lists(*options, self.write("list", "\n".join(self.lines) + "\n"))

    def serve_lists(self, *options_and_lists):
        self.build(self.path("bl6.mdb"), *ANY_SIZE, *options_and_lists)
        self.address = self.free_address()
        return self.start_server()

    def start_server(self):
        return self.serve(address=self.address,
                          server_lines=(f"control: {self.path('ctl')}",))

    def client(self, zones, **options):
        # Neighbours of what is listed may be private ones.
        client = dnsblv6.Client(zones, servers="{}@{}".format(*self.address), scope="all",
                                **{"attempt_timeout": PATIENCE_S * 1000, **options})
        self.addCleanup(client.close)
        return client

    def queries(self):
        return count_queries(self)

    def check_all(self, client, addresses):
        wrong = []
        for start in range(0, len(addresses), 500):
            part = addresses[start:start + 500]
            for address, result in zip(part, client.check_batch(part, timeout=60)):
                expected = dnsblv6.LISTED if self.oracle.is_listed(address) else dnsblv6.CLEAR
                if result.verdict != expected and not self.oracle.is_canary(address):
                    wrong.append(f"{address} {result.verdict_name}")
        self.assertEqual(wrong, [])

    # ---- what the list says ----

    def compare(self, *options):
        self.serve_list(*options)
        client = self.client(ZONE, cache_size="16M")
        addresses = self.oracle.sample(LOOKUPS, self.random.randrange(1 << 30))
        self.check_all(client, addresses)
        blocks = len({block_of(address) for address in addresses})
        asked = self.queries()
        self.assertLessEqual(asked, blocks + PROBE_MAX + 2 * client.stats()["looks"])
        self.assertEqual([zone.state for zone in client.zones()], ["ok"])
        self.check_all(client, addresses)
        self.assertEqual(self.queries(), asked, "asked again for what is cached")

    def test_dotted_names(self):
        self.compare()

    def test_flat_names(self):
        self.compare("--style", "flat")

    def test_dotted_names_and_flat_ones_of_ipv4(self):
        self.compare("--style", "both")

    def test_dotted_and_flat_names(self):
        self.compare("--style", "both6")

    def compare_signed(self, style):
        key = self.path("key.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        self.compare("--style", style, "--key", key)

    def test_a_signed_zone_with_dotted_names(self):
        self.compare_signed("dotted")

    def test_a_signed_zone_with_flat_names(self):
        self.compare_signed("flat")

    def test_a_signed_zone_with_dotted_names_and_flat_ones_of_ipv4(self):
        self.compare_signed("both")

    def test_a_signed_zone_with_dotted_and_flat_names(self):
        self.compare_signed("both6")

    def test_the_classic_zone_of_the_list(self):
        self.serve_list()
        client = self.client(CLASSIC, cache_size="16M")
        self.check_all(client, self.oracle.sample(LOOKUPS // 4, self.random.randrange(1 << 30)))
        zone = client.zones()[0]
        self.assertEqual((zone.state, bool(zone.is_bitmap)), ("ok", False))

    def test_a_sub_zone_is_a_zone(self):
        listed = [line for line in self.lines if ":" not in line]
        text = "$DATASET ip4set:some dialups\n" + "\n".join(listed) + "\n"
        self.serve_lists("combined:" + self.write("combined", text))
        client = self.client("dialups." + ZONE, cache_size="16M")
        addresses = [address for address in
                     self.oracle.sample(LOOKUPS // 4, self.random.randrange(1 << 30))
                     if address.version == 4]
        self.check_all(client, addresses)
        self.assertEqual([zone.state for zone in client.zones()], ["ok"])
        self.assertEqual(self.client(ZONE).check("192.0.2.1").verdict, dnsblv6.CLEAR)

    # ---- what it costs ----

    def test_the_second_address_of_a_block_causes_no_question(self):
        self.serve_list()
        client = self.client(ZONE)
        for first, second in (("192.0.2.1", "192.0.2.66"), ("44.1.1.1", "44.1.1.100"),
                              ("2001:db8:bad::1", "2001:db8:bad:7::1")):
            with self.subTest(first):
                result = client.check(first)
                self.assertGreater(result.queries, 0)
                asked = self.queries()
                result = client.check(second)
                self.assertEqual((result.queries, result.cached), (0, (ZONE.rstrip("."),)))
                self.assertEqual(self.queries(), asked)
                self.assertIsNotNone(client.peek(second))

    # ---- the server comes and goes ----

    def test_a_server_that_stops_lists_nobody_new_and_is_found_again(self):
        server = self.serve_list()
        lines = []
        client = self.client(ZONE, failure_ttl=5, attempt_timeout=100,
                             log=lambda level, line: level < 7 and lines.append(line))
        self.assertTrue(client.check("192.0.2.1").is_listed)
        self.assertEqual(server.stop(), 0)
        result = client.check("198.51.100.1", timeout=2)
        self.assertEqual((result.verdict, result.failed), (dnsblv6.UNKNOWN, (ZONE.rstrip("."),)))
        self.assertTrue(client.check("192.0.2.66").is_listed, "it was cached")

        self.start_server()
        wait_for(lambda: client.check("198.51.100.1", timeout=2).is_listed, "a new answer")
        self.assertEqual([line for line in lines if "wildcarded" in line or "world" in line], [])

    def test_a_server_that_is_stopped_in_its_tracks_costs_the_deadline_and_no_more(self):
        server = self.serve_list()
        client = self.client(ZONE)
        self.assertTrue(client.check("192.0.2.1").is_listed)
        for child in [*server.children(), server.pid]:
            os.kill(child, signal.SIGSTOP)
        try:
            result = client.check("198.51.100.1", timeout=0.3)
        finally:
            for child in [server.pid, *server.children()]:
                os.kill(child, signal.SIGCONT)
        self.assertEqual(result.verdict, dnsblv6.UNKNOWN)
        self.assertGreaterEqual(result.elapsed_us, 299000)
        wait_for(lambda: client.check("198.51.100.1", timeout=5).is_listed, "an answer again")

    def test_a_zone_that_the_server_refuses_is_blocked(self):
        self.serve_list()
        client = self.client("elsewhere.example")  # a zone that this server does not have
        result = client.check("192.0.2.1")
        self.assertEqual(result.verdict, dnsblv6.UNKNOWN)
        self.assertEqual(client.zones()[0].state, "blocked")


if __name__ == "__main__":
    main()
