#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Odd cabinets, beside cabextract and 7-Zip: what one of them takes out comes out of lib/unpack, too. Readers that are not
installed are skipped.
"""

import harness
from documents import cab_of
from odd_archives import DATA, OTHER, Readers, taken_by

A, B = len(DATA), len(OTHER)
FIRST, SECOND = (0, 0, B, b"b"), (0, B, A, b"a")
MANY = [(0, B + A + number, 1, b"m%d" % number) for number in range(2000)]

# (archive, reader): why what it takes out does not come out.
DIFFERENCES = {
    ("folders from the last to the first", reader): "libarchive refuses it: it is told that it lies"
    for reader in ("cabextract", "7z")
}


def of_one(*files):
    return cab_of([OTHER + DATA + bytes(2000)], files)


ARCHIVES = {
    "in order": of_one(FIRST, SECOND),
    "the second file first": of_one(SECOND, FIRST),
    "the first file last of many": of_one(SECOND, *MANY, FIRST),
    "many in another order": of_one(*reversed(MANY), SECOND, FIRST),
    "files of two folders, mixed": cab_of([OTHER + DATA, b"x" * 9], [FIRST, (1, 0, 9, b"x"), SECOND]),
    "the second folder first": cab_of([b"x" * 9, OTHER + DATA], [(1, 0, B, b"b"), (1, B, A, b"a"), (0, 0, 9, b"x")]),
    "equal files once": of_one(FIRST, SECOND, (0, B, A, b"c")),
    "bytes that no file has": of_one(SECOND),
    "a file in another": of_one((0, 0, A + B, b"c"), SECOND),
    "a file with another one's end": of_one((0, 0, B + 9, b"c"), SECOND),
    "a file of no bytes": of_one((0, 0, 0, b"e"), SECOND, FIRST),
    "a file of no folder": of_one(FIRST, SECOND, (9, 0, 5, b"n")),
    "a file without a name": of_one(FIRST, SECOND, (0, A + B, 5, b"")),
    "a file of 2 GB": of_one(FIRST, SECOND, (0, A + B, 0x7fffffff, b"n")),
    "folders from the last to the first": cab_of([OTHER + DATA, b"x" * 9], [FIRST, SECOND, (1, 0, 9, b"x")], (1, 0)),
}
# What no program writes.
LYING = {"a file in another", "a file with another one's end", "a file of no folder", "a file of 2 GB",
         "folders from the last to the first"}


class CabReaders(Readers):
    KIND, ARCHIVES, DIFFERENCES = "cab", ARCHIVES, DIFFERENCES
    READERS = {
        "cabextract": taken_by("cabextract", "-q", "-d", "{out}", "{archive}"),
        "7z": taken_by("7z", "x", "-y", "-o{out}", "{archive}"),
    }

    def test_cabextract(self):
        self.check_reader("cabextract")

    def test_7z(self):
        self.check_reader("7z")

    def test_all_that_come_out(self):
        self.check_all()

    def test_cuts(self):
        self.check_cuts()

    def test_what_no_program_writes_is_told(self):
        for name, data in self.ARCHIVES.items():
            with self.subTest(archive=name):
                self.assertEqual(b"flaw lying: " in self.unpack(data), name in LYING)


if __name__ == "__main__":
    harness.main()
