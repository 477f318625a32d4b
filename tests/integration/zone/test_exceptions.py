#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
An exception inside a listed network costs some hundred names, whatever the size of the network.

A list like those of data centres, IPv6 networks from /29 to /48 with
exceptions, is built; its store has to be small, and dump to give it back.
"""

import ipaddress
import os
import re

from harness import ANY_SIZE, ZONE, Case, main, numbers

LENGTHS = [29] * 25 + [30] * 10 + [31] * 10 + [32] * 180 + [40] * 5 + [44] * 30 + [48] * 90
EXCEPTIONS = 337
STORE_MAX = 10 << 20
NAMES_MAX = 300  # of one network or exception, all counted, /40s of 256 names included


class Exceptions(Case):
    def make_list(self):
        """Lines, and what is left of the networks."""
        networks, excluded = [], []
        for number, length in enumerate(LENGTHS):
            first = (0x2A00 << 112) + (number << 99) + \
                (self.random.getrandbits(length - 29) << 128 - length)
            networks.append(ipaddress.IPv6Network((first, length)))
        for _ in range(EXCEPTIONS):
            network = self.random.choice(networks)
            length = self.random.choice(
                [at for at in (48, 52, 56, 56, 57, 60, 64, 64, 64) if at > network.prefixlen])
            first = int(network[0]) + \
                (self.random.getrandbits(length - network.prefixlen) << 128 - length)
            excluded.append(ipaddress.IPv6Network((first, length)))
        return networks, list(ipaddress.collapse_addresses(excluded))

    @staticmethod
    def listed_count(networks, excluded):
        return sum(1 << 64 - network.prefixlen for network in networks) - \
            sum(1 << 64 - network.prefixlen for network in excluded)

    def test_a_list_of_networks_with_exceptions_makes_a_small_store(self):
        networks, excluded = self.make_list()
        path = self.write("list.txt", "".join(f"{network}\n" for network in networks)
                          + "".join(f"!{network}\n" for network in excluded))
        store = self.path("bl6.mdb")
        built = numbers(self.build(store, path).out)
        self.assertEqual(built["ipv6"], self.listed_count(networks, excluded))
        self.assertLess(built["records"], NAMES_MAX * (len(networks) + len(excluded)))
        self.assertLess(os.path.getsize(store), STORE_MAX)
        dumped = [ipaddress.IPv6Network(line)
                  for line in self.run_zone("dump", "--store", store).out.splitlines()]
        self.assertEqual(self.listed_count(dumped, []), built["ipv6"])
        self.run_zone("check", "--store", store, path)

    def test_the_log_tells_exceptions_and_nothing_around_them(self):
        store = self.path("bl6.mdb")
        self.build(store, self.write("list.txt", "2a00::/32\n20.0.0.0/16\n"))
        steps = [("--remove", "20.0.7.9"), ("--remove", "2a00:0:5::/48"), ("--add", "20.0.7.9"),
                 ("--remove", "20.0.128.0/17"), ("--add", "20.0.128.0/17"),
                 ("--add", "2a00:0:5::/48")]
        for word, text in steps:
            self.run_zone("update", "--store", store, *ANY_SIZE, word, text)
        lines = self.run_zone("log", "--store", store, "--all").out.splitlines()
        told = [line.split() for line in lines if line.startswith(" ")]
        self.assertEqual(told, [["+" if word == "--add" else "-", text]
                                for word, text in reversed(steps)])
        serial = re.search(r"before=(\d+)", lines[-2])[1]
        since = self.run_zone("log", "--store", store, "--all", "--since", serial).out
        self.assertEqual(len(since.splitlines()), 1, since)

    def test_an_update_of_an_exception_changes_names_on_its_way(self):
        store = self.path("bl6.mdb")
        self.build(store, self.write("list.txt", "2a00::/29\n20.0.0.0/8\n"))
        before = self.run_zone("dump", "--zonefile", "--store", store).out
        for word, options in (("--remove", ()), ("--add", ())):
            updated = numbers(self.run_zone("update", "--store", store, *options, word,
                                            "2a00:1:2:3::/64", word, "20.1.2.3").out)
            self.assertLess(updated["changed"], 3 * 256 + 20)
        after = self.run_zone("dump", "--zonefile", "--store", store).out
        self.assertEqual([line for line in after.splitlines() if "SOA" not in line.split()],
                         [line for line in before.splitlines() if "SOA" not in line.split()])
        self.assertIn(f"*.20.{ZONE}", after)


if __name__ == "__main__":
    main()
