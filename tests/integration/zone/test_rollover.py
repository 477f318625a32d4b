#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A key is changed while yesterday's cron line and timer go on: a resolver finds the zone secure.

The operator goes through "Changing the key" of dnsblv6-zone(1) and leaves two
jobs as they were: "build --key OLD" with the hourly list, and "sign --key OLD" as
the package's timer has it. After each run, an Unbound that has seen nothing
before is asked, with the DS records that the zone above may have then: each
alone. Others are asked all the time, with the caches they have.

Needs Unbound.
"""

import re
import time

from harness import AAAA, EX_DATAERR, ZONE, Case, ask, ask_all, bitmap_name, ip, main, wait_for
from load import Load
from resolvers import start_unbound

DNSKEY = 48
RD_AD = 0x0120  # AD in a question asks for AD in the answer
TTL_S = 2
LISTED = [f"203.0.{n}.7" for n in range(40)]
NAMES = [bitmap_name(ip(address)) for address in LISTED] + [f"0.{n}.51.198.{ZONE}" for n in range(9)]


class Rollover(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.old, self.new = self.path("old.pem"), self.path("new.pem")
        self.anchors = [self.run_zone("keygen", "--zone", ZONE, "--key", key).out.splitlines()[0]
                        for key in (self.old, self.new)]
        self.tags = [anchor.split()[3] for anchor in self.anchors]
        self.version = 0
        self.build_with(self.old)
        self.server = self.serve([(ZONE, self.store, None)])

    def build_with(self, key, *more, expect=0):
        """The hourly list has another address each time."""
        self.version += 1
        path = self.write("list.txt", "\n".join(LISTED) + f"\n192.0.2.{self.version}\n")
        return self.build(self.store, "--key", key, "--ttl", str(TTL_S), "--negative-ttl", "1",
                          *more, path, expect=expect)

    def sign(self, *arguments, expect=0):
        return self.run_zone("sign", "--store", self.store, *arguments, expect=expect)

    def run_yesterdays_jobs(self, expect=0):
        self.build_with(self.old, expect=expect)
        self.sign("--key", self.old, expect=expect)
        if expect == 0:
            self.run_zone("update", "--store", self.store, "--key", self.old, "--add",
                          f"192.0.2.{100 + self.version}")

    def wait_for_caches(self):
        end = time.monotonic() + TTL_S + 1  # caches count whole seconds
        wait_for(lambda: time.monotonic() > end, "caches to forget")

    def check(self, *anchors):
        """With each of these alone in the zone above."""
        for anchor in anchors:
            address = start_unbound(self, [self.server], [anchor])
            wrong = [reply and reply.verdict() for reply in
                     ask_all(address, [(name, AAAA) for name in NAMES], flags=RD_AD)
                     if reply is None or not reply.is_authentic]
            self.assertEqual(wrong[:3], [], f"{len(wrong)} not secure with {anchor[:40]}")
            self.processes.pop().stop()

    def dnskey_count(self):
        return len(ask(self.server.address, ZONE, DNSKEY).rdata(DNSKEY))

    def test_the_zone_is_secure_beside_yesterdays_cron_line(self):
        resolver = start_unbound(self, [self.server], self.anchors)
        with Load(resolver, NAMES, lambda _, reply: reply.is_authentic, flags=RD_AD, retry_s=3,
                  retries=5) as load:
            self.change_key()
        load.assert_flawless(self)

    def change_key(self):
        old, new = self.anchors
        self.sign("--key", self.old, "--publish", self.new)
        self.check(old)
        self.run_yesterdays_jobs()
        self.wait_for_caches()
        self.check(old, new)  # the DS of the new key has been added by now

        self.sign("--key", self.new, "--publish", self.old)
        self.check(old, new)
        self.run_yesterdays_jobs()
        self.assertEqual(self.dnskey_count(), 2)
        self.wait_for_caches()
        self.check(old, new)

        self.refuse_to_withdraw()  # yesterday's jobs still sign with it
        self.build_with(self.new)
        self.wait_for_caches()
        self.sign("--key", self.new, "--withdraw", self.tags[0])
        self.assertEqual(self.dnskey_count(), 1)
        self.check(new)
        self.run_yesterdays_jobs(expect=EX_DATAERR)
        self.check(new)

    def refuse_to_withdraw(self):
        refused = self.sign("--key", self.new, "--withdraw", self.tags[0], expect=EX_DATAERR)
        self.assertEqual(refused.err.count("\n"), 1)
        self.assertRegex(refused.err, rf"published={self.tags[0]},{self.tags[1]}"
                                      rf" given={self.tags[1]} \(the key to withdraw")

    def test_a_key_that_is_kept_is_told_with_its_tag(self):
        self.sign("--key", self.old, "--publish", self.new)
        said = self.build_with(self.old).err
        self.assertTrue(re.fullmatch(
            rf"warning: \[{self.store}\] key kept that was not given, tag={self.tags[1]}"
            r" expires=\d+ \(--publish .*--withdraw .*\)\n", said), said)

    def test_what_would_leave_a_key_without_its_signature_is_refused(self):
        self.sign("--key", self.old, "--publish", self.new)
        third = self.path("third.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", third)
        with open(self.store, "rb") as store:
            before = store.read()
        for arguments in (("--publish", third), ("--ttl", "60"), ("--withdraw", "1"),
                          ("--publish", self.new, "--withdraw", self.tags[1])):
            with self.subTest(arguments=arguments):
                refused = self.build_with(self.old, *arguments, expect=EX_DATAERR).err
                self.assertEqual(refused.count("\n"), 1)
                self.assertIn(f" published={self.tags[0]},{self.tags[1]} given={self.tags[0]}",
                              refused)
        with open(self.store, "rb") as store:
            self.assertEqual(store.read(), before)


if __name__ == "__main__":
    main()
