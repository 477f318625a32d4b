#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A store remembers how it was built: a cron line that forgets an option changes nothing.

A zone is built with every option that a store remembers, and again with none of
them; what it publishes is compared, name by name. The style of the names changes only on demand.
"""

import datetime
import os
import re

from harness import EX_DATAERR, EX_USAGE, SOURCE, ZONE, Case, main

FLAT_NAME = f"c000020.{ZONE}"
DOTTED_NAME = f"0.2.0.192.{ZONE}"
OPTIONS = ("--ns", f"ns1.{ZONE},192.0.2.53,2001:db8::53", "--ns", "ns2.example.net.",
           "--style", "flat", "--ttl", "300", "--negative-ttl", "60",
           "--mailbox", "dns.example.net.", "--classic", "bl.example.",
           "--reason", "https://bl.example/?ip=$", "--lifetime", "1000000", "--zonemd")
DAY = 86400


class Settings(Case):
    def setUp(self):
        super().setUp()
        self.store, self.key = self.path("bl6.mdb"), self.path("bl6.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", self.key)
        self.list = self.write("list.txt", "192.0.2.1\n198.51.100.0/26\n2001:db8:1::/64\n")

    def build_again(self, *options, expect=0):
        return self.run_zone("build", "--zone", ZONE, "--store", self.store, "--key", self.key,
                             *options, self.list, expect=expect)

    def published(self):
        """Records by name and type, without what every version changes."""
        text = self.run_zone("dump", "--zonefile", "--store", self.store).out
        lines = [re.sub(r"\s+", " ", line) for line in text.splitlines()]
        soa = next(line for line in lines if " SOA " in line)
        return [line for line in lines if not re.search(" (SOA|ZONEMD|RRSIG) ", line)] + [
            re.sub(r" \d+ (3600 900)", r" SERIAL \1", soa),
            f"{sum(' ZONEMD ' in line for line in lines)} digests"]

    def lifetime_s(self):
        """Of the signature of the SOA."""
        text = self.run_zone("dump", "--zonefile", "--store", self.store).out
        ends, begins = re.search(r"RRSIG\s+SOA \d+ \d+ \d+ (\d{14}) (\d{14})", text).groups()
        times = [datetime.datetime.strptime(text, "%Y%m%d%H%M%S") for text in (begins, ends)]
        return (times[1] - times[0]).total_seconds()

    def test_a_build_without_options_publishes_what_the_one_with_them_did(self):
        self.build_again(*OPTIONS)
        before = self.published()
        self.assertTrue(any(line.startswith(FLAT_NAME) for line in before), before)
        for _ in range(2):
            self.write("list.txt", "192.0.2.1\n198.51.100.0/26\n2001:db8:1::/64\n192.0.2.9\n")
            self.build_again()
            self.write("list.txt", "192.0.2.1\n198.51.100.0/26\n2001:db8:1::/64\n")
            self.build_again()
            self.assertEqual(self.published(), before)
            self.assertLess(self.lifetime_s(), 12 * DAY)
        self.run_zone("check", "--store", self.store)

    def test_sign_and_update_take_the_lifetime_of_the_store_and_may_change_it(self):
        self.build_again(*OPTIONS)
        sign = ("sign", "--store", self.store, "--key", self.key)
        self.run_zone(*sign)
        self.assertLess(self.lifetime_s(), 12 * DAY)
        self.run_zone("update", "--store", self.store, "--key", self.key, "--add", "192.0.2.77")
        self.assertLess(self.lifetime_s(), 12 * DAY)
        self.run_zone(*sign, "--lifetime", str(40 * DAY))
        self.assertGreater(self.lifetime_s(), 30 * DAY)
        self.build_again()
        self.assertGreater(self.lifetime_s(), 30 * DAY)

    def test_the_style_changes_only_on_demand(self):
        self.build_again(*OPTIONS)
        before = self.published()
        refused = self.build_again("--style", "dotted", expect=EX_DATAERR)
        self.assertEqual(refused.err, f"error: [{self.store}] store not written, zone={ZONE}"
                                      " style=dotted before=flat (--change-style changes it)\n")
        self.assertEqual(self.published(), before)
        self.build_again("--style", "dotted", "--change-style")
        after = self.published()
        self.assertTrue(any(line.startswith(DOTTED_NAME) for line in after), after)
        self.build_again()
        self.assertEqual(self.published(), after)

    def test_an_option_that_is_given_counts_and_one_forgotten_has_its_default(self):
        self.build_again(*OPTIONS)
        self.build_again("--ttl", "200", "--forget", "reason", "--forget", "zonemd",
                         "--forget", "negative-ttl", "--ns", "ns3.example.net.")
        for _ in range(2):
            after = "\n".join(self.published())
            self.assertIn(f"{FLAT_NAME} 200 ", after)
            self.assertNotIn("reason=", after)
            self.assertIn("classic=bl.example.", after)
            self.assertIn("0 digests", after)
            self.assertRegex(after, r" SOA .* 600\b")
            self.assertEqual(re.findall(r" NS (\S+)", after), ["ns3.example.net."])
            self.write("list.txt", "192.0.2.1\n")
            self.build_again()

    def expire_s(self):
        text = self.run_zone("dump", "--zonefile", "--store", self.store).out
        return int(re.search(r" SOA .* 3600 900 (\d+) \d+$", re.sub(r"[ \t]+", " ", text), re.MULTILINE)[1])

    def test_no_secondary_goes_on_for_longer_than_signatures_last(self):
        self.assertEqual(self.build_again("--ns", "ns1.example.net.").err, "")
        self.assertEqual(self.expire_s(), 5 * DAY)
        self.assertEqual(self.build_again("--lifetime", str(10 * DAY)).err, "")
        self.assertEqual(self.expire_s(), 10 * DAY // 14 * 5)
        self.list = "ip4set:" + self.write("soa", "$SOA 0 ns1.example.net. dns.example.net. 0 3600 900 1w 600\n192.0.2.1\n")
        self.assertEqual(self.build_again("--lifetime", str(14 * DAY)).err, "")
        self.assertEqual(self.expire_s(), 5 * DAY)
        self.build_again("--lifetime", str(28 * DAY))
        self.assertEqual(self.expire_s(), 7 * DAY)

    def test_a_classic_zone_below_the_signed_one_is_told(self):
        self.assertEqual(self.build_again("--ns", "ns1.example.net.", "--classic", f"bl.{ZONE}").err,
                         f"warning: [{ZONE}] classic zone is below the signed zone, which proves that it is not"
                         f" there, classic=bl.{ZONE}\n")

    def test_the_manual_names_what_is_remembered(self):
        with open(os.path.join(SOURCE, "zone-tools/dnsblv6-zone.1"), encoding="ascii") as file:
            told = re.search(r"A store remembers\n(.*?):\na later", file.read(), re.DOTALL)[1]
        options = re.findall(r"(?m)^ +(?:-\w, )?--([\w-]+)", self.run_zone("build", "--help").out)
        forgettable = {name for name in options if "no option that a store remembers" not in self.build_again(
            "--forget", name, "--max-records", "x", expect=EX_USAGE).err}
        # A style is changed by its own option.
        self.assertEqual(set(re.findall(r"-([\w-]+)", told)), forgettable | {"style"})

    def test_wrong_use_names_the_word(self):
        for options, words in ((("--forget", "style"), "'style'"), (("--forget", "key"), "'key'"),
                               (("--change-style",), "--change-style needs --style"),
                               (("--forget", "zonemd", "--forget", "ttl", "--ttl", "5"),
                                "--forget ttl and --ttl contradict each other"),
                               (("--ns", "ns1.example.net.", "--reason", "https://bl.example/? $"),
                                "has a blank in it")):
            with self.subTest(options=options):
                refused = self.build_again(*options, expect=EX_USAGE)
                self.assertIn(words, refused.err)
                self.assertEqual(refused.err.count("\n"), 1)


if __name__ == "__main__":
    main()
