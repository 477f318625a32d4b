#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
lib/unpack over what programs of Debian pack, by unpack_events: the bytes that come out are those that
went in, at any cuts, and bombs and quines of each format end at their limits. Formats whose program is
not installed are skipped.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import random
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import unittest
import zipfile
import zlib

import harness
from harness import BUILD, Case

EVENTS = os.path.join(BUILD, "tests/integration/unpack_events")
SAMPLES = "/usr/share/clamav-testfiles"
CHM_SAMPLE = os.path.join(harness.SOURCE, "tests/fuzz/corpus/unpack_archive/chm_lzx")
SEEDS = (0, 1, 2, 3)


def text_of(size):
    words = random.Random(size)
    return " ".join(str(words.randrange(5000)) for _ in range(size // 4)).encode()[:size]


class Unpacks(Case):
    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.files = {"text.txt": text_of(300000), "random.bin": random.Random(7).randbytes(70000),
                      "small": b"x", "sub/in.txt": b"in a folder"}
        for name, data in self.files.items():
            path = os.path.join(self.directory, "in", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)

    def unpack(self, kind, data, seed=0, **settings):
        """Lines as unpacked.h has them, or the bytes of all members."""
        environment = dict(os.environ, **{name: str(value) for name, value in settings.items()})
        done = subprocess.run([EVENTS, kind, str(seed)], input=data, capture_output=True, check=False,
                              env=environment, timeout=3 * harness.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode()), [])
        return done.stdout if "BYTES" in settings else done.stdout.decode().splitlines()[1:]

    def packed(self, *command, name="", **keywords):
        """What a program makes of the files: its output, or the file of that name."""
        if shutil.which(command[0]) is None:
            self.skipTest(f"{command[0]} is not installed")
        inner = os.path.join(self.directory, "in")
        done = subprocess.run(command, check=True, cwd=inner, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              timeout=3 * harness.DEADLINE_S, **keywords)
        if not name:
            return done.stdout
        with open(os.path.join(self.directory, name), "rb") as file:
            return file.read()

    def expect(self, kind, data, names, flaws=()):
        """All members, by size and bytes, at several cuts."""
        first = self.unpack(kind, data)
        found = sorted(os.path.normpath(line[6:]) for line in first if line.startswith("begin ") and line != "begin ")
        self.assertEqual(found, sorted(name for name in names if name))
        self.assertEqual([line for line in first if line.startswith("flaw ")], list(flaws))
        self.assertNotIn("cut", [line.split()[1] for line in first if line.startswith("end ")])
        for seed in SEEDS:
            self.assertEqual(self.unpack(kind, data, seed), first)
        order = [os.path.normpath(line[6:]) if line != "begin " else "text.txt"
                 for line in first if line.startswith("begin ")]
        # Names of FAT and ISO 9660 are found by what is in them.
        wanted = b"".join(self.files[name] for name in order)
        self.assertEqual(hashlib.sha256(self.unpack(kind, data, BYTES=1)).hexdigest(),
                         hashlib.sha256(wanted).hexdigest())


class Tools(Unpacks):
    def test_compressed_files(self):
        for kind, *command in (("gzip", "gzip", "-9", "-c"), ("bzip2", "bzip2", "-c"), ("xz", "xz", "-c"),
                               ("lzma", "xz", "--format=lzma", "-c"), ("lzip", "lzip", "-c"),
                               ("zstd", "zstd", "-q", "-c"), ("zstd", "zstd", "-q", "-19", "-c"),
                               ("lz4", "lz4", "-q", "-c"), ("compress", "compress", "-f", "-c")):
            with self.subTest(kind):
                names = ["text.txt"] if kind == "gzip" else [""]
                self.expect(kind, self.packed(*command, "text.txt"), names)

    def test_streams_one_after_another_are_one_file(self):
        text = self.files["text.txt"]
        for kind, pack in (("gzip", gzip.compress), ("bzip2", bz2.compress), ("xz", lzma.compress)):
            with self.subTest(kind):
                data = pack(text[:1000]) + pack(text[1000:])
                self.assertEqual(self.unpack(kind, data, BYTES=1), text)
                self.assertEqual(len(self.unpack(kind, data)), 2)

    def test_what_stands_behind_zstd_hides_nothing(self):
        text = self.files["text.txt"]
        packed = self.packed("zstd", "-q", "-c", "--check", "text.txt")
        short = self.packed("zstd", "-q", "-c", "--no-check", "small")
        skipped = b"\x53\x2a\x4d\x18\3\0\0\0abc"
        for data, expected in ((packed + b"\0" * 8000, text), (packed + b"x", text),
                               (packed + skipped + short + b"\x28\xb5\x2f", text + b"x")):
            first = self.unpack("zstd", data)
            self.assertIn("flaw damaged: ", first)
            for seed in SEEDS:
                self.assertEqual(self.unpack("zstd", data, seed), first)
            self.assertEqual(self.unpack("zstd", data, BYTES=1), expected)
        self.expect("zstd", skipped + packed + skipped, [""])

    def test_zips(self):
        for options in ((), ("-0",), ("-9",), ("-Z", "bzip2"), ("-fz",)):
            with self.subTest(options):
                data = self.packed("zip", "-q", "-r", "-D", *options, "../made.zip", ".", name="made.zip")
                os.unlink(os.path.join(self.directory, "made.zip"))
                if "bzip2" in options:
                    self.assertEqual([line for line in self.unpack("zip", data) if line.startswith("flaw")], [])
                else:
                    self.expect("zip", data, self.files)
        piped = self.packed("zip", "-q", "-r", "-D", "-", ".")
        self.expect("zip", piped, self.files)
        for method in ("Deflate", "Deflate64", "LZMA", "BZip2", "Copy"):
            data = self.packed("7z", "a", "-tzip", f"-mm={method}", f"../{method}.zip", ".", name=f"{method}.zip")
            self.assertEqual([line for line in self.unpack("zip", data) if line.startswith("flaw")], [])

    def test_deflate64(self):
        self.files["zeros"] = bytes(1 << 20)
        self.files["far"] = random.Random(3).randbytes(60000) * 3
        for name in ("zeros", "far"):
            with open(os.path.join(self.directory, "in", name), "wb") as file:
                file.write(self.files[name])
        data = self.packed("7z", "a", "-tzip", "-mm=Deflate64", "-mx=9", "../d.zip", ".", name="d.zip")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.assertIn(9, {member.compress_type for member in archive.infolist()})
        lines = self.unpack("zip", data)
        self.assertEqual([line for line in lines if line.startswith("flaw")], [])
        names = [line[6:] for line in lines if line.startswith("begin")]
        self.assertEqual(self.unpack("zip", data, BYTES=1), b"".join(self.files[name] for name in names))
        for seed in SEEDS:
            self.assertEqual(self.unpack("zip", data, seed), lines)

    def test_methods_that_go_on_as_files(self):
        text = self.files["text.txt"]
        for method, kind in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")):
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w", method) as archive:
                archive.writestr("text.txt", text)
            inner = self.unpack("zip", made.getvalue(), BYTES=1)
            self.assertEqual(self.unpack(kind, inner, BYTES=1), text)
        if shutil.which("7z"):
            for method, kind in (("xz", "xz"), ("LZMA", "lzma")):
                data = self.packed("7z", "a", "-tzip", f"-mm={method}", "../m.zip", "text.txt", name="m.zip")
                self.assertEqual(self.unpack(kind, self.unpack("zip", data, BYTES=1), BYTES=1), text)
                os.unlink(os.path.join(self.directory, "m.zip"))

    def test_archives(self):
        everything = {name: data for name, data in self.files.items()}
        flat = [name for name in everything if "/" not in name]
        listed = "\n".join(everything).encode() + b"\n"
        self.expect("tar", self.packed("tar", "-cf", "-", *everything), everything)
        self.expect("tar", self.packed("tar", "--format=v7", "-cf", "-", *everything), everything)
        self.expect("tar", self.packed("tar", "--format=pax", "-cf", "-", *everything), everything)
        for form in ("bin", "odc", "newc", "crc"):
            self.expect("cpio", self.packed("cpio", "--quiet", "-o", "-H", form, input=listed), everything)
        self.expect("ar", self.packed("ar", "rcD", "../made.a", *flat, name="made.a"), flat)
        self.expect("7z", self.packed("7z", "a", "../made.7z", ".", name="made.7z"), everything)
        self.expect("7z", self.packed("7z", "a", "-m0=PPMd", "../p.7z", ".", name="p.7z"), everything)
        self.expect("iso9660", self.packed("genisoimage", "-quiet", "-R", "-o", "../made.iso", ".", name="made.iso"),
                    everything)

    def test_arj(self):
        for method in range(5):
            with self.subTest(method):
                data = self.packed("arj", "a", f"-m{method}", "-r", f"../m{method}.arj", *self.files, name=f"m{method}.arj")
                self.expect("arj", data, self.files)
        data = self.packed("arj", "a", "-gsecret", "../g.arj", "text.txt", name="g.arj")
        self.assertEqual(self.unpack("arj", data), ["flaw encrypted: text.txt"])

    def test_compiled_help(self):
        """Free Pascal's chmcmd has packed the text, in blocks that have codes; around it is less than that writes."""
        with open(CHM_SAMPLE, "rb") as file:
            data = file.read()[3:]
        self.files = {"s.txt": b"stored", "a.txt": b"".join(b"line %d of a text\n" % number for number in range(40))}
        self.expect("chm", data, self.files)

    def test_encrypted_ones_are_named(self):
        data = self.packed("zip", "-q", "-P", "secret", "../e.zip", "text.txt", "small", name="e.zip")
        self.assertEqual(self.unpack("zip", data, 3), ["flaw encrypted: text.txt", "flaw encrypted: small"])
        data = self.packed("7z", "a", "-tzip", "-psecret", "-mem=AES256", "../a.zip", "text.txt", name="a.zip")
        self.assertEqual(self.unpack("zip", data, 3), ["flaw encrypted: text.txt"])
        for options in ((), ("-mhe=on",)):
            data = self.packed("7z", "a", "-psecret", *options, f"../e{len(options)}.7z", "text.txt",
                               name=f"e{len(options)}.7z")
            flaws = self.unpack("7z", data)
            self.assertTrue(flaws and all(line.startswith("flaw encrypted") for line in flaws), flaws)

    def test_large_windows_are_not_taken(self):
        for kind, *command in (("xz", "xz", "--lzma2=dict=128MiB", "-c"),
                               ("zstd", "zstd", "-q", "--ultra", "--long=27", "-c")):
            with self.subTest(kind):
                # Without a size in its head, as a stream of any length.
                data = self.packed(*command, input=self.files["text.txt"])
                flaws = [line for line in self.unpack(kind, data) if line.startswith("flaw ")]
                self.assertEqual(flaws, ["flaw memory: "])

    @unittest.skipIf(harness.IS_SANITIZED, "the sanitizer's shadow is data as well")
    def test_an_archive_that_finds_no_memory_is_not_damaged(self):
        noise = random.Random(2).randbytes(900000)
        with open(os.path.join(self.directory, "in", "noise"), "wb") as file:
            file.write(noise)
        for kind, name, *command in (("lz4", "", "lz4", "-q", "-B7", "-c", "noise"),
                                     ("zstd", "", "zstd", "-q", "-19", "-c", "noise"),
                                     ("7z", "a.7z", "7z", "a", "-m0=BZip2", "../a.7z", "noise")):
            data = self.packed(*command, name=name)
            flaws = set()
            for limit in range(4 << 20, 32 << 20, 1 << 20):
                done = subprocess.run(["prlimit", f"--data={limit}", EVENTS, kind], input=data, capture_output=True,
                                      check=False, timeout=harness.DEADLINE_S)
                # With still less it does not come so far.
                if done.returncode == 0:
                    flaws.update(re.findall(rb"^flaw (\w+)", done.stdout, re.MULTILINE))
            with self.subTest(kind):
                self.assertEqual(flaws, {b"memory"})

    def test_a_large_dictionary_of_lzma_is_missed_where_it_is(self):
        noise = random.Random(1).randbytes(1 << 20)
        far = noise + bytes(65 << 20)  # zeros, as they are packed soon
        for data, flaws in ((far, []), (far + noise[:1000], ["flaw memory: "])):
            packed = self.packed("xz", "--format=lzma", "--lzma1=preset=0,dict=128MiB", "-c", input=data)
            lines = self.unpack("lzma", packed, RATIO=0)
            self.assertEqual([line for line in lines if line.startswith("flaw ")], flaws)


class ClamavsFiles(Unpacks):
    def test_each_container_has_its_program(self):
        if not os.path.isdir(SAMPLES):
            self.skipTest("clamav-testfiles is not installed")
        for kind, name in (("7z", "clam.7z"), ("cpio", "clam.bin-be.cpio"), ("cpio", "clam.bin-le.cpio"),
                           ("cab", "clam.cab"), ("zip", "clam.d64.zip"), ("bzip2", "clam.exe.bz2"), ("cpio", "clam.newc.cpio"),
                           ("cpio", "clam.odc.cpio"), ("zip", "clam.zip"), ("bzip2", "clam.bz2.zip"),
                           ("tar", "clam.tar.gz"), ("arj", "clam.arj")):
            with self.subTest(name):
                with open(os.path.join(SAMPLES, name), "rb") as file:
                    data = file.read()
                if name.endswith("bz2.zip"):
                    data = self.unpack("zip", data, BYTES=1)
                if name.endswith(".gz"):
                    data = self.unpack("gzip", data, BYTES=1)
                for seed in SEEDS:
                    self.assertIn(b"MZ", self.unpack(kind, data, seed, BYTES=1)[:2])


class Bombs(Unpacks):
    def flaws(self, kind, data, **settings):
        lines = self.unpack(kind, data, 0, **settings)
        self.assertEqual(self.unpack(kind, data, 5, **settings), lines)
        return [line for line in lines if line.startswith("flaw")], lines

    def test_each_format_ends_at_the_ratio(self):
        zeros = bytes(64 << 20)
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("z", zeros)
        for kind, data in (("gzip", gzip.compress(zeros)), ("zlib", zlib.compress(zeros)), ("bzip2", bz2.compress(zeros)),
                           ("xz", lzma.compress(zeros)), ("zip", zipped.getvalue())):
            with self.subTest(kind):
                flaws, lines = self.flaws(kind, data)
                self.assertTrue(flaws[0].startswith("flaw ratio"), flaws)
                self.assertLess(int(lines[-1].split()[2]), 4 << 20)
                flaws, lines = self.flaws(kind, data, RATIO=0, TOTAL=1000000)
                self.assertTrue(flaws[0].startswith("flaw total size"), flaws)
                self.assertEqual(int(lines[-1].split()[2]), 1000000)

    def test_many_members(self):
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as archive:
            for number in range(70000):
                archive.writestr(f"m{number}", b"")
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as archive:
            for number in range(20000):
                archive.addfile(tarfile.TarInfo(f"m{number}"))
        for kind, data in (("zip", zipped.getvalue()), ("tar", made.getvalue())):
            flaws, lines = self.flaws(kind, data)
            self.assertEqual(len([line for line in lines if line.startswith("begin")]), 10000)
            self.assertTrue(flaws[-1].startswith("flaw members"), flaws)
            self.assertEqual(self.flaws(kind, data, MEMBERS=1000000)[0], [])

    def test_a_sparse_tar_is_no_free_lunch(self):
        path = os.path.join(self.directory, "in", "sparse")
        with open(path, "wb") as file:
            file.truncate(1 << 40)
        data = self.packed("tar", "--sparse", "-cf", "-", "sparse")
        flaws, _ = self.flaws("tar", data)
        self.assertEqual(flaws, ["flaw ratio: sparse"])

    def test_overlapping_members(self):
        """As Fifield's: each entry of the directory has the same kernel, by headers within one another's data."""
        kernel = zlib.compressobj(9, zlib.DEFLATED, -15)
        plain = bytes(1 << 20)
        stream = kernel.compress(plain) + kernel.flush()
        entries, body, inner = [], b"", plain
        name = b"k"
        body = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, zlib.crc32(inner), len(stream), len(inner), 1, 0) + name + stream
        packed, sizes = stream, [(name, zlib.crc32(inner), len(stream), len(inner))]
        for number in range(20):
            # A stored block that quotes the header before, and then its stream.
            quoted = body[:len(body) - len(packed)]
            packed = b"\0" + struct.pack("<HH", len(quoted), len(quoted) ^ 0xffff) + quoted + packed
            inner = quoted + inner
            name = b"m%d" % number
            body = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, zlib.crc32(inner), len(packed), len(inner),
                               len(name), 0) + name + packed
            sizes.append((name, zlib.crc32(inner), len(packed), len(inner)))
        offset = 0
        for index, (name, crc, packed_size, size) in enumerate(reversed(sizes)):
            entries.append(struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, packed_size, size, len(name), 0, 0,
                                       0, 0, 0, offset) + name)
            offset += 30 + len(name) + (5 if index < len(sizes) - 1 else 0)
        directory = b"".join(entries)
        data = body + directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, len(entries), len(entries), len(directory),
                                               len(body), 0)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.assertEqual(len(archive.infolist()), 21)
        flaws, lines = self.flaws("zip", data, RATIO=0)
        self.assertIn("flaw lying: ", flaws)
        self.assertEqual(len([line for line in lines if line.startswith("begin")]), 1)


if __name__ == "__main__":
    harness.main()
