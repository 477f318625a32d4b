#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Odd archives of LHA, beside lhasa, bsdtar, 7-Zip and unar: what one of them takes out comes out of lib/unpack, too.
Readers that are not installed are skipped.
"""

import struct

import harness
from odd_archives import DATA, OTHER, Readers, taken_by

END, TIME = b"\0", struct.pack("<I", 0x50000000)
NAME, FOLDER, MODE, WIDE = 1, 2, 0x50, 0x42
LINK = 0o120777

# (archive, reader): why what it takes out does not come out.
DIFFERENCES = {
    ("level 2, a size that is too large", "7z"): "it goes by the last of the headers: a file that is cut",
    ("level 2, a size that is too small", "7z"): "the same: no header",
}


def checksum_of(data):
    checksum = 0
    for byte in data:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ 0xa001 if checksum & 1 else checksum >> 1
    return checksum


def fields_of(method, packed, data):
    return method + struct.pack("<II", packed, len(data)) + TIME


def with_sizes(archive, packed, size):
    """The fields of its first header, whose checksum is wrong then."""
    return archive[:7] + struct.pack("<II", packed, size) + archive[15:]


def extensions_of(extensions, width):
    """The size of the first, and all of them."""
    sizes = [len(data) + 1 + width for _, data in extensions] + [0]
    return (sizes[0].to_bytes(width, "little"),
            b"".join(bytes([kind]) + data + size.to_bytes(width, "little")
                     for (kind, data), size in zip(extensions, sizes[1:])))


def level0(data=DATA, name=b"a", method=b"-lh0-", behind=b"", wrong=0, attributes=0x20, has_checksum=True):
    head = fields_of(method, len(data), data) + bytes([attributes, 0, len(name)]) + name
    head += struct.pack("<H", checksum_of(data)) + behind if has_checksum else b""
    return bytes([len(head), (sum(head) + wrong) & 0xff]) + head + data


def level1(*extensions, name=b"a", wrong=0):
    first, rest = extensions_of(extensions, 2)
    head = fields_of(b"-lh0-", len(DATA) + len(rest), DATA) + bytes([0x20, 1, len(name)]) + name
    head += struct.pack("<H", checksum_of(DATA)) + b"U" + first
    return bytes([len(head), (sum(head) + wrong) & 0xff]) + head + rest + DATA


def new_level(level, *extensions, wrong=0, padding=0, lie=0):
    """With a checksum of the header, unless wrong is None."""
    width = 2 if level == 2 else 4
    first, rest = extensions_of(([(0, b"\0\0")] if wrong is not None else []) + list(extensions), width)
    fixed = 26 if level == 2 else 32
    size = fixed + len(rest) + padding + lie
    head = (struct.pack("<H", size if level == 2 else 4) + fields_of(b"-lh0-", len(DATA), DATA) + bytes([0x20, level]) +
            struct.pack("<H", checksum_of(DATA)) + b"U" + (struct.pack("<I", size) if level == 3 else b"") + first + rest +
            bytes(padding))
    if wrong is not None:
        head = head[:fixed + 1] + struct.pack("<H", checksum_of(head) ^ wrong) + head[fixed + 3:]
    return head + DATA


FIRST = level0(OTHER, b"first")
ARCHIVES = {
    "level 0": level0() + END,
    "level 0, no end": level0(),
    "level 0, wrong sum": level0(wrong=1) + END,
    "level 0, wrong sum of the second": FIRST + level0(wrong=1) + END,
    "level 0, no checksum": level0(has_checksum=False) + END,
    "level 0, no name": level0(name=b"") + END,
    "level 0, a link with bytes": level0(name=b"a|b", behind=b"U\0" + struct.pack("<IHHH", 0, LINK, 0, 0)) + END,
    "level 0, a folder by its attributes": level0(attributes=0x10) + END,
    "level 0, more behind": level0(behind=b"more" * 9) + END,
    "stored as of LArc": level0(method=b"-lz4-") + END,
    "stored as of PMarc": level0(method=b"-pm0-") + END,
    "behind another method": level0(OTHER, method=b"-lh8-") + level0() + END,
    "behind a third one": level0(OTHER, method=b"-lz0-") + level0() + END,
    "level 1": level1() + END,
    "level 1, names": level1((NAME, b"b"), (FOLDER, b"c\xff")) + END,
    "level 1, an empty name": level1((NAME, b"")) + END,
    "level 1, no name": level1(name=b"") + END,
    "level 1, wrong sum": FIRST + level1(wrong=1) + END,
    "level 1, a long header": level1((0x3f, bytes(3000))) + END,
    "level 2": new_level(2, (NAME, b"a")) + END,
    "level 2, padding": new_level(2, (NAME, b"a"), padding=1) + END,
    "level 2, no checksum": new_level(2, (NAME, b"a"), wrong=None) + END,
    "level 2, wrong checksum": FIRST + new_level(2, (NAME, b"a"), wrong=1) + END,
    "level 2, no name": new_level(2) + END,
    "level 2, a link with bytes": new_level(2, (NAME, b"a|b"), (MODE, struct.pack("<H", LINK))) + END,
    "level 2, wide sizes": new_level(2, (NAME, b"a"), (WIDE, struct.pack("<QQ", len(DATA), len(DATA)))) + END,
    "level 2, wide sizes of nothing": new_level(2, (NAME, b"a"), (WIDE, bytes(16))) + END,
    "level 2, wide sizes of too much": new_level(2, (NAME, b"a"), (WIDE, struct.pack("<QQ", 1 << 32, 1 << 32))) + END,
    "level 2, wide sizes for none": with_sizes(
        new_level(2, (NAME, b"a"), (WIDE, struct.pack("<QQ", len(DATA), len(DATA))), wrong=None), 0, 0) + END,
    "level 2, wide sizes for the most": with_sizes(
        new_level(2, (NAME, b"a"), (WIDE, struct.pack("<QQ", len(DATA), len(DATA))), wrong=None), 0xffffffff, 0xffffffff) + END,
    "level 2, a long name": new_level(2, (NAME, b"n" * 5000)) + END,
    "level 2, a size that is too large": new_level(2, (NAME, b"a"), lie=2) + END,
    "level 2, a size that is too small": new_level(2, (NAME, b"a"), lie=-2) + END,
    "level 3": new_level(3, (NAME, b"a")) + END,
    "level 3, wrong checksum": new_level(3, (NAME, b"a"), wrong=1) + END,
}


class Lha(Readers):
    KIND, ARCHIVES, DIFFERENCES = "lha", ARCHIVES, DIFFERENCES
    READERS = {"lhasa": taken_by("lhasa", "xfw={out}", "{archive}"),
               "bsdtar": taken_by("bsdtar", "xf", "{archive}", "-C", "{out}"),
               "7z": taken_by("7z", "x", "-y", "-tlzh", "-o{out}", "{archive}"),
               "unar": taken_by("unar", "-q", "-f", "-o", "{out}", "{archive}")}

    def test_lhasa(self):
        self.check_reader("lhasa")

    def test_bsdtar(self):
        self.check_reader("bsdtar")

    def test_seven_zip(self):
        self.check_reader("7z")

    def test_the_unarchiver(self):
        self.check_reader("unar")

    def test_all_are_opened(self):
        self.check_all()

    def test_cuts_do_not_matter(self):
        self.check_cuts()

    def test_what_is_no_header_is_said_once(self):
        for data in (FIRST + b"none" * 99, FIRST + level0()[:9], b"\x20\0-lh5-" + b"\xff" * 99):
            self.assertEqual(self.unpack(data).count(b"flaw "), 1, data[:40])

    def test_a_method_that_is_not_known_is_said(self):
        lines = self.unpack(ARCHIVES["behind another method"]).decode().splitlines()
        self.assertEqual([line for line in lines if line.startswith("flaw ")], ["flaw unsupported method: a"])


if __name__ == "__main__":
    harness.main()
