#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
What bench/mail-users has under load: each door gives mails of the domain to each store and those of the other domain to
a sink, disks count what is moved and hold a limit, and nothing of them is left, whatever ends the bench.

Needs root; dovecot-imapd, dovecot-lmtpd, cyrus-common, postfix, and Exim and cyrus-imapd as ./check unpacks them; loop
devices and control groups. What is not there is a reason to skip.
"""

import glob
import imaplib
import mmap
import os
import signal
import smtplib
import socketserver
import subprocess
import sys
import threading
import time
import unittest

from benching import import_quietly
from harness import DEADLINE_S, IS_SANITIZED, SOURCE, Case, has_ended, main, wait_for

PARTS = ("users-parts",)
MIB = 1 << 20
SIZES = {"mailbox": 32 * MIB, "index": 24 * MIB, "queue": 24 * MIB}
BLOCK = 4096
COUNT, SLOW = 60, 30  # requests, and how many a second


class Sink(socketserver.ThreadingTCPServer):
    """Takes mails by SMTP; texts are what it has."""

    allow_reuse_address, daemon_threads = True, True

    def __init__(self, address):
        self.texts = []
        super().__init__(address, SinkSession)


class SinkSession(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"220 sink\r\n")
        for line in self.rfile:
            word = line.strip().upper()
            self.wfile.write(b"354 go on\r\n" if word == b"DATA" else b"250 yes\r\n")
            if word == b"DATA":
                self.server.texts.append(b"".join(iter(self.rfile.readline, b".\r\n")))
                self.wfile.write(b"250 taken\r\n")
            elif word == b"QUIT":
                return


def mail(ident, recipient):
    return (f"From: <user1@example.com>\r\nTo: <{recipient}>\r\nMessage-ID: <{ident}@example.com>\r\n"
            f"Subject: {ident}\r\n\r\nHello\r\n").encode()


def move_directly(path, count):
    """So many blocks past the memory of files: (seconds of writes, seconds of reads)."""
    block = mmap.mmap(-1, BLOCK)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    try:
        spent = []
        for act in (lambda at: os.pwrite(fd, block, at), lambda at: os.preadv(fd, [block], at)):
            begun = time.monotonic()
            for number in range(count):
                act(number * BLOCK)
            spent.append(time.monotonic() - begun)
        return spent
    finally:
        os.close(fd)


class UsersCase(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("loop devices, groups and mail servers need root")
        self.disks_module = import_quietly("usersdisks", *PARTS)

    def make(self, what, *arguments, **how):
        """Of the module; ended with the test, before its processes and its directory."""
        try:
            made = getattr(self.disks_module, what)(*arguments, **how)
        except self.disks_module.Missing as error:
            self.skipTest(str(error))
        self.addCleanup(made.close)
        return made

    def own_devices(self):
        return [path for path in self.disks_module.left_over() if path.startswith(self.directory)]


class Disks(UsersCase):
    def setUp(self):
        super().setUp()
        self.limit = self.disks_module.Limit(SLOW, SLOW)

    def test_each_path_counts_its_own_requests_and_bytes(self):
        disks = self.make("Disks", self, SIZES)
        before = disks.stat()
        move_directly(os.path.join(disks.path("index"), "file"), COUNT)
        disks.settle()
        after = disks.stat()
        self.assertGreaterEqual(after["index"].requests_read - before["index"].requests_read, COUNT)
        self.assertGreaterEqual(after["index"].requests_written - before["index"].requests_written, COUNT)
        for at, name in enumerate(("bytes_read", "bytes_written")):
            moved = getattr(after["index"], name) - getattr(before["index"], name)
            self.assertGreaterEqual(moved, COUNT * BLOCK)
            self.assertLess(moved, 3 * COUNT * BLOCK + at * MIB)
        self.assertLess(after["mailbox"].bytes_written - before["mailbox"].bytes_written, COUNT * BLOCK)

    def test_a_limit_holds_for_all_that_share_it_until_it_is_taken_away(self):
        disks = self.make("Disks", self, SIZES, limit=self.limit, index_apart=True)
        # The kernel counts in slices of 0.1 s: a few more than the limit says may come in the first.
        least_s = 0.8 * (COUNT - SLOW / 5) / SLOW
        outer = disks.outer.stat()
        for name in ("mailbox", "queue"):
            for spent in move_directly(os.path.join(disks.path(name), "file"), COUNT):
                self.assertGreater(spent, least_s, name)
        seen = disks.outer.stat()
        self.assertGreaterEqual(seen.requests_read - outer.requests_read, 2 * COUNT)
        move_directly(os.path.join(disks.path("index"), "file"), COUNT)
        self.assertLess(disks.outer.stat().requests_read - seen.requests_read, COUNT)
        disks.set_limit(False)
        for path, _ in disks.throttle.files:
            with open(path, encoding="ascii") as file:
                self.assertNotIn(f"{disks.throttle.device} ", file.read())

    def test_a_group_limits_what_files_have_in_memory(self):
        group = self.make("Group", memory=32 * MIB)
        path = self.path("file")
        with group.entered():
            process = self.start(["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=64"], "dd")
        self.assertNotIn(os.getpid(), group.pids())
        self.assertEqual(process.popen.wait(DEADLINE_S), 0, process.log())
        memory = group.memory()
        self.assertGreater(memory["files"], MIB)
        self.assertLessEqual(memory["files"], 32 * MIB)
        group.drop_caches()
        self.assertLess(group.memory()["files"], memory["files"])
        self.assertGreater(sum(group.cpu_s()), 0)

    # What is killed says nothing and runs nothing.
    ENDS = f"""\
import os, signal, sys
sys.path[:0] = ["{SOURCE}/bench/users-parts", "{SOURCE}/bench", "{SOURCE}/tests/integration/base"]
import replays, usersdisks
class At:
    path = staticmethod(lambda name: os.path.join(sys.argv[1], name))
replays.end_on_signals()
group = usersdisks.Group()
disks = usersdisks.Disks(At, {SIZES}, limit=usersdisks.Limit({SLOW}, {SLOW}), group=group)
with group.entered():
    import subprocess
    child = subprocess.Popen(["sleep", "600"], cwd=disks.path("mailbox"), start_new_session=True)
print(child.pid, disks.throttle.device, group.name, flush=True)
signal.pause()
"""

    def test_nothing_is_left_whatever_ends_it(self):
        self.make("Group").close()  # or there is a reason to skip
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number), subprocess.Popen(
                    [sys.executable, "-B", "-c", self.ENDS, self.directory], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True) as process:
                words = process.stdout.readline().split()
                if not words:
                    self.skipTest(process.stderr.read())
                child, device, name = words
                self.assertTrue(self.own_devices())
                process.send_signal(number)
                process.wait(DEADLINE_S)
                wait_for(lambda: has_ended(child), "its server to end")
                wait_for(lambda: not self.own_devices(), "its devices to be given back")
                wait_for(lambda: not glob.glob(f"/sys/fs/cgroup/**/{name}", recursive=True), "its group to go")
                for path, _ in self.disks_module.Throttle._files():
                    with open(path, encoding="ascii") as file:
                        self.assertNotIn(f"{device} {SLOW}\n", file.read())
                wait_for(lambda: not glob.glob(self.path("disks-*")), "its directory to go")


@unittest.skipIf(IS_SANITIZED, "servers of Debian are the same there")
class Servers(UsersCase):
    def setUp(self):
        super().setUp()
        self.servers = import_quietly("usersservers", *PARTS)
        self.sink = Sink(self.free_address())
        self.addCleanup(self.sink.server_close)
        self.addCleanup(self.sink.shutdown)
        threading.Thread(target=self.sink.serve_forever, daemon=True).start()

    def begin(self, name, **how):
        server = self.servers.SERVERS[name](self, **how)
        server.sink = self.sink.server_address
        self.addCleanup(server.stop)
        server.start()
        return server

    def count_mails(self, server, user):
        session = imaplib.IMAP4(*server.imap, timeout=DEADLINE_S)
        try:
            session.login(user, server.password)
            return int(session.select("INBOX", readonly=True)[1][0])
        finally:
            session.shutdown()

    def check(self, name, **how):
        """Each kind of mail arrives where it is to, once."""
        server = self.begin(name, **how)
        inside, outside = server.user(1), f"remote1@{server.remote}"
        # Of two mails that come at once to a mailbox that is not there yet Cyrus puts one off, for minutes.
        self.assertEqual(self.count_mails(server, "user1"), 0)
        for ident, door, recipients in (("from-outside", server.smtp, [inside]),
                                        ("to-both", server.submit, [inside, outside])):
            with smtplib.SMTP(*door, timeout=DEADLINE_S) as client:
                client.sendmail("user1@example.com", recipients, mail(ident, inside))
        wait_for(lambda: self.count_mails(server, "user1") == 2, f"{name} to deliver")
        wait_for(lambda: self.sink.texts, f"{name} to send to the other domain")
        self.assertEqual(len(self.sink.texts), 1)
        self.assertIn(b"to-both@", self.sink.texts[0])
        self.assertGreater(len(server.pids()), 4)
        self.assertEqual(len(server.versions()), len(server.notes()))
        self.assertRegex(" ".join(server.versions()), r"\d")
        return server

    def test_a_server_that_was_killed_is_begun_anew_with_its_mails(self):
        server = self.check("dovecot-maildir+exim")
        self.assertFalse(server.revive())
        server.door.processes[0].stop(signal.SIGKILL)
        self.assertTrue(server.revive())
        with smtplib.SMTP(*server.smtp, timeout=DEADLINE_S) as client:
            client.sendmail("user1@example.com", [server.user(1)], mail("again", server.user(1)))
        wait_for(lambda: self.count_mails(server, "user1") == 3, "the mail after the kill")

    def test_dovecot_behind_postfix(self):
        self.check("dovecot-mdbox+postfix")

    def test_dovecot_behind_smtp_front_and_beside_a_postfix(self):
        server = self.check("dovecot-sdbox+smtp-front")
        with smtplib.SMTP(*server.smtp, timeout=DEADLINE_S) as client, \
                self.assertRaises(smtplib.SMTPRecipientsRefused):
            client.sendmail("user1@example.com", [f"remote1@{server.remote}"], mail("refused", "remote1"))

    def test_cyrus_behind_exim(self):
        self.check("cyrus+exim")

    def test_cyrus_behind_postfix(self):
        self.check("cyrus+postfix")

    def test_a_server_that_begins_in_part_ends_whole(self):
        group = self.make("Group")
        disks = self.make("Disks", self, SIZES, group=group)
        server = self.servers.SERVERS["dovecot-mdbox+postfix"](self, disks, group)
        server.sink = self.sink.server_address

        def fail(*_):
            raise OSError("no door")

        server.make_door = fail
        with self.assertRaisesRegex(OSError, "no door"):
            server.start()
        self.assertTrue(group.pids())
        server.stop()
        self.assertEqual(group.pids(), [])
        disks.close()
        self.assertEqual(self.own_devices(), [])

    def test_counters_have_what_a_server_spends_and_moves(self):
        group = self.make("Group", memory=512 * MIB)
        disks = self.make("Disks", self, SIZES, group=group)
        counters = import_quietly("userscounters", *PARTS)
        made = self.check("dovecot-maildir+exim", disks=disks, group=group)
        count = counters.Counters(made, disks)
        begun, before = time.monotonic(), count()
        with smtplib.SMTP(*made.smtp, timeout=DEADLINE_S) as client:
            client.sendmail("user1@example.com", [made.user(2)], mail("counted", made.user(2)))
        wait_for(lambda: self.count_mails(made, "user2") == 1, "a mail to be delivered")
        disks.settle()
        found = count.between(before, count(), time.monotonic() - begun)
        for name in self.disks_module.PATHS:
            self.assertGreater(found["paths"][name]["requests_written"], 0, name)
            self.assertGreater(found["paths"][name]["bytes"], BLOCK, name)
            self.assertGreaterEqual(found["paths"][name]["wait_ms"], 0)
        self.assertGreater(found["server_cpu"]["user"], 0)
        self.assertAlmostEqual(sum(found["cpu"].values()), 1, delta=0.5)
        self.assertGreater(found["switches"], 0)
        self.assertGreater(found["memory_kib"], 1024)
        self.assertGreater(found["memory"]["files"], 0)


if __name__ == "__main__":
    main()
