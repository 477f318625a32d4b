#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
A build keeps eight bytes of an address, one /8 at a time besides, and nothing else.

Two million addresses in a hundred /8s make so small a store that what is
bounded is the list and what is planned of it. bench/scale measures a hundred
million. Sub-zones cost what they list, and not what all others have.
"""

import resource
import unittest

from harness import IS_SANITIZED, Case, main, numbers

OCTETS = [octet for octet in range(1, 120) if octet not in (10, 100, 127)][:100]
EACH = 20000
PER_ADDRESS_MAX = 12  # bytes: eight, and what is free in the last run of each /8
FIXED_MAX = 24 << 20  # the program, a /8 while it is resolved, pages of the store
EX_TEMPFAIL = 75
SUB_ZONES = 400 if IS_SANITIZED else 4000
EACH_SUB_ZONE = 60
SUB_ZONES_CPU_S = 15  # it takes a second or two, and takes 40 where each sub-zone looks at all datasets


class SubZones(Case):
    def test_each_of_many_sub_zones_looks_at_its_own_datasets(self):
        """The kernel ends a build that takes many times its share."""
        path = self.path("combined")
        with open(path, "w", encoding="ascii") as file:
            for n in range(SUB_ZONES):
                addresses = "".join(f"{20 + i}.{n >> 8}.{n & 255}.{i}\n" for i in range(10))
                apex = " @" if n % 100 == 0 else ""
                file.write(f"$DATASET ip4set s{n}{apex}\n:127.0.0.{2 + n % 5}:s{n}\n{addresses}")

        store = self.path("bl6.mdb")
        built = numbers(self.build_soon(store, "combined:" + path).out)
        self.assertEqual(built["ipv4"], 10 * (SUB_ZONES + SUB_ZONES // 100))
        self.run_zone("check", "--store", store, "combined:" + path)

    def test_lists_of_the_zone_itself_are_not_united_one_behind_the_other(self):
        """All in one /8, neighbours of other datasets, and one address that all have."""
        path = self.path("combined")
        with open(path, "w", encoding="ascii") as file:
            for n in range(SUB_ZONES):
                addresses = "".join(f"44.{i}.{n >> 8}.{n & 255}\n" for i in range(EACH_SUB_ZONE))
                file.write(f"$DATASET ip4set @\n:127.0.0.{2 + n % 5}:s{n % 7}\n{addresses}44.200.0.1\n")
        store = self.path("bl6.mdb")
        built = numbers(self.build_soon(store, "combined:" + path).out)
        self.assertEqual(built["ipv4"], EACH_SUB_ZONE * SUB_ZONES + 1)
        self.run_zone("check", "--store", store, "combined:" + path)

    def build_soon(self, store, *lists):
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (SUB_ZONES_CPU_S, SUB_ZONES_CPU_S))
        return self.build(store, *lists, preexec_fn=None if IS_SANITIZED else limit)


@unittest.skipIf(IS_SANITIZED, "the sanitizers' memory is not ours")
class Scale(Case):
    def build_within(self, path, size, **how):
        """With so many bytes of memory that is not of the store's map."""
        def limit():
            resource.setrlimit(resource.RLIMIT_DATA, (size, size))
        return self.build(self.path("bl6.mdb"), path, preexec_fn=limit, **how)

    def test_memory_for_each_address_is_bounded(self):
        """Every other address, in no order: none is a neighbour of another."""
        places = list(range(0, 2 * EACH, 2))
        self.random.shuffle(places)
        path = self.path("list.txt")
        with open(path, "w", encoding="ascii") as file:
            for place in places:
                file.write("".join(f"{octet}.0.{place >> 8}.{place & 255}\n" for octet in OCTETS))
        count = EACH * len(OCTETS)
        refused = self.build_within(path, PER_ADDRESS_MAX * count // 2, expect=EX_TEMPFAIL)
        self.assertIn("out of memory", refused.err)
        built = numbers(self.build_within(path, PER_ADDRESS_MAX * count + FIXED_MAX).out)
        self.assertEqual(built["ipv4"], count)


if __name__ == "__main__":
    main()
