#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
build and update with --dry-run: they say what a run would change, end as it would, and write nothing.
"""

import os
import re

from harness import EX_DATAERR, ZONE, main, numbers
from updates import UpdateCase


class DryRun(UpdateCase):
    def setUp(self):
        super().setUp()
        self.sign()
        self.build(self.store, *self.keys, self.write("list", "192.0.2.1\n198.51.100.0/24\n"))
        self.before = self.content()

    def assert_same_as_run(self, dry, command):
        """What the dry run said but for "would", and its status; the store is as it was."""
        self.assertEqual(self.content(), self.before)
        wet = command()
        self.assertEqual(dry.returncode, wet.returncode)
        told, done = dry.out.splitlines()[-1], wet.out.splitlines()[-1]
        # The serial is the time, or one more than before.
        told, done = (re.sub(r" serial=\d+$", "", line) for line in (told, done))
        self.assertEqual(told.replace("would build", "built").replace("would update", "updated"), done)

    def test_a_build_says_what_would_change_and_is_what_comes(self):
        later = self.write("later", "192.0.2.1\n192.0.2.7\n2001:db8:7::/48\n")
        dry = self.build(self.store, *self.keys, "--dry-run", later)
        self.assertEqual(dry.out.splitlines()[:4], [
            "  + 192.0.2.7", "  - 198.51.100.0/24", "  + 2001:db8:7::/48",
            f"difference of {ZONE}: added=2 removed=1 others=0 names=0"])
        self.assertGreater(numbers(dry.out.splitlines()[-1])["serial"], 0)
        self.assert_same_as_run(dry, lambda: self.build(self.store, *self.keys, later))

    def test_twenty_lines_are_shown_and_with_all_every_one(self):
        many = self.write("many", "192.0.2.1\n198.51.100.0/24\n"
                          + "".join(f"203.0.113.{n}\n" for n in range(1, 61, 2)))
        lines = self.build(self.store, *self.keys, "--dry-run", many).out.splitlines()
        self.assertEqual(len(lines), 20 + 3)
        self.assertEqual(lines[20], "  ... 10 more (--all prints them)")
        lines = self.build(self.store, *self.keys, "--dry-run", "--all", many).out.splitlines()
        self.assertEqual(len(lines), 30 + 2)
        self.assertEqual(self.build(self.store, *self.keys, "--dry-run", "-q", many).out, "")
        self.assertEqual(self.content(), self.before)

    def test_what_a_limit_refuses_is_shown_and_refused(self):
        large = self.write("large", "".join(f"44.{n >> 8}.{n & 255}.1\n" for n in range(2000)))
        dry = self.build(self.store, *self.keys, "--dry-run", large, expect=EX_DATAERR)
        self.assertIn("difference of", dry.out)
        self.assertIn("zone would grow too much", dry.err)
        self.assertIn(f"error: [{self.store}] store not written", dry.err)
        self.assertEqual(self.content(), self.before)
        self.build(self.store, *self.keys, large, expect=EX_DATAERR)

    def test_a_key_that_lacks_is_told_as_by_a_run(self):
        dry = self.build(self.store, "--dry-run", self.path("list"), expect=EX_DATAERR)
        run = self.build(self.store, self.path("list"), expect=EX_DATAERR)
        self.assertEqual(dry.err, run.err)

    def test_nothing_to_change(self):
        dry = self.build(self.store, *self.keys, "--dry-run", self.path("list"))
        self.assert_same_as_run(dry, lambda: self.build(self.store, *self.keys, self.path("list")))
        self.assertIn("nothing changed", dry.out)

    def test_a_new_store_is_not_left_there(self):
        dry = self.build(self.path("new.mdb"), *self.keys, "--dry-run", self.path("list"))
        self.assertIn("would build", dry.out)
        self.assertFalse(os.path.exists(self.path("new.mdb")))

    def test_an_update(self):
        words = ("--add", "192.0.2.9", "--add", "198.51.100.7", "--remove", "198.51.100.128/25")
        dry = self.update(*words, "--dry-run")
        self.assertEqual(dry.out.splitlines()[:2], ["  + 192.0.2.9", "  - 198.51.100.128/25"])
        self.assert_same_as_run(dry, lambda: self.update(*words))
        self.assertEqual(self.update(*words, "--dry-run").out, "nothing to change\n")

    def test_an_update_that_a_limit_refuses(self):
        large = self.write("large", "".join(f"44.{n >> 8}.{n & 255}.1\n" for n in range(2000)))
        dry = self.update("--dry-run", "--add", large, expect=EX_DATAERR)
        self.assertEqual(len(dry.out.splitlines()), 21)
        self.assertIn("zone would grow too much", dry.err)
        self.assertEqual(self.content(), self.before)


if __name__ == "__main__":
    main()
