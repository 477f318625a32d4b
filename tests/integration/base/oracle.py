# SPDX-License-Identifier: GPL-3.0-or-later
"""
oracle.py - what a list says, read with Python's ipaddress and nothing of ours.

Flow: test_oracle.py and others read a list here and compare what DNS says.

An Oracle is a dictionary of prefixes for each prefix length. An address is
listed when the longest prefix that holds it is listed; a prefix that is both
listed and excluded is excluded. That is slow and easy to believe.
"""

import ipaddress
import random

from harness import (AAAA, NOERROR, NXDOMAIN, bitmap_name, classic_name, host_index)

# What every zone answers whatever its list says: FORMAT.md parts 6 and 7.
TEST_POINTS = [ipaddress.ip_address("127.0.0.2"), ipaddress.ip_address("2001:db8:7f00:2::")]
CANARIES = {
    "127.0.1.0": "fd00::6443:a55a",
    "127.0.2.0": "fe80::6443:a55a",
    "127.0.3.0": "::ffff:10.67.165.90",
    "127.0.4.0": "::1",
    "127.0.5.0": "fec0::6443:a55a",
}
UNIT = {4: 32, 6: 64}  # prefix length of what one bit stands for
BLOCK = {4: 25, 6: 57}


def prefix_name(network, zone):
    """The classic name of a network: octets or nibbles."""
    bits = 8 if network.version == 4 else 4
    size = network.max_prefixlen
    count = network.prefixlen // bits
    number = int(network.network_address)
    parts = [number >> size - bits * (i + 1) & ((1 << bits) - 1) for i in range(count)]
    texts = [str(part) if network.version == 4 else f"{part:x}" for part in reversed(parts)]
    return ".".join(texts) + "." + zone


def first_of_block(address):
    return str(ipaddress.IPv4Address(int(address) >> 7 << 7))


class Oracle:
    def __init__(self):
        # prefix length -> {network number shifted right: is listed}
        self.prefixes = {4: {}, 6: {}}
        self.listed = []  # networks, in the order of the list
        self.excluded = []
        self.units_below = {4: set(), 6: set()}  # blocks with prefixes longer than themselves

    # ---- reading ----

    def add(self, network, is_listed=True):
        version = network.version
        unit = UNIT[version]
        if network.prefixlen > unit:
            network = network.supernet(new_prefix=unit)
        table = self.prefixes[version].setdefault(network.prefixlen, {})
        number = int(network.network_address) >> (network.max_prefixlen - network.prefixlen)
        table[number] = is_listed and table.get(number, True)
        if network.prefixlen > BLOCK[version]:
            self.units_below[version].add(
                int(network.network_address) >> (network.max_prefixlen - BLOCK[version]))
        (self.listed if is_listed else self.excluded).append(network)

    def add_text(self, text, is_listed=True):
        """An address, CIDR or range."""
        if "-" in text:
            first, last = (ipaddress.ip_address(end.strip()) for end in text.split("-"))
            for network in ipaddress.summarize_address_range(first, last):
                self.add(network, is_listed)
        else:
            self.add(ipaddress.ip_network(text), is_listed)

    def read_plain(self, path):
        with open(path, encoding="latin-1") as file:
            for line in file:
                words = line.split("#")[0].split(";")[0].split()
                if words:
                    self.add_text(words[0])
        return self

    def read_ip4set(self, path):
        """The part of ip4set that the UCEPROTECT files use."""
        with open(path, encoding="latin-1") as file:
            for line in file:
                words = line.split()
                if words and words[0][0] in "0123456789!":
                    self.add_text(words[0].lstrip("!"), not words[0].startswith("!"))
        return self

    # ---- asking ----

    def _decide(self, version, number, size, lengths):
        """The longest of these prefix lengths that knows the number of size bits."""
        for length in lengths:
            found = self.prefixes[version][length].get(number >> (size - length))
            if found is not None:
                return found
        return False

    def bitmap(self, address):
        """16 bytes of the block that holds an address; all zero when nothing is listed."""
        version = address.version
        if self.is_canary(address):
            return ipaddress.IPv6Address(CANARIES[first_of_block(address)]).packed
        block = int(address) >> (address.max_prefixlen - BLOCK[version])
        lengths = sorted(self.prefixes[version], reverse=True)
        short = [length for length in lengths if length <= BLOCK[version]]
        bits = (1 << 128) - 1 if self._decide(version, block, BLOCK[version], short) else 0
        if block in self.units_below[version]:
            bits = 0
            for host in range(128):
                is_listed = self._decide(version, block << 7 | host, UNIT[version], lengths)
                bits = bits << 1 | is_listed
        for point in TEST_POINTS:
            if point.version == version and \
                    int(point) >> (point.max_prefixlen - BLOCK[version]) == block:
                bits |= 1 << (127 - host_index(point))
        return bits.to_bytes(16, "big")

    def is_listed(self, address):
        if any(address == point for point in TEST_POINTS):
            return True
        unit = int(address) >> (address.max_prefixlen - UNIT[address.version])
        lengths = sorted(self.prefixes[address.version], reverse=True)
        return self._decide(address.version, unit, UNIT[address.version], lengths)

    def has_listed(self, network):
        """Is anything in a network listed? A list's own; test points and canaries are not seen."""
        version = network.version
        inner = [other for other in self.listed
                 if other.version == version and other.subnet_of(network)]
        if any(self.is_listed_somewhere(other) for other in inner):
            return True
        lengths = [length for length in sorted(self.prefixes[version], reverse=True)
                   if length <= network.prefixlen]
        number = int(network.network_address) >> network.max_prefixlen - network.prefixlen
        return self._decide(version, number, network.prefixlen, lengths) \
            and not self._is_covered(network)

    def is_listed_somewhere(self, network):
        """Of a network of the list: are all its addresses excluded by narrower networks?"""
        table = self.prefixes[network.version][network.prefixlen]
        number = int(network.network_address) >> network.max_prefixlen - network.prefixlen
        return table[number] and not self._is_covered(network)

    def _is_covered(self, network):
        """Do narrower exclusions leave nothing of it?"""
        inner = [other for other in self.excluded if other.version == network.version
                 and other != network and other.subnet_of(network)]
        rest = network.num_addresses
        return sum(other.num_addresses for other in ipaddress.collapse_addresses(inner)) == rest

    def is_canary(self, address):
        return address.version == 4 and first_of_block(address) in CANARIES

    # ---- counting, for lists without exclusions ----

    def count(self, version, prefix_len):
        """How many prefixes of that length hold something listed."""
        shift = ipaddress.ip_network("0.0.0.0/0" if version == 4 else "::/0").max_prefixlen
        shift -= prefix_len
        ranges = sorted((int(network.network_address) >> shift,
                         int(network.broadcast_address) >> shift)
                        for network in self.listed if network.version == version)
        total, end = 0, -1
        for first, last in ranges:
            total += max(0, last - max(first, end + 1) + 1)
            end = max(end, last)
        return total

    # ---- samples ----

    def sample(self, count, seed):
        """
        count addresses, half of them listed. Of the others many are just
        outside of something listed, where mistakes live.
        """
        rng = random.Random(seed)
        chosen = {True: [], False: []}
        while any(len(addresses) < count // 2 for addresses in chosen.values()):
            address = self._candidate(rng)
            addresses = chosen[self.is_listed(address)]
            if len(addresses) < count // 2:
                addresses.append(address)
        return [address for pair in zip(chosen[True], chosen[False]) for address in pair]

    def _candidate(self, rng):
        network = rng.choice(self.listed)
        first, last = int(network.network_address), int(network.broadcast_address)
        unit = 1 << (network.max_prefixlen - UNIT[network.version])
        number = rng.choice((rng.randint(first, last), first - unit, last + unit,
                             first - 128 * unit, last + 128 * unit,
                             first ^ unit << rng.randrange(UNIT[network.version])))
        make = ipaddress.IPv4Address if network.version == 4 else ipaddress.IPv6Address
        return make(number & ((1 << network.max_prefixlen) - 1))


def differences(oracle, addresses, replies, zone):
    """Lines about every reply that is not what the oracle says; replies to AAAA."""
    for address, reply in zip(addresses, replies):
        name = bitmap_name(address, zone)
        if reply is None:
            yield f"{name}: no answer"
            continue
        wanted = oracle.bitmap(address)
        got = reply.rdata(AAAA)
        if any(wanted):
            if reply.rcode != NOERROR or got != [wanted]:
                yield f"{name}: {got} rcode={reply.rcode}, wanted {wanted.hex()}"
        elif reply.rcode != NXDOMAIN or reply.answer or not reply.has_soa():
            yield f"{name}: {got} rcode={reply.rcode}, wanted NXDOMAIN with SOA"


def classic_differences(oracle, addresses, replies, zone, rdata=b"\x7f\0\0\2"):
    """The same for questions for A in the classic zone."""
    for address, reply in zip(addresses, replies):
        name = classic_name(address, zone)
        if reply is None:
            yield f"{name}: no answer"
        elif oracle.is_listed(address) and not oracle.is_canary(address):
            got = [record.rdata for record in reply.answer if record.type == 1]
            if reply.rcode != NOERROR or got != [rdata]:
                yield f"{name}: {got} rcode={reply.rcode}, wanted {rdata.hex()}"
        elif reply.rcode != NXDOMAIN or reply.answer or not reply.has_soa():
            yield f"{name}: rcode={reply.rcode}, wanted NXDOMAIN with SOA"
