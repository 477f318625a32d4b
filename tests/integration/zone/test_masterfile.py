#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
The dumped master file is the zone: checkers accept it, Knot answers the same.

Needs kzonecheck, knotd and named-checkzone.
"""

import os

from harness import A, AAAA, DATA, NS, SOA, TXT, ZONE, ask_all, main, peer
from masterfile import LIST, DumpCase
from oracle import Oracle


class MasterFile(DumpCase):
    def check(self, zonefile):
        checker = self.start([peer("kzonecheck"), "-v", "-o", ZONE, zonefile], "kzonecheck")
        self.assertEqual(checker.popen.wait(120), 0, checker.log())
        checker = self.start([peer("named-checkzone"), "-i", "local", ZONE, zonefile],
                             "named-checkzone")
        self.assertEqual(checker.popen.wait(120), 0, checker.log())
        self.assertRegex(checker.log(), r"(?m)^OK$")

    def compare(self, oracle, zonefile):
        knot = self.start_knot(zonefile)
        server = self.serve([(ZONE, self.path("bl6.mdb"), None)])
        questions = [(name, rrtype) for name in self.names(oracle)
                     for rrtype in (AAAA, self.random.choice((A, TXT, NS, SOA)))]
        questions += [(ZONE, rrtype) for rrtype in (A, NS, SOA, TXT)]
        pairs = zip(questions, ask_all(server.address, questions), ask_all(knot, questions))
        different = [(question, ours.verdict(), theirs.verdict())
                     for question, ours, theirs in pairs
                     if ours.verdict() != theirs.verdict() or self.ttls(ours) != self.ttls(theirs)]
        self.assertEqual(different[:5], [], f"{len(different)} of {len(questions)} differ")

    def ttls(self, reply):
        return {(record.type, record.ttl) for record in reply.answer + reply.authority
                if record.type != NS or reply.question[0][1] == NS}

    def test_checkers_accept_it_and_knot_answers_the_same(self):
        path = self.write("list.txt", LIST)
        zonefile = self.dump(path)
        self.check(zonefile)
        self.compare(Oracle().read_plain(path), zonefile)

    def test_the_same_with_a_real_list(self):
        path = os.path.join(DATA, "tor-nodes-1.lst")
        if not os.path.exists(path):
            self.skipTest(f"no tor-nodes-1.lst in {DATA}")
        zonefile = self.dump(path)
        self.check(zonefile)
        self.compare(Oracle().read_plain(path), zonefile)

    def test_flat_names_too(self):
        path = self.write("list.txt", "192.0.2.1\n198.51.100.0/24\n2a00:1:2:40::/58\n")
        self.check(self.dump("--style", "flat", path))

    def test_what_dump_prints_builds_the_same_store_again(self):
        path = self.write("list.txt", LIST)
        first = self.build(self.path("a.mdb"), path)
        dumped = self.run_zone("dump", "--store", self.path("a.mdb"))
        again = self.write("again.txt", dumped.stdout)
        second = self.build(self.path("b.mdb"), again)
        dumped_again = self.run_zone("dump", "--store", self.path("b.mdb"))
        self.assertEqual(dumped.stdout, dumped_again.stdout)
        self.assertEqual(first.out.split("serial")[0], second.out.split("serial")[0])

    def test_what_differs_in_values_alone_is_one_prefix(self):
        """The fewest prefixes, in the zone's list and in that of a sub-zone."""
        path = self.write("list", "$DATASET ip4trie @\n192.0.2.0/26 one\n192.0.2.64/26 two\n192.0.2.128/25 one\n"
                          "198.51.100.6 two\n$DATASET ip4trie sub\n198.51.100.7 one\n198.51.100.8 two\n198.51.100.9 one\n"
                          "$DATASET ip6trie @\n2001:db8:8000::/34 one\n2001:db8:c000::/34 two\n")
        store = self.path("values.mdb")
        self.build(store, f"combined:{path}")
        self.assertEqual(self.run_zone("dump", "--store", store).out,
                         "192.0.2.0/24\n198.51.100.6\n2001:db8:8000::/33\n198.51.100.7\tsub\n198.51.100.8/31\tsub\n")
        self.assertEqual(len(self.run_zone("dump", "--values", "--store", store).out.splitlines()), 9)


if __name__ == "__main__":
    main()
