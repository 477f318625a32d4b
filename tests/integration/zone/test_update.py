#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
update leaves the zone that a build of the final list would have made, or nothing.

Random updates of each size are compared, one after the other, with a store
built afresh from what the list is by then: record by record, and value by value.
Then what one address costs, what log prints of it, and what is refused.
DNSBLV6_ROUNDS sets the number of random updates of each kind of zone.
"""

import ipaddress
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess

from harness import (ANY_SIZE, EX_DATAERR, EX_NOPERM, EX_USAGE, IS_SANITIZED, ZONE, data_file, main,
                     numbers, peer, program)
from updates import ADDRESS, NETWORK, Addresses, UpdateCase

LARGE = 20_000 if IS_SANITIZED else None  # lines of a list
ROUNDS = int(os.environ.get("DNSBLV6_ROUNDS", 3 if IS_SANITIZED else 6))
EX_NOINPUT = 66

# Listed from the beginning and never changed: a list is never without a family.
ALWAYS = ("8.8.8.0/24", "2a0f::/52")
# Around these the random prefixes lie.
CENTRES = {4: ("20.0.0.0", "20.1.0.0", "200.3.255.0", "2.7.9.0"),
           6: ("2001:db8:1::", "2a00:1:2::", "2a00:1:3::")}
LENGTHS = {("dotted", 4): (32, 32, 32, 31, 30, 28, 26, 25, 24, 24, 23, 20, 17, 16),
           ("dotted", 6): (128, 64, 64, 64, 63, 60, 57, 56, 56, 55, 52, 48),
           ("both", 4): (32, 32, 32, 31, 28, 26, 25, 24, 24, 23, 20, 16, 15),
           ("both", 6): (128, 64, 64, 64, 63, 60, 57, 56, 56, 55, 52, 48),
           ("both6", 4): (32, 32, 32, 31, 28, 26, 25, 24, 24, 23, 20, 16),
           ("both6", 6): (128, 64, 63, 60, 57, 56),
           ("flat", 4): (32, 32, 32, 31, 30, 28, 26, 25, 24, 24, 23, 20),
           ("flat", 6): (128, 64, 63, 60, 57, 56)}


class RandomUpdates(UpdateCase):
    """Against a model."""

    def setUp(self):
        super().setUp()
        self.style = "dotted"
        self.options = ()
        self.lists = {"": Addresses()}

    def begin(self):
        for addresses in self.lists.values():
            for text in ALWAYS:
                addresses.change(ipaddress.ip_network(text), True)
        self.build_afresh(self.store)

    def build_afresh(self, store):
        for old in (store, store + "-lock"):
            if os.path.exists(old):
                os.unlink(old)
        if len(self.lists) == 1:
            what = self.write("list.txt", self.lists[""].plain())
        else:
            what = "combined:" + self.write("list.txt", "".join(
                addresses.combined(name or "@") for name, addresses in self.lists.items()))
        return self.build(store, "--style", self.style, *self.keys, *self.options, what)

    def random_network(self):
        version = self.random.choice((4, 4, 4, 6, 6))
        length = self.random.choice(LENGTHS[self.style, version])
        step = self.random.randrange(600) << (0 if version == 4 else 64)
        address = int(ADDRESS[version](self.random.choice(CENTRES[version]))) + step
        return NETWORK[version]((address, length), strict=False)

    def random_changes(self):
        """Prefix -> added or not."""
        return {self.random_network(): self.random.random() < 0.5
                for _ in range(self.random.choice((1, 1, 2, 5, 20)))}

    def apply(self, name, changes):
        """To the model, the longest prefix last; to the store, in whatever order."""
        options = ["--subzone", name] if name else []
        words = list(changes.items())
        self.random.shuffle(words)
        for network, is_added in words:
            options += ["--add" if is_added else "--remove", str(network)]
        for network, is_added in sorted(changes.items(), key=lambda item: item[0].prefixlen):
            self.lists[name].change(network, is_added)
        return options, self.update(*ANY_SIZE, *options)

    def assert_as_afresh(self, options, printed):
        other = self.path("other.mdb")
        built = numbers(self.build_afresh(other).out)
        ours, theirs = self.zone(), self.zone(other)
        different = sorted(set(ours) ^ set(theirs))
        self.assertEqual(different[:6], [], f"{len(different)} lines differ after {options}")
        self.assertEqual(ours, theirs, options)
        self.assertEqual(self.values(), self.values(other), options)
        if "updated" in printed:
            counted = numbers(printed)
            self.assertEqual((counted["ipv4"], counted["ipv6"]), (built["ipv4"], built["ipv6"]),
                             options)

    def run_rounds(self, random_changes=None, count=ROUNDS):
        for _ in range(count):
            changes = (random_changes or self.random_changes)()
            options, result = self.apply(self.random.choice(list(self.lists)), changes)
            self.assert_as_afresh(options, result.out)
        self.assert_sound()

    def run_kind(self, style, is_signed):
        self.style = style
        if is_signed:
            self.sign()
        for _ in range(40):
            self.lists[""].change(self.random_network(), True)
        self.begin()
        self.run_rounds()

    def test_dotted_names(self):
        self.run_kind("dotted", False)

    def test_dotted_names_signed(self):
        self.run_kind("dotted", True)

    def test_flat_names(self):
        self.run_kind("flat", False)

    def test_flat_names_signed(self):
        self.run_kind("flat", True)

    def test_dotted_and_flat_names(self):
        self.run_kind("both", False)

    def test_dotted_and_flat_names_signed(self):
        self.run_kind("both", True)

    def test_dotted_and_flat_names_of_both_families_signed(self):
        self.run_kind("both6", True)

    def test_dotted_labels_change_between_flat_names_that_change(self):
        """Of 16.0.0.0/8 flat names begin with "10"; "10" and "100" to "109" lie among them."""
        self.style = "both"
        self.lists[""].change(ipaddress.ip_network("16.0.0.0/8"), True)
        self.begin()
        for words in (("16.1.2.3/32", False), ("10.1.2.3/32", True), ("100.1.2.0/24", True)), (
                ("16.1.2.3/32", True), ("16.200.0.0/16", False), ("109.0.0.0/16", True)):
            changes = {ipaddress.ip_network(text): is_added for text, is_added in words}
            options = []
            for network, is_added in changes.items():
                options += ["--add" if is_added else "--remove", str(network)]
                self.lists[""].change(network, is_added)
            result = self.update(*ANY_SIZE, "--allow-reserved", *options)
            self.options = ("--allow-reserved",)
            self.assert_as_afresh(options, result.out)
        self.assert_sound()

    def dense_changes(self):
        """Single addresses, or blocks of them, out of what is whole; or it becomes whole again."""
        changes = {}
        for _ in range(self.random.choice((1, 2, 4))):
            text, lengths = self.random.choice((
                ("20.0.0.0/16", (32, 25, 24, 24, 17, 16)), ("22.0.0.0/8", (32, 24, 16, 16, 9, 8)),
                ("2a00:1:2::/48", (64, 57, 56, 56, 49, 48))))
            whole = ipaddress.ip_network(text)
            bits = 32 if whole.version == 4 else 64
            # Few places, so that holes are closed again.
            place = self.random.choice((0, 1, 255, (1 << bits - whole.prefixlen) - 1))
            address = int(whole[0]) + (place << (32 - bits if bits == 32 else 64))
            network = NETWORK[whole.version]((address, self.random.choice(lengths)), strict=False)
            changes[network] = network.prefixlen == whole.prefixlen or self.random.random() < 0.7
        return changes

    def test_wildcards_come_and_go(self):
        self.sign()
        self.lists[""].change(ipaddress.ip_network("20.0.0.0/17"), True)
        self.lists[""].change(ipaddress.ip_network("22.0.0.0/8"), True)
        self.lists[""].change(ipaddress.ip_network("2a00:1:2::/49"), True)
        self.begin()
        self.run_rounds(self.dense_changes)

    def exceptions(self):
        """Exceptions of each size in whole blocks of each size, which come and go."""
        changes = {}
        for _ in range(self.random.choice((1, 1, 3, 8, 60))):
            text, lengths = self.random.choice((
                ("20.0.0.0/16", (32, 31, 26, 25, 24, 24, 24, 23, 20)),
                ("22.0.0.0/8", (32, 25, 24, 17, 16, 16, 16, 16)),
                ("2a00:1::/32", (64, 63, 58, 57, 56, 55, 48, 48, 47)),
                ("2a00:1:2::/48", (64, 57, 56, 56, 56, 55)),
                ("2a00:1:2::/48", (56, 56, 56, 56, 56, 48))))
            whole = ipaddress.ip_network(text)
            length = self.random.choice(lengths)
            bits = 32 if whole.version == 4 else 128
            # Children beside each other, of which a third is an exception in the end, or no more.
            place = self.random.randrange(min(200, 1 << length - whole.prefixlen))
            address = int(whole[0]) + (place << bits - length) + self.random.getrandbits(bits - length)
            network = NETWORK[whole.version]((address, length), strict=False)
            changes[network] = self.random.random() < 0.3
        if self.random.random() < 0.1:
            changes[ipaddress.ip_network("20.0.0.0/16")] = True
        return changes

    def test_exceptions_in_whole_blocks_come_and_go(self):
        for is_signed in (False, True):
            with self.subTest(is_signed=is_signed):
                if is_signed:
                    self.sign()
                self.lists = {"": Addresses()}
                for text in ("20.0.0.0/16", "22.0.0.0/8", "2a00:1::/32"):
                    self.lists[""].change(ipaddress.ip_network(text), True)
                self.begin()
                self.run_rounds(self.exceptions)

    def test_a_network_fills_up_block_by_block(self):
        """The last /24 makes a wildcard of 256, and the last /16 one of those."""
        self.sign()
        for text in ("30.0.0.0/16", "31.0.0.0/8"):
            self.lists[""].change(ipaddress.ip_network(text), True)
        for text in ("30.0.7.0/24", "30.0.200.5/32", "31.9.0.0/16", "31.255.255.255/32"):
            self.lists[""].change(ipaddress.ip_network(text), False)
        self.begin()
        for text in ("30.0.7.0/25", "30.0.7.128/25", "30.0.200.5/32", "31.255.255.255/32",
                     "31.9.0.0/17", "31.9.128.0/18", "31.9.192.0/18"):
            options, result = self.apply("", {ipaddress.ip_network(text): True})
            self.assert_as_afresh(options, result.out)
        zone = "\n".join(self.zone())
        self.assertRegex(zone, rf"(?m)^\*\.0\.30\.{ZONE} .*AAAA")
        self.assertRegex(zone, rf"(?m)^\*\.31\.{ZONE} .*AAAA")
        self.assert_sound()

    def test_several_lists_below_one_apex(self):
        for style in ("dotted", "flat", "both", "both6"):
            with self.subTest(style=style):
                self.style = style
                self.lists = {name: Addresses() for name in ("", "spam", "proxy-a")}
                self.begin()
                self.run_rounds(count=ROUNDS // 3)

    def test_names_that_look_like_blocks(self):
        """Name servers and sub-zones of hexadecimal labels lie among flat names."""
        self.look_like_blocks("flat")

    def test_names_that_look_like_blocks_beside_dotted_ones(self):
        self.look_like_blocks("both6", ROUNDS // 3)

    def look_like_blocks(self, style, count=ROUNDS):
        self.sign()
        self.style = style
        self.options = [word for label in ("a0", "14f", "14000", "140000", "ns.14000f", "deadbeef",
                                           "140000ff", "140001000")
                        for word in ("--ns", f"{label}.{ZONE},192.0.2.53,2001:db8::53")]
        self.lists = {name: Addresses() for name in ("", "1400001f", "c8.1400")}
        self.begin()
        self.run_rounds(count=count)

    def test_addresses_beside_test_points_and_canaries(self):
        self.sign()
        self.begin()
        for words in (["--add", "127.0.0.3", "--add", "2001:db8:7f00:3::/64"],
                      ["--add", "127.0.0.4-127.0.0.200"], ["--remove", "127.0.0.3"],
                      ["--add", "169.254.0.0/16", "--add", "::/57"], ["--remove", "::/16"],
                      ["--remove", "127.0.0.0/8", "--remove", "2001:db8:7f00::/48"],
                      ["--remove", "0.0.0.0/0", "--add", ALWAYS[0]]):
            self.update(*ANY_SIZE, "--allow-reserved", *words)
            other = self.path("other.mdb")
            self.build(other, *self.keys, *ANY_SIZE, "--allow-reserved",
                       self.write("list.txt", self.run_zone("dump", "--store", self.store).out))
            self.assertEqual(self.zone(), self.zone(other), words)
        self.assertEqual(self.run_zone("dump", "--store", self.store).out, "8.8.8.0/24\n2a0f::/52\n")
        self.assert_sound()


RBLDNSD = """\
:127.0.0.2:listed, see http://example.org/?$
!198.51.100.9
198.51.100.0/28
192.0.2.1 :4:open proxy
192.0.2.1 :7:and a relay
192.0.2.2
192.0.2.9 :4:open proxy
203.0.113.0/24 :9:
"""


class Values(UpdateCase):
    def expand(self):
        """Address -> its lines of dump --values."""
        found = {}
        for line in self.values().splitlines():
            prefix, _, value = line.partition("\t")
            for address in ipaddress.ip_network(prefix):
                found.setdefault(str(address), []).append(value)
        return found

    def test_addresses_that_stay_keep_their_values_and_new_ones_get_that_of_the_zone(self):
        self.build(self.store, "ip4set:" + self.write("list", RBLDNSD))
        model = self.expand()
        self.assertEqual(len(model["192.0.2.1"]), 2)
        zone_value = model["192.0.2.2"]
        places = [int(ipaddress.ip_address(text))
                  for text in ("192.0.2.0", "198.51.100.0", "203.0.113.128")]
        for _ in range(ROUNDS):
            network = NETWORK[4]((self.random.choice(places) + self.random.randrange(24),
                                  self.random.choice((32, 32, 31, 29, 27, 25))), strict=False)
            is_added = self.random.random() < 0.6
            self.update("--add" if is_added else "--remove", str(network))
            for address in map(str, network):
                if is_added:
                    model.setdefault(address, zone_value)
                else:
                    model.pop(address, None)
            self.assertEqual(self.expand(), model, network)
        self.run_zone("check", "--store", self.store)

    def test_networks_that_an_update_has_joined_again_are_printed_as_one(self):
        lists = (self.write("plain", "77.0.0.0/16\n79.0.0.0/16\n2a01::/64\n2a02::/64\n2a03::/64\n"),
                 "ip4set:" + self.write("ip4", ":5:x\n44.0.0.0/22\n"),
                 "ip6trie:" + self.write("ip6", ":5:x\n2a00:1::/54\n"))
        for style in ("dotted", "flat", "classic"):
            with self.subTest(style=style):
                self.build(self.store, "--change-style", "--style", style, *lists)
                before = self.values()
                for what in ("44.0.1.0/24", "2a00:1:0:100::/56"):
                    self.update("--remove", what)
                    self.update("--value", ":5:x", "--add", what)
                self.assertEqual(self.values(), before)

    def test_plain_lists_and_additions_have_the_value_that_is_given(self):
        plain = self.write("plain.txt", "192.0.2.1\n192.0.2.4\n")
        for style in ("dotted", "classic"):
            with self.subTest(style=style):
                self.build(self.store, "--change-style", "--style", style, "--value",
                           ":3:listed, see $", plain)
                first = "127.0.0.3\t2100\tlisted, see $"
                self.assertEqual(self.expand(), {"192.0.2.1": [first], "192.0.2.4": [first]})
                self.update("--value", ":127.0.0.9:a proxy", "--add", "192.0.2.2")
                self.update("--add", "192.0.2.3")
                self.update("--value", ":127.0.0.9:a proxy", "--add", "192.0.2.0/29",
                            "--remove", "192.0.2.6/31", "--remove", "192.0.2.0")
                second = "127.0.0.9\t2100\ta proxy"
                self.assertEqual(self.expand(), {
                    "192.0.2.1": [first], "192.0.2.2": [second], "192.0.2.3": [first],
                    "192.0.2.4": [first], "192.0.2.5": [second]})
                self.run_zone("check", "--store", self.store)
                # What the store remembers.
                self.build(self.store, "--style", style, plain)
                self.assertEqual(self.expand(), {"192.0.2.1": [first], "192.0.2.4": [first]})
        self.run_zone("rollback", "--store", self.store)
        self.assertEqual(self.expand()["192.0.2.5"], [second])

    def test_words_that_are_no_value(self):
        for command in (["build", "--zone", ZONE, "--ns", "ns1.example.net."], ["update"]):
            for value in (":x", ":1.2.3", "x" * 256):
                with self.subTest(command=command[0], value=value):
                    self.run_zone(*command, "--store", self.store, "--value", value, expect=EX_USAGE)

    def test_a_value_of_the_lists_own_for_the_test_point_stays(self):
        self.build(self.store, "--allow-reserved", "ip4set:" + self.write(
            "list", RBLDNSD + "127.0.0.2 :2:a test\n127.0.0.9 :5:another\n"))
        server = self.serve()

        def text():
            return [record.rdata for record in server.ask("2.0.0.127.bl.example.", 16).answer]

        self.assertEqual(text(), [b"\x06a test"])
        self.update("--add", "127.0.0.8", "--allow-reserved")
        self.assertEqual(text(), [b"\x06a test"])
        self.update("--remove", "127.0.0.2-127.0.0.9")
        self.assertNotEqual(text(), [])
        self.assertEqual(server.ask("9.0.0.127.bl.example.", 16).answer, [])


class Cost(UpdateCase):
    def differences(self, before, after):
        """Owner names of lines that only one of both has."""
        return {line.split()[0] for line in set(before) ^ set(after)}

    def lines(self):
        return self.run_zone("dump", "--zonefile", "--store", self.store).out.splitlines()

    def test_one_address_more_in_a_large_zone_is_four_signatures_at_most(self):
        with open(data_file("ipsum.txt"), encoding="ascii") as file:
            path = self.write("large", "".join(itertools.islice(file, LARGE)))
        self.sign()
        self.build(self.store, "--ignore-columns", *self.keys, path)
        lines = self.lines()
        listed = self.run_zone("dump", "--store", self.store).out.split()
        known = next(ipaddress.ip_address(word) for word in listed if "/" not in word)
        for address, names, signatures in (
                (ipaddress.ip_address(int(known) ^ 1), 2, 1),
                (ipaddress.ip_address("200.3.7.9"), 3, 4),
                (ipaddress.ip_address("2a0e:7:7:7::"), 4, 5)):  # a family more: the metadata too
            with self.subTest(address=address):
                result = self.update("--add", str(address))
                self.assertLessEqual(numbers(result.out)["signed"], signatures + 1)
                before, lines = lines, self.lines()
                self.assertLessEqual(len(self.differences(before, lines)), names)
        self.run_zone("check", "--store", self.store)

    def test_nothing_to_change_is_said_and_leaves_serial_and_zone(self):
        self.sign()
        self.build(self.store, *self.keys, self.write("list", "192.0.2.0/24\n2a00::/64\n"))
        before = self.master_file()
        for words in (("--add", "192.0.2.7"), ("--add", "192.0.2.0/24"), ("--add", "2a00::1"),
                      ("--remove", "198.51.100.0/24"), ("--remove", "2a00:0:0:1::/64"),
                      ("--add", "127.0.0.2"), ("--remove", "127.0.0.0/8")):
            self.assertEqual(self.update(*words).out, "nothing to change\n", words)
            self.assertEqual(self.update("--quiet", *words).out, "", words)
            self.assertEqual(self.master_file(), before, words)

    def test_an_ipv6_address_inside_a_listed_64_changes_what_the_classic_zone_answers(self):
        self.build(self.store, self.write("list", "192.0.2.1\n2a00::1\n"))
        before = self.zone()
        self.assertIn("changed=1 ", self.update("--add", "2a00::2").out)  # the SOA
        self.assertEqual(self.zone(), before)
        self.assertIn("2a00::2\t", self.values())


class Words(UpdateCase):
    """What --add and --remove take."""

    def setUp(self):
        super().setUp()
        self.build(self.store, self.write("list", "192.0.2.0/30\n8.8.8.8\n"))

    def listed(self):
        return self.run_zone("dump", "--store", self.store).out.split()

    def test_the_longest_prefix_decides_whatever_comes_first(self):
        words = ("--add", "192.0.2.7", "--remove", "192.0.2.0/24")
        self.update(*words)
        self.assertEqual(self.listed(), ["8.8.8.8", "192.0.2.7"])
        self.update("--remove", "192.0.2.0/25", "--add", "192.0.2.0/24", "--add", "192.0.2.1")
        self.assertEqual(self.listed(), ["8.8.8.8", "192.0.2.1", "192.0.2.128/25"])

    def test_files_ranges_and_standard_input(self):
        gone = self.write("gone", "# comment\n8.8.8.8\n192.0.2.0/24\n!192.0.2.3\n")
        self.update("--remove", gone, "--add", "198.51.100.3-198.51.100.4", "--add", "-",
                    input=b"203.0.113.0/25\r\n2a00::/64\n")
        self.assertEqual(self.listed(), ["192.0.2.3", "198.51.100.3", "198.51.100.4",
                                         "203.0.113.0/25", "2a00::/64"])

    def test_reserved_space_may_be_removed_and_is_added_on_request(self):
        self.update("--add", "10.0.0.0/24", "--allow-reserved")
        self.assertIn("10.0.0.0/24", self.listed())
        self.update("--remove", "10.0.0.0/8")
        self.assertNotIn("10.0.0.0/24", self.listed())

    def test_host_bits_are_cut_on_request(self):
        self.update("--add", "198.51.100.7/24", "--cut-host-bits")
        self.assertIn("198.51.100.0/24", self.listed())

    def test_an_explicit_serial(self):
        self.assertIn(" serial=3000000000\n",
                      self.update("--serial", "3000000000", "--add", "9.9.9.9").out)

    def test_updates_at_once_come_one_after_the_other(self):
        addresses = [f"198.51.{n}.1" for n in range(12)]
        processes = [self.start([program("dnsblv6-zone"), "update", "--store", self.store, "--add",
                                 address], "update") for address in addresses]
        for process in processes:
            self.assertEqual(process.popen.wait(60), 0, process.log())
        self.assertEqual([line for line in self.listed() if line in addresses], addresses)
        log = self.run_zone("log", "--store", self.store, "--count", "12", "--brief").out
        self.assertEqual(log.count(" update "), 12)

    def test_everything_may_go(self):
        self.update("--remove", "0.0.0.0/0", "--remove", "::/0")
        self.assertEqual(self.listed(), [])
        self.update("--add", "2a00::1")
        self.assertEqual(self.values().split("\t")[0], "2a00::1")
        self.assertIn('"families=6"', "".join(line for line in self.zone() if "_dnsblv6." in line))


class Refusals(UpdateCase):
    """Each names its place and leaves the store as it was."""

    def setUp(self):
        super().setUp()
        self.sign()
        self.build(self.store, *self.keys,
                   self.write("list", "20.0.0.0/20\n2a00::/52\n192.0.2.1\n"))
        self.before = self.content()

    def refuse(self, status, error, *options, last=None):
        """error: all of what is said, patterns, one a line."""
        result = self.update(*options, expect=status)
        self.assertEqual(result.out, "")
        lines = result.err.splitlines()
        patterns = [error, last] if last else [error]
        self.assertEqual(len(lines), len(patterns), result.err)
        for pattern, line in zip(patterns, lines):
            self.assertRegex(line, f"^error: {pattern}$")
        self.assertEqual(self.content(), self.before)

    def refuse_change(self, error, *options, count=1):
        self.refuse(EX_DATAERR, error, *options,
                    last=rf"\[{self.store}\] store not changed, refusals={count}")

    def refuse_store(self, status, reason, *options):
        self.refuse(status, rf"\[{re.escape(self.store)}\] store not changed"
                            rf" (published=\S+ (given=\S+ )?)?\({reason}\)",
                    *(options or ("--add", "192.0.2.2")))

    def test_a_refusal_is_seen_also_when_sigchld_is_ignored(self):
        """As below "trap '' CHLD", which is handed on."""
        result = self.run_zone(
            "update", "--store", self.store, *self.keys, "--allow-reserved", "--add",
            "2001:db8:7f00:1::5", expect=EX_DATAERR,
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertIn("2001:db8:7f00:1::/64 must not be listed", result.err)
        self.assertEqual(self.content(), self.before)

    def test_words_that_are_no_addresses(self):
        for word, reason in (("300.1.1.1", "octet above 255"), ("192.0.2", ".*"),
                             ("192.0.2.1/33", ".*"), ("not-there", "not an IP address"),
                             ("", "neither an address nor a file"), (" ", "neither .*"), ("# x", "neither .*"),
                             ("192.0.2.1/24", "host bits set below the prefix length"),
                             ("192.0.2.9-192.0.2.1", ".*")):
            for option in ("--add", "--remove"):
                self.refuse_change(rf'\[{option}\] line refused, text="{word}" \({reason}\)',
                                   option, word, "--add", "198.51.100.1")

    def test_what_must_not_be_listed(self):
        for word in ("10.0.0.1", "127.0.0.0/8", "fe80::1", "224.0.0.1"):
            self.refuse_change(rf'\[--add\] entry refused, text="{word}" \(lists .*\)',
                               "--add", word)
        self.refuse_change(r"zone would list a test point .*", "--add", "127.0.0.1",
                           "--allow-reserved")

    def test_a_file_that_is_not_there_or_has_a_bad_line(self):
        path = self.path("nothing")
        self.refuse(EX_NOINPUT, rf"\[{path}\] file not read \(No such file or directory\)",
                    "--add", path)
        bad = self.write("bad", "192.0.2.7\n192.0.2.x\n")
        self.refuse_change(rf'\[{bad}:2\] line refused, text="192.0.2.x" \(.*\)', "--add", bad)
        self.refuse_change(rf"\[{bad}\] list refused \(list is empty.*\)", "--remove",
                           self.write("bad", "# nothing\n"))

    def test_added_and_removed_at_once(self):
        self.refuse_change(r'change refused, text="192.0.2.2" \(both added and removed\)',
                           "--add", "192.0.2.2", "--remove", "192.0.2.2")
        self.refuse_change(r'change refused, text="192.0.2.0/30" \(both added and removed\)',
                           "--add", "192.0.2.0-192.0.2.4", "--remove", "192.0.2.0/30")

    def test_changes_that_look_like_an_accident(self):
        place = rf"\[{self.store}\]"
        self.refuse_change(rf"{place} zone would shrink too much, IPv4 addresses: before=4097"
                           r" now=1 \(100.0%; --max-shrink 50 permits 50%\)",
                           "--remove", "20.0.0.0/8")
        self.refuse_change(rf"{place} zone would shrink too much, IPv6 /64s: .*",
                           "--remove", "2a00::/52")
        self.refuse_change(rf"{place} zone would grow too much, IPv4 addresses: .*",
                           "--add", "30.0.0.0/16")
        self.refuse_change(rf"{place} zone would grow too much, IPv4 addresses: .*",
                           "--add", "20.1.0.0/22", "--max-grow", "10")
        self.refuse_store(EX_DATAERR, "more records than --max-records permits",
                          "--add", "9.9.9.9", "--max-records", "5")
        self.update("--add", "20.0.16.0/32", "--max-records", "1000")  # they do let things pass

    def test_too_many_flat_names_are_refused_before_they_are_written(self):
        """67 million need more than the file may have, a store's first limit."""
        self.keys = ()
        for style in ("flat", "both6"):
            with self.subTest(style):
                self.store = self.path(f"{style}.mdb")
                self.build(self.store, "--style", style, self.write("few", "20.0.0.1\n"))
                self.before = self.content()
                refused = self.update(
                    "--add", "2a00::/31", *ANY_SIZE, expect=EX_DATAERR,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 30, 2 << 30)))
                self.assertEqual(refused.err, f"error: [{self.store}] store not changed"
                                              " (more records than --max-records permits)\n")
                self.assertEqual(self.content(), self.before)

    def test_too_much_of_ipv4(self):
        self.refuse_change(r"zone would list too much of IPv4, addresses=20975617 \(.*\)",
                           "--add", "64.0.0.0/8", "--add", "66.64.0.0/10", "--max-grow", "1000000",
                           "--max-listed", "0")

    def test_keys(self):
        other = self.keygen("other.pem")
        self.keys = ()
        self.refuse_store(EX_DATAERR, "store is signed.*")
        self.keys = ("--key", other)
        self.refuse_store(EX_DATAERR, ".*key.*")
        self.keys = ("--key", self.key, "--publish", other)
        self.refuse_store(EX_DATAERR, ".*key.*")
        self.run_zone("sign", "--store", self.store, "--key", self.key, "--publish", other)
        for keys in (("--key", self.key), ("--key", other, "--publish", self.key)):
            self.keys = keys
            self.update("--add" if keys[1] == self.key else "--remove", "192.0.2.2")
            zone = self.run_zone("dump", "--zonefile", "--store", self.store).out
            self.assertEqual(len(re.findall(r"\sDNSKEY\s257", zone)), 2)
        self.run_zone("check", "--store", self.store)

    def test_a_key_that_others_may_read(self):
        os.chmod(self.key, 0o644)
        self.refuse(EX_NOPERM, rf"\[{self.key}\] key not read \(.*chmod 600\)",
                    "--add", "192.0.2.2")

    def test_a_key_for_a_zone_that_is_not_signed(self):
        self.store = self.path("unsigned.mdb")
        self.build(self.store, self.write("list", "192.0.2.1\n"))
        self.before = self.content()
        self.refuse_store(EX_DATAERR, "store is not signed.*")

    def test_an_old_serial_and_a_sub_zone_that_is_not_there(self):
        self.refuse_store(EX_DATAERR, "serial is not newer than the store's",
                          "--serial", "1", "--add", "192.0.2.2")
        self.refuse_store(EX_DATAERR, "store has no such sub-zone", "--subzone", "spam", "--add",
                          "192.0.2.2")

    def test_files_that_are_no_stores_are_refused(self):
        for name, content, status, reason in (
                ("text", b"192.0.2.1\n" * 1000, EX_DATAERR, "not a store"),
                ("cut", self.before[:20000], EX_DATAERR, "file is cut short"),
                ("empty", b"", EX_DATAERR, "store has never been finished")):
            with self.subTest(name=name):
                self.before = content
                self.store = self.write(name, content)
                self.refuse_store(status, reason)
        self.store = self.path("missing.mdb")
        result = self.update("--add", "192.0.2.2", expect=EX_NOINPUT)
        self.assertEqual(result.err, f"error: [{self.store}] store not changed"
                                     " (No such file or directory)\n")
        self.assertFalse(os.path.exists(self.store))

    def test_a_store_of_another_schema(self):
        dumped = subprocess.run([peer("mdb_dump"), "-n", "-a", self.store], check=True,
                                capture_output=True, text=True).stdout
        lines = dumped.splitlines()
        lines[lines.index(" " + b"schema".hex()) + 1] = " 00000063"
        self.store = self.path("old.mdb")
        subprocess.run([peer("mdb_load"), "-n", self.store], check=True, text=True,
                       input="\n".join(lines) + "\n", stderr=subprocess.DEVNULL)
        self.before = self.content()
        self.refuse_store(EX_DATAERR, "written with another schema version")

    def test_a_store_that_may_not_be_written(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        copy = shutil.copy(program("dnsblv6-zone"), self.path("dnsblv6-zone"))
        os.chmod(self.key, 0o600)
        shutil.chown(self.key, "nobody")
        result = subprocess.run([copy, "update", "--store", self.store, *self.keys, "--add",
                                 "192.0.2.2"], user="nobody", capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (
            EX_NOPERM, f"error: [{self.store}] store not changed (Permission denied)\n"))
        self.assertEqual(self.content(), self.before)

    def test_wrong_use(self):
        for words in (["update", "--add", "192.0.2.1"], ["update", "--store", self.store],
                      ["update", "--store", self.store, "--add", "192.0.2.1", "list"],
                      ["update", "--store", self.store, "--add", "192.0.2.1", "--publish", "x"],
                      ["update", "--store", self.store, "--add", "192.0.2.1", "--serial", "0"],
                      ["log"], ["log", "--store", self.store, "--count", "0"],
                      ["log", "--store", self.store, "word"],
                      ["log", "--store", self.store, "--all", "--brief"],
                      ["log", "--store", self.store, "--since", "1", "--count", "2"],
                      ["log", "--store", self.store, "--since", "1", "--brief"],
                      ["dump", "--store", self.store, "--values", "--clients"],
                      ["dump", "--store", self.store, "--zonefile", "--values"],
                      ["dump", "--store", self.store, "--clients", "--zonefile"]):
            result = self.run_zone(*words, expect=EX_USAGE)
            self.assertEqual(len(result.err.splitlines()), 1, words)
            self.assertIn("--help", result.err)
        self.assertEqual(self.content(), self.before)


# Runs in a mount name space of its own, with a small file system at DIRECTORY.
IN_SMALL_DISK = """
set -e
mount -t tmpfs -o size=300k none {directory}
{zone} build --zone {name} --store {directory}/bl6.mdb --ns ns1.example.net. {small}
before=$(cksum < {directory}/bl6.mdb)
status=0
{zone} update --store {directory}/bl6.mdb --add {large} --max-grow 1000000 || status=$?
echo "status=$status"
test "$before" = "$(cksum < {directory}/bl6.mdb)"
{zone} check --store {directory}/bl6.mdb
{zone} update --store {directory}/bl6.mdb --add 192.0.2.4
{zone} dump --store {directory}/bl6.mdb
"""

# The same with a sound store that was copied there, its lock file was not, and no byte is left.
ON_FULL_DISK = """
mount -t tmpfs -o size=300k none {directory} || exit 1
cp {store} {directory}/bl6.mdb || exit 1
dd if=/dev/zero of={directory}/filler bs=4096 2> {directory}/dd
try() {{ status=0; "$@" || status=$?; echo "status=$status"; }}
try {zone} check --store {directory}/bl6.mdb
try {zone} dump --store {directory}/bl6.mdb
try {zone} log --store {directory}/bl6.mdb
try {zone} update --store {directory}/bl6.mdb --add 192.0.2.4
try {zone} build {options} --store {directory}/bl6.mdb {one}
try {zone} build {options} --store {directory}/new.mdb {one}
rm {directory}/filler
try {zone} check --store {directory}/bl6.mdb
"""


def need_mount_namespace(case):
    allowed = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                             capture_output=True, check=False)
    if allowed.returncode != 0:
        case.skipTest("no mount name space here (not root?)")


class FullDisk(UpdateCase):
    def test_a_full_disk_leaves_the_version_before_and_room_for_a_smaller_change(self):
        need_mount_namespace(self)
        os.makedirs(self.path("small"))
        script = IN_SMALL_DISK.format(
            directory=self.path("small"), zone=program("dnsblv6-zone"), name=ZONE,
            small=self.write("small.txt", "192.0.2.0/30\n"),
            large=self.write("large.txt", "".join(f"44.{n >> 8}.{n & 255}.1\n"
                                                  for n in range(20000))))
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True,
                                text=True, check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertRegex(result.stderr, r"(?m)^error: \[.*bl6\.mdb\] store not changed"
                                        r" \(No space left on device\)$")
        self.assertRegex(result.stdout, r"status=74\n")
        self.assertTrue(result.stdout.endswith("192.0.2.0/30\n192.0.2.4\n"), result.stdout)

    # The lock file is mapped: a page that the disk has no room for would be SIGBUS.
    def test_a_full_disk_without_a_lock_file_is_said_to_be_full_by_every_command(self):
        need_mount_namespace(self)
        self.build(self.store, self.write("list", "192.0.2.0/30\n"))
        os.makedirs(self.path("small"))
        script = ON_FULL_DISK.format(
            directory=self.path("small"), zone=program("dnsblv6-zone"), store=self.store,
            options=f"--zone {ZONE} --ns ns1.example.net.",
            one=self.write("one.txt", "192.0.2.1\n"))
        result = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True,
                                text=True, check=False, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        self.assertEqual(re.findall(r"status=\d+", result.stdout),
                         ["status=74"] * 6 + ["status=0"], result.stderr)
        errors = [line for line in result.stderr.splitlines() if line.startswith("error:")]
        self.assertEqual(len(errors), 6, result.stderr)
        for line in errors:
            self.assertRegex(line, r"small/(bl6|new)\.mdb\].*\(No space left on device\)$")


HEADER = re.compile(r"(?P<when>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) (?P<verb>build|update|sign|rollback)"
                    r" serial=(?P<serial>\d+) before=(?P<before>\d+) ipv4=(?P<ipv4>\d+)"
                    r" ipv6=(?P<ipv6>\d+) names=\+(?P<added>\d+),~(?P<changed>\d+),"
                    r"-(?P<removed>\d+)(?P<rest>.*)")


class Log(UpdateCase):
    def log(self, *options):
        """[header match, [lines below it]] of each change, the newest first."""
        changes = []
        out = self.run_zone("log", "--store", self.store, *options).out
        for line in out.splitlines():
            header = HEADER.fullmatch(line)
            if header:
                changes.append((header, []))
            else:
                changes[-1][1].append(line)
        return changes

    def test_each_change_with_what_it_did(self):
        self.sign()
        self.build(self.store, *self.keys, self.write("list", "192.0.2.1\n"))
        self.update("--add", "192.0.2.2", "--add", "198.51.100.0/24", "--add", "2a00::/62")
        self.update("--remove", "198.51.100.7")
        self.run_zone("sign", "--store", self.store, *self.keys)
        self.build(self.store, *self.keys, self.write("list", "192.0.2.1\n192.0.2.9\n"))
        changes = self.log()
        self.assertEqual([header["verb"] for header, _ in changes][:4],
                         ["build", "sign", "update", "update"])
        self.assertEqual([lines for _, lines in changes][:4], [
            ["  + 192.0.2.9", "  - 192.0.2.2", "  - 198.51.100.0/30", "  - 198.51.100.4/31",
             "  - 198.51.100.6", "  - 198.51.100.8/29", "  - 198.51.100.16/28",
             "  - 198.51.100.32/27", "  - 198.51.100.64/26", "  - 198.51.100.128/25",
             "  - 2a00::/62"],
            [], ["  - 198.51.100.7"],
            ["  + 192.0.2.2", "  + 198.51.100.0/24", "  + 2a00::/62"]])
        for newer, older in zip(changes, changes[1:]):
            self.assertEqual(newer[0]["before"], older[0]["serial"])
        self.assertEqual((changes[2][0]["ipv4"], changes[2][0]["ipv6"]), ("257", "4"))
        self.assertEqual(len(self.log("--count", "2")), 2)
        self.assertEqual([lines for _, lines in self.log("--brief")][:4], [[]] * 4)

    def test_many_prefixes_are_cut_short_unless_asked_for(self):
        self.build(self.store, self.write("list", "192.0.2.1\n"))
        self.update("--add", self.write("more", "".join(f"20.0.{n}.1\n" for n in range(50))))
        lines = self.log("--count", "1")[0][1]
        self.assertEqual((len(lines), lines[-1]), (21, "  ... 30 more (--all prints them)"))
        self.assertEqual(self.log("--count", "1", "--all")[0][1],
                         [f"  + 20.0.{n}.1" for n in range(50)])

    def test_sub_zones_are_named(self):
        self.build(self.store, "combined:" + self.write(
            "list", "$DATASET ip4set @\n192.0.2.1\n$DATASET ip4set spam\n192.0.2.2\n"))
        self.update("--subzone", "SPAM", "--add", "192.0.2.3")
        self.assertEqual(self.log("--count", "1")[0][1], ["  + 192.0.2.3\tspam"])

    def test_a_change_of_more_than_its_share_keeps_no_names(self):
        self.build(self.store, self.write("list", "192.0.2.0/24\n"))
        self.update("--add", "192.0.3.2")
        large = self.write("large", "".join(f"44.{n >> 8}.{n & 255}.1\n" for n in range(60000)) +
                           "".join(f"45.{n >> 8}.{n & 255}.1\n" for n in range(60000)))
        self.update("--add", large, *ANY_SIZE)
        self.update("--add", "192.0.3.3")
        changes = self.log()
        self.assertEqual([header["rest"] for header, _ in changes][:3],
                         ["", " (addresses not kept)", " (addresses not kept)"])
        self.assertEqual(changes[0][1], ["  + 192.0.3.3"])
        self.assertEqual((changes[1][1], changes[1][0]["added"]), ([], "120000"))

    def test_a_store_that_is_none(self):
        result = self.run_zone("log", "--store", self.path("missing.mdb"), expect=EX_NOINPUT)
        self.assertRegex(result.err, r"^error: \[.*missing\.mdb\] store not read \(No such file"
                                     r" or directory\)\n$")


if __name__ == "__main__":
    main()
