# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs of Debian take out of odd archives, beside what comes out of lib/unpack."""

import contextlib
import os
import random
import shutil
import subprocess
import tarfile

import harness
from harness import BUILD, Case

EVENTS = os.path.join(BUILD, "tests/integration/unpack_events")
DATA = random.Random(1).randbytes(700)
OTHER = random.Random(2).randbytes(900)


def content_of(path):
    """Without holes: bsdtar makes a file as long as an archive says that it is, of gigabytes."""
    pieces, end = [], 0
    with open(path, "rb") as file, contextlib.suppress(OSError):  # ENXIO: there is no more
        while True:
            begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            pieces.append(os.pread(file.fileno(), end - begin, begin))
    return b"".join(pieces)


def taken_by(*command):
    """The files that a program makes of {archive} in {out}."""
    def take(data, directory):
        path = os.path.join(directory, "odd")
        out = os.path.join(directory, "out")
        os.mkdir(out)
        with open(path, "wb") as file:
            file.write(data)
        subprocess.run([word.format(archive=path, out=out) for word in command], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=harness.DEADLINE_S)
        found = []
        for folder, _, names in os.walk(out):
            for name in names:
                inner = os.path.join(folder, name)
                if os.path.isfile(inner) and not os.path.islink(inner):
                    os.chmod(inner, 0o600)
                    found.append(content_of(inner))
        return found
    return take


class Readers(Case):
    """Of one kind: ARCHIVES by name, READERS, DIFFERENCES of (archive, reader), and what is CLOSED to all."""

    KIND, ARCHIVES, READERS, DIFFERENCES, CLOSED = "", {}, {}, {}, {}

    def unpack(self, data, seed=0, **settings):
        done = subprocess.run([EVENTS, self.KIND, str(seed)], input=data, capture_output=True, check=False,
                              env=dict(os.environ, **settings), timeout=harness.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode()), [])
        return done.stdout

    def check_reader(self, reader):
        if reader != "python" and shutil.which(reader) is None:
            self.skipTest(f"{reader} is not installed")
        for number, (name, data) in enumerate(self.ARCHIVES.items()):
            directory = self.path(f"{reader}-{number}")
            os.mkdir(directory)
            try:
                found = self.READERS[reader](data, directory)
            except (tarfile.TarError, OSError):
                found = []
            is_taken = any(DATA in file for file in found)
            with self.subTest(archive=name):
                is_ours = DATA in self.unpack(data, BYTES="1")
                self.assertTrue(is_ours or not is_taken or (name, reader) in self.DIFFERENCES)
                self.assertFalse(is_ours and (name, reader) in self.DIFFERENCES, "a difference that is none any more")

    def check_all(self):
        """Whatever readers there are."""
        closed = {name for name, _ in self.DIFFERENCES} | set(self.CLOSED)
        self.assertLessEqual(closed, set(self.ARCHIVES))
        for name, data in self.ARCHIVES.items():
            with self.subTest(archive=name):
                self.assertEqual(DATA in self.unpack(data, BYTES="1"), name not in closed)

    def check_cuts(self):
        for name, data in self.ARCHIVES.items():
            with self.subTest(archive=name):
                self.assertEqual(self.unpack(data, seed=3), self.unpack(data))
