#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A list that changes hundreds of times, built by one cron line while dnsblv6d serves the zone.

The line names what it builds and nothing else: style, TTLs and all that was said once is the
store's to remember. Now and then the list is the one of before: then nothing is published.
After versions, addresses that were listed and addresses that were not are asked at the server and compared
with the oracle; from the first to the last version the server is asked without a pause as well, and
answers. Lists of rbldnsd's with a serial that never grows are built in the same way.

DNSBLV6_VERSIONS is how many there are; 30 in ./check, 298 is the whole.
"""

import os
import re

from harness import AAAA, CLASSIC, EX_DATAERR, ZONE, A, Case, ask_all, ip, main, numbers
from load import Load
from names import NOTHING, Answer, Truth
from oracle import Oracle

VERSIONS = int(os.environ.get("DNSBLV6_VERSIONS", 30))
ADDRESSES = 3000
CHANGES = 40
SAMPLE = 60
SOA_LINE = "$SOA 3600 ns1.example.net. hostmaster.example.net. 1 2h 15m 7d 10m\n"


class Versions(Case):
    def setUp(self):
        super().setUp()
        self.store, self.list = self.path("bl6.mdb"), self.path("list.txt")
        self.listed = {self.address() for _ in range(ADDRESSES)}

    def address(self):
        rng = self.random
        if rng.random() < 0.2:
            return ip(f"2a02:{rng.randrange(64):x}:{rng.randrange(64):x}::")
        return ip(f"{20 + rng.randrange(4)}.{rng.randrange(8)}.{rng.randrange(256)}"
                  f".{rng.randrange(256)}")

    def lines(self):
        return sorted(f"{address}/64" if address.version == 6 else str(address)
                      for address in self.listed)

    def change_list(self):
        for address in self.random.sample(sorted(self.listed, key=str), CHANGES):
            self.listed.discard(address)
        self.listed.update(self.address() for _ in range(CHANGES))

    def cron(self, *options, expect=0):
        self.write("list.txt", "\n".join(self.lines()) + "\n")
        return self.run_zone("build", "--zone", ZONE, "--store", self.store, *options, self.list,
                             expect=expect)

    def check_verdicts(self, server, style):
        """As the text of the format has them, and as the classic zone does."""
        oracle = Oracle()
        for text in self.lines():
            oracle.add_text(text, True)
        truth = Truth(oracle, style)
        spots = truth.sample(SAMPLE, self.random)
        replies = ask_all(server.address, [(truth.name(spot), AAAA) for spot in spots])
        wrong = [truth.name(spot) for spot, reply in zip(spots, replies)
                 if reply is None or Answer(reply.rcode, tuple(reply.rdata(AAAA)))
                 != truth.answer(spot)]
        self.assertEqual(wrong[:5], [], f"{len(wrong)} of {len(spots)}")
        self.assertIn(NOTHING, {truth.answer(spot) for spot in spots})

    def serial(self):
        zone = self.run_zone("dump", "--zonefile", "--store", self.store).out
        return int(re.search(r"SOA\s+\S+ \S+ (\d+)", zone).group(1))

    def run_versions(self, style):
        server = self.serve()
        built = unchanged = 0
        steady = f"0.0.0.127.{ZONE}" if style == "dotted" else f"7f00000.{ZONE}"
        with Load(server.address, [steady], lambda _, reply: reply.rcode == 0) as load:
            for version in range(VERSIONS):
                is_same = version % 7 == 3
                if not is_same:
                    self.change_list()
                before = self.serial() if is_same else 0
                said = self.cron().out
                if is_same:
                    self.assertEqual(said, f"nothing changed in {ZONE}: serial={before}\n")
                    self.assertEqual(self.serial(), before)
                    unchanged += 1
                else:
                    self.assertGreater(numbers(said)["changed"], 1)
                    built += 1
                self.check_verdicts(server, style)
        load.assert_flawless(self)
        print(f"{built} versions, {unchanged} times nothing new")

    def test_dotted_names(self):
        self.cron("--ns", "ns1.example.net.", "--ttl", "300")
        self.run_versions("dotted")

    def test_flat_names_signed_with_a_line_that_does_not_say_so(self):
        key = self.path("bl6.pem")
        self.run_zone("keygen", "--zone", ZONE, "--key", key)
        first = self.cron
        self.cron = lambda *options, **how: first("--key", key, *options, **how)
        self.cron("--ns", "ns1.example.net.", "--style", "flat", "--lifetime", "1000000")
        self.run_versions("flat")

    def test_a_list_whose_serial_never_grows_is_built_every_time(self):
        server, before = None, 0
        for version in range(20):
            self.change_list()
            self.write("list.rbldnsd", SOA_LINE + "$NS 3600 ns1.example.net.\n" + "\n".join(
                line for line in self.lines() if ":" not in line) + "\n")
            result = self.run_zone("build", "--zone", ZONE, "--store", self.store,
                                   "ip4set:" + self.path("list.rbldnsd"))
            serial = numbers(result.out)["serial"]
            self.assertEqual(serial, before + 1)
            if version > 0:
                self.assertEqual(result.err, f"warning: [{self.store}] serial of $SOA is not newer,"
                                             " given=1 (took one more than before)\n")
            server = server or self.serve()
            listed = next(address for address in self.listed if address.version == 4)
            name = ".".join(reversed(str(listed).split("."))) + "." + CLASSIC
            self.assertEqual(ask_all(server.address, [(name, A)])[0].rcode, 0)
            before = serial

    def test_a_serial_that_was_asked_for_must_be_newer(self):
        self.cron("--ns", "ns1.example.net.", "--serial", "100")
        self.change_list()
        refused = self.cron("--serial", "100", expect=EX_DATAERR)
        self.assertIn("serial is not newer than the store's", refused.err)
        self.assertEqual(self.serial(), 100)


if __name__ == "__main__":
    main()
