#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Odd tars, beside GNU tar, bsdtar, Python, 7-Zip and unar: what one of them takes out comes out of lib/unpack, too.
Readers that are not installed are skipped.
"""

import io
import tarfile

import harness
from odd_archives import DATA, OTHER, Readers, taken_by

FILE, END = DATA + bytes(-len(DATA) % 512), bytes(1024)

# (tar, reader): why what it takes out does not come out.
DIFFERENCES = {
    ("size of 64 to a digit", "tar"): "a size in GNU's oldest form is more than the file has: nothing writes it any more",
    ("size with a digit that is none", "unar"): "a file that is cut",
}

CLOSED = {"zeros amid it": "no reader goes on there unless it is told to"}


def octal(value, size):
    return b"%0*o\0" % (size - 1, value)


def sum_of(head):
    return b"%06o\0 " % sum(head)


def head_of(name=b"a", size=len(DATA), kind=b"0", mode=octal(0o644, 8), owner=octal(0, 8), date=octal(0, 12),
            magic=b"ustar\x0000", said=None, checksum=sum_of, link=b"", words=b""):
    """said: the field of the size."""
    head = (name.ljust(100, b"\0") + mode + owner + owner + (said or octal(size, 12)) + date + b" " * 8 + kind +
            link.ljust(100, b"\0") + magic + words.ljust(247, b"\0"))
    return head[:148] + checksum(head) + head[156:]


def pax(*records, kind=b"x"):
    data = b""
    for key, value in records:
        body = b" " + key + b"=" + value + b"\n"
        size = len(body)
        while len(str(size)) + len(body) != size:
            size = len(str(size)) + len(body)
        data += b"%d" % size + body
    return head_of(b"pax", len(data), kind) + data + bytes(-len(data) % 512)


def wide(value, size):
    return b"\x80" + value.to_bytes(size - 1, "big")


def signed_sum(head):
    return b"%06o\0 " % sum(byte - 256 if byte > 127 else byte for byte in head)


FIRST = head_of(b"first", len(OTHER)) + OTHER + bytes(-len(OTHER) % 512)
SIZE = b"%d" % len(DATA)
TARS = {
    "plain": head_of() + FILE + END,
    "no end": head_of() + FILE,
    "V7": head_of(magic=bytes(8), kind=b"\0") + FILE + END,
    "GNU": head_of(magic=b"ustar  \0") + FILE + END,
    "no magic": head_of(magic=b"xxxxx\0xx") + FILE + END,
    "zeros amid it": FIRST + bytes(512) + head_of() + FILE + END,
    "no name": head_of(b"") + FILE + END,
    "name of a folder": head_of(b"a/") + FILE + END,
    "size of 256 to a digit": head_of(said=wide(len(DATA), 12)) + FILE + END,
    "size of 64 to a digit": head_of(said=b"+000000000A\0") + FILE + END,
    "size with a plus": head_of(said=b"+" + octal(len(DATA), 11)) + FILE + END,
    "size behind a NUL": head_of(said=b"\0" + octal(len(DATA), 11)) + FILE + END,
    "size before noise": head_of(said=(b"%o\0" % len(DATA)).ljust(12, b"7")) + FILE + END,
    "size before letters": head_of(said=(b"%o" % len(DATA)).ljust(12, b"x")) + FILE + END,
    "size with a digit that is none": head_of(said=b"%010o9\0" % (len(DATA) // 8)) + FILE + END,
    "mode of noise": head_of(mode=b"noise!!!") + FILE + END,
    "owner of noise": head_of(owner=b"noise!!!") + FILE + END,
    "date of noise": head_of(date=b"noise!!!!!!!") + FILE + END,
    "checksum of signed bytes": head_of(words=b"\xc3\xa4\xff", checksum=signed_sum) + FILE + END,
    "checksum behind a NUL": head_of(checksum=lambda head: b"\0%06o " % sum(head)) + FILE + END,
    "checksum behind a tab": head_of(checksum=lambda head: b"\t%06o\0" % sum(head)) + FILE + END,
    "checksum before letters": head_of(checksum=lambda head: b"%06oxx" % sum(head)) + FILE + END,
    "checksum of 256 to a digit": head_of(checksum=lambda head: wide(sum(head), 8)) + FILE + END,
    "device with a size alone": head_of(b"d", kind=b"3") + head_of() + FILE + END,
    "folder with a size alone": head_of(b"d/", kind=b"5") + head_of() + FILE + END,
    "link with a size alone": FIRST + head_of(b"l", kind=b"1", link=b"first") + head_of() + FILE + END,
    "long name of 2 MB": (head_of(b"long", 2000000, b"L", magic=b"ustar  \0") + b"n" * 2000000 + bytes(-2000000 % 512) +
                          head_of(magic=b"ustar  \0") + FILE + END),
    "attributes": pax((b"path", b"b")) + head_of() + FILE + END,
    "size in attributes": pax((b"mtime", b"1"), (b"size", SIZE)) + head_of(size=0) + FILE + head_of(b"b") + FILE + END,
    "size in attributes of all": pax((b"size", SIZE), kind=b"g") + head_of(size=0) + FILE + END,
    "size of none in attributes of all": pax((b"size", b"0"), kind=b"g") + head_of() + FILE + END,
    "size behind a blank in attributes": pax((b"size", b" " + SIZE)) + head_of(size=0) + FILE + head_of(b"b") + FILE + END,
    "size behind much in attributes": (pax((b"comment", b"c" * 5000), (b"size", SIZE)) + head_of(size=0) + FILE +
                                       head_of(b"b") + FILE + END),
    "device with a size at the end": head_of() + FILE + head_of(b"d", kind=b"3") + END,
    "attributes of 2 MB": pax((b"comment", b"c" * 2000000)) + head_of() + FILE + END,
    "sparse by attributes": pax((b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"), (b"GNU.sparse.name", b"s"),
                                (b"GNU.sparse.realsize", SIZE)) +
                            head_of(size=512 + len(DATA)) + (b"1\n0\n" + SIZE + b"\n").ljust(512, b"\0") + FILE + END,
} | {f"type {kind}": head_of(kind=kind) + FILE + END for kind in (b"3", b"4", b"6", b"7", b"A", b"V", b"Z", b"\xc8")}


def taken_by_python(data, _):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [archive.extractfile(member).read() for member in archive if member.isfile()]


class Tars(Readers):
    KIND, ARCHIVES, DIFFERENCES, CLOSED = "tar", TARS, DIFFERENCES, CLOSED
    READERS = {"python": taken_by_python, "tar": taken_by("tar", "xf", "{archive}", "-C", "{out}"),
               "bsdtar": taken_by("bsdtar", "xf", "{archive}", "-C", "{out}"),
               "7z": taken_by("7z", "x", "-y", "-ttar", "-o{out}", "{archive}"),
               "unar": taken_by("unar", "-q", "-f", "-o", "{out}", "{archive}")}

    def test_gnu_tar(self):
        self.check_reader("tar")

    def test_bsdtar(self):
        self.check_reader("bsdtar")

    def test_python(self):
        self.check_reader("python")

    def test_seven_zip(self):
        self.check_reader("7z")

    def test_the_unarchiver(self):
        self.check_reader("unar")

    def test_attributes_of_all_are_no_flaw(self):
        every = pax((b"comment", b"c"), kind=b"g")
        for data in (every + END, FIRST + every + END, every + FIRST + END, pax((b"mtime", b"1")) + every + FIRST + END):
            self.assertNotIn(b"flaw", self.unpack(data))
        two = pax((b"size", SIZE), kind=b"g") + head_of(size=0) + FILE + head_of(b"b", 0) + FILE + END
        self.assertEqual(self.unpack(two, BYTES="1"), DATA + DATA)

    def test_a_tar_in_a_tar_is_as_it_is(self):
        inner = head_of(b"inner", mode=b"noise!!!") + FILE
        for before in ((), ((b"comment", b"c" * 5000),)):
            for blank in (b"", b" "):
                outer = pax(*before, (b"size", blank + b"%d" % len(inner))) + head_of(size=0) + inner + END
                self.assertIn(inner, self.unpack(outer, BYTES="1"))

    def test_a_size_without_bytes_at_the_end_is_no_flaw(self):
        for kind in (b"1", b"3", b"5"):
            self.assertNotIn(b"flaw", self.unpack(FIRST + head_of(b"d", 5000, kind, link=b"first") + END))

        for zeros in (1024, 65536):
            data = bytes(zeros) + FILE
            self.assertIn(b"flaw damaged", self.unpack(FIRST + head_of(b"d", len(data), b"3") + data + END))

    def test_attributes_that_may_be_bytes_are_a_flaw(self):
        about = pax((b"comment", DATA))
        odd = head_of(b"d", said=b"\0" + octal(len(about), 11))
        for head in (odd, *(head_of(b"d", len(about), kind=kind) for kind in (b"3", b"4", b"6"))):
            self.assertIn(b"flaw damaged", self.unpack(head + about + FIRST + END))
        self.assertNotIn(b"flaw", self.unpack(head_of(b"d/", kind=b"5") + about + FIRST + END))

    def test_all_are_opened(self):
        self.check_all()

    def test_cuts_do_not_matter(self):
        self.check_cuts()


if __name__ == "__main__":
    harness.main()
