# SPDX-License-Identifier: GPL-3.0-or-later
"""
updates.py - a store that is updated, and models of the list in it.

Flow: test_update.py, test_update_live.py and soak.py change both and compare them.
"""

import ipaddress

from harness import (AAAA, NOERROR, NXDOMAIN, ZONE, Case, bitmap_name, host_index, peer)

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


class Versions:
    """What a block's name has said, and from when to when a client may be told so."""

    def __init__(self):
        self.states = {}  # name -> [(bitmap, from when)], the oldest first
        self.ended = {}  # (name, index) -> when the command that replaced it had ended

    def bitmap(self, name):
        states = self.states.get(name)
        return states[-1][0] if states else bytes(16)

    def change(self, addresses, is_added, begin):
        """Before the command is run. Returns the names that it changes."""
        names = {}
        for address in addresses:
            names.setdefault(bitmap_name(address), []).append(host_index(address))
        changed = []
        for name, hosts in names.items():
            number = int.from_bytes(self.bitmap(name), "big")
            for host in hosts:
                bit = 1 << (127 - host)
                number = number | bit if is_added else number & ~bit
            bitmap = number.to_bytes(16, "big")
            if bitmap != self.bitmap(name):
                self.states.setdefault(name, [(bytes(16), 0)]).append((bitmap, begin))
                changed.append(name)
        return changed

    def end(self, names, when):
        for name in names:
            self.ended[name, len(self.states[name]) - 2] = when

    def permits(self, name, bitmap, sent, received):
        states = self.states.get(name, [(bytes(16), 0)])
        return any(bitmap == state and begin <= received
                   and sent <= self.ended.get((name, index), received)
                   for index, (state, begin) in enumerate(states))


def bitmap_of(reply):
    """Of an answer about a block: nothing listed is NXDOMAIN."""
    found = reply.rdata(AAAA)
    if (reply.rcode, len(found)) not in ((NOERROR, 1), (NXDOMAIN, 0)):
        raise ValueError(f"rcode {reply.rcode} with {len(found)} records")
    return found[0] if found else bytes(16)


def random_change(random):
    """(word for the command, addresses): one, a run, a whole /24, a /64 or a /56."""
    kind = random.randrange(10)
    third = random.randrange(40)
    if kind < 6:
        words = [f"44.0.{third}.{random.randrange(256)}/32"]
    elif kind < 8:
        words = [f"44.0.{third}.0/24", f"44.0.{third}.128/26"]
    else:
        words = [f"2a00:1:2:{random.randrange(4):x}00::/56",
                 f"2a00:1:2:{random.randrange(0x400):x}::/64"]
    network = ipaddress.ip_network(random.choice(words))
    if network.version == 4:
        return str(network), list(network)
    return str(network), [subnet[0] for subnet in network.subnets(new_prefix=64)]


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

    def master_file(self, store=None):
        """All of the zone, serial and signatures too."""
        return self.run_zone("dump", "--zonefile", "--store", store or self.store).out

    def zone(self, store=None):
        """The zone as lines, without what is different in every version."""
        return [line for line in self.master_file(store).splitlines() if line.split()[2] not in ("SOA", "RRSIG")]

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
