#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-store beside its manual, and what it says and ends with when something is wrong.

What reaches the disk is seen by Debian's strace.
"""

import contextlib
import errno
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import types
import unittest

import harness
from harness import EX_DATAERR, EX_TEMPFAIL, EX_USAGE, SOURCE, program, sanitizer_reports

MANUAL = os.path.join(SOURCE, "integration/mail/mail-store/mail-store.1")
EX_NOINPUT, EX_CANTCREAT, EX_IOERR, EX_NOPERM = 66, 73, 74, 77
ANNA, BERT = "anna@example.com", "bert@example.com"
MAIL = b"Subject: hello\n\nOnce for both.\n"


@contextlib.contextmanager
def read_only(path):
    """A directory that is a mount of itself, without writing, while this lasts."""
    subprocess.run(["mount", "--bind", path, path], check=True, timeout=harness.DEADLINE_S)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True, timeout=harness.DEADLINE_S)
        yield
    finally:
        subprocess.run(["umount", path], check=True, timeout=harness.DEADLINE_S)


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

    @contextlib.contextmanager
    def stopped(self, call, command, *arguments, path=None):
        """The command stands before the first such call while this lasts, and ends with it."""
        if harness.IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        trace = self.path("trace")
        ended = types.SimpleNamespace()
        with subprocess.Popen([harness.peer("strace"), *(["-P", path] if path else []), "-e", f"trace={call}", "-e",
                               f"inject={call}:signal=SIGSTOP:when=1", "-o", trace, program("mail-store"), command,
                               "--store", self.store, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as popen:
            def is_stopped():
                with contextlib.suppress(FileNotFoundError), open(trace, encoding="utf-8", errors="replace") as file:
                    return "stopped by SIGSTOP" in file.read()

            def is_done():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                return popen.poll() is not None

            harness.wait_for(is_stopped, "the call to be stopped at")
            with open(f"/proc/{popen.pid}/task/{popen.pid}/children", encoding="ascii") as file:
                pid = int(file.read())
            try:
                yield ended
            finally:
                harness.wait_for(is_done, "the command to end")
            ended.said, ended.status = popen.stdout.read().decode(), popen.returncode

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
            _, said = self.call("ls", expect=EX_NOINPUT if make is os.mkdir else EX_IOERR)
            self.assertIn(f"error: look at segment {1:016x}, store={self.store}\n", said)
            (os.rmdir if make is os.mkdir else os.unlink)(segment)

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
        for kind in ("maildir", "mbox"):
            result = subprocess.run([harness.peer("strace"), "-P", os.path.join(self.store, "log", f"{1:016x}"), "-e",
                                     "inject=pread64:error=EIO:when=3", "-o", self.path("trace"), program("mail-store"),
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
