#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/site counts what it says, in a quick run of every site: mails, bytes, syncs and questions; and
its comparison with the paper is what its page says.

Needs root, postfix, unbound and rbldnsd; clamav-daemon and clamsmtp may be missing. Looks at no time.
"""

import argparse
import os
import re
import subprocess
import sys
import unittest

from benching import import_quietly
from harness import BUILD, IS_SANITIZED, SOURCE, Case, main, peer

PEERS = ("postconf", "unbound", "unbound-control", "rbldnsd")
SCANNERS = ("clamd", "clamsmtpd")
POSTFIX, ALL = "Postfix, classic list, maildirs", "smtp-front, DNSBLv6, mail-stored"
SCANNED = "Postfix, all of it classic, clamd"
KIB, SYNCS = 5, 6  # columns of runs
RECIPIENTS = (5, 9)


def rows(page, title):
    """{name of a row: [texts]} of all tables below a title."""
    text = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|"))
    return {words[0].strip(): [word.strip() for word in words[1:]] for words in found}


def is_here(program):
    try:
        return peer(program)
    except unittest.SkipTest:
        return None


@unittest.skipIf(IS_SANITIZED, "a library is loaded before the programs, and a sanitizer after it")
class SiteBench(Case):
    def setUp(self):
        super().setUp()
        servers = import_quietly("mailservers")
        try:
            os.close(servers.Counter(os.getpid(), servers.TASK_CLOCK).fd)
        except servers.Failure as error:
            self.skipTest(f"this machine counts nothing: {error}")
        for name in PEERS:
            peer(name)

    def test_every_site_takes_every_mail_and_asks_about_every_client(self):
        result = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/site"), "--programs", BUILD, "--directory",
             self.directory, "--quick"], capture_output=True, text=True, check=False, timeout=850)
        print(result.stdout, result.stderr)
        self.assertIn(result.returncode, (0, 1), result.stderr)  # limits are of a whole run
        self.assertIn("\n## Limits\n", result.stdout, result.stderr)
        missed = re.findall(r"(?m)^\* sinkhole, (.*: (?:not measured|\d).*)", result.stdout)
        if not all(map(is_here, SCANNERS)):
            missed = [line for line in missed if not line.startswith(f"{SCANNED}: not measured")]
        self.assertEqual(missed, [])
        runs = rows(result.stdout, "Mails into mailboxes")
        asked = rows(result.stdout, "Questions of a session")
        self.check_disk(runs)
        self.assertIn("mail-scan-milter", runs)
        for name in runs.keys() - {"", "---"}:
            with self.subTest(site=name):
                self.assertGreater(float(runs[name][KIB]), 0)
                # All clients are listed, and some come again.
                self.assertGreater(float(asked[name][0]), 0)
                self.assertLess(float(asked[name][0]), 2)
        self.assertGreater(float(asked[POSTFIX][1]), 0)
        self.assertEqual(float(asked[ALL][1]), 0)

    def check_disk(self, runs):
        """A copy for each mailbox, and with a store one for all."""
        least, most = RECIPIENTS
        for name in (POSTFIX, "DNSBLv6", "smtp-front before Postfix", "mail-scan-milter"):
            self.assertGreater(float(runs[name][KIB]), (1 + least) * 4)
            self.assertGreaterEqual(float(runs[name][SYNCS]), 1 + least)
            self.assertLess(float(runs[name][SYNCS]), 2 + most)
        self.assertLess(float(runs[ALL][KIB]), least * 4)
        self.assertLessEqual(float(runs[ALL][SYNCS]), 1)
        self.assertLess(float(runs["mail-stored behind Postfix"][SYNCS]), 1 + least)


class Page(unittest.TestCase):
    """What the page says of figures; nothing is run."""

    @classmethod
    def setUpClass(cls):
        cls.page = import_quietly("site_page", "site-parts")
        cls.sites = sys.modules["sites"]

    def run_of(self, **figures):
        empty = dict.fromkeys(self.sites.Run._fields, 1)
        return self.sites.Run(**{**empty, "wrong": {}, **figures})

    def results(self, runs=None, asked=None):
        return self.page.Results(runs or {}, asked or {}, {"sinkhole": (0.3, 0.2)}, [])

    def options(self, traces=("sinkhole", "university")):
        return argparse.Namespace(traces=list(traces))

    def rates(self, name, *rates):
        return {("sinkhole", name): [rate and self.run_of(rate=rate) for rate in rates]}

    def test_what_was_not_measured_is_not_met(self):
        found = list(self.page.limits(self.options(), self.results()))
        self.assertEqual([(limit.bound, limit.is_most) for limit in found],
                         [(1.4, False), (0.61, True), (1.18, False), (0.8, True)])
        for limit in found:
            self.assertFalse(limit.is_met)
            self.assertRegex(limit.text(), ": -, at (most|least) .*: not measured$")

    def test_a_gain_is_the_median_of_the_rounds_own(self):
        results = self.results({**self.rates(POSTFIX, 100, 200, 50), **self.rates(ALL, 150, 240, 500)})
        limit, *_ = self.page.limits(self.options(), results)
        self.assertEqual(limit.text().rpartition("maildirs: ")[2], "1.50, at least 1.4: met, by 7%")

    def test_a_round_without_one_of_both_is_none(self):
        results = self.results({**self.rates(POSTFIX, None, 100, 100),
                                **self.rates(ALL, 900, None, 130)})
        limit, *_ = self.page.limits(self.options(), results)
        self.assertEqual(limit.value, 1.3)
        self.assertFalse(limit.is_met)

    def test_questions_for_texts_are_left_out_of_the_comparison(self):
        asked = {("sinkhole", POSTFIX): self.run_of(authority=0.5, texts=0.2),
                 ("sinkhole", ALL): self.run_of(authority=0.15, texts=0.0)}
        results = self.results(asked=asked)
        _, limit, *_ = self.page.limits(self.options(), results)
        self.assertAlmostEqual(limit.value, 0.5)
        self.assertTrue(limit.is_met)
        found = list(self.page.paper_lines(self.options(["sinkhole"]), results))
        self.assertIn("| sinkhole, DNS queries | -39 % | -50 % | more |", found)
        self.assertIn("| sinkhole, DNS queries, with those for TXT | -39 % | -70 % | more |", found)

    def test_less_than_the_paper_is_said(self):
        asked = {("sinkhole", POSTFIX): self.run_of(authority=0.5, texts=0.0),
                 ("sinkhole", ALL): self.run_of(authority=0.4, texts=0.0)}
        results = self.results({**self.rates(POSTFIX, 100), **self.rates(ALL, 120)}, asked)
        found = "\n".join(self.page.paper_lines(self.options(["sinkhole"]), results))
        self.assertIn("| sinkhole, mail throughput | +40 % | +20 % | less |", found)
        self.assertIn("| sinkhole, DNS queries | -39 % | -20 % | less |", found)

    def test_each_site_has_a_row_and_those_that_scan_have_a_first_of_their_own(self):
        runs = {}
        for number, name in enumerate(self.sites.PLANS, 1):
            runs.update(self.rates(name, 100 * number))
        found = "\n".join(self.page.run_lines(self.results(runs), "sinkhole"))
        for name in self.sites.PLANS:
            # Of one that only asks there are no mails.
            self.assertEqual(f"\n| {name} | " in found, name != self.sites.PLAIN)
        scanned = re.findall(r"(?m)^\| [^|]*(?:clamd|scan)[^|]* \| [^|]* \| ([0-9.]+) \|", found)
        self.assertEqual(scanned, ["1.00", "1.17", "1.33"])


if __name__ == "__main__":
    main()
