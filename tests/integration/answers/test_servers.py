#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Whatever type is asked for at whatever name of a zone, dnsblv6d answers as Knot, NSD and BIND do that have
the dump of the same zone: with the same code, flags, records and proofs. In what one of them differs is a
row of DIFFERENCES with the reason, and a row that no answer needs any more fails the test.
"""

import collections
import unittest

from harness import ANY, NS, OPT, SOA, ZONE, Asker, main
from masterfile import DO, LIST, DumpCase

SIG, RRSIG, NSEC, IXFR, AXFR = 24, 46, 47, 251, 252
META = {OPT, *range(128, 255)} - {IXFR, AXFR}
TYPES = [0, 1, 2, 3, 5, 6, 12, 13, 15, 16, 18, SIG, 25, 28, 29, 33, 35, 38, 39, OPT, 43, 44, RRSIG, NSEC, 48, 50, 51,
         52, 59, 60, 64, 65, 99, 108, 128, 200, *range(249, 258), 32769, 65280, 65535]
# Of dotted and flat, of IPv4 and IPv6: blocks, names above and below them, wildcards, and what no zone has.
NAMES = ["", "_dnsblv6", "_DNSBLV6", "x._dnsblv6", "ip6", "IP6", "127", "0.127", "0.0.0.127", "1.0.0.127",
         "2.0.0.127", "0.1.0.127", "0.2.0.192", "1.2.0.192", "2.0.192", "192", "193", "2.2.0.192", "a.0.2.0.192",
         "b.a.0.2.0.192", "00.2.0.192", "0.02.0.192", "0.100.51.198", "2.100.51.198", "100.51.198", "x.100.51.198",
         "x.x.100.51.198", "*.100.51.198", "x.*.100.51.198", "0.1.0.203", "0.203", "*.0.203", "44", "*.44", "*",
         "x.y.z", "0.00.0bad.0db8.2001.ip6", "0.00.0000.0bad.0db8.2001.ip6", "0db8.2001.ip6", "0DB8.2001.IP6",
         "0001.2a00.ip6", "x.0002.0001.2a00.ip6", "*.0002.0001.2a00.ip6", "0006.2a00.ip6", "c000020", "C000021",
         "c63364", "x.c000020", "20010db80bad000.ip6", "a" * 63, ".".join(["a" * 63] * 3), ".".join("1" * 100),
         "66.2.0.192", "x.66.2.0.192"]

Difference = collections.namedtuple("Difference", "servers types parts reason")
# parts: of what PARTS names, and each that differs is there.
DIFFERENCES = [
    Difference("knot nsd bind", META, "rcode flags authority",
               "we know no meta types; Knot and NSD have them as types that a name has not, BIND as malformed"),
    Difference("knot nsd bind", {IXFR, AXFR}, "rcode flags authority", "none transfers over UDP, or to a stranger"),
    Difference("knot", {0}, "rcode flags authority", "Knot has no type 0"),
    Difference("knot", {ANY}, "answer", "one set of records stands for all (RFC 8482), and each chooses its own"),
    Difference("knot", {RRSIG}, "answer", "the TTL of signatures at the apex is that of one of them"),
    Difference("knot", {NSEC}, "authority", "Knot does not prove that a wildcard's NSEC was meant"),
    Difference("nsd", {RRSIG}, "answer authority", "NSD gives all, with those of its own"),
    Difference("bind", {SOA}, "authority", "the SOA of a denial has a TTL of 0 when SOA was asked for"),
    Difference("bind", {SIG}, "authority", "BIND takes SIG for a kind of RRSIG, and proves nothing"),
]
PARTS = ("rcode", "flags", "answer", "authority")


def parts_of(reply):
    """What stands for a reply in each of PARTS. The zone's servers, which NSD alone tells behind answers, are left out."""
    def lines(records):
        return sorted((r.name.lower(), r.type, r.ttl, r.rdata) for r in records
                      if records is reply.answer or NS not in (r.type, r.type == RRSIG and r.rdata[1]))
    return reply.rcode, reply.flags & 0xFFF0, lines(reply.answer), lines(reply.authority)


class Servers(DumpCase):
    def start_peers(self, zonefile):
        """Those that are installed; the others are told as skipped."""
        peers = {}
        for name, start in (("knot", self.start_knot), ("nsd", self.start_nsd), ("bind", self.start_bind)):
            try:
                peers[name] = start(zonefile)
            except unittest.SkipTest as reason:
                with self.subTest(server=name):
                    raise reason
        return peers

    def compare(self, *lists):
        """Returns the reasons that were not needed."""
        used = set()
        peers = self.start_peers(self.dump("--ns", "ns2.example.net.", *lists))
        ours = self.serve([(ZONE, self.path("bl6.mdb"), None)]).address
        questions = [(f"{name}.{ZONE}".lstrip("."), rrtype) for name in NAMES for rrtype in TYPES]
        for how in ({}, DO):
            with Asker(ours, **how) as asker:
                replies = asker.ask_all(questions)
            for name, address in peers.items():
                # They lose some of many at once.
                with Asker(address, window=32, retry_s=1, retries=9, **how) as asker:
                    others = asker.ask_all(questions)
                with self.subTest(server=name, how=how):
                    used |= self.check(name, questions, replies, others)
        return [row.reason for row in DIFFERENCES
                if row.reason not in used and peers.keys() & set(row.servers.split())]

    def check(self, name, questions, replies, others):
        used, unexplained = set(), []
        for question, reply, other in zip(questions, replies, others):
            if reply is None or other is None:
                unexplained.append((question, "silence"))
                continue
            ours, theirs = parts_of(reply), parts_of(other)
            parts = {part for part, one, two in zip(PARTS, ours, theirs) if one != two}
            rows = [row for row in DIFFERENCES if name in row.servers and question[1] in row.types
                    and parts <= set(row.parts.split())] if parts else []
            used.update(row.reason for row in rows[:1])
            if parts and not rows:
                unexplained.append((question, [(part, one, two) for part, one, two in zip(PARTS, ours, theirs)
                                               if part in parts]))
        self.assertEqual(unexplained[:3], [], f"{len(unexplained)} of {len(questions)}")
        return used

    def test_a_signed_zone(self):
        stale = self.compare("--key", self.keygen(), self.write("list.txt", LIST))
        self.assertEqual(stale, [])

    def test_an_unsigned_zone(self):
        self.compare(self.write("list.txt", LIST))

    def test_flat_names_beside_dotted_ones(self):
        self.compare("--key", self.keygen(), "--style", "both6", self.small_list())

    def test_a_classic_zone(self):
        self.compare("--key", self.keygen(), "--style", "classic", self.small_list())

    def small_list(self):
        lines = [line for line in LIST.split() if line.startswith(("192.", "198.", "2001:"))]
        return self.write("list.txt", "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
