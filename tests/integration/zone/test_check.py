#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
check --store S LIST says whether the two hold the same, and what they do not.
"""

import os

from harness import EX_DATAERR, Case, data_file, main

COMBINED = """$DATASET ip4trie @
:5:text
44.0.0.0/24
!44.0.0.9
44.0.1.0/24 :6:other
$DATASET ip6trie @
2a00:1::5
2a00:2::/47
$DATASET ip4set spam
44.1.0.1
$DATASET dnset names
:7:name
example.com
.example.org
"""


class Compared(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("bl6.mdb")

    def check(self, *lists, expect=0):
        return self.run_zone("check", "--store", self.store, *lists, expect=expect).out

    def assert_differs(self, out, lines, keys):
        self.assertEqual(out.splitlines(), [f"  {line}" for line in lines] + [
            f"error: [{self.store}] lists differ from the store, {keys}"
            " (+ in the lists, - in the store, ~ with other values)"])

    def test_a_store_is_the_same_as_the_lists_it_was_built_from(self):
        plain = self.write("plain", "44.0.0.0/23\n9.9.9.9\n2a00:9::/64\n")
        combined = "combined:" + self.write("combined", COMBINED)
        acl = "acl:" + self.write("acl", ":refuse\n192.0.2.0/24\n")
        self.build(self.store, plain, combined, acl)
        self.assertEqual(self.check(combined, plain, acl), "")
        self.run_zone("update", "--store", self.store, "--add", "9.9.9.10", "--remove", "9.9.9.9")
        self.assert_differs(self.check(plain, combined, acl, expect=1),
                            ["+ 9.9.9.9", "- 9.9.9.10"],
                            "prefixes=2 names=0 names-listed=3 names-stored=3")
        for style in ("flat", "dotted", "both", "both6"):
            self.build(self.path(style + ".mdb"), "--style", style, plain, combined)
            self.store = self.path(style + ".mdb")
            self.assertEqual(self.check(plain, combined), "")

    def test_what_differs_is_printed_and_the_status_is_1(self):
        self.build(self.store, "combined:" + self.write("before", COMBINED))
        after = COMBINED.replace("44.0.0.0/24", "44.0.0.0/25").replace(":6:", ":7:").replace(
            "2a00:1::5", "2a00:1::6").replace("44.1.0.1", "44.1.0.2").replace(
            "example.com", "example.net").replace("name\n", "other name\n", 1)
        self.assert_differs(self.check("combined:" + self.write("after", after), expect=1), [
            "- 44.0.0.128/25", "~ 44.0.1.0/24", "- 2a00:1::5", "+ 2a00:1::6",
            "- 44.1.0.1\tspam", "+ 44.1.0.2\tspam", "+ example.net.names",
            "~ example.org.names", "~ *.example.org.names"],
            "prefixes=6 names=3 names-listed=3 names-stored=3")
        said = self.check("--all", self.write("plain", "44.0.0.1\n"), expect=1)
        self.assertIn("\n  - 44.1.0.1\tspam\n", said)
        self.assertIn(" names=0 names-listed=0 names-stored=3 (", said)

    def test_records_at_the_apex_are_compared_too(self):
        plain, records = self.write("plain", "44.0.0.1\n"), "generic:" + self.write(
            "records", "@ A 192.0.2.77\n@ MX 10 mail.example.net.\nwww A 192.0.2.78\n")
        self.build(self.store, "--zonemd", plain, records)
        self.assertEqual(self.check(plain, records), "")
        self.write("records", "@ A 192.0.2.79\n@ MX 10 mail.example.net.\nwww A 192.0.2.78\n")
        self.assert_differs(self.check(plain, records, expect=1), ["~ @"],
                            "prefixes=0 names=1 names-listed=2 names-stored=2")
        other, same = self.path("other.mdb"), self.path("same.mdb")
        self.build(other, plain, records)
        self.build(same, "--ns", "ns2.example.net.", plain, records)
        self.assertEqual(self.run_zone("diff", self.store, other, expect=1).out, "  ~ @\n")
        self.run_zone("diff", other, same)

    def test_clients_are_compared_too(self):
        plain = self.write("plain", "44.0.0.0/23\n")
        self.build(self.store, plain, "acl:" + self.write("acl", "192.0.2.0/24\n"))
        self.assert_differs(self.check(plain, expect=1), ["- 192.0.2.0/24\tacl"],
                            "prefixes=1 names=0 names-listed=0 names-stored=0")

    def test_the_value_that_the_store_remembers_is_that_of_the_lists(self):
        plain = self.write("plain", "44.0.0.1\n")
        self.build(self.store, "--value", ":127.0.0.5:told", plain)
        self.assertEqual(self.check(plain), "")
        self.assert_differs(self.check("--value", ":127.0.0.2", plain, expect=1), ["~ 44.0.0.1"],
                            "prefixes=1 names=0 names-listed=0 names-stored=0")

    def test_twenty_lines_are_shown_and_all_with_a_word(self):
        self.build(self.store, self.write("before", "44.0.0.1\n"))
        after = self.write("after", "".join(f"44.0.{n}.1\n" for n in range(50)))
        lines = self.check(after, expect=1).splitlines()
        self.assertEqual((lines[19], lines[20], len(lines)),
                         ("  + 44.0.20.1", "  ... 29 more (--all prints them)", 22))
        self.assertEqual(len(self.check("--all", after, expect=1).splitlines()), 50)

    def test_nothing_is_left_beside_a_file_that_is_no_store(self):
        self.write("list", "44.0.0.1\n")
        for command in ("check", "dump", "log"):
            told = self.run_zone(command, "--store", self.path("list"), expect=None)
            self.assertIn("(not a store)", told.err)
        self.build(self.path("list"), self.path("list"), expect=EX_DATAERR)
        self.assertEqual(os.listdir(self.directory), ["list"])

    def test_a_real_list_is_the_same_as_its_store(self):
        real = "ip4set:" + data_file("dnsbl-2.uceprotect.net")
        self.build(self.store, "--max-bad-lines", "100", "--skip-reserved", real)
        self.assertNotIn("differ", self.check("--skip-reserved", real, expect=None))


if __name__ == "__main__":
    main()
