#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-store import and export: mboxes and maildirs, also those that others change meanwhile.

What reaches the disk is seen by Debian's strace.
"""

import errno
import os
import re
import resource
import shutil
import socket
import subprocess
import unittest

import harness
from harness import EX_DATAERR, EX_USAGE, program
from mailtool import ANNA, BERT, EX_IOERR, EX_NOPERM, MAIL, Tool


class Exchange(Tool):
    TEXTS = (MAIL, b"", b"\n", b"From x\n\nFrom y\n>From z\n\n\n", b"a\r\n\r\nFrom b\r\n.\r\n")

    def test_mails_come_back_from_an_mbox_and_a_maildir_as_they_were(self):
        for text in self.TEXTS:
            self.deliver(text, ANNA, sender="anna@example.org")
        for kind in ("mbox", "maildir"):
            with self.subTest(kind=kind):
                self.call("export", f"--{kind}", self.path(kind), ANNA)
                self.call("import", f"--{kind}", self.path(kind), kind)
                self.assertEqual(self.texts(kind), list(self.TEXTS))

    def entries(self, box):
        return [line.split(b"\t") for line in self.call("ls", box)[0].splitlines()]

    def texts(self, box):
        return [self.call("cat", ident.decode())[0] for ident, *_ in self.entries(box)]

    def move(self):
        """Another store gets ANNA's mails; what import prints."""
        self.call("export", "--maildir", self.path("maildir"), ANNA)
        self.store = self.path("other")
        return self.call("import", "--maildir", self.path("maildir"), ANNA)[0]

    def test_mails_of_a_maildir_of_export_keep_ids_and_times_in_another_store(self):
        for text in self.TEXTS:
            self.deliver(text, ANNA)
        before = self.entries(ANNA)
        self.assertEqual(self.move(), b"5 mails imported\n")
        self.assertEqual(self.entries(ANNA), before)
        self.assertEqual(self.texts(ANNA), list(self.TEXTS))
        self.assertEqual(self.call("fsck")[0].splitlines()[0], b"1 segments, 5 mails, 0 findings")

    def test_mails_whose_time_is_known_by_the_second_alone_stay_in_their_order(self):
        # Behind the first ten the number of seconds has one digit more.
        mails = [b"From a@example.org Sun Sep  9 01:46:%02d 2001\nNumber: %d\n\n\n" % (39 + i // 10, i)
                 for i in range(20)]
        self.call("import", "--mbox", self.write("mbox", b"".join(mails)), ANNA)
        before = self.entries(ANNA)
        self.assertEqual([row[2] for row in before],
                         [b"2001-09-09T01:46:39Z"] * 10 + [b"2001-09-09T01:46:40Z"] * 10)
        self.call("export", "--maildirs", self.path("all"))
        self.move()
        self.assertEqual(self.entries(ANNA), before)
        # A reader has seen the last ones.
        for name in sorted(os.listdir(self.path("maildir/new")))[15:]:
            os.rename(self.path(f"maildir/new/{name}"), self.path(f"maildir/cur/{name}:2,S"))
        self.store = self.path("seen")
        self.call("import", "--maildir", self.path("maildir"), ANNA)
        self.assertEqual(self.entries(ANNA), before)
        self.store = self.path("another")
        self.call("import", "--maildirs", self.path("all"))
        self.assertEqual(self.entries(ANNA), before)

    def test_all_mailboxes_move_with_ids_and_single_copies(self):
        boxes = (ANNA, BERT, "../odd name%/.", "tmp", "J\u00fcrgen@example.org")
        for count, text in enumerate(self.TEXTS):
            self.deliver(text, *boxes[:1 + count % len(boxes)])
        self.deliver(self.TEXTS[0], BERT)
        before = {box: self.entries(box) for box in boxes}
        numbers = self.call("stat")[0].splitlines()[:2]
        total = sum(len(rows) for rows in before.values())
        self.assertEqual(self.call("export", "--maildirs", self.path("all"))[0], b"%d mails exported\n" % total)
        # What others leave there is none of a mailbox.
        self.write("all/README", b"x")
        self.store = self.path("other")
        self.assertEqual(self.call("import", "--maildirs", self.path("all"))[0],
                         b"%d mails imported\n" % (1 + len(self.TEXTS)))
        self.assertEqual({box: self.entries(box) for box in boxes}, before)
        self.assertEqual(self.call("stat")[0].splitlines()[:2], numbers)
        self.assertIn(b" 0 findings", self.call("fsck")[0].splitlines()[0])

    def test_mailboxes_that_nodes_have_for_themselves_are_in_no_export_of_all_and_in_no_import(self):
        copy, mark = "\x012/carl@example.com", f"\x01g/{ANNA}"
        self.deliver(MAIL, ANNA, mark)
        self.deliver(self.TEXTS[3], copy)
        before = self.entries(ANNA)
        self.assertEqual(self.call("export", "--maildirs", self.path("all"))[0],
                         b"1 mails exported, 2 mailboxes of nodes' own left out\n")
        self.assertEqual([name for name in os.listdir(self.path("all")) if name != "tmp"], [ANNA])
        # By its name one is exported, as an older version did with all of them.
        self.call("export", "--maildir", self.path("all/%012%2Fcarl@example.com"), copy)
        shutil.copytree(self.path(f"all/{ANNA}"), self.path(f"all/%01g%2F{ANNA}"))
        self.store = self.path("other")
        self.assertEqual(self.call("import", "--maildirs", self.path("all"))[0],
                         b"1 mails imported, 2 mailboxes of nodes' own left out\n")
        self.assertEqual(self.entries(ANNA), before)
        self.assertEqual(self.call("ls")[0].splitlines(), [b"%s\t1\t%d" % (ANNA.encode(), int(before[0][1]))])
        self.call("import", "--maildir", self.path("all/%012%2Fcarl@example.com"), "carl@example.com")
        self.assertEqual(self.texts("carl@example.com"), [self.TEXTS[3]])

    def test_a_mail_of_the_same_name_and_another_text_stays_its_mailbox_alone(self):
        self.deliver(self.TEXTS[0], ANNA, BERT)
        self.call("export", "--maildirs", self.path("all"))
        name, = os.listdir(self.path(f"all/{BERT}/new"))
        os.unlink(self.path(f"all/{BERT}/new/{name}"))
        self.write(f"all/{BERT}/new/{name}", b"Subject: forged\n\nx\n")
        self.store = self.path("other")
        self.assertEqual(self.call("import", "--maildirs", self.path("all"))[0],
                         b"2 mails imported, 1 of them under new ids\n")
        self.assertIn(b"forged", self.call("cat", self.entries(BERT)[0][0].decode())[0])
        self.assertEqual(self.call("cat", self.entries(ANNA)[0][0].decode())[0], self.TEXTS[0])

    def test_a_mail_that_one_of_its_readers_has_moved_is_still_that_of_all(self):
        self.deliver()
        self.call("export", "--maildirs", self.path("all"))
        before = [self.entries(box) for box in (ANNA, BERT)]
        name, = os.listdir(self.path(f"all/{ANNA}/new"))
        os.rename(self.path(f"all/{ANNA}/new/{name}"), self.path(f"all/{ANNA}/cur/{name}:2,S"))
        # The next one brings ANNA's again.
        self.call("export", "--maildirs", self.path("all"))
        self.store = self.path("other")
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"1 mails imported, 0 were there\n")
        self.assertEqual([self.entries(box) for box in (ANNA, BERT)], before)

    def test_only_new_leaves_out_no_other_mail_that_has_the_id_of_one_of_these(self):
        self.deliver(self.TEXTS[0], ANNA, BERT)
        self.call("export", "--maildirs", self.path("all"))
        name, = os.listdir(self.path(f"all/{BERT}/new"))
        os.unlink(self.path(f"all/{BERT}/new/{name}"))
        self.write(f"all/{BERT}/new/{name}", b"Subject: another\n\nx\n")
        self.store = self.path("other")
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"2 mails imported, 1 of them under new ids, 0 were there\n")
        self.assertIn(b"another", self.call("cat", self.entries(BERT)[0][0].decode())[0])

    def test_only_new_goes_on_between_two_mails_of_one_name(self):
        self.deliver(self.TEXTS[0], ANNA)
        self.call("export", "--maildirs", self.path("all"))
        name, = os.listdir(self.path(f"all/{ANNA}/new"))
        self.store = self.path("other")
        self.call("import", "--maildirs", self.path("all"))
        # An import that had begun with both, and was killed behind the first.
        other = self.TEXTS[0].upper()
        self.write(f"all/{ANNA}/cur/{name}:2,S", other)
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"1 mails imported, 1 of them under new ids, 1 were there\n")
        self.assertEqual(self.texts(ANNA), [self.TEXTS[0], other])
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"0 mails imported, 2 were there\n")

    def test_only_new_brings_a_mail_to_mailboxes_that_it_has_not_been_for(self):
        self.deliver()
        self.call("export", "--maildirs", self.path("all"))
        self.store = self.path("other")
        self.call("import", "--maildir", self.path(f"all/{ANNA}"), ANNA)
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"1 mails imported, 1 of them under new ids, 0 were there\n")
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"0 mails imported, 1 were there\n")
        self.assertEqual([len(self.entries(box)) for box in (ANNA, BERT)], [1, 1])

    def test_a_mail_that_no_mailbox_has_any_more_is_new(self):
        self.deliver()
        self.call("export", "--maildirs", self.path("all"))
        self.call("rm", "--all", ANNA)
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"0 mails imported, 1 were there\n")
        self.call("rm", "--all", BERT)
        self.assertEqual(self.call("import", "--maildirs", self.path("all"), "--only-new")[0],
                         b"1 mails imported, 1 of them under new ids, 0 were there\n")
        self.assertEqual([len(self.entries(box)) for box in (ANNA, BERT)], [1, 1])

    def test_a_directory_that_cannot_be_read_to_its_end_is_named(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        self.call("export", "--maildirs", self.path("all"))
        result = subprocess.run([harness.peer("strace"), "-P", self.path(f"all/{ANNA}/new"), "-e",
                                 "inject=getdents64:error=EIO:when=2", "-o", self.path("trace"), program("mail-store"),
                                 "import", "-s", self.path("other"), "--maildirs", self.path("all")],
                                check=False, capture_output=True, timeout=harness.DEADLINE_S)
        box = self.path(f"all/{ANNA}")
        self.assertIn(f'maildir not read, path="{box}" (', result.stderr.decode())
        self.assertEqual(result.returncode, EX_IOERR)

    def test_a_mailbox_whose_path_is_too_long_is_named_and_not_passed_over(self):
        path, top = self.path("long"), os.open(self.directory, os.O_RDONLY)
        self.addCleanup(os.close, top)
        name, at = "long", top
        while True:  # a path of this length is made in pieces alone
            os.mkdir(name, dir_fd=at)
            at = os.open(name, os.O_RDONLY, dir_fd=at)
            self.addCleanup(os.close, at)
            if len(path) > 3900:
                break
            name = "d" * min(200, 4050 - len(path) - 1)
            path += f"/{name}"
        box = "x" * 60 + "@example.org"
        for part in ("", "/new", "/cur"):
            os.mkdir(box + part, dir_fd=at)
        _, said = self.call("import", "--maildirs", path, expect=EX_IOERR)
        self.assertIn("maildir not read, path=", said)
        self.assertIn("File name too long", said)

    def test_an_mbox_that_becomes_shorter_meanwhile_gives_what_it_has(self):
        self.deliver()
        mails = [b"From a@example.org Tue Nov 24 12:00:00 2026\n%s\n" % (b"%d\n" % i * 300000) for i in range(5)]
        path = self.write("mbox", b"".join(mails))
        with self.stopped("pwritev", "import", "--mbox", path, BERT, path=os.path.join(self.store, f"log/{1:016x}")) as ended:
            os.truncate(path, len(mails[0]) + 10)
        self.assertIn(f"error: mbox not read, file={path} (it has become shorter)\n", ended.said)
        count = len(self.entries(BERT)) - 1
        self.assertIn(f"error: not all was imported, store={self.store} mails={count} (", ended.said)
        self.assertEqual(ended.status, EX_IOERR)
        self.assertEqual(self.texts(BERT)[1:], [b"%d\n" % i * 300000 for i in range(count)])

    def test_a_reader_may_move_mails_and_give_them_flags_meanwhile(self):
        self.deliver(b"of both")
        self.call("export", "--maildirs", self.path("all"))
        name, = os.listdir(self.path(f"all/{ANNA}/new"))
        boxes = (ANNA, BERT)
        for box in boxes:
            for i in range(3):
                self.write(f"all/{box}/cur/{i}:2,", b"mail %d" % i)
        self.store = self.path("other")
        self.deliver()
        segment = os.path.join(self.store, f"log/{1:016x}")
        with self.stopped("pwritev", "import", "--maildirs", self.path("all"), "--only-new", path=segment) as ended:
            for box in boxes:
                os.rename(self.path(f"all/{box}/new/{name}"), self.path(f"all/{box}/cur/{name}:2,"))
                os.rename(self.path(f"all/{box}/cur/1:2,"), self.path(f"all/{box}/cur/1:2,S"))
            os.unlink(self.path(f"all/{BERT}/cur/2:2,"))
        self.assertRegex(ended.said, rf'^error: mail not taken, file="\S*/all/{BERT}/cur/2:2," \(No such file or directory\)\n'
                         r"6 mails imported, 0 were there, 1 files left out\n$")
        self.assertEqual(ended.status, EX_DATAERR)
        wanted = [b"of both", *(b"mail %d" % i for i in range(3))]
        self.assertEqual(sorted(self.texts(ANNA)[1:]), sorted(wanted))
        self.assertEqual(sorted(self.texts(BERT)[1:]), sorted(wanted[:-1]))

    def test_a_mailbox_that_cannot_be_looked_at_is_not_passed_over(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        self.call("export", "--maildirs", self.path("all"))
        self.store = self.path("other")
        subprocess.run([harness.peer("strace"), "-P", self.path(f"all/{ANNA}"), "-e", "inject=/^(new)?(stat|fstatat)$:error=EIO",
                        "-o", self.path("trace"), program("mail-store"), "import", "-s", self.store, "--maildirs",
                        self.path("all")], check=True, capture_output=True, timeout=harness.DEADLINE_S)
        self.assertEqual([self.texts(box) for box in (ANNA, BERT)], [[MAIL], [MAIL]])

    def test_what_one_reading_of_a_directory_passes_over_is_found_by_another(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        os.makedirs(self.path("maildir/new"))
        os.mkdir(self.path("maildir/cur"))
        self.write("maildir/cur/1:2,S", MAIL)
        told = subprocess.run([harness.peer("strace"), "-P", self.path("maildir/cur"), "-e",
                               "inject=getdents64:retval=0:when=1", "-o", self.path("trace"), program("mail-store"),
                               "import", "-s", self.store, "--maildir", self.path("maildir"), ANNA],
                              check=True, capture_output=True, timeout=harness.DEADLINE_S).stdout
        self.assertEqual(told, b"1 mails imported\n")

    def test_what_is_no_file_is_no_mail_and_not_waited_for(self):
        self.deliver()
        self.call("export", "--maildirs", self.path("all"))
        name = f"1.{'0' * 32}"
        for box in (ANNA, BERT):
            os.mkfifo(self.path(f"all/{box}/new/{name}"))
        os.mkdir(self.path(f"all/{ANNA}/cur/1"))
        os.symlink("/etc/passwd", self.path(f"all/{ANNA}/cur/2"))
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(self.path(f"all/{ANNA}/cur/3"))
        for store, count, option, path, *box in (("one", 5, "--maildirs", "all"),
                                                 ("other", 4, "--maildir", f"all/{ANNA}", ANNA)):
            self.store = self.path(store)
            told, said = self.call("import", option, self.path(path), *box, expect=EX_DATAERR)
            self.assertEqual(told.decode(), f"1 mails imported, {count} files left out\n")
            self.assertEqual(len(re.findall(r'(?m)^error: mail not taken, file=".*" \(not a regular file\)$', said)), count)
            self.assertIn(f'/new/{name}" (', said)

    def test_a_mail_from_before_1970_is_one_of_now(self):
        os.makedirs(self.path("maildir/cur"))
        os.mkdir(self.path("maildir/new"))
        os.utime(self.write("maildir/cur/1", MAIL), (-86400, -86400))
        self.call("import", "--maildir", self.path("maildir"), ANNA)
        self.assertRegex(self.entries(ANNA)[0][2], rb"^20\d\d-")

    @unittest.skipUnless(os.geteuid() == 0, "no other user without root")
    def test_what_root_exports_is_the_owners_of_the_directory_and_goes_where_the_owner_may_write(self):
        owner = (1234, 2345)
        self.deliver()
        os.chmod(self.directory, 0o711)
        for name in ("there", "around"):
            os.mkdir(self.path(name))
            os.chown(self.path(name), *owner)
        for top, words in (("there", ("--maildir", self.path("there"), ANNA)),
                           ("around", ("--maildirs", self.path("around/all")))):
            for _ in range(2):
                self.call("export", *words)
            made = [os.path.join(path, name) for path, *names in os.walk(self.path(top))
                    for name in names[0] + names[1]]
            self.assertTrue(made)
            self.assertEqual({path: (os.stat(path).st_uid, os.stat(path).st_gid) for path in made},
                             {path: owner for path in made})
        os.mkdir(self.path("ours"), 0o755)
        shutil.rmtree(self.path("there/new"))
        os.symlink(self.path("ours"), self.path("there/new"))
        self.call("export", "--maildir", self.path("there"), ANNA, expect=EX_NOPERM)
        self.assertEqual(os.listdir(self.path("ours")), [])

    def test_names_of_files_and_mailboxes_do_nothing_to_a_terminal(self):
        name = f"{'x' * 200}\x1b[31m\nerror: forged"
        for folder in ("cur", "new"):
            os.makedirs(self.path(f"maildir/{folder}"))
        os.symlink("nowhere", self.path(f"maildir/new/{name}"))
        _, said = self.call("import", "--maildir", self.path("maildir"), ANNA, expect=EX_DATAERR)
        self.assertIn(r'x\x1b[31m\x0aerror: forged" (', said)
        self.deliver(MAIL, "\x1b" * 200)
        _, said = self.call("export", "--maildirs", self.path("all"), expect=EX_DATAERR)
        self.assertIn(r'name="\x1b', said)
        self.assertNotIn("\x1b", said)

    def test_a_directory_that_is_no_mailbox_is_named(self):
        os.makedirs(self.path("all/a%zz/new"))
        self.store = self.path("other")
        _, said = self.call("import", "--maildirs", self.path("all"), expect=EX_USAGE)
        self.assertIn("/all/a%zz", said)

    def test_flags_of_a_reader_take_no_id_away_and_names_of_others_give_none(self):
        self.deliver()
        kept = self.entries(ANNA)[0][0]
        self.call("export", "--maildir", self.path("maildir"), ANNA)
        name, = os.listdir(self.path("maildir/new"))
        os.rename(self.path(f"maildir/new/{name}"), self.path(f"maildir/cur/{name}:2,S"))
        ident = kept.decode()
        seconds = "0000000017"
        others = (ident, f"{seconds}.M000001.{ident}0", f"{seconds}.M000001.{ident.upper()}x", f"{seconds}.M1P2.{ident}",
                  f"{seconds}.M-00001.{ident}", f"{seconds}.M1000000.{ident}", f"{seconds}.{ident}", f"17.M000001.{ident}",
                  f"{seconds}.M000001.", f"{seconds}.M000001", f"{seconds}.", "99999999999999999999.M000001." + ident)
        for other in others:
            self.write(f"maildir/new/{other}", MAIL)
        self.store = self.path("other")
        self.assertEqual(self.call("import", "--maildir", self.path("maildir"), ANNA)[0],
                         b"%d mails imported\n" % (1 + len(others)))
        ids = [row[0] for row in self.entries(ANNA)]
        self.assertEqual((ids.count(kept), len(set(ids))), (1, 1 + len(others)))

    def test_a_mail_whose_id_is_taken_is_imported_under_another(self):
        self.deliver()
        self.move()
        kept = self.entries(ANNA)[0][0]
        for box in (ANNA, BERT):
            self.assertEqual(self.call("import", "--maildir", self.path("maildir"), box)[0],
                             b"1 mails imported, 1 of them under new ids\n")
        self.call("rm", "--all", ANNA)
        self.assertEqual(self.call("import", "--maildir", self.path("maildir"), ANNA)[0],
                         b"1 mails imported, 1 of them under new ids\n")
        self.assertEqual(len(self.entries(ANNA)), 1)
        self.assertNotIn(kept, [row[0] for row in self.entries(ANNA) + self.entries(BERT)])
        self.assertEqual(self.call("fsck")[0].splitlines()[0], b"1 segments, 2 mails, 0 findings")

    def test_an_export_is_on_disk_and_may_be_repeated(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        strace = harness.peer("strace")
        trace = self.path("trace")
        for _ in range(2):
            result = subprocess.run([strace, "-y", "-e", "trace=fsync,linkat", "-o", trace, program("mail-store"),
                                     "export", "-s", self.store, "--maildir", self.path("maildir"), ANNA],
                                    check=True, capture_output=True, timeout=harness.DEADLINE_S)
            self.assertEqual(result.stdout, b"1 mails exported\n")
            with open(trace, encoding="utf-8", errors="replace") as file:
                text = file.read().replace(self.path("maildir"), "TO")
            steps = [r"fsync\(\d+<TO/tmp/[^>/]+>\) += 0", r"linkat\(", r"fsync\(\d+<TO/new>\) += 0"]
            self.assertRegex(text, "(?s)" + ".*".join(steps))
        self.assertEqual(len(os.listdir(self.path("maildir/new"))), 1)
        self.assertEqual(os.listdir(self.path("maildir/tmp")), [])

    def test_a_mail_that_the_disk_does_not_give_keeps_no_other_back(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        lost = self.deliver()
        kept = self.deliver(b"another")
        # Opening reads the head of the segment, and the heads and the metas of both.
        for kind in ("maildir", "mbox"):
            result = subprocess.run([harness.peer("strace"), "-P", os.path.join(self.store, "log", f"{1:016x}"), "-e",
                                     "inject=pread64:error=EIO:when=7", "-o", self.path("trace"), program("mail-store"),
                                     "export", "-s", self.store, f"--{kind}", self.path(kind), ANNA],
                                    check=False, capture_output=True, timeout=harness.DEADLINE_S)
            said = result.stderr.decode()
            self.assertIn(f"mail not exported, store={self.store} id={lost} (", said)
            self.assertNotIn(kept, said)
            self.assertIn(f"not all was exported to {self.path(kind)}, store={self.store} mails=1 (", said)
            self.assertEqual(result.returncode, EX_DATAERR)

    def test_the_name_of_an_mbox_is_on_disk(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        os.mkdir(self.path("boxes"))
        subprocess.run([harness.peer("strace"), "-y", "-e", "trace=fsync", "-o", self.path("trace"),
                        program("mail-store"), "export", "-s", self.store, "--mbox", self.path("boxes/anna"), ANNA],
                       check=True, capture_output=True, timeout=harness.DEADLINE_S)
        with open(self.path("trace"), encoding="utf-8", errors="replace") as file:
            self.assertRegex(file.read(), r"(?s)/boxes/anna\.new-\d+>\) += 0.*/boxes>\) += 0")

    def test_what_an_export_that_was_killed_has_left_is_neither_in_the_way_nor_the_mail(self):
        self.deliver()
        self.call("export", "--maildir", self.path("maildir"), ANNA)
        name, = os.listdir(self.path("maildir/new"))
        os.unlink(self.path(f"maildir/new/{name}"))
        left = self.write(f"maildir/tmp/{name}", b"half a ma")
        self.call("export", "--maildir", self.path("maildir"), ANNA)
        with open(self.path(f"maildir/new/{name}"), "rb") as file:
            self.assertEqual(file.read(), MAIL)
        self.assertEqual(os.listdir(self.path("maildir/tmp")), [name])
        os.utime(left, (0, 0))
        self.call("export", "--maildir", self.path("maildir"), ANNA)
        self.assertEqual(os.listdir(self.path("maildir/tmp")), [])

    def test_an_mbox_whose_name_is_not_on_disk_is_taken_away(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        os.mkdir(self.path("boxes"))
        path = self.path("boxes/anna")
        result = subprocess.run([harness.peer("strace"), "-P", self.path("boxes"), "-e", "inject=fsync:error=EIO", "-o",
                                 "/dev/null", program("mail-store"), "export", "-s", self.store, "--mbox", path, ANNA],
                                check=False, capture_output=True, timeout=harness.DEADLINE_S)
        self.assertEqual(result.returncode, EX_IOERR, result.stderr)
        self.assertIn(f"error: mbox not written, file={path} (Input/output error)\n", result.stderr.decode())
        self.assertEqual(os.listdir(self.path("boxes")), [])
        self.call("export", "--mbox", path, ANNA)

    def test_an_export_that_is_killed_leaves_no_mbox(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        path = self.path("mbox")
        for call in ("write", "fsync"):
            result = subprocess.run([harness.peer("strace"), "-f", "-e", f"inject={call}:signal=KILL:when=1", "-o",
                                     self.path("trace"), program("mail-store"), "export", "-s", self.store, "--mbox",
                                     path, ANNA], check=False, capture_output=True, timeout=harness.DEADLINE_S)
            self.assertNotEqual(result.returncode, 0)
            self.assertFalse(os.path.exists(path), call)
        self.call("export", "--mbox", path, ANNA)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(self.call("import", "--mbox", path, BERT)[0], b"1 mails imported\n")

    def test_an_export_that_finds_no_room_says_so_and_is_for_its_owner_alone(self):
        self.deliver(b"x" * 200000)
        for kind in ("maildir", "mbox"):
            result = subprocess.run(
                [program("mail-store"), "export", "-s", self.store, f"--{kind}", self.path(kind), ANNA], check=False,
                capture_output=True, timeout=harness.DEADLINE_S, restore_signals=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000)))
            self.assertEqual(result.stderr.decode(), f"error: not all was exported to {self.path(kind)}, "
                             f"store={self.store} mails=0 ({os.strerror(errno.EFBIG)})\n")
            self.assertEqual(result.returncode, EX_IOERR)
        self.assertEqual(os.stat(self.path("maildir")).st_mode & 0o77, 0)
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith("mbox")], [])

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
