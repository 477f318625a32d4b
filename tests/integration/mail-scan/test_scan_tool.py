#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-scan: the test file of EICAR in every encoding of mails and in every container, cut into pieces
of any size; bombs; what ClamAV finds in Debian's clamav-testfiles with the same database; a decoder
process that is killed.

Containers are made by Debian's programs; one that is not installed is left out, but for those that
Python makes.
"""

import base64
import binascii
import bz2
import fcntl
import gzip
import io
import lzma
import os
import quopri
import shutil
import signal
import struct
import subprocess
import tarfile
import termios
import unittest
import zipfile
import zlib

import harness
from harness import BUILD, Case, wait_for

TOOL = os.path.join(BUILD, "integration/mail/mail-scan/mail-scan")
TESTFILES = "/usr/share/clamav-testfiles"
# In halves, so that no file of ours is taken for it.
EICAR = (rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-" + rb"STANDARD-ANTIVIRUS-TEST-FILE!$H+H*")
NAME = "Eicar-Signature"
PIECES = (1, 2, 3, 5, 64, 1000, 4096, 65536)
# ClamAV's own signature of the program in its test files.
CLAM = "aa15bcf478d165efd2065190eb473bcb:544:ClamAV-Test-File"


def zipped(name, content, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(name, content, method)
    return out.getvalue()


def tarred(name, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


class Tool(Case):
    def setUp(self):
        super().setUp()
        self.database = self.path("own.signatures")
        # In any file, and by its hash.
        self.write("own.ndb", f"{NAME}:0:*:{EICAR.hex()}\n".encode())
        self.write("own.hdb", CLAM.encode() + b"\n")
        self.compile(self.database, self.path("own.ndb"), self.path("own.hdb"))

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def run_tool(self, *arguments, content=None, status=None):
        done = subprocess.run([TOOL, *arguments], input=content, capture_output=True, check=False,
                              timeout=5 * harness.DEADLINE_S)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode(errors="replace")), [])
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def compile(self, *arguments, status=0):
        return self.run_tool("compile", "-o", *arguments, status=status)

    def scan(self, *arguments, content=None, status=None):
        done = self.run_tool("-d", self.database, "--no-summary", *arguments, content=content,
                             status=status)
        return done.stdout.decode(errors="replace").splitlines()

    def check_found(self, path, *where, options=()):
        """EICAR at where, however the file is cut."""
        expected = f"{path}: {where[0] + ': ' if where else ''}{NAME} FOUND"
        for piece in PIECES:
            lines = self.scan("-i", "--piece", str(piece), *options, path, status=1)
            self.assertIn(expected, lines, f"piece={piece}")


def mail_of(part, coding, name="a.com", kind="application/octet-stream"):
    return (b"From: a@client.example\r\nTo: b@example.com\r\nSubject: test\r\nMIME-Version: 1.0\r\n"
            b"Content-Type: multipart/mixed; boundary=\"next\"\r\n\r\nnot shown\r\n"
            b"--next\r\nContent-Type: text/plain\r\n\r\nhello\r\n"
            b"--next\r\nContent-Type: " + kind.encode() + b"\r\nContent-Transfer-Encoding: "
            + coding.encode() + b"\r\nContent-Disposition: attachment; filename=" + name.encode()
            + b"\r\n\r\n" + part + b"\r\n--next--\r\n")


class Encodings(Tool):
    def check_mail(self, mail, where):
        self.check_found(self.write("mail.eml", mail), where, options=("--mail",))

    def test_as_it_is(self):
        self.check_found(self.write("a.com", EICAR))
        self.check_mail(mail_of(EICAR, "7bit"), "part 2 / a.com")
        self.check_mail(b"Subject: x\r\n\r\n" + EICAR + b"\r\n", "part 1")

    def test_base64(self):
        encoded = base64.encodebytes(b"before " * 40 + EICAR).replace(b"\n", b"\r\n")
        self.check_mail(mail_of(encoded, "base64"), "part 2 / a.com")
        # One line, and lines with spaces that readers skip.
        self.check_mail(mail_of(base64.b64encode(EICAR), "BASE64"), "part 2 / a.com")
        spaced = b" ".join(base64.b64encode(EICAR)[i:i + 1] for i in range(92))
        self.check_mail(mail_of(spaced, "base64"), "part 2 / a.com")

    def test_quoted_printable(self):
        self.check_mail(mail_of(quopri.encodestring(EICAR), "quoted-printable"), "part 2 / a.com")
        every = b"=\r\n".join(b"=%02X" % byte for byte in EICAR)
        self.check_mail(mail_of(every, "quoted-printable"), "part 2 / a.com")

    def test_uuencode(self):
        lines = [binascii.b2a_uu(EICAR[i:i + 45]) for i in range(0, len(EICAR), 45)]
        text = b"begin 644 a.com\n" + b"".join(lines) + b"`\nend\n"
        self.check_mail(b"Subject: x\n\nhello\n" + text, "part 1 / a.com")

    def test_yenc(self):
        body = bytes((byte + 42) % 256 for byte in EICAR)
        for special in b"=\0\r\n":
            body = body.replace(bytes([special]), b"=" + bytes([(special + 64) % 256]))
        text = (b"=ybegin line=256 size=%d name=a.com\r\n" % len(EICAR) + body
                + b"\r\n=yend size=%d crc32=%08x\r\n" % (len(EICAR), zlib.crc32(EICAR)))
        self.check_mail(b"Subject: x\r\n\r\nhello\r\n" + text, "part 1 / a.com")

    def test_binhex(self):
        table = b"!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr"
        header = b"\x05a.com\0TEXTTEST\0\0" + len(EICAR).to_bytes(4, "big") + b"\0\0\0\0"
        plain = (header + binascii.crc_hqx(header, 0).to_bytes(2, "big") + EICAR
                 + binascii.crc_hqx(EICAR, 0).to_bytes(2, "big") + b"\0\0")
        plain = plain.replace(b"\x90", b"\x90\0")
        bits = int.from_bytes(plain, "big") << (-len(plain) * 8 % 6)
        count = (len(plain) * 8 + 5) // 6
        digits = bytes(table[bits >> 6 * (count - 1 - i) & 63] for i in range(count))
        text = b"(This file must be converted with BinHex 4.0)\n\n:" + digits + b":\n"
        lines = self.scan("-i", self.write("mail.eml", b"Subject: x\n\n" + text), status=1)
        self.assertTrue(any("a.com" in line and NAME in line for line in lines), lines)

    def test_a_mail_in_a_mail(self):
        inner = mail_of(base64.b64encode(EICAR), "base64")
        self.check_mail(mail_of(inner, "7bit", "m.eml", "message/rfc822"), "part 2.2 / a.com")
        self.check_mail(mail_of(base64.encodebytes(inner), "base64", "m.eml"),
                        "part 2 / m.eml / part 2 / a.com")

    def test_two_readings(self):
        # One of two types is right, and nobody knows which one a client takes.
        for first, second in ((b"text/plain", b"multipart/mixed; boundary=next"),
                              (b"multipart/mixed; boundary=next", b"text/plain")):
            mail = (b"From: a@client.example\r\nContent-Type: " + first + b"\r\nContent-Type: "
                    + second + b"\r\n\r\n--next\r\nContent-Transfer-Encoding: base64\r\n\r\n"
                    + base64.b64encode(EICAR) + b"\r\n--next--\r\n")
            path = self.write("mail.eml", mail)
            lines = self.scan("-i", path, status=1)
            self.assertTrue(any(NAME in line for line in lines), lines)
            self.assertIn("ambiguous", "".join(self.scan("-n", path)))


# name, what makes it of FILE in the directory where it is called, the member's path.
MADE = (
    ("a.7z", ["7z", "a", "a.7z", "FILE"], "FILE"),
    ("a.cab", ["lcab", "-q", "FILE", "a.cab"], "FILE"),
    ("a.cpio", ["sh", "-c", "echo FILE | cpio -o --quiet > a.cpio"], "FILE"),
    ("b.cpio", ["sh", "-c", "echo FILE | cpio -o --quiet -H newc > b.cpio"], "FILE"),
    ("a.ar", ["ar", "q", "a.ar", "FILE"], "FILE"),
    ("a.iso", ["genisoimage", "-quiet", "-o", "a.iso", "FILE"], "FILE"),
    ("a.zst", ["zstd", "-q", "-o", "a.zst", "FILE"], "zstd"),
    ("a.lz4", ["lz4", "-q", "FILE", "a.lz4"], "lz4"),
    ("a.lz", ["lzip", "-q", "-k", "-o", "a.lz", "FILE"], "lzip"),
    ("a.tar.Z", ["sh", "-c", "tar cf t.tar FILE && compress -c t.tar > a.tar.Z"],
     "compress / FILE"),
)


class Containers(Tool):
    def test_those_of_python(self):
        wrapped = tarred("e.com", EICAR)
        files = {
            "a.zip": (zipped("e.com", EICAR), "e.com"),
            "stored.zip": (zipped("e.com", EICAR, zipfile.ZIP_STORED), "e.com"),
            "bzip2.zip": (zipped("e.com", EICAR, zipfile.ZIP_BZIP2), "e.com / bzip2"),
            "a.gz": (gzip.compress(EICAR), "gzip"),
            "a.bz2": (bz2.compress(EICAR), "bzip2"),
            "a.xz": (lzma.compress(EICAR), "xz"),
            "a.lzma": (lzma.compress(EICAR, lzma.FORMAT_ALONE), "lzma"),
            "a.tar": (wrapped, "e.com"),
            "a.tgz": (gzip.compress(wrapped), "gzip / e.com"),
            "a.tar.bz2": (bz2.compress(wrapped), "bzip2 / e.com"),
            "a.tar.xz": (lzma.compress(wrapped), "xz / e.com"),
            "zip.zip": (zipped("a.zip", zipped("e.com", EICAR)), "a.zip / e.com"),
        }
        for name, (content, where) in files.items():
            with self.subTest(name=name):
                self.check_found(self.write(name, content), where)

    def test_those_of_programs(self):
        self.write("FILE", EICAR)
        for name, command, where in MADE:
            if shutil.which(command[0]) is None:
                continue
            with self.subTest(name=name):
                made = subprocess.run(command, cwd=self.directory, capture_output=True, check=False)
                if made.returncode != 0 and command[0] == "sh":
                    continue
                self.assertEqual(made.returncode, 0, made.stderr)
                self.check_found(self.path(name), where)

    def test_all_in_a_mail(self):
        inside = zipped("b.tar.xz", lzma.compress(tarred("e.com", EICAR)))
        mail = mail_of(base64.encodebytes(inside), "base64", "a.zip")
        self.check_found(self.write("mail.eml", mail),
                         "part 2 / a.zip / b.tar.xz / xz / e.com")


class Bombs(Tool):
    def check_bomb(self, name, content, what):
        lines = self.scan("-i", self.write(name, content), status=1)
        self.assertTrue(any(line.endswith(f"bomb: {what} FOUND") for line in lines), lines)

    def test_of_each_limit(self):
        self.check_bomb("ratio.gz", gzip.compress(bytes(8 << 20)), "ratio")
        self.check_bomb("ratio.xz", lzma.compress(bytes(8 << 20)), "ratio")
        self.check_bomb("ratio.bz2", bz2.compress(bytes(8 << 20)), "ratio")
        lines = self.scan("--limit-total", "1000000",
                          self.write("total.gz", gzip.compress(os.urandom(2000000))), status=1)
        self.assertIn("total size FOUND", "".join(lines))

    @unittest.skipIf(harness.IS_SANITIZED, "the sanitizer's shadow is data as well")
    def test_windows_that_are_open_at_a_time(self):
        # Each is permitted, and two fit into the memory of a mail's decoder.
        window = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 64 << 20}]
        content = EICAR
        for count in (1, 2, 3):
            content = lzma.compress(content, filters=window)
            if count < 3:
                self.assertIn(f"{NAME} FOUND", "".join(self.scan("-i", self.write("windows", content), status=1)))
        self.check_bomb("windows", content, "memory")

    def test_nested_100_deep(self):
        for wrap in (gzip.compress, bz2.compress, lambda content: zipped("a", content)):
            content = EICAR
            for _ in range(100):
                content = wrap(content)
            self.check_bomb("deep", content, "depth")
        mail = mail_of(EICAR, "7bit")
        for _ in range(100):
            mail = mail_of(mail, "7bit", "m.eml", "message/rfc822")
        self.check_bomb("deep.eml", mail, "depth")

    def test_mixed(self):
        # Every second level goes to the decoder process, and the limits go with it.
        content = bytes(4 << 20)
        for wrap in (gzip.compress, bz2.compress, lambda inner: zipped("a", inner), lzma.compress):
            content = wrap(content)
        lines = self.scan("-i", self.write("mixed", content), status=1)
        self.assertTrue(any("bomb: " in line for line in lines), lines)

    def test_a_hundred_thousand_members(self):
        lines = self.scan("-i", self.write("many.tar", tarfile.TarInfo("a").tobuf() * 100000), status=1)
        self.assertIn("bomb: members FOUND", "".join(lines))

    def test_time(self):
        content = lzma.compress(os.urandom(1 << 20) * 20, preset=1)  # the lowest that looks back so far
        path = self.write("slow.xz", content)
        lines = self.scan("--limit-cpu", "1", "--limit-ratio", "1000000", path, status=1)
        self.assertIn("bomb: time FOUND", "".join(lines))


class Itself(Tool):
    def test_statuses_and_lines(self):
        clean = self.write("clean", b"nothing\n")
        bad = self.write("bad", EICAR)
        self.assertEqual(self.scan(clean, status=0), [f"{clean}: OK"])
        self.assertEqual(self.scan("-i", clean, status=0), [])
        self.assertEqual(self.scan(clean, bad, status=1), [f"{clean}: OK", f"{bad}: {NAME} FOUND"])
        self.assertEqual(self.scan("-q", bad, status=1), [])
        self.assertEqual(self.scan(content=EICAR, status=1), [f"stdin: {NAME} FOUND"])
        self.assertEqual(self.scan("-", content=b"", status=0), ["stdin: OK"])
        closed = subprocess.run([TOOL, "-d", self.database, "--no-summary"], capture_output=True, check=False,
                                preexec_fn=lambda: os.close(0), timeout=5 * harness.DEADLINE_S)
        self.assertEqual((closed.returncode, closed.stdout), (2, b""))
        self.assertIn(b"stdin", closed.stderr)
        self.scan(self.path("absent"), status=2)
        done = self.run_tool("-d", self.path("absent"), clean, status=2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.run_tool("--piece", "0", clean, status=64)

    def test_directories(self):
        self.write("d/a", EICAR)
        self.write("d/e/b", EICAR)
        directory = self.path("d")
        self.assertEqual(len(self.scan(directory, status=1)), 1)
        self.assertEqual(len(self.scan("-r", directory, status=1)), 2)

    def test_a_database_that_is_none(self):
        path = self.write("broken", b"not a database\n")
        done = self.run_tool("info", path, status=65)
        self.assertIn(path.encode(), done.stderr)
        with open(self.database, "rb") as file:
            whole = file.read()
        self.run_tool("info", self.write("cut", whole[:len(whole) // 2]), status=65)
        done = self.run_tool("info", self.database, status=0)
        self.assertIn(b"signatures: 2", done.stdout)

    def test_wrong_lines(self):
        path = self.write("wrong.ndb", b"no signature\nTest.Good:0:*:" + b"goodgood".hex().encode()
                          + b"\n")
        done = self.compile(self.path("some"), path)
        self.assertIn(b"wrong.ndb:1:", done.stderr)
        self.assertIn(b"wrong lines: 1", done.stdout)
        # What was there before stays.
        with open(self.path("some"), "rb") as file:
            before = file.read()
        self.compile(self.path("some"), "--strict", path, status=65)
        with open(self.path("some"), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_a_list_that_is_not_read_has_one_line(self):
        for path, why in ((self.path("none.ndb"), "No such file or directory"),
                          (self.write("README", b""), "its name ends in no format that is known")):
            done = self.compile(self.path("some"), path, status=66)
            self.assertEqual(done.stderr.decode(), f"mail-scan compile: {path}: {why}\n")

    def test_a_database_that_is_not_written(self):
        path = self.write("good.ndb", b"Test.Good:0:*:" + b"goodgood".hex().encode() + b"\n")
        output = self.path("none/some")
        done = self.compile(output, path, status=73)
        self.assertEqual(done.stderr.decode(), f"mail-scan compile: {output}: No such file or directory\n")

    def test_a_decoder_that_is_killed(self):
        # The tool reads a pipe that ends only when the process has been killed.
        tar = tarred("e.com", bytes(1 << 20))
        with subprocess.Popen([TOOL, "-d", self.database, "-n", "--no-summary"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tool:
            tool.stdin.write(tar[:1 << 20])
            tool.stdin.flush()
            decoders = wait_for(lambda: children_of(children_of([tool.pid])), "a decoder process")
            for pid in decoders:
                os.kill(pid, signal.SIGKILL)
            out, _ = tool.communicate(tar[1 << 20:], timeout=harness.DEADLINE_S)
        self.assertIn(b"stdin: decoder: signal=9", out)

    def test_a_template_that_is_killed(self):
        tar = tarred("e.com", bytes(1 << 20))
        with subprocess.Popen([TOOL, "-d", self.database, "--no-summary", "-",
                               self.write("b.tar", tarred("e.com", EICAR))],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as tool:
            # It has begun the file, and does not know yet what it is.
            tool.stdin.write(tar[:100])
            tool.stdin.flush()
            wait_for(lambda: unread_of(tool.stdin) == 0, "the first bytes to be read")
            for pid in children_of([tool.pid]):
                os.kill(pid, signal.SIGKILL)
            out, _ = tool.communicate(tar[100:], timeout=harness.DEADLINE_S)
            self.assertEqual(tool.returncode, 1)
        lines = out.decode().splitlines()
        self.assertEqual(lines[0], "stdin: busy: no decoders ERROR")
        # A new one has opened the next file.
        self.assertTrue(lines[-1].endswith(f"b.tar: e.com: {NAME} FOUND"), lines)


def unread_of(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def children_of(pids):
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


# What ClamAV finds and we do not, with the reason.
LEFT_TO_CLAMAV = {
    "clam.impl.zip": "implode: said to be unsupported",
    "clam.ea05.exe": "AutoIt's scripts are not opened",
    "clam.ea06.exe": "AutoIt's scripts are not opened",
    "clam.exe.szdd": "compress.exe of MS-DOS is not opened",
    "clam.sis": "Symbian's packages are not opened",
    "clam_IScab_ext.exe": "InstallShield's own archives are not opened",
    "clam_IScab_int.exe": "InstallShield's own archives are not opened",
    "clam_ISmsi_ext.exe": "InstallShield's own archives are not opened",
    "clam_ISmsi_int.exe": "InstallShield's own archives are not opened",
    "clam-aspack.exe": "programs are not unpacked by emulation",
    "clam-fsg.exe": "programs are not unpacked by emulation",
    "clam-mew.exe": "programs are not unpacked by emulation",
    "clam-nsis.exe": "NSIS's own archive is not opened",
    "clam-pespin.exe": "programs are not unpacked by emulation",
    "clam-petite.exe": "programs are not unpacked by emulation",
    "clam-upack.exe": "programs are not unpacked by emulation",
    "clam-upx.exe": "programs are not unpacked by emulation",
    "clam-wwpack.exe": "programs are not unpacked by emulation",
    "clam-yc.exe": "programs are not unpacked by emulation",
    "clam_cache_emax.tgz": "it is more than 8 deep: a bomb for us",
}


@unittest.skipUnless(os.path.isdir(TESTFILES) and shutil.which("clamscan"),
                     "clamav or clamav-testfiles is not installed")
class Testfiles(Tool):
    def test_every_file_that_clamscan_finds(self):
        done = subprocess.run(["clamscan", "--no-summary", "-i", "-d", self.path("own.hdb"),
                               TESTFILES], capture_output=True, check=False,
                              timeout=5 * harness.DEADLINE_S)
        theirs = {os.path.basename(line.split(":")[0])
                  for line in done.stdout.decode().splitlines() if line.endswith(" FOUND")}
        self.assertGreater(len(theirs), 30, done.stdout)
        ours = {os.path.basename(line.split(":")[0]) for line in self.scan("-i", TESTFILES, status=1)
                if line.endswith("ClamAV-Test-File FOUND")}
        missing = theirs - ours
        self.assertEqual(missing - set(LEFT_TO_CLAMAV), set())
        # What we have learned to find is to leave the list.
        self.assertEqual(set(LEFT_TO_CLAMAV) & ours, set())
        self.assertEqual(ours - theirs, set())


if __name__ == "__main__":
    harness.main()
