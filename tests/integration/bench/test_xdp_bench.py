#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/xdp in a quick run: every server and both bare programs answer at their veth, and each answer is the
right one; its limits and ratios are what the page says.

Needs root, BPF, rbldnsd and knot, and a build with libbpf, libxdp, bpftool and clang. Looks at no time.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import unittest

from benching import import_quietly
from harness import BUILD, SOURCE, Case, main, peer
from mta import need_root

LOAD = os.path.join(BUILD, "bench/xdp-load/xdp-load")
# Of the benchmark's own; what dnsblv6d is refused, which says [xdp], is for its own tests.
FORBIDDEN = re.compile(r"(?m)^(?!.*\[xdp\]).*(?:not permitted|ermission denied|not take our programs|no programs on"
                       r" live frames|no threads? ).*")
UNSIGNED, SIGNED = 7, 5


def tables_of(page, title):
    """[{name of a row: [texts]}] of what is below a title."""
    text = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = []
    for block in re.findall(r"(?m)(?:^\|.*\n)+", text):
        rows = [[word.strip() for word in line.strip("|").split("|")] for line in block.splitlines()]
        found.append({row[0]: row[1:] for row in rows[2:]})
    return found


class XdpBench(Case):
    def setUp(self):
        super().setUp()
        need_root()
        for name in ("rbldnsd", "knotd", "unshare", "nsenter", "ip"):
            peer(name)
        if not os.path.exists(LOAD):
            self.skipTest("built without libbpf, libxdp, bpftool or clang for BPF")

    def run_bench(self):
        chance = random.Random(24)
        lines = (f"{chance.randrange(11, 100)}.{chance.randrange(256)}.{chance.randrange(256)}.0/27\n"
                 for _ in range(500))
        path = self.write("list.txt", "".join(lines))
        result = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/xdp"), "--programs", BUILD, "--quick", path],
            capture_output=True, text=True, check=False, timeout=500)
        print(result.stdout, result.stderr)
        forbidden = FORBIDDEN.search(result.stderr)
        if forbidden:
            self.skipTest(f"this machine does not let us: {forbidden.group()}")
        self.assertIn(result.returncode, (0, 1), result.stderr)  # limits are of a whole run
        self.assertIn("\n## Limits\n", result.stdout, result.stderr)
        return result.stdout

    def test_everything_answers_every_question_as_it_should(self):
        page = self.run_bench()
        self.assertEqual(re.findall(r"(?m)^\* (.*: not measured \(.*)", page), [])
        for title, count in (("Unsigned", UNSIGNED), ("Signed, DO", SIGNED)):
            with self.subTest(table=title):
                costs, ratios = tables_of(page, title)
                self.assertEqual((len(costs), len(ratios)), (count, count))
                self.assertNotIn("-", [text for row in costs.values() for text in row])
                self.assertEqual(ratios["bare echo"][1], "1.00")
                # What is dropped has no bytes; the same program's answers are as long, if not as many.
                self.assertEqual(costs["the question alone, dropped"][-1], "0")
                sizes = [int(costs[name][-1]) for name in ("dnsblv6d", "dnsblv6d, sockets")]
                self.assertAlmostEqual(sizes[0], sizes[1], delta=max(sizes) * 0.05)


class Page(unittest.TestCase):
    """What the page says of figures, and what becomes of answers; nothing is run."""

    @classmethod
    def setUpClass(cls):
        cls.page = import_quietly("xdp_page", "xdp-parts")
        cls.servers = sys.modules["xdpservers"]

    def results(self, **costs):
        """Of nanoseconds of each round, listed and unsigned, by name of the constant."""
        cells = {(getattr(self.servers, name), False, "listed"):
                 [ns and self.page.Cell(1e6 / ns, ns, 0.5, 80) for ns in rounds]
                 for name, rounds in costs.items()}
        return self.page.Results(cells, [], 1)

    def test_what_was_not_measured_is_not_met(self):
        found = list(self.page.limits(self.results()))
        self.assertEqual([limit.bound for limit in found], 6 * [5] + 6 * [0.7])
        self.assertEqual([limit.is_met for limit in found], 12 * [False])

    def test_what_only_leaves_out_has_no_limit(self):
        results = self.results(OURS=(300,), ECHO=(290,))
        bounds = {only: [limit.bound for limit in self.page.limits_of(argparse.Namespace(only=only), results)]
                  for only in ("", "e")}
        self.assertEqual(bounds, {"": 6 * [5] + 6 * [0.7], "e": 2 * [0.7]})

    def test_a_ratio_is_the_median_of_the_rounds_own(self):
        results = self.results(OURS=(300, 200, None), RBLDNSD=(3000, 800, 5000), ECHO=(150, 160, 1))
        limits = {limit.what: limit for limit in self.page.limits(results)}
        over = limits["listed, unsigned: answers for a processor's second, over rbldnsd, sockets"]
        self.assertEqual((over.value, over.is_met), (7, True))
        echo = limits["listed, unsigned: answers for a processor's second, over the bare echo"]
        self.assertEqual((round(echo.value, 2), echo.is_met), (0.65, False))
        echo = limits["listed, unsigned: answers a second, over the bare echo"]
        self.assertEqual((round(echo.value, 2), echo.is_met), (0.65, False))

    def test_signed_answers_are_held_against_unsigned_ones_of_rbldnsd(self):
        results = self.results(RBLDNSD=(3000,))
        results.cells[self.servers.OURS, True, "listed"] = [self.page.Cell(1000, 500, 0.5, 300)]
        found = [limit.value for limit in self.page.limits(results) if limit.value is not None]
        self.assertEqual(found, [6])

    def said(self, **figures):
        pairs = dict.fromkeys(("filled", "nodata", "denied", "truncated", "echoed", "other"), (0, 0))
        return {"sent": 100.0, "answered": 100.0, **pairs, "records": (0, 0), **figures}

    def arm(self, is_signed=False, answers=None, name="any"):
        return argparse.Namespace(is_signed=is_signed, answers=answers, name=name)

    def is_refused(self, arm, count=0, **figures):
        try:
            self.servers.check(arm, "mixed", self.said(**figures), count)
        except self.servers.Failure:
            return True
        return False

    def test_a_wrong_answer_is_refused(self):
        good = {"filled": (50, 0), "denied": (0, 50), "records": (50, 50)}
        self.assertFalse(self.is_refused(self.arm(), **good))
        for wrong in ({"filled": (0, 50)}, {"denied": (50, 0)}, {"filled": (49, 0), "nodata": (1, 0)},
                      {"denied": (0, 49), "truncated": (0, 1)}, {"records": (49, 50)},
                      {"answered": 98.0, "denied": (0, 48)}, {"sent": 0.0, "answered": 0.0}):
            with self.subTest(wrong=wrong):
                self.assertTrue(self.is_refused(self.arm(), **{**good, **wrong}))

    def test_a_signed_answer_has_its_signatures(self):
        good = {"filled": (50, 0), "denied": (0, 50), "records": (100, 200)}
        self.assertFalse(self.is_refused(self.arm(True), **good))
        self.assertTrue(self.is_refused(self.arm(True), **{**good, "records": (99, 200)}))
        self.assertTrue(self.is_refused(self.arm(True), **{**good, "records": (100, 199)}))

    def test_answers_of_sockets_are_not_those_of_the_driver(self):
        good = {"filled": (50, 0), "denied": (0, 50), "records": (50, 50)}
        self.assertFalse(self.is_refused(self.arm(name=self.servers.SOCKETS), 100, **good))
        self.assertFalse(self.is_refused(self.arm(name=self.servers.OURS), 1, **good))
        self.assertTrue(self.is_refused(self.arm(name=self.servers.OURS), 2, **good))

    def test_the_same_answer_is_one_to_every_question(self):
        self.assertFalse(self.is_refused(self.arm(answers="answer"), filled=(50, 50)))
        self.assertTrue(self.is_refused(self.arm(answers="answer"), filled=(50, 0), denied=(0, 50)))

    def test_an_echo_sends_back_questions(self):
        self.assertFalse(self.is_refused(self.arm(answers="echo"), echoed=(50, 50)))
        self.assertTrue(self.is_refused(self.arm(answers="echo"), filled=(50, 0), denied=(0, 50)))


if __name__ == "__main__":
    main()
