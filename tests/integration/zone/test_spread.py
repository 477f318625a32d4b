#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Signatures of a zone that does not change are renewed in equal shares, one each day.

The clock of dnsblv6-zone is moved by a library that is loaded before it (moved_clock.c).
"""

import re
import time

from harness import ZONE, Case, main

MINUTE, HOUR, DAY = 60, 3600, 86400
LIFETIME_DAYS = 10      # the least there is
NAMES = 4000
NAMES_JOURNAL = 20_000  # too many for a small zone's journal, when most are signed at once
FLOOR_S = 3 * DAY       # servers warn below it


class Spread(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.key = self.path("bl6.pem")
        self.midnight_s = time.time() // DAY * DAY
        self.run_zone("keygen", "--zone", ZONE, "--key", self.key)

    def write_list(self, count):
        lines = [f"20.{i >> 7}.{(i & 127) << 1}.1\n" for i in range(count)]
        return self.write("list", "".join(lines))

    def run_on(self, day, hour, *words):
        moment_s = self.midnight_s + day * DAY + hour * HOUR + MINUTE
        return self.run_zone_at(int(moment_s - time.time()), *words).out

    def build_on(self, day, hour, path):
        return self.run_on(day, hour, "build", "--zone", ZONE, "--ns", "ns1.example.net.",
                           "--store", self.store, "--key", self.key, "--lifetime",
                           str(LIFETIME_DAYS * DAY), path)

    def sign_on(self, day, hour):
        """How many signatures were made, and when the first of all ends."""
        printed = self.run_on(day, hour, "sign", "--store", self.store, "--key", self.key)
        made, ends_s = re.search(r" signed=(\d+) .* expires=(\d+)$", printed.strip()).groups()
        return int(made), int(ends_s)

    def left_on(self, day, hour, ends_s):
        return ends_s - (self.midnight_s + day * DAY + hour * HOUR)

    def test_each_day_of_two_lifetimes_renews_its_share_and_none_nears_its_end(self):
        self.build_on(0, 3, self.write_list(NAMES))
        shares = []
        ends_s = self.sign_on(0, 4)[1]
        for day in range(1, 2 * LIFETIME_DAYS + 1):
            left_s = self.left_on(day, 3, ends_s)
            self.assertGreater(left_s, FLOOR_S, f"before the run of day {day}")
            made, ends_s = self.sign_on(day, 3)
            shares.append(made / (2 * NAMES))
        average = sum(shares) / len(shares)
        self.assertLess(max(shares), 1.5 * average, shares)
        self.assertGreater(min(shares), average / 2, shares)
        self.assertLess(average, 2.1 / LIFETIME_DAYS)

    def test_the_journal_keeps_what_a_day_renews(self):
        self.build_on(0, 3, self.write_list(NAMES_JOURNAL))
        for day in range(1, 8):
            self.sign_on(day, 3)
            last = self.run_zone("log", "--count", "1", "--store", self.store).out
            self.assertNotIn("not kept", last, f"day {day}")

    def test_only_the_first_run_of_a_day_renews(self):
        self.build_on(0, 23, self.write_list(1000))
        self.assertEqual(self.sign_on(1, 0)[0], 1)  # the SOA's
        for day in range(2, 8):
            self.assertGreater(self.sign_on(day, 1)[0], 200)
            self.assertEqual([self.sign_on(day, hour)[0] for hour in (2, 12, 23)], [1, 1, 1])

    def test_hourly_builds_of_an_unchanged_list_publish_once_a_day(self):
        path = self.write_list(1000)
        self.build_on(0, 3, path)
        for day in range(1, 4):
            printed = [self.build_on(day, hour, path) for hour in range(0, 24, 3)]
            self.assertEqual([words.startswith("built") for words in printed],
                             [True] + [False] * 7, printed)


if __name__ == "__main__":
    main()
