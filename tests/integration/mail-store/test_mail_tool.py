#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-store beside its manual, and what it says and ends with when something is wrong.

What reaches the disk is seen by Debian's strace.
"""

import contextlib
import os
import re
import resource
import shutil
import socket
import subprocess
import unittest

import harness
from harness import EX_DATAERR, EX_TEMPFAIL, EX_USAGE, SOURCE, program
from mailtool import ANNA, BERT, EX_CANTCREAT, EX_IOERR, EX_NOINPUT, EX_NOPERM, MAIL, Tool

MANUAL = os.path.join(SOURCE, "integration/mail/mail-store/mail-store.1")


@contextlib.contextmanager
def read_only(path):
    """A directory that is a mount of itself, without writing, while this lasts."""
    subprocess.run(["mount", "--bind", path, path], check=True, timeout=harness.DEADLINE_S)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True, timeout=harness.DEADLINE_S)
        yield
    finally:
        subprocess.run(["umount", path], check=True, timeout=harness.DEADLINE_S)


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
    def test_a_closed_input_is_no_empty_mail(self):
        result = subprocess.run([program("mail-store"), "deliver", "--store", self.store, ANNA], check=False,
                                capture_output=True, preexec_fn=lambda: os.close(0), timeout=harness.DEADLINE_S)
        self.assertEqual((result.returncode, result.stderr.decode()),
                         (EX_IOERR, f"error: mail not delivered, store={self.store} (Bad file descriptor)\n"))
        self.assertEqual(self.call("ls")[0], b"")

    def is_locked_by(self, pid):
        inode = os.stat(os.path.join(self.store, "log")).st_ino
        with open("/proc/locks", encoding="ascii") as file:
            return re.search(rf" FLOCK .* {pid} \w+:\w+:{inode} ", file.read()) is not None

    def test_wrong_use_is_told(self):
        self.call("ls", has_store=False, expect=EX_USAGE)
        self.call("deliver", "--store", "", ANNA, text=MAIL, has_store=False, expect=EX_USAGE)
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

    def test_nothing_to_import_makes_no_store(self):
        _, said = self.call("import", "--mbox", self.path("absent"), ANNA, expect=EX_NOINPUT)
        self.assertIn(f"error: mbox not read, file={self.path('absent')} (No such file or directory)\n", said)
        _, said = self.call("import", "--maildir", self.path("absent"), ANNA, expect=EX_NOINPUT)
        self.assertIn(f'error: maildir not read, path="{self.path("absent")}" (No such file or directory)\n', said)
        self.call("import", "--maildirs", self.path("absent"), expect=EX_NOINPUT)
        other = self.write("other", b"Subject: x\n\n")
        self.call("import", "--mbox", other, ANNA, expect=EX_DATAERR)
        self.call("import", "--maildir", other, ANNA, expect=EX_NOINPUT)
        self.call("import", "--maildirs", other, expect=EX_NOINPUT)
        # What is no mail of a maildir is left out.
        for part in ("cur/3", "new", "tmp"):
            os.makedirs(self.path(f"empty/{part}"))
        self.call("import", "--maildir", self.path("empty"), ANNA, expect=EX_DATAERR)
        os.rmdir(self.path("empty/cur/3"))
        os.mkdir(self.path("none"))
        for words in (("--mbox", self.write("mbox", b""), ANNA), ("--maildir", self.path("empty"), ANNA),
                      ("--maildirs", self.path("none"))):
            self.assertEqual(self.call("import", *words)[0], b"0 mails imported\n")
        self.assertFalse(os.path.exists(self.store))

    def test_a_store_that_an_import_cannot_open_is_named_once(self):
        self.write("store", b"")
        os.makedirs(self.path("maildir/cur"))
        os.makedirs(self.path("maildir/new"))
        self.write("maildir/cur/1", MAIL)
        mbox = self.write("mbox", b"From a@example.org Tue Nov 24 12:00:00 2026\nSubject: x\n\n")
        for words in (("--mbox", mbox), ("--maildir", self.path("maildir"))):
            _, said = self.call("import", *words, ANNA, expect=EX_NOINPUT)
            self.assertEqual(said, f"error: store not opened, store={self.store} (Not a directory)\n")

    def test_a_file_that_is_no_mbox_is_refused_and_mails_before_are_kept(self):
        path = self.write("mbox", b"From a@example.org Tue Nov 24 12:00:00 2026\nSubject: x\n\n")
        self.call("import", "--mbox", path, ANNA)
        path = self.write("other", b"\nSubject: x\n\n")
        _, said = self.call("import", "--mbox", path, ANNA, expect=EX_DATAERR)
        self.assertIn(f"not an mbox, file={path} at=0", said)
        self.assertIn(f"not all was imported, store={self.store} mails=0 (", said)
        self.assertEqual(self.call("ls")[0], b"anna@example.com\t1\t12\n")

    def test_a_mail_behind_a_line_that_names_no_sender_is_taken_and_one_that_is_not_is_named(self):
        line = b"From " + 70000 * b"x" + b" Tue Nov 24 12:00:00 2026\n"
        path = self.write("mbox", line + b"Subject: x\n\n" + line + b"Subject: y\n\n")
        self.call("import", "--mbox", path, ANNA)
        self.assertEqual(self.call("ls")[0], b"anna@example.com\t2\t24\n")
        fault = ["-e", "inject=pwritev:error=ENOSPC:when=2", "-o", self.path("trace")]
        if not harness.IS_SANITIZED:
            result = subprocess.run([harness.peer("strace"), *fault, program("mail-store"), "import", "--store", self.store,
                                     "--mbox", path, BERT], check=False, capture_output=True, timeout=harness.DEADLINE_S)
            self.assertRegex(result.stderr.decode(), rf"mail not taken, file={path} at=\d+ \(No space left on device\)")

    def test_what_was_imported_before_a_mail_that_fails_stays_and_is_counted(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        os.makedirs(self.path("maildir/cur"))
        os.makedirs(self.path("maildir/new"))
        third = [self.write(f"maildir/cur/{name}", MAIL) for name in (1, 2, 3)][-1]
        result = subprocess.run([harness.peer("strace"), "-P", third, "-e", "inject=read:error=EIO", "-o",
                                 self.path("trace"), program("mail-store"), "import", "-s", self.store, "--maildir",
                                 self.path("maildir"), ANNA], check=False, capture_output=True, timeout=harness.DEADLINE_S)
        self.assertEqual(result.stderr.decode(), f'error: mail not taken, file="{third}" (Input/output error)\n'
                         f"error: not all was imported, store={self.store} mails=2 (Input/output error)\n")
        self.assertEqual(result.returncode, EX_IOERR)
        self.assertEqual(self.call("ls")[0].split(b"\t")[1], b"2")

    def test_an_mbox_that_is_there_is_not_written_over(self):
        self.deliver()
        path = self.write("mbox", b"mine")
        _, said = self.call("export", "--mbox", path, ANNA, expect=EX_CANTCREAT)
        self.assertIn(f"error: mbox not written, file={path} (File exists)\n", said)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"mine")

    def test_where_an_export_cannot_go_is_named(self):
        self.deliver()
        path = self.path("absent/there")
        _, said = self.call("export", "--mbox", path, ANNA, expect=EX_NOINPUT)
        self.assertIn(f"error: mbox not written, file={path} (No such file or directory)\n", said)
        for way in (["--maildir", path, ANNA], ["--maildirs", path]):
            _, said = self.call("export", *way, expect=EX_NOINPUT)
            self.assertIn(f"error: directory not written, path={path} (No such file or directory)\n", said)

    def test_a_store_that_is_open_is_tried_again_later(self):
        self.deliver()
        # deliver has the store open while it waits for its mail.
        with subprocess.Popen([program("mail-store"), "deliver", "-s", self.store, ANNA],
                              stdin=subprocess.PIPE) as other:
            harness.wait_for(lambda: self.is_locked_by(other.pid), "the other one to open the store")
            for command in (("ls",), ("deliver", ANNA), ("fsck",), ("collect",)):
                _, said = self.call(*command, expect=EX_TEMPFAIL)
                self.assertIn("--store SOCKET reaches a running mail-stored", said)
            other.stdin.close()
        self.assertEqual(other.returncode, 0)
        self.assertEqual(self.call("fsck")[0].splitlines()[0], b"1 segments, 2 mails, 0 findings")

    def test_a_segment_that_the_disk_does_not_give_is_named(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        result = subprocess.run([harness.peer("strace"), "-P", os.path.join(self.store, "log", f"{1:016x}"), "-e",
                                 "inject=pread64:error=EIO", "-o", self.path("trace"), program("mail-store"), "fsck",
                                 "--repair", "-s", self.store], check=False, capture_output=True,
                                timeout=harness.DEADLINE_S)
        self.assertEqual(result.stdout.decode(), f"segment {1:016x} at 0: it cannot be read\n")
        self.assertIn(f"store not checked, store={self.store} (Input/output error)", result.stderr.decode())
        self.assertEqual(result.returncode, EX_IOERR)

    def test_a_segment_that_is_no_file_is_named(self):
        self.deliver()
        segment = os.path.join(self.store, "log", f"{1:016x}")
        os.unlink(segment)
        for make in (os.mkdir, os.mkfifo):
            make(segment)
            status = EX_NOINPUT if make is os.mkdir else EX_IOERR
            _, said = self.call("ls", expect=status)
            self.assertIn(f"error: segment is missing, unreadable or cut, store={self.store} segment={1:016x} (what is there "
                          "is not that segment of this store: put that there, or nothing)\n", said)
            self.assertIn(f"segment {1:016x} at 0: ", self.call("fsck", "--repair", expect=status)[0].decode())
            (os.rmdir if make is os.mkdir else os.unlink)(segment)

    @unittest.skipUnless(os.geteuid() == 0, "no other user without root")
    def test_a_segment_that_may_not_be_read_is_to_be_made_readable(self):
        self.deliver()
        segment = os.path.join(self.store, "log", f"{1:016x}")
        for path in (self.directory, self.store, os.path.dirname(segment)):
            os.chmod(path, 0o755)
        os.chmod(segment, 0)
        for path in (self.store, os.path.dirname(segment)):
            for name in os.listdir(path):
                os.chown(os.path.join(path, name), 65534, 65534)
        result = subprocess.run([program("mail-store"), "ls", "-s", self.store], check=False, capture_output=True,
                                timeout=harness.DEADLINE_S, user=65534, group=65534, extra_groups=[])
        self.assertEqual(result.stderr.decode(), f"error: segment is missing, unreadable or cut, store={self.store} "
                         f"segment={1:016x} (make it readable; from a disk that fails, a copy with gaps will do)\n"
                         f"error: store not opened, store={self.store} (Permission denied)\n")
        self.assertEqual(result.returncode, EX_NOPERM)

    def test_an_index_that_could_not_be_looked_at_is_not_taken_for_a_damaged_one(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        self.deliver()
        before = os.stat(os.path.join(self.store, "index.mdb"))
        result = subprocess.run([harness.peer("strace"), "-e", "inject=clone:error=EAGAIN", "-o", self.path("trace"),
                                 program("mail-store"), "fsck", "--repair", "-s", self.store], check=False,
                                capture_output=True, timeout=harness.DEADLINE_S)
        self.assertIn(f"store not checked, store={self.store} (", result.stderr.decode())
        self.assertEqual((result.returncode, result.stdout), (EX_IOERR, b""))
        self.assertEqual(os.stat(os.path.join(self.store, "index.mdb")).st_ino, before.st_ino)

    def test_a_repair_has_the_store_for_itself_to_its_end(self):
        self.deliver()
        os.unlink(os.path.join(self.store, "index.mdb"))
        with self.stopped("/^rename", "fsck", "--repair") as ended:
            self.call("ls", expect=EX_TEMPFAIL)
        self.assertIn("index made anew", ended.said)
        self.call("ls")

    @unittest.skipUnless(os.geteuid() == 0, "no other user without root")
    def test_an_index_that_root_makes_anew_is_the_owners_of_the_store(self):
        self.deliver()
        index = os.path.join(self.store, "index.mdb")
        os.unlink(index)
        os.chown(os.path.join(self.store, "log"), 1234, 2345)
        self.assertIn(b"index made anew", self.call("fsck", "--repair", expect=1)[0])
        self.assertEqual((os.stat(index).st_uid, os.stat(index).st_gid), (1234, 2345))

    @unittest.skipUnless(os.geteuid() == 0, "no other user without root")
    def test_what_root_makes_is_the_owners_of_the_store(self):
        owner = (1234, 2345)
        os.mkdir(self.store)
        os.chown(self.store, *owner)

        def check(step, *names):
            paths = [os.path.join(self.store, name) for name in ("log", "index.mdb", "index.mdb-lock", *names)]
            self.assertEqual({path: (os.stat(path).st_uid, os.stat(path).st_gid) for path in paths},
                             {path: owner for path in paths}, step)

        self.deliver(b"x" * 100000)
        check("deliver", f"log/{1:016x}")
        self.deliver()
        self.call("rm", "--all", ANNA)
        self.call("collect", "--share", "100")
        check("collect", *(f"log/{name}" for name in os.listdir(os.path.join(self.store, "log"))))
        for command in ("ls", "fsck"):
            os.unlink(os.path.join(self.store, "index.mdb-lock"))
            self.call(command)
            check(command)
        # As when one that is damaged is taken away.
        os.unlink(os.path.join(self.store, "index.mdb"))
        self.call("ls")
        check("index")

    def test_copies_that_a_quota_ends_are_told_with_what_was_given_back(self):
        for _ in range(2):
            self.call("deliver", ANNA, text=b"x" * 100000)
        self.call("rm", ANNA, self.call("ls", ANNA)[0].split(b"\t")[0])
        result = subprocess.run([program("mail-store"), "collect", "--share", "100", "--store", self.store],
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)),
                                capture_output=True, timeout=harness.DEADLINE_S, check=False)
        self.assertEqual((result.returncode, result.stderr.decode(), result.stdout),
                         (EX_IOERR, f"error: store not collected to its end, store={self.store} (Disk quota exceeded)\n",
                          b"reclaimed-bytes\t0\ncopied-bytes\t0\n"))

    @unittest.skipUnless(os.geteuid() == 0, "no other user without root")
    def test_a_root_that_is_killed_keeps_no_owner_from_its_store(self):
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        owner = 1234
        os.chmod(self.directory, 0o711)
        calls = "mkdir", "openat", "pwritev", "pwrite64", "fdatasync", "fchown", "lchown"
        for call in calls:
            for when in range(1, 40):
                shutil.rmtree(self.store, ignore_errors=True)
                os.mkdir(self.store)
                os.chown(self.store, owner, owner)
                killed = subprocess.run([harness.peer("strace"), "-e", f"inject={call}:signal=KILL:when={when}", "-o",
                                         self.path("trace"), program("mail-store"), "deliver", "-s", self.store, ANNA],
                                        check=False, input=MAIL, capture_output=True, timeout=harness.DEADLINE_S)
                again = subprocess.run([program("mail-store"), "deliver", "-s", self.store, ANNA], check=False,
                                       input=MAIL, capture_output=True, timeout=harness.DEADLINE_S,
                                       user=owner, group=owner, extra_groups=[])
                self.assertEqual((again.returncode, again.stderr), (0, b""), (call, when))
                if killed.returncode == 0:
                    break

    @unittest.skipUnless(os.geteuid() == 0, "nothing is mounted without root")
    def test_a_store_that_cannot_be_written_says_so(self):
        self.deliver()
        with read_only(self.store):
            self.assertEqual(self.call("ls", ANNA)[0].count(b"\n"), 1)
            for command in (("deliver", ANNA), ("rm", "--all", ANNA)):
                _, said = self.call(*command, text=MAIL, expect=EX_NOPERM)
                self.assertIn("(Read-only file system)", said)
        self.assertEqual(self.call("ls", ANNA)[0].count(b"\n"), 1)

    def test_a_mailbox_of_many_mails_is_listed_and_emptied_in_pieces(self):
        mails = b"".join(b"From a@example.org Tue Nov 24 12:00:%02d 2026\nNumber: %d\n\n\n" % (i % 60, i)
                         for i in range(9000))
        path = self.write("mbox", mails)
        self.assertEqual(self.call("import", "--mbox", path, ANNA)[0], b"9000 mails imported\n")
        lines = self.call("ls", ANNA)[0].decode().splitlines()
        self.assertEqual(len({line.split("\t")[0] for line in lines}), 9000)
        self.assertEqual([line.split("\t")[2] for line in lines],
                         [f"2026-11-24T12:00:{i % 60:02}Z" for i in range(9000)])
        self.call("rm", "--all", ANNA)
        self.assertEqual(self.call("ls")[0], b"")
        self.assertEqual(self.call("fsck")[0].splitlines()[0], b"1 segments, 0 mails, 0 findings")


@unittest.skipIf(harness.IS_SANITIZED, "needs a program that can be traced")
class Faults(Tool):
    def inject(self, faults, command, *arguments, path=None):
        """Its status, and what it says when these calls fail, of that file alone."""
        options = [word for fault in faults for word in ("-e", f"inject={fault}")]
        result = subprocess.run([harness.peer("strace"), *(["-P", path] if path else []), *options, "-o",
                                 self.path("trace"), program("mail-store"), command, "--store", self.store, *arguments],
                                check=False, input=MAIL, capture_output=True, timeout=harness.DEADLINE_S)
        return result.returncode, result.stderr.decode()

    def test_a_mail_whose_sync_fails_is_not_there_later(self):
        segment = os.path.join(self.store, "log", f"{1:016x}")
        self.deliver()
        # The first sync is that of what was there.
        told = self.inject(["fdatasync:error=EIO:when=2"], "deliver", ANNA, path=segment)
        self.assertEqual(told, (EX_IOERR, f"error: mail not delivered, store={self.store} (Input/output error)\n"))
        told = self.inject(["fdatasync:error=EIO:when=2"], "rm", "--all", BERT, path=segment)
        self.assertEqual(told, (EX_IOERR, f"error: mails not deleted, store={self.store} (Input/output error)\n"))
        self.assertEqual(self.call("ls")[0], f"{ANNA}\t1\t34\n{BERT}\t1\t34\n".encode())
        self.assertIn(b" 0 findings", self.call("fsck")[0])

    def test_a_mail_that_may_be_there_later_is_said_to_be_unsure(self):
        self.deliver()
        told = self.inject(["fdatasync:error=EIO:when=2", "ftruncate:error=EIO"], "deliver", ANNA,
                         path=os.path.join(self.store, "log", f"{1:016x}"))
        self.assertEqual(told, (EX_TEMPFAIL, f"error: mail not delivered, store={self.store} "
                                "(the disk has failed, and may have kept what was refused)\n"))
        self.assertEqual(self.call("ls")[0], f"{ANNA}\t2\t68\n{BERT}\t1\t34\n".encode())

    def test_mails_are_deleted_when_the_log_says_so_and_the_index_has_no_room(self):
        self.deliver()
        told = self.inject(["pwrite64:error=ENOSPC", "writev:error=ENOSPC"], "rm", "--all", ANNA)
        self.assertEqual(told, (0, ""))
        self.assertEqual(self.call("ls")[0], f"{BERT}\t1\t34\n".encode())
        self.assertIn(b" 0 findings", self.call("fsck")[0])


class Sockets(Tool):
    def setUp(self):
        super().setUp()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(self.socket.close)
        self.socket.bind(self.store)

    def test_a_socket_without_a_daemon_is_tried_again_later_and_no_store_is_made_there(self):
        for command in (("ls",), ("deliver", ANNA), ("collect",), ("stat",)):
            with self.subTest(command=command):
                _, said = self.call(*command, expect=EX_TEMPFAIL)
                self.assertIn(f"store not opened, store={self.store} (Connection refused)", said)

    def test_what_ends_the_connection_is_tried_again_later(self):
        self.socket.listen()
        with subprocess.Popen([program("mail-store"), "ls", "--store", self.store],
                              stderr=subprocess.PIPE) as tool:
            self.socket.accept()[0].close()
            said = tool.stderr.read().decode()
        self.assertEqual(tool.returncode, EX_TEMPFAIL, said)
        self.assertIn("(Connection reset by peer)", said)

    def test_what_is_not_a_daemon_of_stores_is_no_store(self):
        self.socket.listen()
        with subprocess.Popen([program("mail-store"), "ls", "--store", self.store],
                              stderr=subprocess.PIPE) as tool:
            connection = self.socket.accept()[0]
            connection.send(b"220 hello\r\n")
            said = tool.stderr.read().decode()
            connection.close()
        self.assertEqual(tool.returncode, EX_DATAERR, said)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            self.store = self.path("stream")
            other.bind(self.store)
            other.listen()
            self.call("ls", expect=EX_DATAERR)

    def test_a_socket_is_not_checked(self):
        _, said = self.call("fsck", expect=EX_USAGE)
        self.assertIn("a store is checked by its directory, not over a socket", said)


class Bench(harness.Case):
    def run_bench(self, store, *options):
        return subprocess.run([program("mail-store"), "bench", "--store", store, *options],
                              capture_output=True, text=True, check=False, timeout=120)

    def test_it_measures_and_leaves_nothing(self):
        store = self.path("bench")
        result = self.run_bench(store, "--mails", "130", "--size", "3000", "--recipients", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line.split("\t") for line in result.stdout.splitlines()]
        self.assertEqual([line[0] for line in lines], ["sync-each", "sync-64", "no-sync"])
        self.assertEqual([int(line[2]) for line in lines], [130, 3, 0])
        self.assertTrue(all(int(line[3]) > 130 * 3000 for line in lines))
        self.assertFalse(os.path.exists(store))

    def test_a_store_that_is_there_is_not_touched(self):
        os.mkdir(self.path("bench"))
        result = self.run_bench(self.path("bench"))
        self.assertEqual(result.returncode, 73)
        self.assertIn("store is there already", result.stderr)


if __name__ == "__main__":
    harness.main()
