#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-scan: the test file of EICAR in documents, as files and in mails, cut into pieces of any size.
"""

import base64
import gzip
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
PIECES = (1, 2, 7, 64, 4096, 65536)

MODULE = b"Attribute VB_Name = \"Module1\"\r\nRem " + EICAR + b"\r\n"
OBJECT = documents.rtf_of(b"Package", documents.package_of(b"a.com", EICAR))
PROPERTIES = documents.attribute(1, 0x9003, 6, documents.properties_of(
    (0x1009, 0x102, documents.outlook_rtf_of(OBJECT))))

# What, and where it is found.
DOCUMENTS = {
    "stream.doc": (documents.ole_of({"A/B": bytes(5000) + EICAR}), "A/B"),
    "small.doc": (documents.ole_of({"small": EICAR}), "small"),
    "behind.doc": (documents.ole_of({"A/B": bytes(5000)}) + zlib.compress(EICAR), "behind / zlib"),
    "native.doc": (documents.ole_of({"ObjectPool/_1/\1Ole10Native": documents.native_of(b"a.com", EICAR)}), "a.com"),
    "macro.doc": (documents.ole_of({"Macros/VBA/Module1": b"compiled" + documents.vba_of(MODULE)}), "vba/Module1"),
    "slides.ppt": (documents.ole_of({"PowerPoint Document": documents.slides_of(EICAR)}), "object / zlib"),
    "object.rtf": (OBJECT, "a.com"),
    "ole.rtf": (documents.rtf_of(b"Equation.3", documents.ole_of({"Equation Native": EICAR})),
                "Equation.3 / Equation Native"),
    "plain.pdf": (documents.pdf_of(b"", EICAR), "stream 1"),
    "flate.pdf": (documents.pdf_of(b"/Filter /FlateDecode", zlib.compress(EICAR)), "stream 1"),
    "hex.pdf": (documents.pdf_of(b"/Filter /AHx", base64.b16encode(EICAR) + b">"), "stream 1"),
    "ascii85.pdf": (documents.pdf_of(b"/Filter [/ASCII85Decode /FlateDecode]",
                                     base64.a85encode(zlib.compress(EICAR)) + b"~>"), "stream 1"),
    "page.html": (b"<html><a href=\"data:;base64," + base64.b64encode(EICAR) + b"\">", "base64"),
    "plain.html": (b"<html><a href='data:text/html," + EICAR.replace(b"%", b"%25") + b"'>", "percent"),
    "word.xml": (b"<?xml version=\"1.0\"?>\r\n<?mso-application progid=\"Word.Document\"?><w:wordDocument><w:binData "
                 b"w:name=\"editdata.mso\">" + base64.encodebytes(documents.mso_of(
                     documents.ole_of({"Macros/VBA/Module1": b"compiled" + documents.vba_of(MODULE)}))) +
                 b"</w:binData></w:wordDocument>", "base64 / mso / vba/Module1"),
    "flat.xml": (b"\xef\xbb\xbf<pkg:package><pkg:part><pkg:binaryData>" + base64.encodebytes(EICAR) +
                 b"</pkg:binaryData></pkg:part></pkg:package>", "base64"),
    "wide.xml": (("\ufeff<w:wordDocument><w:binData>" + base64.b64encode(EICAR).decode() + "</w:binData>" +
                  "<w:p>ä</w:p>" * 400).encode("utf-16-le"), "base64"),
    "event.ics": (b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nATTACH;ENCODING=BASE64;VALUE=BINARY;X-FILENAME=a.com:" +
                  base64.encodebytes(EICAR).replace(b"\n", b"\r\n ") + b"\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n", "base64"),
    "card.vcf": (b"BEGIN:VCARD\r\nVERSION:2.1\r\nPHOTO;ENCODING=BASE64;TYPE=JPEG:\r\n" +
                 base64.encodebytes(EICAR) + b"\r\nEND:VCARD\r\n", "base64"),
    "script.html": (b"<html><script>x = atob(\"" +
                    base64.encodebytes(gzip.compress(EICAR)).strip().replace(b"\n", b"\" +\n\"") + b"\");</script>",
                    "base64 / gzip"),
    "invoice.xml": (b"<?xml version=\"1.0\"?><Invoice><cbc:EmbeddedDocumentBinaryObject mimeCode=\"application/pdf\">" +
                    base64.encodebytes(documents.pdf_of(b"/Filter /FlateDecode", zlib.compress(EICAR))) +
                    b"</cbc:EmbeddedDocumentBinaryObject></Invoice>", "base64 / stream 1"),
    "behind.pdf": (documents.pdf_of(b"/Filter [/FlateDecode /AHx]", zlib.compress(base64.b16encode(EICAR) + b">")),
                   "stream 1"),
    "note.one": (documents.onenote_of(b"<html>", zlib.compress(EICAR)), "file 2 / zlib"),
    "page.mso": (documents.mso_of(documents.ole_of({"Macros/VBA/Module1": b"compiled" + documents.vba_of(MODULE)})),
                 "mso / vba/Module1"),
    # So many that the decoder, which may hardly ask for anything, has something to sort.
    "help.chm": (documents.chm_of([(b"/%d.htm" % number, b"<p>" * 99) for number in range(200)] + [(b"/in.htm", EICAR)]),
                 "in.htm"),
    "stored.chm": (documents.chm_of([(b"/a.htm", b"<html>")], [(b"/b.htm", zlib.compress(EICAR))]), "b.htm / zlib"),
    # As many again.
    "order.cab": (documents.cab_of([b"<p>" * 200 + EICAR], [(0, 600, len(EICAR), b"a.com")] +
                                   [(0, 3 * number, 3, b"%d" % number) for number in range(200)]), "a.com"),
    "winmail.dat": (documents.tnef_of(documents.attachment("a.com", EICAR)), "a.com"),
    "nested.dat": (documents.tnef_of(documents.attachment("in.dat", documents.tnef_of(
        documents.attachment("a.com", EICAR)))), "in.dat / a.com"),
    "body.dat": (documents.tnef_of(PROPERTIES), "body.rtf / lzfu / a.com"),
}


class Documents(Case):
    def setUp(self):
        super().setUp()
        self.database = self.path("own.signatures")
        self.write("own.ndb", f"{NAME}:0:*:{EICAR.hex()}\n".encode())
        self.run_tool("compile", "-o", self.database, self.path("own.ndb"))

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def run_tool(self, *arguments):
        done = subprocess.run([TOOL, *arguments], capture_output=True, check=False, timeout=5 * harness.DEADLINE_S)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode(errors="replace")), [])
        return done.stdout.decode(errors="replace").splitlines()

    def check_found(self, path, where, *options):
        for piece in PIECES:
            lines = self.run_tool("-d", self.database, "--no-summary", "-i", "--piece", str(piece), *options, path)
            self.assertIn(f"{path}: {where}: {NAME} FOUND", lines, f"piece={piece}")

    def test_as_files(self):
        for name, (content, where) in DOCUMENTS.items():
            with self.subTest(document=name):
                self.check_found(self.write(name, content), where)

    def test_in_a_mail(self):
        for name, (content, where) in DOCUMENTS.items():
            mail = (b"From: a@client.example\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\n"
                    b"Content-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=" + name.encode() +
                    b"\r\n\r\n" + base64.encodebytes(content))
            with self.subTest(document=name):
                path = self.write("mail.eml", mail)
                lines = self.run_tool("-d", self.database, "--no-summary", "-i", "--mail", path)
                last = where.rpartition(" / ")[2]
                self.assertTrue(any(line.startswith(f"{path}: part 1 / ") and line.endswith(f"{last}: {NAME} FOUND")
                                    for line in lines), lines)


if __name__ == "__main__":
    harness.main()
