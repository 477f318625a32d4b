# SPDX-License-Identifier: GPL-3.0-or-later
"""
updates.py - a store that is updated, and a model of the list in it.

Flow: test_update.py and test_update_live.py change both and compare them.
"""

import ipaddress

from harness import ZONE, Case, peer

NETWORK = {4: ipaddress.IPv4Network, 6: ipaddress.IPv6Network}
ADDRESS = {4: ipaddress.IPv4Address, 6: ipaddress.IPv6Address}


class Addresses:
    """What one list lists: disjoint ranges, ascending."""

    def __init__(self):
        self.ranges = {4: [], 6: []}

    def change(self, network, is_added):
        first, last = int(network[0]), int(network[-1])
        rest = []
        for low, high in self.ranges[network.version]:
            if high < first or low > last:
                rest.append((low, high))
                continue
            if low < first:
                rest.append((low, first - 1))
            if high > last:
                rest.append((last + 1, high))
        if is_added:
            rest.append((first, last))
        self.ranges[network.version] = sorted(rest)

    def prefixes(self, version):
        for low, high in self.ranges[version]:
            yield from ipaddress.summarize_address_range(ADDRESS[version](low),
                                                         ADDRESS[version](high))

    def plain(self):
        return "".join(f"{ADDRESS[version](low)} - {ADDRESS[version](high)}\n"
                       for version in (4, 6) for low, high in self.ranges[version])

    def combined(self, name):
        """Datasets for one origin of a combined file."""
        lines = []
        for version in (4, 6):
            lines += [f"$DATASET ip{version}trie {name}"]
            lines += [str(prefix) for prefix in self.prefixes(version)]
        return "\n".join(lines) + "\n"


class UpdateCase(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")
        self.key = self.path("bl6.pem")
        self.keys = ()

    def keygen(self, name="bl6.pem"):
        self.run_zone("keygen", "--zone", ZONE, "--key", self.path(name))
        return self.path(name)

    def sign(self):
        """From now on the zone is signed."""
        self.keys = ("--key", self.keygen())

    def update(self, *options, **how):
        return self.run_zone("update", "--store", self.store, *self.keys, *options, **how)

    def zone(self, store=None):
        """The zone as lines, without what is different in every version."""
        lines = self.run_zone("dump", "--zonefile", "--store", store or self.store).out.splitlines()
        return [line for line in lines if line.split()[2] not in ("SOA", "RRSIG")]

    def values(self, store=None):
        return self.run_zone("dump", "--values", "--store", store or self.store).out

    def content(self):
        with open(self.store, "rb") as file:
            return file.read()

    def assert_sound(self):
        """The checksum of the store, and every signature."""
        self.run_zone("check", "--store", self.store)
        if self.keys:
            zonefile = self.path("zone.txt")
            with open(zonefile, "wb") as file:
                self.run_zone_into(file, "dump", "--zonefile", "--store", self.store)
            verifier = self.start([peer("ldns-verify-zone"), zonefile], "ldns-verify-zone")
            self.assertEqual(verifier.popen.wait(300), 0, verifier.log()[-4000:])
