#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/pop counts what it says, in a quick run beside Dovecot; and its limits are what its page says.

Needs root, dovecot-pop3d and dovecot-lmtpd; looks at no time.
"""

import argparse
import os
import re
import subprocess
import sys
import unittest

from benching import import_quietly
from harness import BUILD, IS_SANITIZED, SOURCE, Case, main, peer


def rows(page, title):
    """{name of a row: [texts]} below a title."""
    text = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|"))
    return {words[0].strip(): [word.strip() for word in words[1:]] for words in found}


@unittest.skipIf(IS_SANITIZED, "a sanitizer costs more than what is counted")
class PopBench(Case):
    def setUp(self):
        super().setUp()
        servers = import_quietly("mailservers")
        try:
            os.close(servers.Counter(os.getpid(), servers.TASK_CLOCK).fd)
        except servers.Failure as error:
            self.skipTest(f"this machine counts nothing: {error}")

    def run_bench(self, *arguments):
        peer("dovecot")
        result = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/pop"), "--programs", BUILD, "--directory",
             self.directory, "--quick", *arguments], capture_output=True, text=True, check=False,
            timeout=450)
        print(result.stdout, result.stderr)
        self.assertIn(result.returncode, (0, 1), result.stderr)  # limits are of a whole run
        self.assertIn("\n## Limits\n", result.stdout, result.stderr)
        self.assertNotIn("not measured", result.stdout, result.stderr)
        return result.stdout

    def test_a_connection_that_never_logs_in_wakes_few_processes(self):
        found = rows(self.run_bench("--parts", "n"), "A connection that never logs in")
        self.assertEqual(set(found), {"", "---", "pop-front", "Dovecot", "Dovecot, high-performance"})
        # A login process for each: its fork, its end, and what it asks its others.
        self.assertGreater(float(found["Dovecot"][0]), 8)
        self.assertLess(float(found["pop-front"][0]), float(found["Dovecot"][0]))

    def test_mails_are_fetched_from_each_format_and_with_each_hash(self):
        page = self.run_bench("--parts", "mrls")
        found = rows(page, "Ten new mails in a maildrop")
        for name in ("pop-front", "Dovecot maildir", "Dovecot mdbox"):
            self.assertNotIn("-", found[name])
        found = rows(page, "A large mail")
        for client in ("as fast as it can", "10 Gbit/s"):
            self.assertNotIn("-", found[f"pop-front, {client}"])
        for name in ("pop-front", "pop-front, no cache", "Dovecot", "Dovecot, auth cache"):
            self.assertNotIn("-", rows(page, "Logins")[name])
        found = rows(page, "Sessions of many users")
        for name in ("pop-front", "Dovecot maildir", "Dovecot mdbox"):
            # By SPECmail2001 it is 3.4; of a few sessions it may be anything that is not nothing.
            self.assertGreater(float(found[name][4]), 0.5)


class Limits(unittest.TestCase):
    """What the page says of figures; nothing is run."""

    @classmethod
    def setUpClass(cls):
        cls.page = import_quietly("pop_page", "pop-parts")

    def limits(self, **parts):
        results = self.page.Results({}, {}, [], {}, {}, {}, {}, {}, [])._replace(**parts)
        options = argparse.Namespace(parts="nmrls", connections=2000, large=50 << 20)
        return {limit.what: limit for limit in self.page.limits(options, results)}

    def test_what_was_not_measured_is_not_met(self):
        found = self.limits()
        self.assertEqual(len(found), 10)
        for limit in found.values():
            self.assertFalse(limit.is_met)
            self.assertRegex(limit.text(), ": -, at (most|least) .*: not measured$")

    def test_rows_are_held_against_dovecot_as_shipped(self):
        cost = self.page.Cost
        found = self.limits(never={"pop-front": [cost(1, 50), cost(3, 60), cost(2, 700)],
                                   "Dovecot": [cost(20, 700)] * 3,
                                   "Dovecot, high-performance": [cost(1, 1)] * 3})
        limit = found["a connection that never logs in: context switches over Dovecot's"]
        self.assertEqual(limit.text().rpartition("Dovecot's: ")[2], "0.100, at most 0.1: met, by 0%")
        limit = found["a connection that never logs in: processor time over Dovecot's"]
        self.assertAlmostEqual(limit.value, 60 / 700)

    def test_a_transfer_is_held_against_the_one_next_to_it(self):
        transfer = self.page.Transfer
        found = self.limits(large={("pop-front", "10 Gbit/s"): [
            transfer(90, 100), transfer(10, 20), transfer(190, 200)]})
        limit = found["RETR of 50 MiB, 10 Gbit/s: throughput over a bare sendfile()"]
        self.assertEqual(limit.text().rpartition("(): ")[2], "0.90, at least 0.9: met, by 0%")

    def test_the_good_client_is_that_of_the_median_round(self):
        found = self.limits(good=[(2, 1), (3.2, 2), (9, 3)])
        limit = next(limit for what, limit in found.items() if "good client" in what)
        self.assertFalse(limit.is_met)
        self.assertEqual(limit.value, 1.6)
        self.assertTrue(re.search("1.60, at most 1.5: not met, by 7%$", limit.text()))


if __name__ == "__main__":
    main()
