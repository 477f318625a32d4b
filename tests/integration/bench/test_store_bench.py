#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/store counts what it says, in a quick run: syncs and bytes of ways that are known, and mails that
every server that is installed has taken; and its limits are what its page says.

Needs root, dovecot-lmtpd and postfix; looks at no time.
"""

import argparse
import importlib
import os
import re
import subprocess
import sys
import unittest

from harness import BUILD, IS_SANITIZED, SOURCE, Case, main, peer

# What each way writes and syncs for 15 recipients: bytes over the text, and syncs.
WAYS = {"mbox": (15, 15), "maildir": (15, 30), "maildir with hard links": (1, 16), "floor": (1, 1)}
SERVERS = {"Dovecot maildir": "dovecot", "Dovecot sdbox": "dovecot", "Dovecot mdbox": "dovecot",
           "Postfix mbox": "postconf", "Postfix maildir": "postconf", "smtp-sink": "smtp-sink",
           "Cyrus": "cyrmaster"}


def is_here(program):
    try:
        return peer(program)
    except unittest.SkipTest:
        return None


def tables(page):
    """{title: {name of a row: [texts]}}"""
    found = {}
    for title, text in re.findall(r"(?m)^#+ (.*)\n\n((?:(?!#).*\n)*)", page):
        rows = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|"))
        found[title] = {words[0].strip(): [word.strip() for word in words[1:]] for words in rows}
    return found


@unittest.skipIf(IS_SANITIZED, "a library is loaded before the programs, and a sanitizer after it")
class StoreBench(Case):
    def run_bench(self, *arguments):
        result = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/store"), "--programs", BUILD, "--directory",
             self.directory, "--quick", *arguments], capture_output=True, text=True, check=False,
            timeout=500)
        self.assertIn(result.returncode, (0, 1), result.stderr)  # limits are of a whole run
        self.assertIn("\n## Limits\n", result.stdout, result.stderr)
        print(result.stdout, result.stderr)
        return result.stdout

    def test_ways_write_and_sync_what_they_are_known_to(self):
        page = self.run_bench("--parts", "w")
        rows = tables(page)["Bytes written over the text, and syncs for a mail, this disk"]
        for name, (size, syncs) in WAYS.items():
            with self.subTest(way=name):
                self.assertAlmostEqual(float(rows[name][2]), size, delta=size / 20)
                self.assertEqual(float(rows[name][3]), syncs)
        self.assertLess(float(rows["lib/mailstore"][2]), 2)
        self.assertLess(float(rows["lib/mailstore, 64 mails for a sync"][3]), 0.1)
        self.assertRegex(page, r"(?m)^\* lib/mailstore, 15 recipients, 64 clients: syncs .*: met, by")

    def test_every_server_takes_every_mail(self):
        page = self.run_bench("--parts", "dm")
        self.assertNotIn("were not taken", page)
        found = tables(page)
        for name, program in SERVERS.items():
            if not is_here(program):
                continue
            with self.subTest(server=name):
                self.assertNotIn("-", found["Mails a second, this disk"][name])
                costs = found["Bytes written for a delivery over its text, and syncs for a mail"][name]
                self.assertEqual(float(costs[1]) >= 2, name != "smtp-sink", costs)

    def test_stores_are_opened_emptied_and_listed(self):
        page = self.run_bench("--parts", "r")
        self.assertNotIn("not measured", page)
        self.assertRegex(page, r"(?m)^\* 100,000 mails of one mailbox, listed: ")
        self.assertRegex(page, r"(?m)^\| 90 % deleted \| ")


class Limits(unittest.TestCase):
    """What the page says of figures; nothing is run."""

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, os.path.join(SOURCE, "bench"))
        dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        cls.page = importlib.import_module("store_page")
        sys.dont_write_bytecode = dont_write

    def limits(self, **parts):
        page = self.page
        results = page.Results({}, {}, {}, [], {}, [], 12000, [])._replace(**parts)
        options = argparse.Namespace(parts="dwrm", gib=10, listed=100000)
        return {limit.what: limit for limit in page.limits(options, results)}

    def test_what_was_not_measured_is_not_met(self):
        for limit in self.limits().values():
            self.assertFalse(limit.is_met)
            self.assertRegex(limit.text(), ": -, at (most|least) .*: not measured$")

    def test_the_best_peer_of_the_median_round_counts(self):
        page = self.page
        cells = {(name, 15, 64, page.DISK): [page.Cell(rate, 0.05, 14000, 12000) for rate in rates]
                 for name, rates in ((page.MAIL_STORED, (90, 260, 300)), ("Cyrus", (150, 200, 900)),
                                     (page.MDBOX, (190, 190)))}
        found = self.limits(cells=cells)
        limit = found["15 recipients, 64 clients, this disk: mail-stored over the best peer (Cyrus)"]
        self.assertEqual(limit.text().rpartition("): ")[2], "1.30, at least 1.3: met, by 0%")
        where = "mail-stored, 15 recipients, 64 clients"
        syncs = found[f"{where}: syncs for a mail"]
        self.assertEqual(syncs.text().rpartition("mail: ")[2], "0.0500, at most 0.1: met, by 50%")
        # 1.1 x 12000 + 15 x 64 is 14160.
        limit = found[f"{where}: bytes written, over 1.1 x the mail and 64 a recipient"]
        self.assertAlmostEqual(limit.value, 14000 / 14160)
        self.assertTrue(limit.is_met)

    def test_a_limit_that_is_missed_says_by_how_much(self):
        found = self.limits(recovery={"after kill -9": 6.0}, listing={"listed": 0.0401},
                            space=[self.page.Space(10, 120, 100, 1, 0.1),
                                   self.page.Space(25, 132, 100, 1, 0.1)])
        self.assertEqual(found["seconds to open 10 GiB after kill -9"].text().partition(": ")[2],
                         "6.00, at most 5: not met, by 20%")
        self.assertEqual(found["log over what lives, at most, after deletions and collection"].value,
                         1.32)
        self.assertTrue(found["milliseconds to list 100,000 mails"].is_met)


if __name__ == "__main__":
    main()
