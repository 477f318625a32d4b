#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Every list becomes a zone that answers what the list says.

For each list: the counts that build prints, and 20,000 addresses, half of them
listed, whose answers must be those of oracle.py. Real lists are skipped where
they are not there; the lists of our own always run.
"""

import ipaddress
import os
import re

from harness import (A, AAAA, CLASSIC, IS_SANITIZED, SEED, ZONE, Case, ask_all, bitmap_name,
                     classic_name, data_file, main, numbers)
from names import flat_name
from oracle import (BLOCK, UNIT, Oracle, classic_differences, differences, prefix_name)

SAMPLES = int(os.environ.get("DNSBLV6_SAMPLES", 2000 if IS_SANITIZED else 4000))


class Lists(Case):
    def compare(self, oracle, *arguments, counts=None):
        """Builds, serves, asks; counts of None are computed (no exclusions then)."""
        if counts is None:
            counts = {"ipv4": oracle.count(4, UNIT[4]), "ipv6": oracle.count(6, UNIT[6]),
                      "blocks": oracle.count(4, BLOCK[4]) + oracle.count(6, BLOCK[6])}
        built = self.build(self.path("bl6.mdb"), *arguments)
        printed = numbers(built.out)
        self.assertEqual({key: printed.get(key) for key in counts}, counts, built.out)

        server = self.serve()
        addresses = oracle.sample(SAMPLES, SEED)
        replies = ask_all(server.address, [(bitmap_name(address), AAAA) for address in addresses])
        wrong = list(differences(oracle, addresses, replies, ZONE))
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {len(addresses)} wrong")
        return server, addresses

    def compare_classic(self, oracle, server, addresses):
        units = [address for address in addresses if address.version == 4]
        replies = ask_all(server.address, [(classic_name(address), A) for address in units])
        wrong = list(classic_differences(oracle, units, replies, CLASSIC))
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {len(units)} wrong")

    def test_ipsum(self):
        path = data_file("ipsum.txt")
        oracle = Oracle().read_plain(path)
        server, addresses = self.compare(oracle, "--ignore-columns", path,
                                         counts={"ipv4": 120430, "ipv6": 0, "blocks": 69886})
        self.compare_classic(oracle, server, addresses)

    def test_uceprotect_level_1_single_addresses(self):
        path = data_file("dnsbl-1.uceprotect.net")
        oracle = Oracle().read_ip4set(path)
        server, addresses = self.compare(oracle, "ip4set:" + path, counts={"ipv6": 0})
        self.compare_classic(oracle, server, addresses)

    def test_uceprotect_level_2_networks_with_exclusions(self):
        path = data_file("dnsbl-2.uceprotect.net")
        oracle = Oracle().read_ip4set(path)
        server, addresses = self.compare(oracle, "ip4set:" + path,
                                         counts={"ipv6": 0, "blocks": 1017582})
        self.compare_classic(oracle, server, addresses)

    def test_uceprotect_level_2_without_networks_larger_than_14(self):
        """The figure that is told about this list, 393,384 /25s, leaves those out."""
        path = data_file("dnsbl-2.uceprotect.net")
        with open(path, encoding="latin-1") as file:
            lines = [line for line in file if not re.match(r"[\d.]+/([89]|1[0-3])\s", line)]
        path = self.path("smaller")
        with open(path, "w", encoding="latin-1") as file:
            file.writelines(lines)
        self.compare(Oracle().read_ip4set(path), "ip4set:" + path,
                     counts={"ipv6": 0, "blocks": 393384})

    def test_data_centres_ipv4_large_networks(self):
        path = data_file("datacenter-ipv4.txt")
        oracle = Oracle().read_plain(path)
        server, addresses = self.compare(oracle, path)
        self.compare_classic(oracle, server, addresses)

    def test_data_centres_ipv6(self):
        path = data_file("datacenter-ipv6.txt")
        self.compare(Oracle().read_plain(path), path)

    def test_tor_nodes_both_families_in_one_list(self):
        for number in (1, 2, 3):
            with self.subTest(number=number):
                path = data_file(f"tor-nodes-{number}.lst")
                self.compare(Oracle().read_plain(path), path)

    def test_ranges_prefixes_of_every_length_and_overlaps(self):
        path = self.write("list.txt", self.every_shape())
        oracle = Oracle().read_plain(path)
        server, addresses = self.compare(oracle, path)
        units = [address for address in addresses if address.version == 4]
        self.compare_classic(oracle, server, units)

    def test_exceptions_in_networks_of_each_size(self):
        """Networks inside networks, listed and not, as in a list of providers with exceptions."""
        path = self.write("list.txt", "".join(self.nested()))
        oracle = Oracle()
        with open(path, encoding="ascii") as file:
            for line in file.read().split():
                oracle.add_text(line.lstrip("!"), not line.startswith("!"))
        server, addresses = self.compare(oracle, path, "--max-listed", "100", counts={})
        self.compare_classic(oracle, server, addresses)
        self.compare_parents(oracle, server)

    def compare_parents(self, oracle, server):
        """A shorter classic name is there when something in its prefix is listed."""
        chosen = {}
        for network in self.random.sample(oracle.listed + oracle.excluded, 300):
            step = 8 if network.version == 4 else 4
            for length in range(step, UNIT[network.version], step):
                chosen[network.supernet(new_prefix=min(length, network.prefixlen))] = None
        prefixes = [prefix for prefix in chosen
                    if prefix.prefixlen % (8 if prefix.version == 4 else 4) == 0]
        names = [prefix_name(prefix, CLASSIC) for prefix in prefixes]
        replies = ask_all(server.address, [(name, A) for name in names])
        wrong = [(str(prefix), reply.rcode) for prefix, reply in zip(prefixes, replies)
                 if (reply.rcode == 0) != oracle.has_listed(prefix)]
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {len(prefixes)} wrong")

    def nested(self):
        """Lines: networks, and in each of them exceptions, in which something is listed again."""
        for version, lengths in ((4, (9, 12, 16, 16, 17, 20, 24)), (6, (29, 32, 32, 33, 44, 48))):
            make = {4: ipaddress.IPv4Address, 6: ipaddress.IPv6Address}[version]
            width = 32 if version == 4 else 128
            base = 44 << 24 if version == 4 else 0x2A00 << 112
            longest = UNIT[version]
            for number, length in enumerate(lengths * 4):
                first = base + (number << width - lengths[0])
                yield f"{make(first)}/{length}\n"
                places = [(first, length, False)] * self.random.randrange(1, 30)
                while places:
                    at, above, is_listed = places.pop()
                    inner = self.random.randint(above + 1, longest)
                    at += self.random.getrandbits(inner - above) << width - inner
                    yield f"{'' if is_listed else '!'}{make(at)}/{inner}\n"
                    if inner < longest and self.random.random() < 0.5:
                        places.append((at, inner, not is_listed))

    def test_flat_names(self):
        path = self.write("list.txt", "192.0.2.1\n198.51.100.0/24\n2001:db8:aabb:cc80::/64\n")
        self.build(self.path("bl6.mdb"), "--style", "flat", path)
        server = self.serve([(ZONE, self.path("bl6.mdb"), None)])
        for name, value in (("c000020", "4000::"),
                            ("c633640", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
                            ("C633641", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
                            ("20010db8aabbcc1.ip6", "8000::"), ("7f00000", "2000::")):
            reply = server.ask(f"{name}.{ZONE}", AAAA)
            self.assertEqual(reply.rdata(AAAA), [ipaddress.IPv6Address(value).packed], name)
        self.assertEqual(server.ask(f"c000021.{ZONE}", AAAA).rcode, 3)

    def test_dotted_and_flat_names_beside_each_other(self):
        path = self.write("list.txt", self.every_shape().replace("/14\n", "/20\n"))
        for style, versions in (("both", (4,)), ("both6", (4, 6))):
            lines = [line for line in open(path, encoding="ascii")
                     if style == "both" or ":" not in line or "/6" in line]
            chosen = self.write("chosen.txt", "".join(lines))
            store = self.path(f"{style}.mdb")
            self.build(store, "--style", style, chosen)
            self.count_cuts(store)
            server = self.serve([(ZONE, store, None)])
            oracle = Oracle().read_plain(chosen)
            addresses = oracle.sample(4000, SEED)
            for name_of, some in ((bitmap_name, addresses), (
                    lambda address: flat_name(address, ZONE),
                    [address for address in addresses if address.version in versions])):
                replies = ask_all(server.address, [(name_of(a), AAAA) for a in some])
                wrong = list(differences(oracle, some, replies, ZONE))
                self.assertEqual(wrong[:10], [], f"{style}: {len(wrong)} of {len(some)} wrong")

    def count_cuts(self, store):
        """Flat names stand in a row but where a dotted name's first label belongs."""
        owners = [line.split()[0] for line in
                  self.run_zone("dump", "--zonefile", "--store", store).out.splitlines()]
        labels = [owner[:-len(ZONE) - 1].split(".") for owner in owners if owner != ZONE]
        for family, size in ((labels, 7), ([row[:-1] for row in labels if row[-1] == "ip6"], 15)):
            kinds = [len(row) == 1 and len(row[0]) == size for row in family]
            runs = sum(is_flat and not before for before, is_flat in zip([False] + kinds, kinds))
            dotted = {row[-1] for row, is_flat in zip(family, kinds) if not is_flat}
            self.assertLessEqual(runs, 1 + len(dotted))

    def every_shape(self):
        """A few of each prefix length and some ranges, at random but outside reserved space."""
        lines = []
        for prefix_len in range(14, 33):
            for _ in range(40 if prefix_len > 20 else 2):
                number = self.random.randint(0x20000000, 0x60000000)
                lines.append(str(ipaddress.ip_network((number, prefix_len), strict=False)))
        for _ in range(100):
            first = self.random.randint(0x20000000, 0x60000000)
            last = first + self.random.randint(0, 1000)
            lines.append(f"{ipaddress.ip_address(first)}-{ipaddress.ip_address(last)}")
        for prefix_len in (*range(44, 65), 80, 96, 128):
            for _ in range(5):
                number = 0x2A << 120 | self.random.getrandbits(120)
                lines.append(str(ipaddress.ip_network((number, prefix_len), strict=False)))
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
