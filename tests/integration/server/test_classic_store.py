#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Zones of classic names: stores that dnsblv6-zone build --style classic has made.

They answer what rbldnsd answers for the same lists; verifiers accept them; a Knot secondary takes
and follows them, and Unbound finds what it says secure; updates make the zone that a build makes.

Needs: rbldnsd, ldns-verify-zone, dnssec-verify, kzonecheck, knotd, unbound and dig.
"""

import ipaddress
import os
import re
import subprocess

from harness import (A, AAAA, ANY_SIZE, CLASSIC, DEADLINE_S, EX_DATAERR, EX_IOERR, EX_USAGE, NOERROR, NXDOMAIN,
                     REFUSED, SOA, TXT, ZONE, Reply, Server, ask, ask_all, config_text, ip, main, numbers,
                     program, query)
from masterfile import DumpCase
from rbldnsd import (TEST_POINTS, RbldnsdTest, addresses4, exchange_tcp, name4, name6, read_ranges,
                     start_rbldnsd)
from resolvers import start_unbound
from secondaries import SOURCE, Secondary, axfr, serial_of

CLASSIC_STYLE = ["--style", "classic", "--allow-reserved", *ANY_SIZE]
ANY_LISTED = ["--allow-reserved", "--max-listed", "100", "--max-listed6", "4294967295"]
RRSIG, NSEC, DNSKEY, CDS, CDNSKEY, AXFR = 46, 47, 48, 59, 60, 252
RD_AD = 0x0120  # AD in a question asks for AD in the answer

IPV4 = """
:3:listed
192.0.2.1
192.0.2.200 :4:other
198.51.100.0/24
!198.51.100.9
198.51.100.12 :5:in a wildcard
203.0.0.0/16
!203.0.5.6
203.0.9.0/25 :6:half
44.0.0.0/9
2.6.0.0/16
!2.6.3.4
1.2.3.4
5.6.7.8/30
"""
IPV6 = """
:7:six
2001:db8:bad::/64
2600:1::/32
!2600:1::5
2600:2:3::/49
2a00:1:2:3::7
2:6::/32
1:2:3:4:5:6:7:8
"""
EDGES6 = [ipaddress.ip_network(line.strip().lstrip("!")) for line in IPV6.splitlines()
          if re.match("!?[0-9]", line)]


def numbers6(rng, count):
    chosen = []
    while len(chosen) < count:
        network = rng.choice(EDGES6)
        first, last = int(network[0]), int(network[-1])
        chosen += [first, last, first - 1, last + 1, rng.randint(first, last),
                   first ^ 1 << rng.randrange(128)]
    return chosen


class SameAnswers(RbldnsdTest):
    def start_two(self, *lists, options=()):
        theirs = start_rbldnsd(self, *(f"{ZONE.rstrip('.')}:{one}" for one in lists))
        store = self.path("classic.mdb")
        self.build(store, *CLASSIC_STYLE, *options, *lists)
        return theirs, self.serve([(ZONE, store, None)]).address

    def compare_listed(self, names, addresses, rrtypes=(A, TXT)):
        """Records and TTLs; not listed is NXDOMAIN there and that or no data here."""
        def are_alike(_, their, our):
            self.assertIn(our[0], (NOERROR, NXDOMAIN))
            return their[1] == our[1]

        return self.compare(names, addresses, rrtypes, are_alike=are_alike)

    def test_wildcards_exceptions_and_both_families(self):
        four = self.write("four", IPV4)
        six = self.write("six", IPV6)
        addresses = self.start_two(f"ip4set:{four}", f"ip6trie:{six}")
        numbers4 = set(addresses4(self.random, read_ranges([four]), 20000)) - TEST_POINTS
        names = [name4(number, ZONE) for number in numbers4]
        names += [name6(number, ZONE) for number in numbers6(self.random, 20000)]
        # What both families have the first labels of.
        names += [name4(int(ip(text)), ZONE) for text in ("2.6.0.0", "2.0.0.2", "2.6.9.9")]
        names += [name6(int(ip(text)), ZONE) for text in ("2609::1", "2600::", "2:6::", "2606::")]
        self.assertGreater(self.compare_listed(names, addresses), 10000)

    def test_every_feature_of_lists(self):
        files = {name: self.feature(name) for name in
                 ("set-1", "set-2", "base", "trie", "tset", "trie6", "tset6")}
        addresses = self.start_two(
            f"ip4set:{files['set-1']},{files['set-2']}", f"ip4set:{files['base']}",
            f"ip4trie:{files['trie']}", f"ip4tset:{files['tset']}", f"ip6trie:{files['trie6']}",
            f"ip6tset:{files['tset6']}")
        chosen = set(addresses4(self.random, read_ranges(files.values()), 20000)) - TEST_POINTS
        # Texts that name the address name the network in a wildcard: see below.
        names = [name4(number, ZONE) for number in chosen]
        self.assertGreater(self.compare_listed(names, addresses, [A]), 300)

    def test_names_and_sub_zones_stand_beside_addresses(self):
        combined = self.write(
            "all", "$DATASET ip4set one\n:3:one\n10.1.0.0/16\n!10.1.2.3\n"
                   "$DATASET ip4set two\n:4:two\n10.1.2.3\n"
                   "$DATASET dnset @\n:5:name\n.spam.example\n")
        addresses = self.start_two(f"combined:{combined}")
        names = [f"{name}.{ZONE}" for name in
                 ("3.2.1.10.one", "4.2.1.10.one", "9.9.1.10.one", "3.2.1.10.two", "4.2.1.10.two",
                  "3.2.1.10", "spam.example", "a.b.spam.example", "ham.example")]
        self.assertEqual(self.compare_listed(names, addresses), 10)


class Names(DumpCase):
    """Which names such a zone has."""

    def owners(self, *arguments):
        """Owners relative to the apex, with type and RDATA of what no signature needs."""
        with open(self.dump(*CLASSIC_STYLE, *arguments), encoding="ascii") as file:
            rows = (line.split(None, 3) for line in file)
            return [(owner[:-len(ZONE) - 1], rrtype, rdata.strip())
                    for owner, _, rrtype, rdata in rows
                    if rrtype in ("A", "TXT", "HINFO") and owner != ZONE]

    def test_a_network_is_a_wildcard_and_an_exception_one_name_more(self):
        found = self.owners("ip4set:" + self.write("list", "192.0.2.0/24 :3:see $\n!192.0.2.9\n"))
        self.assertEqual([row for row in found if row[0].endswith("2.0.192")],
                         [("*.2.0.192", "A", "127.0.0.3"),
                          ("*.2.0.192", "TXT", '"see 192.0.2.0/24"'),
                          ("9.2.0.192", "HINFO", '"DNSBLv6" "unlisted"')])

    def test_an_exception_deep_in_a_network_makes_few_names(self):
        found = self.owners("ip6trie:" + self.write("list", "2600::/32\n!2600:0:1::5\n"))
        # A wildcard for each nibble on the way, the fifteen neighbours, and the test points.
        self.assertEqual(sum(owner.endswith("0.0.6.2") for owner, _, _ in found), 38)

    def test_no_wildcard_of_one_family_answers_for_the_other(self):
        found = {owner for owner, _, _ in
                 self.owners(self.write("list", "2.6.0.0/16\n"))}
        # 2600::/8 is below the same labels.
        for name in ("a.6.2", "f.6.2", "a.1.6.2"):
            self.assertIn(name, found)
        self.assertLess(len(found), 300)

    def test_test_points_stand_in_each_zone(self):
        found = {owner for owner, _, _ in self.owners(self.write("list", "192.0.2.1\n"))}
        for address in ("127.0.0.2",):
            self.assertIn(name4(int(ip(address)), ""), {f"{name}." for name in found})
        mapped = name6(0xFFFF7F000002, "")
        self.assertIn(mapped, {f"{name}." for name in found})
        self.assertNotIn("1.0.0.127", found)
        self.assertIn("*.2.0.0.0.0.0.f.7.8.b.d.0.1.0.0.2", found)

    def test_there_is_no_metadata(self):
        self.assertNotIn("_dnsblv6", {owner for owner, _, _ in
                                      self.owners(self.write("list", "192.0.2.1\n"))})

    def test_what_dump_prints_builds_the_same_zone_again(self):
        four, six = self.write("four", IPV4), self.write("six", IPV6)
        lists = [*CLASSIC_STYLE, f"ip4set:{four}", f"ip6trie:{six}"]
        first = self.build(self.path("a.mdb"), *lists)
        dumped = self.run_zone("dump", "--store", self.path("a.mdb"))
        second = self.build(self.path("b.mdb"), *CLASSIC_STYLE,
                            self.write("again", dumped.stdout))
        keys = ("ipv4", "ipv6")
        self.assertEqual([numbers(first.out)[key] for key in keys],
                         [numbers(second.out)[key] for key in keys])
        self.assertEqual(self.run_zone("check", "--store", self.path("a.mdb"), *ANY_LISTED,
                                       *lists[-2:]).out, "")
        other = self.run_zone("check", "--store", self.path("a.mdb"), *ANY_LISTED, lists[-2],
                              expect=1)
        self.assertIn("lists differ from the store", other.out)

    def test_a_store_keeps_its_style(self):
        path = self.write("list", "192.0.2.1\n")
        store = self.path("bl6.mdb")
        self.build(store, "--style", "classic", path)
        self.assertIn("nothing changed", self.build(store, path).out)
        refused = self.build(store, "--style", "flat", path, expect=EX_DATAERR)
        self.assertIn("style=flat before=classic", refused.err)
        self.assertIn("dotted, flat, both, both6 and classic",
                      self.build(store, "--style", "round", path, expect=EX_USAGE).err)

    def test_more_values_than_an_answer_has_room_for_are_refused(self):
        many = self.write("many", "".join(f"192.0.2.1 :{n}:text\n" for n in range(1, 60)))
        store = self.path("bl6.mdb")
        refused = self.build(store, "--style", "classic", f"ip4set:{many}", expect=EX_DATAERR)
        self.assertIn("more than 48 values for one address of a classic zone", refused.err)


class SeveralNames(RbldnsdTest):
    """One store, and more than one name for it."""

    def serve_names(self, names, *options):
        store = self.path("bl6.mdb")
        self.build(store, *options, "--allow-reserved", *ANY_SIZE,
                   f"ip4set:{self.write('four', IPV4)}", f"ip6trie:{self.write('six', IPV6)}",
                   f"dnset:{self.write('names', '.spam.example :5:name' + chr(10))}")
        return self.serve([(ZONE, store, names)])

    def test_a_list_has_several_classic_names(self):
        four = self.path("four")
        server = self.serve_names(f"[ {CLASSIC}, bl.example.org. ]")
        theirs = start_rbldnsd(self, *(f"{name}:ip4set:{four}" for name in
                                       ("bl.example", "bl.example.org")))
        chosen = list(set(addresses4(self.random, read_ranges([four]), 3000)) - TEST_POINTS)
        for origin in (CLASSIC, "bl.example.org."):
            names = [name4(number, origin) for number in chosen]
            self.assertGreater(self.compare(names, (theirs, server.address)), 200)

    def test_the_zone_has_other_names_without_signatures(self):
        server = self.serve_names(f"{CLASSIC}\n    also: [ bl6.example.org., other.example. ]\n"
                                  "    secondary: [ any ]\nsecondary:\n  - id: any\n"
                                  "    allow: 127.0.0.0/8",
                                  "--keys", self.path("keys"))
        for label in ("0.2.0.192", "1.2.0.192", "0.100.51.198", "junk.100.51.198", "2.0.192",
                      "_dnsblv6", "spam.example", "a.spam.example", "ip6", "zz"):
            for rrtype in (A, AAAA, TXT):
                own = server.ask(f"{label}.{ZONE}", rrtype)
                for origin in ("bl6.example.org.", "other.example."):
                    other = server.ask(f"{label}.{origin}", rrtype, edns_size=1232,
                                       edns_flags=0x8000)
                    self.assertEqual((other.rcode, sorted(other.rdata(rrtype))),
                                     (own.rcode, sorted(own.rdata(rrtype))), (label, origin))
                    names = {record.name for record in other.authority}
                    self.assertLessEqual(names, {origin}, label)
                    self.assertLessEqual({record.type for record in other.authority}, {SOA})
        self.assertEqual(server.ask("other.example.", SOA).answer[0].name, "other.example.")
        for rrtype in (DNSKEY, CDS, CDNSKEY, RRSIG, NSEC):
            self.assertEqual(len(server.ask(ZONE, rrtype, edns_size=1232).answer) > 0, True)
            for name in ("other.example.", CLASSIC):
                self.assertEqual(server.ask(name, rrtype, edns_size=1232).answer, [], (name, rrtype))
        axfr(server.address)
        for name in (CLASSIC, "other.example."):
            reply = Reply(exchange_tcp(server.address, query(name, AXFR)))
            self.assertEqual(reply.rcode, REFUSED, name)

    def test_a_store_of_classic_names_has_others_too(self):
        four, six = self.path("four"), self.path("six")
        server = self.serve_names("[ bl.example. ]", *CLASSIC_STYLE[:2])
        theirs = start_rbldnsd(self, f"bl.example:ip4set:{four}", f"bl.example:ip6trie:{six}")
        chosen = list(set(addresses4(self.random, read_ranges([four]), 3000)) - TEST_POINTS)
        names = [name4(number, CLASSIC) for number in chosen]
        names += [name6(number, CLASSIC) for number in numbers6(self.random, 3000)]
        names += ["2.0.192.bl.example.", "8.b.d.0.1.0.0.2.bl.example.", "9.192.bl.example."]
        replies = ask_all(server.address, [(name, A) for name in names[-3:]])
        self.assertEqual([reply.rcode for reply in replies], [NOERROR, NOERROR, NXDOMAIN])
        self.assertGreater(self.compare(names[:-3], (theirs, server.address)), 500)


class OneCommand(DumpCase):
    """The bitmap zone and the classic one from lists that are read once."""

    def build_both(self, *arguments, **how):
        return self.build(self.path("bl6.mdb"), "--classic-store", self.path("bl.mdb"),
                          *arguments, **how)

    def records(self, store):
        found = self.run_zone("dump", "--zonefile", "--store", self.path(store)).out.splitlines()
        return [line.split() for line in found]

    def test_both_stores_are_built_and_signed(self):
        key = self.keygen()
        lists = f"ip4set:{self.write('four', IPV4)}", self.write("more", "2600:1::/32\n")
        result = self.build_both("--classic", CLASSIC, "--ns", f"ns.{ZONE},192.0.2.53", "--key",
                                 key, "--ttl", "700", *CLASSIC_STYLE[2:], *lists)
        first, second = result.out.splitlines()
        self.assertRegex(first, f"^built {ZONE}: ")
        self.assertRegex(second, f"^built {CLASSIC}: ")
        self.assertEqual(numbers(first)["ipv4"], numbers(second)["ipv4"])
        # A name server inside the one zone is outside the other.
        self.assertIn([f"ns.{ZONE}", "700", "A", "192.0.2.53"], self.records("bl6.mdb"))
        classic = self.records("bl.mdb")
        self.assertNotIn("192.0.2.53", {row[3] for row in classic})
        self.assertIn([CLASSIC, "700", "NS", f"ns.{ZONE}"], classic)
        self.assertIn([f"2.0.0.127.{CLASSIC}", "2100", "A", "127.0.0.3"], classic)
        dotted = self.path("alone.mdb")
        self.build(dotted, *CLASSIC_STYLE, "--ns", f"ns.{ZONE}", "--key", key, "--ttl", "700",
                   *lists, zone=CLASSIC)
        self.assertEqual([row for row in self.records("alone.mdb") if row[2] in ("A", "NSEC")],
                         [row for row in classic if row[2] in ("A", "NSEC")])
        # What the first store remembers counts for the second one as well.
        again = self.run_zone("build", "--zone", ZONE, "--store", self.path("bl6.mdb"),
                              "--classic-store", self.path("bl.mdb"), "--key", key,
                              *CLASSIC_STYLE[2:], *lists)
        self.assertEqual(again.out.count("nothing changed in "), 2)

    def test_what_cannot_be_told_of_both_is_one_error(self):
        words = ["build", "--zone", ZONE, "--store", self.path("bl6.mdb"), "--ns", "ns.example.net.",
                 "--classic", CLASSIC, "--classic-store", self.path("bl.mdb"), self.write("list", "192.0.2.1\n")]
        with open("/dev/full", "wb") as full:
            result = subprocess.run([program("dnsblv6-zone"), *words], stdout=full, stderr=subprocess.PIPE,
                                    text=True, check=False, timeout=DEADLINE_S)
        self.assertEqual((result.returncode, result.stderr),
                         (EX_IOERR, "error: output not written (No space left on device)\n"))
        self.assertIn(CLASSIC, {row[0] for row in self.records("bl.mdb")})

    def test_when_one_is_refused_none_is_written(self):
        path = self.write("list", "192.0.2.1\n")
        missing = self.build_both(path, expect=EX_USAGE)
        self.assertIn("--classic-store needs the zone's name, --classic", missing.err)
        self.build(self.path("bl.mdb"), path)
        refused = self.build_both("--classic", CLASSIC, path, expect=EX_DATAERR)
        self.assertIn("style=classic before=dotted", refused.err)
        self.assertFalse(os.path.exists(self.path("bl6.mdb")))
        os.remove(self.path("bl.mdb"))
        # More names than bitmaps.
        many = self.write("many", "".join(f"192.0.2.{n}\n" for n in range(120)))
        refused = self.build_both("--classic", CLASSIC, "--max-records", "100", many,
                                  expect=EX_DATAERR)
        self.assertIn("zone would have too many records", refused.err)
        self.assertFalse(os.path.exists(self.path("bl6.mdb")))


class Signed(DumpCase):
    def lists(self):
        return [f"ip4set:{self.write('four', IPV4)}", f"ip6trie:{self.write('six', IPV6)}",
                f"dnset:{self.write('names', '.spam.example :5:name' + chr(10))}"]

    def test_verifiers_accept_the_zone(self):
        for algorithm in ("ecdsap256sha256", "ed25519"):
            key = self.keygen(f"{algorithm}.pem", "--algorithm", algorithm)
            with self.subTest(algorithm):
                self.verify(self.dump("--unsign", "--key", key, *CLASSIC_STYLE,
                                      *self.lists()))

    def lines(self, store):
        """The zone without what depends on the time."""
        found = self.run_zone("dump", "--zonefile", "--store", store).out.splitlines()
        return [line for line in found if line.split()[2] not in ("SOA", "RRSIG")]

    def test_updates_make_the_zone_that_a_build_makes(self):
        key = ["--key", self.keygen()]
        store = self.path("bl6.mdb")
        # Two are never removed: of nothing but an address, 192.0.0.0/16 is more than ANY_SIZE lets a zone grow.
        listed = {ipaddress.ip_network(text) for text in
                  ("192.0.2.0/24", "2.6.0.0/16", "2600:1::/32", "198.51.100.0/24", "2a01:1::/32")}
        whole = (list(ipaddress.ip_network("192.0.2.0/29").subnets(new_prefix=32))
                 + list(ipaddress.ip_network("2.6.0.0/21").subnets(new_prefix=24))
                 + [ipaddress.ip_network(text) for text in
                    ("192.0.2.0/24", "2.6.0.0/16", "192.0.0.0/16", "192.0.3.4/32", "2600:1::/64",
                     "2600:1::5/128", "2600:1:8000::/33", "2a00:5:6::/48", "2.6.3.4/32",
                     "127.0.0.2/32")])
        names = f"dnset:{self.write('names', '.spam.example :2:' + chr(10))}"
        base = [*CLASSIC_STYLE, *key]
        self.build(store, *base, names, self.write("list", "".join(f"{n}\n" for n in listed)))
        # Adding and removing as text: a build reads the same ranges that the updates make.
        for round_number in range(25):
            network = self.random.choice(whole)
            option = self.random.choice(("--add", "--remove"))
            self.run_zone("update", "--quiet", "--store", store, option, str(network), *ANY_SIZE,
                          *key)
            if round_number % 5 != 4:
                continue
            dumped = self.run_zone("dump", "--store", store)
            fresh = self.path(f"fresh-{round_number}.mdb")
            self.build(fresh, *base, names, self.write("now", dumped.stdout))
            self.assertEqual(self.lines(store), self.lines(fresh))
            self.run_zone("check", "--store", store)

    def test_an_update_of_one_list_leaves_the_others(self):
        store = self.path("bl6.mdb")
        # An IPv6 address has 32 labels, and one of a sub-zone more than any address of the zone's own.
        text = ("$DATASET ip4set {0}\n192.0.2.0/24\n$DATASET ip6trie {0}\n2a00::5\n"
                f"$DATASET dnset @\n{'a.' * 40}example\n$DATASET ip4set @\n198.51.100.1\n{{1}}")
        base = [*CLASSIC_STYLE]
        self.build(store, *base, "--ns", f"ns2.{ZONE},192.0.2.53",
                   f"combined:{self.write('a', text.format('one', ''))}")
        self.run_zone("update", "--store", store, "--subzone", "one", "--remove", "192.0.2.9",
                      *ANY_SIZE)
        self.run_zone("update", "--store", store, "--add", "203.0.113.0/24", *ANY_SIZE)
        fresh = self.path("fresh.mdb")
        after = text.format("one", "203.0.113.0/24\n").replace("/24\n", "/24\n!192.0.2.9\n", 1)
        self.build(fresh, *base, "--ns", f"ns2.{ZONE},192.0.2.53",
                   f"combined:{self.write('b', after)}")
        self.assertEqual(self.lines(store), self.lines(fresh))

    # ---- a secondary of another make, and a resolver ----

    def start_primary(self):
        address = self.free_address()
        knot = Secondary(self, "knot", address)
        key, itself = knot.lines()
        text = config_text(address, [(ZONE, self.path("bl6.mdb"), None)])
        config = self.write("primary.conf",
                            f"key:\n{key}{text}    secondary: [ knot, reader ]\nsecondary:\n{itself}"
                            f"  - id: reader\n    allow: {self.host}\n")
        os.chmod(config, 0o600)
        server = Server(config, address, self.path("primary.log"))
        self.processes.append(server)
        server.wait_until_ready()
        knot.start()
        return server, knot

    def check_secondary(self, server, knot):
        knot.wait_for_serial(serial_of(ask(server.address, ZONE, SOA)))
        mine = axfr(server.address, "-b", self.host)
        self.assertEqual(knot.dump(), mine)
        return mine

    def check_resolver(self, resolver, wanted):
        """wanted: (address, RCODE, A records) each. All of it secure."""
        names = [(name4 if ip(text).version == 4 else name6)(int(ip(text)), ZONE)
                 for text, _, _ in wanted]
        for (text, rcode, values), reply in zip(
                wanted, ask_all(resolver, [(name, A) for name in names], flags=RD_AD)):
            self.assertEqual((reply.rcode, [ipaddress.ip_address(a) for a in reply.rdata(A)]),
                             (rcode, [ip(value) for value in values]), text)
            self.assertTrue(reply.is_authentic, text)

    def test_a_knot_secondary_follows_it_and_unbound_validates_what_it_serves(self):
        key = self.keygen()
        self.build(self.path("bl6.mdb"), "--key", key, *CLASSIC_STYLE,
                   *self.lists())
        server, knot = self.start_primary()
        self.check_secondary(server, knot)
        anchor = self.run_zone("ds", "--zone", ZONE, "--key", key).out.splitlines()[0]
        how = ([anchor], (ZONE,), ["aggressive-nsec: yes"])
        wanted = [
            ("192.0.2.1", NOERROR, ["127.0.0.3"]), ("192.0.2.2", NXDOMAIN, []),
            ("198.51.100.77", NOERROR, ["127.0.0.3"]), ("198.51.100.9", NOERROR, []),
            ("198.51.100.12", NOERROR, ["127.0.0.5"]), ("203.0.5.6", NOERROR, []),
            ("203.0.5.7", NOERROR, ["127.0.0.3"]), ("203.0.200.1", NOERROR, ["127.0.0.3"]),
            ("2.6.250.9", NOERROR, ["127.0.0.3"]), ("9.9.9.9", NXDOMAIN, []),
            ("127.0.0.2", NOERROR, ["127.0.0.3"]), ("127.0.0.1", NXDOMAIN, []),
            ("2600:1::5", NXDOMAIN, []), ("2600:1::6", NOERROR, ["127.0.0.7"]),
            ("2609::1", NXDOMAIN, []), ("2001:db8:bad::1", NOERROR, ["127.0.0.7"])]
        self.check_resolver(start_unbound(self, [server], *how), wanted)
        self.check_resolver(start_unbound(self, [knot], *how), wanted)

        self.run_zone("update", "--store", self.path("bl6.mdb"), "--key", key, *ANY_SIZE,
                      "--remove", "198.51.100.77", "--add", "9.9.9.9")
        mine = self.check_secondary(server, knot)
        self.assertIn(f"transferred, client={SOURCE} kind=ixfr ", server.log())
        self.assertTrue(any(line.startswith(f"9.9.9.9.{ZONE} ") for line in mine))
        self.check_resolver(start_unbound(self, [knot], *how),
                            [("9.9.9.9", NOERROR, ["127.0.0.3"]), ("198.51.100.77", NOERROR, []),
                             ("198.51.100.78", NOERROR, ["127.0.0.3"])])


if __name__ == "__main__":
    main()
