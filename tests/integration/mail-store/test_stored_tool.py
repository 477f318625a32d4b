#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
mail-store over the socket of mail-stored, with the same mails that it has in a directory; and the
layers that mail-stored has in place of the log.
"""

import contextlib
import os
import re
import signal
import stat
import subprocess
import unittest

from harness import DEADLINE_S, EX_TEMPFAIL, EX_USAGE, IS_SANITIZED, Case, main, peer, program, wait_for
from stored import Stored

EX_NOINPUT, EX_UNAVAILABLE = 66, 69
STRANGER = 65533  # of no process, and not the daemon's
ANNA, BERT = "anna@example.com", "bert@example.com"
MAIL = b"Subject: hello\n\nOnce for both.\n"


class Tool(Case):
    def ids(self, store, box):
        return [line.split("\t")[0] for line in store.run_tool("ls", box).decode().splitlines()]

    def test_mails_are_delivered_listed_printed_and_deleted(self):
        store = Stored(self)
        large = b"Subject: large\r\n\r\n" + b".x" * 39 + b"\r\n" * 100000
        ident = store.run_tool("deliver", "--print-id", ANNA, BERT, stdin=MAIL).decode().strip()
        other = store.run_tool("deliver", "--print-id", ANNA, stdin=large).decode().strip()
        self.assertEqual(store.run_tool("ls").decode().splitlines(),
                         [f"{ANNA}\t2\t{len(MAIL) + 3 + len(large)}", f"{BERT}\t1\t{len(MAIL) + 3}"])
        self.assertEqual(self.ids(store, ANNA), [ident, other])
        self.assertRegex(store.run_tool("ls", BERT).decode(),
                         rf"^{ident}\t{len(MAIL) + 3}\t\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$")
        self.assertEqual(store.run_tool("cat", ident, other), MAIL + large)
        self.assertIn(b"entries\t3\n", store.run_tool("stat"))
        store.run_tool("rm", ANNA, other)
        store.run_tool("rm", ANNA, other, status=EX_NOINPUT)
        store.run_tool("cat", other, status=EX_NOINPUT)
        store.run_tool("rm", "--all", BERT)
        self.assertEqual(self.ids(store, ANNA), [ident])
        self.assertEqual(store.run_tool("ls", BERT), b"")
        self.assertEqual(store.stop(), 0)
        self.assertIn(b"1 mails, 0 findings", store.fsck())

    def test_what_is_delivered_is_committed_when_the_tool_has_ended(self):
        store = Stored(self)
        store.run_tool("deliver", ANNA, stdin=MAIL)
        pid = store.pid_of("store")
        store.process.stop(signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

        def what_is_left():
            result = subprocess.run([program("mail-store"), "ls", "--store", store.directory], check=False,
                                    capture_output=True, text=True, timeout=DEADLINE_S)
            return result.stdout if result.returncode != EX_TEMPFAIL else None

        self.assertIn(f"{ANNA}\t1\t", wait_for(what_is_left, "the store to be let go"))

    def test_a_mailbox_of_many_mails_is_imported_listed_exported_and_emptied(self):
        store = Stored(self)
        text = b"".join(b"From a@example.org Tue Nov 24 12:00:%02d 2026\nNumber: %d\n\n\n" % (i % 60, i)
                        for i in range(500))
        path = self.write("mbox", text)
        self.assertEqual(store.run_tool("import", "--mbox", path, ANNA), b"500 mails imported\n")
        self.assertEqual(len(set(self.ids(store, ANNA))), 500)
        self.assertEqual(store.run_tool("export", "--maildir", self.path("maildir"), ANNA),
                         b"500 mails exported\n")
        self.assertEqual(len(os.listdir(self.path("maildir/new"))), 500)
        self.assertEqual(store.run_tool("import", "--maildir", self.path("maildir"), BERT),
                         b"500 mails imported, 500 of them under new ids\n")  # theirs are ANNA's
        store.run_tool("rm", "--all", BERT)
        self.assertEqual(store.run_tool("export", "--mbox", self.path("again"), ANNA),
                         b"500 mails exported\n")
        with open(self.path("again"), "rb") as file:
            again = file.read()
        wanted = re.findall(rb"(?m)^Number: \d+$", text)
        self.assertEqual(re.findall(rb"(?m)^Number: \d+$", again), wanted)
        with store.client() as client:
            commits = client.stat()["syncs"]
            store.run_tool("rm", "--all", ANNA)
            self.assertLessEqual(client.stat()["syncs"], commits + 4)
        self.assertEqual(store.run_tool("ls"), b"")

    def test_mails_of_another_store_keep_their_ids_when_root_or_the_daemons_own_user_brings_them(self):
        before = Stored(self)
        for number in range(8):
            before.run_tool("deliver", ANNA, BERT, stdin=b"Number: %d\n\n" % number)
        ids = self.ids(before, ANNA)
        before.run_tool("export", "--maildirs", self.path("moved"))
        self.assertEqual(before.stop(), 0)
        os.rename(before.directory, self.path("before"))
        after = Stored(self)
        self.assertEqual(after.run_tool("import", "--maildirs", self.path("moved")), b"8 mails imported\n")
        self.assertEqual([self.ids(after, box) for box in (ANNA, BERT)], [ids] * 2)
        self.assertEqual(after.run_tool("cat", ids[0]), b"Number: 0\n\n")
        after.run_tool("rm", ANNA, ids[0])
        os.rename(self.path(f"moved/{BERT}/new/{self.name_of(ids[1])}"),
                  self.path(f"moved/{BERT}/new/1790000000.M000000.{'5' * 32}"))
        self.assertEqual(after.run_tool("import", "--maildirs", self.path("moved"), "--only-new"),
                         b"1 mails imported, 8 were there\n")
        self.assertEqual((len(self.ids(after, ANNA)), len(self.ids(after, BERT))), (7, 9))

    def test_an_export_goes_on_when_a_mail_is_deleted_meanwhile(self):
        if IS_SANITIZED:
            self.skipTest("needs a program that can be traced")
        store = Stored(self)
        for number in range(3):
            store.run_tool("deliver", ANNA, stdin=b"Number: %d\n\n" % number)
        gone = self.ids(store, ANNA)[1]
        # Its list is there before it has the first mail.
        with subprocess.Popen([peer("strace"), "-e", "inject=linkat:signal=SIGSTOP:when=1", "-o", self.path("trace"),
                               program("mail-store"), "export", "--store", store.socket, "--maildir",
                               self.path("maildir"), ANNA], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as export:
            wait_for(lambda: os.path.exists(self.path("maildir/new")) and os.listdir(self.path("maildir/new")),
                     "the first mail to be there, and the export to be stopped")
            with open(f"/proc/{export.pid}/task/{export.pid}/children", encoding="ascii") as file:
                pid = int(file.read())
            store.run_tool("rm", ANNA, gone)

            def is_done():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                return export.poll() is not None

            wait_for(is_done, "the export to end")
            said = export.communicate()
        self.assertEqual((export.returncode, *said), (0, b"2 mails exported\n", b""))

    def name_of(self, ident):
        """Of a file in BERT's maildir."""
        name, = (name for name in os.listdir(self.path(f"moved/{BERT}/new")) if name.endswith(ident))
        return name

    def test_only_new_mails_are_those_of_all_mailboxes(self):
        store = Stored(self)
        store.run_tool("import", "--maildir", self.path("none"), "--only-new", ANNA, status=EX_USAGE)

    @unittest.skipUnless(os.geteuid() == 0, "no other user without root")
    def test_no_other_user_chooses_ids(self):
        before = Stored(self)
        before.run_tool("deliver", ANNA, stdin=MAIL)
        before.run_tool("export", "--maildirs", self.path("moved"))
        subprocess.run(["chown", "-R", str(STRANGER), self.path("moved")], check=True)
        before.run_tool("rm", "--all", ANNA)
        self.assertEqual(before.stop(), 0)
        os.rename(before.directory, self.path("before"))
        after = Stored(self, stored={"socket-mode": "0666"})
        result = subprocess.run([program("mail-store"), "import", "--store", after.socket, "--maildirs",
                                 self.path("moved")], check=False, capture_output=True, user=STRANGER,
                                timeout=DEADLINE_S)
        self.assertEqual(result.stdout, b"1 mails imported, 1 of them under new ids\n", result.stderr)

    def test_many_mailboxes_are_listed_each_once(self):
        store = Stored(self)
        boxes = [f"box-{i:03}@example.com" for i in range(700)]
        store.run_tool("deliver", *boxes, stdin=MAIL)
        lines = store.run_tool("ls").decode().splitlines()
        self.assertEqual([line.split("\t")[0] for line in lines], boxes)

    def test_space_is_given_back(self):
        store = Stored(self, stored={"segment-size": "1M", "collect-share": "0"})
        for _ in range(8):
            store.run_tool("deliver", ANNA, stdin=b"x" * 300000 + b"\n")
        store.run_tool("rm", "--all", ANNA)
        said = dict(line.split("\t") for line in store.run_tool("collect").decode().splitlines())
        self.assertGreater(int(said["reclaimed-bytes"]), 2000000)
        said = dict(line.split("\t") for line in store.run_tool("collect").decode().splitlines())
        self.assertEqual(said["reclaimed-bytes"], "0")

    def test_limits_of_mailboxes_do_not_hold_for_the_tool(self):
        store = Stored(self, stored={"quota-messages": "1"})
        for _ in range(2):
            store.run_tool("deliver", ANNA, stdin=MAIL)
        self.assertEqual(len(self.ids(store, ANNA)), 2)

    def test_a_store_that_a_daemon_has_names_the_way_to_it(self):
        store = Stored(self)
        result = subprocess.run([program("mail-store"), "ls", "--store", store.directory], check=False,
                                capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(result.returncode, EX_TEMPFAIL)
        self.assertIn("mail-stored or another process has it; --store SOCKET", result.stderr)


class Layers(Case):
    """A daemon that keeps mail in another way."""

    def new(self, store, box):
        folder = os.path.join(store.directory, box, "new")
        return [os.path.join(folder, name) for name in os.listdir(folder)] if os.path.isdir(folder) else []

    def test_sort_has_a_maildir_for_each_mailbox_and_one_file_for_a_mail(self):
        store = Stored(self, stored={"layer": "sort"})
        with store.client() as client:
            serials = {client.send_mail(b"Subject: %d\r\n\r\nx\r\n" % i, [ANNA, "a/b"]) for i in range(200)}
            replies = [client.take() for _ in serials]
        self.assertEqual({reply.status for reply in replies}, {0})
        self.assertEqual({reply.serial for reply in replies}, serials)
        self.assertEqual(len({reply.id for reply in replies}), 200)
        store.run_tool("deliver", "--print-id", BERT, stdin=b"Subject: y\r\n\r\n")
        self.assertEqual(sorted(os.listdir(store.directory)), ["a%2Fb", ANNA, BERT, "tmp"])
        self.assertEqual(os.listdir(os.path.join(store.directory, "tmp")), [])
        paths = self.new(store, ANNA)
        self.assertEqual(len(paths), 200)
        facts = os.stat(paths[0])
        self.assertEqual((facts.st_nlink, stat.S_IMODE(facts.st_mode)), (2, 0o600))
        path, = self.new(store, BERT)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), b"Subject: y\n\n")
        self.assertLess(store.counters()["commits"], 200)

    def test_null_keeps_nothing(self):
        store = Stored(self, stored={"layer": "null"})
        with store.client() as client:
            client.deliver(MAIL, [ANNA])
        self.assertEqual(os.listdir(store.directory), [])

    def test_there_is_nothing_to_be_seen_in_them(self):
        for layer in ("sort", "null"):
            store = Stored(self, stored={"layer": layer, "directory": self.path(layer),
                                         "socket": self.path(f"{layer}.socket")}, is_started=False)
            store.directory, store.socket = self.path(layer), self.path(f"{layer}.socket")
            store.start()
            for command in (("ls",), ("ls", ANNA), ("cat", "0" * 32), ("rm", "--all", ANNA), ("stat",),
                            ("collect",)):
                with self.subTest(layer=layer, command=command):
                    store.run_tool(*command, status=EX_UNAVAILABLE)


if __name__ == "__main__":
    main()
