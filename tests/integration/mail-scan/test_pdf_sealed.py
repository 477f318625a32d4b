#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-scan: PDFs that qpdf has encrypted and that open without a password, in all ways that it knows, beside clamscan.
"""

import base64
import os
import subprocess
import zlib

import documents
import harness
from harness import BUILD, Case

TOOL = os.path.join(BUILD, "integration/mail/mail-scan/mail-scan")
# In halves, so that no file of ours is taken for it.
EICAR = (rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-" + rb"STANDARD-ANTIVIRUS-TEST-FILE!$H+H*")
NAME = "Eicar-Signature"
PIECES = ("1", "7", "65536")

CIPHERS = {
    "rc4-40": ("40",),
    "rc4-128": ("128", "--use-aes=n"),
    "rc4-v4": ("128", "--force-V4"),
    "aes-128": ("128", "--use-aes=y"),
    "plain-metadata": ("128", "--use-aes=y", "--cleartext-metadata"),
    "aes-256": ("256",),
    "aes-256-r5": ("256", "--force-R5"),
}
LAYOUTS = {
    "as-is": ("--stream-data=preserve",),
    "linear": ("--linearize",),
    "objects": ("--object-streams=generate",),
}
CONTENTS = {
    "stored": (documents.pdf_with(b"", b"a file: " + EICAR, b"app.alert"), "stream"),
    "packed": (documents.pdf_with(b"/Filter /FlateDecode", zlib.compress(b"a file: " + EICAR), b"app.alert"), "stream"),
    "script": (documents.pdf_with(b"", b"a file", b"app.alert; " + EICAR), "script"),
}
SEEMING = 704  # bytes that seem to be plain: whole blocks, and more than are looked at
BEGINS = {
    "text": (b"", b"a text " * 200),
    "deflate": (b"/Filter /FlateDecode ", zlib.compress(bytes(range(256)) + b"".join(b"%d," % (n * n) for n in range(900)))),
    "picture": (b"/Subtype /Image /Filter /DCTDecode ", b"\xff\xd8\xff\xe0" + bytes(SEEMING)),
}


class Sealed(Case):
    def setUp(self):
        super().setUp()
        self.qpdf = harness.peer("qpdf")
        self.database = self.path("own.signatures")
        self.lists = self.write("own.ndb", f"{NAME}:0:*:{EICAR.hex()}\n".encode())
        self.run_tool("compile", "-o", self.database, self.lists)

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def run_tool(self, *arguments):
        done = subprocess.run([TOOL, *arguments], capture_output=True, check=False, timeout=5 * harness.DEADLINE_S)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode(errors="replace")), [])
        return done.stdout.decode(errors="replace").splitlines()

    def scan(self, path, *options):
        prefix = f"{path}: "
        lines = self.run_tool("-d", self.database, "--no-summary", *options, path)
        for line in lines:
            self.assertTrue(line.startswith(prefix), line)
        return [line[len(prefix):] for line in lines]

    def encrypt(self, path, name, cipher, layout=(), password=""):
        """Weak ciphers are among them, and of some files a warning tells so."""
        sealed = self.path(name)
        done = subprocess.run([self.qpdf, "--allow-weak-crypto", *layout, "--encrypt", password, "owner", *cipher, "--",
                               path, sealed], capture_output=True, check=False, timeout=harness.DEADLINE_S)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        return sealed

    def found_by_clamscan(self, *paths):
        done = subprocess.run([harness.peer("clamscan"), "--no-summary", "--infected", "-d", self.lists, *paths],
                              capture_output=True, check=False, timeout=10 * harness.DEADLINE_S)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return {line.rpartition(": ")[0] for line in done.stdout.decode().splitlines() if line.endswith(" FOUND")}

    def test_what_clamscan_opens_is_opened(self):
        sealed = []
        for content, (pdf, where) in CONTENTS.items():
            path = self.write(f"{content}.pdf", pdf)
            for cipher, options in CIPHERS.items():
                for layout, more in LAYOUTS.items():
                    with self.subTest(content=content, cipher=cipher, layout=layout):
                        name = self.encrypt(path, f"{content}-{cipher}-{layout}.pdf", options, more)
                        sealed.append(name)
                        with open(name, "rb") as file:
                            self.assertNotIn(EICAR, file.read())
                        lines = self.scan(name)
                        self.assertEqual(len(lines), 1, lines)
                        self.assertTrue(lines[0].startswith(f"{where} ") and lines[0].endswith(f": {NAME} FOUND"), lines)
                        for piece in PIECES:
                            self.assertEqual(self.scan(name, "--piece", piece), lines, piece)
        # It finds less: nothing in strings, and in files that are not compressed not all.
        found = self.found_by_clamscan(*sealed)
        self.assertGreaterEqual(len(found), 20)
        self.assertEqual(found - set(sealed), set())

    def test_what_ends_like_a_line_is_opened_whole(self):
        """qpdf ends no line behind a stream, whose last byte may look as if it did. Nothing here is by chance."""
        ends = set()
        for count in range(4000):
            pdf = documents.pdf_with(b"", f"file {count}: ".encode() + EICAR, b"app.alert")
            sealed = self.encrypt(self.write("stored.pdf", pdf), "sealed.pdf", CIPHERS["aes-128"],
                                  ("--static-id", "--static-aes-iv"))
            with open(sealed, "rb") as file:
                found = {part[-1:] for part in file.read().split(b"endstream")[:-1]} & {b"\r", b"\n"}
            if found - ends:
                ends |= found
                lines = self.scan(sealed)
                self.assertTrue(lines[0].endswith(f": {NAME} FOUND"), lines)
            if len(ends) == 2:
                break
        self.assertEqual(ends, {b"\r", b"\n"})

    def test_what_needs_a_password_is_said_to(self):
        path = self.write("packed.pdf", CONTENTS["packed"][0])
        for cipher, options in CIPHERS.items():
            with self.subTest(cipher=cipher):
                sealed = self.encrypt(path, f"{cipher}.pdf", options, password="user")
                self.assertEqual(self.scan(sealed, "--notes"), ["encrypted", "OK"])

    def test_what_is_encrypted_into_plain_bytes_is_said_to_be(self):
        """Their plain text is noise: behind that stands what the sender wants, which readers find."""
        for begin, (dictionary, seeming) in BEGINS.items():
            path = self.write("spaces.pdf", documents.pdf_with(b"", bytes(SEEMING + 64) + EICAR, b"app.alert"))
            for cipher, options in CIPHERS.items():
                with self.subTest(begin=begin, cipher=cipher):
                    sealed = self.encrypt(path, "sealed.pdf", options, LAYOUTS["as-is"])
                    with open(sealed, "rb") as file:
                        content = file.read()
                    at = content.index(b"stream\n", content.index(b"/EmbeddedFile ")) + len(b"stream\n")
                    made = content[:at] + seeming[:SEEMING] + content[at + SEEMING:]
                    self.write("made.pdf", made)
                    opened = subprocess.run([self.qpdf, "--decrypt", "--stream-data=preserve", self.path("made.pdf"), "-"],
                                            capture_output=True, check=False, timeout=harness.DEADLINE_S).stdout
                    self.assertIn(EICAR, opened)
                    said = made[:at].replace(b"/Type /EmbeddedFile ", dictionary)
                    self.write("made.pdf", said + made[at:])
                    self.assertEqual(self.scan(self.path("made.pdf"), "--notes"), ["encrypted", "OK"])

    def test_of_what_is_opened_none_is_said_to_be_encrypted(self):
        stream = documents.pdf_stream
        path = self.write("page.pdf", documents.pdf_of_objects(
            b"<< /Type /Catalog /Pages 2 0 R /Metadata 5 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents [4 0 R 7 0 R 8 0 R]"
            b" /Resources << /XObject << /I 6 0 R >> >> >>",
            stream(b"", b"q"),
            stream(b"/Type /Metadata /Subtype /XML", b"<?xpacket begin=\"\"?>" + b"<x>" * 300),
            stream(b"/Type /XObject /Subtype /Image /Width 9 /Height 9 /ColorSpace /DeviceGray /BitsPerComponent 8"
                   b" /Filter /DCTDecode", b"\xff\xd8\xff\xe0" + bytes(range(256)) * 9 + EICAR),
            stream(b"/Filter /FlateDecode", zlib.compress(b"")),
            stream(b"/Filter /FlateDecode", zlib.compress(b"BT (a text) Tj ET\n" * 9))))
        for cipher, options in CIPHERS.items():
            for layout, more in LAYOUTS.items():
                with self.subTest(cipher=cipher, layout=layout):
                    lines = self.scan(self.encrypt(path, "sealed.pdf", options, more), "--notes")
                    self.assertEqual(len(lines), 1, lines)
                    self.assertTrue(lines[0].endswith(f": {NAME} FOUND"), lines)

    def test_in_a_mail_and_in_archives(self):
        path = self.write("packed.pdf", CONTENTS["packed"][0])
        sealed = self.encrypt(path, "sealed.pdf", CIPHERS["aes-256"], LAYOUTS["objects"])
        with open(sealed, "rb") as file:
            content = file.read()
        subprocess.run([harness.peer("7z"), "a", self.path("a.7z"), sealed], check=True, capture_output=True,
                       timeout=harness.DEADLINE_S)
        mail = self.write("a.eml", b"From: a@client.example\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf\r\n"
                          b"Content-Transfer-Encoding: base64\r\n\r\n" + base64.encodebytes(content))
        packed = self.write("a.z", zlib.compress(content))
        for path, options, where in ((self.path("a.7z"), (), "sealed.pdf / "), (packed, (), "zlib / "),
                                     (mail, ("--mail",), "part 1 / ")):
            with self.subTest(path=path):
                found = self.scan(path, *options)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(where) and found[0].endswith(f": {NAME} FOUND"), found)

    def test_what_only_says_so_is_read_as_it_is(self):
        for content, (pdf, where) in CONTENTS.items():
            with self.subTest(content=content):
                path = self.write(f"{content}.pdf", pdf.replace(b"trailer\n<<", b"trailer\n<< /Encrypt 9 0 R"))
                lines = self.scan(path, "--notes")
                self.assertTrue(any(line.startswith(f"{where} 1: {NAME}") for line in lines), lines)
                self.assertIn("encrypted", lines)


if __name__ == "__main__":
    harness.main()
