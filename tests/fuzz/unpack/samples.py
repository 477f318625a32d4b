#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the first samples of the targets unpack_gzip, unpack_zip and unpack_archive.

    samples.py CORPUS-DIRECTORY
"""

import bz2
import gzip
import io
import lzma
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
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
    yield "deflate64", by_program("7z", "a", "-tzip", "-mm=Deflate64", "made.zip", "a.txt", suffix=".zip")


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


def cab():
    name, data = b"c.txt\0", b"some text in a cabinet"
    folder = struct.pack("<IHH", 36 + 8 + 16 + len(name), 1, 0)
    file = struct.pack("<IIHHHH", len(data), 0, 0, 0, 0, 0x20) + name
    block = struct.pack("<IHH", 0, len(data), len(data)) + data
    head = struct.pack("<IIIIIHHHHHH", 0, 36 + len(folder + file + block), 0, 44, 0, 0x103, 1, 1, 0, 0, 0)
    return b"MSCF" + head + folder + file + block


def lha():
    data = b"some text"
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xa001 if crc & 1 else 0)
    head = b"-lh0-" + struct.pack("<IIIBBB", len(data), len(data), 0x21, 0x20, 0, 5) + b"l.txt" + struct.pack("<H", crc)
    return bytes((len(head), sum(head) & 0xff)) + head + data + b"\0"


def rar():
    def part(fields):
        sized = bytes((len(fields),)) + fields
        return struct.pack("<I", zlib.crc32(sized)) + sized
    data = b"some text"
    file = bytes((2, 2, len(data), 4, len(data), 0x20)) + struct.pack("<I", zlib.crc32(data)) + b"\0\1\5r.txt"
    return b"Rar!\x1a\7\1\0" + part(b"\1\0\0") + part(file) + data + part(b"\5\0\0")


def tar():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", bufsize=512) as archive:
        for name, data in (("a.txt", TEXT), ("b" * 120, b"x"), ("empty", b"")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue().rstrip(b"\0") + bytes(1024)


def by_program(*command, suffix=""):
    """What a program of Debian makes of a file, or b"" without that program."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "a.txt")
        with open(path, "wb") as file:
            file.write(TEXT)
        words = [word.format(directory=directory) for word in command]
        try:
            made = subprocess.run(words, check=True, input=b"a.txt\n", stdout=subprocess.PIPE, cwd=directory,
                                  stderr=subprocess.DEVNULL).stdout
        except FileNotFoundError:
            return b""
        if suffix:
            with open(os.path.join(directory, "made" + suffix), "rb") as file:
                made = file.read()
        return made


# In the order of lib/content/kind.h, from CONTENT_BZIP2 on.
KINDS = ("bzip2", "xz", "lzma", "lzip", "zstd", "compress", "lz4", "lzop", "zip", "tar", "cpio", "ar", "cab", "lha",
         "arj", "rar", "7z", "iso9660", "xar")


def archives():
    yield "bzip2", bz2.compress(TEXT)
    yield "bzip2", bz2.compress(bytes(300000))
    yield "xz", lzma.compress(TEXT)
    yield "lzma", lzma.compress(TEXT, lzma.FORMAT_ALONE)
    yield "lzip", by_program("lzip", "-c", "a.txt")
    yield "zstd", by_program("zstd", "-q", "-c", "a.txt")
    yield "compress", by_program("compress", "-f", "-c", "a.txt")
    yield "lz4", by_program("lz4", "-q", "-c", "a.txt")
    yield "tar", tar()
    yield "cpio", by_program("cpio", "--quiet", "-o", "-H", "newc").rstrip(b"\0")
    yield "cpio", by_program("cpio", "--quiet", "-o").rstrip(b"\0")
    yield "ar", by_program("ar", "rcD", "made.a", "a.txt", suffix=".a")
    yield "cab", cab()
    yield "lha", lha()
    yield "rar", rar()
    yield "arj", by_program("arj", "a", "-m1", "made.arj", "a.txt", suffix=".arj")
    yield "arj", by_program("arj", "a", "-m4", "made.arj", "a.txt", suffix=".arj")
    yield "7z", by_program("7z", "a", "made.7z", "a.txt", suffix=".7z")


def write(directory, name, head, data):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(bytes(head) + data)


def main(corpus):
    for name, data in zips():
        if data:
            write(os.path.join(corpus, "unpack_zip"), name, (7, 0), data)
    for limit in (1, 2, 4, 8):
        write(os.path.join(corpus, "unpack_zip"), f"limits-{limit}", (3, limit),
              zipped([(name, TEXT * 4, 8) for name in "abcdef"]))
    for name, limits, data in gzips():
        write(os.path.join(corpus, "unpack_gzip"), name, (9, limits), data)
    for limit in (1, 2, 8):
        write(os.path.join(corpus, "unpack_gzip"), f"limits-{limit}", (3, limit), gzip.compress(TEXT * 20, mtime=0)[:-1])
    for number, (name, data) in enumerate(archives()):
        if data:
            write(os.path.join(corpus, "unpack_archive"), f"{name}-{number}", (5, 2 * (number % 2), KINDS.index(name)), data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
