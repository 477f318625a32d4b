#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A stock Unbound resolves both zones, whatever its QNAME minimisation.

10,000 names of each zone through Unbound with minimisation off, on and
strict: no SERVFAIL, every answer equal to the list. Needs unbound; takes
ipsum.txt when it is there and a list of its own otherwise.
"""

import ipaddress
import os

from harness import (A, AAAA, CLASSIC, DATA, IS_SANITIZED, SEED, ZONE, Case, ask_all,
                     bitmap_name, classic_name, main)
from oracle import Oracle, classic_differences, differences
from resolvers import start_unbound

NAMES = 2000 if IS_SANITIZED else 10000


class Unbound(Case):
    def make_list(self):
        real = os.path.join(DATA, "ipsum.txt")
        if os.path.exists(real):
            return real
        numbers = (self.random.randint(0x20000000, 0x60000000) for _ in range(20000))
        networks = ("203.0.112.0/20", "2a00:1:2::/48", "2a00:1:3:40::/58")
        return self.write("list.txt", "\n".join(
            [*(str(ipaddress.IPv4Address(number)) for number in numbers), *networks]) + "\n")

    def resolve(self, minimisation, strict="no"):
        path = self.make_list()
        oracle = Oracle().read_plain(path)
        self.build(self.path("bl6.mdb"), "--ignore-columns", path)
        server = self.serve()
        resolver = start_unbound(self, [server], zones=(ZONE, CLASSIC), lines=[
            f"qname-minimisation: {minimisation}", f"qname-minimisation-strict: {strict}"])
        addresses = oracle.sample(NAMES, SEED)

        replies = ask_all(resolver, [(bitmap_name(a), AAAA) for a in addresses], window=64)
        wrong = list(differences(oracle, addresses, replies, ZONE))
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {NAMES} wrong")

        addresses = [address for address in addresses if address.version == 4]
        replies = ask_all(resolver, [(classic_name(a), A) for a in addresses], window=64)
        wrong = list(classic_differences(oracle, addresses, replies, CLASSIC))
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {NAMES} wrong")

    def test_minimisation_off(self):
        self.resolve("no")

    def test_minimisation_on(self):
        self.resolve("yes")

    def test_minimisation_strict(self):
        self.resolve("yes", strict="yes")


if __name__ == "__main__":
    main()
