# SPDX-License-Identifier: GPL-3.0-or-later
"""
Asks rbldnsd and dnsblv6d about the same lists, and wants the same answers.

Needs: rbldnsd; for the real lists, the files of UCEPROTECT (harness.data_file).

RCODE, the sets of A and TXT records and their TTLs are compared, for
questions about listed addresses, their neighbours, the ends of ranges,
exclusions, sub-zones and random addresses, IPv4 and IPv6. What may differ is
in docs/rbldnsd.md; the tests at the end show each of those differences.
"""

import os

import harness
from harness import A, NOERROR, NXDOMAIN, REFUSED, SOA, TXT
from rbldnsd import (ALL_IPV4, TEST_POINTS, RbldnsdTest, addresses4, addresses6, exchange_tcp,
                     name4, name6, read_ranges)

# Of each type, for each list.
QUESTIONS = int(os.environ.get("DNSBLV6_QUESTIONS", 5_000 if harness.IS_SANITIZED else 20_000))


class SameAnswers(RbldnsdTest):
    def compare_real_list(self, name):
        path = self.readable(harness.data_file(name))
        addresses = self.start_both([f"ip4set:{path}"])
        ranges = read_ranges([path])
        numbers = set()
        while len(numbers) < QUESTIONS:
            numbers.update(addresses4(self.random, ranges, QUESTIONS // 10))
            numbers -= TEST_POINTS
        names = [name4(number, harness.CLASSIC) for number in numbers]
        self.assertGreater(self.compare(names, addresses), QUESTIONS // 4)

    def test_uceprotect_level_1(self):
        self.compare_real_list("dnsbl-1.uceprotect.net")

    def test_uceprotect_level_2(self):
        self.compare_real_list("dnsbl-2.uceprotect.net")

    def feature_names(self, paths, origins):
        ranges = read_ranges(paths)
        numbers = set()
        for first, last in ranges:  # every address of what is small, and a frame around it
            if last - first < 1024:
                numbers.update(range((first & ~255) - 2, (last | 255) + 3))
        numbers.update(addresses4(self.random, ranges, QUESTIONS // 4))
        numbers = [number % ALL_IPV4 for number in numbers - TEST_POINTS]
        names = [name4(number, self.random.choice(origins)) for number in numbers]
        while len(names) < QUESTIONS * 3 // 4:
            names.append(name4(self.random.choice(numbers), self.random.choice(origins)))
        names += [name6(number, self.random.choice(origins))
                  for number in addresses6(self.random, QUESTIONS - len(names))]
        return names

    def test_every_feature(self):
        files = {name: self.feature(name) for name in
                 ("set-1", "set-2", "base", "trie", "tset", "trie6", "tset6", "combined-1",
                  "combined-2")}
        lists = [f"ip4set:{files['set-1']},{files['set-2']}", f"ip4set:{files['base']}",
                 f"ip4trie:{files['trie']}", f"ip4tset:{files['tset']}",
                 f"ip6trie:{files['trie6']}", f"ip6tset:{files['tset6']}",
                 f"combined:{files['combined-1']},{files['combined-2']}"]
        addresses = self.start_both(lists)
        origins = [harness.CLASSIC] * 4 + [
            f"{zone}.{harness.CLASSIC}" for zone in
            ("proxies", "relays", "old.relays", "tset", "six", "half.six", "last", "none")]
        names = self.feature_names(files.values(), origins)
        self.assertGreater(self.compare(names, addresses), QUESTIONS // 10)

    def test_lines_that_rbldnsd_skips(self):
        lists = [f"ip4set:{self.feature('bad-set')}", f"ip6trie:{self.feature('bad-trie6')}"]
        refused = self.build(self.path("none.mdb"), *lists, expect=harness.EX_DATAERR)
        self.assertIn("error:", refused.err)
        addresses = self.start_both(lists, ["--max-bad-lines", "60"])
        names = [name4(0xC0000200 + host, harness.CLASSIC) for host in range(256)]
        names += [name4(number, harness.CLASSIC) for number in (0, 0x7F000001 + 256, 0x2C010101)]
        names += [name6(number, harness.CLASSIC) for number in addresses6(self.random, 2000)]
        self.assertGreater(self.compare(names, addresses), 200)

    def test_each_type_alone(self):
        for kind, name in (("ip4trie", "trie"), ("ip4tset", "tset"), ("ip6trie", "trie6"),
                           ("ip6tset", "tset6"), ("ip4set", "base")):
            with self.subTest(kind):
                path = self.feature(name)
                addresses = self.start_both([f"{kind}:{path}"])
                ranges = read_ranges([path]) or [(0, ALL_IPV4 - 1)]
                numbers = set(addresses4(self.random, ranges, 2000)) - TEST_POINTS
                names = [name4(number, harness.CLASSIC) for number in numbers]
                names += [name6(number, harness.CLASSIC)
                          for number in addresses6(self.random, 2000)]
                self.assertGreater(self.compare(names, addresses), 9)



class NamedDifferences(RbldnsdTest):
    """Each row of "Deliberate differences" in docs/rbldnsd.md that DNS can show."""

    LIST = (":3:listed $\n192.0.2.1\n198.51.100.0/24\n192.0.2.200 :4:other\n")

    def start_with(self, content, kind="ip4set", options=()):
        path = self.write(f"list{len(self.processes)}", content)
        self.addresses = self.start_both([f"{kind}:{path}"], options)

    def answers(self, name, rrtype=A, **how):
        """The replies of rbldnsd and of dnsblv6d; name is below the classic zone."""
        full_name = f"{name}.{harness.CLASSIC}" if name else harness.CLASSIC
        return [harness.ask(address, full_name, rrtype, **how) for address in self.addresses]

    def rcodes(self, name, rrtype=A):
        return [reply.rcode for reply in self.answers(name, rrtype)]

    def test_empty_non_terminals_are_no_data(self):
        self.start_with(self.LIST)
        for name in ("2.0.192", "0.192", "192", "100.51.198", "51.198"):
            with self.subTest(name):
                self.assertEqual(self.rcodes(name), [NXDOMAIN, NOERROR])
        self.assertEqual(self.rcodes("3.0.192"), [NXDOMAIN, NXDOMAIN])

    def test_empty_non_terminals_of_sub_zones_are_no_data(self):
        self.start_with("$DATASET ip4set old.spam\n192.0.2.1\n", "combined")
        self.assertEqual(self.rcodes("spam"), [NXDOMAIN, NOERROR])
        self.assertEqual(self.rcodes("old.spam"), [NOERROR, NOERROR])
        self.assertEqual(self.rcodes("new.spam"), [NXDOMAIN, NXDOMAIN])

    def test_labels_that_are_not_canonical_are_not_there(self):
        self.start_with(self.LIST)
        for name in ("01.2.0.192", "1.02.0.192", "1.2.00.192", "001.2.0.192"):
            with self.subTest(name):
                self.assertEqual(self.rcodes(name), [NOERROR, NXDOMAIN])

    def test_answers_that_do_not_fit_are_marked(self):
        self.start_with("".join(f"192.0.2.1 :{i}:{i}{'x' * 150}\n" for i in range(1, 9)))
        their, our = self.answers("1.2.0.192", TXT)
        self.assertEqual((their.is_truncated, len(their.answer)), (False, 2))
        self.assertEqual((our.is_truncated, len(our.answer)), (True, 0))
        packet = harness.query(f"1.2.0.192.{harness.CLASSIC}", TXT)
        whole = harness.Reply(exchange_tcp(self.addresses[1], packet))
        self.assertEqual(len(whole.answer), 8)

    def test_only_we_answer_over_tcp(self):
        self.start_with(self.LIST)
        packet = harness.query(f"1.2.0.192.{harness.CLASSIC}", A)
        with self.assertRaises(ConnectionRefusedError):
            exchange_tcp(self.addresses[0], packet)
        self.assertEqual(len(harness.Reply(exchange_tcp(self.addresses[1], packet)).answer), 1)

    def test_only_we_answer_edns_with_edns(self):
        self.start_with(self.LIST)
        their, our = self.answers("1.2.0.192", edns_size=1232)
        self.assertEqual([record.type for record in their.additional], [])
        self.assertEqual([record.type for record in our.additional], [harness.OPT])

    def test_any_is_answered_with_one_type(self):
        self.start_with(self.LIST)
        their, our = self.answers("1.2.0.192", harness.ANY)
        self.assertEqual({record.type for record in their.answer}, {A, TXT})
        self.assertEqual({record.type for record in our.answer}, {A})

    def test_name_servers_are_not_put_into_answers(self):
        self.start_with("$NS 1h ns.example.net\n" + self.LIST)
        their, our = self.answers("1.2.0.192")
        self.assertEqual([record.type for record in their.authority], [harness.NS])
        self.assertEqual(our.authority, [])

    def test_there_is_always_a_soa(self):
        self.start_with(self.LIST)
        self.assertEqual(self.rcodes("", SOA), [REFUSED, NOERROR])
        their, our = self.answers("9.9.9.9")
        self.assertEqual((their.rcode, their.has_soa()), (NXDOMAIN, False))
        self.assertEqual((our.rcode, our.has_soa()), (NXDOMAIN, True))

    def test_test_points_are_added(self):
        self.start_with(self.LIST)
        listed6 = name6(int(harness.ip("2001:db8:7f00:2::")), "x")[:-2]
        self.assertEqual(self.rcodes("2.0.0.127"), [NXDOMAIN, NOERROR])
        self.assertEqual(self.rcodes("1.0.0.127"), [NXDOMAIN, NXDOMAIN])
        self.assertEqual(self.rcodes(listed6), [NXDOMAIN, NOERROR])

    def test_mapped_addresses_in_ip6trie_list_no_ipv4(self):
        content = "::/0\n"
        path = self.write("all", content)
        result = self.build(self.path("all.mdb"), "--allow-reserved", f"ip6trie:{path}",
                            expect=harness.EX_DATAERR)
        self.assertNotIn("IPv4 addresses", result.err)
        mapped = self.write("mapped", "::ffff:c000:201\n2600::/32\n")
        result = self.build(self.path("mapped.mdb"), f"ip6trie:{mapped}",
                            expect=harness.EX_DATAERR)
        self.assertIn("IPv4-mapped address; list it in an IPv4 dataset", result.err)

    def test_windows_and_mac_editors_do_no_harm(self):
        self.start_with(b"\xef\xbb\xbf192.0.2.1 one\r\n192.0.2.2 two\r\n192.0.2.3\r\n")
        self.assertEqual(self.rcodes("1.2.0.192"), [NXDOMAIN, NOERROR])
        self.assertEqual(self.rcodes("3.2.0.192"), [NXDOMAIN, NOERROR])
        their, our = self.answers("2.2.0.192", TXT)
        self.assertEqual(their.rdata(TXT), [b"\x04two\r"])
        self.assertEqual(our.rdata(TXT), [b"\x03two"])

    def test_ipv6_below_64_bits_is_exact_here_and_a_64_in_the_bitmap(self):
        self.start_with("2600:1:2:3::5\n", "ip6trie")
        for text, expected in (("2600:1:2:3::5", NOERROR), ("2600:1:2:3::6", NXDOMAIN)):
            name = name6(int(harness.ip(text)), "x")[:-2]
            self.assertEqual(self.rcodes(name), [expected, expected])
        owner = harness.bitmap_name(harness.ip("2600:1:2:3::6"))
        bitmap = harness.ask(self.addresses[1], owner, harness.AAAA).rdata(harness.AAAA)[0]
        self.assertTrue(harness.is_bit_set(bitmap, 3))


class SameAsAlways(RbldnsdTest):
    """What might be thought to differ, and does not."""

    def test_ipv4_asked_as_nibbles(self):
        path = self.write("list", "192.0.2.1 t $\n")
        addresses = self.start_both([f"ip4set:{path}"])
        names = [name6(int(harness.ip(text)), harness.CLASSIC) for text in
                 ("::ffff:192.0.2.1", "::ffff:192.0.2.2", "2002:c000:201::1", "2002:c000:202::1")]
        self.assertEqual(self.compare(names, addresses), 4)

    def test_names_in_capitals(self):
        path = self.write("list", "2600::abcd t $\n")
        addresses = self.start_both([f"ip6trie:{path}"])
        name = name6(int(harness.ip("2600::abcd")), harness.CLASSIC).upper()
        self.assertEqual(self.compare([name], addresses), 2)

    def test_names_below_an_address(self):
        path = self.write("list", "192.0.2.1\n198.51.100.0/24\n")
        addresses = self.start_both([f"ip4set:{path}"])
        names = [f"{name}.{harness.CLASSIC}" for name in
                 ("x.1.2.0.192", "1.1.2.0.192", "x.1.100.51.198", "x.100.51.198", "*.100.51.198",
                  "256.2.0.192", "-1.2.0.192", "1a.2.0.192", "1.2.0.192.x")]
        self.assertEqual(self.compare(names, addresses), 0)


if __name__ == "__main__":
    harness.main()
