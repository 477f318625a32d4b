#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/store counts what it says, in a quick run: syncs and bytes of ways that are known, and mails that
every server that is installed has taken.

Needs root, dovecot-lmtpd and postfix; looks at no time.
"""

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
            timeout=380)
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


if __name__ == "__main__":
    main()
