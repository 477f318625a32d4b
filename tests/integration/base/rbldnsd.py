# SPDX-License-Identifier: GPL-3.0-or-later
"""
rbldnsd.py - rbldnsd and dnsblv6d on the same lists, and their answers side by side.

Flow: test_rbldnsd.py, test_rbldnsd_names.py, test_rbldnsd_random.py -> RbldnsdTest starts both servers ->
      compare() asks both and wants the same RCODE, records and TTLs. The names to ask about are made
      here, for test_translate.py too.
"""

import ipaddress
import os
import re
import shutil
import socket
import struct

import harness
from harness import A, NOERROR, NXDOMAIN, TXT

FEATURES = os.path.join(harness.SOURCE, "tests/data/rbldnsd")
ALL_IPV4 = 1 << 32

# RFC 5782: every zone of ours has an opinion on these, whatever the list says.
TEST_POINTS = {int(ipaddress.ip_address(text)) for text in ("127.0.0.1", "127.0.0.2")}


# ---- names ----


def name4(number, origin):
    return f"{number & 255}.{number >> 8 & 255}.{number >> 16 & 255}.{number >> 24}.{origin}"


def name6(number, origin):
    return ".".join(reversed(f"{number:032x}")) + "." + origin


# ---- what of a reply is compared ----


def records(wire, question_size):
    """
    (RCODE, {(type, TTL, RDATA)}) of a reply whose question has that many
    octets. The owner of each answer must be the question's name.
    """
    rcode = wire[3] & 15
    count = wire[6] << 8 | wire[7]
    if count == 0:
        return rcode, frozenset()
    found = set()
    offset = 12 + question_size
    for _ in range(count):
        owner, rrtype, rrclass, ttl, size = struct.unpack_from(">HHHIH", wire, offset)
        if owner != 0xC00C or rrclass != 1:
            raise ValueError("an answer about something else")
        offset += 12
        found.add((rrtype, ttl, wire[offset : offset + size]))
        offset += size
    if len(found) != count:
        raise ValueError("an answer holds a record twice")
    return rcode, frozenset(found)


def is_above_ipv6(name, their, our):
    """
    0.0.0.0 and 8.0.0.2 are IPv4 addresses, and empty non-terminals on the way
    to IPv6 addresses as well: there rbldnsd says NXDOMAIN, which cuts off what is
    below (RFC 8020).
    """
    nothing = frozenset()
    return (all(len(label) == 1 for label in name.split(".")[:4])
            and their == (NXDOMAIN, nothing) and our == (NOERROR, nothing))


def exchange_tcp(address, packet):
    with socket.create_connection(address, timeout=harness.DEADLINE_S) as tcp:
        tcp.sendall(harness.framed(packet))
        with tcp.makefile("rb") as stream:
            return stream.read(struct.unpack(">H", stream.read(2))[0])


# ---- where the interesting addresses of a list are ----

RANGE = re.compile(r"^\s*!?\s*(\d+(?:\.\d+){0,3})(?:/(\d+)|-(\d+(?:\.\d+){0,3}))?")


def ends_of(text):
    """First and last address of an IPv4 entry, roughly; None for other lines."""
    match = RANGE.match(text)
    if match is None:
        return None
    octets = [int(octet) & 255 for octet in match[1].split(".")]
    first = int.from_bytes(bytes(octets + [0] * (4 - len(octets))), "big")
    last = int.from_bytes(bytes(octets + [255] * (4 - len(octets))), "big")
    if match[2] and int(match[2]) <= 32:
        last = first | (ALL_IPV4 - 1) >> int(match[2])
    elif match[3]:
        end = [int(octet) & 255 for octet in match[3].split(".")]
        if len(end) == 1:
            end = octets[:-1] + end
        last = int.from_bytes(bytes(end + [255] * (4 - len(end))), "big")
    return first, max(first, last)


def read_ranges(paths):
    ranges = []
    for path in paths:
        with open(path, encoding="latin-1") as file:
            ranges += filter(None, map(ends_of, file))
    return ranges


def addresses4(rng, ranges, count):
    """Ends of ranges and their neighbours, addresses inside, and any others."""
    chosen = []
    while len(chosen) < count:
        first, last = rng.choice(ranges)
        chosen += [first, last, first - 1, last + 1, rng.randint(first, last),
                   first ^ 1 << rng.randrange(32), rng.randrange(ALL_IPV4)]
    return [number % ALL_IPV4 for number in chosen[:count]]


NETWORKS6 = [ipaddress.ip_network(text) for text in (
    "3fff:db8::/32", "3fff:db8:1::/48", "3fff:db8:1:1::/64", "3fff:db8:1:1::/125",
    "3fff:db8:2::/50", "3fff:db8:2:8::/61", "2001:21ab:c000::/36", "2605:6001:42::/52",
    "2605:6001:42::bead/128", "1:2:3:4:5:6:7:8/128", "1:0:3::5:0:8/128", "1:2::3/128", "::1/128",
    "2001:20fe:23:41ed::/64", "abac:adab:ad00:42f::/64", "abac:adab:ad00:42f:face:f:a:beef/128",
    "abac:adab:ad00:42f::2/128", "3fff:db8:1:1::5/128", "3fff:db8:6::/48", "3fff:db8:6:1::/64",
    "3fff:db8:6:2::/64", "3fff:db8:6:2::2/128", "3fff:db8:3::/48")]
MAPPED = ipaddress.ip_network("::ffff:0:0/96")
TO_IPV4 = ipaddress.ip_network("2002::/16")  # rbldnsd answers it from IPv4 lists
POINTS6 = ipaddress.ip_network("2001:db8:7f00::/46")  # test points of every zone of ours


def addresses6(rng, count, networks=None):
    chosen = []
    while len(chosen) < count:
        network = rng.choice(networks or NETWORKS6)
        first, last = int(network[0]), int(network[-1])
        for number in (first, last, first - 1, last + 1, rng.randint(first, last),
                       first ^ 1 << rng.randrange(128), rng.randrange(1 << 128)):
            address = ipaddress.IPv6Address(number % (1 << 128))
            if all(address not in net for net in (MAPPED, TO_IPV4, POINTS6)):
                chosen.append(int(address))
    return chosen[:count]


def start_rbldnsd(case, *datasets):
    """On "ZONE:TYPE:FILE,..." each. Its address."""
    address = case.free_address()
    # As root it wants another user to become.
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    rbldnsd = case.start([harness.peer("rbldnsd"), "-n", *user, "-b", "{}/{}".format(*address),
                          *datasets], "rbldnsd")
    rbldnsd.wait_for_log(r"rbldnsd version .* started")
    return address


class RbldnsdTest(harness.Case):
    def setUp(self):
        super().setUp()
        harness.peer("rbldnsd")

    def readable(self, path):
        """A copy where rbldnsd, which is another user, can read it: only root may be let in there."""
        return shutil.copy(path, self.path(os.path.basename(path)))

    def feature(self, name):
        return self.readable(os.path.join(FEATURES, name))

    def start_both(self, lists, options=()):
        """Both servers on bl.example.; lists is "TYPE:FILE,..." as both programs take it."""
        theirs = start_rbldnsd(self, *(f"bl.example:{one}" for one in lists))
        store = self.path(f"{theirs[1]}.mdb")
        self.build(store, "--allow-reserved", *options, *lists)
        server = self.serve([(harness.ZONE, store, harness.CLASSIC)])
        return theirs, server.address

    def ask_both(self, names, rrtype, addresses):
        replies = []
        for address in addresses:
            # rbldnsd may wait seconds for a busy machine: it is asked for ten. Its socket has room for about 118 questions.
            with harness.Asker(address, window=64, retry_s=1, retries=9) as asker:
                replies.append(asker.ask_all([(name, rrtype) for name in names], is_raw=True))
        return replies

    def ask_again(self, name, rrtype, addresses):
        """The whole answers, when they do not fit 512 octets: rbldnsd does not say so."""
        large = harness.query(name, rrtype, edns_size=4096)
        return harness.exchange(addresses[0], large), exchange_tcp(addresses[1], large)

    def compare(self, names, addresses, rrtypes=(A, TXT), more=5,
                are_alike=lambda name, their, our: their == our or is_above_ipv6(name, their, our)):
        """
        Returns how many of the answers held a record. A question has more octets than its name: of one in
        text a length besides what dots stand for, and type and class.
        """
        listed = 0
        for rrtype in rrtypes:
            theirs, ours = self.ask_both(names, rrtype, addresses)
            differences = []
            for name, their, our in zip(names, theirs, ours):
                self.assertIsNotNone(their, f"rbldnsd is silent about {name}")
                self.assertIsNotNone(our, f"dnsblv6d is silent about {name}")
                if our[2] & 2:
                    their, our = self.ask_again(name, rrtype, addresses)
                their, our = (records(reply, len(name) + more) for reply in (their, our))
                listed += len(our[1]) > 0
                if not are_alike(name, their, our):
                    differences.append(f"{name} {rrtype}: rbldnsd {their}, dnsblv6d {our}")
            self.assertEqual(differences[:10], [], f"{len(differences)} differences")
        return listed
