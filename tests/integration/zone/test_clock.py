#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A clock that is wrong signs no zone into the past, and check says what it has done.

The clock of dnsblv6-zone is moved by a library that is loaded before it (moved_clock.c).
"""

from harness import ZONE, Case, main, EX_DATAERR

MINUTE, DAY = 60, 86400
YEAR = 365 * DAY


class Clock(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.key = self.path("bl6.pem")
        self.list = self.write("list", "192.0.2.1\n198.51.100.7\n")
        self.run_zone("keygen", "--zone", ZONE, "--key", self.key)
        self.build_at(0)

    def build_words(self, *options):
        return ["build", "--zone", ZONE, "--ns", "ns1.example.net.", "--store", self.store,
                "--key", self.key, *options, self.list]

    def build_at(self, offset_s, *options, **how):
        return self.run_zone_at(offset_s, *self.build_words(*options), **how)

    def sign_at(self, offset_s, *options, **how):
        return self.run_zone_at(offset_s, "sign", "--store", self.store, "--key", self.key,
                                *options, **how)

    def check_at(self, offset_s, expect):
        return self.run_zone_at(offset_s, "check", "--store", self.store, expect=expect).out

    def content(self):
        with open(self.store, "rb") as file:
            return file.read()

    def test_a_clock_before_the_last_change_signs_nothing_until_told(self):
        before = self.content()
        update = ["update", "--store", self.store, "--key", self.key, "--add", "192.0.2.9"]
        for result in (self.build_at(-30 * YEAR, expect=EX_DATAERR),
                       self.sign_at(-20 * MINUTE, expect=EX_DATAERR),
                       self.run_zone_at(-30 * YEAR, *update, expect=EX_DATAERR)):
            self.assertRegex(result.err, r"(?m)^error: \[.*bl6\.mdb\] clock is before the store was"
                                         r" changed last, clock=\S+Z changed=\S+Z"
                                         r" \(set the clock, or --trust-clock\)$")
        self.assertEqual(self.content(), before)
        self.sign_at(-5 * MINUTE)
        self.sign_at(-YEAR, "--trust-clock")

    def test_an_unsigned_zone_has_no_signatures_to_spoil(self):
        self.build(self.path("plain.mdb"), self.list)
        self.run_zone_at(-YEAR, "update", "--store", self.path("plain.mdb"), "--add", "192.0.2.9")

    def test_a_clock_that_is_years_ahead_is_told(self):
        self.assertNotIn("clock", self.sign_at(9 * DAY).err)
        self.assertRegex(self.sign_at(3 * YEAR).err, r"^warning: \[.*bl6\.mdb\] clock is long after"
                                                     r" the store was changed last, clock=\S+Z")

    def test_the_server_tells_of_signatures_of_a_clock_that_is_ahead(self):
        self.sign_at(2 * DAY)
        server = self.serve(zones=[(ZONE, self.store, None)])
        server.wait_for_log(r"error: \[bl6\.example\.\] signatures are not valid yet, validating resolvers"
                            r" refuse them, made=\d+ \(is this clock right\?\)")
        self.run_zone("sign", "--store", self.store, "--key", self.key, "--trust-clock")
        server.wait_for_log(r"info: \[bl6\.example\.\] signatures good again")

    def test_check_says_when_signatures_are_not_valid_yet_end_soon_and_have_ended(self):
        self.check_at(0, expect=0)
        self.check_at(9 * DAY, expect=0)
        self.assertRegex(self.check_at(-2 * DAY, expect=1),
                         r"^error: \[.*\] signatures are not valid yet, count=\d\d+ from=\S+Z \(")
        self.assertRegex(self.check_at(12 * DAY, expect=1),
                         r"^warning: \[.*\] signatures end soon, first=\S+Z \(sign the store\)\n$")
        self.assertRegex(self.check_at(20 * DAY, expect=1),
                         r"^error: \[.*\] signatures have ended, count=\d\d+ first=\S+Z"
                         r" \(sign the store\)\n$")


if __name__ == "__main__":
    main()
