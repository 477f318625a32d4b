#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Files within winmail.dat and within compound files, beside other readers of these.

What tnef(1) and ytnef(1) take out of a TNEF is among the parts of part_events; each stream that
olefile finds, in documents and in an installer that msibuild has made, is among the members of
unpack_events. Readers that are not installed are left out.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tempfile

import harness
from documents import attachment, attribute, tnef_of
from harness import BUILD, Case

PARTS = os.path.join(BUILD, "tests/integration/part_events")
MEMBERS = os.path.join(BUILD, "tests/integration/unpack_events")
SAMPLES = "/usr/share/clamav-testfiles"
SEEDS = (0, 1, 2, 77)
# What is in each of clamav-testfiles.
CLAM = "aa15bcf478d165efd2065190eb473bcb"


def mail_of(tnef):
    body = base64.encodebytes(tnef)
    return (b"From: a@example.org\nMIME-Version: 1.0\nContent-Type: application/ms-tnef; name=\"winmail.dat\"\n"
            b"Content-Transfer-Encoding: base64\n\n" + body)


def files_below(directory):
    for place, _, names in os.walk(directory):
        for name in sorted(names):
            with open(os.path.join(place, name), "rb") as file:
                yield name, file.read()


def fnv(data):
    number = 0xcbf29ce484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return number


class Events(Case):
    def run_events(self, command, data, **environment):
        done = subprocess.run(command, input=data, capture_output=True, check=False,
                              env=dict(os.environ, **environment), timeout=3 * harness.DEADLINE_S)
        said = done.stderr.decode()
        self.assertEqual(harness.sanitizer_reports(said), [])
        self.assertEqual(done.returncode, 0, said)
        return done.stdout


class Tnef(Events):
    TNEFS = {
        "one": tnef_of(attachment("a.exe", bytes(range(256)) * 40)),
        "several": tnef_of(*(attachment(f"file{number}.bin", bytes([number]) * (1 << number)) for number in range(16))),
        "with a body": tnef_of(attribute(1, 0x8004, 1, b"Subject\0"), attribute(1, 0x800c, 2, b"Dear Tina\0"),
                               attachment("b.txt", b"text\n")),
    }

    def parts(self, tnef, seed=0):
        """[(name, bytes)] of what is coded as tnef."""
        output, parts, at = self.run_events([PARTS, str(seed)], mail_of(tnef)), [], 0
        while at < len(output):
            end = output.index(b"\n", at)
            words = output[at:end].decode().split(" ", 7)
            at = end + 1
            if words[0] == "odd":
                continue
            size = int(words[5])
            if words[3] == "tnef":
                parts.append((words[7], output[at:at + size]))
            at += size + 1
        return parts

    def check_tool(self, *command):
        if shutil.which(command[0]) is None:
            self.skipTest(f"{command[0]} is not installed")
        for name, tnef in self.TNEFS.items():
            with tempfile.TemporaryDirectory() as directory, self.subTest(tnef=name):
                path = os.path.join(directory, "winmail.dat")
                out = os.path.join(directory, "out")
                os.mkdir(out)
                with open(path, "wb") as file:
                    file.write(tnef)
                subprocess.run([*command, out, path], check=False, timeout=harness.DEADLINE_S, cwd=directory,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                theirs = list(files_below(out))
                self.assertTrue(theirs)
                for one in theirs:
                    self.assertIn(one, self.parts(tnef))

    def test_cuts_do_not_matter(self):
        for name, tnef in self.TNEFS.items():
            for seed in SEEDS[1:]:
                with self.subTest(tnef=name, seed=seed):
                    self.assertEqual(self.parts(tnef, seed), self.parts(tnef))

    def test_what_tnef_takes_out_is_ours(self):
        self.check_tool("tnef", "-C")

    def test_what_ytnef_takes_out_is_ours(self):
        self.check_tool("ytnef", "-f")

    def test_that_of_clamav_has_its_file(self):
        path = os.path.join(SAMPLES, "clam.tnef")
        if not os.path.exists(path):
            self.skipTest("no clamav-testfiles")
        with open(path, "rb") as file:
            parts = self.parts(file.read())
        self.assertIn(CLAM, [hashlib.md5(data).hexdigest() for _, data in parts])


class Ole(Events):
    def setUp(self):
        super().setUp()
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def members(self, data, seed=0):
        """{(size, hash)} of what is in it, and the flaws."""
        lines = self.run_events([MEMBERS, "ole", str(seed)], data).decode().splitlines()
        members = {(int(words[2]), int(words[3], 16)) for words in map(str.split, lines) if words[0] == "end"}
        return members, [line for line in lines if line.startswith("flaw")]

    def check_file(self, path):
        try:
            import olefile  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("python3-olefile is not installed")
        with open(path, "rb") as file:
            data = file.read()
        members, flaws = self.members(data)
        self.assertEqual(flaws, [])
        with olefile.OleFileIO(path) as ole:
            for stream in ole.listdir():
                theirs = ole.openstream(stream).read()
                with self.subTest(path=path, stream=stream):
                    self.assertIn((len(theirs), fnv(theirs)), members)
        for seed in SEEDS[1:]:
            self.assertEqual(self.members(data, seed), (members, flaws))

    def test_streams_of_documents_are_those_of_olefile(self):
        if not os.path.isdir(SAMPLES):
            self.skipTest("no clamav-testfiles")
        for name in ("clam.ole.doc", "clam.ppt"):
            self.check_file(os.path.join(SAMPLES, name))

    def test_a_document_of_clamav_has_its_file(self):
        path = os.path.join(SAMPLES, "clam.ole.doc")
        if not os.path.exists(path):
            self.skipTest("no clamav-testfiles")
        with open(path, "rb") as file:
            output = self.run_events([MEMBERS, "ole", "0"], file.read(), BYTES="1")
        self.assertIn(CLAM, {hashlib.md5(output[at:at + 544]).hexdigest() for at in range(len(output) - 543)
                             if output[at:at + 2] == b"MZ"})

    def test_streams_of_an_installer_are_those_of_olefile(self):
        if shutil.which("msibuild") is None:
            self.skipTest("msitools is not installed")
        path = os.path.join(self.directory, "a.msi")

        def build(*words):
            subprocess.run(["msibuild", path, *words], check=True, cwd=self.directory, timeout=harness.DEADLINE_S)

        build("-s", "Title", "Author", ";1033", "{00000000-0000-0000-0000-000000000001}")
        for number, size in enumerate((1, 63, 64, 4095, 4096, 4097, 100000)):
            name = f"stream{number}"
            with open(os.path.join(self.directory, name), "wb") as file:
                file.write(bytes((i * 7 + number) & 0xff for i in range(size)))
            build("-a", name, name)
        self.check_file(path)


if __name__ == "__main__":
    harness.main()
