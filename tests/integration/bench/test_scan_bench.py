#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
bench/scan counts what it says, in a quick run beside the scanners that are installed; and its limits
are what its page says.

Needs root, postfix, clamav and clamav-daemon; amavisd-new, clamsmtp, clamdscan and rspamd may be
missing. Looks at no time.
"""

import argparse
import os
import subprocess
import sys
import unittest

from benching import import_quietly
from harness import BUILD, IS_SANITIZED, SOURCE, Case, main, peer

OURS = ("mail-proxy, no scan", "mail-proxy", "mail-proxy, clamd", "smtp-front")


def rows(page, title):
    """{name of a row: [texts]} of the first table below a title."""
    text = page.partition(f"\n## {title}\n\n")[2].partition("\n\n")[0]
    found = (line.strip("|").split("|") for line in text.splitlines() if line.startswith("|"))
    return {words[0].strip(): [word.strip() for word in words[1:]] for words in found}


@unittest.skipIf(IS_SANITIZED, "a sanitizer costs more than what is counted")
class ScanBench(Case):
    def setUp(self):
        super().setUp()
        servers = import_quietly("mailservers")
        try:
            os.close(servers.Counter(os.getpid(), servers.TASK_CLOCK).fd)
        except servers.Failure as error:
            self.skipTest(f"this machine counts nothing: {error}")
        for name in ("postconf", "clamd"):
            peer(name)

    def run_bench(self, *arguments):
        result = subprocess.run(
            [sys.executable, os.path.join(SOURCE, "bench/scan"), "--programs", BUILD, "--quick",
             *arguments], capture_output=True, text=True, check=False, timeout=450)
        print(result.stdout, result.stderr)
        self.assertIn(result.returncode, (0, 1), result.stderr)  # limits are of a whole run
        self.assertIn("\n## Limits\n", result.stdout, result.stderr)
        return result.stdout

    def test_mails_are_sent_through_each_of_ours(self):
        found = rows(self.run_bench("--parts", "t"), "Throughput")
        for name in OURS:
            self.assertIn(name, found)
            self.assertNotIn("-", found[name])
        # A scan is more than no scan, whatever the machine.
        self.assertLess(float(found["mail-proxy, no scan"][3].split()[0]),
                        float(found["mail-proxy, clamd"][3].split()[0]))

    def test_delays_memory_and_speeds_are_there(self):
        page = self.run_bench("--parts", "lms")
        found = rows(page, "Latency")
        for name in ("the next hop alone", "mail-proxy, no scan", "mail-proxy"):
            self.assertIn(name, found)
            self.assertIn(f"{name}, as fast as it is taken", found)
        found = rows(page, "Memory of a connection")
        for mail in ("text", "gzip", "zip"):
            self.assertNotIn("-", found[f"mail-proxy, {mail}"])
        found = rows(page, "Parts")
        for what in ("matcher, over the library's own loop", "MIME and base64, MB/s",
                     "zip as it flows, over inflate()"):
            self.assertGreater(float(found[what][0]), 0)


class Limits(unittest.TestCase):
    """What the page says of figures; nothing is run."""

    @classmethod
    def setUpClass(cls):
        cls.page = import_quietly("scan_page", "scan-parts")

    def limits(self, **parts):
        results = self.page.Results({}, {}, {}, {}, {}, {}, "", [])._replace(**parts)
        options = argparse.Namespace(parts="tlms", counts=(10, 100, 1000))
        return {limit.what: limit for limit in self.page.limits(options, results)}

    def test_what_was_not_measured_is_not_met(self):
        found = self.limits()
        self.assertEqual(len(found), 22)
        for limit in found.values():
            self.assertFalse(limit.is_met)
            self.assertRegex(limit.text(), ": -, at (most|least) .*: not measured$")

    def test_ratios_are_of_the_median_round(self):
        sent = self.page.Sent
        found = self.limits(sent={
            (self.page.FORWARD, self.page.EXE): [sent(1, 9), sent(90, 9), sent(2, 9)],
            (self.page.AMAVISD_FORWARD, self.page.EXE): [sent(15, 9), sent(14, 9), sent(1, 9)],
            (self.page.CLAMSMTP_FORWARD, self.page.EXE): [sent(3, None)] * 3})
        self.assertEqual(found["forward over amavisd-new"].text().rpartition("-new: ")[2],
                         "7.00, at least 7: met, by 0%")
        self.assertFalse(found["forward over clamsmtp"].is_met)
        self.assertEqual(found["forward over clamsmtp"].value, 1.5)

    def test_a_delay_is_over_that_without_a_proxy(self):
        delay = self.page.Delay
        found = self.limits(delays={self.page.DIRECT: delay(0.5, 2, 0, 1),
                                    self.page.OWN: delay(1, 6, 1, 2)})
        limit = next(limit for what, limit in found.items() if "last byte" in what)
        self.assertEqual(limit.value, 5.5)
        self.assertFalse(limit.is_met)
        self.assertFalse(found["segments of TCP until the first byte goes on"].is_met)

    def test_memory_of_a_zip_may_be_more_and_grows_by_less_than_a_kilobyte(self):
        memory = {(self.page.OWN, mail, 10): 100 for mail in ("text", "gzip", "zip")}
        found = self.limits(memory=memory, slope={self.page.OWN: {0.1: 0, 50: 48}})
        for mail, is_met in (("text", False), ("gzip", True), ("zip", True)):
            self.assertIs(found[f"KiB of a connection, 10 of them, {mail}"].is_met, is_met)
            self.assertFalse(found[f"KiB of a connection, 100 of them, {mail}"].is_met)
        limit = found["KB more for a MB more of a mail"]
        self.assertTrue(limit.is_met)
        self.assertAlmostEqual(limit.value, 48 * 1.024 / 49.9)


if __name__ == "__main__":
    main()
