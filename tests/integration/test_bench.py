#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The trace generator keeps its word, on a trace small enough for every run.

Counts are exact, time never runs backwards, the hit ratios of this file's own
cache are the asked ones, equal seeds give equal bytes, wrong options are
refused. Needs nothing but Python; measures nothing.
"""

import ipaddress
import os
import subprocess
import sys
import tempfile
import unittest

from harness import EX_USAGE, SOURCE, main

SMALL = ("--connections", "6000", "--addresses", "1200", "--prefixes", "540")


def generate(*arguments):
    return subprocess.run([sys.executable, os.path.join(SOURCE, "bench/trace-gen"), *arguments],
                          capture_output=True, text=True, check=False, timeout=100)


def hit_ratio(trace, ttl_s, prefix_len):
    fetched, hits = {}, 0
    for second, address in trace:
        key = ipaddress.ip_network((address, prefix_len), strict=False)
        if key in fetched and second < fetched[key] + ttl_s:
            hits += 1
        else:
            fetched[key] = second
    return hits / len(trace)


class TraceGen(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = generate(*SMALL, "--seed", "7")
        rows = (line.split("\t") for line in cls.result.stdout.splitlines())
        cls.trace = [(int(second), address) for second, address in rows]

    def test_counts_are_exact(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        addresses = {ipaddress.IPv4Address(address) for _, address in self.trace}
        self.assertEqual(len(self.trace), 6000)
        self.assertEqual(len(addresses), 1200)
        self.assertEqual(len({int(address) >> 8 for address in addresses}), 540)
        self.assertEqual([a for a in addresses if not a.is_global or a.is_multicast], [])

    def test_time_never_runs_backwards(self):
        seconds = [second for second, _ in self.trace]
        self.assertEqual(seconds, sorted(seconds))
        self.assertLessEqual(seconds[-1] - seconds[0], 60 * 86400)

    def test_hit_ratios_are_the_papers(self):
        self.assertAlmostEqual(hit_ratio(self.trace, 86400, 32), 0.738, delta=0.001)
        self.assertAlmostEqual(hit_ratio(self.trace, 86400, 25), 0.839, delta=0.001)

    def test_equal_seeds_give_equal_bytes_and_others_do_not(self):
        self.assertEqual(generate(*SMALL, "--seed", "7").stdout, self.result.stdout)
        self.assertNotEqual(generate(*SMALL, "--seed", "8").stdout, self.result.stdout)

    def test_a_list_holds_every_client(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "list.txt")
            result = generate(*SMALL, "--seed", "7", "--list", path)
            self.assertEqual(result.stdout, self.result.stdout)
            with open(path, encoding="ascii") as file:
                listed = set(file.read().split())
        self.assertEqual({address for _, address in self.trace} - listed, set())
        self.assertGreater(len(listed), 1200)

    def test_a_ratio_out_of_reach_is_said(self):
        result = generate(*SMALL, "--address-hits", "83.8", "--block-hits", "83.9")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"hits of a cache of addresses.*MISSED")

    def test_impossible_counts_are_refused(self):
        for arguments in (("--addresses", "5", "--prefixes", "9"), ("--max-density", "255"),
                          ("--prefixes", "0"), ("--block-hits", "10")):
            with self.subTest(arguments=arguments):
                result = generate(*arguments)
                self.assertEqual((result.returncode, result.stdout), (EX_USAGE, ""))
                self.assertIn(arguments[0], result.stderr)


if __name__ == "__main__":
    main()
