#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
lib/match beside clamscan over the same signatures: real lists (../shared/data/signatures) and one line
for each construct. Each signature has a file made of it (signature_samples.py). What clamscan finds in
it is found by match_files, too, at every size of pieces, but what is left to clamd.

A third of the lists is taken, another one each time; DNSBLV6_SHARE=1 takes all.
"""

import os
import random
import re
import shutil
import subprocess
import tempfile

import harness
import signature_samples as samples
from harness import BUILD, Case

FILES = os.path.join(BUILD, "tests/integration/match_files")
PIECES = (1, 2, 3, 7, 64, 4096, 65536)
SHARE = float(os.environ.get("DNSBLV6_SHARE", 1 / 3))
LISTS = ("rfxn.hdb", "rfxn.ndb", "twinclams.hdb", "twinclams.ldb")
# Attributes that a file alone cannot have.
CONTAINER = re.compile(r"Container:CL_TYPE_(?!ANY)(\w+)")
ZIPPED = ("ZIP", "OOXML_WORD", "OOXML_XL", "OOXML_PPT")


class Oracle(Case):
    def setUp(self):
        super().setUp()
        self.clamscan = harness.peer("clamscan")
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        os.mkdir(self.path("samples"))
        os.mkdir(self.path("lists"))
        self.rng = random.Random(harness.SEED)
        self.files = []  # (path, container or "")

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_files(self, *arguments, text=""):
        done = subprocess.run([FILES, *arguments], input=text.encode(), capture_output=True, check=False,
                              timeout=20 * harness.DEADLINE_S)
        self.assertEqual(harness.sanitizer_reports(done.stderr.decode()), [])
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        return done.stdout.decode("latin-1").splitlines()

    def add_sample(self, data, container=""):
        path = self.path(f"samples/{len(self.files):05d}")
        with open(path, "wb") as file:
            file.write(data)
        self.files.append((path, container))
        return path

    def found_by_us(self, piece):
        """{path: names}"""
        text = "".join(f"{path}\t{container}\n" if container else f"{path}\n"
                       for path, container in self.files)
        found = {}
        for line in self.run_files("scan", self.path("db"), str(piece), text=text):
            path, name, _ = line.split("\t")
            found.setdefault(path, set()).add(name)
        return found

    def found_by_clamscan(self, lists, *paths):
        done = subprocess.run([self.clamscan, "--no-summary", "--allmatch", "--infected", "-r", "-d", lists,
                               *paths], capture_output=True, check=False, timeout=20 * harness.DEADLINE_S)
        self.assertIn(done.returncode, (0, 1), done.stderr[-2000:])
        found = {}
        for line in done.stdout.decode("latin-1").splitlines():
            match = re.fullmatch(r"(.*?): (.*) FOUND", line)
            if match:
                found.setdefault(match[1], set()).add(match[2].removesuffix(".UNOFFICIAL"))
        return found

    def found_at_every_cut(self):
        whole = self.found_by_us(PIECES[-1])
        for piece in PIECES[:-1]:
            other = self.found_by_us(piece)
            differing = [(path, whole.get(path), other.get(path)) for path, _ in self.files
                         if whole.get(path) != other.get(path)]
            self.assertEqual(differing, [], f"pieces of {piece}")
        return whole

    # ---- one line for each construct ----

    def test_constructs(self):
        """Lines, and what each is to be found in and not. Files of 5 bytes and less clamscan leaves out."""
        rows = [
            ("ndb", "A:0:*:414243444546", b"xABCDEF", b"xABCDE"),
            ("ndb", "A:0:3:414243444546", b"xxxABCDEF", b"xxABCDEF"),
            ("ndb", "A:0:1,3:414243444546", b"xxxxABCDEF", b"xxxxxABCDEF"),
            ("ndb", "A:0:EOF-8:414243444546", b"xxABCDEFxx", b"xxABCDEFx"),
            ("ndb", "A:0:EOF-8,2:414243444546", b"xxABCDEFx", b"xxABCDEFxxx"),
            ("ndb", "A:0:*:4142??444546", b"AB\0DEF", b"ABDEF"),
            ("ndb", "A:0:*:41424?444546", b"ABODEF", b"ABPDEF"),
            ("ndb", "A:0:*:4142?3444546", b"ABsDEF", b"ABtDEF"),
            ("ndb", "A:0:*:414243*444546", b"ABCxxDEF", b"DEFxxABC"),
            ("ndb", "A:0:*:414243{3}444546", b"ABCxxxDEF", b"ABCxxDEF"),
            ("ndb", "A:0:*:414243{100}444546", b"ABC" + 100 * b"x" + b"DEF", b"ABC" + 99 * b"x" + b"DEF"),
            ("ndb", "A:0:*:414243{2-4}444546", b"ABCxxxxDEF", b"ABCxxxxxDEF"),
            ("ndb", "A:0:*:414243{40-50}444546", b"ABC" + 45 * b"x" + b"DEF", b"ABC" + 51 * b"x" + b"DEF"),
            ("ndb", "A:0:*:414243{-4}444546", b"ABCDEF", b"ABCxxxxxDEF"),
            ("ndb", "A:0:*:414243{4-}444546", b"ABCxxxxxDEF", b"ABCxxxDEF"),
            ("ndb", "A:0:*:414243(44|45)4647", b"ABCEFG", b"ABCFFG"),
            ("ndb", "A:0:*:414243(44|4545)4647", b"ABCEEFG", b"ABCEFG"),
            ("ndb", "A:0:*:414243!(44|45)4647", b"ABCFFG", b"ABCEFG"),
            ("ndb", "A:0:*:414243!(4445)4647", b"ABCDDFG", b"ABCDEFG"),
            ("ndb", "A:0:*:58[1-3]414243", b"XxxABC", b"xxxXABC"),
            ("ndb", "A:0:*:414243[1-3]58", b"ABCxxX", b"ABCXxx"),
            ("ndb", "A:0:*:(B)414243(B)", b"x ABC x", b"xABCx"),
            ("ndb", "A:0:*:(L)414243(L)", b"x\nABC\r\nx", b"x\nABC\rx"),
            ("ndb", "A:0:*:(W)414243(W)", b"xx_ABC_xx", b"xxxABCxxx"),
            ("ndb", "A:0:*:!(W)414243", b"xxxxABC", b"xxx.ABC"),
            ("ldb", "A;Target:0;(0&1);414243;444546", b"DEF ABC", b"xxxxABC"),
            ("ldb", "A;Target:0;(0|1);414243;444546", b"xxxDEF", b"xxxDE."),
            ("ldb", "A;Target:0;(0>2);414243", b"ABC ABC ABC", b"ABC ABC"),
            ("ldb", "A;Target:0;(0=2);414243", b"ABC ABC", b"ABC ABC ABC"),
            ("ldb", "A;Target:0;(0<2)&1;414243;444546", b"ABC DEF", b"ABC ABC DEF"),
            ("ldb", "A;Target:0;0&1=0;414243;444546", b"xxxxABC", b"ABC DEF"),
            ("ldb", "A;Target:0;((0|1)>2,2);414243;444546", b"ABC ABC DEF", b"ABC ABC ABC"),
            ("ldb", "A;Target:0;0&1|2;414243;444546;474849", b"ABC GHI", b"GHIGHI"),
            ("ldb", "A;Target:0;(0|1&2);414243;444546;474849", b"ABC GHI", b"ABCABC"),
            ("ldb", "A;Target:0;(0&1|2)>1;414243;444546;474849", b"GHI GHI", b"ABC GHI"),
            ("ldb", "A;Target:0;0;414243::i", b"xxxaBc", b"xxxaBd"),
            ("ldb", "A;Target:0;0;414243::w", b"A\0B\0C\0", b"ABCABC"),
            ("ldb", "A;Target:0;0;414243::wa", b"xxxABC", b"xxxAB\0C"),
            ("ldb", "A;Target:0;0;414243::f", b"x ABC x", b"x ABCx"),
            ("ldb", "A;Target:0;0;4:414243::i", b"xxxxabc", b"xxxabc"),
            ("ldb", "A;Engine:81-255,FileSize:7-8,Target:0;0;414243", b"ABCxxxx", b"ABCxxx"),
            ("ldb", "A;Engine:81-255,Target:0;0&1;414243;0/d.f/i", b"D-F ABC", b"D-G ABC"),
            ("ldb", "A;Engine:81-255,Target:0;1;414243;0/d.f/i", b"D-F ABC", b"D-F xxx"),
        ]
        # Each has a list of its own: clamscan 1.4.6 crashes over some of them together.
        for number, (ending, line, inside, outside) in enumerate(rows):
            path = self.path(f"lists/T{number}.{ending}")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"T{number}{line[1:]}\n")
            rows[number] = (path, self.add_sample(inside), self.add_sample(outside))
        said = self.run_files("compile", self.path("db"), *[path for path, _, _ in rows])
        self.assertEqual(len(said), 2, said)  # all of both formats are in it
        ours = self.found_at_every_cut()
        for path, inside, outside in rows:
            name = os.path.splitext(os.path.basename(path))[0]
            theirs = self.found_by_clamscan(path, inside, outside)
            for found, finder in ((ours, "match_files"), (theirs, "clamscan")):
                with self.subTest(finder, line=path):
                    self.assertEqual((name in found.get(inside, ()), name in found.get(outside, ())),
                                     (True, False))

    # ---- real lists ----

    def copy_share(self, name):
        with open(harness.data_file(os.path.join("signatures", name)), "rb") as whole, \
             open(self.path("lists/" + name), "wb") as share:
            share.writelines(line for line in whole if self.rng.random() < SHARE)

    def add_lists(self):
        """[(name, path of its sample or None)] of all signatures of the lists with bytes."""
        wanted = []
        with open(self.path("lists/rfxn.ndb"), encoding="latin-1") as file:
            for line in file:
                name, _, _, body = line.strip().split(":")
                before, made = samples.of_body(body, self.rng)
                wanted.append((name, self.add_sample(before + made)))
        with open(self.path("lists/twinclams.ldb"), encoding="latin-1") as file:
            for line in file:
                if line[0] in "#\n":
                    continue
                try:
                    name, attributes, sample = samples.of_logical(line.rstrip("\r\n"), self.rng)
                except (ValueError, IndexError, KeyError):
                    continue
                container = CONTAINER.search(attributes)
                if container is None:
                    wanted.append((name, self.add_sample(sample)))
                elif container[1] in ZIPPED:
                    wanted.append((name, self.add_sample(sample, "zip")))
        return wanted

    def test_real_lists(self):
        for name in LISTS:
            self.copy_share(name)
        said = self.run_files("compile", self.path("db"), *[self.path("lists/" + name) for name in LISTS])
        wanted = self.add_lists()
        ours = self.found_at_every_cut()
        theirs = self.found_by_clamscan(self.path("lists"), self.path("samples"))
        missed = [(name, path) for name, path in wanted
                  if name in theirs.get(path, ()) and name not in ours.get(path, ())]
        alone = [(name, path) for name, path in wanted if name in ours.get(path, ())
                 and name not in theirs.get(path, ()) and (path, "") in self.files]
        both = sum(name in ours.get(path, ()) and name in theirs.get(path, ()) for name, path in wanted)
        print("\n".join(said))
        print(f"{len(wanted)} samples, {both} found by both, {len(missed)} by clamscan alone,"
              f" {len(alone)} by lib/match alone")
        self.keep_for_a_look(missed, alone)
        self.assertGreater(both, 2500 * SHARE)
        # clamscan has a second look at text as it rewrites it, also for signatures of any target.
        self.assertLessEqual(self.count_of_streams({name for name, _ in missed}), 5, missed)

    def count_of_streams(self, names):
        """How many of these signatures are not left to clamd."""
        with open(self.path("lists/twinclams.ldb"), encoding="latin-1") as file:
            lines = [line for line in file if line.split(";")[0] in names]
        with open(self.path("lists/rfxn.ndb"), encoding="latin-1") as file:
            bodies = [line for line in file if line.split(":")[0] in names]
        for name, text in (("missed.ldb", lines), ("missed.ndb", bodies)):
            with open(self.path(name), "w", encoding="latin-1") as file:
                file.writelines(text)
        said = self.run_files("compile", self.path("db"), self.path("missed.ldb"), self.path("missed.ndb"))
        return sum(int(line.split("\t")[1]) for line in said if line.endswith("found as bytes flow by"))

    def keep_for_a_look(self, missed, alone):
        directory = os.environ.get("MATCH_KEEP")
        if not directory:
            return
        for kind, rows in (("missed", missed), ("alone", alone)):
            with open(os.path.join(directory, kind), "w", encoding="latin-1") as file:
                for name, path in rows:
                    shutil.copy(path, directory)
                    file.write(f"{name}\t{os.path.basename(path)}\n")


if __name__ == "__main__":
    harness.main()
