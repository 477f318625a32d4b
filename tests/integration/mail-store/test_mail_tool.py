#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-store beside its manual, and what it says and ends with when something is wrong.
"""

import os
import re
import subprocess

import harness
from harness import EX_DATAERR, EX_TEMPFAIL, EX_USAGE, SOURCE, program, sanitizer_reports

MANUAL = os.path.join(SOURCE, "integration/mail/mail-store/mail-store.1")
EX_NOINPUT, EX_CANTCREAT = 66, 73
ANNA, BERT = "anna@example.com", "bert@example.com"
MAIL = b"Subject: hello\n\nOnce for both.\n"


class Tool(harness.Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")

    def call(self, command, *arguments, expect=0, text=b"", has_store=True):
        """What it prints, and what it logs."""
        store = ["--store", self.store] if has_store else []
        result = subprocess.run([program("mail-store"), command, *store, *arguments], check=False,
                                input=text, capture_output=True, timeout=harness.DEADLINE_S)
        said = result.stderr.decode()
        self.assertEqual(sanitizer_reports(said), [])
        self.assertEqual(result.returncode, expect, said)
        self.assertEqual(bool(said), expect > 1, said)
        return result.stdout, said

    def deliver(self, text=MAIL, *boxes, sender=None):
        options = ["--print-id", *(["--sender", sender] if sender is not None else [])]
        return self.call("deliver", *options, *(boxes or (ANNA, BERT)), text=text)[0].decode().strip()


class Manual(Tool):
    def test_the_manual_has_each_command_and_each_option_and_no_other(self):
        with open(MANUAL, encoding="ascii") as file:
            page = file.read()
        commands = re.findall(r"(?m)^  (\w+) ", self.call("--help", has_store=False)[0].decode())
        self.assertEqual(sorted(re.findall(r"(?m)^\.It Cm (\w+)$", page)), sorted(commands))
        rows = set()
        for command in commands:
            told = self.call(command, "--help", has_store=False)[0].decode()
            rows.update(re.findall(r"(?m)^ +(?:-(\w), )?--([\w-]+)", told))
        items = re.findall(r"(?m)^\.It (?:Fl (\w) , )?Fl -([\w-]+)", page)
        self.assertEqual(sorted(items), sorted(rows))

    def test_the_version_names_no_libraries(self):
        told, _ = self.call("--version", has_store=False)
        self.assertRegex(told.decode(), r"^mail-store [0-9.]+\n$")


class Mistakes(Tool):
    def is_locked_by(self, pid):
        inode = os.stat(os.path.join(self.store, "log")).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            return re.search(rf" FLOCK .* {pid} \w+:\w+:{inode} ", file.read()) is not None

    def test_wrong_use_is_told(self):
        self.call("ls", has_store=False, expect=EX_USAGE)
        self.call("deliver", "", text=MAIL, expect=EX_USAGE)
        self.call("deliver", expect=EX_USAGE)
        self.call("rm", ANNA, expect=EX_USAGE)
        self.call("import", ANNA, expect=EX_USAGE)
        self.assertFalse(os.path.exists(self.store))

    def test_what_is_not_there_is_no_input(self):
        self.call("ls", expect=EX_NOINPUT)
        self.deliver()
        for ident in ("0" * 32, "not-an-id"):
            with self.subTest(ident=ident):
                _, said = self.call("rm", ANNA, ident, expect=EX_NOINPUT)
                self.assertIn(f"mail not deleted, store={self.store} id={ident} (", said)
                _, said = self.call("cat", ident, expect=EX_NOINPUT)
                self.assertIn(f"mail not printed, store={self.store} id={ident} (", said)
        self.call("import", "--mbox", self.path("absent"), ANNA, expect=EX_NOINPUT)
        self.call("import", "--maildir", self.path("absent"), ANNA, expect=EX_NOINPUT)

    def test_a_file_that_is_no_mbox_is_refused_and_mails_before_are_kept(self):
        path = self.write("mbox", b"From a@example.org Tue Nov 24 12:00:00 2026\nSubject: x\n\n")
        self.call("import", "--mbox", path, ANNA)
        path = self.write("other", b"\nSubject: x\n\n")
        _, said = self.call("import", "--mbox", path, ANNA, expect=EX_DATAERR)
        self.assertIn(f"not an mbox, file={path} at=0", said)
        self.assertEqual(self.call("ls")[0], b"anna@example.com\t1\t12\n")

    def test_an_mbox_that_is_there_is_not_written_over(self):
        self.deliver()
        path = self.write("mbox", b"mine")
        self.call("export", "--mbox", path, ANNA, expect=EX_CANTCREAT)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"mine")

    def test_a_store_that_is_open_is_tried_again_later(self):
        self.deliver()
        # deliver has the store open while it waits for its mail.
        with subprocess.Popen([program("mail-store"), "deliver", "-s", self.store, ANNA],
                              stdin=subprocess.PIPE) as other:
            harness.wait_for(lambda: self.is_locked_by(other.pid), "the other one to open the store")
            for command in (("ls",), ("deliver", ANNA), ("fsck",), ("collect",)):
                self.call(*command, expect=EX_TEMPFAIL)
            other.stdin.close()
        self.assertEqual(other.returncode, 0)
        self.assertEqual(self.call("fsck")[0].splitlines()[0], b"1 segments, 2 mails, 0 findings")


class Exchange(Tool):
    TEXTS = (MAIL, b"", b"\n", b"From x\n\nFrom y\n>From z\n\n\n", b"a\r\n\r\nFrom b\r\n.\r\n")

    def test_mails_come_back_from_an_mbox_and_a_maildir_as_they_were(self):
        for text in self.TEXTS:
            self.deliver(text, ANNA, sender="anna@example.org")
        for kind in ("mbox", "maildir"):
            with self.subTest(kind=kind):
                self.call("export", f"--{kind}", self.path(kind), ANNA)
                self.call("import", f"--{kind}", self.path(kind), kind)
                ids = [line.split(b"\t")[0].decode() for line in self.call("ls", kind)[0].splitlines()]
                texts = [self.call("cat", ident)[0] for ident in ids]
                self.assertEqual(sorted(texts), sorted(self.TEXTS))

    def test_a_sender_does_not_make_mails_of_its_own_in_an_mbox(self):
        self.deliver(MAIL, ANNA, sender="a b\n\nFrom evil@example.org Tue Nov 24 12:00:00 2026\n")
        self.deliver(MAIL, ANNA, sender="")
        self.call("export", "--mbox", self.path("mbox"), ANNA)
        self.assertEqual(self.call("import", "--mbox", self.path("mbox"), BERT)[0], b"2 mails imported\n")
        self.call("export", "--mbox", self.path("again"), BERT)
        with open(self.path("mbox"), "rb") as first, open(self.path("again"), "rb") as second:
            text = first.read()
            self.assertEqual(text, second.read())
        self.assertEqual(text.count(b"\nFrom "), 1)


if __name__ == "__main__":
    harness.main()
