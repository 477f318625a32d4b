#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/upstream-queries counts what it says, with a trace small enough for every run.

Two days of a few hundred lookups through each resolver that is installed: no answer is wrong or not
validated, neighbours save queries, and TTLs end when the clock is moved. Measures no time. Needs
root, for a network of its own, and Knot.
"""

import collections
import ipaddress
import os
import re
import subprocess
import sys
import unittest

from harness import BUILD, SOURCE, Case, main, peer

RESOLVERS = {"Unbound": "unbound", "BIND": "named", "Knot Resolver": "kresd",
             "PowerDNS Recursor": "pdns_recursor"}
BASE, PLAIN, BESIDE, BEST = ("classic, unsigned", "flat, signed", "flat, 4 neighbours",
                             "flat, as served")
LOOKUPS, BLOCKS, DAYS = 300, 150, 2
# It forgets ranges that have ended by a timer, which the clock of the trace does not move.
OWN_PACE = ("PowerDNS Recursor",)
# A tenth of the clients makes half of the lookups.
BUSY = 10


class UpstreamQueries(Case):
    def setUp(self):
        super().setUp()
        if subprocess.run(["unshare", "--net", "true"], check=False,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no network namespace can be made here")
        peer("knotd")
        self.resolvers = [name for name, program in RESOLVERS.items() if self.is_here(program)]
        if not self.resolvers:
            self.skipTest("no resolver is installed")

    def is_here(self, program):
        try:
            return peer(program)
        except unittest.SkipTest:
            return None

    def some_addresses(self, count):
        return [ipaddress.ip_address(self.random.randrange(20 << 24, 60 << 24))
                for _ in range(count)]

    def write_material(self):
        """Paths of a trace and a list; a tenth of the clients is listed."""
        clients = self.some_addresses(LOOKUPS // 2)
        busy = clients[-len(clients) // BUSY:]
        times = sorted(self.random.randrange(DAYS * 86400) for _ in range(LOOKUPS))
        trace = self.write("trace.tsv", "".join(
            f"{1400000000 + second}\t{self.random.choice(self.random.choice((clients, busy)))}\n"
            for second in times))
        listed = self.some_addresses(BLOCKS) + clients[:len(clients) // 10]
        return trace, self.write("list.txt", "".join(f"{one}\n" for one in listed))

    def run_bench(self, *arguments):
        environment = {key: value for key, value in os.environ.items()
                       if key != "DNSBLV6_NAMESPACE"}
        return subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/upstream-queries"), "--programs", BUILD,
             "--output", "-", *arguments], capture_output=True, text=True, check=False,
            timeout=250, env=environment)

    def test_every_answer_is_right_and_neighbours_save_queries(self):
        trace, path = self.write_material()
        together = ["the four together"] if len(self.resolvers) == len(RESOLVERS) else []
        chosen = [word for name in self.resolvers + together for word in ("--resolvers", name)]
        result = self.run_bench("--trace", trace, "--quiet", "60", "--only", "compressed", "--only",
                                "real clocks", "--kinds", BASE, "--kinds", PLAIN, "--kinds",
                                BESIDE, "--kinds", BEST, *chosen, path)
        self.assertIn(result.returncode, (0, 1), result.stderr)  # limits are of the real trace
        self.assertNotIn("answers wrong", result.stderr)
        self.assertRegex(result.stdout, r"(?m)^Of [0-9,]+ answers in \d+ runs 0 were wrong, 0 of them",
                         result.stderr)
        counts = collections.defaultdict(dict)
        for part, kind, name, queries in re.findall(
                r"(?m)^([^:]+): ([^:]+): ([^:]+): ([0-9,]+)$", result.stderr):
            counts[part, name][kind] = int(queries.replace(",", ""))
        for name in self.resolvers:
            with self.subTest(resolver=name):
                short = counts["compressed", name]
                self.assertLess(short[PLAIN], short[BASE])
                self.assertLess(short[BESIDE], short[PLAIN])
                self.assertLess(short[BEST], short[PLAIN])
                if name not in OWN_PACE:
                    hours = counts["real clocks, an hour", name]
                    self.assertLess(hours[BEST], hours[BESIDE])
                self.assertGreater(counts["real clocks", name][BEST], short[BEST])
                self.assertLess(counts["real clocks, an hour", name][BEST],
                                counts["real clocks", name][BASE])
                print(name, dict(short), counts["real clocks", name])

    def test_wrong_use_is_one_line(self):
        for arguments, word in ((["--first", "0"], "--first"), (["--only", "nowhere"], "nowhere"),
                                (["--resolvers", "dig"], "dig")):
            result = self.run_bench(*arguments)
            self.assertEqual(result.returncode, os.EX_USAGE)
            self.assertIn(word, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)


if __name__ == "__main__":
    main()
