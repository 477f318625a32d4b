# SPDX-License-Identifier: GPL-3.0-or-later
"""
names.py - every kind of name in a zone, and what a list says is there.

Flow: test_resolvers.py reads a list with oracle.py -> Truth samples spots of the
      zone and knows each one's name and answer -> what resolvers say is compared.

A spot is a place in the tree of names: the prefix it stands for, a block or
something shorter, and labels put below it that stand for nothing. It means the
same whatever the list says, so that two versions of a list can be asked about
one spot. Nothing here reads a zone: whether a name exists, is a wildcard's or
is empty follows from the list and the text of FORMAT.md.
"""

import bisect
import collections
import ipaddress

from harness import NOERROR, NXDOMAIN, ZONE, bitmap_name
from oracle import BLOCK, CANARIES, TEST_POINTS, UNIT

Spot = collections.namedtuple("Spot", "network junk")
Answer = collections.namedtuple("Answer", "rcode bitmaps")

NOTHING = Answer(NXDOMAIN, ())
EMPTY = Answer(NOERROR, ())
ALL_ONES = Answer(NOERROR, (b"\xff" * 16,))

# Where names have a label more, from the apex down: FORMAT.md 2.2 and 2.3. The
# first one of IPv6 is "ip6".
BORDERS = {4: (8, 16, 24), 6: (0, 16, 32, 48, 56)}
# Not "*.", which Unbound 1.17 takes for the wildcard itself: below a shorter one
# that is bogus to it, and to nobody else.
JUNK = ("junk.", "a.b.", "256.", "000.", "_dnsblv6.")


def flat_name(address, zone):
    number = int(address)
    if address.version == 4:
        return f"{number >> 8:06x}{number >> 7 & 1}.{zone}"
    return f"{number >> 72:014x}{number >> 71 & 1}.ip6.{zone}"


class Truth:
    def __init__(self, oracle, style="dotted", zone=ZONE):
        self.oracle, self.style, self.zone = oracle, style, zone
        # The units of what is published, as the ends of ranges: listed from the
        # first to before the second, from the third to before the fourth, ...
        self.ends = {version: self._ends(version) for version in (4, 6)}
        self.wildcards = {}  # block -> has it one beside exceptions?

    def _ends(self, version):
        points = {int(point) >> self._unit_bits(version) for point in TEST_POINTS
                  if point.version == version}
        if version == 4:
            points |= {int(ipaddress.ip_address(canary)) for canary in CANARIES}
        borders = {0, 1 << UNIT[version]}
        for point in points:
            borders |= {point, point + 1}
        for length, table in self.oracle.prefixes[version].items():
            shift = UNIT[version] - length
            for number in table:
                borders |= {number << shift, (number + 1) << shift}
        ends, was_listed = [], False
        for border in sorted(borders):
            is_listed = border in points or (
                border < 1 << UNIT[version]
                and self.oracle.is_listed(self._address(version, border)))
            if is_listed != was_listed:
                ends.append(border)
            was_listed = is_listed
        return ends

    @staticmethod
    def _unit_bits(version):
        return 0 if version == 4 else 64

    def _address(self, version, unit):
        make = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
        return make(unit << self._unit_bits(version))

    # ---- prefixes ----

    def _range(self, network):
        bits = self._unit_bits(network.version)
        return int(network.network_address) >> bits, int(network.broadcast_address) >> bits

    def is_whole(self, network):
        first, last = self._range(network)
        ends = self.ends[network.version]
        place = bisect.bisect_right(ends, first)
        return place % 2 == 1 and ends[place] > last

    def is_touched(self, network):
        """Whether anything in it is published."""
        first, last = self._range(network)
        ends = self.ends[network.version]
        place = bisect.bisect_right(ends, first)
        return place % 2 == 1 or (place < len(ends) and ends[place] <= last)

    def count_listed(self, network):
        first, last = self._range(network)
        ends = self.ends[network.version]
        place = bisect.bisect_right(ends, first)
        count, at, is_listed = 0, first, place % 2 == 1
        for end in [*ends[place:bisect.bisect_right(ends, last)], last + 1]:
            count += end - at if is_listed else 0
            at, is_listed = end, not is_listed
        return count

    def has_wildcard(self, block, following):
        """Of a block that is not whole, and whose children have prefixes of that length."""
        if block not in self.wildcards:
            first, last = self._range(block)
            count = 1 << (following - block.prefixlen)
            if count == 65536 and self.count_listed(block) * 3 > (last - first + 1) * 2:
                whole = sum(map(self.is_whole, block.subnets(new_prefix=following)))
                self.wildcards[block] = whole > 2 + 2 * (count - whole)
            else:
                self.wildcards[block] = False
        return self.wildcards[block]

    # ---- spots ----

    def name(self, spot):
        network, address = spot.network, spot.network.network_address
        block_name = flat_name(address, self.zone) if self.style == "flat" else \
            bitmap_name(address, self.zone)
        if network.prefixlen == BLOCK[network.version]:
            return spot.junk + block_name
        # In a flat zone such names are strangers, but for "ip6".
        labels = bitmap_name(address, self.zone).split(".")
        borders = BORDERS[network.version]
        return spot.junk + ".".join(labels[len(borders) - borders.index(network.prefixlen):])

    def answer(self, spot):
        return self._flat_answer(spot) if self.style == "flat" else self._dotted_answer(spot)

    def _flat_answer(self, spot):
        if spot.junk:
            return NOTHING
        if spot.network.prefixlen == BLOCK[spot.network.version]:
            return self._block_answer(spot.network)
        return EMPTY if spot.network.version == 6 and spot.network.prefixlen == 0 else NOTHING

    def _dotted_answer(self, spot):
        network = spot.network
        borders = [*BORDERS[network.version], BLOCK[network.version]]
        is_marked = False
        for border, following in zip(borders, borders[1:]):
            if border == 0 or border >= network.prefixlen + bool(spot.junk):
                continue
            block = network.supernet(new_prefix=border)
            if self.is_whole(block):
                return ALL_ONES
            is_marked = self.has_wildcard(block, following)
            if is_marked and (following > network.prefixlen
                              or self.is_whole(network.supernet(new_prefix=following))):
                return ALL_ONES
        if spot.junk:
            return NOTHING
        if network.prefixlen == BLOCK[network.version]:
            return self._block_answer(network)
        return EMPTY if is_marked or self.is_touched(network) else NOTHING

    def _block_answer(self, network):
        bitmap = self.oracle.bitmap(network.network_address)
        return Answer(NOERROR, (bitmap,)) if any(bitmap) else NOTHING

    # ---- samples ----

    def sample(self, count, rng):
        """
        count spots around what is listed: half of them blocks; names above
        blocks, most of them empty; and names below either, where wildcards are
        or nothing is.
        """
        addresses = self.oracle.sample(count, rng.random())
        large = [network for network in self.oracle.listed
                 if network.prefixlen <= BORDERS[network.version][-1]]
        spots = []
        for address in addresses:
            if large and rng.random() < 0.2:
                address = self._inside(rng.choice(large), rng)
            block = ipaddress.ip_network((address, BLOCK[address.version]), strict=False)
            upper = block.supernet(new_prefix=rng.choice(BORDERS[address.version]))
            spots.append(rng.choice((Spot(block, ""), Spot(block, ""), Spot(upper, ""),
                                     Spot(rng.choice((block, upper)), rng.choice(JUNK)))))
        return spots

    def _inside(self, network, rng):
        first, last = self._range(network)
        return self._address(network.version, rng.randint(first, last))
