#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the first samples of the targets unpack_gzip, unpack_zip and unpack_archive.

    unpack_samples.py CORPUS-DIRECTORY
"""

import bz2
import gzip
import io
import lzma
import os
import struct
import sys
import zipfile
import zlib

TEXT = b"".join(b"line %d of a text\n" % number for number in range(40))


class Pipe(io.RawIOBase):
    """What cannot be sought in, so that zipfile writes descriptors."""

    def __init__(self):
        super().__init__()
        self.bytes = b""

    def writable(self):
        return True

    def write(self, some):
        self.bytes += bytes(some)
        return len(some)


def zipped(members, is_piped=False, comment=b""):
    file = Pipe() if is_piped else io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data, method in members:
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            archive.writestr(info, data, compress_type=method)
        if comment:
            archive.comment = comment
    return file.bytes if is_piped else file.getvalue()


def zips():
    plain = zipped([("a.txt", TEXT, 8), ("d/", b"", 0), ("b.bin", bytes(range(256)), 0)])
    yield "plain", plain
    yield "piped", zipped([("a.txt", TEXT, 8), ("b.bin", b"PK\7\x08 and more", 0), ("e", b"", 8)], True)
    yield "methods", zipped([("a", TEXT, 12), ("b", TEXT, 14)])
    yield "methods-piped", zipped([("a", TEXT, 12), ("b", TEXT, 14)], True)
    yield "nested", zipped([("in.zip", plain, 0), ("in2.zip", plain, 8)], comment=b"a comment")
    yield "two", plain + plain
    yield "cut", plain[:-30]
    yield "name", zipped([("n\u00e4me\u202e.txt", b"x", 0)])
    encrypted = bytearray(plain)
    encrypted[6] |= 1
    yield "encrypted", bytes(encrypted)
    lying = bytearray(plain)
    lying[plain.index(b"PK\1\2") + 46] ^= 1
    yield "lying", bytes(lying)
    yield "bomb", zipped([("a", bytes(300000), 8)])
    wide = io.BytesIO()
    with zipfile.ZipFile(wide, "w") as archive:
        with archive.open(zipfile.ZipInfo("w"), "w", force_zip64=True) as member:
            member.write(TEXT)
    yield "zip64", wide.getvalue()


def gzips():
    plain = gzip.compress(TEXT, mtime=0)
    yield "plain", 0, plain
    yield "two", 0, plain + plain + bytes(20)
    yield "garbage", 0, plain + b"garbage"
    fields = b"\x1f\x8b\x08\x1e\0\0\0\0\0\3" + struct.pack("<H", 3) + b"abcname\0remark\0\0\0"
    yield "fields", 0, fields + plain[10:]
    yield "damaged", 0, plain[:-6] + b"abcdef"
    yield "bomb", 0, gzip.compress(bytes(300000), mtime=0)
    yield "zlib", 0x80, zlib.compress(TEXT)
    yield "zlib-damaged", 0x80, zlib.compress(TEXT)[:-1] + b"x"


def write(directory, name, head, data):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(bytes(head) + data)


def main(corpus):
    for name, data in zips():
        write(os.path.join(corpus, "unpack_zip"), name, (7, 0), data)
    for limit in (1, 2, 4, 8):
        write(os.path.join(corpus, "unpack_zip"), f"limits-{limit}", (3, limit),
              zipped([(name, TEXT * 4, 8) for name in "abcdef"]))
    for name, limits, data in gzips():
        write(os.path.join(corpus, "unpack_gzip"), name, (9, limits), data)
    for limit in (1, 2, 8):
        write(os.path.join(corpus, "unpack_gzip"), f"limits-{limit}", (3, limit), gzip.compress(TEXT * 20, mtime=0)[:-1])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
