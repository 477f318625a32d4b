#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""
Maildirs behind smtp-front: whose a mail is, what is made and when, and that the disk has it before
the client hears so.

Syncs are counted by Debian's strace, which needs root; other users than the one of the test do too.
"""

import os
import re
import signal
import subprocess

import harness
from front import CONTENT, RECIPIENT, SENDER, USER, Front, FrontCase, is_root
from harness import EX_CONFIG, IS_SANITIZED, main, peer


class MaildirCase(FrontCase):
    def front(self, users=(RECIPIENT,), options=(), **sections):
        sink = {"maildir": "recipient", **sections.pop("sink", {})}
        front = Front(self, None, front={"edges": 1, "workers": 1}, sink=sink, is_started=False,
                      trust={"users": self.path("users.mdb")}, **sections)
        front.build_users(users, *options)
        self.fixture = front
        return front

    def boxes(self):
        """Names in "to" but for tmp, which belongs to nobody."""
        return sorted(set(os.listdir(self.fixture.maildir)) - {"tmp"})

    def mails(self, box):
        new = os.path.join(self.fixture.maildir, box, "new")
        return [os.path.join(new, name) for name in os.listdir(new)]


class Mailboxes(MaildirCase):
    def test_a_mail_lands_where_the_list_says_however_its_recipient_is_written(self):
        front = self.front(["bob@example.com", '"john doe"@example.com', "@example.org",
                            "ann@example.org"], ["--extension", "+"])
        front.start()
        for recipients, box in (
                (["bob@example.com", '"bob"@example.com', '"b\\ob"@Example.COM',
                  "BOB+x@example.com", '"bob+/../y"@example.com'], "bob@example.com"),
                (['"john doe"@example.com', '"john\\ doe+1"@example.com'], "john%20doe@example.com"),
                (["ann@example.org", "ann+lists@example.org"], "ann@example.org"),
                (["any@example.org", "other+x@example.org", '"/"@example.org'], "@example.org")):
            before = set(self.boxes())
            for recipient in recipients:
                self.deliver(front, recipient)
            self.assertEqual(set(self.boxes()) - before, {box})
            self.assertEqual(len(self.mails(box)), len(recipients))

    def test_one_mail_to_the_same_box_twice_is_there_once(self):
        front = self.front(["bob@example.com", "ann@example.com"], ["--extension", "+"])
        front.start()
        with front.client() as client:
            client.hello()
            client.send_mail(SENDER, ["bob@example.com", '"bob"@example.com', "bob+x@example.com",
                                      "ann@example.com"], CONTENT)
            client.say("QUIT", 221)
        self.assertEqual(self.boxes(), ["ann@example.com", "bob@example.com"])
        path, = self.mails("bob@example.com")
        other, = self.mails("ann@example.com")
        self.assertEqual(os.stat(path).st_ino, os.stat(other).st_ino)
        with open(path, "rb") as file:
            text = file.read()
        self.assertTrue(text.startswith(f"Return-Path: <{SENDER}>\nReceived: ".encode()))
        self.assertTrue(text.endswith(CONTENT.replace(b"\r\n", b"\n")))

    def test_nothing_is_made_for_a_client_that_sends_no_mail(self):
        """Neither for a recipient nor for a mail without its end."""
        front = self.front(["@example.org", "bob@example.com"], ["--extension", "+"])
        front.start()
        with front.client() as client:
            client.hello()
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            for i in range(50):
                client.say(f"RCPT TO:<user{i}@example.org>", 250)
                client.say(f'RCPT TO:<"bob+{i}"@example.com>', 250)
            client.say("RSET", 250)
            client.say(f"MAIL FROM:<{SENDER}>", 250)
            client.say("RCPT TO:<bob@example.com>", 250)
            client.say("DATA", 354)
            client.send(b"half a mail\r\n")
            client.reset()
        front.wait_for_sessions(1)
        self.assertEqual(self.boxes(), [])
        tmp = os.path.join(front.maildir, "tmp")
        self.assertEqual(os.listdir(tmp) if os.path.isdir(tmp) else [], [])


class Permissions(MaildirCase):
    """A maildir whose user may not use it is refused by --check, at the start and at a reload."""

    def setUp(self):
        super().setUp()
        if not is_root():
            self.skipTest("needs root, which may do what the worker's user may not")

    def check(self, front):
        return subprocess.run([harness.program("smtp-front"), "--check", "--config",
                               front.config_path], capture_output=True, text=True, check=False,
                              timeout=harness.DEADLINE_S)

    def test_a_maildir_that_is_fine(self):
        front = self.front()
        self.assertEqual((self.check(front).returncode, self.boxes()), (0, []))
        front.start()
        self.deliver(front)
        self.assertEqual(self.check(front).returncode, 0)

    def test_a_maildir_of_another_user(self):
        self.expect_log("maildir refused")
        for kind, folder in (("recipient", "."), ("recipient", "tmp"), ("one", "."), ("one", "new")):
            with self.subTest(kind=kind, folder=folder):
                front = self.front(sink={"maildir": kind})
                path = os.path.join(front.maildir, folder)
                os.makedirs(path, mode=0o755, exist_ok=True)
                os.chown(path, 0, 0)
                pattern = (rf"^error: \[smtp-front\] maildir refused, to={front.maildir}"
                           rf" folder={re.escape(folder)} user={USER} \(Permission denied\)$")
                result = self.check(front)
                self.assertEqual(result.returncode, EX_CONFIG)
                self.assertRegex(result.stderr, f"(?m){pattern}")
                with self.assertRaisesRegex(AssertionError, f"ended with {EX_CONFIG}"):
                    front.start()
                os.chown(path, *self.owner())
                if folder != ".":
                    os.rmdir(path)

    def owner(self):
        """Of the empty root directory's neighbour: whom the fixture has given it to."""
        status = os.stat(self.fixture.maildir)
        return (status.st_uid, status.st_gid) if status.st_uid != 0 else (65534, 65534)

    def test_a_maildir_that_is_not_there(self):
        front = self.front()
        os.rmdir(front.maildir)
        result = self.check(front)
        self.assertEqual(result.returncode, EX_CONFIG)
        self.assertIn("(No such file or directory)", result.stderr)

    def test_a_socket_that_is_not_for_the_user_is_told_once(self):
        front = self.front()
        front.write_config(sink={"kind": "lmtp", "to": self.path("closed/socket"), "maildir": None},
                           trust={"users": None, "forward": self.path("closed/socket")})
        os.mkdir(self.path("closed"), 0o700)
        result = self.check(front)
        self.assertEqual((result.returncode, result.stderr),
                         (0, f"warning: [smtp-front] no access, path={self.path('closed/socket')} user={USER}"
                             " (Permission denied)\n"))

    def test_a_reload_keeps_the_maildir_that_is_good(self):
        self.expect_log("maildir refused")
        front = self.front()
        front.start()
        other = self.path("other")
        os.mkdir(other, 0o700)
        self.assertFalse(front.reload(sink={"to": other}))
        self.deliver(front)
        os.chown(other, *self.owner())
        self.assertTrue(front.reload(sink={"to": other}))
        self.deliver(front)
        self.assertEqual(os.listdir(os.path.join(other, RECIPIENT, "cur")), [])


class Syncs(MaildirCase):
    """What a worker does between the last byte of a mail and its 250, as the kernel sees it."""

    CALLS = "trace=write,fsync,fdatasync,mkdirat,linkat,sendto"

    def setUp(self):
        super().setUp()
        if not is_root() or IS_SANITIZED:
            self.skipTest("needs root and a worker that can be traced")
        self.strace = peer("strace")

    def trace(self, front):
        """The calls of the worker from now on. Call what is returned, and they are all there."""
        pid, = front.wait_for_processes("worker", 1)
        path = self.path("trace")
        process = self.start([self.strace, "-y", "-s", "64", "-o", path, "-e", self.CALLS, "-p",
                              str(pid)], "strace")
        process.wait_for_log("attached")

        def calls():
            process.stop(signal.SIGINT)
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read().replace(front.maildir, "TO")

        return calls

    def check(self, kind, box):
        front = self.front(sink={"maildir": kind})
        front.start()
        for is_first in (True, False):
            calls = self.trace(front)
            with front.client() as client:
                client.hello()
                client.send_mail(SENDER, [RECIPIENT], CONTENT)
                client.say("QUIT", 221)
            text = calls()
            file = r"<TO/tmp/[^>/]+>"
            steps = [rf"write\(\d+{file}", rf"fsync\(\d+{file}\) += 0", r"linkat\(",
                     rf"fsync\(\d+<TO{box}/new>\) += 0", r'sendto\(.*"250 2\.0\.0 Ok: delivered']
            self.assertRegex(text, "(?s)" + ".*".join(steps))
            said = text.index("250 2.0.0 Ok: delivered")
            # Nothing is written behind the sync that is to have it on the disk.
            written = [found.start() for found in re.finditer(rf"write\(\d+{file}", text)]
            synced = re.search(rf"fsync\(\d+{file}", text).start()
            self.assertLess(max(written), synced)
            # The directories of a new maildir are on the disk as well.
            made = [rf"fsync\(\d+<TO{box}>\) += 0", r"fsync\(\d+<TO>\) += 0"]
            self.assertEqual([bool(re.search(one, text[:said])) for one in made],
                             [is_first, is_first], text)

    def test_a_mail_is_on_the_disk_before_its_client_hears_so(self):
        self.check("one", "")

    def test_and_so_is_the_maildir_that_was_made_for_it(self):
        self.check("recipient", f"/{RECIPIENT}")


if __name__ == "__main__":
    main()
